/* labels.h: what messages, comments and C names call variables, types, ops and nodes. */
#ifndef CWJ_GRAPH_LINK_LABELS_H
#define CWJ_GRAPH_LINK_LABELS_H

#include "graph/attributes.h"

/* 1: printable, not empty, and neither the end of a comment nor the start of one. 0: not so. -1: an
 * exception is set. */
int cwj_is_showable(PyObject *text);
/* variable.name where it is text that can stand in a message and in a comment, else
 * Py_None. New references all, NULL with an exception. */
PyObject *cwj_name_of(PyObject *variable);
/* Steals text, which may be NULL; cut where it is long. */
PyObject *cwj_shorten(PyObject *text);
/* "Double": the class, also where the variable is its own type. */
PyObject *cwj_class_of(PyObject *object);
/* "Add", or what the op says of itself when printed. */
PyObject *cwj_op_label(PyObject *op);
/* "x" or "a variable without name", for messages before variables have numbers. */
PyObject *cwj_variable_label(PyObject *variable);
/* "Add(x, y)": from the op and a tuple of str, which it steals and which may be NULL. */
PyObject *cwj_call_label(PyObject *op, PyObject *arguments);
/* The same from a node's op and inputs, before variables have numbers. */
PyObject *cwj_node_label(PyObject *op, PyObject *inputs);
/* The texts of a tuple, which it steals and which may be NULL, in one. */
PyObject *cwj_join(const char *between, PyObject *tuple);
/* Raises type with "link(): " in front; the label is one of the arguments behind format, and is
 * stolen. NULL: an exception is set. Returns -1. */
int cwj_refuse_about(PyObject *label, PyObject *type, const char *format, ...);
/* "V3_x" where the name can be part of a C name, "V3" elsewhere. */
PyObject *cwj_mangle(int number, PyObject *name);

/* For the halves in Python: label_node(op, inputs), and label_variable(variable), which is None
 * where there is no name to show. */
PyObject *cwj_label_node(PyObject *extension, PyObject *args);
PyObject *cwj_label_variable(PyObject *extension, PyObject *variable);

#endif
