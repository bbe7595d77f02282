/* read.h: attributes of a description, checked. Each raises, with WHO in front. */
#ifndef CWJ_WRAP_READ_H
#define CWJ_WRAP_READ_H

#include "wrap.h"

PyObject *cwj_read_text(PyObject *given, const char *name, const char *who); /* new str, or NULL */
PyObject *cwj_read_list(PyObject *given, const char *name, const char *who); /* new list, or NULL */
int cwj_read_flag(PyObject *given, const char *name); /* 0, 1 or -1 */
int cwj_read_int(int *value, PyObject *given, const char *name, const char *who);
int cwj_read_address(void **address, PyObject *given, const char *name, const char *who);
/* The index of the attribute among words, which NULL ends; -1: an exception is set. */
int cwj_read_word(PyObject *given, const char *name, const char *const *words, const char *who);
int cwj_read_type(const cwj_type **type, PyObject *given, const char *who); /* "": NULL */
int cwj_read_dims(cwj_dim **dims, int *ndim, PyObject *given, PyObject *symbols, const char *who);

#endif
