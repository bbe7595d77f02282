/* entry.c: runs a function's loop without a call, for other compiled code.
 *
 * The caller has the address of a loop, and passes data, dims and steps as NumPy passes them to loops of generalized
 * ufuncs. Slices see arrays with one axis before the core dims. Emitted modules have no such addresses. */
#ifndef CWJ_STANDALONE

/* ---- where core dims stand ------------------------------------------------------ */

int
cwj_number_core_dims(const cwj_function_decl *decl, npy_intp *seen, int *index)
{
    int count = 0;
    for (int k = 0; k < decl->ninputs + decl->noutputs; k++) {
        for (int i = 0; i < decl->operands[k].ncore; i++) {
            int at = 0;
            while (at < count && seen[at] != decl->operands[k].core[i]) {
                at++;
            }
            if (at == count) {
                seen[count++] = decl->operands[k].core[i];
            }
            *index++ = at;
        }
    }
    return count;
}

cwj_loop_entry *
cwj_loop_entry_new(cwj_runtime *runtime, int typeset, int may_raise)
{
    const cwj_function_decl *decl = runtime->decl;
    size_t noperands = (size_t)(decl->ninputs + decl->noutputs);
    size_t ncore = cwj_profile_strides(decl) - noperands; /* of all operands */
    cwj_loop_entry *entry = PyMem_Calloc(1, sizeof(*entry) + ncore * sizeof(int));
    npy_intp *seen = PyMem_Calloc(ncore + 1, sizeof(*seen));
    if (entry == NULL || seen == NULL) {
        PyMem_Free(entry);
        entry = NULL;
        PyErr_NoMemory();
        goto done;
    }
    entry->runtime = runtime;
    entry->typeset = typeset;
    entry->may_raise = may_raise;
    entry->bytes = noperands * (sizeof(cwj_operand) + 2 * sizeof(npy_intp)) +
                   2 * ncore * sizeof(npy_intp) + decl->extras_size + 2 * CWJ_ALIGN;
    cwj_number_core_dims(decl, seen, entry->index);
done:
    PyMem_Free(seen);
    return entry;
}

/* ---- running --------------------------------------------------------------------- */

/* A run: a frame without states, and the arguments of the loop. */
typedef struct cwj_entry_run {
    cwj_frame frame; /* its arena is not used: that could need the heap, and so the GIL */
    const cwj_loop_entry *entry;
    char **data;
    const npy_intp *dims, *steps;
    int accepted;
} cwj_entry_run;

/* Describes operand k with one axis before its core dims, or none if all slices share it. Moves *index and *strides
 * past its core dims. numbers has room for its dims and steps; returns what follows them. */
static npy_intp *
describe_entry_operand(const cwj_entry_run *run, int k, const int **index, npy_intp **strides,
                       npy_intp *numbers)
{
    const cwj_function_decl *decl = run->frame.decl;
    const cwj_operand_decl *operand = &decl->operands[k];
    int ncore = operand->ncore, alone = operand->role == CWJ_SHARED;
    npy_intp *dims = numbers, *steps = numbers + 1 + ncore;
    dims[0] = run->dims[0];
    steps[0] = run->steps[k];
    for (int i = 0; i < ncore; i++) {
        dims[1 + i] = operand->core[i] >= 0 ? operand->core[i] : run->dims[1 + *(*index)];
        steps[1 + i] = *(*strides)++;
        *index += 1;
    }
    fill_operand(&run->frame.operands[k], 1 + ncore - alone, ncore, dims + alone, steps + alone,
                 decl->typesets[run->entry->typeset].types[k].itemsize, run->data[k]);
    return numbers + 2 * (1 + ncore);
}

static void
describe_entry_operands(cwj_entry_run *run, char *memory, void *extras)
{
    cwj_frame *frame = &run->frame;
    const cwj_function_decl *decl = frame->decl;
    const int *index = run->entry->index;
    npy_intp *strides = (npy_intp *)run->steps + frame->noperands;
    if (decl->extras_size > 0 && extras == NULL) {
        extras = memory;
        memset(extras, 0, decl->extras_size);
        decl->defaults(extras);
        memory += (decl->extras_size + CWJ_ALIGN - 1) / CWJ_ALIGN * CWJ_ALIGN;
    }
    frame->operands = (cwj_operand *)memory;
    frame->call = (cwj_call){.operands = frame->operands, .extras = extras};
    npy_intp *numbers = (npy_intp *)(frame->operands + frame->noperands);
    for (int k = 0; k < frame->noperands; k++) {
        numbers = describe_entry_operand(run, k, &index, &strides, numbers);
    }
}

/* The caller is C, which knows no exceptions: they are reported, like those of other callbacks. */
static void
report_raised(void *argument)
{
    cwj_entry_run *run = argument;
    if (PyErr_Occurred() != NULL) {
        PyErr_WriteUnraisable(NULL);
        run->accepted = 0;
    }
}

static void
run_entry(void *argument)
{
    cwj_entry_run *run = argument;
    run->accepted = loop_of(&run->frame)(run->data, run->dims, run->steps, &run->frame.call);
}

int
cwj_loop_entry_run(const cwj_loop_entry *entry, char **data, const npy_intp *dims,
                   const npy_intp *steps, void *extras)
{
    _Alignas(CWJ_ALIGN) char usual[1024];
    cwj_entry_run run;
    char *memory = entry->bytes <= sizeof usual ? usual : hold_block(entry->bytes);
    if (memory == NULL) {
        return 0;
    }
    /* The other members of the frame are not used here. */
    run.frame.runtime = entry->runtime;
    run.frame.decl = entry->runtime->decl;
    run.frame.noperands = run.frame.decl->ninputs + run.frame.decl->noutputs;
    run.frame.typeset_index = entry->typeset;
    run.frame.released = NULL;
    run.entry = entry;
    run.data = data;
    run.dims = dims;
    run.steps = steps;
    describe_entry_operands(&run, memory, extras);
    if (entry->runtime->flags & CWJ_RELEASE_GIL) {
        run_entry(&run);
    } else {
        cwj_in_python(run_entry, &run);
    }
    if (entry->may_raise) {
        cwj_in_python(report_raised, &run);
    }
    if (memory != usual) {
        drop_block(memory);
    }
    return run.accepted;
}

#endif
