/* explain.c: f.explain() reports how the system's compiler optimises the loops of calls.
 *
 * For each type set it compiles one variant like that of a running call, and keeps only figures of
 * the object file. cwrapjit/_explain.py parses the compiler's remarks.
 */
#include "function/explain.h"

#include "base/compiler.h"
#include "base/errors.h"
#include "base/jobs.h"
#include "base/tuples.h"
#include "function/function.h"

/* Returns the compiler's remarks on one type set: a str, or NULL with an exception set. */
static PyObject *
told_of(cwj_function_object *self, const tj_compiler *compiler, int typeset)
{
    cwj_module_state *state = cwj_state_of((PyObject *)self);
    tj_text text = {0};
    tj_job *job = NULL;
    char *told = NULL;
    PyObject *result = NULL;
    if (cwj_tiers_emit(self, &typeset, &text)) {
        tj_job_options options = {.compiler = compiler,
                                  .kind = TJ_JOB_EXPLAIN,
                                  .fastmath = self->spec->tj.fastmath,
                                  .keeps_state = true};
        job = tj_job_new(self->environment->tj, text.data, &options);
    }
    if (job == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if (cwj_job_run(state, job, self->spec->who) < 0) {
        goto done;
    }
    told = tj_job_told(job);
    result = told == NULL ? PyErr_NoMemory()
                          : PyUnicode_DecodeUTF8(told, (Py_ssize_t)strlen(told), "replace");
done:
    tj_free(told);
    tj_job_free(job);
    tj_text_clear(&text);
    return result;
}

static PyObject *
text_of(const tj_piece *piece)
{
    return Py_BuildValue("(ss#)", piece->file != NULL ? piece->file : "",
                         piece->text != NULL ? piece->text : "", (Py_ssize_t)piece->length);
}

/* Returns (types, remarks, ((file, text of the user), ...)). */
static PyObject *
explain_typeset(cwj_function_object *self, const tj_compiler *compiler, int t)
{
    const tj_spec *spec = &self->spec->tj;
    return Py_BuildValue("(sN(NN))", self->runtime.decl->typesets[t].name,
                         told_of(self, compiler, t), text_of(&spec->header),
                         text_of(&spec->typesets[t].body));
}

static PyObject *
words_of(const tj_compiler *compiler)
{
    tj_text text = {0};
    for (char **word = compiler->words; *word != NULL; word++) {
        tj_text_printf(&text, "%s%s", word == compiler->words ? "" : " ", *word);
    }
    PyObject *words = text.failed ? PyErr_NoMemory() : PyUnicode_DecodeFSDefault(text.data);
    tj_text_clear(&text);
    return words;
}

/* Returns {name: calls} for the arguments that calls have copied. */
static PyObject *
copies_of(const cwj_function_object *self)
{
    const cwj_function_decl *decl = self->runtime.decl;
    PyObject *copies = PyDict_New();
    for (int k = 0; k < decl->ninputs + decl->noutputs && copies != NULL; k++) {
        if (self->runtime.copied[k] > 0) {
            cwj_dict_put(&copies, decl->operands[k].name,
                         PyLong_FromLongLong(self->runtime.copied[k]));
        }
    }
    return copies;
}

const char cwj_count_copy_doc[] =
    "count_copy(function, name, /)\n--\n\n"
    "Count a call for which a kernel copied an argument that its function may have.";

PyObject *
cwj_count_copy(PyObject *extension, PyObject *args)
{
    cwj_module_state *state = PyModule_GetState(extension);
    cwj_function_object *self;
    const char *name;
    if (!PyArg_ParseTuple(args, "O!s:count_copy", state->function_type, &self, &name)) {
        return NULL;
    }
    const cwj_function_decl *decl = self->runtime.decl;
    for (int k = 0; k < decl->ninputs + decl->noutputs; k++) {
        self->runtime.copied[k] += strcmp(decl->operands[k].name, name) == 0;
    }
    Py_RETURN_NONE;
}

PyObject *
cwj_function_explain(cwj_function_object *self)
{
    const tj_compiler *found = cwj_compiler_find(cwj_state_of((PyObject *)self));
    int ntypesets = self->runtime.decl->ntypesets;
    PyObject *words = NULL, *parts = NULL, *result = NULL;
    if (found == NULL) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    words = words_of(found);
    parts = words == NULL ? NULL : PyTuple_New(ntypesets);
    for (int t = 0; t < ntypesets && parts != NULL; t++) {
        const tj_compiler *compiler = cwj_compiler_find(cwj_state_of((PyObject *)self));
        if (compiler == NULL) { /* it has disappeared since */
            Py_CLEAR(parts);
            if (!PyErr_Occurred()) {
                Py_DECREF(words);
                return Py_NewRef(Py_None);
            }
            break;
        }
        cwj_tuple_fill(&parts, t, explain_typeset(self, compiler, t));
    }
    if (parts != NULL) {
        result = cwj_ask_python("cwrapjit._explain", "build", "(sOON)", self->spec->qualname, words,
                                parts, copies_of(self));
    }
    Py_XDECREF(words);
    Py_XDECREF(parts);
    return result;
}
