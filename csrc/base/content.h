/* content.h: methods, shared by several types, that pickle, copy and hash objects by content. */
#pragma once

#include "base/state.h"

/* Calls a function of cwrapjit._travel with the object; returns a new reference. */
PyObject *cwj_content_ask(const char *function, PyObject *self);

/* Methods __reduce__ and __dask_tokenize__; __copy__ and __deepcopy__, which return the object itself. */
PyObject *cwj_content_reduce(PyObject *self, PyObject *unused);
PyObject *cwj_content_token(PyObject *self, PyObject *unused);
PyObject *cwj_content_copy(PyObject *self, PyObject *unused);

#define CWJ_CONTENT_METHODS                                       \
    {"__reduce__", cwj_content_reduce, METH_NOARGS, NULL},        \
        {"__copy__", cwj_content_copy, METH_NOARGS, NULL},        \
        {"__deepcopy__", cwj_content_copy, METH_O, NULL},         \
    {                                                             \
        "__dask_tokenize__", cwj_content_token, METH_NOARGS, NULL \
    }
