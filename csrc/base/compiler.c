/* compiler.c: finds the system's compiler, once for all functions.
 *
 * os.environ may change at any time, so we read all variables that decide with the GIL held, and keep them together
 * with the result. Checking them again costs four comparisons. No process is started here. */
#include "base/compiler.h"

#include <stdlib.h>

#include "base/config.h"
#include "base/errors.h"
#include "base/tuples.h"

/* Returns an environment variable as a str; None if it is unset or empty. */
static PyObject *
variable(const char *name)
{
    const char *value = getenv(name);
    return value == NULL || value[0] == '\0' ? Py_NewRef(Py_None)
                                             : PyUnicode_DecodeFSDefault(value);
}

/* Looks up one command line; wanted may be None. Returns 1 if the compiler exists, 0 with the
 * reason in *problem if not, or -1 with an exception set. */
static int
try_command(PyObject *wanted, PyObject *path, tj_compiler *compiler, PyObject **problem)
{
    PyObject *command = NULL, *folders = NULL;
    tj_error error;
    int found = -1;
    tj_error_init(&error);
    if ((wanted != Py_None && !PyUnicode_FSConverter(wanted, &command)) ||
        (path != Py_None && !PyUnicode_FSConverter(path, &folders))) {
        goto done;
    }
    tj_status status =
        tj_compiler_find(command == NULL ? NULL : PyBytes_AS_STRING(command),
                         folders == NULL ? "" : PyBytes_AS_STRING(folders), compiler, &error);
    if (status == TJ_OK) {
        found = 1;
        goto done;
    }
    if (status == TJ_NO_MEMORY) {
        PyErr_NoMemory();
        goto done;
    }
    PyObject *reason = PyUnicode_DecodeFSDefault(error.text != NULL ? error.text : error.brief);
    if (reason != NULL) {
        Py_XSETREF(*problem, reason);
        found = 0;
    }
done:
    tj_error_clear(&error);
    Py_XDECREF(command);
    Py_XDECREF(folders);
    return found;
}

static int
try_all(PyObject *key, tj_compiler *compiler, PyObject **problem)
{
    PyObject *chosen = PyTuple_GET_ITEM(key, 0), *cc = PyTuple_GET_ITEM(key, 1);
    PyObject *path = PyTuple_GET_ITEM(key, 2);
    if (chosen != Py_None) {
        return try_command(chosen, path, compiler, problem);
    }
    int found = cc == Py_None ? 0 : try_command(cc, path, compiler, problem);
    if (found == 0) {
        found = try_command(Py_None, path, compiler, problem);
    }
    if (found == 0) {
        PyObject *zig = cwj_ask_python("cwrapjit._paths", "zig", "()"); /* or None */
        found = zig == NULL ? -1 : zig == Py_None ? 0 : try_command(zig, path, compiler, problem);
        Py_XDECREF(zig);
    }
    return found;
}

/* Finds the compiler. Returns 0, or -1 with an exception set. */
static int
find_again(cwj_module_state *state)
{
    /* of the choice: (the command in config, $CC, $PATH) */
    PyObject *key = Py_BuildValue("(NNN)", cwj_config_value(state->config, CWJ_SETTING_COMPILER),
                                  variable("CC"), variable("PATH"));
    if (key == NULL) {
        return -1;
    }
    int same =
        state->compiler_key == NULL ? 0 : PyObject_RichCompareBool(key, state->compiler_key, Py_EQ);
    if (same != 0) {
        Py_DECREF(key);
        return same < 0 ? -1 : 0;
    }
    tj_compiler compiler = {0};
    PyObject *problem = NULL;
    if (try_all(key, &compiler, &problem) < 0) {
        Py_DECREF(key);
        Py_XDECREF(problem);
        return -1;
    }
    cwj_compiler_clear(state); /* not earlier: Python code may have run and called this function */
    state->compiler = compiler;
    state->compiler_problem = problem;
    state->compiler_key = key;
    return 0;
}

const tj_compiler *
cwj_compiler_find(cwj_module_state *state)
{
    int found = find_again(state);
    if (found < 0) { /* the text is not a path, or the package could not be searched */
        cwj_clear_expected(PyExc_ValueError, PyExc_ImportError, NULL);
    }
    return found < 0 || state->compiler.words == NULL ? NULL : &state->compiler;
}

PyObject *
cwj_compiler_error(cwj_module_state *state, const char *who)
{
    if (find_again(state) < 0) {
        return NULL;
    }
    if (state->compiler.words != NULL) {
        Py_RETURN_NONE;
    }
    static const char format[] = "no compiler for the cc tier: %V";
    return cwj_refusal(who, PyExc_RuntimeError, format, state->compiler_problem, "none was found");
}

int
cwj_compiler_named(PyObject *command, const char *whose, tj_compiler *compiler, const char *who)
{
    PyObject *path = variable("PATH"), *problem = NULL;
    int found = path == NULL ? -1 : try_command(command, path, compiler, &problem);
    if (found == 0) {
        cwj_refuse(who, PyExc_RuntimeError, "%s says %R: %U", whose, command, problem);
    }
    Py_XDECREF(path);
    Py_XDECREF(problem);
    return found == 1 ? 0 : -1;
}

void
cwj_compiler_clear(cwj_module_state *state)
{
    tj_compiler_clear(&state->compiler);
    Py_CLEAR(state->compiler_key);
    Py_CLEAR(state->compiler_problem);
}

/* ---- for show_config() ------------------------------------------------- */

/* Converts a text of tinyjit to a str and frees it; None for NULL. */
static PyObject *
text_or_none(char *text)
{
    PyObject *result = text == NULL ? Py_NewRef(Py_None) : PyUnicode_FromFormat("%s", text);
    tj_free(text);
    return result;
}

PyObject *
cwj_compiler_describe(cwj_module_state *state)
{
    if (find_again(state) < 0) {
        return NULL;
    }
    bool none = state->compiler.words == NULL;
    PyObject *words = none ? Py_NewRef(Py_None) : PyList_New(0);
    for (char *const *word = state->compiler.words; !none && words != NULL && *word != NULL;
         word++) {
        cwj_list_add(&words, PyUnicode_DecodeFSDefault(*word));
    }
    PyObject *problem = none && state->compiler_problem != NULL ? state->compiler_problem : Py_None;
    return words == NULL ? NULL
                         : Py_BuildValue("{sNsOsNsNsN}", "compiler", words, "problem", problem,
                                         "flags", text_or_none(tj_optimizer_flags(false)),
                                         "fastmath flags", text_or_none(tj_optimizer_flags(true)),
                                         "last failure", text_or_none(tj_optimizer_last_failure()));
}
