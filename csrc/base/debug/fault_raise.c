/* fault_raise.c: what a fault was, in words: see fault.h. The GIL is held. */
#define _GNU_SOURCE 1 /* dladdr */
#include "base/debug/fault.h"

#include "base/errors.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>

/* ---- places ---------------------------------------------------------------------------- */

/* Instructions are looked up by their first byte; behind a call, by the last one of that. */
bool
cwj_guarded_find(const cwj_guarded *guarded, const void *at, const void *caller, const char **file,
                 int *line)
{
    const void *place = caller != NULL ? (const char *)caller - 1 : at;
    return tj_lines_find(guarded->lines, place, file, line) ||
           tj_lines_find(guarded->sources, place, file, line);
}

int
cwj_guarded_lines(tj_lines **lines, tj_environment *environment, const char *text,
                  const tj_anchor *anchors)
{
    tj_error error;
    tj_status status;
    tj_error_init(&error);
    Py_BEGIN_ALLOW_THREADS
    status = tj_lines_new(environment, text, anchors, lines, &error);
    Py_END_ALLOW_THREADS
    tj_error_clear(&error);
    if (status == TJ_NO_MEMORY) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

/* The line of a file on disk, by Python's linecache; None: there is none. NULL: something
 * struck meanwhile, like the exception of a signal's handler. */
static PyObject *
read_line(const char *file, int line)
{
    PyObject *linecache = cwj_import("linecache");
    PyObject *name = PyUnicode_DecodeFSDefault(file);
    PyObject *text = linecache == NULL || name == NULL
                         ? NULL
                         : PyObject_CallMethod(linecache, "getline", "Oi", name, line);
    Py_XDECREF(linecache);
    Py_XDECREF(name);
    bool none = text == NULL ? cwj_clear_expected(PyExc_OSError, PyExc_ValueError,
                                                  PyExc_SyntaxError, PyExc_ImportError, NULL)
                             : !PyUnicode_Check(text) || PyUnicode_GET_LENGTH(text) == 0;
    if (none) { /* a line less to show */
        Py_XSETREF(text, Py_NewRef(Py_None));
    }
    return text;
}

/* Without the space around it; steals text. */
static PyObject *
strip(PyObject *text)
{
    if (text != NULL && text != Py_None) {
        Py_SETREF(text, PyObject_CallMethod(text, "strip", NULL));
    }
    return text;
}

PyObject *
cwj_place_text(const cwj_guarded *guarded, const void *at, const void *caller,
               cwj_line_text *text_of, void *owner, PyObject **place)
{
    const char *file;
    int line;
    *place = NULL;
    if (!cwj_guarded_find(guarded, at, caller, &file, &line)) {
        *place = PyTuple_Pack(3, Py_None, Py_None, Py_None);
        return *place == NULL ? NULL : PyUnicode_FromString("");
    }
    PyObject *name = PyUnicode_DecodeFSDefault(file), *words = NULL;
    PyObject *text = name == NULL ? NULL : text_of(owner, file, line);
    if (text == Py_None && file[0] != '<') {
        Py_SETREF(text, read_line(file, line));
    }
    text = strip(text);
    if (text != NULL) {
        *place = Py_BuildValue("(OiO)", name, line, text);
        words = text == Py_None ? PyUnicode_FromFormat(", in %U, line %d", name, line)
                                : PyUnicode_FromFormat(", in %U, line %d: %U", name, line, text);
    }
    if (words == NULL || *place == NULL) {
        Py_CLEAR(words);
        Py_CLEAR(*place);
    }
    Py_XDECREF(name);
    Py_XDECREF(text);
    return words;
}

/* ---- words ------------------------------------------------------------------------------- */

static const char *
name_of_signal(int number)
{
    switch (number) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGBUS:
        return "SIGBUS";
    case SIGFPE:
        return "SIGFPE";
    case SIGILL:
        return "SIGILL";
    default:
        return "SIGABRT";
    }
}

/* The processor does not tell the address where it is none that could exist. */
static bool
has_address(const cwj_fault *fault)
{
    return fault->code != SI_KERNEL;
}

static PyObject *
what_happened(const cwj_fault *fault)
{
    uintptr_t address = (uintptr_t)fault->address;
    if (fault->deep) {
        return PyUnicode_FromString("the stack is exhausted");
    }
    if (fault->over) {
        return PyUnicode_FromString(
            "access behind the end of the stack, as by an index into a local "
            "array");
    }
    if (fault->raised && fault->signal != SIGABRT) {
        return PyUnicode_FromString("the code has raised the signal");
    }
    switch (fault->signal) {
    case SIGFPE:
        return PyUnicode_FromString(
            fault->code == FPE_INTDIV
                ? "integer division by zero, or of the most negative integer by -1"
                : "arithmetic fault");
    case SIGILL:
        return PyUnicode_FromString("an instruction that traps, or is none");
    case SIGABRT:
        return PyUnicode_FromString("abort() was called");
    default:
        break;
    }
    if (!has_address(fault)) {
        return PyUnicode_FromString("access by a pointer that is no address");
    }
    const char *what = address < 4096 ? "access by a null pointer"
                                      : "access to memory that is not there, or not to be used so";
    char digits[32]; /* of 8 bytes, at most 16 */
    snprintf(digits, sizeof digits, "0x%zx", (size_t)address);
    return PyUnicode_FromFormat("%s (address %s)", what, digits);
}

/* The name of the library that an address is in, without its folder; NULL: none. */
static const char *
library_of(const void *address)
{
    Dl_info info;
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL) {
        return NULL;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    return slash != NULL ? slash + 1 : info.dli_fname;
}

/* Whose code that was, where it was not the function's own, and what that means. */
static PyObject *
inside_of_what(const cwj_guarded *guarded, const cwj_fault *fault)
{
    bool own =
        tj_lines_cover(guarded->lines, fault->at) || tj_lines_cover(guarded->sources, fault->at);
    bool harmless = own || fault->deep || (fault->raised && fault->signal != SIGABRT);
    const char *library = harmless ? NULL : library_of(fault->at);
    return library == NULL
               ? PyUnicode_FromString("")
               : PyUnicode_FromFormat(" inside of %s (what it was at work on may be damaged; if "
                                      "that was the heap, nothing is promised)",
                                      library);
}

/* ---- raising ------------------------------------------------------------------------------- */

/* signal.SIGSEGV and its like, or the bare number. */
static PyObject *
signal_object(int number)
{
    PyObject *module = cwj_import("signal");
    PyObject *object = module == NULL ? NULL : PyObject_CallMethod(module, "Signals", "i", number);
    Py_XDECREF(module);
    if (object == NULL && cwj_clear_expected(PyExc_ValueError, NULL)) {
        object = PyLong_FromLong(number);
    }
    return object;
}

/* Raises it; all may be NULL, with an exception set. Steals text, signal and address. */
static void
raise_fault(const cwj_module_state *state, PyObject *text, PyObject *place, PyObject *number,
            PyObject *address)
{
    static const char *const names[] = {"filename", "lineno", "text"};
    PyObject *error = text == NULL || place == NULL || number == NULL || address == NULL
                          ? NULL
                          : PyObject_CallFunctionObjArgs(state->fault, text, NULL);
    if (error != NULL && PyObject_SetAttrString(error, "signal", number) == 0 &&
        PyObject_SetAttrString(error, "address", address) == 0) {
        int failed = 0;
        for (int i = 0; i < 3 && !failed; i++) {
            failed = PyObject_SetAttrString(error, names[i], PyTuple_GET_ITEM(place, i)) < 0;
        }
        if (!failed) {
            PyErr_SetObject(state->fault, error);
        }
    }
    Py_XDECREF(error);
    Py_XDECREF(text);
    Py_XDECREF(number);
    Py_XDECREF(address);
}

void
cwj_fault_raise(const cwj_module_state *state, PyObject *who, const cwj_guarded *guarded,
                const cwj_fault *fault, cwj_line_text *text_of, void *owner)
{
    PyObject *place = NULL, *text = NULL;
    PyObject *where = cwj_place_text(guarded, fault->at, fault->caller, text_of, owner, &place);
    PyObject *what = where == NULL ? NULL : what_happened(fault);
    PyObject *inside = what == NULL ? NULL : inside_of_what(guarded, fault);
    if (inside != NULL) {
        text = PyUnicode_FromFormat("%U: %s: %U%U%U", who, name_of_signal(fault->signal), what,
                                    inside, where);
    }
    raise_fault(state, text, place, text == NULL ? NULL : signal_object(fault->signal),
                has_address(fault) ? PyLong_FromVoidPtr((void *)fault->address)
                                   : Py_NewRef(Py_None));
    Py_XDECREF(place);
    Py_XDECREF(where);
    Py_XDECREF(what);
    Py_XDECREF(inside);
}

int
cwj_damage_raise(const cwj_module_state *state, PyObject *who, PyObject *text)
{
    PyObject *place = PyTuple_Pack(3, Py_None, Py_None, Py_None);
    PyObject *whole = text == NULL ? NULL : PyUnicode_FromFormat("%U: %U", who, text);
    raise_fault(state, whole, place, Py_NewRef(Py_None), Py_NewRef(Py_None));
    Py_XDECREF(place);
    Py_XDECREF(text);
    return -1;
}

int
cwj_damage_around(const cwj_module_state *state, PyObject *who, PyObject *what, ptrdiff_t offset,
                  size_t bytes)
{
    PyObject *text =
        what == NULL ? NULL
                     : PyUnicode_FromFormat(
                           "the code has written %s %U: at byte %zd, counted from its first, "
                           "which has %zu; other memory may be damaged, too",
                           offset < 0 ? "in front of" : "behind", what, (Py_ssize_t)offset, bytes);
    Py_XDECREF(what);
    return cwj_damage_raise(state, who, text);
}
