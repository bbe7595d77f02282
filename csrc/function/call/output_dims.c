/* output_dims.c: dims that no input has, computed from those that inputs have.
 *
 * An expression is a list of steps for a stack of numbers (abi.h), made when the function was
 * defined (tinyjit/read/output_dim.c): the stack has room and jumps lead forward. What C leaves
 * undefined refuses the call.
 */

/* Why an expression has no value; NULL: it has one. */
typedef const char *cwj_dim_fault;

/* *left = *left shifted by `count` places, to the left as a product. */
static cwj_dim_fault
shift_dim(int op, npy_intp *left, npy_intp count)
{
    if (count < 0 || count >= 8 * (npy_intp)sizeof(npy_intp)) {
        return "shifts by a count that is negative or too large";
    }
    if (op == CWJ_DIM_SHIFT_RIGHT) {
        *left >>= count;
        return NULL;
    }
    for (npy_intp i = 0; i < count; i++) {
        if (!cwj_compute('*', left, 2)) {
            return "is too large";
        }
    }
    return NULL;
}

static npy_intp
compare_dims(int op, npy_intp left, npy_intp right)
{
    switch (op) {
    case CWJ_DIM_LESS:
        return left < right;
    case CWJ_DIM_LESS_EQUAL:
        return left <= right;
    case CWJ_DIM_GREATER:
        return left > right;
    case CWJ_DIM_GREATER_EQUAL:
        return left >= right;
    case CWJ_DIM_EQUAL:
        return left == right;
    case CWJ_DIM_UNEQUAL:
        return left != right;
    case CWJ_DIM_MIN:
        return left < right ? left : right;
    default:
        return left < right ? right : left;
    }
}

/* One step with two numbers, the result in the place of the left one. */
static cwj_dim_fault
combine_dims(int op, npy_intp *left, npy_intp right)
{
    if (op <= CWJ_DIM_SUBTRACT) {
        if (cwj_compute("*/%+-"[op - CWJ_DIM_MULTIPLY], left, right)) {
            return NULL;
        }
        return right == 0 ? "divides by zero" : "is too large";
    }
    if (op == CWJ_DIM_SHIFT_LEFT || op == CWJ_DIM_SHIFT_RIGHT) {
        return shift_dim(op, left, right);
    }
    *left = compare_dims(op, *left, right);
    return NULL;
}

/* The length of a computed dim. */
static cwj_dim_fault
compute_dim(const cwj_output_dim *dim, const npy_intp *named, npy_intp *length)
{
    npy_intp stack[CWJ_DIM_STACK], *top = stack - 1;
    cwj_dim_fault fault = NULL;
    for (int i = 0; i < dim->nsteps && fault == NULL; i++) {
        const cwj_dim_step *step = &dim->steps[i];
        switch (step->op) {
        case CWJ_DIM_NUMBER:
            *++top = step->value;
            break;
        case CWJ_DIM_NAMED:
            *++top = named[step->value];
            break;
        case CWJ_DIM_JUMP_IF_ZERO:
            i = *top-- == 0 ? (int)step->value - 1 : i;
            break;
        case CWJ_DIM_JUMP:
            i = (int)step->value - 1;
            break;
        case CWJ_DIM_MINUS:
            fault = *top == NPY_MIN_INTP ? "is too large" : NULL;
            *top = fault == NULL ? -*top : 0;
            break;
        case CWJ_DIM_NOT:
            *top = !*top;
            break;
        default:
            top--;
            fault = combine_dims(step->op, top, top[1]);
        }
    }
    *length = fault == NULL ? *top : -1;
    return fault;
}

/* Computes all of them; where given outputs have set some, those must be the same. False where
 * something is wrong: the steps find out what. */
static int
output_dims_fit(const cwj_function_decl *decl, npy_intp *named)
{
    for (int i = 0; i < decl->noutput_dims; i++) {
        const cwj_output_dim *dim = &decl->output_dims[i];
        npy_intp length, *known = &named[dim->named];
        compute_dim(dim, named, &length);
        if (length < 0 || (*known >= 0 && *known != length)) {
            return 0;
        }
        *known = length;
    }
    return 1;
}

/* ---- errors ------------------------------------------------------------ */

/* "n = 3, k = 0": what the expression names. */
static PyObject *
text_of_dims_in(const cwj_frame *frame, const cwj_output_dim *dim)
{
    PyObject *text = PyUnicode_FromString("");
    for (int i = 0; i < frame->decl->nnamed && text != NULL; i++) {
        int used = 0;
        for (int k = 0; k < dim->nsteps; k++) {
            used |= dim->steps[k].op == CWJ_DIM_NAMED && dim->steps[k].value == i;
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
refuse_output_dim(const cwj_frame *frame, const cwj_output_dim *dim, cwj_dim_fault fault,
                  npy_intp length)
{
    PyObject *with = text_of_dims_in(frame, dim);
    const char *name = frame->decl->named[dim->named];
    if (with != NULL && fault != NULL) {
        raise_in_call(frame, PyExc_ValueError, "dimension '%s' = %s %s%U", name, dim->text, fault,
                      with);
    } else if (with != NULL) {
        raise_in_call(frame, PyExc_ValueError,
                      "dimension '%s' = %s is %zd%U; a length must not be negative", name,
                      dim->text, (Py_ssize_t)length, with);
    }
    Py_XDECREF(with);
    return -1;
}

/* Once the dims of inputs are known. */
static int
resolve_output_dims(cwj_frame *frame)
{
    const cwj_function_decl *decl = frame->decl;
    for (int i = 0; i < decl->noutput_dims; i++) {
        const cwj_output_dim *dim = &decl->output_dims[i];
        npy_intp length;
        cwj_dim_fault fault = compute_dim(dim, frame->named, &length);
        if (length < 0) {
            return refuse_output_dim(frame, dim, fault, length);
        }
        frame->named[dim->named] = length;
        frame->named_by[dim->named] = -1; /* no operand did */
    }
    return 0;
}

/* The computed dim of this number. */
static const cwj_output_dim *
find_output_dim(const cwj_function_decl *decl, npy_intp named)
{
    const cwj_output_dim *dim = decl->output_dims;
    while (dim->named != named) {
        dim++;
    }
    return dim;
}

/* An output that was given has another length there. */
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
