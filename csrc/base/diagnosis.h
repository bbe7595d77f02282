/* diagnosis.h: what the system's compiler says of C text that it makes no code of. */
#pragma once

#include "base/environment.h"

#define CWJ_DIAGNOSE_DOC                                                                         \
    "diagnose($self, /)\n--\n\n"                                                                 \
    "What the system compiler's checks say of the C text: a list of CompileWarning, empty\n"     \
    "where all is well, for a missing return, variables without a value, printf's formats and\n" \
    "what else -Wall finds. None without a compiler."

/* diagnose(): runs the compiler's checks over a text (NULL: none) and over the environment's
 * sources, and waits for them. compiler: NULL for the one in force. Returns a list of
 * CompileWarning; None without a compiler; NULL with an exception set, RuntimeError where the
 * compiler fails in another way. */
PyObject *cwj_diagnose(cwj_module_state *state, const tj_compiler *compiler,
                       tj_environment *environment, const char *text, const char *who);
/* The same for an environment's own C text. */
PyObject *cwj_diagnose_own(cwj_module_state *state, const cwj_environment *environment,
                           const char *who);

/* An environment's own C text, its sources and a library's header, is libtcc's alone. Who calls
 * what is defined there looks here first: the first look has the compiler look at the text in
 * the background, one of the later ones warns of what it refuses, once. Returns 1 while
 * there is more to come, 0 when all is said, -1 with an exception set. */
int cwj_diagnosis_look(cwj_module_state *state, cwj_environment *environment);
/* Begins the look and waits for it, `seconds` at most (< 0: no limit); what it finds is told by
 * the next call. Returns 0, or -1 with an exception set (Ctrl-C). */
int cwj_diagnosis_wait(cwj_module_state *state, cwj_environment *environment, double seconds);
/* What the compiler refuses there, or why it cannot be asked, as cwj_tiers_error(). */
PyObject *cwj_diagnosis_error(cwj_module_state *state, cwj_environment *environment,
                              const char *who);
/* The environment has such text. */
bool cwj_diagnosis_apply(const cwj_environment *environment);
/* Ends what is under way. */
void cwj_diagnosis_clear(cwj_environment *environment);
