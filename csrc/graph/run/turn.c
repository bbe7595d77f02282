/* turn.c: see turn.h.
 *
 * The GIL guards the turn itself. It does not keep threads apart for the length of
 * a run: Python code inside one (a filter, a perform, a finalizer) lets others in.
 * Those wait for news, which one condition of the whole process announces: turns
 * are rarely contended, and a thread that is woken for nothing looks and waits again.
 *
 * Two graphs that call each other from two threads would wait for ever. So a thread looks
 * before it waits: does the one that has the turn wait for it, directly or through others?
 */
#include "graph/run/turn.h"

#include "base/errors.h"
#include "os/threads.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news;
static unsigned long given; /* turns that somebody waited for; guarded by the gate */
static unsigned forks;

typedef struct waiter {
    struct waiter *next;
    const cwj_turn *turn;
    unsigned long thread;
} waiter;

static waiter *waiters; /* each on its thread's stack; guarded by the GIL */

/* In a forked child: the threads that waited or announced are not there. */
static void
start_anew(void)
{
    static const pthread_mutex_t fresh_gate = PTHREAD_MUTEX_INITIALIZER;
    gate = fresh_gate;
    tj_condition_init(&news);
    waiters = NULL;
    forks++;
}

void
cwj_turn_prepare(void)
{
    static bool made, done;
    if (!made) {
        tj_condition_init(&news);
        made = true;
    }
    if (!done) {
        done = tj_on_fork(NULL, NULL, start_anew);
    }
}

static unsigned long
count_given(void)
{
    pthread_mutex_lock(&gate);
    unsigned long count = given;
    pthread_mutex_unlock(&gate);
    return count;
}

/* Waits until more turns were given than `seen`, a twentieth of a second at most:
 * Ctrl-C wakes nobody. */
static void
wait_for_news(unsigned long seen)
{
    struct timespec end = tj_time_in(0.05);
    pthread_mutex_lock(&gate);
    while (given == seen && tj_condition_wait(&news, &gate, &end)) {
    }
    pthread_mutex_unlock(&gate);
}

static const cwj_turn *
awaited_by(unsigned long thread)
{
    const waiter *each = waiters;
    while (each != NULL && each->thread != thread) {
        each = each->next;
    }
    return each == NULL ? NULL : each->turn;
}

static bool
waits_for(const cwj_turn *turn, unsigned long me)
{
    while (turn != NULL && turn->busy && turn->owner != me) {
        turn = awaited_by(turn->owner);
    }
    return turn != NULL && turn->busy;
}

static void
forget(const waiter *gone)
{
    waiter **place = &waiters;
    while (*place != NULL && *place != gone) {
        place = &(*place)->next;
    }
    if (*place != NULL) {
        *place = gone->next;
    }
}

/* Returns 0 when it may be somebody's turn now, or -1 with an exception. */
static int
wait_once(cwj_turn *turn, unsigned long me)
{
    unsigned long seen = count_given(); /* before the GIL is gone: no turn is given meanwhile */
    waiter self = {.next = waiters, .turn = turn, .thread = me};
    waiters = &self;
    turn->waiting++;
    Py_BEGIN_ALLOW_THREADS
    wait_for_news(seen);
    Py_END_ALLOW_THREADS
    turn->waiting--;
    forget(&self);
    return PyErr_CheckSignals();
}

static int
refuse(const char *who, const char *why)
{
    return cwj_refuse(who, PyExc_RuntimeError, "%s", why);
}

int
cwj_turn_take(cwj_turn *turn, const char *who)
{
    unsigned long me = PyThread_get_thread_ident();
    int lost = 0;
    while (turn->busy && !lost) {
        if (turn->owner == me) {
            return refuse(who, "it is running already, in this very thread");
        }
        lost = turn->forks != forks;
        if (!lost && waits_for(turn, me)) {
            return refuse(who, "it is running in a thread that waits for this one");
        }
        if (!lost && wait_once(turn, me) < 0) {
            return -1;
        }
    }
    turn->busy = true;
    turn->owner = me;
    turn->forks = forks;
    return lost;
}

void
cwj_turn_give(cwj_turn *turn)
{
    turn->busy = false;
    if (turn->waiting > 0) {
        pthread_mutex_lock(&gate);
        given++;
        pthread_cond_broadcast(&news);
        pthread_mutex_unlock(&gate);
    }
}
