/* labels.h: what messages, comments and C names call variables, types, ops and nodes. */
#ifndef CWJ_GRAPH_LINK_LABELS_H
#define CWJ_GRAPH_LINK_LABELS_H

#include "graph/attributes.h"

/* Printable, not empty, and neither the end of a comment nor the start of one. */
bool cwj_is_showable(PyObject *text);
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
/* "Add(x, y)": from a label of the op and a sequence of str. */
PyObject *cwj_call_label(PyObject *op_label, PyObject *arguments);
/* The same from a node's op and inputs, before variables have numbers. */
PyObject *cwj_node_label(PyObject *op, PyObject *inputs);
/* "V3_x" where the name can be part of a C name, "V3" elsewhere. */
PyObject *cwj_mangle(int number, PyObject *name);

#endif
