/* shim.c: NumPy's and CPython's macros as functions, for compiled snippets.
 *
 * Snippets see the small <Python.h> and <numpy/arrayobject.h> of the package,
 * where arrays are opaque, because the real headers are slow to read and use
 * what libtcc lacks. What those headers do by macros on struct members, and
 * the functions of NumPy's table, are offered here under NumPy's own names.
 * Each function does what NumPy's macro does, errors and references included.
 */
#include "../../cwrapjit/include/cwj_numpy.h"
#include "base/symbols.h"

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

/* A macro in CPython 3.10, so its address cannot be taken. */
static PyObject *
call_vector(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    return PyObject_Vectorcall(function, args, nargsf, names);
}

#define PyFloat16ArrType_Type PyHalfArrType_Type

/* NumPy 1 has these as struct members. */
#ifndef NPY_2_0_API_VERSION
#define PyDataType_ELSIZE(descr) ((descr)->elsize)
#define PyDataType_ALIGNMENT(descr) ((descr)->alignment)
#endif

#define FORWARD(type, name, parameters, arguments) \
    static type cwj_##name parameters              \
    {                                              \
        return name arguments;                     \
    }
#define FORWARD_1(type, name, A) FORWARD(type, name, (A a), (a))
#define FORWARD_2(type, name, A, B) FORWARD(type, name, (A a, B b), (a, b))
#define FORWARD_3(type, name, A, B, C) FORWARD(type, name, (A a, B b, C c), (a, b, c))
#define FORWARD_4(type, name, A, B, C, D) FORWARD(type, name, (A a, B b, C c, D d), (a, b, c, d))
#define FORWARD_5(type, name, A, B, C, D, E) \
    FORWARD(type, name, (A a, B b, C c, D d, E e), (a, b, c, d, e))
#define FORWARD_ASKED(name) FORWARD_1(int, name, const PyArrayObject *)
CWJ_NUMPY_QUESTIONS(FORWARD_ASKED)
CWJ_NUMPY_OTHERS(FORWARD_1, FORWARD_2, FORWARD_3, FORWARD_4, FORWARD_5)

/* With # and ## of their own: NumPy's names are macros. */
#define PLACE(name) {#name, NULL, false},
#define PLACE_LISTED(type, name, parameters) {#name, NULL, false},
#define ENTRY(name) {#name, (const void *)cwj_##name, false},
#define ENTRY_TYPED(type, name, ...) {#name, (const void *)cwj_##name, false},

/* clang-format off */
static tj_symbol symbols[] = {
    CWJ_NUMPY_TABLE(PLACE_LISTED) CWJ_NUMPY_TYPES(PLACE) CWJ_NUMPY_QUESTIONS(ENTRY)
    CWJ_NUMPY_OTHERS(ENTRY_TYPED, ENTRY_TYPED, ENTRY_TYPED, ENTRY_TYPED, ENTRY_TYPED)
    {"Py_TYPE", (const void *)type_of, false},
    {"Py_REFCNT", (const void *)reference_count, false},
    {"Py_SIZE", (const void *)variable_size, false},
    {"Py_INCREF", (const void *)Py_IncRef, false},
    {"Py_XINCREF", (const void *)Py_IncRef, false},
    {"Py_DECREF", (const void *)Py_DecRef, false},
    {"Py_XDECREF", (const void *)Py_DecRef, false},
    {"PyObject_Vectorcall", (const void *)call_vector, false},
};
/* clang-format on */

const cwj_symbols *
cwj_shim_symbols(void)
{
    static const cwj_symbols all = {symbols, sizeof symbols / sizeof *symbols};
    tj_symbol *next = symbols;
#define FILL(type, name, parameters) next++->address = (const void *)name;
    CWJ_NUMPY_TABLE(FILL)
#undef FILL
#define FILL(name) next++->address = (const void *)&name;
    CWJ_NUMPY_TYPES(FILL)
#undef FILL
    return &all;
}
