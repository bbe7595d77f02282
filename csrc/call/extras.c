/* extras.c: extra arguments, each parsed by PyArg_Parse with the letter that
 * the definition gives. That the letter fits the C type was checked when the
 * function was defined. */

static int
parse_extra(cwj_frame *frame, const cwj_extra *extra, PyObject *given)
{
    char format[2] = {extra->code, '\0'};
    char *target = (char *)frame->call.extras + extra->offset;
    if (extra->code == 'y' && !PyBytes_Check(given)) {
        /* PyArg_Parse would read on to a NUL that only bytes are sure to have. */
        PyErr_Format(PyExc_TypeError, "wanted bytes, got %s", Py_TYPE(given)->tp_name);
        return -1;
    }
    if (extra->code != 'p') {
        return PyArg_Parse(given, format, target) ? 0 : -1;
    }
    /* "p" stores an int; the C type may be a bool or any other integer. */
    int truth = PyObject_IsTrue(given);
    if (truth < 0) {
        return -1;
    }
    unsigned long long wide = (unsigned long long)truth;
#if PY_BIG_ENDIAN
    memcpy(target, (char *)&wide + sizeof(wide) - extra->size, extra->size);
#else
    memcpy(target, &wide, extra->size);
#endif
    return 0;
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
            name_argument(frame, "argument", decl->extras[i].name);
            return -1;
        }
    }
    return 0;
}
