/* output_dims.c: computes the dims that no input has (base/arithmetic.h). A call is refused if one is undefined. */

static cwj_dim_value
compute_dim(const cwj_output_dim *dim, const npy_intp *named)
{
    return cwj_dim_compute(dim->steps, dim->nsteps, named);
}

/* Computes all of them. Dims set by given outputs must be equal. Returns 0 on an error, which the steps then find. */
static int
output_dims_fit(const cwj_function_decl *decl, npy_intp *named)
{
    for (int i = 0; i < decl->noutput_dims; i++) {
        const cwj_output_dim *dim = &decl->output_dims[i];
        cwj_dim_value length = compute_dim(dim, named);
        npy_intp *known = &named[dim->named];
        if (length.fault != NULL || length.value < 0 || (*known >= 0 && *known != length.value)) {
            return 0;
        }
        *known = length.value;
    }
    return 1;
}

/* ---- errors ------------------------------------------------------------ */

/* Returns the dims that the expression names, " with n = 3, k = 0". */
static PyObject *
text_of_dims_in(const cwj_frame *frame, const cwj_output_dim *dim)
{
    PyObject *text = PyUnicode_FromString("");
    for (int i = 0; i < frame->decl->nnamed && text != NULL; i++) {
        int used = 0;
        for (int k = 0; k < dim->nsteps; k++) {
            used |= dim->steps[k].op == CWJ_DIM_SYMBOL && dim->steps[k].value == i;
        }
        if (used) {
            const char *before = PyUnicode_GET_LENGTH(text) > 0 ? ", " : " with ";
            Py_SETREF(text,
                      PyUnicode_FromFormat("%U%s%s = %zd", text, before, frame->decl->named[i],
                                           (Py_ssize_t)frame->named[i]));
        }
    }
    return text;
}

static CWJ_COLD int
refuse_output_dim(const cwj_frame *frame, const cwj_output_dim *dim, cwj_dim_value length)
{
    PyObject *with = text_of_dims_in(frame, dim);
    const char *name = frame->decl->named[dim->named];
    if (with != NULL && length.fault != NULL) {
        raise_in_call(frame, PyExc_ValueError, "dimension '%s' = %s %s%U", name, dim->text,
                      length.fault, with);
    } else if (with != NULL) {
        raise_in_call(frame, PyExc_ValueError,
                      "dimension '%s' = %s is %zd%U; a length must not be negative", name,
                      dim->text, (Py_ssize_t)length.value, with);
    }
    Py_XDECREF(with);
    return -1;
}

/* Computes all of them, once the dims of inputs are known. Returns 0, or -1 with ValueError set. */
static int
resolve_output_dims(cwj_frame *frame)
{
    const cwj_function_decl *decl = frame->decl;
    for (int i = 0; i < decl->noutput_dims; i++) {
        const cwj_output_dim *dim = &decl->output_dims[i];
        cwj_dim_value length = compute_dim(dim, frame->named);
        if (length.fault != NULL || length.value < 0) {
            return refuse_output_dim(frame, dim, length);
        }
        frame->named[dim->named] = length.value;
        frame->named_by[dim->named] = -1; /* no operand set it */
    }
    return 0;
}

/* Returns the computed dim with this number. */
static const cwj_output_dim *
find_output_dim(const cwj_function_decl *decl, npy_intp named)
{
    const cwj_output_dim *dim = decl->output_dims;
    while (dim->named != named) {
        dim++;
    }
    return dim;
}

/* Refuses a given output, whose length `got` is not that of the computed dim. */
static CWJ_COLD int
refuse_given_dim(const cwj_frame *frame, int k, Py_ssize_t from_end, npy_intp named, npy_intp got)
{
    const cwj_output_dim *dim = find_output_dim(frame->decl, named);
    PyObject *with = text_of_dims_in(frame, dim);
    if (with != NULL) {
        raise_shape(frame, k, "dimension '%s' (axis %zd) must be %zd, which is %s%U, got %zd",
                    frame->decl->named[named], from_end, (Py_ssize_t)frame->named[named], dim->text,
                    with, (Py_ssize_t)got);
        Py_DECREF(with);
    }
    return -1;
}
