/* fault_raise.c: what a fault was, in words: see fault.h. The GIL is held. */
#include "base/debug/fault.h"

#include "base/errors.h"
#include "os/shared_object.h"

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
    PyObject *text = text_of(owner, file, line), *words = NULL;
    PyObject *both = text == NULL ? NULL : cwj_call_errors("place_of", "(yiN)", file, line, text);
    if (both != NULL && PyArg_ParseTuple(both, "UO", &words, place)) {
        Py_INCREF(words);
        Py_INCREF(*place);
    }
    Py_XDECREF(both);
    return words;
}

/* ---- words ------------------------------------------------------------------------------- */

/* The name of the library that an address is in, without its folder; NULL: none. */
static const char *
library_of(const void *address)
{
    const char *file = tj_loaded_from(address), *slash = file != NULL ? strrchr(file, '/') : NULL;
    return slash != NULL ? slash + 1 : file;
}

/* Whose code that was, where it was not the function's own and may have done harm; or NULL. */
static const char *
inside_of_what(const cwj_guarded *guarded, const cwj_fault *fault)
{
    bool own =
        tj_lines_cover(guarded->lines, fault->at) || tj_lines_cover(guarded->sources, fault->at);
    bool harmless = own || fault->deep || (fault->raised && !fault->aborted);
    return harmless ? NULL : library_of(fault->at);
}

/* ---- raising ------------------------------------------------------------------------------- */

void
cwj_fault_raise(PyObject *who, const cwj_guarded *guarded, const cwj_fault *fault,
                cwj_line_text *text_of, void *owner)
{
    PyObject *place, *words;
    words = cwj_place_text(guarded, fault->at, fault->caller, text_of, owner, &place);
    if (words != NULL) {
        PyObject *address =
            fault->nowhere ? Py_NewRef(Py_None) : PyLong_FromVoidPtr((void *)fault->address);
        PyObject *what = fault->fence == NULL
                             ? Py_NewRef(Py_None)
                             : cwj_fence_words(fault->fence, fault->address, fault->name);
        cwj_raise_object(cwj_call_errors("fault", "(OiN(iiii)NyOO)", who, fault->signal, address,
                                         fault->deep, fault->over, fault->raised, fault->divided,
                                         what, inside_of_what(guarded, fault), words, place));
    }
    Py_XDECREF(words);
    Py_XDECREF(place);
}

int
cwj_damage_raise(const cwj_module_state *state, PyObject *who, PyObject *text)
{
    if (text != NULL) {
        cwj_refuse_by(who, state->fault, "%U", text);
        Py_DECREF(text);
    }
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
