/* numpy_loop.c: runs slices inside NumPy's loop, for a ufunc.
 *
 * NumPy has handled arguments, shapes and outputs. The frame here serves only the functions that snippets call. NumPy
 * may have released the GIL, and it does not stop for an exception before its whole loop has run, but slices must not
 * run while an exception is pending. Checking for one takes the GIL, so a thread remembers whether its slices may have
 * set one. Emitted modules have no ufuncs. */
#ifndef CWJ_STANDALONE

#include <fenv.h>

typedef struct cwj_numpy_loop {
    cwj_frame *frame;
    cwj_numpy_loop_task *task;
    void *argument;
    int accepted;
    cwj_watch watch; /* already begun */
} cwj_numpy_loop;

/* True if slices that ran for NumPy on this thread set an exception, which may still be set. */
static _Thread_local int cwj_left_exception;

static int
is_exception_pending(void)
{
    cwj_left_exception = cwj_left_exception && cwj_PyErr_Occurred() != NULL;
    return cwj_left_exception;
}

/* Ends the slices like a call, with the GIL held. If there is an exception, clears the floating-point flags: NumPy
 * checks them first, and its own error would replace the exception. */
static void
settle_numpy_loop(void *argument)
{
    cwj_numpy_loop *this = argument;
    cwj_watch_end(&this->watch);
    cwj_left_exception = check_answer(this->frame, this->accepted, CWJ_SLICE_CODE) < 0;
    if (cwj_left_exception) {
        feclearexcept(FE_ALL_EXCEPT);
    }
}

/* Runs slices that call nothing of Python except the entry points of snippet_api.c. */
static void
run_task(cwj_numpy_loop *this)
{
    if (is_exception_pending()) {
        return;
    }
    unsigned before = cwj_entries;
    this->accepted = this->task(this->argument, &this->frame->call);
    if (!this->accepted || cwj_entries != before || this->watch.failed) {
        cwj_in_python(settle_numpy_loop, this);
    }
}

/* Runs slices that may call all of Python. Needs the GIL. */
static void
run_task_in_python(void *argument)
{
    cwj_numpy_loop *this = argument;
    if (PyErr_Occurred() == NULL) {
        this->accepted = this->task(this->argument, &this->frame->call);
        settle_numpy_loop(this);
    }
}

/* Raises what a call raises whose code was left. */
static CWJ_COLD void
raise_left(cwj_frame *frame)
{
    cwj_numpy_loop left = {.frame = frame};
    cwj_watch_begin(&left.watch);
    cwj_numpy_loop_in_python(settle_numpy_loop, &left);
}

void
cwj_numpy_loop_run(cwj_runtime *runtime, int typeset, const cwj_operand *operands,
                   cwj_numpy_loop_task *task, void *argument)
{
    cwj_frame frame; /* only what snippet_api.c reads is set */
    frame.call = (cwj_call){.operands = operands};
    frame.runtime = runtime;
    frame.decl = runtime->decl;
    frame.released = NULL;
    frame.noperands = runtime->decl->ninputs + runtime->decl->noutputs;
    frame.typeset_index = typeset;
    if ((runtime->flags & CWJ_SILENT) && (runtime->flags & CWJ_RELEASE_GIL) && !cwj_has_closures &&
        !cwj_left_exception) {
        /* Setting thread locals takes as long as a short loop. */
        if (CWJ_UNLIKELY(!task(argument, &frame.call))) {
            raise_left(&frame);
        }
        return;
    }
    cwj_numpy_loop this = {&frame, task, argument, 1, {0}};
    cwj_watch_begin(&this.watch);
    cwj_in_numpy_loop++;
    if (runtime->flags & CWJ_RELEASE_GIL) {
        run_task(&this);
    } else {
        cwj_in_python(run_task_in_python, &this);
    }
    cwj_watching = this.watch.outer;
    cwj_in_numpy_loop--;
}

void
cwj_numpy_loop_in_python(void (*task)(void *), void *argument)
{
    cwj_in_numpy_loop++;
    cwj_in_python(task, argument);
    cwj_in_numpy_loop--;
}

void
cwj_note_numpy_loop(const cwj_call *call, const npy_intp *named, const npy_intp *strides,
                    unsigned long long ns)
{
    cwj_runtime *runtime = ((const cwj_frame *)call)->runtime;
    int typeset = cwj_typeset_index(call);
    cwj_profile *profile = &runtime->profiles[typeset];
    size_t dims = (size_t)runtime->decl->nnamed * sizeof(npy_intp);
    size_t steps = cwj_profile_strides(runtime->decl) * sizeof(npy_intp);
    int contiguous = cwj_contiguous_all(call);
    int other_dims = profile->contiguous != contiguous || memcmp(profile->named, named, dims) != 0;
    int other_strides = memcmp(profile->strides, strides, steps) != 0;
    profile->contiguous = contiguous;
    memcpy(profile->named, named, dims);
    memcpy(profile->strides, strides, steps);
    add_to_profile(profile, ns, other_dims, other_strides);
    add_heat(runtime, typeset, ns);
}

#endif
