/* status.c: checks a call's status; unless it is good, calls check=, which may raise. */
#include "library/call/steps.h"

/* Copies the status, which C wrote through a pointer or returned, to *status. Returns its type; NULL for a pointer. */
static const cwj_library_type *
find_status(const cwj_library_frame *frame, cwj_slot *status)
{
    const cwj_library_function *function = frame->function;
    const cwj_parameter *result = &function->result;
    for (int k = 0; k < function->nparameters; k++) {
        if (function->parameters[k].role == CWJ_STATUS) {
            cwj_scalar_load(function->parameters[k].type, &frame->targets[k], status);
            return function->parameters[k].type;
        }
    }
    *status = frame->slots[0];
    return result->role == CWJ_STATUS || result->role == CWJ_VALUE ? result->type : NULL;
}

static bool
is_good(cwj_good good, const cwj_library_type *type, const cwj_slot *status)
{
    switch (good) {
    case CWJ_GOOD_ZERO:
        return status->i == 0;
    case CWJ_GOOD_FROM_ZERO:
        return type != NULL && type->kind == 'u' ? status->u != UINT64_MAX >> (64 - 8 * type->size)
                                                 : status->i >= 0;
    case CWJ_GOOD_THERE:
        return status->p != NULL;
    default:
        return false;
    }
}

/* The arguments of check=: (status, errno, arguments ...), errno only if it wants that. New reference, or NULL. */
static PyObject *
what_check_gets(const cwj_library_frame *frame, const cwj_library_type *type,
                const cwj_slot *status)
{
    const cwj_library_function *function = frame->function;
    PyObject *list = PyList_New(0);
    cwj_list_add(&list, type == NULL ? Py_NewRef(Py_None) : cwj_scalar_object(type, status));
    if (function->reads_errno && list != NULL) {
        cwj_list_add(&list, PyLong_FromLong(frame->error));
    }
    for (int i = 0; i < function->nchecked; i++) {
        PyObject *given = frame->given[function->checked[i]];
        cwj_list_add(&list, Py_NewRef(given == NULL ? Py_None : given));
    }
    PyObject *all = list == NULL ? NULL : PyList_AsTuple(list);
    Py_XDECREF(list);
    return all;
}

int
cwj_library_check_status(const cwj_library_frame *frame)
{
    const cwj_library_function *function = frame->function;
    cwj_slot status;
    if (function->check == NULL) {
        return 0;
    }
    const cwj_library_type *type = find_status(frame, &status);
    if (is_good(function->good, type, &status)) {
        return 0;
    }
    PyObject *given = what_check_gets(frame, type, &status);
    PyObject *told = given == NULL ? NULL : PyObject_CallObject(function->check, given);
    CWJ_RELEASE(given, told);
    return told == NULL ? -1 : 0;
}
