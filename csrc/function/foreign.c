/* foreign.c: calls with arguments that override NumPy's functions, such as pandas columns, and with keywords of ufuncs. */
#include "function/function.h"

/* Returns 1 if an element of the outputs depends on those of the inputs alone, 0 if not, -1 with an exception set. */
static int
is_elementwise(const cwj_function_object *self)
{
    const tj_spec *spec = &self->spec->tj;
    const char *found;
    int operand;
    bool hidden, fits = !self->runtime.has_core && spec->cookie.length == 0 &&
                        spec->validate.text == NULL && spec->cleanup.text == NULL;
    for (int k = 0; k < self->runtime.decl->ninputs; k++) {
        fits = fits && self->runtime.decl->operands[k].role == CWJ_IN;
    }
    if (fits && cwj_find_full_geometry(self, &found, &operand, &hidden) < 0) {
        return -1;
    }
    return fits && found == NULL && !hidden;
}

/* The value of cwj_runtime.foreign: cwrapjit/_foreign.py makes the call. */
static PyObject *
call_foreign(cwj_runtime *runtime, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    const cwj_function_decl *decl = runtime->decl;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    PyObject *self = (PyObject *)cwj_owner_of(runtime);
    PyObject *names = PyTuple_New(decl->ninputs), *given = PyTuple_New(nargs);
    PyObject *words = PyDict_New();
    int elementwise = is_elementwise((cwj_function_object *)self);
    for (int k = 0; k < decl->ninputs && names != NULL; k++) {
        PyTuple_SET_ITEM(names, k, Py_NewRef(runtime->names[k]));
    }
    for (Py_ssize_t i = 0; i < nargs && given != NULL; i++) {
        PyTuple_SET_ITEM(given, i, Py_NewRef(args[i]));
    }
    for (Py_ssize_t i = 0; kwnames != NULL && i < PyTuple_GET_SIZE(kwnames) && words != NULL; i++) {
        if (PyDict_SetItem(words, PyTuple_GET_ITEM(kwnames, i), args[nargs + i]) < 0) {
            Py_CLEAR(words);
        }
    }
    if (elementwise < 0) {
        Py_CLEAR(words);
    }
    return cwj_ask_python("cwrapjit._foreign", "call", "(ONNNiii)", self, names, given, words,
                          runtime->has_core, elementwise, decl->noutputs);
}

void
cwj_foreign_init(cwj_function_object *self)
{
    if (self->runtime.flags & (CWJ_CAST_SAFE | CWJ_CAST_SAME_KIND)) {
        self->runtime.foreign = call_foreign;
    }
}
