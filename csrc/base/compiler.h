/* compiler.h: chooses the system's compiler for this process. */
#pragma once

#include "base/state.h"

/* Returns the compiler in use. If cwrapjit.config or $CWRAPJIT_CC names one, no other is tried. Otherwise it is the
 * first that exists of $CC, cc, gcc, clang and the package ziglang. It is looked up again if one of these settings or
 * $PATH has changed. The result is borrowed until the next call. It is NULL if there is none. Then an exception is set
 * only if Python code that ran here raised it, for example the handler of a signal. */
const tj_compiler *cwj_compiler_find(cwj_module_state *state);

/* {"compiler": [word, ...] or None, "problem": str or None, "flags": str, "fastmath flags": str,
 * "last failure": str or None}, or NULL with an exception set. */
PyObject *cwj_compiler_describe(cwj_module_state *state);

/* Returns a RuntimeError, not raised, that says why there is no compiler; None if there is one. A
 * new reference, or NULL with another exception set. */
PyObject *cwj_compiler_error(cwj_module_state *state, const char *who);

/* Finds the compiler of a command line; the caller clears it. whose: the start of messages, such as
 * "c_compiler()". Returns 0, or -1 with RuntimeError if there is no such compiler. */
int cwj_compiler_named(PyObject *command, const char *whose, tj_compiler *compiler,
                       const char *who);

/* Forgets the compiler that was found. */
void cwj_compiler_clear(cwj_module_state *state);
