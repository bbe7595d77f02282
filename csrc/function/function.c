/* function.c: type cwrapjit.Function.
 *
 * A call goes through vectorcall directly into the call path. The object owns the machine code, so the code is freed
 * with the last reference; a running call holds one. Name, docstring and module are in the instance's __dict__, as
 * for Python functions: they can be changed and do not slow calls.
 */
#include "function/function.h"

#include "base/diagnosis.h"
#include "base/content.h"
#include "base/errors.h"
#include "base/jobs.h"
#include "base/live.h"
#include "base/tuples.h"
#include "function/equality.h"
#include "function/explain.h"
#include "function/spec_parts.h"

#include <structmember.h>

/* ---- attributes -------------------------------------------------------- */

static PyObject *
get_source(PyObject *op, void *Py_UNUSED(closure))
{
    return PyUnicode_FromFormat("%s", ((cwj_function_object *)op)->code.source);
}

static PyObject *
get_signature(PyObject *op, void *Py_UNUSED(closure))
{
    return PyUnicode_FromString(((cwj_function_object *)op)->runtime.decl->signature);
}

static PyObject *
get_types(PyObject *op, void *Py_UNUSED(closure))
{
    const cwj_function_decl *decl = ((cwj_function_object *)op)->runtime.decl;
    PyObject *types = PyTuple_New(decl->ntypesets);
    for (int t = 0; t < decl->ntypesets && types != NULL; t++) {
        cwj_tuple_fill(&types, t, PyUnicode_FromString(decl->typesets[t].name));
    }
    return types;
}

static PyObject *
get_output_dims(PyObject *op, void *Py_UNUSED(closure))
{
    const tj_spec *spec = &((cwj_function_object *)op)->spec->tj;
    PyObject *dims = PyDict_New();
    for (int i = 0; i < spec->noutput_dims && dims != NULL; i++) {
        cwj_dict_put(&dims, spec->output_dims[i].name,
                     PyUnicode_FromString(spec->output_dims[i].text));
    }
    return dims;
}

static PyObject *
get_windows(PyObject *op, void *Py_UNUSED(closure))
{
    return cwj_describe_windows(((cwj_function_object *)op)->spec);
}

static PyObject *
get_tier(PyObject *op, void *Py_UNUSED(closure))
{
    return PyUnicode_FromString(cwj_tiers_name((cwj_function_object *)op));
}

static PyObject *
get_tier_error(PyObject *op, void *Py_UNUSED(closure))
{
    return cwj_tiers_error((cwj_function_object *)op);
}

static PyObject *
get_address(PyObject *op, void *Py_UNUSED(closure))
{
    return cwj_address_number((cwj_function_object *)op);
}

static PyObject *
get_capsule(PyObject *op, void *Py_UNUSED(closure))
{
    return cwj_address_capsule((cwj_function_object *)op);
}

/* inspect is slow to import, so this waits for the first use. */
static PyObject *
get_python_signature(PyObject *op, void *Py_UNUSED(closure))
{
    cwj_function_object *self = (cwj_function_object *)op;
    if (self->signature == NULL) {
        PyObject *read = self->spec->read;
        PyObject *made =
            cwj_ask_python("cwrapjit._signature", "build_function", "(OOO)",
                           PyTuple_GET_ITEM(read, 1), PyTuple_GET_ITEM(read, 3), self->dict);
        Py_XSETREF(self->signature, made);
    }
    return Py_XNewRef(self->signature);
}

static PyObject *
function_repr(PyObject *op)
{
    const cwj_function_object *self = (cwj_function_object *)op;
    PyObject *read = self->spec->read, *repr = NULL;
    PyObject *line = cwj_ask_python("cwrapjit._signature", "line", "(OO)",
                                    PyTuple_GET_ITEM(read, 1), PyTuple_GET_ITEM(read, 3));
    if (line == NULL && cwj_clear_expected(PyExc_ImportError, NULL)) { /* the process ends */
        line = PyUnicode_FromString("(...)");
    }
    if (line != NULL) {
        repr = PyUnicode_FromFormat(
            "<cwrapjit.Function %s%U: %s%s>", self->spec->qualname, line,
            self->runtime.decl->signature,
            self->checked != NULL && self->checked->faults > 0 ? "; has faulted" : "");
    }
    Py_XDECREF(line);
    return repr;
}

static PyObject *
get_ufunc(PyObject *op, void *Py_UNUSED(closure))
{
    return cwj_function_ufunc((cwj_function_object *)op);
}

static PyGetSetDef function_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {"__signature__", get_python_signature, NULL, "What inspect.signature() shows.", NULL},
    {"source", get_source, NULL, "The C text in use, without the prelude.", NULL},
    {"signature", get_signature, NULL, "The prototype: 'a(n), b(n) -> output()'.", NULL},
    {"output_dims", get_output_dims, NULL, "Dims of outputs that are computed: {'m': 'n*(n-1)/2'}.",
     NULL},
    {"windows", get_windows, NULL, "Inputs that are windows, by name: what was asked for.", NULL},
    {"types", get_types, NULL, "The type sets, in the order in which they are tried.", NULL},
    {"tier", get_tier, NULL, "What compiled the code that runs: 'tcc' or 'cc'.", NULL},
    {"tier_error", get_tier_error, NULL, CWJ_TIER_ERROR_DOC, NULL},
    {"address", get_address, NULL,
     "The address of the loop, for ctypes, cffi, numba and other compiled "
     "code:\n" CWJ_LOOP_SIGNATURE ", as the loops of NumPy's generalized ufuncs;\n"
     "the last one is the struct of the extra arguments, or NULL for their defaults.",
     NULL},
    {"capsule", get_capsule, NULL,
     "The loop's address for scipy.LowLevelCallable, which keeps the function alive.", NULL},
    {"ufunc", get_ufunc, NULL, "A numpy.ufunc over the same loops.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* ---- methods ----------------------------------------------------------- */

PyDoc_STRVAR(wait_doc, CWJ_WAIT_DOC("every type set runs"));

static PyObject *
function_wait(PyObject *op, PyObject *args, PyObject *kwargs)
{
    double seconds;
    if (cwj_wait_parse(&seconds, args, kwargs) < 0) {
        return NULL;
    }
    int there = cwj_tiers_wait((cwj_function_object *)op, seconds);
    return there < 0 ? NULL : PyBool_FromLong(there);
}

PyDoc_STRVAR(diagnose_doc, CWJ_DIAGNOSE_DOC);

static PyObject *
function_diagnose(PyObject *op, PyObject *Py_UNUSED(unused))
{
    cwj_function_object *self = (cwj_function_object *)op;
    tj_text text = {0};
    PyObject *found = NULL;
    int form = TJ_APART | (self->code.all_names ? TJ_ALL_NAMES : 0);
    if (tj_emit_function(&self->spec->tj, TJ_ALL, form, &text) != TJ_OK) {
        PyErr_NoMemory();
    } else {
        found = cwj_diagnose(cwj_state_of(op), NULL, self->environment->tj, text.data,
                             self->spec->qualname);
    }
    tj_text_clear(&text);
    return found;
}

PyDoc_STRVAR(explain_doc,
             "explain($self, /)\n--\n\n"
             "What the system's compiler does to the loops that calls take: which are vectorised,\n"
             "with which width, what prevents the others, what is called, and how large the code\n"
             "is. str() shows it, .loops and .functions have it as data. None without a compiler.");

static PyObject *
function_explain(PyObject *op, PyObject *Py_UNUSED(unused))
{
    return cwj_function_explain((cwj_function_object *)op);
}

/* Appends (file, text). */
static void
append_piece(PyObject **list, const tj_piece *piece)
{
    if (piece->text != NULL && piece->length > 0) {
        cwj_list_add(list,
                     Py_BuildValue("(ss#)", piece->file, piece->text, (Py_ssize_t)piece->length));
    }
}

/* Returns the user's C texts as they were given, with their file names in messages. */
static PyObject *
list_texts(const tj_spec *spec)
{
    const tj_piece *pieces[] = {&spec->header, &spec->cookie, &spec->validate, &spec->cleanup};
    PyObject *texts = PyList_New(0);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        append_piece(&texts, pieces[i]);
    }
    for (int t = 0; t < spec->ntypesets; t++) {
        append_piece(&texts, &spec->typesets[t].body);
    }
    return texts;
}

PyDoc_STRVAR(facts_doc, "What those who show the function want to know of it, as a dict.");

static PyObject *
function_facts(PyObject *op, PyObject *Py_UNUSED(unused))
{
    cwj_function_object *self = (cwj_function_object *)op;
    PyObject *texts = list_texts(&self->spec->tj);
    if (texts == NULL) {
        return NULL;
    }
    return Py_BuildValue("{sLsKsKsssssN}", "calls", cwj_calls_made(&self->runtime), "defined_ns",
                         self->defined_ns, "loops_ns", self->runtime.heat, "tier_progress",
                         cwj_tiers_progress(self), "qualname", self->spec->qualname, "texts",
                         texts);
}

static PyMethodDef function_methods[] = {
    {"_facts", function_facts, METH_NOARGS, facts_doc},
    {"explain", function_explain, METH_NOARGS, explain_doc},
    {"diagnose", function_diagnose, METH_NOARGS, diagnose_doc},
    {"wait", (PyCFunction)(void (*)(void))function_wait, METH_VARARGS | METH_KEYWORDS, wait_doc},
    CWJ_REPR_HTML,
    CWJ_CONTENT_METHODS,
    {NULL, NULL, 0, NULL},
};

/* ---- the type ---------------------------------------------------------- */

static int
function_traverse(PyObject *op, visitproc visit, void *arg)
{
    cwj_function_object *self = (cwj_function_object *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->dict);
    Py_VISIT(self->signature);
    Py_VISIT(self->ufunc);
    Py_VISIT(self->definition);
    Py_VISIT(self->spec != NULL ? self->spec->read : NULL); /* holds the identity of reductions */
    return 0;
}

static int
function_clear(PyObject *op)
{
    cwj_function_object *self = (cwj_function_object *)op;
    Py_CLEAR(self->dict);
    Py_CLEAR(self->signature);
    Py_CLEAR(self->ufunc);
    Py_CLEAR(self->definition);
    return 0;
}

static void
function_dealloc(PyObject *op)
{
    cwj_function_object *self = (cwj_function_object *)op;
    PyObject_GC_UnTrack(op);
    PyObject_ClearWeakRefs(op);
    function_clear(op);
    Py_CLEAR(self->digest);
    cwj_tiers_clear(self);
    cwj_runtime_clear(&self->runtime); /* reads the descriptor, which is in checked or in code */
    cwj_address_clear(&self->address);
    cwj_debugged_free(self->checked);
    tj_function_clear(&self->code);
    cwj_environment_unref(self->environment); /* after the unit, which uses it */
    cwj_spec_free(self->spec);
    cwj_live_counts[CWJ_LIVE_FUNCTIONS]--;
    cwj_object_free(op);
}

static PyMemberDef function_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(cwj_function_object, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(cwj_function_object, weakrefs), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(cwj_function_object, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(function_doc, "A compiled function that broadcasts over NumPy arrays.\n\n"
                           "Made by module.function() and cwrapjit.function().");

static PyType_Slot function_slots[] = {
    {Py_tp_dealloc, function_dealloc},
    {Py_tp_traverse, function_traverse},
    {Py_tp_clear, function_clear},
    {Py_tp_repr, function_repr},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_getset, function_getset},
    {Py_tp_members, function_members},
    {Py_tp_methods, function_methods},
    {Py_tp_doc, (void *)function_doc},
    {Py_tp_hash, cwj_function_hash},
    {Py_tp_richcompare, cwj_function_compare},
    {0, NULL},
};

static CWJ_TYPE(function_spec, "cwrapjit.Function", cwj_function_object, function_slots,
                Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                    Py_TPFLAGS_DISALLOW_INSTANTIATION);

int
cwj_add_function_type(PyObject *extension, cwj_module_state *state)
{
    if (cwj_add_type(extension, &function_spec, &state->function_type) < 0) {
        return -1;
    }
    state->watcher = PyContextVar_New("cwrapjit.watcher", NULL);
    return PyModule_AddObjectRef(extension, "watcher", state->watcher);
}
