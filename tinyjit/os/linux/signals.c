/* signals.c: implements os/signals.h. */
#define _GNU_SOURCE 1 /* syscall */
#include "os/signals.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- handlers --------------------------------------------------------------- */

enum {
    MOST_SIGNALS = 8
};

/* A signal that has a handler of ours. `first` was installed before it, `latest` has replaced it since. */
typedef struct signal_taken {
    int number;
    tj_signal_handler *handler;
    bool replaced;
    struct sigaction first;
    struct sigaction latest;
} signal_taken;

static signal_taken taken[MOST_SIGNALS];
static int ntaken; /* atomic */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* For each of them, how many handlers of other code run on this thread. Reading it allocates nothing. */
static _Thread_local int chained[MOST_SIGNALS] __attribute__((tls_model("initial-exec")));

static int index_of(int number)
{
    int i = 0, count = __atomic_load_n(&ntaken, __ATOMIC_ACQUIRE);
    while (i < count && taken[i].number != number)
        i++;
    return i;
}

/* Does what the system does without a handler. If an instruction caused the signal, the signal occurs again. */
static void do_default(int number, const siginfo_t *info)
{
    struct sigaction none = {.sa_handler = SIG_DFL};
    if (number == SIGURG)
        return; /* is ignored by default */
    sigaction(number, &none, NULL);
    if (info->si_code <= 0)
        raise(number);
}

void tj_signal_chain(int number, siginfo_t *info, void *context)
{
    int index = index_of(number);
    const signal_taken *known = &taken[index];
    int turn = chained[index] + !known->replaced; /* 0: the latest, 1: the first */
    const struct sigaction *next = turn == 0 ? &known->latest : &known->first;
    if (turn > 1 || next->sa_handler == SIG_DFL ||
        (next->sa_handler == SIG_IGN && info->si_code > 0)) {
        do_default(number, info);
        return;
    }
    if (next->sa_handler == SIG_IGN)
        return;
    chained[index]++;
    if (next->sa_flags & SA_SIGINFO)
        next->sa_sigaction(number, info, context);
    else
        next->sa_handler(number);
    chained[index]--;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    int kept = errno;
    if (!taken[index_of(number)].handler(number, info, context))
        tj_signal_chain(number, info, context);
    errno = kept;
}

static void install(int number, tj_signal_handler *handler, const struct sigaction *now)
{
    int index = index_of(number);
    struct sigaction own = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    own.sa_flags |= number == SIGURG ? SA_RESTART : now->sa_flags & SA_RESTART;
    own.sa_sigaction = on_signal;
    sigemptyset(&own.sa_mask);
    if (index < ntaken) {
        taken[index].latest = *now;
        taken[index].replaced = true;
    } else {
        taken[index] = (signal_taken){.number = number, .handler = handler, .first = *now};
        __atomic_store_n(&ntaken, index + 1, __ATOMIC_RELEASE);
    }
    sigaction(number, &own, NULL);
}

void tj_signal_take(int number, tj_signal_handler *handler)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) != 0 ||
        ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal) ||
        (number == SIGINT && (now.sa_handler == SIG_IGN || now.sa_handler == SIG_DFL)))
        return;
    pthread_mutex_lock(&lock);
    if (sigaction(number, NULL, &now) == 0 &&
        !((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal))
        install(number, handler, &now);
    pthread_mutex_unlock(&lock);
}

void tj_signal_urge(pthread_t thread)
{
    pthread_kill(thread, SIGURG);
}

bool tj_signal_is_ours(const siginfo_t *info)
{
    return info->si_code == SI_TKILL && info->si_pid == getpid();
}

bool tj_is_first_thread(void)
{
    return syscall(SYS_gettid) == getpid();
}

/* ---- the bell --------------------------------------------------------------- */

void tj_bell_ring(tj_bell *bell)
{
    int kept = errno;
    __atomic_store_n(&bell->rung, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &bell->rung, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = kept;
}

void tj_bell_wait(tj_bell *bell, unsigned long long ns)
{
    struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    if (!__atomic_load_n(&bell->rung, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &bell->rung, FUTEX_WAIT_PRIVATE, 0, ns > 0 ? &time : NULL, NULL, 0);
    __atomic_store_n(&bell->rung, 0, __ATOMIC_SEQ_CST);
}
