/* write.c: module.write() writes the C source of a standalone extension module.
 *
 * It passes the descriptions of the functions in memory, and the source text of this extension's
 * call path and of the functions of mathematics, to tj_emit_module().
 */
#include "base/errors.h"
#include "function/function.h"
#include "function/module.h"

extern const char cwj_call_path_text[];
extern const tj_maths_piece cwj_maths_pieces[];

/* ---- contents ---------------------------------------------------------- */

/* Returns 1 if self.function() made the value and its name is the key, 0 if not, -1 with an exception set. */
static int
is_own_function(PyObject *self, PyObject *key, PyObject *value)
{
    const cwj_function_object *function = (cwj_function_object *)value;
    const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
    if (name == NULL) { /* not a str, or one with a lone surrogate */
        return !PyErr_Occurred() || cwj_clear_expected(PyExc_UnicodeEncodeError, NULL) ? 0 : -1;
    }
    return function->environment == cwj_module_data_of(self)->environment &&
           strcmp(name, function->spec->tj.name) == 0;
}

/* Returns a new list of a module's functions without aliases, in the order of their definition. */
static PyObject *
list_functions(PyObject *self)
{
    PyObject *dict = PyModule_GetDict(self), *key, *value; /* borrowed */
    PyTypeObject *function_type = cwj_state_of(self)->function_type;
    PyObject *list = PyList_New(0);
    Py_ssize_t position = 0;
    while (list != NULL && PyDict_Next(dict, &position, &key, &value)) {
        int own = Py_IS_TYPE(value, function_type) ? is_own_function(self, key, value) : 0;
        if (own < 0 || (own > 0 && PyList_Append(list, value) < 0)) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* Stores a docstring's UTF-8 in *text, or NULL if there is none; it is borrowed from the str, which is added to
 * `held`. Returns 0, or -1 with an exception set. */
static int
take_docstring(const char **text, PyObject *owner, const char *who, PyObject *held)
{
    Py_ssize_t length = 0;
    PyObject *doc = PyObject_GetAttrString(owner, "__doc__");
    int status = doc == NULL ? -1 : PyList_Append(held, doc);
    *text = NULL;
    if (status == 0 && PyUnicode_Check(doc) && PyUnicode_GET_LENGTH(doc) > 0) {
        *text = PyUnicode_AsUTF8AndSize(doc, &length);
        status = *text == NULL ? -1 : 0;
    }
    Py_XDECREF(doc);
    if (*text != NULL && strlen(*text) != (size_t)length) {
        return cwj_refuse("write()", PyExc_ValueError, "the docstring of %s holds a NUL character",
                          who);
    }
    return status;
}

/* Returns the text of a comment that says how to build the module; new reference. */
static PyObject *
make_comment(PyObject *self)
{
    return cwj_ask_python("cwrapjit._write", "build_comment", "(NO)", PyModule_GetNameObject(self),
                          cwj_module_data_of(self)->environment->build_args);
}

/* ---- emitting ---------------------------------------------------------- */

/* Returns the whole source as a str. held keeps the functions and docstrings whose texts are read. */
static PyObject *
emit(PyObject *self, PyObject *held, size_t count, const tj_spec **specs, const char **docs)
{
    PyObject *comment = NULL, *name = NULL, *source = NULL;
    tj_text text = {0};
    for (size_t i = 0; i < count; i++) {
        PyObject *function = PyList_GET_ITEM(held, (Py_ssize_t)i);
        const cwj_spec *spec = ((cwj_function_object *)function)->spec;
        specs[i] = &spec->tj;
        if (take_docstring(&docs[i], function, spec->qualname, held) < 0) {
            goto done;
        }
    }
    if (take_docstring(&docs[count], self, "the module", held) < 0) {
        goto done;
    }
    comment = make_comment(self);
    name = PyModule_GetNameObject(self);
    const char *comment_text = comment == NULL ? NULL : PyUnicode_AsUTF8(comment);
    const char *name_text = name == NULL ? NULL : PyUnicode_AsUTF8(name);
    if (comment_text == NULL || name_text == NULL) {
        goto done;
    }
    if (tj_emit_module(cwj_module_data_of(self)->environment->tj, name_text, docs[count],
                       comment_text, cwj_call_path_text, cwj_maths_pieces, (int)count, specs, docs,
                       &text) != TJ_OK) {
        PyErr_NoMemory();
        goto done;
    }
    source = PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.length, "strict");
done:
    tj_text_clear(&text);
    Py_XDECREF(comment);
    Py_XDECREF(name);
    return source;
}

static PyObject *
source_of_module(PyObject *self)
{
    PyObject *source = NULL, *functions = list_functions(self);
    if (functions == NULL) {
        return NULL;
    }
    size_t count = (size_t)PyList_GET_SIZE(functions);
    const tj_spec **specs = cwj_allocate(count + 1, sizeof(*specs));
    const char **docs = cwj_allocate(count + 1, sizeof(*docs));
    if (specs != NULL && docs != NULL) {
        source = emit(self, functions, count, specs, docs);
    }
    PyMem_Free(specs);
    PyMem_Free(docs);
    Py_DECREF(functions);
    return source;
}

/* ---- the method -------------------------------------------------------- */

const char cwj_module_write_doc[] =
    "write($self, /, file=None)\n--\n\n"
    "Write the C source of a standalone extension module to file, by default sys.stdout.\n\n"
    "It behaves as this one does and needs nothing but CPython and NumPy.";

/* Returns file.write; None stands for sys.stdout. New reference. */
static PyObject *
writer_of(PyObject *file)
{
    if (file == Py_None) {
        file = PySys_GetObject("stdout"); /* borrowed: a getter may replace it */
    }
    if (file == NULL) {
        cwj_refuse("write()", PyExc_RuntimeError, "there is no sys.stdout");
        return NULL;
    }
    Py_INCREF(file);
    PyObject *write = PyObject_GetAttrString(file, "write");
    if (write == NULL && cwj_clear_expected(PyExc_AttributeError, NULL)) {
        cwj_refuse_type("write()", "file", "open for writing text", file);
    }
    Py_DECREF(file);
    return write;
}

PyObject *
cwj_module_write(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"file", NULL};
    PyObject *file = Py_None, *write = NULL, *source = NULL, *result = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:write", names, &file)) {
        return NULL;
    }
    if (cwj_module_data_of(self)->environment == NULL) {
        cwj_refuse("module", PyExc_TypeError, "__init__() did not run");
        return NULL;
    }
    write = writer_of(file);
    if (write == NULL) {
        return NULL;
    }
    source = source_of_module(self);
    if (source != NULL) {
        result = PyObject_CallFunctionObjArgs(write, source, NULL);
    }
    Py_DECREF(write);
    Py_XDECREF(source);
    Py_XDECREF(result);
    return result == NULL ? NULL : Py_NewRef(Py_None);
}
