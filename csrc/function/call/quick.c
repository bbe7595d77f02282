/* quick.c: makes the usual short call without the memory of a frame.
 *
 * It does in one pass what plain.c does in steps, for calls that need least: slices are the only
 * snippets; there are few operands of few dims, which match the type set that is tried first;
 * slices lie along one axis or without gaps; the work is too small for a clock or the GIL to
 * matter. Any other call is left to the steps, with nothing changed. So all errors are raised
 * there, except those of slices.
 *
 * What slices see is copied, as in plain.c, because slices may print, which runs Python code. Most
 * cannot (CWJ_SILENT), and then no other code can change an array meanwhile. */

enum {
    CWJ_QUICK_OPERANDS = 6,
    CWJ_QUICK_DIMS = 4, /* of one operand */
    CWJ_QUICK_NAMED = 6
};

typedef enum cwj_answer {
    CWJ_DONE, /* with a result or an exception */
    CWJ_NOT_QUICK
} cwj_answer;

typedef struct cwj_quick {
    int silent; /* slices run no Python code and do not fail */
    char *data[CWJ_QUICK_OPERANDS];
    npy_intp steps[CWJ_QUICK_OPERANDS];
    npy_intp sizes[CWJ_QUICK_OPERANDS]; /* bytes of the whole array */
    PyObject *made[CWJ_QUICK_OPERANDS]; /* owned: new outputs; NULL: numbers in scalars */
    npy_intp named[CWJ_QUICK_NAMED];
    npy_intp axes[CWJ_QUICK_OPERANDS][2 * CWJ_QUICK_DIMS]; /* dims, then strides */
    cwj_operand operands[CWJ_QUICK_OPERANDS];
    _Alignas(CWJ_ALIGN) char scalars[CWJ_QUICK_OPERANDS][CWJ_SCALAR_BYTES];
} cwj_quick;

/* True for functions whose short calls may be quick. */
static int
may_be_quick(const cwj_runtime *runtime)
{
    const cwj_function_decl *decl = runtime->decl;
    return runtime->has_plain_types && !runtime->has_user_data && !runtime->has_inout &&
           decl->validate == NULL && decl->cleanup == NULL && decl->windows == NULL &&
           decl->ntypesets > 0 && decl->ninputs + decl->noutputs <= CWJ_QUICK_OPERANDS &&
           decl->nnamed <= CWJ_QUICK_NAMED;
}

/* Describes how an operand's slices lie. Copies its dims and strides if slices may run Python code. */
static inline void
place_operand(cwj_quick *quick, int k, int ndim, int ncore, npy_intp itemsize, char *data,
              npy_intp *dims, npy_intp *strides)
{
    npy_intp size = itemsize, slice = itemsize;
    int nextra = ndim - ncore;
    for (int i = ndim - 1; i >= 0; i--) {
        CWJ_SHORT_LOOP();
        size *= dims[i];
        slice = i == nextra ? size : slice;
    }
    quick->data[k] = data;
    quick->sizes[k] = size;
    quick->steps[k] = nextra == 0 ? 0 : nextra == 1 ? strides[0] : slice;
    if (!quick->silent) {
        npy_intp *copy = quick->axes[k];
        for (int i = 0; i < ndim; i++) {
            CWJ_SHORT_LOOP();
            copy[i] = dims[i];
            copy[CWJ_QUICK_DIMS + i] = strides[i];
        }
        dims = copy;
        strides = copy + CWJ_QUICK_DIMS;
    }
    fill_operand(&quick->operands[k], ndim, ncore, dims, strides, itemsize, data);
}

/* Takes an array that has the right dtype, if it has all of these NumPy `flags`. */
static inline int
take_quick_array(cwj_quick *quick, cwj_pass *pass, int k, const cwj_operand_decl *operand,
                 npy_intp itemsize, PyArrayObject *array, int flags)
{
    int ndim = PyArray_NDIM(array), ncore = operand->ncore, nextra = ndim - ncore;
    flags |= nextra > 1 ? NPY_ARRAY_C_CONTIGUOUS : 0;
    if (CWJ_UNLIKELY((PyArray_FLAGS(array) & flags) != flags || ndim > CWJ_QUICK_DIMS ||
                     nextra < 0)) {
        return 0;
    }
    npy_intp *dims = PyArray_DIMS(array);
    place_operand(quick, k, ndim, ncore, itemsize, PyArray_BYTES(array), dims,
                  PyArray_STRIDES(array));
    return plain_core_fits(pass, operand, dims + nextra) &&
           plain_extra_fits(pass, dims, nextra, operand->role);
}

/* Takes a number as an input without core dims. */
static int
take_quick_number(cwj_quick *quick, int k, const cwj_operand_decl *operand, const cwj_type *type,
                  const PyArray_Descr *descr, PyObject *number)
{
    if (operand->ncore > 0 || !store_number(quick->scalars[k], number, type, descr)) {
        return 0;
    }
    place_operand(quick, k, 0, 0, type->itemsize, quick->scalars[k], NULL, NULL);
    return 1;
}

/* Takes the inputs. Numbers are taken only with the first type set, and beside an array or if it is the only set. */
static inline int
take_quick_inputs(cwj_quick *quick, cwj_pass *pass, const cwj_runtime *runtime, int index,
                  PyObject *const *inputs, int flags)
{
    const cwj_function_decl *decl = runtime->decl;
    const cwj_operand_decl *operands = decl->operands;
    const cwj_type *types = decl->typesets[index].types;
    int ninputs = decl->ninputs, narrays = 0;
    PyArray_Descr *const *descrs = descrs_of(runtime, index);
    for (int k = 0; k < ninputs; k++) {
        PyObject *object = inputs[k];
        if (CWJ_LIKELY(PyArray_CheckExact(object))) {
            PyArrayObject *array = (PyArrayObject *)object;
            if (PyArray_DESCR(array) != descrs[k] ||
                !take_quick_array(quick, pass, k, &operands[k], types[k].itemsize, array, flags)) {
                return 0;
            }
            narrays++;
        } else if (index > 0 ||
                   !take_quick_number(quick, k, &operands[k], &types[k], descrs[k], object)) {
            return 0;
        }
    }
    return narrays > 0 || (decl->ntypesets == 1 && ninputs > 0);
}

/* True if the slices of operands k and `other` are the same single elements. Neither operand has gaps. */
static inline int
is_same_quick_view(const cwj_quick *quick, const cwj_operand_decl *operands, int k, int other)
{
    return quick->data[other] == quick->data[k] && quick->sizes[other] == quick->sizes[k] &&
           operands[other].role == CWJ_IN && operands[other].ncore == 0 && operands[k].ncore == 0 &&
           quick->operands[other].ndims_full == quick->operands[k].ndims_full;
}

/* True if the given output k, whose memory has no gaps, is apart from all inputs and from the outputs before it, or is
 * exactly an input where that is allowed. */
static inline int
is_quickly_apart(const cwj_quick *quick, const cwj_operand_decl *operands, int k)
{
    const char *low = quick->data[k], *high = low + quick->sizes[k];
    for (int other = 0; other < k; other++) {
        CWJ_SHORT_LOOP();
        if (CWJ_UNLIKELY(quick->data[other] < high &&
                         low < quick->data[other] + quick->sizes[other]) &&
            !is_same_quick_view(quick, operands, k, other)) {
            return 0;
        }
    }
    return 1;
}

static inline int
take_quick_outputs(cwj_quick *quick, cwj_pass *pass, const cwj_runtime *runtime, int index,
                   PyObject *const *given, int ngiven)
{
    const cwj_function_decl *decl = runtime->decl;
    const cwj_type *types = decl->typesets[index].types;
    int ninputs = decl->ninputs;
    PyArray_Descr *const *descrs = descrs_of(runtime, index) + ninputs;
    for (int i = 0; i < ngiven; i++) {
        int k = ninputs + i;
        PyArrayObject *array = (PyArrayObject *)given[i];
        if (PyArray_DESCR(array) != descrs[i] ||
            !take_quick_array(quick, pass, k, &decl->operands[k], types[k].itemsize, array,
                              NPY_ARRAY_CARRAY) ||
            !is_quickly_apart(quick, decl->operands, k)) {
            return 0;
        }
    }
    return 1;
}

/* Makes one new output. Returns 0 if that needs more than this, or memory: the steps then raise the error. */
static inline int
make_quick_output(cwj_quick *quick, const cwj_pass *pass, const cwj_runtime *runtime, int index,
                  int k)
{
    const cwj_function_decl *decl = runtime->decl;
    const cwj_operand_decl *operand = &decl->operands[k];
    const cwj_type *type = &decl->typesets[index].types[k];
    int nextra = pass->nextra, ndim = nextra + operand->ncore;
    npy_intp *dims = quick->axes[k];
    quick->made[k] = NULL;
    if (ndim == 0 && CWJ_LIKELY(PyTypeNum_ISNUMBER(type->type_num))) {
        memset(quick->scalars[k], 0, CWJ_SCALAR_BYTES);
        place_operand(quick, k, 0, 0, type->itemsize, quick->scalars[k], NULL, NULL);
        return 1;
    }
    if (ndim == 0 || ndim > CWJ_QUICK_DIMS) {
        return 0;
    }
    for (int i = 0; i < ndim; i++) {
        CWJ_SHORT_LOOP();
        npy_intp core = i < nextra ? 0 : operand->core[i - nextra];
        dims[i] = i < nextra ? pass->extra[i] : core >= 0 ? core : pass->named[-1 - core];
    }
    PyArray_Descr *descr = descrs_of(runtime, index)[k];
    Py_INCREF(descr); /* stolen */
    PyArrayObject *array = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, ndim, dims,
                                                                 NULL, NULL, 0, NULL);
    if (array == NULL) {
        PyErr_Clear(); /* no Python code ran: the steps fail likewise, and raise it */
        return 0;
    }
    quick->made[k] = (PyObject *)array;
    place_operand(quick, k, ndim, operand->ncore, type->itemsize, PyArray_BYTES(array),
                  PyArray_DIMS(array), PyArray_STRIDES(array));
    return 1;
}

/* Drops the new outputs first..last, the last excluded. */
static CWJ_COLD void
drop_quick_outputs(cwj_quick *quick, int first, int last)
{
    for (int k = first; k < last; k++) {
        Py_CLEAR(quick->made[k]);
    }
}

static inline int
make_quick_outputs(cwj_quick *quick, const cwj_pass *pass, const cwj_runtime *runtime, int index)
{
    int ninputs = runtime->decl->ninputs, noperands = ninputs + runtime->decl->noutputs;
    for (int k = ninputs; k < noperands; k++) {
        if (CWJ_UNLIKELY(!make_quick_output(quick, pass, runtime, index, k))) {
            drop_quick_outputs(quick, ninputs, k);
            return 0;
        }
    }
    return 1;
}

static PyObject *
take_quick_output(const cwj_quick *quick, const cwj_runtime *runtime, int index, int k)
{
    const cwj_function_decl *decl = runtime->decl;
    if (quick->made[k] != NULL) {
        return quick->made[k];
    }
    PyArray_Descr *descr = descrs_of(runtime, index)[k];
    return new_scalar(quick->scalars[k], descr, decl->typesets[index].types[k].itemsize);
}

/* Returns the new outputs as a result, which takes over their references. */
static inline PyObject *
take_quick_result(cwj_quick *quick, const cwj_runtime *runtime, int index)
{
    const cwj_function_decl *decl = runtime->decl;
    int ninputs = decl->ninputs, noutputs = decl->noutputs;
    if (CWJ_LIKELY(decl->flags & CWJ_ONE_OUTPUT)) {
        return take_quick_output(quick, runtime, index, ninputs);
    }
    if (noutputs == 0) {
        Py_RETURN_NONE;
    }
    PyObject *tuple = PyTuple_New(noutputs);
    for (int i = 0; i < noutputs && tuple != NULL; i++) {
        PyObject *one = take_quick_output(quick, runtime, index, ninputs + i);
        if (one == NULL) {
            drop_quick_outputs(quick, ninputs + i, ninputs + noutputs);
            Py_CLEAR(tuple);
        } else {
            PyTuple_SET_ITEM(tuple, i, one);
        }
    }
    return tuple;
}

/* Runs all slices. Returns 0, or -1 with an exception set. */
static inline int
run_quickly(cwj_quick *quick, cwj_runtime *runtime, int index, npy_intp total)
{
    cwj_loop *loop = __atomic_load_n(&runtime->loops[index], __ATOMIC_ACQUIRE);
    cwj_frame frame; /* only what slices and messages read is set */
    frame.call.operands = quick->operands;
    frame.call.cookie = NULL;
    frame.call.extras = NULL;
    frame.decl = runtime->decl;
    frame.noperands = runtime->decl->ninputs + runtime->decl->noutputs;
    int accepted = run_loop(loop, quick->data, &total, quick->steps, &frame.call);
    if (CWJ_LIKELY(quick->silent && accepted)) {
        return 0;
    }
    frame.runtime = runtime;
    return check_answer(&frame, accepted, CWJ_SLICE_CODE);
}

/* Returns the number of slices; 0 if there are none, or if one axis has more than a quick call may have. */
static inline npy_intp
count_quick_slices(const cwj_pass *pass)
{
    npy_intp total = 1;
    for (int i = 0; i < pass->nextra; i++) {
        CWJ_SHORT_LOOP();
        if (pass->extra[i] > CWJ_SHORT_SLICES) {
            return 0;
        }
        total *= pass->extra[i];
    }
    return total;
}

/* Makes the call, or leaves everything as it was. */
static inline cwj_answer
call_quickly(cwj_runtime *runtime, PyObject *const *args, size_t nargsf, PyObject *kwnames,
             PyObject **result)
{
    const cwj_function_decl *decl = runtime->decl;
    cwj_quick quick;
    quick.silent = runtime->flags & CWJ_SILENT;
    cwj_pass pass = {quick.named, NULL, 0};
    cwj_given given;
    int ngiven, index = runtime->guess;
    if (!runtime->may_be_quick || runtime->until_sample <= 1 ||
        !bind_simply(runtime, args, nargsf, kwnames, &given) ||
        !count_given(decl, &given, &ngiven) || (ngiven == 0 && runtime->has_output_dims)) {
        return CWJ_NOT_QUICK;
    }
    for (int i = 0; i < decl->nnamed; i++) {
        CWJ_SHORT_LOOP();
        quick.named[i] = -1;
    }
    int flags = ngiven > 0 ? NPY_ARRAY_CARRAY_RO : NPY_ARRAY_ALIGNED;
    if (!take_quick_inputs(&quick, &pass, runtime, index, args, flags) ||
        !take_quick_outputs(&quick, &pass, runtime, index, given.outputs, ngiven) ||
        (decl->noutput_dims > 0 && !output_dims_fit(decl, quick.named))) {
        return CWJ_NOT_QUICK;
    }
    npy_intp total = count_quick_slices(&pass);
    if (total == 0 || !is_short(runtime, total, work_of_slice(decl, quick.named)) ||
        (ngiven == 0 && !make_quick_outputs(&quick, &pass, runtime, index))) {
        return CWJ_NOT_QUICK;
    }
    runtime->until_sample--;
    int status = run_quickly(&quick, runtime, index, total);
    if (ngiven > 0) {
        *result = status < 0 ? NULL : take_given(decl, &given);
    } else if (CWJ_UNLIKELY(status < 0)) {
        drop_quick_outputs(&quick, decl->ninputs, decl->ninputs + decl->noutputs);
        *result = NULL;
    } else {
        *result = take_quick_result(&quick, runtime, index);
    }
    return CWJ_DONE;
}
