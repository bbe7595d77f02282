/* read.c: reads the attributes of descriptions and checks them. */
#include "library/tables/read.h"

#include "base/errors.h"

PyObject *
cwj_read_attributes(PyObject *given)
{
    PyObject *attributes = PyObject_GetAttrString(given, "__dict__");
    PyObject *own = attributes == NULL ? NULL : PyDict_New();
    if (own != NULL && PyDict_Update(own, attributes) < 0) {
        Py_CLEAR(own);
    }
    Py_XDECREF(attributes);
    return own;
}

PyObject *
cwj_read_list(PyObject *given, const char *name, const char *who)
{
    PyObject *list = PySequence_List(given);
    if (list != NULL && PyList_GET_SIZE(list) > 4096) {
        cwj_refuse(who, PyExc_ValueError, "more than 4096 %s", name);
        Py_CLEAR(list);
    }
    for (Py_ssize_t i = 0; list != NULL && i < PyList_GET_SIZE(list); i++) {
        PyObject *attributes = cwj_read_attributes(PyList_GET_ITEM(list, i));
        if (attributes == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SetItem(list, i, attributes);
        }
    }
    return list;
}

int
cwj_read(PyObject *attributes, const char *format, char **names, ...)
{
    PyObject *none = PyTuple_New(0);
    va_list targets;
    va_start(targets, names);
    bool fine =
        none != NULL && PyArg_VaParseTupleAndKeywords(none, attributes, format, names, targets);
    va_end(targets);
    Py_XDECREF(none);
    return fine ? 0 : -1;
}

/* Sets the dtype of an array's items: descr (structs, or texts of one length), or p->type's if descr is None. */
static int
read_descr(cwj_parameter *p, PyObject *descr, const char *who)
{
    if (descr == Py_None) {
        p->descr = p->type == NULL ? NULL : PyArray_DescrFromType(p->type->typenum);
        return p->type != NULL && p->descr == NULL ? -1 : 0;
    }
    if (p->type != NULL || !PyArray_DescrCheck(descr) ||
        PyDataType_REFCHK((PyArray_Descr *)descr) ||
        (!PyDataType_HASFIELDS((PyArray_Descr *)descr) &&
         ((PyArray_Descr *)descr)->type_num != NPY_STRING)) {
        return cwj_refuse(who, PyExc_ValueError, "%R describes no struct of numbers, and no text",
                          descr);
    }
    p->descr = (PyArray_Descr *)Py_NewRef(descr);
    return 0;
}

int
cwj_read_type(cwj_parameter *p, PyObject *name, PyObject *descr, const char *who)
{
    /* Texts and handles may have other types, which the call path does not need. */
    bool has_number = cwj_role_is(p->role, CWJ_TYPED | CWJ_COUNT);
    p->type = has_number ? cwj_library_type_find(name) : NULL;
    if (p->type == NULL && PyUnicode_GET_LENGTH(name) > 0 && has_number) {
        return cwj_refuse(who, PyExc_ValueError, "there is no type %R", name);
    }
    p->item = p->role == CWJ_ADDRESS ? Py_NewRef(name) : NULL;
    return p->role == CWJ_ARRAY || p->role == CWJ_DATA ? read_descr(p, descr, who) : 0;
}
