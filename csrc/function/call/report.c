/* report.c: writes the prefixes of call errors; the steps write the rest.
 *
 * Every message begins with the function's name, and says which argument it is about, what was wanted and what came.
 * This code runs only in calls that fail. */

/* Raises type with "NAME(): " before the formatted text. Returns -1, like all functions here that raise. */
static CWJ_COLD int
raise_in_call(const cwj_frame *frame, PyObject *type, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *text = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    if (text != NULL) {
        PyErr_Format(type, "%s(): %U", frame->decl->qualname, text);
        Py_DECREF(text);
    }
    return -1;
}

/* Returns "argument" or "output", the word for operand k in messages. */
static const char *
kind_of(const cwj_frame *frame, int k)
{
    return k < frame->decl->ninputs ? "argument" : "output";
}

static const char *
name_of(const cwj_frame *frame, int k)
{
    return frame->decl->operands[k].name;
}

/* Like raise_in_call(), with "argument 'a'" or "output 'b'" before the text. */
static CWJ_COLD int
raise_about(const cwj_frame *frame, int k, PyObject *type, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *text = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    if (text != NULL) {
        raise_in_call(frame, type, "%s '%s'%U", kind_of(frame, k), name_of(frame, k), text);
        Py_DECREF(text);
    }
    return -1;
}

/* Raises ValueError "NAME(): argument 'a' with shape (4,): ...". */
static CWJ_COLD int
raise_shape(const cwj_frame *frame, int k, const char *format, ...)
{
    const cwj_state *state = &frame->states[k];
    const cwj_view *view = view_of(frame, k);
    PyObject *shape = view != NULL ? PyArray_IntTupleFromIntp(view->ndim, view->dims)
                                   : PyArray_IntTupleFromIntp(state->ndim, state->dims);
    va_list arguments;
    va_start(arguments, format);
    PyObject *text = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    if (shape != NULL && text != NULL) {
        raise_about(frame, k, PyExc_ValueError, " with shape %S: %U", shape, text);
    }
    Py_XDECREF(shape);
    Py_XDECREF(text);
    return -1;
}

/* Adds the argument's name to the exception that is set, if that is a plain one of the kinds that conversions raise. */
static CWJ_COLD int
name_argument(const cwj_frame *frame, const char *kind, const char *name)
{
    PyObject *type = NULL, *value = NULL, *traceback = NULL, *text = NULL;
    PyErr_Fetch(&type, &value, &traceback);
    /* NumPy's MemoryError is its own class of the same name, which formats its text itself. */
    int no_memory = type != NULL && type != PyExc_MemoryError &&
                    ((PyTypeObject *)type)->tp_base == (PyTypeObject *)PyExc_MemoryError &&
                    strcmp(((PyTypeObject *)type)->tp_name, "MemoryError") == 0;
    int no_text = type == PyExc_UnicodeEncodeError; /* its constructor takes more than a text */
    if (type != PyExc_TypeError && type != PyExc_ValueError && type != PyExc_OverflowError &&
        !no_memory && !no_text) {
        PyErr_Restore(type, value, traceback);
        return -1;
    }
    PyErr_NormalizeException(&type, &value, &traceback);
    text = PyObject_Str(value);
    if (text == NULL) {
        PyErr_Clear(); /* the exception itself matters more than the argument's name */
        PyErr_Restore(type, value, traceback);
        return -1;
    }
    raise_in_call(frame,
                  no_memory ? PyExc_MemoryError
                  : no_text ? PyExc_ValueError
                            : type,
                  "%s '%s': %U", kind, name, text);
    Py_DECREF(text);
    Py_DECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return -1;
}

static CWJ_COLD int
name_operand(const cwj_frame *frame, int k)
{
    return name_argument(frame, kind_of(frame, k), name_of(frame, k));
}

/* Returns a dtype for messages: "float64"; of a struct only the names of its members, "struct ('x', 'n')". */
static PyObject *
text_of_dtype(PyArray_Descr *descr)
{
    PyObject *names = PyObject_GetAttrString((PyObject *)descr, "names");
    PyObject *text = names == NULL      ? NULL
                     : names == Py_None ? PyObject_Str((PyObject *)descr)
                                        : PyUnicode_FromFormat("struct %R", names);
    Py_XDECREF(names);
    return text;
}

/* True for an integer of NumPy's that weaken_integers() has made a Python int. */
static int
is_weakened(const cwj_state *state)
{
    return state->weak != NULL && state->weak == state->owned;
}

/* Returns the name of operand k's type for messages: "float64", "a Python int". The operand must exist. */
static PyObject *
text_of_type(const cwj_frame *frame, int k)
{
    const cwj_state *state = &frame->states[k];
    PyObject *weak = state->weak;
    if (is_weakened(state)) {
        return PyUnicode_FromFormat("the integer %S", weak);
    }
    if (weak != NULL) {
        return PyUnicode_FromFormat("a Python %s", PyBool_Check(weak)    ? "bool"
                                                   : PyLong_Check(weak)  ? "int"
                                                   : PyFloat_Check(weak) ? "float"
                                                                         : "complex");
    }
    return text_of_dtype(PyArray_DESCR(state->array));
}
