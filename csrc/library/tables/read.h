/* read.h: what a description says, checked. */
#pragma once

#include "library/tables/tables.h"

/* The attributes of an object: a new dict of our own, as reading one attribute may run Python code
 * that changes the others. NULL with an exception set. */
PyObject *cwj_read_attributes(PyObject *given);
/* A new list of those of each object, or NULL. */
PyObject *cwj_read_list(PyObject *given, const char *name, const char *who);

/* All of these return 0, or -1 with an exception set. */

/* Takes such a dict apart, whose keys are all of `names`, which NULL ends; as by
 * PyArg_ParseTupleAndKeywords(). What is read is borrowed from the dict. */
int cwj_read(PyObject *attributes, const char *format, char **names, ...);
int cwj_read_type(cwj_parameter *p, PyObject *name, PyObject *descr,
                  const char *who); /* "": NULL */
