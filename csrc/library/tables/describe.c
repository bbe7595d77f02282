/* describe.c: from a description (cwrapjit/library/description.py) to a cwj_library_function.
 *
 * Each attribute is checked here; verify.c checks what has to fit together.
 */
#include "base/errors.h"
#include "library/tables/read.h"
#include "library/tables/tables.h"

#include <limits.h>

/* ---- arguments ------------------------------------------------------------------ */

const char *const cwj_kind_words[] = {CWJ_KINDS(CWJ_WORD) NULL};

static const cwj_attribute argument_attributes[] = {
    CWJ_TEXT(cwj_argument, name),
    CWJ_TEXT(cwj_argument, annotation),
    CWJ_CHOICE(cwj_argument, kind, cwj_kind_words),
    {0},
};

static int
describe_argument(cwj_argument *argument, PyObject *given, const char *who)
{
    static const cwj_attribute attributes[] = {{"required", CWJ_READ_FLAG, 0, NULL}, {0}};
    bool required;
    if (cwj_read(argument, argument_attributes, given, who) < 0 ||
        cwj_read(&required, attributes, given, who) < 0) {
        return -1;
    }
    PyUnicode_InternInPlace(&argument->name);
    argument->preset = required ? NULL : PyObject_GetAttrString(given, "default");
    return required || argument->preset != NULL ? 0 : -1;
}

/* Positions come first: keyword-only arguments stand behind all others. */
static int
describe_arguments(cwj_library_function *self, PyObject *list, const char *who)
{
    Py_ssize_t count = PyList_GET_SIZE(list);
    self->arguments = PyMem_Calloc((size_t)count + 1, sizeof(*self->arguments));
    if (self->arguments == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        cwj_argument *argument = &self->arguments[i];
        self->narguments++;
        if (describe_argument(argument, PyList_GET_ITEM(list, i), who) < 0) {
            return -1;
        }
        if (argument->kind == CWJ_KEYWORD) {
            continue;
        }
        bool only = argument->kind == CWJ_POSITIONAL;
        if (self->npositional < i || (only && self->nonly_positional < i)) {
            return cwj_refuse(who, PyExc_ValueError, "argument %U stands behind one that is %s",
                              argument->name, only ? "not positional-only" : "keyword-only");
        }
        self->nonly_positional += only;
        self->npositional++;
    }
    for (int i = 0; i < self->narguments; i++) {
        for (int j = 0; j < i; j++) {
            if (self->arguments[i].name == self->arguments[j].name) {
                return cwj_refuse(who, PyExc_ValueError, "two arguments have the name %U",
                                  self->arguments[i].name);
            }
        }
    }
    return 0;
}

/* ---- parameters ------------------------------------------------------------------- */

static const char *const roles[] = {CWJ_ROLES(CWJ_WORD) NULL};
static const char *const intents[] = {CWJ_INTENTS(CWJ_WORD) NULL};
static const char *const negatives[] = {CWJ_NEGATIVES(CWJ_WORD) NULL};
static const char *const orders[] = {CWJ_ORDERS(CWJ_WORD) NULL};

static const cwj_attribute parameter_attributes[] = {
    CWJ_TEXT(cwj_parameter, name),
    CWJ_CHOICE(cwj_parameter, role, roles),
    CWJ_CHOICE(cwj_parameter, intent, intents),
    CWJ_CHOICE(cwj_parameter, order, orders),
    CWJ_CHOICE(cwj_parameter, negative, negatives),
    CWJ_INT(cwj_parameter, argument),
    CWJ_INT(cwj_parameter, of),
    CWJ_INT(cwj_parameter, axis),
    CWJ_ADDRESS(cwj_parameter, free),
    CWJ_OBJECT(cwj_parameter, cls),
    CWJ_FLAG(cwj_parameter, by_pointer),
    CWJ_FLAG(cwj_parameter, optional),
    {0},
};

static int
read_symbol(PyObject *given, PyObject *symbols, const char *who)
{
    PyObject *name = cwj_read_text(given, "symbol", who);
    int symbol = -2;
    if (name != NULL && PyUnicode_GET_LENGTH(name) == 0) {
        symbol = -1;
    } else if (name != NULL) {
        PyObject *tuple = PyTuple_Pack(1, name);
        cwj_dim dim = {0};
        if (tuple != NULL && cwj_dim_read(&dim, tuple, symbols, who) == 0) {
            symbol = cwj_dim_symbol(&dim);
            if (symbol < 0) {
                symbol = -2;
                cwj_refuse(who, PyExc_ValueError, "%R is no symbol", name);
            }
        }
        cwj_dim_clear(&dim);
        Py_XDECREF(tuple);
    }
    Py_XDECREF(name);
    return symbol;
}

static int
read_container(cwj_parameter *parameter, PyObject *given, const char *who)
{
    PyObject *container = PyObject_GetAttrString(given, "container");
    if (container == NULL) {
        return -1;
    }
    parameter->container = container == (PyObject *)&PyTuple_Type  ? &PyTuple_Type
                           : container == (PyObject *)&PyList_Type ? &PyList_Type
                           : container == (PyObject *)&PySet_Type  ? &PySet_Type
                                                                   : NULL;
    if (parameter->container == NULL && parameter->role == CWJ_ITEMS) {
        cwj_refuse(who, PyExc_ValueError, "container must be tuple, list or set, not %R",
                   container);
        Py_DECREF(container);
        return -1;
    }
    Py_DECREF(container);
    return 0;
}

static int
read_value(cwj_parameter *parameter, PyObject *given, PyObject *symbols, const char *who)
{
    PyObject *value = PyObject_GetAttrString(given, "value");
    int status = value == NULL ? -1 : cwj_dim_read(&parameter->value, value, symbols, who);
    Py_XDECREF(value);
    return status;
}

/* Texts and handles may have types of their own, which the call path does not need. */
static bool
has_number_type(cwj_role role)
{
    return role != CWJ_STRING && role != CWJ_BUFFER && role != CWJ_HANDLE && role != CWJ_STRUCT;
}

static int
describe_parameter(cwj_parameter *parameter, PyObject *given, PyObject *symbols, const char *who)
{
    if (cwj_read(parameter, parameter_attributes, given, who) < 0 ||
        (has_number_type(parameter->role) && cwj_read_type(&parameter->type, given, who) < 0) ||
        cwj_read_dims(&parameter->dims, &parameter->ndim, given, symbols, who) < 0) {
        return -1;
    }
    parameter->symbol = read_symbol(given, symbols, who);
    return parameter->symbol < -1 || read_container(parameter, given, who) < 0
               ? -1
               : read_value(parameter, given, symbols, who);
}

static int
describe_parameters(cwj_library_function *self, PyObject *list, PyObject *symbols, const char *who)
{
    Py_ssize_t count = PyList_GET_SIZE(list);
    self->parameters = PyMem_Calloc((size_t)count + 1, sizeof(*self->parameters));
    if (self->parameters == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        self->nparameters++;
        if (describe_parameter(&self->parameters[k], PyList_GET_ITEM(list, k), symbols, who) < 0) {
            return -1;
        }
    }
    for (int k = 0; k < self->nparameters; k++) {
        cwj_parameter *p = &self->parameters[k];
        self->has_written |= cwj_is_written_memory(p);
        if (p->role == CWJ_BUFFER || p->role == CWJ_ITEMS) {
            p->lengths_at = self->nlengths;
            self->nlengths += p->ndim;
            self->nbuffers += p->role == CWJ_BUFFER;
        }
        if (p->role == CWJ_STRIDE && p->of >= 0 && p->of < self->nparameters && p->axis >= 0 &&
            p->axis < 64) {
            uint64_t bit = (uint64_t)1 << p->axis;
            self->parameters[p->of].strided |= bit;
            self->parameters[p->of].backwards |= p->negative != CWJ_REFUSED ? bit : 0;
            self->parameters[p->of].lowest |= p->negative == CWJ_LOWEST ? bit : 0;
        }
    }
    return 0;
}

/* ---- the result ---------------------------------------------------------------------------- */

static int
read_of(cwj_library_function *self, PyObject *given, const char *who)
{
    cwj_result *result = &self->result;
    PyObject *of = PyObject_GetAttrString(given, "of");
    PyObject *tuple = of == NULL ? NULL : PySequence_Tuple(of);
    int status = -1;
    Py_XDECREF(of);
    if (tuple == NULL) {
        return -1;
    }
    result->of = PyMem_Calloc((size_t)PyTuple_GET_SIZE(tuple) + 1, sizeof(int));
    if (result->of == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        long argument = PyLong_AsLong(PyTuple_GET_ITEM(tuple, i));
        if (argument == -1 && PyErr_Occurred()) {
            goto done;
        }
        if (argument < 0 || argument >= self->narguments) {
            cwj_refuse(who, PyExc_ValueError,
                       "the result's owner is an argument that is not there");
            goto done;
        }
        result->of[result->nof++] = (int)argument;
    }
    status = 0;
done:
    Py_DECREF(tuple);
    return status;
}

static PyObject *
read_library(PyObject *given)
{
    PyObject *library = PyObject_GetAttrString(given, "library");
    PyObject *tuple = library == NULL      ? NULL
                      : library == Py_None ? PyTuple_New(0)
                                           : PyTuple_Pack(1, library);
    Py_XDECREF(library);
    return tuple;
}

static const char *const owners[] = {CWJ_OWNERS(CWJ_WORD) NULL};

static const cwj_attribute result_attributes[] = {
    CWJ_CHOICE(cwj_result, role, roles),
    CWJ_CHOICE(cwj_result, order, orders),
    CWJ_CHOICE(cwj_result, owner, owners),
    CWJ_FLAG(cwj_result, readonly),
    CWJ_OBJECT(cwj_result, cls),
    CWJ_ADDRESS(cwj_result, free),
    {0},
};

static int
describe_result(cwj_library_function *self, PyObject *given, PyObject *symbols, const char *who)
{
    cwj_result *result = &self->result;
    if (cwj_read(result, result_attributes, given, who) < 0) {
        return -1;
    }
    if (result->owner == CWJ_OWNER_INSTANCE) {
        result->owner = CWJ_OWNER_ARGUMENT; /* what is kept are arguments */
    }
    if (result->role == CWJ_STRING) {
        PyObject *type = cwj_read_text(given, "type", who);
        result->bytes = type != NULL && PyUnicode_CompareWithASCIIString(type, "bytes") == 0;
        Py_XDECREF(type);
    } else if (has_number_type(result->role) && cwj_read_type(&result->type, given, who) < 0) {
        return -1;
    }
    result->library = read_library(given);
    return result->library == NULL || PyErr_Occurred() || read_of(self, given, who) < 0
               ? -1
               : cwj_read_dims(&result->dims, &result->ndim, given, symbols, who);
}

/* ---- the whole -------------------------------------------------------------------------------- */

/* Numbers only, each from the argument at its place. */
static bool
is_simple(const cwj_library_function *self)
{
    bool simple = self->check == NULL && self->nparameters == self->npositional &&
                  self->narguments == self->nparameters && self->nparameters <= CWJ_MOST_SIMPLE &&
                  (self->result.role == CWJ_VALUE || self->result.role == CWJ_NONE);
    for (int k = 0; k < self->nparameters && simple; k++) {
        const cwj_parameter *p = &self->parameters[k];
        simple = p->role == CWJ_VALUE && !p->by_pointer && p->argument == k && p->symbol < 0;
    }
    return simple;
}

static void
summarize(cwj_library_function *self)
{
    self->nresults = self->result.role != CWJ_NONE && self->result.role != CWJ_STATUS;
    for (int k = 0; k < self->nparameters; k++) {
        self->nresults += cwj_is_result(&self->parameters[k]);
        self->has_instances |=
            self->parameters[k].role == CWJ_HANDLE || self->parameters[k].role == CWJ_STRUCT;
        self->nlengths_read += cwj_is_written_length(&self->parameters[k]);
    }
    for (int k = 0; k < self->nparameters; k++) {
        cwj_parameter *p = &self->parameters[k];
        p->is_capacity = cwj_is_written_length(p) && cwj_is_capacity(self, p->symbol);
    }
    self->simple = is_simple(self);
}

static const cwj_attribute function_attributes[] = {
    CWJ_FLAG(cwj_library_function, keep_gil),    CWJ_FLAG(cwj_library_function, stable),
    CWJ_FLAG(cwj_library_function, may_overlap), CWJ_OBJECT(cwj_library_function, owner),
    CWJ_OBJECT(cwj_library_function, check),     CWJ_TEXT(cwj_library_function, signature),
    CWJ_TEXT(cwj_library_function, c_name),      CWJ_ADDRESS(cwj_library_function, thunk),
    CWJ_ADDRESS(cwj_library_function, address),  {0},
};

static int
describe_rest(cwj_library_function *self, PyObject *given, const char *who)
{
    if (cwj_read(self, function_attributes, given, who) < 0) {
        return -1;
    }
    if (self->thunk == NULL) {
        return cwj_refuse(who, PyExc_ValueError, "there is no thunk");
    }
    if (self->check == Py_None) {
        Py_CLEAR(self->check);
    } else if (!PyCallable_Check(self->check)) {
        return cwj_refuse_type(who, "check", "callable", self->check);
    }
    PyUnicode_InternInPlace(&self->c_name);
    return 0;
}

int
cwj_library_describe(cwj_library_function *self, PyObject *given)
{
    PyObject *arguments = NULL, *parameters = NULL, *result = NULL, *qualname = NULL;
    PyObject *symbols = PyList_New(0);
    const char *who;
    int status = -1;
    qualname = cwj_read_text(given, "qualname", "wrap_function()");
    self->who = qualname == NULL ? NULL : PyUnicode_FromFormat("%U()", qualname);
    who = self->who == NULL ? NULL : PyUnicode_AsUTF8(self->who);
    if (symbols == NULL || who == NULL) {
        goto done;
    }
    arguments = cwj_read_list(given, "arguments", who);
    parameters = arguments == NULL ? NULL : cwj_read_list(given, "parameters", who);
    result = parameters == NULL ? NULL : PyObject_GetAttrString(given, "result");
    if (result == NULL || describe_arguments(self, arguments, who) < 0 ||
        describe_parameters(self, parameters, symbols, who) < 0 ||
        describe_result(self, result, symbols, who) < 0 || describe_rest(self, given, who) < 0) {
        goto done;
    }
    self->symbols = PyList_AsTuple(symbols);
    self->nsymbols = (int)PyList_GET_SIZE(symbols);
    if (self->symbols == NULL || cwj_library_verify(self, who) < 0) {
        goto done;
    }
    summarize(self);
    status = 0;
done:
    Py_XDECREF(symbols);
    Py_XDECREF(qualname);
    Py_XDECREF(arguments);
    Py_XDECREF(parameters);
    Py_XDECREF(result);
    return status;
}

static void
clear_dims(cwj_dim *dims, int ndim)
{
    for (int d = 0; dims != NULL && d < ndim; d++) {
        cwj_dim_clear(&dims[d]);
    }
    PyMem_Free(dims);
}

void
cwj_library_clear(cwj_library_function *self)
{
    for (int i = 0; i < self->narguments; i++) {
        Py_CLEAR(self->arguments[i].name);
        Py_CLEAR(self->arguments[i].annotation);
        Py_CLEAR(self->arguments[i].preset);
    }
    for (int k = 0; k < self->nparameters; k++) {
        cwj_parameter *p = &self->parameters[k];
        clear_dims(p->dims, p->ndim);
        cwj_dim_clear(&p->value);
        Py_CLEAR(p->cls);
        Py_CLEAR(p->name);
    }
    clear_dims(self->result.dims, self->result.ndim);
    PyMem_Free(self->result.of);
    Py_CLEAR(self->result.cls);
    Py_CLEAR(self->result.library);
    PyMem_Free(self->arguments);
    PyMem_Free(self->parameters);
    self->arguments = NULL;
    self->parameters = NULL;
    self->narguments = self->nparameters = 0;
    Py_CLEAR(self->symbols);
    Py_CLEAR(self->check);
    Py_CLEAR(self->who);
    Py_CLEAR(self->signature);
    Py_CLEAR(self->c_name);
    Py_CLEAR(self->owner); /* last: the code */
}
