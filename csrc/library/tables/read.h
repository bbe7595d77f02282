/* read.h: reads the attributes of descriptions and checks them. */
#pragma once

#include "library/tables/tables.h"

/* Returns an object's attributes in a new dict, because reading one of them may run Python code that changes the
 * others. NULL with an exception set. */
PyObject *cwj_read_attributes(PyObject *given);
/* Returns a new list with the attributes of each object in a sequence; NULL with an exception set. */
PyObject *cwj_read_list(PyObject *given, const char *name, const char *who);

/* Parses such a dict by a format of PyArg_ParseTupleAndKeywords(). Its keys must be in `names`, which NULL ends.
 * Objects are borrowed from the dict. Returns 0, or -1 with an exception set. */
int cwj_read(PyObject *attributes, const char *format, char **names, ...);
/* Sets the type, descr and item of a parameter; name "": no type. Returns 0, or -1 with an exception set. */
int cwj_read_type(cwj_parameter *p, PyObject *name, PyObject *descr, const char *who);
