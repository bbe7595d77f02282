/* compiler.h: which optimizing compiler this process uses. */
#ifndef CWJ_COMPILER_H
#define CWJ_COMPILER_H

#include "state.h"

/* The compiler in force: what cwrapjit.config and $CWRAPJIT_CC name, and nothing
 * else then; otherwise $CC, cc, gcc, clang or the package ziglang, the first that
 * is there. Looked up again when one of these or $PATH has changed. Borrowed until
 * the next call; NULL where there is none. Sets no exception. */
const tj_compiler *cwj_compiler_find(cwj_module_state *state);

/* {"compiler": [word, ...] or None, "problem": str or None, "flags": str, "fastmath flags": str,
 * "last failure": str or None}, or NULL with an exception set. */
PyObject *cwj_compiler_describe(cwj_module_state *state);

/* Forgets what was found. */
void cwj_compiler_clear(cwj_module_state *state);

#endif
