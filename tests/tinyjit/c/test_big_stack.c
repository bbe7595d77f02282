/* test_big_stack.c: tests the handling of SIGABRT while a task runs on its own stack, and afterwards. */
#define _GNU_SOURCE 1
#include "check.h"
#include "os/big_stack.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t caught, seen, ended;

static void on_abort(void)
{
    caught++;
    tj_leave_big_stack();
}

static void count(int number)
{
    (void)number;
    seen++;
}

static void listen_to(void (*handler)(int), struct sigaction *before)
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    sigaction(SIGABRT, &action, before);
}

static void run(void (*what)(void *argument))
{
    tj_task task = {what, on_abort};
    caught = seen = ended = 0;
    CHECK(tj_run_on_big_stack(&task, NULL));
}

static bool is_blocked(void)
{
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, SIGABRT);
}

/* Does the first step of abort(). */
static void raises(void *argument)
{
    (void)argument;
    raise(SIGABRT);
    ended = 1;
}

static void test_caught(void)
{
    run(raises);
    CHECK(caught == 1 && !ended && !is_blocked());
}

static void test_caught_where_it_is_blocked(void)
{
    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, SIGABRT);
    pthread_sigmask(SIG_BLOCK, &mine, NULL);
    run(raises);
    CHECK(caught == 1 && !ended && is_blocked());
    pthread_sigmask(SIG_UNBLOCK, &mine, NULL);
}

static void queues(void *argument)
{
    (void)argument;
    sigqueue(getpid(), SIGABRT, (union sigval){0});
    kill(getpid(), SIGABRT);
    ended = 1;
}

static void test_sent(void)
{
    struct sigaction before;
    listen_to(count, &before);
    run(queues);
    CHECK(!caught && seen == 2 && ended);
    raise(SIGABRT);
    CHECK(seen == 3);
    sigaction(SIGABRT, &before, NULL);
}

static struct sigaction found_in_task;

static void looks(void *argument)
{
    (void)argument;
    listen_to(SIG_IGN, &found_in_task);
    ended = 1;
}

/* Other code saves our handler while a task runs, and sets it again when none does. */
static void test_ours_is_put_back_by_another(void)
{
    struct sigaction before, now;
    listen_to(count, &before);
    run(looks);
    CHECK(ended);
    sigaction(SIGABRT, &found_in_task, NULL);
    raise(SIGABRT);
    CHECK(seen == 1 && !caught);
    run(raises);
    CHECK(caught == 1 && !seen);
    raise(SIGABRT);
    CHECK(seen == 1 && caught == 1);
    sigaction(SIGABRT, &before, &now);
    CHECK(!(now.sa_flags & SA_SIGINFO) && now.sa_handler == count);
}

int main(void)
{
    RUN(test_caught);
    RUN(test_caught_where_it_is_blocked);
    RUN(test_sent);
    RUN(test_ours_is_put_back_by_another);
    return check_report();
}
