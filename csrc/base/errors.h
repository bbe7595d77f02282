/* errors.h: from tinyjit's reports to Python's exceptions and warnings. */
#pragma once

#include "base/state.h"

/* In all of these `who` begins the message: "innerlib.inner()". */

/* Raises what error and messages say. Always leaves an exception set. */
void cwj_raise(const char *who, const tj_error *error, const tj_messages *messages);
/* What tinyjit said, as exception or as warnings. Clears both. Returns 0, or -1. */
int cwj_report(const char *who, tj_status status, tj_messages *messages, tj_error *error);

/* Raises the error of a text that was read, called `what`: its position and a caret line. */
void cwj_raise_at(const char *who, const char *what, const tj_error *error, PyObject *text);

/* Raises type with "WHO: " in front of the text; returns -1 for `return`. */
int cwj_refuse(const char *who, PyObject *type, const char *format, ...);
/* TypeError: what must be wanted, not the type of what is given. Returns -1. */
int cwj_refuse_type(const char *who, const char *what, const char *wanted, PyObject *given);
/* cwj_refuse() for a str, and with the arguments of another function's. */
int cwj_refuse_by(PyObject *who, PyObject *type, const char *format, ...);
int cwj_refuse_with(PyObject *who, PyObject *type, const char *format, va_list arguments);
/* The same exception, not raised; a new reference, or NULL with another one set. */
PyObject *cwj_refusal(const char *who, PyObject *type, const char *format, ...);
/* Raises an exception that is not raised yet; steals it. NULL: there is one. Returns -1. */
int cwj_raise_object(PyObject *exception);

/* Clears the exception that is set when it is of one of these types, NULL behind the last;
 * says whether it was. Any other, like what a signal's handler raised meanwhile, is not the
 * caller's to handle: it stays set. */
bool cwj_clear_expected(PyObject *type, ...) __attribute__((sentinel));

/* Method __reduce__ of types that cannot be pickled: without it, pickle's oldest
 * protocols write something that no load can read. Raises TypeError. */
PyObject *cwj_refuse_pickle(PyObject *self, PyObject *unused);

/* Raises CompileError for one fault in a C text that no compiler saw. */
void cwj_raise_text(const char *file, const char *message);

/* New exceptions, not raised: a CompileError for the errors among messages (there is one),
 * and a list with a CompileWarning for each message. NULL with another exception set. */
PyObject *cwj_compile_error(const tj_messages *messages);
PyObject *cwj_compile_warnings(const tj_messages *messages);

/* Makes the warnings among messages Python warnings. Returns 0, or -1 when a
 * filter turned one into an exception. */
int cwj_warn(const tj_messages *messages);
/* The same for the errors: the system compiler's, of code that runs all the same. */
int cwj_warn_errors(const tj_messages *messages);

/* Adds the exceptions to the extension module. Returns 0, or -1 with an exception set. */
int cwj_add_errors(PyObject *extension, cwj_module_state *state);
