/* write.c: module.write(), the C source of a standalone extension module.
 *
 * The same descriptions that made the functions in memory go to
 * tj_emit_module(), together with the text of the call path that this very
 * extension was compiled from.
 */
#include "base/errors.h"
#include "function/function.h"
#include "function/module.h"

extern const char cwj_call_path_text[];

/* ---- what to write ----------------------------------------------------- */

/* 1 when self.function() made it and it still goes by its own name, 0, or -1 with an exception. */
static int
is_own_function(PyObject *self, PyObject *key, PyObject *value)
{
    const cwj_function_object *function = (cwj_function_object *)value;
    const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
    if (name == NULL) { /* no text, or a lone surrogate in it */
        return !PyErr_Occurred() || cwj_clear_expected(PyExc_UnicodeEncodeError, NULL) ? 0 : -1;
    }
    return function->environment == cwj_module_data_of(self)->environment &&
           strcmp(name, function->spec->tj.name) == 0;
}

/* The functions among a module's attributes, in the order of their
 * definition; aliases are left out. A new list. */
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

/* A docstring as C's text, borrowed from the str; NULL and no exception when
 * there is none. */
static const char *
take_docstring(PyObject *owner, const char *who, PyObject **held)
{
    PyObject *doc = PyObject_GetAttrString(owner, "__doc__");
    if (doc == NULL) {
        return NULL;
    }
    if (!PyUnicode_Check(doc) || PyUnicode_GET_LENGTH(doc) == 0) {
        Py_DECREF(doc);
        return NULL;
    }
    *held = doc;
    Py_ssize_t length = 0;
    const char *text = PyUnicode_AsUTF8AndSize(doc, &length);
    if (text != NULL && strlen(text) != (size_t)length) {
        cwj_refuse("write()", PyExc_ValueError, "the docstring of %s holds a NUL character", who);
        return NULL;
    }
    return text;
}

/* How to build it, as text for a comment. */
static PyObject *
make_comment(PyObject *self)
{
    PyObject *comment = NULL;
    PyObject *helper = cwj_import("cwrapjit._write");
    PyObject *name = helper == NULL ? NULL : PyModule_GetNameObject(self);
    if (name != NULL) {
        comment = PyObject_CallMethod(helper, "build_comment", "OO", name,
                                      cwj_module_data_of(self)->environment->build_args);
    }
    Py_XDECREF(helper);
    Py_XDECREF(name);
    return comment;
}

/* ---- emitting ---------------------------------------------------------- */

/* The whole source as a str. */
static PyObject *
emit(PyObject *self, PyObject *functions, const tj_spec **specs, const char **docs, PyObject **held)
{
    PyObject *comment = NULL, *name = NULL, *source = NULL;
    Py_ssize_t count = PyList_GET_SIZE(functions);
    tj_text text = {0};
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *function = PyList_GET_ITEM(functions, i);
        const cwj_spec *spec = ((cwj_function_object *)function)->spec;
        specs[i] = &spec->tj;
        docs[i] = take_docstring(function, spec->qualname, &held[i]);
        if (docs[i] == NULL && PyErr_Occurred()) {
            goto done;
        }
    }
    const char *doc = take_docstring(self, "the module", &held[count]);
    if (doc == NULL && PyErr_Occurred()) {
        goto done;
    }
    comment = make_comment(self);
    name = PyModule_GetNameObject(self);
    const char *comment_text = comment == NULL ? NULL : PyUnicode_AsUTF8(comment);
    const char *name_text = name == NULL ? NULL : PyUnicode_AsUTF8(name);
    if (comment_text == NULL || name_text == NULL) {
        goto done;
    }
    if (tj_emit_module(name_text, doc, comment_text, cwj_call_path_text, (int)count, specs, docs,
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
    PyObject *source = NULL, **held = NULL;
    const tj_spec **specs = NULL;
    const char **docs = NULL;
    size_t count = 0;
    PyObject *functions = list_functions(self);
    if (functions == NULL) {
        return NULL;
    }
    count = (size_t)PyList_GET_SIZE(functions);
    specs = PyMem_Calloc(count + 1, sizeof(*specs));
    docs = PyMem_Calloc(count + 1, sizeof(*docs));
    held = PyMem_Calloc(count + 1, sizeof(*held));
    if (specs == NULL || docs == NULL || held == NULL) {
        PyErr_NoMemory();
    } else {
        source = emit(self, functions, specs, docs, held);
    }
    for (size_t i = 0; held != NULL && i <= count; i++) {
        Py_XDECREF(held[i]);
    }
    PyMem_Free(specs);
    PyMem_Free(docs);
    PyMem_Free(held);
    Py_DECREF(functions);
    return source;
}

/* ---- the method -------------------------------------------------------- */

const char cwj_module_write_doc[] =
    "write($self, /, file=None)\n--\n\n"
    "Write the C source of a standalone extension module to file, by default sys.stdout.\n\n"
    "It behaves as this one does and needs nothing but CPython and NumPy.";

/* The method write of file, by default sys.stdout; new reference. */
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
    if (result == NULL) {
        return NULL;
    }
    Py_DECREF(result);
    Py_RETURN_NONE;
}
