/* raised.h: the exception that is set, as an object. */
#ifndef CWJ_BASE_RAISED_H
#define CWJ_BASE_RAISED_H

#include "base/state.h"

/* The exception that is set, with its traceback, and clears it; a new reference, or NULL
 * when none is set. */
PyObject *cwj_raised_take(void);
/* Sets it again; steals the reference. NULL: clears. */
void cwj_raised_set(PyObject *exception);
/* Sets it again, with a note unless that is NULL, whose own trouble is forgotten; steals both. */
void cwj_raised_again(PyObject *exception, PyObject *note);
/* Adds text (not NULL) as a note; before Python 3.11, behind the message, where that is a
 * str. What goes wrong with that is forgotten. */
void cwj_raised_note(PyObject *exception, PyObject *text);

#endif
