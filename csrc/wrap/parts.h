/* parts.h: what the files about structs share. */
#ifndef CWJ_WRAP_PARTS_H
#define CWJ_WRAP_PARTS_H

#include "instance.h"

/* True for cwrapjit.Instance and the types derived from it. */
int cwj_is_instance_type(PyTypeObject *type);
int cwj_is_layout(PyObject *object);
/* True when both are the same C type. */
int cwj_layouts_agree(const cwj_layout *a, const cwj_layout *b);

/* Each returns 0 after adding its type to the extension module, or -1. */
int cwj_add_layout_type(PyObject *extension);
int cwj_add_field_type(PyObject *extension);

/* Functions of the extension module, for cwrapjit.library alone. */
PyObject *cwj_construct(PyObject *extension, PyObject *args);
PyObject *cwj_instance_at(PyObject *extension, PyObject *args);
PyObject *cwj_keep(PyObject *extension, PyObject *args);

extern const char cwj_construct_doc[];
extern const char cwj_instance_at_doc[];
extern const char cwj_keep_doc[];

#define CWJ_INSTANCE_METHODS                                                 \
    {"construct", cwj_construct, METH_VARARGS, cwj_construct_doc},           \
        {"instance_at", cwj_instance_at, METH_VARARGS, cwj_instance_at_doc}, \
    {                                                                        \
        "keep", cwj_keep, METH_VARARGS, cwj_keep_doc                         \
    }

#endif
