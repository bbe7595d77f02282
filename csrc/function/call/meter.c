/* meter.c: measures what slices cost, and what calls have in common.
 *
 * The work of a call is its number of slices times the product of the named dims, which grows like
 * the number of steps in most code. cwj_runtime.cost, the ns per unit of work, is a running maximum
 * that decays. Before a call it tells whether releasing the GIL, reading a clock or using threads
 * pays off. Of short calls only every 64th is timed, and counts for the others.
 *
 * Timed calls feed cwj_runtime.heat and .profiles, for better loops (cwj_runtime.hot). */

enum {
    CWJ_SHORT_SLICES = 4096 /* a short call has at most so many, however fast */
};

/* Returns the units of work in one slice. */
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

/* True for a call that ends before reading a clock or releasing the GIL would pay off. */
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

/* True for a stride that loops never take for a constant: see tj_is_free_stride() in tinyjit. */
static int
is_free_stride(const cwj_frame *frame, int k, npy_intp i)
{
    return view_of(frame, k) != NULL && i + 1 < frame->decl->operands[k].ncore;
}

/* True if all operands' slices lie as a loop's variant needs: contiguous; windows: contiguous along the last axis. */
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

/* Stores this call's strides in the profile. Returns 1 if they have changed. */
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

/* Adds time to a profile that already describes the calls. After a change of dims or strides, the time starts anew. */
static void
add_to_profile(cwj_profile *profile, unsigned long long ns, int other_dims, int other_strides)
{
    profile->time = (other_dims ? 0 : profile->time) + (ns > 0 ? ns : 1);
    profile->steady = (other_dims || other_strides ? 0 : profile->steady) + (ns > 0 ? ns : 1);
}

/* Adds the time that loops took, and calls `hot` when it is due. Needs the GIL and no exception set. */
static void
add_heat(cwj_runtime *runtime, int typeset, unsigned long long ns)
{
    runtime->heat += ns;
    if (runtime->hot != NULL && runtime->heat >= runtime->hot_at) {
        runtime->hot(runtime, typeset);
    }
}

/* Like add_heat(), for a call, whose dims and strides go to the profile. */
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

/* Notes a short call that took `ns` without the clock's own time. It counts for the others, unless it took unusually
 * long, for instance because another process interrupted it. */
static void
note_sample(const cwj_frame *frame, const cwj_plan *plan, unsigned long long ns)
{
    note_cost(frame, plan->total, ns);
    note_heat(frame, plan, ns < CWJ_SHORT_NS ? CWJ_SAMPLE * ns : ns);
}
