/* compiler.h: which compiler of the system this process uses. */
#pragma once

#include "base/state.h"

/* The compiler in force: what cwrapjit.config and $CWRAPJIT_CC name, and nothing
 * else then; otherwise $CC, cc, gcc, clang or the package ziglang, the first that
 * is there. Looked up again when one of these or $PATH has changed. Borrowed until
 * the next call; NULL where there is none: without an exception, unless something
 * struck the Python code that may run here, like the exception of a signal's handler. */
const tj_compiler *cwj_compiler_find(cwj_module_state *state);

/* {"compiler": [word, ...] or None, "problem": str or None, "flags": str, "fastmath flags": str,
 * "last failure": str or None}, or NULL with an exception set. */
PyObject *cwj_compiler_describe(cwj_module_state *state);

/* Why there is none, as a RuntimeError that is not raised; None where there is one. A new
 * reference, or NULL with another exception set. */
PyObject *cwj_compiler_error(cwj_module_state *state, const char *who);

/* The compiler of a command line, to be cleared by the caller; messages say whose it is:
 * "c_compiler()". Returns 0, or -1 with RuntimeError where it is not there. */
int cwj_compiler_named(PyObject *command, const char *whose, tj_compiler *compiler,
                       const char *who);

/* Forgets what was found. */
void cwj_compiler_clear(cwj_module_state *state);
