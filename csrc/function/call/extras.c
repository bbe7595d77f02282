/* extras.c: parses extra arguments, each as PyArg_Parse does for the letter in the definition.
 *
 * The definition has checked that the letter fits the C type. If a letter checks the range, Python's numbers follow the
 * rule of base/numbers.h for the C type. If it does not, excess bits are cut off; PyArg_Parse warns since 3.15. */

static int
refuse_number(PyObject *number, int type_num)
{
    PyObject *fault = cwj_text_of_no_such_value(number, type_num);
    if (fault != NULL) {
        PyErr_SetObject(PyExc_OverflowError, fault);
        Py_DECREF(fault);
    }
    return -1;
}

/* Stores an object that is an integer to Python; with the letter "p", an object's truth, in a bool or any integer. */
static int
parse_integer(const cwj_extra *extra, PyObject *given, char *target)
{
    int is_signed = extra->kind == 'i';
    int type_num = extra->size == 1   ? (is_signed ? NPY_BYTE : NPY_UBYTE)
                   : extra->size == 2 ? (is_signed ? NPY_SHORT : NPY_USHORT)
                   : extra->size == 4 ? (is_signed ? NPY_INT : NPY_UINT)
                                      : (is_signed ? NPY_LONGLONG : NPY_ULONGLONG);
    int truth = extra->code == 'p' ? PyObject_IsTrue(given) : 0;
    PyObject *number = truth < 0            ? NULL
                       : extra->code == 'p' ? PyBool_FromLong(truth)
                                            : PyNumber_Index(given);
    int fits = number != NULL && cwj_store_weak(number, type_num, target) == CWJ_FITS;
    if (number != NULL && !fits) {
        refuse_number(number, type_num);
    }
    Py_XDECREF(number);
    return fits ? 0 : -1;
}

/* Stores the low bits of any object that is an integer to Python, for letters that do not check the range. */
static int
parse_bits(const cwj_extra *extra, PyObject *given, char *target)
{
    PyObject *number = PyNumber_Index(given);
    unsigned long long bits = number == NULL ? 0 : PyLong_AsUnsignedLongLongMask(number);
    if (number == NULL || (bits == (unsigned long long)-1 && PyErr_Occurred())) {
        Py_XDECREF(number);
        return -1;
    }
    Py_DECREF(number);
    if (extra->size == 1) {
        unsigned char byte = (unsigned char)bits;
        memcpy(target, &byte, sizeof(byte));
    } else if (extra->size == 2) {
        unsigned short half = (unsigned short)bits;
        memcpy(target, &half, sizeof(half));
    } else if (extra->size == 4) {
        unsigned word = (unsigned)bits;
        memcpy(target, &word, sizeof(word));
    } else {
        memcpy(target, &bits, sizeof(bits));
    }
    return 0;
}

static int
parse_extra(cwj_frame *frame, const cwj_extra *extra, PyObject *given)
{
    char *target = (char *)frame->call.extras + extra->offset;
    char code = extra->code, format[2] = {code, '\0'};
    int type_num = code == 'f' ? NPY_FLOAT : NPY_DOUBLE;
    if (code == 'y' && !PyBytes_Check(given)) {
        /* PyArg_Parse would search for a NUL, which only bytes are sure to have. */
        PyErr_Format(PyExc_TypeError, "wanted bytes, got %s", Py_TYPE(given)->tp_name);
        return -1;
    }
    if (strchr("bhilLnp", code) != NULL) {
        return parse_integer(extra, given, target);
    }
    if (strchr("BHIkK", code) != NULL) {
        return parse_bits(extra, given, target);
    }
    if ((code == 'f' || code == 'd') && cwj_is_python_number(given)) {
        cwj_fit fit = cwj_store_number(given, type_num, target);
        if (fit != CWJ_NO_SUCH_KIND) { /* otherwise PyArg_Parse raises the error */
            return fit == CWJ_NO_SUCH_VALUE ? refuse_number(given, type_num) : (int)fit;
        }
    }
    return PyArg_Parse(given, format, target) ? 0 : -1;
}

static int
parse_extras(cwj_frame *frame)
{
    const cwj_function_decl *decl = frame->decl;
    if (frame->slots == NULL) {
        return 0;
    }
    for (int i = 0; i < decl->nextras; i++) {
        PyObject *given = frame->slots[decl->ninputs + 1 + i];
        if (given != NULL && parse_extra(frame, &decl->extras[i], given) < 0) {
            return name_argument(frame, "argument", decl->extras[i].name);
        }
    }
    return 0;
}
