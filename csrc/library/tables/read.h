/* read.h: what a description says, checked. */
#ifndef CWJ_LIBRARY_TABLES_READ_H
#define CWJ_LIBRARY_TABLES_READ_H

#include "library/tables/tables.h"

/* All of these return 0, or -1 with an exception set. */

/* The attributes of an object, whose names are all of `names`, which NULL ends; as by
 * PyArg_ParseTupleAndKeywords(). What is read is borrowed. */
int cwj_read(PyObject *given, const char *format, char **names, ...);
int cwj_read_type(cwj_parameter *p, PyObject *name, const char *who); /* "": NULL */
int cwj_read_dims(cwj_parameter *p, PyObject *given, PyObject *symbols, const char *who);
/* A new list, or NULL. */
PyObject *cwj_read_list(PyObject *given, const char *name, const char *who);

#endif
