/* describe.c: from a description (cwrapjit/library/description.py) to a cwj_wrapped.
 *
 * Each attribute is checked here; verify.c checks what has to fit together.
 */
#include "../errors.h"
#include "read.h"
#include "wrap.h"

#include <limits.h>

/* ---- arguments ------------------------------------------------------------------ */

static int
describe_argument(cwj_argument *argument, PyObject *given, const char *who)
{
    static const char *const kinds[] = {"any", "positional", "keyword", NULL};
    int kind = cwj_read_word(given, "kind", kinds, who);
    int required = cwj_read_flag(given, "required");
    argument->name = cwj_read_text(given, "name", who);
    argument->annotation = cwj_read_text(given, "annotation", who);
    if (argument->name == NULL || argument->annotation == NULL || kind < 0 || required < 0) {
        return -1;
    }
    PyUnicode_InternInPlace(&argument->name);
    argument->kind = (cwj_kind)kind;
    if (!required) {
        argument->preset = PyObject_GetAttrString(given, "default");
        return argument->preset == NULL ? -1 : 0;
    }
    return 0;
}

/* Positions come first: keyword-only arguments stand behind all others. */
static int
describe_arguments(cwj_wrapped *self, PyObject *list, const char *who)
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
        if (self->npositional < i) {
            return cwj_refuse(who, PyExc_ValueError,
                              "argument %U stands behind one that is keyword-only", argument->name);
        }
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

static const char *const roles[] = {"value",  "array",  "hidden", "stride", "string",
                                    "buffer", "handle", "struct", "items",  "data",
                                    "length", "status", "null",   "none",   NULL};
static const char *const intents[] = {"in", "inout", "out", NULL};
static const char *const orders[] = {"C", "F", "A", NULL};

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
read_flags(cwj_parameter *parameter, PyObject *given)
{
    int by_pointer = cwj_read_flag(given, "by_pointer"),
        optional = cwj_read_flag(given, "optional");
    int strict = cwj_read_flag(given, "strict"), lowest = cwj_read_flag(given, "lowest");
    parameter->by_pointer = by_pointer > 0;
    parameter->optional = optional > 0;
    parameter->strict = strict > 0;
    parameter->lowest = lowest > 0;
    return by_pointer < 0 || optional < 0 || strict < 0 || lowest < 0 ? -1 : 0;
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
has_number_type(int role)
{
    return role != CWJ_STRING && role != CWJ_BUFFER && role != CWJ_HANDLE && role != CWJ_STRUCT &&
           role != CWJ_NULL;
}

static int
describe_parameter(cwj_parameter *parameter, PyObject *given, PyObject *symbols, const char *who)
{
    int role = cwj_read_word(given, "role", roles, who);
    int intent = cwj_read_word(given, "intent", intents, who);
    int order = cwj_read_word(given, "order", orders, who);
    void *release = NULL;
    parameter->name = cwj_read_text(given, "name", who);
    if (role < 0 || intent < 0 || order < 0 || parameter->name == NULL ||
        (has_number_type(role) && cwj_read_type(&parameter->type, given, who) < 0) ||
        cwj_read_dims(&parameter->dims, &parameter->ndim, given, symbols, who) < 0 ||
        cwj_read_int(&parameter->argument, given, "argument", who) < 0 ||
        cwj_read_int(&parameter->of, given, "of", who) < 0 ||
        cwj_read_int(&parameter->axis, given, "axis", who) < 0 ||
        cwj_read_address(&release, given, "free", who) < 0) {
        return -1;
    }
    parameter->role = (cwj_role)role;
    parameter->intent = (cwj_intent)intent;
    parameter->order = orders[order][0];
    *(void **)&parameter->free = release;
    parameter->symbol = read_symbol(given, symbols, who);
    parameter->cls = PyObject_GetAttrString(given, "cls");
    if (parameter->symbol < -1 || parameter->cls == NULL || read_flags(parameter, given) < 0 ||
        read_container(parameter, given, who) < 0 ||
        read_value(parameter, given, symbols, who) < 0) {
        return -1;
    }
    return 0;
}

static int
describe_parameters(cwj_wrapped *self, PyObject *list, PyObject *symbols, const char *who)
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
        if (p->role == CWJ_BUFFER || p->role == CWJ_ITEMS) {
            p->lengths_at = self->nlengths;
            self->nlengths += p->ndim;
            self->nbuffers += p->role == CWJ_BUFFER;
        }
        if (p->role == CWJ_STRIDE && p->of >= 0 && p->of < self->nparameters && p->axis >= 0 &&
            p->axis < 64) {
            self->parameters[p->of].strided |= (uint64_t)1 << p->axis;
        }
    }
    return 0;
}

/* ---- the result ---------------------------------------------------------------------------- */

static int
read_of(cwj_wrapped *self, PyObject *given, const char *who)
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

static int
describe_result(cwj_wrapped *self, PyObject *given, PyObject *symbols, const char *who)
{
    static const char *const owners[] = {"none", "callee", "argument", "instance", NULL};
    cwj_result *result = &self->result;
    void *release = NULL;
    int role = cwj_read_word(given, "role", roles, who);
    int order = cwj_read_word(given, "order", orders, who);
    int owner = cwj_read_word(given, "owner", owners, who);
    if (role < 0 || order < 0 || owner < 0) {
        return -1;
    }
    result->role = (cwj_role)role;
    result->order = orders[order][0];
    result->owner = owner > CWJ_OWNER_ARGUMENT ? CWJ_OWNER_ARGUMENT : (cwj_owner)owner;
    if (result->role == CWJ_STRING) {
        PyObject *type = cwj_read_text(given, "type", who);
        result->bytes = type != NULL && PyUnicode_CompareWithASCIIString(type, "bytes") == 0;
        Py_XDECREF(type);
    } else if (has_number_type(role) && cwj_read_type(&result->type, given, who) < 0) {
        return -1;
    }
    result->cls = PyObject_GetAttrString(given, "cls");
    int readonly = cwj_read_flag(given, "readonly");
    result->readonly = readonly > 0;
    if (readonly < 0 || result->cls == NULL || PyErr_Occurred() || read_of(self, given, who) < 0 ||
        cwj_read_dims(&result->dims, &result->ndim, given, symbols, who) < 0 ||
        cwj_read_address(&release, given, "free", who) < 0) {
        return -1;
    }
    *(void **)&result->free = release;
    return 0;
}

/* ---- the whole -------------------------------------------------------------------------------- */

static bool
is_result(const cwj_parameter *p)
{
    return p->role == CWJ_DATA || (p->role == CWJ_ARRAY && p->intent == CWJ_OUT) ||
           (p->role == CWJ_BUFFER && p->intent == CWJ_OUT) ||
           (p->role == CWJ_HANDLE && p->intent == CWJ_OUT) ||
           (p->role == CWJ_VALUE && p->intent != CWJ_IN);
}

/* Numbers only, each from the argument at its place. */
static bool
is_simple(const cwj_wrapped *self)
{
    bool simple = self->check == NULL && self->nparameters == self->npositional &&
                  self->narguments == self->nparameters && self->nparameters <= 8 &&
                  (self->result.role == CWJ_VALUE || self->result.role == CWJ_NONE);
    for (int k = 0; k < self->nparameters && simple; k++) {
        const cwj_parameter *p = &self->parameters[k];
        simple = p->role == CWJ_VALUE && !p->by_pointer && p->argument == k && p->symbol < 0;
    }
    return simple;
}

static void
summarize(cwj_wrapped *self)
{
    size_t n = (size_t)self->nparameters;
    self->nresults = self->result.role != CWJ_NONE && self->result.role != CWJ_STATUS;
    for (int k = 0; k < self->nparameters; k++) {
        self->nresults += is_result(&self->parameters[k]);
        self->has_instances |=
            self->parameters[k].role == CWJ_HANDLE || self->parameters[k].role == CWJ_STRUCT;
        self->nlengths_read += self->parameters[k].role == CWJ_LENGTH;
    }
    self->simple = is_simple(self);
    self->frame_size =
        (2 * n + 1) * sizeof(cwj_slot) + (n + 1) * (sizeof(PyObject *) + sizeof(void *)) +
        (size_t)self->narguments * sizeof(PyObject *) + (size_t)self->nlengths * sizeof(npy_intp) +
        (size_t)self->nbuffers * sizeof(Py_buffer) +
        (size_t)self->nsymbols * (sizeof(npy_int64) + sizeof(int));
}

static int
describe_rest(cwj_wrapped *self, PyObject *given, const char *who)
{
    void *thunk = NULL;
    int keep_gil = cwj_read_flag(given, "keep_gil");
    int first = cwj_read_flag(given, "writes_result_first");
    self->owner = PyObject_GetAttrString(given, "owner");
    self->check = PyObject_GetAttrString(given, "check");
    self->signature = cwj_read_text(given, "signature", who);
    if (keep_gil < 0 || first < 0 || self->owner == NULL || self->check == NULL ||
        self->signature == NULL || cwj_read_address(&thunk, given, "thunk", who) < 0 ||
        cwj_read_address(&self->address, given, "address", who) < 0) {
        return -1;
    }
    if (thunk == NULL) {
        return cwj_refuse(who, PyExc_ValueError, "there is no thunk");
    }
    if (self->check == Py_None) {
        Py_CLEAR(self->check);
    } else if (!PyCallable_Check(self->check)) {
        return cwj_refuse(who, PyExc_TypeError, "check must be callable, not %s",
                          Py_TYPE(self->check)->tp_name);
    }
    *(void **)&self->thunk = thunk;
    self->keep_gil = keep_gil > 0;
    self->result_first = first > 0;
    return 0;
}

int
cwj_wrapped_describe(cwj_wrapped *self, PyObject *given)
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
    if (self->symbols == NULL || cwj_wrapped_verify(self, who) < 0) {
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
cwj_wrapped_clear(cwj_wrapped *self)
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
    PyMem_Free(self->arguments);
    PyMem_Free(self->parameters);
    self->arguments = NULL;
    self->parameters = NULL;
    self->narguments = self->nparameters = 0;
    Py_CLEAR(self->symbols);
    Py_CLEAR(self->check);
    Py_CLEAR(self->who);
    Py_CLEAR(self->signature);
    Py_CLEAR(self->owner); /* last: the code */
}
