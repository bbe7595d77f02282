/* symbols.c: the table of functions of csrc/ that compiled code may call.
 *
 * Snippets see the package's small <Python.h> and <numpy/arrayobject.h>, where objects are opaque, because the real
 * headers are slow to parse and use features that libtcc lacks. Operations that those headers implement by macros on
 * struct members are offered here as functions with the same errors and reference counts. This file has those for
 * CPython's macros, and the empty shape and strides of 0-d arrays. tools/embed.py generates a file with those for
 * NumPy's. function/entries.c and graph/entries.c list other functions. Python's own exported functions are found in
 * the process. */
#include "base/symbols.h"

#include "../../cwrapjit/include/cwj_layout.h"
#include "base/array_members.h"

static PyTypeObject *
type_of(PyObject *object)
{
    return Py_TYPE(object);
}

static Py_ssize_t
reference_count(PyObject *object)
{
    return Py_REFCNT(object);
}

static Py_ssize_t
variable_size(PyObject *object)
{
    return Py_SIZE(object);
}

/* Calls PyObject_Vectorcall(), which has no address in CPython 3.10, where it is inline. */
static PyObject *
call_vector(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    return PyObject_Vectorcall(function, args, nargsf, names);
}

static const tj_symbol own_symbols[] = {
    {"cwj_no_dims", (const void *)cwj_no_dims, true},
    {"cwj_no_strides", (const void *)cwj_no_strides, true},
    {"Py_TYPE", (const void *)type_of, false},
    {"Py_REFCNT", (const void *)reference_count, false},
    {"Py_SIZE", (const void *)variable_size, false},
    {"Py_INCREF", (const void *)Py_IncRef, false},
    {"Py_XINCREF", (const void *)Py_IncRef, false},
    {"Py_DECREF", (const void *)Py_DecRef, false},
    {"Py_XDECREF", (const void *)Py_DecRef, false},
    {"PyObject_Vectorcall", (const void *)call_vector, false},
};

static const cwj_symbols own = {own_symbols, sizeof own_symbols / sizeof *own_symbols};

static const cwj_symbols *const *offered;

void
cwj_symbols_set(const cwj_symbols *const *front_ends)
{
    offered = front_ends;
}

/* Appends to a table allocated by PyMem_Realloc(). Returns false if there is no memory. */
static bool
append(tj_symbol **table, size_t *count, const cwj_symbols *more)
{
    tj_symbol *longer = PyMem_Realloc(*table, (*count + more->count) * sizeof(tj_symbol));
    if (longer != NULL) {
        memcpy(longer + *count, more->items, more->count * sizeof(tj_symbol));
        *table = longer;
        *count += more->count;
    }
    return longer != NULL;
}

/* Returns the table, which is created once; environments borrow it for good. */
static const tj_symbol *
all_symbols(size_t *count)
{
    static tj_symbol *table;
    static size_t length;
    if (table == NULL) {
        tj_symbol *made = NULL;
        size_t size = 0;
        bool fine = append(&made, &size, &own) && append(&made, &size, cwj_numpy_symbols());
        for (const cwj_symbols *const *one = offered; *one != NULL && fine; one++) {
            fine = append(&made, &size, *one);
        }
        if (!fine) {
            PyMem_Free(made);
            PyErr_NoMemory();
            return NULL;
        }
        table = made;
        length = size;
    }
    *count = length;
    return table;
}

int
cwj_symbols_offer(tj_environment_options *options)
{
    static const char *const prefixes[] = {"Py", "_Py", NULL};
    options->host_prefixes = prefixes;
    options->host_data = "PyExc_";
    options->host_macros = cwj_layout_macros();
    options->symbols = options->host_macros == NULL ? NULL : all_symbols(&options->nsymbols);
    return options->symbols == NULL ? -1 : 0;
}
