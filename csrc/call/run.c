/* run.c: running the slices of a call.
 *
 * A short call (meter.c) is the loop alone, with the GIL. Any other runs in
 * chunks of about half a millisecond, at first few slices, then as many as the
 * clock says. The loop's pointer is read again before each chunk, so that a call
 * under way goes on in better code as soon as there is some. Between chunks there is
 * time to release the GIL, to look for Ctrl-C, to report heat, and to share what
 * is left with other threads (share.c).
 */

enum {
    CWJ_FIRST_CHUNK = 16,       /* slices, where nothing is known of them */
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
visit_python(cwj_run *run, unsigned long long now)
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
        status = PyErr_CheckSignals();
    }
    run->report_at = time_to_report(frame->runtime);
    run->looked = now;
    if (released) {
        release_gil(frame);
    }
    return status;
}

/* After a chunk. Returns -1 with an exception set to stop the call. */
static int
between_chunks(cwj_run *run, unsigned long long now)
{
    if (run->spent >= run->report_at || now - run->looked >= CWJ_LOOK_NS) {
        return visit_python(run, now);
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

#include "share.c"

/* All slices in the calling thread, or in several where that pays. Returns 0 when
 * a slice returned false or an exception was raised. */
static int
run_chunks(cwj_run *run, cwj_cursor *cursor, npy_intp count)
{
    cwj_frame *frame = run->frame;
    npy_intp left = run->plan->total;
    int may_share = left > 1;
    unsigned long long before = now_ns();
    for (;;) {
        count = count < left ? count : left;
        int accepted = run_from(run->plan, cursor, loop_of(frame), count, &frame->call);
        unsigned long long now = now_ns();
        run->rate = (double)(now - before) / (double)count;
        run->spent += now - before;
        left -= count;
        if (!accepted || left == 0) {
            return accepted;
        }
        if (frame->runtime->release_gil && frame->released == NULL &&
            (double)left * run->rate >= CWJ_SHORT_NS) {
            release_gil(frame);
        }
        if (may_share && is_worth_sharing(run, left)) {
            int shared = share_slices(run, cursor, run->plan->total - left);
            if (shared >= 0) {
                return shared;
            }
            may_share = 0;
        }
        if (between_chunks(run, now) < 0) {
            return 0;
        }
        count = next_chunk(run->plan, count, run->rate, CWJ_CHUNK_NS);
        before = run->looked == now ? now_ns() : now;
    }
}

/* A call that is not short, from the GIL to the GIL. */
__attribute__((noinline)) static int
run_long(cwj_frame *frame, cwj_plan *plan)
{
    cwj_cursor cursor;
    cwj_runtime *runtime = frame->runtime;
    cwj_run run = {.frame = frame, .plan = plan, .report_at = time_to_report(runtime)};
    int known = runtime->cost > 0;
    if (runtime->flags & CWJ_UNORDERED) {
        turn_axis(plan, plan->naxes - 1);
    }
    if (open_cursor(frame, plan, &cursor) < 0) {
        return 0;
    }
    double estimate =
        (double)plan->total * work_of_slice(frame->decl, frame->named) * runtime->cost;
    if (runtime->release_gil &&
        (!known || estimate >= CWJ_SHORT_NS || (runtime->flags & CWJ_GIL_ALWAYS))) {
        release_gil(frame);
    }
    run.looked = now_ns();
    int finished = run_chunks(&run, &cursor, known ? CWJ_WARM_CHUNK : CWJ_FIRST_CHUNK);
    if (frame->released != NULL) {
        take_gil(frame);
    }
    if (finished && !raised()) {
        note_cost(frame, plan->total, run.reported + run.spent);
        note_heat(frame, plan, run.spent);
    }
    return finished;
}

/* All slices at once. Returns 0 as soon as one returned false, or without memory. */
static int
run_all(cwj_frame *frame, const cwj_plan *plan)
{
    cwj_cursor cursor;
    if (plan->naxes == 1) {
        return loop_of(frame)(plan->base, plan->dims, plan->steps, &frame->call);
    }
    return open_cursor(frame, plan, &cursor) == 0 &&
           run_from(plan, &cursor, loop_of(frame), plan->total, &frame->call);
}

__attribute__((noinline)) static int
run_sample(cwj_frame *frame, const cwj_plan *plan)
{
    unsigned long long asked = now_ns(), before = now_ns();
    int finished = run_all(frame, plan);
    unsigned long long ns = now_ns() - before, clock = before - asked;
    if (finished && !raised()) {
        note_sample(frame, plan, ns > clock ? ns - clock : 1);
    }
    return finished;
}

/* A short call: the GIL stays, no clock is read but for a sample. */
static inline int
run_short(cwj_frame *frame, const cwj_plan *plan)
{
    if (--frame->runtime->until_sample > 0) {
        return run_all(frame, plan);
    }
    frame->runtime->until_sample = CWJ_SAMPLE;
    return run_sample(frame, plan);
}

static int
has_slices(const cwj_frame *frame)
{
    for (int axis = 0; axis < frame->nextra; axis++) {
        if (frame->extra[axis] == 0) {
            return 0;
        }
    }
    return 1;
}

/* Returns 0, or -1 with an exception set. */
static int
run_slices(cwj_frame *frame)
{
    cwj_plan plan;
    cwj_line line;
    if (!has_slices(frame)) {
        return 0;
    }
    if (plan_slices(frame, &plan, &line) < 0) {
        return -1;
    }
    double work = work_of_slice(frame->decl, frame->named);
    int finished = is_short(frame->runtime, plan.total, work) ? run_short(frame, &plan)
                                                              : run_long(frame, &plan);
    return check_answer(frame, finished, CWJ_SLICE_CODE);
}
