/* chunks.c: divides the slices of a long call into chunks, and does what is due between them.
 *
 * A chunk takes about half a millisecond. The first one has few slices; the clock decides how many
 * follow. The loop's pointer is read again before each chunk, so that a running call changes to
 * better code as soon as there is some. Between chunks the call may release the GIL, check for
 * Ctrl-C, report heat and progress, and share the remaining slices. */

enum {
    CWJ_FIRST_CHUNK = 1,        /* slices, if no call was timed yet: one may take hours */
    CWJ_WARM_CHUNK = 256,       /* slices, if other calls were timed */
    CWJ_GROWTH = 16,            /* a chunk has at most so many times the slices of the last one */
    CWJ_LARGEST_CHUNK = 1 << 19, /* slices, because later ones may be slower */
    CWJ_CHUNK_NS = 500000,
    CWJ_LOOK_NS = 100000000 /* between two checks for signals */
};

/* The slices of one running call, as the calling thread sees them. */
typedef struct cwj_run {
    cwj_frame *frame;
    const cwj_plan *plan;
    unsigned long long looked;    /* time of the last check for signals */
    unsigned long long spent;     /* ns in loops, of all threads, not reported yet */
    unsigned long long reported;  /* ns that were reported */
    unsigned long long report_at; /* report when `spent` reaches this */
    double rate;                  /* ns per slice in the last chunk */
} cwj_run;

static cwj_loop *
loop_of(const cwj_frame *frame)
{
    return __atomic_load_n(&frame->runtime->loops[frame->typeset_index], __ATOMIC_ACQUIRE);
}

/* Returns how much unreported time makes the function hot. The GIL is held. */
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

/* Does what a running call owes to Python now and then, with the GIL: reports heat, checks for signals, tells progress.
 * Does none of this if a slice has set an exception, which stays. Returns -1 if an exception was raised here. */
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

/* Called after a chunk, when `done` slices are done. Returns 0, or -1 with an exception set to stop the call. */
static int
between_chunks(cwj_run *run, npy_intp done, unsigned long long now)
{
    if (run->spent >= run->report_at || now - run->looked >= CWJ_LOOK_NS) {
        return visit_python(run, done, now);
    }
    return 0;
}

/* Returns the length of the chunk that follows one of `count` slices at `rate` ns each. It takes about `ns`, in whole
 * turns of the inner axis if these are short, otherwise in multiples of 64 slices, which fill cache lines. */
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
