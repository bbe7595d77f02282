/* read.c: see read.h. */
#include "library/tables/read.h"

#include "base/errors.h"

#include <limits.h>

static int
read_int(int *number, PyObject *value, const char *name, const char *who)
{
    long long wide = PyLong_AsLongLong(value);
    if (wide == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (wide < -1 || wide > INT_MAX) {
        return cwj_refuse(who, PyExc_ValueError, "%s is out of range", name);
    }
    *number = (int)wide;
    return 0;
}

static int
read_address(void **address, PyObject *value, const char *name, const char *who)
{
    if (!PyLong_Check(value)) {
        return cwj_refuse(who, PyExc_TypeError, "%s must be an address, not %s", name,
                          Py_TYPE(value)->tp_name);
    }
    *address = PyLong_AsVoidPtr(value);
    return PyErr_Occurred() ? -1 : 0;
}

static int
read_word(int *index, PyObject *value, const char *name, const char *const *words, const char *who)
{
    for (int i = 0; words[i] != NULL && PyUnicode_CheckExact(value); i++) {
        if (PyUnicode_CompareWithASCIIString(value, words[i]) == 0) {
            *index = i;
            return 0;
        }
    }
    return cwj_refuse(who, PyExc_ValueError, "%s cannot be %R", name, value);
}

static int
read_one(const cwj_attribute *attribute, void *member, PyObject *value, const char *who)
{
    int truth;
    switch (attribute->kind) {
    case CWJ_READ_TEXT:
        if (!PyUnicode_CheckExact(value)) {
            return cwj_refuse(who, PyExc_TypeError, "%s must be a str, not %s", attribute->name,
                              Py_TYPE(value)->tp_name);
        }
        *(PyObject **)member = Py_NewRef(value);
        return 0;
    case CWJ_READ_OBJECT:
        *(PyObject **)member = Py_NewRef(value);
        return 0;
    case CWJ_READ_FLAG:
        truth = PyObject_IsTrue(value);
        *(bool *)member = truth > 0;
        return truth < 0 ? -1 : 0;
    case CWJ_READ_INT:
        return read_int(member, value, attribute->name, who);
    case CWJ_READ_ADDRESS:
        return read_address(member, value, attribute->name, who);
    case CWJ_READ_WORD:
        return read_word(member, value, attribute->name, attribute->words, who);
    }
    return -1;
}

int
cwj_read(void *record, const cwj_attribute *attributes, PyObject *given, const char *who)
{
    for (const cwj_attribute *each = attributes; each->name != NULL; each++) {
        PyObject *value = PyObject_GetAttrString(given, each->name);
        int status = value == NULL ? -1 : read_one(each, (char *)record + each->offset, value, who);
        Py_XDECREF(value);
        if (status < 0) {
            return -1;
        }
    }
    return 0;
}

PyObject *
cwj_read_text(PyObject *given, const char *name, const char *who)
{
    PyObject *text = NULL;
    const cwj_attribute attributes[] = {{name, CWJ_READ_TEXT, 0, NULL}, {0}};
    cwj_read(&text, attributes, given, who);
    return text;
}

PyObject *
cwj_read_list(PyObject *given, const char *name, const char *who)
{
    PyObject *value = PyObject_GetAttrString(given, name);
    PyObject *list = value == NULL ? NULL : PySequence_List(value);
    Py_XDECREF(value);
    if (list != NULL && PyList_GET_SIZE(list) > 4096) {
        cwj_refuse(who, PyExc_ValueError, "more than 4096 %s", name);
        Py_CLEAR(list);
    }
    return list;
}

int
cwj_read_type(const cwj_library_type **type, PyObject *given, const char *who)
{
    PyObject *name = cwj_read_text(given, "type", who);
    int status = -1;
    if (name == NULL) {
        return -1;
    }
    *type = cwj_library_type_find(name);
    if (*type != NULL || PyUnicode_GET_LENGTH(name) == 0) {
        status = 0;
    } else {
        cwj_refuse(who, PyExc_ValueError, "there is no type %R", name);
    }
    Py_DECREF(name);
    return status;
}

int
cwj_read_dims(cwj_dim **dims, int *ndim, PyObject *given, PyObject *symbols, const char *who)
{
    PyObject *value = PyObject_GetAttrString(given, "dims");
    PyObject *tuple = value == NULL ? NULL : PySequence_Tuple(value);
    int status = -1;
    Py_XDECREF(value);
    if (tuple == NULL) {
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    if (count > 32) { /* what every NumPy can have */
        cwj_refuse(who, PyExc_ValueError, "an array cannot have %zd dims", count);
        goto done;
    }
    *dims = PyMem_Calloc((size_t)count + 1, sizeof(cwj_dim));
    if (*dims == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (; *ndim < count; ++*ndim) {
        PyObject *dim = PyTuple_GET_ITEM(tuple, *ndim);
        if (cwj_dim_read(&(*dims)[*ndim], dim, symbols, who) < 0) {
            cwj_dim_clear(&(*dims)[*ndim]);
            goto done;
        }
    }
    status = 0;
done:
    Py_DECREF(tuple);
    return status;
}
