/* leave.c: see leave.h. */
#include "base/leave.h"

#include "base/compat.h"
#include "base/debug/fault.h"
#include "base/errors.h"
#include "base/state.h"
#include "os/clock.h"
#include "os/signals.h"
#include "os/threads.h"

#include <math.h>
#ifdef __SANITIZE_ADDRESS__
void __asan_handle_no_return(void);
#endif

enum {
    LOOK_NS = 20000000, /* how often the handlers are looked after */
    IDLE_NS = 100000000, /* without a call for so long, the watching thread sleeps */
    AGAIN_NS = 1000000, /* from one signal to a thread to the next */
    FORGET_NS = 300000000, /* without a call of the main thread that it means, a Ctrl-C is over */
    OTHERS_NS = 300000000 /* how long other threads, which may keep the GIL, are tried */
};
static const unsigned long long patience_ns = 1000000000;

_Thread_local cwj_thread *cwj_this_thread;
int cwj_watch_sleeps = 1;
int cwj_deadlines;

/* `lock` guards everything except `pressed`, which is atomic. */
static struct {
    pthread_mutex_t lock;
    tj_bell bell;
    bool prepared; /* the key and the handlers of fork() exist */
    bool started;
    pthread_key_t key; /* its destructor ends a thread */
    cwj_thread *threads; /* atomic */
    unsigned pressed; /* how often, so far */
    unsigned seen;
    unsigned long long due; /* when calls meant by Ctrl-C are to be left; 0: none */
    unsigned long long met; /* when such a call of the main thread was seen last */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Owned, for good: a context variable, a tuple of capsules with the context's blocks. */
static PyObject *deadline_blocks;

/* ---- handlers of signals ---------------------------------------------------------------- */

static bool
is_meant(const cwj_thread *thread)
{
    unsigned long long serial = thread->exits.serial;
    return serial > __atomic_load_n(&thread->from, __ATOMIC_RELAXED) &&
           serial <= __atomic_load_n(&thread->upto, __ATOMIC_RELAXED);
}

static bool
holds_gil(void)
{
    PyThreadState *state = PyGILState_GetThisThreadState();
    return state != NULL && cwj_current_state() == state;
}

static void
note_left(cwj_thread *thread, const void *at)
{
    thread->left = (cwj_left){__atomic_load_n(&thread->reason, __ATOMIC_RELAXED), at};
}

/* Leaves the code that this thread runs, if that is wanted and possible. */
static bool
on_urge(int Py_UNUSED(number), siginfo_t *info, void *context)
{
    cwj_thread *thread = cwj_this_thread;
    if (!tj_signal_is_ours(info)) {
        return false;
    }
    if (thread != NULL && thread->exits.frame != NULL && is_meant(thread) &&
        tj_is_code(tj_interrupted_at(context)) &&
        (!__atomic_load_n(&thread->needs_gil, __ATOMIC_RELAXED) || holds_gil())) {
        note_left(thread, tj_interrupted_at(context));
        tj_exits_leave_interrupted(&thread->exits, context);
    }
    return true;
}

/* Notes which calls run, and wakes the watching thread after Python's handler, so that code which is left finds that
 * Python knows. */
static bool
on_interrupt(int number, siginfo_t *info, void *context)
{
    for (cwj_thread *each = __atomic_load_n(&watch.threads, __ATOMIC_ACQUIRE); each != NULL;
         each = each->next) {
        unsigned long long count = __atomic_load_n(&each->exits.count, __ATOMIC_RELAXED);
        __atomic_store_n(&each->pressed, count, __ATOMIC_RELAXED);
    }
    tj_signal_chain(number, info, context);
    __atomic_add_fetch(&watch.pressed, 1, __ATOMIC_RELEASE);
    tj_bell_ring(&watch.bell);
    return true;
}

static void
look_after_handlers(void)
{
    tj_signal_take(SIGINT, on_interrupt);
    tj_signal_take(SIGURG, on_urge);
}

/* ---- the watching thread ------------------------------------------------------------------ */

static unsigned long long
serial_of(const cwj_thread *thread)
{
    return __atomic_load_n(&thread->exits.serial, __ATOMIC_ACQUIRE);
}

/* True if the thread is inside a call that began before the last Ctrl-C. */
static bool
is_pressed(const cwj_thread *thread)
{
    const cwj_thread *caller = thread->caller;
    return caller != NULL
               ? thread->shared <= __atomic_load_n(&caller->pressed, __ATOMIC_RELAXED)
               : serial_of(thread) <= __atomic_load_n(&thread->pressed, __ATOMIC_RELAXED);
}

/* Makes a thread leave its calls after number `from`, up to the present one. */
static void
urge(cwj_thread *thread, cwj_reason reason, unsigned long long from, unsigned long long upto,
     bool needs_gil)
{
    __atomic_store_n(&thread->upto, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->reason, reason, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->needs_gil, needs_gil, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->from, from, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->upto, upto, __ATOMIC_RELEASE);
    tj_signal_urge(thread->id);
}

/* Has the thread leave its call if Ctrl-C means it. */
static void
look_at_press(cwj_thread *thread, unsigned long long now)
{
    bool helps = thread->caller != NULL,
         is_main = helps ? thread->caller->is_main : thread->is_main;
    if (watch.due == 0 || !is_pressed(thread) ||
        (!is_main && (helps || now > watch.due + OTHERS_NS))) {
        return;
    }
    watch.met = is_main ? now : watch.met;
    if (now >= watch.due) {
        unsigned long long upto = helps ? serial_of(thread) : thread->pressed;
        urge(thread, CWJ_LEFT_BY_CTRL_C, 0, upto, !is_main);
    }
}

/* Returns when to look at the thread again; 0: no matter. */
static unsigned long long
look_at_deadline(cwj_thread *thread, unsigned long long now)
{
    const cwj_deadline *deadline =
        thread->caller != NULL ? &thread->caller->deadline : &thread->deadline;
    if (deadline->at == 0 || deadline->at > now) {
        return deadline->at;
    }
    unsigned long long serial = serial_of(thread);
    if (thread->caller != NULL || serial > deadline->after) {
        urge(thread, CWJ_LEFT_BY_DEADLINE, thread->caller != NULL ? 0 : deadline->after, serial,
             false);
    }
    return now + AGAIN_NS;
}

/* Looks at all threads. Returns when to look again, at the latest. *calls: changes with each call. */
static unsigned long long
look(unsigned long long now, unsigned long long *calls, bool *busy)
{
    unsigned long long next = now + LOOK_NS;
    unsigned pressed = __atomic_load_n(&watch.pressed, __ATOMIC_ACQUIRE),
             more = pressed - watch.seen;
    *calls = 0;
    *busy = false;
    if (more > 0) {
        bool again = watch.due != 0 && now <= watch.met + FORGET_NS;
        watch.due = again || more > 1 ? now : now + patience_ns;
        watch.met = now;
        watch.seen = pressed;
    }
    bool none = __atomic_load_n(&cwj_deadlines, __ATOMIC_RELAXED) == 0;
    for (cwj_thread *each = watch.threads; each != NULL; each = each->next) {
        each->deadline =
            none ? (cwj_deadline){0} : each->deadline; /* whose block ended elsewhere */
        *calls += __atomic_load_n(&each->exits.count, __ATOMIC_RELAXED);
        if (!each->alive || (serial_of(each) == 0 && each->deadline.at == 0)) {
            continue;
        }
        *busy = true;
        if (serial_of(each) != 0) {
            unsigned long long at = look_at_deadline(each, now);
            next = at != 0 && at < next ? at : next;
            look_at_press(each, now);
        }
    }
    if (now > watch.met + FORGET_NS && now > watch.due + OTHERS_NS) {
        watch.due = 0; /* calls inside the one that is meant may hide it for a while */
    }
    unsigned long long at = watch.due == 0 ? next : watch.due > now ? watch.due : now + AGAIN_NS;
    return at < next ? at : next;
}

static void *
run_watch(void *Py_UNUSED(nothing))
{
    unsigned long long looked = 0, before = 0, calls;
    for (;;) {
        bool busy;
        unsigned long long now = tj_clock_ns();
        pthread_mutex_lock(&watch.lock); /* fork() waits for it */
        look_after_handlers();
        unsigned long long next = look(now, &calls, &busy);
        pthread_mutex_unlock(&watch.lock);
        bool settled = now - looked >= IDLE_NS, sleeps = settled && !busy && calls == before;
        if (settled) {
            looked = now;
            before = calls;
        }
        __atomic_store_n(&cwj_watch_sleeps, sleeps, __ATOMIC_SEQ_CST);
        tj_bell_wait(&watch.bell, sleeps ? 0 : next - now);
    }
    return NULL;
}

/* ---- threads ------------------------------------------------------------------------------ */

static void
before_fork(void)
{
    pthread_mutex_lock(&watch.lock);
}

static void
in_parent(void)
{
    pthread_mutex_unlock(&watch.lock);
}

/* Only the thread that forked exists here. */
static void
in_child(void)
{
    pthread_mutex_init(&watch.lock, NULL);
    for (cwj_thread *each = watch.threads; each != NULL; each = each->next) {
        each->alive = each->is_main = each == cwj_this_thread;
        each->caller = NULL;
    }
    watch.started = false;
    watch.bell = (tj_bell){0};
    watch.seen = watch.pressed;
    watch.due = 0;
    cwj_watch_sleeps = 1;
}

static void
end_thread(void *thread)
{
    pthread_mutex_lock(&watch.lock);
    ((cwj_thread *)thread)->alive = false;
    cwj_this_thread = NULL; /* another thread may get it */
    pthread_mutex_unlock(&watch.lock);
}

bool
cwj_leave_init(void)
{
    watch.prepared = watch.prepared || (pthread_key_create(&watch.key, end_thread) == 0 &&
                                        tj_on_fork(before_fork, in_parent, in_child));
    if (deadline_blocks == NULL) {
        deadline_blocks = PyContextVar_New("cwrapjit.deadline", NULL);
    }
    return deadline_blocks != NULL;
}

/* Starts to watch this thread. */
static cwj_thread *
begin_thread(void)
{
    cwj_thread *thread = watch.threads;
    while (thread != NULL && thread->alive) {
        thread = thread->next;
    }
    if (thread == NULL && (thread = PyMem_RawCalloc(1, sizeof(*thread))) != NULL) {
        thread->next = watch.threads;
        __atomic_store_n(&watch.threads, thread, __ATOMIC_RELEASE);
    }
    if (thread == NULL || pthread_setspecific(watch.key, thread) != 0) {
        return NULL;
    }
    thread->left = (cwj_left){0};
    thread->deadline = (cwj_deadline){0};
    thread->caller = NULL;
    thread->exits.frame = NULL;
    thread->exits.serial = 0;
    thread->id = pthread_self();
    thread->is_main = tj_is_first_thread();
    thread->alive = true;
    return thread;
}

cwj_thread *
cwj_thread_wake(void)
{
    static const size_t stack = 1 << 20;
    pthread_t id;
    pthread_mutex_lock(&watch.lock);
    if (cwj_this_thread == NULL && watch.prepared) {
        cwj_this_thread = begin_thread();
    }
    if (watch.prepared && __atomic_exchange_n(&cwj_watch_sleeps, 0, __ATOMIC_SEQ_CST)) {
        look_after_handlers();
        watch.started = watch.started || tj_thread_start(&id, stack, false, run_watch, NULL) == 0;
        tj_bell_ring(&watch.bell);
    }
    pthread_mutex_unlock(&watch.lock);
    return cwj_this_thread;
}

void
cwj_thread_help(cwj_thread *caller, unsigned long long shared)
{
    cwj_thread *thread = cwj_this_thread != NULL ? cwj_this_thread : cwj_thread_wake();
    if (thread != NULL) {
        pthread_mutex_lock(&watch.lock);
        thread->caller = caller;
        thread->shared = shared;
        pthread_mutex_unlock(&watch.lock);
    }
}

/* ---- after code was left -------------------------------------------------------------------- */

void
cwj_exits_open_or_leave(void *frame)
{
    cwj_thread *thread = cwj_this_thread;
    cwj_exits_open(frame);
    if (frame != NULL && is_meant(thread) && !thread->needs_gil) {
        note_left(thread, NULL);
#ifdef __SANITIZE_ADDRESS__
        __asan_handle_no_return();
#endif
        tj_exits_leave(&thread->exits);
    }
}

void
cwj_restore_gil(PyThreadState *thread, bool held)
{
    bool holds = thread != NULL && cwj_current_state() == thread;
    if (held && thread != NULL && !holds) {
        PyEval_RestoreThread(thread);
    } else if (!held && holds) {
        PyEval_SaveThread();
    }
}

void
cwj_left_settle(bool held)
{
    cwj_restore_gil(PyGILState_GetThisThreadState(), held);
}

cwj_left
cwj_left_take(void)
{
    cwj_left left = cwj_this_thread->left;
    cwj_this_thread->left = (cwj_left){0};
    return left;
}

bool
cwj_left_begin(cwj_left *left)
{
    *left = cwj_left_take();
    PyErr_Clear(); /* set by code that has been left since */
    if (left->reason == CWJ_LEFT_BY_CTRL_C) { /* the next press is a first one */
        pthread_mutex_lock(&watch.lock);
        watch.seen = __atomic_load_n(&watch.pressed, __ATOMIC_ACQUIRE);
        watch.due = 0;
        pthread_mutex_unlock(&watch.lock);
    }
    return left->reason != CWJ_LEFT_BY_CTRL_C || PyErr_CheckSignals() == 0 ||
           cwj_clear_expected(PyExc_KeyboardInterrupt, NULL);
}

void
cwj_left_give(cwj_left left)
{
    if (cwj_this_thread != NULL) {
        cwj_this_thread->left = left;
    }
}

/* Returns what happened, and why: a new str, or NULL with an exception set. */
static PyObject *
text_of_reason(cwj_reason reason)
{
    if (reason == CWJ_LEFT_BY_CTRL_C) {
        return PyUnicode_FromString(
            "the C code was left after Ctrl-C, and memory that it had allocated is lost");
    }
    PyObject *seconds = PyFloat_FromDouble(cwj_this_thread->deadline.seconds);
    PyObject *text =
        seconds == NULL
            ? NULL
            : PyUnicode_FromFormat(reason == CWJ_KEPT_BY_DEADLINE
                                       ? "the deadline of %S s was over before the C code had run"
                                       : "the C code was left at the deadline of %S s, and "
                                         "memory that it had allocated is lost",
                                   seconds);
    Py_XDECREF(seconds);
    return text;
}

void
cwj_left_raise(const char *who, cwj_left left, PyObject *as_user)
{
    const cwj_fault fault = {.at = left.at};
    PyObject *place, *words = cwj_place_text(&fault, as_user, &place);
    Py_XDECREF(place);
    if (words == NULL) { /* an error of as_user, or no memory */
        PyErr_Clear();
        words = PyUnicode_FromString("");
    }
    PyObject *reason = words == NULL ? NULL : text_of_reason(left.reason);
    if (reason != NULL) {
        cwj_refuse(who,
                   left.reason == CWJ_LEFT_BY_CTRL_C ? PyExc_KeyboardInterrupt : PyExc_TimeoutError,
                   "%U%U", reason, words);
        Py_DECREF(reason);
    }
    Py_XDECREF(words);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

/* A block of cwrapjit.deadline, in a capsule: other contexts may hold it when it has ended. */
typedef struct block {
    cwj_deadline deadline;
    const cwj_thread *thread; /* to which deadline.after belongs */
    bool over;
} block;

static const char block_name[] = "cwrapjit.deadline";

static void
end_block(block *this)
{
    if (!this->over) {
        this->over = true;
        __atomic_sub_fetch(&cwj_deadlines, 1, __ATOMIC_RELAXED);
    }
}

static void
free_block(PyObject *capsule)
{
    block *this = PyCapsule_GetPointer(capsule, block_name);
    end_block(this);
    tj_free(this);
}

/* Returns the context's blocks, a new tuple, without those that are over and with one more, which may be NULL. */
static PyObject *
open_blocks(PyObject *one_more)
{
    PyObject *all = NULL, *open = PyList_New(0);
    bool done = open != NULL && PyContextVar_Get(deadline_blocks, NULL, &all) == 0;
    for (Py_ssize_t i = 0; done && all != NULL && i < PyTuple_GET_SIZE(all); i++) {
        const block *each = PyCapsule_GetPointer(PyTuple_GET_ITEM(all, i), block_name);
        done = each->over || PyList_Append(open, PyTuple_GET_ITEM(all, i)) == 0;
    }
    done = done && (one_more == NULL || PyList_Append(open, one_more) == 0);
    PyObject *made = done ? PyList_AsTuple(open) : NULL;
    Py_XDECREF(all);
    Py_XDECREF(open);
    return made;
}

/* Returns false with an exception set. */
static bool
set_blocks(PyObject *one_more)
{
    PyObject *open = open_blocks(one_more);
    PyObject *token = open == NULL ? NULL : PyContextVar_Set(deadline_blocks, open);
    Py_XDECREF(open);
    Py_XDECREF(token);
    return token != NULL;
}

static cwj_deadline
nearest_deadline(const cwj_thread *thread)
{
    cwj_deadline nearest = {0};
    PyObject *all = NULL;
    if (PyContextVar_Get(deadline_blocks, NULL, &all) < 0) {
        PyErr_Clear(); /* no memory: the last one that was found holds */
        return thread->deadline;
    }
    for (Py_ssize_t i = 0; all != NULL && i < PyTuple_GET_SIZE(all); i++) {
        const block *each = PyCapsule_GetPointer(PyTuple_GET_ITEM(all, i), block_name);
        if (!each->over && (nearest.at == 0 || each->deadline.at < nearest.at)) {
            nearest = each->deadline;
            nearest.after = each->thread == thread ? nearest.after : 0;
        }
    }
    Py_XDECREF(all);
    return nearest;
}

void
cwj_deadline_take(void)
{
    cwj_thread *thread = cwj_this_thread != NULL ? cwj_this_thread : cwj_thread_wake();
    if (thread == NULL || thread->caller != NULL) {
        return;
    }
    cwj_deadline nearest = nearest_deadline(thread);
    if (nearest.at != thread->deadline.at) {
        pthread_mutex_lock(&watch.lock);
        thread->deadline = nearest;
        pthread_mutex_unlock(&watch.lock);
        tj_bell_ring(&watch.bell);
    }
}

bool
cwj_deadline_allows(cwj_thread *thread)
{
    if (thread->caller == NULL && holds_gil()) {
        cwj_deadline_take();
    }
    const cwj_deadline *deadline =
        thread->caller != NULL ? &thread->caller->deadline : &thread->deadline;
    if (deadline->at == 0 || deadline->at > tj_clock_ns()) {
        return true;
    }
    thread->left = (cwj_left){CWJ_KEPT_BY_DEADLINE, NULL};
    return false;
}

PyDoc_STRVAR(enter_deadline_doc,
             "enter_deadline(seconds, /)\n--\n\n"
             "Begin a deadline of this context. Returns what leave_deadline() takes.");

static PyObject *
enter_deadline(PyObject *Py_UNUSED(extension), PyObject *argument)
{
    double seconds = PyFloat_AsDouble(argument);
    if (seconds == -1 && PyErr_Occurred()) {
        return NULL;
    }
    const cwj_thread *thread = cwj_thread_wake();
    block *made = thread == NULL ? NULL : tj_alloc_zeroed(1, sizeof(*made));
    if (made == NULL) {
        return PyErr_NoMemory();
    }
    unsigned long long at = tj_clock_ns() + (unsigned long long)(fmin(seconds, 1e9) * 1e9);
    *made = (block){{at, thread->exits.count, seconds}, thread, false};
    PyObject *capsule = PyCapsule_New(made, block_name, free_block);
    if (capsule == NULL) {
        tj_free(made);
        return NULL;
    }
    __atomic_add_fetch(&cwj_deadlines, 1, __ATOMIC_RELAXED);
    if (!set_blocks(capsule)) {
        Py_CLEAR(capsule);
    }
    return capsule;
}

PyDoc_STRVAR(leave_deadline_doc, "leave_deadline(block, /)\n--\n\nEnd a deadline, in any context.");

static PyObject *
leave_deadline(PyObject *Py_UNUSED(extension), PyObject *capsule)
{
    block *this = PyCapsule_GetPointer(capsule, block_name);
    if (this == NULL) {
        return NULL;
    }
    end_block(this);
    cwj_deadline_take(); /* code of which this is a callback may go on */
    if (!set_blocks(NULL)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyMethodDef cwj_deadline_functions[] = {
    {"enter_deadline", enter_deadline, METH_O, enter_deadline_doc},
    {"leave_deadline", leave_deadline, METH_O, leave_deadline_doc},
    {NULL, NULL, 0, NULL},
};
