/* chunks.c: the slices of a long call, chunk by chunk.
 *
 * A chunk takes about half a millisecond: at first it has few slices, then as many as the
 * clock says. The loop's pointer is read again before each chunk, so that a call
 * under way goes on in better code as soon as there is some. Between chunks there is
 * time to release the GIL, to look for Ctrl-C, to report heat, to say how far the call
 * is, and to share what is left.
 */

enum {
    CWJ_FIRST_CHUNK = 1,        /* slices, where nothing is known of them: each may take hours */
    CWJ_WARM_CHUNK = 256,       /* where other calls have been timed */
    CWJ_GROWTH = 16,            /* a chunk has at most so many times the slices before */
    CWJ_LARGEST_CHUNK = 1 << 19, /* slices: they may become slower any time */
    CWJ_CHUNK_NS = 500000,
    CWJ_LOOK_NS = 100000000 /* between two looks for signals */
};

/* The slices of one call under way, as the calling thread sees them. */
typedef struct cwj_run {
    cwj_frame *frame;
    const cwj_plan *plan;
    unsigned long long looked;    /* the time of the last look for signals */
    unsigned long long spent;     /* ns in loops, of all threads, not reported yet */
    unsigned long long reported;  /* those that are */
    unsigned long long report_at; /* report when that much was spent */
    double rate;                  /* ns per slice, of the last chunk */
} cwj_run;

static cwj_loop *
loop_of(const cwj_frame *frame)
{
    return __atomic_load_n(&frame->runtime->loops[frame->typeset_index], __ATOMIC_ACQUIRE);
}

/* When the time that is not reported yet makes the function hot. The GIL is held. */
static unsigned long long
time_to_report(const cwj_runtime *runtime)
{
    if (runtime->hot == NULL) {
        return ~0ull;
    }
    return runtime->hot_at > runtime->heat ? runtime->hot_at - runtime->heat : 1;
}

static int
raised(void)
{
    return PyErr_Occurred() != NULL;
}

/* What a call under way wants of Python now and then. An exception that a slice
 * has set stays, and nothing else is done. Returns -1 when one was raised here. */
static int
visit_python(cwj_run *run, npy_intp done, unsigned long long now)
{
    cwj_frame *frame = run->frame;
    int released = frame->released != NULL, status = 0;
    if (released) {
        take_gil(frame);
    }
    if (!raised()) {
        if (run->spent >= run->report_at) {
            note_heat(frame, run->plan, run->spent);
            run->reported += run->spent;
            run->spent = 0;
        }
        status = raised() ? -1 : PyErr_CheckSignals();
        status = status < 0 ? -1 : tell_progress(frame, done);
    }
    run->report_at = time_to_report(frame->runtime);
    run->looked = now;
    if (released) {
        release_gil(frame);
    }
    return status;
}

/* After a chunk, behind which so many slices are done. Returns -1 with an exception set to stop
 * the call. */
static int
between_chunks(cwj_run *run, npy_intp done, unsigned long long now)
{
    if (run->spent >= run->report_at || now - run->looked >= CWJ_LOOK_NS) {
        return visit_python(run, done, now);
    }
    return 0;
}

/* How many slices come next after a chunk of `count` at `rate`: about `ns`, in
 * whole turns of the inner axis where these are short, else in whole cache lines. */
static npy_intp
next_chunk(const cwj_plan *plan, npy_intp count, double rate, double ns)
{
    npy_intp most = count < CWJ_LARGEST_CHUNK / CWJ_GROWTH ? CWJ_GROWTH * count : CWJ_LARGEST_CHUNK;
    double wanted = ns / (rate > 1e-3 ? rate : 1e-3);
    npy_intp next = wanted < (double)most ? (npy_intp)wanted : most;
    npy_intp turn = plan->dims[plan->naxes - 1];
    npy_intp unit = next >= turn ? turn : next >= 64 ? 64 : 1;
    next -= next % unit;
    return next > 0 ? next : 1;
}
