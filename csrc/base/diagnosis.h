/* diagnosis.h: checks C text with the system's compiler, without using its code. */
#pragma once

#include "base/environment.h"

#define CWJ_DIAGNOSE_DOC                                                                         \
    "diagnose($self, /)\n--\n\n"                                                                 \
    "What the system compiler's checks say of the C text: a list of CompileWarning, empty\n"     \
    "where all is well, for a missing return, variables without a value, printf's formats and\n" \
    "what else -Wall finds. None without a compiler."

/* diagnose(): runs the compiler's checks over a text (NULL: none) and the environment's sources, and waits for them.
 * compiler: NULL for the one in use. Returns a list of CompileWarning; None without a compiler; NULL with an exception
 * set: RuntimeError if the compiler fails in another way. */
PyObject *cwj_diagnose(cwj_module_state *state, const tj_compiler *compiler,
                       tj_environment *environment, const char *text, const char *who);
/* The same for an environment's own C text. */
PyObject *cwj_diagnose_own(cwj_module_state *state, const cwj_environment *environment,
                           const char *who);

/* libtcc alone compiles an environment's own C text: its sources and a library's header. Callers of functions defined
 * there call this first. The first call starts the compiler's check in the background; a later one warns, once, of what
 * the compiler rejects. Returns 1 if there is more to come, 0 if not, -1 with an exception set. */
int cwj_diagnosis_look(cwj_module_state *state, cwj_environment *environment);
/* Starts the check and waits for it, `seconds` at most (< 0: no limit). The next call reports the
 * result. Returns 0, or -1 with an exception set (Ctrl-C). */
int cwj_diagnosis_wait(cwj_module_state *state, cwj_environment *environment, double seconds);
/* Returns the compiler's error, or the reason why there is no compiler, like cwj_tiers_error(). */
PyObject *cwj_diagnosis_error(cwj_module_state *state, cwj_environment *environment,
                              const char *who);
/* Returns true if the environment has such text. */
bool cwj_diagnosis_apply(const cwj_environment *environment);
/* Stops running checks. */
void cwj_diagnosis_clear(cwj_environment *environment);
