/* run.c: runs the slices of a call.
 *
 * A short call (meter.c) only runs the loop, with the GIL held. Any other call runs in chunks (chunks.c), and shares
 * the remaining slices with other threads (share.c) if that pays off. */

/* Runs all slices in the calling thread, or in several threads if that pays off. count: slices of the first chunk.
 * Returns 0 if a slice returned false or an exception was raised. */
static int
run_chunks(cwj_run *run, cwj_cursor *cursor, npy_intp count)
{
    cwj_frame *frame = run->frame;
    npy_intp left = run->plan->total;
    int may_share = left > 1;
    unsigned long long before = tj_clock_ns();
    for (;;) {
        count = count < left ? count : left;
        int accepted = run_from(run->plan, cursor, loop_of(frame), count, &frame->call);
        unsigned long long now = tj_clock_ns();
        run->rate = (double)(now - before) / (double)count;
        run->spent += now - before;
        left -= count;
        if (!accepted || left == 0) {
            return accepted;
        }
        if ((frame->runtime->flags & CWJ_RELEASE_GIL) && frame->released == NULL &&
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
        if (between_chunks(run, run->plan->total - left, now) < 0) {
            return 0;
        }
        count = next_chunk(run->plan, count, run->rate, CWJ_CHUNK_NS);
        before = run->looked == now ? tj_clock_ns() : now;
    }
}

/* Runs the slices of a call that is not short. The GIL is held before and after. */
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
    if (frame->views == NULL) { /* otherwise this is one of several runs: borders.c */
        open_progress(frame, plan->total);
    }
    double estimate =
        (double)plan->total * work_of_slice(frame->decl, frame->named) * runtime->cost;
    if ((runtime->flags & CWJ_RELEASE_GIL) &&
        (!known || estimate >= CWJ_SHORT_NS || (runtime->flags & CWJ_GIL_ALWAYS))) {
        release_gil(frame);
    }
    run.looked = tj_clock_ns();
    frame->progress.began = frame->progress.began != 0 ? frame->progress.began : run.looked;
    npy_intp first = CWJ_FIRST_CHUNK;
    if (known) { /* at most the time of a chunk; less if other threads wait for it */
        double ns = runtime->threads == 1 ? CWJ_CHUNK_NS : CWJ_SHARE_LEAST_NS;
        first = next_chunk(plan, CWJ_WARM_CHUNK, estimate / (double)plan->total, ns);
        first = first < CWJ_WARM_CHUNK ? first : CWJ_WARM_CHUNK;
    }
    int finished = run_chunks(&run, &cursor, first);
    int left = !finished && cwj_has_left();
    if (CWJ_UNLIKELY(left)) {
        cwj_left_settle(frame->released == NULL);
    }
    if (frame->released != NULL) {
        take_gil(frame);
    }
    if (CWJ_UNLIKELY(left)) {
        runtime->left(runtime); /* before Python runs, which may call functions */
    }
    if (finished && !raised()) {
        note_cost(frame, plan->total, run.reported + run.spent);
        note_heat(frame, plan, run.spent);
    }
    if (frame->views == NULL && frame->progress.shown != NULL) {
        close_progress(frame, finished);
    }
    return finished;
}

/* Runs all slices at once. Returns 0 as soon as a slice returned false, or with MemoryError set. */
static int
run_all(cwj_frame *frame, const cwj_plan *plan)
{
    cwj_cursor cursor;
    if (plan->naxes == 1 && plan->stage == NULL) {
        return run_loop(loop_of(frame), plan->base, plan->dims, plan->steps, &frame->call);
    }
    return open_cursor(frame, plan, &cursor) == 0 &&
           run_from(plan, &cursor, loop_of(frame), plan->total, &frame->call);
}

__attribute__((noinline)) static int
run_sample(cwj_frame *frame, const cwj_plan *plan)
{
    unsigned long long asked = tj_clock_ns(), before = tj_clock_ns();
    int finished = run_all(frame, plan);
    unsigned long long ns = tj_clock_ns() - before, clock = before - asked;
    if (finished && !raised()) {
        note_sample(frame, plan, ns > clock ? ns - clock : 1);
    }
    return finished;
}

/* Runs a short call: it keeps the GIL, and reads a clock only for a sample. */
static inline int
run_short(cwj_frame *frame, const cwj_plan *plan)
{
    cwj_runtime *runtime = frame->runtime;
    if (frame->at_border) {
        return run_all(frame, plan);
    }
    runtime->calls--; /* until_sample also counts it */
    if (--runtime->until_sample > 0) {
        return run_all(frame, plan);
    }
    runtime->until_sample = CWJ_SAMPLE;
    runtime->calls += CWJ_SAMPLE;
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

/* Runs the slices of a call or of a box. Returns 0, or -1 with an exception set. */
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
