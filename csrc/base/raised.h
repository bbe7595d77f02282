/* raised.h: takes and sets the current exception as an object. */
#pragma once

#include "base/state.h"

/* Clears and returns the current exception with its traceback: a new reference, or NULL if none is set. */
PyObject *cwj_raised_take(void);
/* Sets the current exception and steals the reference; NULL clears it. */
void cwj_raised_set(PyObject *exception);
/* Sets the exception (not NULL) again, with a note unless note is NULL. Before Python 3.11 the note is appended to the
 * message if that is a str. Steals both. Errors of adding the note, or set since the exception was taken, are dropped,
 * except Ctrl-C and similar ones: these are set instead, with the exception as their context. */
void cwj_raised_again(PyObject *exception, PyObject *note);
/* If a UnicodeError is set, adds to its reason which string is wrong. format is PyUnicode_FromFormat()'s. */
void cwj_raised_of(const char *format, ...);
