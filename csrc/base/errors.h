/* errors.h: turns tinyjit's reports into Python exceptions and warnings. */
#pragma once

#include "base/state.h"

/* In all of these, messages start with `who`: "innerlib.inner()". */

/* Raises the exception for error and messages. Always leaves an exception set. */
void cwj_raise(const char *who, const tj_error *error, const tj_messages *messages);
/* Reports tinyjit's messages as an exception or as warnings. Clears messages and error. Returns 0, or -1. */
int cwj_report(const char *who, tj_status status, tj_messages *messages, tj_error *error);

/* Raises an exception whose text starts with "WHO: ". Returns -1, for `return`. */
int cwj_refuse(const char *who, PyObject *type, const char *format, ...);
/* Raises a TypeError that names what is wanted and the type of `given`. Returns -1. */
int cwj_refuse_type(const char *who, const char *what, const char *wanted, PyObject *given);
/* Like cwj_refuse(), for a str, and with the arguments of another variadic function. */
int cwj_refuse_by(PyObject *who, PyObject *type, const char *format, ...);
int cwj_refuse_with(PyObject *who, PyObject *type, const char *format, va_list arguments);
/* Returns the same exception without raising it; a new reference, or NULL with another one set. */
PyObject *cwj_refusal(const char *who, PyObject *type, const char *format, ...);
/* Raises an exception object; steals it. NULL: an exception is already set. Returns -1. */
int cwj_raise_object(PyObject *exception);

/* Clears the exception that is set if it is of one of these types (ended by NULL), and returns true. Otherwise it stays
 * set, because the caller must not swallow, for example, a signal handler's exception. */
bool cwj_clear_expected(PyObject *type, ...) __attribute__((sentinel));

/* Raises TypeError: the method __reduce__ of types that cannot be pickled. Without it, pickle's oldest protocols write
 * data that cannot be loaded. */
PyObject *cwj_refuse_pickle(PyObject *self, PyObject *unused);

/* Raises CompileError for a single fault in a C text that was not compiled. */
void cwj_raise_text(const char *file, const char *message);

/* The first returns a CompileError for the errors among messages, of which there must be at least one; the second a
 * list with a CompileWarning for each message. Neither raises it. NULL with another exception set. */
PyObject *cwj_compile_error(const tj_messages *messages, PyObject *read);
PyObject *cwj_compile_warnings(const tj_messages *messages);

/* Issues Python warnings for the warnings among messages. Returns 0, or -1 if a filter turned one into an exception. */
int cwj_warn(const tj_messages *messages);
/* The same for errors that the system's compiler reports for code that runs anyway (in the tcc tier). */
int cwj_warn_errors(const tj_messages *messages);

/* Adds the exceptions to the extension module. Returns 0, or -1 with an exception set. */
int cwj_add_errors(PyObject *extension, cwj_module_state *state);
