/* turn.c: see turn.h.
 *
 * The GIL guards the turn itself. It does not keep threads apart for the length of
 * a run: Python code inside one (a filter, a perform, a finalizer) lets others in.
 * Those wait for a lock of the turn's, which nobody holds for long: giving the turn opens it.
 * A thread that is woken for nothing looks and waits again.
 *
 * Two graphs that call each other from two threads would wait for ever. So a thread looks
 * before it waits: does the one that has the turn wait for it, directly or through others?
 */
#include "graph/run/turn.h"

#include "base/errors.h"
#include "os/threads.h"

enum {
    LONGEST_WAIT = 50000 /* us: Ctrl-C wakes nobody */
};

static unsigned forks;

typedef struct waiter {
    struct waiter *next;
    const cwj_turn *turn;
    unsigned long thread;
} waiter;

static waiter *waiters; /* each on its thread's stack; guarded by the GIL */

/* In a forked child: the threads that waited are not there. */
static void
start_anew(void)
{
    waiters = NULL;
    forks++;
}

void
cwj_turn_prepare(void)
{
    static bool done;
    if (!done) {
        done = tj_on_fork(NULL, NULL, start_anew);
    }
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
    if (turn->news == NULL) {
        turn->news = PyThread_allocate_lock();
        if (turn->news == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        PyThread_acquire_lock(turn->news, NOWAIT_LOCK); /* there are none yet */
    }
    waiter self = {.next = waiters, .turn = turn, .thread = me};
    waiters = &self;
    turn->waiting++;
    Py_BEGIN_ALLOW_THREADS
    PyThread_acquire_lock_timed(turn->news, LONGEST_WAIT, 0);
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
        PyThread_release_lock(turn->news);
    }
}

void
cwj_turn_end(cwj_turn *turn)
{
    if (turn->news != NULL) {
        PyThread_free_lock(turn->news);
        turn->news = NULL;
    }
}
