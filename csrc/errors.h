/* errors.h: from tinyjit's reports to Python's exceptions and warnings. */
#ifndef CWJ_ERRORS_H
#define CWJ_ERRORS_H

#include "state.h"

/* In all of these `who` begins the message: "innerlib.inner()". */

/* Raises what error and messages say. Always leaves an exception set. */
void cwj_raise(const cwj_module_state *state, const char *who, const tj_error *error,
               const tj_messages *messages);

/* Raises the error of a signature string: its position and a caret line. */
void cwj_raise_signature(const char *who, const tj_error *error, PyObject *signature);

/* Raises type with "WHO: " in front of the text; returns -1 for `return`. */
int cwj_refuse(const char *who, PyObject *type, const char *format, ...);

/* Method __reduce__ of types that cannot be pickled: without it, pickle's oldest
 * protocols write something that no load can read. Raises TypeError. */
PyObject *cwj_refuse_pickle(PyObject *self, PyObject *unused);

/* Raises CompileError for one fault in a C text that no compiler saw. */
void cwj_raise_text(const cwj_module_state *state, const char *file, const char *message);

/* Makes the warnings among messages Python warnings. Returns 0, or -1 when a
 * filter turned one into an exception. */
int cwj_warn(const cwj_module_state *state, const tj_messages *messages);

#endif
