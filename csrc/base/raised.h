/* raised.h: the exception that is set, as an object. */
#pragma once

#include "base/state.h"

/* The exception that is set, with its traceback, and clears it; a new reference, or NULL
 * when none is set. */
PyObject *cwj_raised_take(void);
/* Sets it again; steals the reference. NULL: clears. */
void cwj_raised_set(PyObject *exception);
/* Sets it (not NULL) again, with a note unless that is NULL: before Python 3.11, behind the
 * message, where that is a str. Steals both. What goes wrong with the note, or is set since the
 * exception was taken, is forgotten, but for Ctrl-C and its like: that is set, with the exception
 * as its context. */
void cwj_raised_again(PyObject *exception, PyObject *note);
/* Says in a UnicodeError that is set, if one is, whose text that was; format is PyUnicode_FromFormat()'s. */
void cwj_raised_of(const char *format, ...);
