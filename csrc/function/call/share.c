/* share.c: runs the slices of one call on several threads.
 *
 * The caller has run the first slices alone and knows their cost. The caller and threads of the
 * pool (pool.c) then take chunks of the remaining slices until none is left. The first thread that
 * fails stops the others, and its error becomes the call's. Helpers have a Python thread state only
 * if their slices need one. */

enum {
    CWJ_SHARE_FROM_NS = 150000, /* less work ends before a thread is awake */
    CWJ_SHARE_EACH_NS = 50000,  /* one more thread for each of these */
    CWJ_SHARE_CHUNK_NS = 250000,
    CWJ_SHARE_LEAST_NS = 20000, /* the first chunk; towards the end, chunks shrink to this */
    CWJ_CALLER = 1,             /* values of cwj_share.failed; helpers follow */
    CWJ_HELPER = 2
};

typedef struct cwj_share {
    cwj_task task; /* first: the pool knows only this */
    const cwj_frame *frame;
    const cwj_plan *plan;
    PyInterpreterState *interpreter;
    double rate;              /* ns per slice before sharing began */
    int nthreads;             /* the caller and its helpers */
    cwj_cursor *cursors;      /* owned: one per helper, with their memory */
    npy_intp end;             /* slices */
    npy_intp next;            /* atomic: the first slice that no thread has taken */
    int failed;               /* atomic: the thread that failed first; 0: none */
    npy_intp done;            /* atomic: slices of the whole call that are done */
    unsigned long long spent; /* atomic: ns in loops that the caller has not counted yet */
    /* The error of the helper that failed first; guarded by the GIL. */
    PyObject *type, *value, *traceback;
#ifndef CWJ_STANDALONE
    cwj_thread *caller; /* borrowed, or NULL */
    unsigned long long shared; /* its calls before the helpers' */
    cwj_left left; /* of the first thread that left its slices */
    int noted;     /* atomic: left is set */
#endif
} cwj_share;

/* Records that `who` failed. Returns 1 if it is the first. */
static int
fail_share(cwj_share *share, int who)
{
    int nobody = 0;
    return __atomic_compare_exchange_n(&share->failed, &nobody, who, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

/* Takes the next chunk, after one of `count` slices at `rate` ns each; *begin is its first slice. Returns its length,
 * or 0 if none is left or a thread has failed. */
static npy_intp
take_slices(cwj_share *share, npy_intp count, double rate, npy_intp *begin)
{
    npy_intp left = share->end - __atomic_load_n(&share->next, __ATOMIC_RELAXED);
    if (left <= 0 || __atomic_load_n(&share->failed, __ATOMIC_RELAXED) != 0) {
        return 0;
    }
    double fair = (double)left * rate / (2 * share->nthreads);
    double ns = fair > CWJ_SHARE_LEAST_NS ? fair : CWJ_SHARE_LEAST_NS;
    count = next_chunk(share->plan, count, rate, ns < CWJ_SHARE_CHUNK_NS ? ns : CWJ_SHARE_CHUNK_NS);
    *begin = __atomic_fetch_add(&share->next, count, __ATOMIC_RELAXED);
    left = share->end - *begin;
    return left < count ? left : count;
}

/* Called by the caller between its chunks. */
static void
look_after_share(cwj_share *share, cwj_run *run, unsigned long long now)
{
    run->spent += __atomic_exchange_n(&share->spent, 0, __ATOMIC_RELAXED);
    if (between_chunks(run, __atomic_load_n(&share->done, __ATOMIC_RELAXED), now) < 0) {
        fail_share(share, CWJ_CALLER);
    }
}

/* Takes note if this thread has left its slices. run: as for run_share(). */
static void
note_left(cwj_share *share, const cwj_run *run)
{
#ifndef CWJ_STANDALONE
    if (cwj_has_left()) {
        cwj_left left = cwj_left_take();
        cwj_left_settle(run != NULL && run->frame->released == NULL);
        if (!__atomic_exchange_n(&share->noted, 1, __ATOMIC_RELAXED)) {
            share->left = left;
        }
    }
#else
    (void)share;
    (void)run;
#endif
}

/* Runs chunks until none is left. run: the caller's; NULL for helpers. */
static void
run_share(cwj_share *share, cwj_cursor *cursor, int who, cwj_run *run)
{
    npy_intp count = CWJ_WARM_CHUNK / CWJ_GROWTH, begin = 0;
    double rate = share->rate;
    while ((count = take_slices(share, count, rate, &begin)) > 0) {
        unsigned long long before = tj_clock_ns();
        seek(share->plan, cursor, begin);
        int accepted = run_from(share->plan, cursor, loop_of(share->frame), count,
                                (void *)&share->frame->call);
        unsigned long long now = tj_clock_ns();
        rate = (double)(now - before) / (double)count;
        __atomic_fetch_add(&share->spent, now - before, __ATOMIC_RELAXED);
        if (!accepted) {
            note_left(share, run);
            fail_share(share, who);
            return;
        }
        __atomic_fetch_add(&share->done, count, __ATOMIC_RELAXED);
        if (run != NULL) {
            look_after_share(share, run, now);
        }
    }
}

/* Ends a helper's thread state. The error of the first to fail becomes the call's, even if its slices returned true. */
static void
leave_interpreter(cwj_share *share, cwj_helper *helper, int who)
{
    PyEval_RestoreThread(helper->state);
    if (raised() &&
        (fail_share(share, who) || __atomic_load_n(&share->failed, __ATOMIC_RELAXED) == who)) {
        PyErr_Fetch(&share->type, &share->value, &share->traceback);
    }
    PyErr_Clear(); /* drops later errors only; signal handlers do not run on this thread */
    PyThreadState_Clear(helper->state);
    PyThreadState_DeleteCurrent();
}

static void
help_share(cwj_task *task, int seat)
{
    cwj_share *share = (cwj_share *)task;
    cwj_helper helper = {share->interpreter, NULL};
    if (share->frame->runtime->flags & CWJ_GIL_ALWAYS) {
        /* PyGILState_Ensure() in the slices finds this thread state, so their errors stay. */
        helper.state = PyThreadState_New(share->interpreter);
    }
    cwj_helping = &helper;
#ifndef CWJ_STANDALONE
    cwj_watch watch;
    cwj_watch_begin(&watch);
    cwj_thread_help(share->caller, share->shared);
#endif
    run_share(share, &share->cursors[seat], CWJ_HELPER + seat, NULL);
#ifndef CWJ_STANDALONE
    cwj_thread_help(NULL, 0);
    if (watch.failed && helper_take_gil(&helper)) {
        cwj_watch_end(&watch);
        PyEval_SaveThread();
    }
    cwj_watching = NULL;
#endif
    if (helper.state != NULL) {
        leave_interpreter(share, &helper, CWJ_HELPER + seat);
    }
    cwj_helping = NULL;
}

/* Allocates the cursors of all helpers in one block, without the GIL. Returns 0, or -1 if there is no memory. */
static int
open_cursors(cwj_share *share, int nhelpers)
{
    size_t axes = (size_t)share->plan->naxes, operands = (size_t)share->plan->noperands;
    size_t each = sizeof(cwj_cursor) + axes * sizeof(npy_intp) + operands * sizeof(char *);
    size_t copies = share->plan->stage != NULL ? (size_t)share->plan->stage->bytes : 0;
    share->cursors = hold_block((size_t)nhelpers * (each + copies));
    if (share->cursors == NULL) {
        return -1;
    }
    npy_intp *at = (npy_intp *)(share->cursors + nhelpers);
    char **data = (char **)(at + (size_t)nhelpers * axes);
    for (int i = 0; i < nhelpers; i++) {
        char *memory = (char *)(data + (size_t)nhelpers * operands) + (size_t)i * copies;
        share->cursors[i] =
            (cwj_cursor){at + (size_t)i * axes, data + (size_t)i * operands,
                         copies > 0 ? open_memory(share->plan->stage, memory) : NULL};
    }
    return 0;
}

static int
is_worth_sharing(const cwj_run *run, npy_intp left)
{
    const cwj_runtime *runtime = run->frame->runtime;
    return runtime->threads != 1 && (runtime->flags & CWJ_UNORDERED) &&
           run->frame->released != NULL && run->plan->total < NPY_MAX_INTP / 2 &&
           (double)left * run->rate >= CWJ_SHARE_FROM_NS;
}

/* Returns how many threads should help the caller. */
static int
count_helpers(const cwj_run *run, npy_intp left)
{
    int threads = run->frame->runtime->threads;
    double each = (double)left * run->rate / CWJ_SHARE_EACH_NS;
    npy_intp most = (threads == CWJ_THREADS_AUTO ? tj_count_processors() : threads) - 1;
    most = most < left ? most : left;
    return (int)((double)most < each ? most : (npy_intp)each);
}

/* Waits for the helpers, which end soon if slices are short. */
static void
join_helpers(cwj_share *share, cwj_run *run)
{
    while (!pool_finish()) {
        look_after_share(share, run, tj_clock_ns());
    }
    run->spent += share->spent;
    share->spent = 0;
}

/* Hands the error of the thread that failed first over to the calling thread. The GIL is not held before or after. */
static void
settle_errors(cwj_share *share, cwj_frame *frame, int child)
{
    take_gil(frame);
    if (child) {
        raise_in_call(frame, PyExc_RuntimeError,
                      "the process forked while threads ran the slices; they went on in the "
                      "parent only");
    } else if (share->failed != CWJ_CALLER) {
        PyErr_Clear(); /* only one exception can be raised: the first */
        PyErr_Restore(share->type, share->value, share->traceback);
    }
#ifndef CWJ_STANDALONE
    if (share->noted && !child &&
        (PyErr_Occurred() == NULL || PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))) {
        cwj_left_give(share->left); /* says more than that exception */
    }
#endif
    release_gil(frame);
}

/* Runs the slices from number `begin` on in several threads. Returns 1; 0 if one returned false or raised (the
 * exception is then set in the calling thread); -1 if no threads are available now. */
static int
share_slices(cwj_run *run, cwj_cursor *cursor, npy_intp begin)
{
    cwj_frame *frame = run->frame;
    int nhelpers = count_helpers(run, run->plan->total - begin);
    unsigned long forks = cwj_pool.forks;
    cwj_share share = {.task = {help_share},
                       .frame = frame,
                       .plan = run->plan,
                       .interpreter = PyThreadState_GetInterpreter(frame->released),
                       .rate = run->rate,
                       .nthreads = nhelpers + 1,
                       .end = run->plan->total,
                       .next = begin,
                       .done = begin};
    if (nhelpers < 1 || open_cursors(&share, nhelpers) < 0) {
        return -1;
    }
#ifndef CWJ_STANDALONE
    share.caller = cwj_this_thread;
    share.shared = share.caller != NULL ? share.caller->exits.count : 0;
#endif
    int started = pool_start(&share.task, nhelpers);
    if (started) {
        run_share(&share, cursor, CWJ_CALLER, run);
        int child = cwj_pool.forks != forks; /* its helpers exist only in the parent */
        if (!child) {
            join_helpers(&share, run);
            child = cwj_pool.forks != forks;
        }
        if (share.failed != 0 || child) {
            share.failed = share.failed != 0 ? share.failed : CWJ_CALLER;
            settle_errors(&share, frame, child);
        }
    }
    drop_block(share.cursors);
    return started ? share.failed == 0 : -1;
}
