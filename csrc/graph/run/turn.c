/* turn.c: lets one thread at a time run an object.
 *
 * The GIL guards cwj_turn itself, but not a whole run: Python code in it (a filter, a perform, a finalizer) may release
 * the GIL. Other threads then wait for the lock turn->news, which cwj_turn_give() opens. A thread that wakes while the
 * turn is still taken waits again.
 *
 * Two graphs that call each other from two threads would wait for each other for ever. So a thread first checks whether
 * the thread that has the turn waits for it, directly or through others. */
#include "graph/run/turn.h"

#include "base/errors.h"
#include "os/threads.h"

enum {
    LONGEST_WAIT = 50000 /* us: Ctrl-C does not interrupt the wait */
};

static unsigned forks;

typedef struct waiter {
    struct waiter *next;
    const cwj_turn *turn;
    unsigned long thread;
} waiter;

static waiter *waiters; /* each on its thread's stack; guarded by the GIL */

/* Runs in a forked child, which does not have the threads that waited. */
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

/* Waits until the turn may be free. Returns 0, or -1 with an exception set. */
static int
wait_once(cwj_turn *turn, unsigned long me)
{
    if (turn->news == NULL) {
        turn->news = PyThread_allocate_lock();
        if (turn->news == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        PyThread_acquire_lock(turn->news, NOWAIT_LOCK); /* closed until the turn is given */
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
        /* The last release may not have woken a thread yet. Since CPython 3.15, a release of an open lock aborts. */
        PyThread_acquire_lock(turn->news, NOWAIT_LOCK);
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
