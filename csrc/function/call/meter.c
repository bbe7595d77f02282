/* meter.c: what slices cost, and what calls have in common.
 *
 * Work is counted in slices times the product of the named dims, which grows as
 * the number of steps does in most code. cwj_runtime.cost, the ns that a unit of
 * work took, is a running maximum that decays: it says before a call whether the
 * GIL, a clock and threads are worth their price. Short calls are not timed but
 * for every 64th, which stands for the others.
 *
 * What is timed feeds cwj_runtime.heat and .profiles, for whoever compiles better
 * loops (cwj_runtime.hot).
 */

enum {
    CWJ_SHORT_SLICES = 4096 /* a short call has no more, whatever they cost until now */
};

/* Units of work per slice. */
static inline double
work_of_slice(const cwj_function_decl *decl, const npy_intp *named)
{
    double work = 1;
    for (int i = 0; i < decl->nnamed; i++) {
        CWJ_SHORT_LOOP();
        work *= named[i] > 1 ? (double)named[i] : 1;
    }
    return work;
}

/* True for calls that are over sooner than a clock and the GIL are worth. */
static inline int
is_short(const cwj_runtime *runtime, npy_intp slices, double work_of_one)
{
    return slices <= CWJ_SHORT_SLICES && runtime->cost > 0 &&
           (double)slices * work_of_one * runtime->cost < CWJ_SHORT_NS &&
           !(runtime->flags & CWJ_GIL_ALWAYS);
}

static void
note_cost(const cwj_frame *frame, npy_intp slices, unsigned long long ns)
{
    cwj_runtime *runtime = frame->runtime;
    if (frame->at_border) {
        return;
    }
    double work = (double)slices * work_of_slice(frame->decl, frame->named);
    double cost = (double)(ns > 0 ? ns : 1) / work;
    runtime->cost = cost >= runtime->cost ? cost : (cost + runtime->cost) / 2;
}

/* A stride that loops do not take for a constant: see tj_is_free_stride() of tinyjit. */
static int
is_free_stride(const cwj_frame *frame, int k, npy_intp i)
{
    return view_of(frame, k) != NULL && i + 1 < frame->decl->operands[k].ncore;
}

/* True when the slices of all operands lie as loops have a variant for: contiguous, of a window
 * its last axis. */
static int
lie_closely(const cwj_frame *frame)
{
    if (frame->views == NULL) {
        return cwj_contiguous_all(&frame->call);
    }
    for (int k = 0; k < frame->noperands; k++) {
        const cwj_operand *operand = &frame->operands[k];
        if (view_of(frame, k) == NULL
                ? !cwj_contiguous(&frame->call, k)
                : operand->strides_slice[operand->ndims_slice - 1] != operand->sizeof_element) {
            return 0;
        }
    }
    return 1;
}

/* Writes this call's strides over the profile's. Returns 1 when they are others. */
static int
replace_strides(const cwj_frame *frame, const cwj_plan *plan, npy_intp *strides)
{
    const npy_intp *steps = loop_steps(plan);
    npy_intp changes = 0;
    for (int k = 0; k < frame->noperands; k++) {
        changes |= *strides ^ steps[k];
        *strides++ = steps[k];
    }
    for (int k = 0; k < frame->noperands; k++) {
        const cwj_operand *operand = &frame->operands[k];
        for (npy_intp i = 0; i < operand->ndims_slice; i++) {
            npy_intp stride = is_free_stride(frame, k, i) ? 0 : operand->strides_slice[i];
            changes |= *strides ^ stride;
            *strides++ = stride;
        }
    }
    return changes != 0;
}

/* As replace_strides(), for the named dims and contiguity. */
static int
replace_dims(const cwj_frame *frame, cwj_profile *profile)
{
    size_t bytes = (size_t)frame->decl->nnamed * sizeof(npy_intp);
    int contiguous = lie_closely(frame);
    int changed = profile->contiguous != contiguous ||
                  (bytes > 0 && memcmp(profile->named, frame->named, bytes) != 0);
    profile->contiguous = contiguous;
    if (bytes > 0) {
        memcpy(profile->named, frame->named, bytes);
    }
    return changed;
}

/* Adds time to the profile of a call's kind, which was noted; another kind than the one before has
 * taken its place. */
static void
add_to_profile(cwj_profile *profile, unsigned long long ns, int other_dims, int other_strides)
{
    profile->time = (other_dims ? 0 : profile->time) + (ns > 0 ? ns : 1);
    profile->steady = (other_dims || other_strides ? 0 : profile->steady) + (ns > 0 ? ns : 1);
}

/* With the GIL held and no exception set: tells that loops took so much time. */
static void
add_heat(cwj_runtime *runtime, int typeset, unsigned long long ns)
{
    runtime->heat += ns;
    if (runtime->hot != NULL && runtime->heat >= runtime->hot_at) {
        runtime->hot(runtime, typeset);
    }
}

/* The same for a call. */
static void
note_heat(const cwj_frame *frame, const cwj_plan *plan, unsigned long long ns)
{
    cwj_profile *profile = &frame->runtime->profiles[frame->typeset_index];
    if (!frame->at_border || profile->time == 0) {
        int other_strides = replace_strides(frame, plan, profile->strides);
        int other_dims = replace_dims(frame, profile);
        add_to_profile(profile, ns, other_dims, other_strides);
    }
    add_heat(frame->runtime, frame->typeset_index, ns);
}

/* One short call, timed; a clock's own time does not count. An unusual one, such
 * as one that another process has interrupted, stands for itself only. */
static void
note_sample(const cwj_frame *frame, const cwj_plan *plan, unsigned long long ns)
{
    note_cost(frame, plan->total, ns);
    note_heat(frame, plan, ns < CWJ_SHORT_NS ? CWJ_SAMPLE * ns : ns);
}
