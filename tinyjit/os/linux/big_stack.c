/* big_stack.c: implements os/big_stack.h.
 *
 * libtcc parses by recursion. The scanner limits the nesting depth of a text, but the size of the caller's stack is
 * unknown (threads of some programs have 256 KiB). libtcc therefore runs on a separate stack of known size, guarded by
 * the lock; the caller's thread switches to it and back. A new thread for each compilation would work, too, but on a
 * busy machine it has to wait until it is scheduled: 3 ms instead of 0.3 were measured.
 *
 * libtcc reads numbers by strtod(), which depends on the locale: if the decimal point is a comma, it reads 2.75 as 2.
 * Tasks therefore run in the C locale, which is set only for this thread.
 *
 * libtcc contains assertions, and abort() would end the process. While a task runs, this file therefore handles
 * SIGABRT. A signal that another thread raised for itself, or that a process sent, is passed on to the previous
 * handler. pthread_kill() of the task's thread cannot be distinguished from its own abort(). */
#define _GNU_SOURCE 1 /* ucontext and locales under -std=c11 */
#include "os/big_stack.h"

#include "os/address_space.h"

#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- the stack ----------------------------------------------------------- */

/* The contexts of the task and of its caller. */
static struct {
    char *stack; /* TJ_BIG_STACK bytes above a guard page; never freed */
    ucontext_t caller;
    ucontext_t callee;
    const tj_task *task;
    void *argument;
    struct sigaction others; /* the previous action of SIGABRT */
} big;

/* Reserves only address space: pages get memory when they are touched. */
static bool map_stack(void)
{
    if (big.stack)
        return true;
    size_t guard = tj_page_size();
    char *map = tj_space_new(guard + TJ_BIG_STACK);
    if (!map)
        return false;
    if (!tj_space_set(map, guard, TJ_SPACE_NONE)) {
        tj_space_free(map, guard + TJ_BIG_STACK);
        return false;
    }
    madvise(map + guard, TJ_BIG_STACK, MADV_NOHUGEPAGE); /* most texts touch only a few pages */
    big.stack = map + guard;
    return true;
}

/* ---- there and back ----------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__)
void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *save, const void **bottom, size_t *size);
static const void *caller_bottom;
static size_t caller_size;
#define SWITCH_TO(save, bottom, size) __sanitizer_start_switch_fiber(save, bottom, size)
#define SWITCHED(save, bottom, size) __sanitizer_finish_switch_fiber(save, bottom, size)
void __asan_unpoison_memory_region(const volatile void *begin, size_t size);
#define UNPOISON(begin, size) __asan_unpoison_memory_region(begin, size)
#else
#define SWITCH_TO(save, bottom, size) ((void)0)
#define SWITCHED(save, bottom, size) ((void)0)
#define UNPOISON(begin, size) ((void)0)
#endif

static void run_task(void)
{
    SWITCHED(NULL, &caller_bottom, &caller_size);
    big.task->run(big.argument);
    SWITCH_TO(NULL, caller_bottom, caller_size); /* uc_link leads back to the caller */
}

_Noreturn void tj_leave_big_stack(void)
{
    SWITCH_TO(NULL, caller_bottom, caller_size);
    UNPOISON(big.stack, TJ_BIG_STACK); /* its frames were left without return */
    setcontext(&big.caller);
    abort(); /* not reached */
}

/* ---- abort() -------------------------------------------------------------------- */

/* Passes on a signal that does not come from abort(), or not from the task. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    if (big.others.sa_flags & SA_SIGINFO) {
        big.others.sa_sigaction(number, info, context);
    } else if (big.others.sa_handler == SIG_DFL) {
        sigaction(number, &big.others, NULL);
        raise(number); /* arrives after this handler has returned */
    } else if (big.others.sa_handler != SIG_IGN) {
        big.others.sa_handler(number);
    }
}

static void on_abort(int number, siginfo_t *info, void *context)
{
    bool on_stack = (uintptr_t)&number - (uintptr_t)big.stack < TJ_BIG_STACK;
    bool raised =
        info->si_code == SI_TKILL && info->si_pid == getpid(); /* by raise(), as abort() does */
    if (!on_stack || !raised) {
        pass_on(number, info, context);
        return;
    }
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, number);
    pthread_sigmask(SIG_UNBLOCK, &own, NULL); /* this handler does not return */
    big.task->on_abort();
    pass_on(number, info, context);
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_abort;
}

/* Installs our handler of SIGABRT. It may be there: other code saw it while a task ran, and restored it later. */
static bool catch_abort(void)
{
    struct sigaction ours = {.sa_sigaction = on_abort, .sa_flags = SA_SIGINFO}, found;
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGABRT, &ours, &found))
        return false;
    if (!is_ours(&found))
        big.others = found;
    return true;
}

/* ---- a task ------------------------------------------------------------------------ */

enum {
    KEPT = 1 << 18 /* bytes of the stack */
};

bool tj_run_on_big_stack(const tj_task *task, void *argument)
{
    static locale_t c; /* the C locale, never freed: in glibc and musl it is constant data */
    if (!c)
        c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c || !map_stack() || getcontext(&big.callee) || !catch_abort())
        return false;
    big.task = task;
    big.argument = argument;
    big.callee.uc_stack.ss_sp = big.stack;
    big.callee.uc_stack.ss_size = TJ_BIG_STACK;
    big.callee.uc_link = &big.caller;
    sigdelset(&big.callee.uc_sigmask, SIGABRT); /* since glibc 2.41 abort() does not unblock it */
    makecontext(&big.callee, run_task, 0);
#if defined(__SANITIZE_ADDRESS__)
    void *save = NULL;
#endif
    locale_t own = uselocale(c);
    SWITCH_TO(&save, big.stack, TJ_BIG_STACK);
    bool switched = !swapcontext(&big.caller, &big.callee);
    SWITCHED(save, NULL, NULL);
    uselocale(own);
    struct sigaction now; /* unless other code has installed another handler meanwhile: */
    if (!sigaction(SIGABRT, NULL, &now) && is_ours(&now))
        sigaction(SIGABRT, &big.others, NULL);
    tj_space_discard(big.stack, TJ_BIG_STACK - KEPT); /* a deeply nested text may have used it */
    return switched;
}
