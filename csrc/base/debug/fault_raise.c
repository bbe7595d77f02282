/* fault_raise.c: describes a fault in words and raises it (fault.h). The GIL is held. */
#include "base/debug/fault.h"

#include "base/debug/zones.h"
#include "base/errors.h"
#include "os/shared_object.h"

/* ---- places ---------------------------------------------------------------------------- */

int
cwj_guarded_lines(tj_lines **lines, tj_environment *environment, const char *text,
                  const tj_anchor *anchors)
{
    tj_error error;
    tj_status status;
    tj_error_init(&error);
    Py_BEGIN_ALLOW_THREADS
    status = tj_lines_new(environment, text, NULL, anchors, lines, &error);
    Py_END_ALLOW_THREADS
    tj_error_clear(&error);
    if (status == TJ_NO_MEMORY) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

/* Returns the result of as_user or, if that is None, the text of the line if it is known. New reference. */
static PyObject *
text_of(const tj_message *found, PyObject *as_user)
{
    PyObject *known = as_user == NULL
                          ? Py_NewRef(Py_None)
                          : PyObject_CallFunction(as_user, "yi", found->file, found->line);
    if (known != Py_None || found->source == NULL) {
        return known;
    }
    Py_DECREF(known);
    return PyUnicode_DecodeUTF8(found->source, (Py_ssize_t)strlen(found->source), "replace");
}

PyObject *
cwj_place_text(const cwj_fault *fault, PyObject *as_user, PyObject **place)
{
    tj_messages found = {0};
    PyObject *words = NULL;
    *place = NULL;
    bool known = tj_lines_find(fault->at, false, &found);
    for (int i = 0; i < fault->nreturns && !known; i++) { /* the innermost call that has a line */
        known = tj_lines_find(fault->returns[i], true, &found);
    }
    if (known) {
        const tj_message *line = &found.items[0];
        PyObject *text = text_of(line, as_user);
        PyObject *both =
            cwj_ask_python("cwrapjit._errors", "place_of", "(yiN)", line->file, line->line, text);
        if (both != NULL && PyArg_ParseTuple(both, "UO", &words, place)) {
            Py_INCREF(words);
            Py_INCREF(*place);
        }
        Py_XDECREF(both);
    } else {
        *place = PyTuple_Pack(3, Py_None, Py_None, Py_None);
        words = *place == NULL ? NULL : PyUnicode_FromString("");
    }
    tj_messages_clear(&found);
    return words;
}

/* ---- words ------------------------------------------------------------------------------- */

/* Returns the file name, without folder, of the library in which the fault occurred, if its state may now be
 * inconsistent; or NULL. */
static const char *
inside_of_what(const cwj_fault *fault)
{
    bool harmless = fault->deep || (fault->raised && !fault->aborted);
    const char *file = harmless ? NULL : tj_loaded_from(fault->at);
    const char *slash = file != NULL ? strrchr(file, '/') : NULL;
    return slash != NULL ? slash + 1 : file;
}

/* Returns the description of the array at the address: a new reference, or NULL; None if it is not an array. */
static PyObject *
array_met(const cwj_fault *fault)
{
    const cwj_fence *fence = fault->fence != NULL ? fault->fence : cwj_zones_find(fault->address);
    if (fence == NULL) {
        Py_RETURN_NONE;
    }
    ptrdiff_t offset = (const char *)fault->address - fence->data;
    PyObject *whose = fault->name == NULL
                          ? PyUnicode_FromString("a new array")
                          : PyUnicode_FromFormat("%s '%s'", fault->kind, fault->name);
    PyObject *words = whose == NULL
                          ? NULL
                          : PyUnicode_FromFormat("access %s the %zu bytes of %U, at byte %zd",
                                                 offset < 0 ? "in front of" : "behind", fence->size,
                                                 whose, (Py_ssize_t)offset);
    Py_XDECREF(whose);
    return words;
}

/* ---- raising ------------------------------------------------------------------------------- */

void
cwj_fault_raise(PyObject *who, const cwj_fault *fault, PyObject *as_user)
{
    PyObject *place, *words;
    words = cwj_place_text(fault, as_user, &place);
    if (words != NULL) {
        PyObject *address =
            fault->nowhere ? Py_NewRef(Py_None) : PyLong_FromVoidPtr((void *)fault->address);
        cwj_raise_object(cwj_ask_python("cwrapjit._errors", "fault", "(OiN(iiii)NyOO)", who,
                                        fault->signal, address, fault->deep, fault->over,
                                        fault->raised, fault->divided, array_met(fault),
                                        inside_of_what(fault), words, place));
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
