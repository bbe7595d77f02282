/* describe.c: makes a cwj_library_function from a description (cwrapjit/library/description.py). It checks each
 * attribute; verify.c checks that they fit together. */
#include "base/choices.h"
#include "base/errors.h"
#include "library/tables/read.h"
#include "library/tables/tables.h"

#include <stdint.h>

/* Defines converters for PyArg_ParseTuple() from a word to its enum. */
#define WORD_READER(what, LIST)                                                          \
    static int read_##what(PyObject *word, void *number)                                 \
    {                                                                                    \
        static const char *const words[] = {LIST(CWJ_WORD)};                             \
        int count = sizeof(words) / sizeof(words[0]);                                    \
        *(int *)number = cwj_parse_choice(word, words, count, "wrap_function()", #what); \
        return *(int *)number >= 0;                                                      \
    }
WORD_READER(kind, CWJ_KINDS)
WORD_READER(role, CWJ_ROLES)
WORD_READER(intent, CWJ_INTENTS)
WORD_READER(order, CWJ_ORDERS)
WORD_READER(negative, CWJ_NEGATIVES)
WORD_READER(owner, CWJ_OWNERS)
WORD_READER(good, CWJ_GOODS)

static int
read_address(PyObject *number, void *address)
{
    *(void **)address = PyLong_AsVoidPtr(number);
    return !PyErr_Occurred();
}

/* ---- arguments ------------------------------------------------------------------ */

static int
describe_argument(cwj_argument *argument, PyObject *given, cwj_kind *kind)
{
    static char *names[] = {"name", "kind", "required", "default", "annotation", NULL};
    PyObject *name, *preset, *annotation;
    int required;
    if (cwj_read(given, "UO&pOU", names, &name, read_kind, kind, &required, &preset, &annotation) <
        0) {
        return -1;
    }
    argument->name = Py_NewRef(name);
    argument->annotation = Py_NewRef(annotation);
    argument->preset = required ? NULL : Py_NewRef(preset);
    PyUnicode_InternInPlace(&argument->name);
    return 0;
}

/* Positional-only arguments must come first, and keyword-only arguments last. */
static int
describe_arguments(cwj_library_function *self, PyObject *list, const char *who)
{
    Py_ssize_t count = PyList_GET_SIZE(list);
    self->arguments = cwj_allocate((size_t)count + 1, sizeof(*self->arguments));
    if (self->arguments == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        cwj_argument *argument = &self->arguments[i];
        cwj_kind kind;
        self->narguments++;
        if (describe_argument(argument, PyList_GET_ITEM(list, i), &kind) < 0) {
            return -1;
        }
        for (int j = 0; j < i; j++) {
            if (self->arguments[j].name == argument->name) {
                return cwj_refuse(who, PyExc_ValueError, "two arguments have the name %U",
                                  argument->name);
            }
        }
        if (kind == CWJ_KEYWORD) {
            continue;
        }
        bool only = kind == CWJ_POSITIONAL;
        if (self->npositional < i || (only && self->nonly_positional < i)) {
            return cwj_refuse(who, PyExc_ValueError, "argument %U stands behind one that is %s",
                              argument->name, only ? "not positional-only" : "keyword-only");
        }
        self->nonly_positional += only;
        self->npositional++;
    }
    return 0;
}

/* Reads a sequence of indices below `most`. Errors begin with `what`: "the result's owner is an argument". */
static int
read_places(PyObject *given, int most, const char *what, int **places, int *count, const char *who)
{
    PyObject *tuple = PySequence_Tuple(given);
    Py_ssize_t size = tuple == NULL ? 0 : PyTuple_GET_SIZE(tuple);
    *places = tuple == NULL ? NULL : cwj_allocate((size_t)size + 1, sizeof(int));
    int status = *places == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; status == 0 && i < size; i++) {
        long place = PyLong_AsLong(PyTuple_GET_ITEM(tuple, i));
        status = place >= 0 && place < most
                     ? 0
                     : cwj_refuse(who, PyExc_ValueError, "%s that is not there", what);
        (*places)[(*count)++] = (int)place;
    }
    Py_XDECREF(tuple);
    return status;
}

/* ---- parameters ------------------------------------------------------------------- */

/* most: the number of parameters. */
static int
read_bound(cwj_parameter *p, PyObject *bound, int most, const char *who)
{
    int status = read_places(bound, most, "free= wants a parameter", &p->bound, &p->nbound, who);
    return status == 0 && p->nbound > CWJ_MOST_BOUND
               ? cwj_refuse(who, PyExc_ValueError, "free= wants more than %d values",
                            CWJ_MOST_BOUND)
               : status;
}

/* Before calls ask a converter, they look in its dict `known`. */
static int
read_known(cwj_parameter *p, const char *who)
{
    p->known = PyObject_GetAttrString(p->cls, "known");
    return p->known != NULL && PyDict_CheckExact(p->known)
               ? 0
               : cwj_refuse(who, PyExc_ValueError, "%R makes no addresses of functions", p->cls);
}

static int
read_container(cwj_parameter *p, PyObject *given, const char *who)
{
    PyTypeObject *all[] = {&PyTuple_Type, &PyList_Type, &PySet_Type};
    for (int k = 0; k < 3; k++) {
        p->container = given == (PyObject *)all[k] ? all[k] : p->container;
    }
    return p->container != NULL || p->role != CWJ_ITEMS
               ? 0
               : cwj_refuse(who, PyExc_ValueError, "container must be tuple, list or set, not %R",
                            given);
}

/* most: the number of parameters. Only results have the last three attributes. */
static int
describe_parameter(const cwj_library_function *self, cwj_parameter *p, PyObject *given,
                   PyObject *symbols, int most, const char *who)
{
    static char *names[] = {
        "role",  "type",      "argument", "by_pointer", "optional", "intent", "dims",
        "order", "value",     "of",       "axis",       "symbol",   "cls",    "container",
        "name",  "negative",  "free",     "descr",      "encoding", "bound",  "is_model",
        "owner", "discarded", "readonly", "bases",      "library",  NULL};
    PyObject *type, *dims, *value, *symbol, *cls, *container, *name, *descr, *encoding, *bound;
    PyObject *bases = NULL, *library = Py_None;
    if (cwj_read(given, "O&UippO&OO&OiiUOOUO&O&OUOpO&p|pOO", names, read_role, &p->role, &type,
                 &p->argument, &p->by_pointer, &p->optional, read_intent, &p->intent, &dims,
                 read_order, &p->order, &value, &p->of, &p->axis, &symbol, &cls, &container, &name,
                 read_negative, &p->negative, read_address, &p->free, &descr, &encoding, &bound,
                 &p->is_model, read_owner, &p->owner, &p->discarded, &p->readonly, &bases,
                 &library) < 0) {
        return -1;
    }
    p->bytes = PyUnicode_CompareWithASCIIString(encoding, "bytes") == 0;
    p->encoding = p->bytes || PyUnicode_GET_LENGTH(encoding) == 0 ? NULL : Py_NewRef(encoding);
    bool is_named = PyUnicode_GET_LENGTH(symbol) > 0;
    p->symbol = is_named ? cwj_symbol_index(symbols, symbol) : -1;
    p->name = Py_NewRef(name);
    p->cls = Py_NewRef(cls);
    p->library = library == Py_None ? NULL : Py_NewRef(library);
    return (p->role == CWJ_CALLBACK && read_known(p, who) < 0) ||
                   read_container(p, container, who) < 0 || (is_named && p->symbol < 0) ||
                   cwj_read_type(p, type, descr, who) < 0 ||
                   cwj_dims_read(&p->dims, &p->ndim, dims, symbols, who) < 0 ||
                   read_bound(p, bound, most, who) < 0 ||
                   (bases != NULL &&
                    read_places(bases, self->narguments, "the result's owner is an argument",
                                &p->bases, &p->nbases, who) < 0)
               ? -1
               : cwj_dim_read(&p->value, value, symbols, who);
}

static int
describe_parameters(cwj_library_function *self, PyObject *list, PyObject *symbols, const char *who)
{
    Py_ssize_t count = PyList_GET_SIZE(list);
    self->parameters = cwj_allocate((size_t)count + 1, sizeof(*self->parameters));
    if (self->parameters == NULL) {
        return -1;
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        cwj_parameter *p = &self->parameters[k];
        self->nparameters++;
        if (describe_parameter(self, p, PyList_GET_ITEM(list, k), symbols, (int)count, who) < 0) {
            return -1;
        }
        bool is_given = cwj_role_is(p->role, CWJ_OBJECT) && p->owner == CWJ_OWNER_CALLEE;
        p->owner = is_given ? CWJ_OWNER_CALLEE : CWJ_OWNER_NONE;
        p->free = p->role == CWJ_DATA || p->role == CWJ_STRING ? p->free : NULL;
    }
    return 0;
}

static int
describe_result(cwj_library_function *self, PyObject *given, PyObject *symbols, const char *who)
{
    cwj_parameter *result = &self->result;
    if (describe_parameter(self, result, given, symbols, self->nparameters, who) < 0) {
        return -1;
    }
    result->intent = result->role == CWJ_STATUS ? CWJ_INTENT_IN : CWJ_INTENT_OUT;
    if (result->owner != CWJ_OWNER_CALLEE || !cwj_role_is(result->role, CWJ_FREED)) {
        result->free = NULL;
    }
    return 0;
}

/* given: alternately a keeper and the parameter that it keeps, as in cwj_keep. */
static int
describe_keeps(cwj_library_function *self, PyObject *given, const char *who)
{
    int *places = NULL, count = 0;
    int status =
        read_places(given, self->nparameters + 2, "keeps= names a parameter", &places, &count, who);
    if (status == 0) {
        self->keeps = cwj_allocate((size_t)count / 2 + 1, sizeof(*self->keeps));
        status = self->keeps == NULL ? -1 : 0;
    }
    for (int i = 0; status == 0 && i + 1 < count; i += 2) {
        if (places[i + 1] >= self->nparameters) {
            status = cwj_refuse(who, PyExc_ValueError, "keeps= keeps what is returned");
        } else {
            self->keeps[self->nkeeps++] = (cwj_keep){places[i], places[i + 1]};
        }
    }
    PyMem_Free(places);
    return status;
}

static int
describe_sizes(cwj_library_function *self, PyObject *given, PyObject *symbols, const char *who)
{
    PyObject *list = cwj_read_list(given, "sizes", who);
    int status = -1;
    if (list != NULL) {
        self->sizes = cwj_allocate((size_t)PyList_GET_SIZE(list) + 1, sizeof(*self->sizes));
        status = self->sizes == NULL ? -1 : 0;
    }
    for (Py_ssize_t i = 0; status == 0 && i < PyList_GET_SIZE(list); i++) {
        self->nsizes++;
        status = cwj_size_read(&self->sizes[i], PyList_GET_ITEM(list, i), symbols,
                               self->nparameters, who);
    }
    Py_XDECREF(list);
    return status;
}

/* ---- the whole -------------------------------------------------------------------------------- */

/* True if all parameters are numbers and instances, each from the argument of its index, and the result is one, too,
 * or nothing. take_quick.c calls such functions. */
static bool
is_simple(const cwj_library_function *self)
{
    const cwj_parameter *result = &self->result;
    bool is_object =
        (result->role == CWJ_HANDLE || result->role == CWJ_STRUCT) && result->nbound == 0;
    bool simple = self->check == NULL && self->nsizes == 0 && self->nkeeps == 0 &&
                  self->nparameters == self->npositional && self->narguments == self->nparameters &&
                  self->nparameters <= CWJ_MOST_SIMPLE &&
                  (result->role == CWJ_VALUE || result->role == CWJ_NONE || is_object);
    for (int k = 0; k < self->nparameters && simple; k++) {
        const cwj_parameter *p = &self->parameters[k];
        bool is_number = p->role == CWJ_VALUE && !p->by_pointer && p->symbol < 0;
        bool is_instance =
            (p->role == CWJ_HANDLE || p->role == CWJ_STRUCT) && p->intent != CWJ_INTENT_OUT;
        simple = (is_number || is_instance) && p->argument == k;
    }
    return simple;
}

/* Computes facts of all parameters for calls, and tells arrays which of their strides other parameters pass to C. */
static void
summarize(cwj_library_function *self)
{
    self->nresults = cwj_is_result(&self->result);
    self->sized_after = cwj_has_size(self, &self->result);
    for (int k = 0; k < self->nparameters; k++) {
        cwj_parameter *p = &self->parameters[k];
        self->nresults += cwj_is_result(p);
        self->presets |= p->role == CWJ_HIDDEN && p->symbol >= 0;
        self->sized_after |= p->role == CWJ_DATA && cwj_has_size(self, p);
        self->has_instances |= cwj_role_is(p->role, CWJ_OBJECT) ||
                               (p->role == CWJ_ADDRESS && PyUnicode_GET_LENGTH(p->item) == 0);
        self->has_streams |= p->role == CWJ_STREAM;
        self->has_written |= cwj_is_written_memory(p);
        self->nlengths_read += cwj_is_written_length(p);
        p->is_capacity = cwj_is_written_length(p) && cwj_is_capacity(self, p->symbol);
        if (cwj_role_is(p->role, CWJ_COUNTED)) {
            p->lengths_at = self->nlengths;
            self->nlengths += p->ndim;
            self->nbuffers += p->role == CWJ_BUFFER;
        }
        if (p->role == CWJ_STRIDE) {
            cwj_parameter *array = &self->parameters[p->of];
            uint64_t bit = (uint64_t)1 << p->axis;
            array->strided |= bit;
            array->backwards |= p->negative != CWJ_REFUSED ? bit : 0;
            array->lowest |= p->negative == CWJ_LOWEST ? bit : 0;
        }
    }
    self->simple = is_simple(self);
}

static int
describe_lists(cwj_library_function *self, PyObject *arguments, PyObject *parameters,
               PyObject *result, PyObject *sizes, PyObject *returns, const char *who)
{
    PyObject *symbols = PyList_New(0), *given = NULL, *listed = NULL, *returned = NULL;
    int status = -1;
    if (symbols != NULL && (self->described = PySequence_List(arguments)) != NULL &&
        (given = cwj_read_list(self->described, "arguments", who)) != NULL &&
        PyList_Append(self->described, returns) == 0 &&
        (listed = cwj_read_list(parameters, "parameters", who)) != NULL &&
        (returned = cwj_read_attributes(result)) != NULL &&
        describe_arguments(self, given, who) == 0 &&
        describe_parameters(self, listed, symbols, who) == 0 &&
        describe_result(self, returned, symbols, who) == 0 &&
        describe_sizes(self, sizes, symbols, who) == 0) {
        self->symbols = PyList_AsTuple(symbols);
        self->nsymbols = (int)PyList_GET_SIZE(symbols);
        status = self->symbols == NULL ? -1 : cwj_library_verify(self, who);
    }
    CWJ_RELEASE(symbols, given, listed, returned);
    return status;
}

int
cwj_library_describe(cwj_library_function *self, PyObject *given, PyObject **guard)
{
    static char *names[] = {"name",   "qualname",    "doc",     "arguments", "parameters",
                            "result", "thunk",       "address", "owner",     "check",
                            "good",   "reads_errno", "checked", "keep_gil",  "may_overlap",
                            "stable", "c_name",      "guard",   "signature", "sizes",
                            "keeps",  "replaces",    "returns", NULL};
    PyObject *name, *qualname, *doc, *arguments, *parameters, *result;
    PyObject *owner, *check, *checked, *c_name, *signature, *sizes, *keeps, *returns;
    if (cwj_read(given, "UUUOOOO&O&OOO&pOpppUOUOOpU", names, &name, &qualname, &doc, &arguments,
                 &parameters, &result, read_address, &self->thunk, read_address, &self->address,
                 &owner, &check, read_good, &self->good, &self->reads_errno, &checked,
                 &self->keep_gil, &self->may_overlap, &self->stable, &c_name, guard, &signature,
                 &sizes, &keeps, &self->replaces, &returns) < 0) {
        return -1;
    }
    self->leavable = tj_is_code(self->address);
    self->owner = Py_NewRef(owner);
    self->check = check == Py_None ? NULL : Py_NewRef(check);
    self->signature = Py_NewRef(signature);
    self->c_name = Py_NewRef(c_name);
    PyUnicode_InternInPlace(&self->c_name);
    self->dict =
        Py_BuildValue("{sOsOsO}", "__name__", name, "__qualname__", qualname, "__doc__", doc);
    self->who = PyUnicode_FromFormat("%U()", qualname);
    const char *who = self->who == NULL ? NULL : PyUnicode_AsUTF8(self->who);
    if (self->dict == NULL || who == NULL ||
        describe_lists(self, arguments, parameters, result, sizes, returns, who) < 0 ||
        read_places(checked, self->narguments, "check= asks for an argument", &self->checked,
                    &self->nchecked, who) < 0 ||
        describe_keeps(self, keeps, who) < 0) {
        return -1;
    }
    if (self->thunk == NULL) {
        return cwj_refuse(who, PyExc_ValueError, "there is no thunk");
    }
    if (self->check != NULL && !PyCallable_Check(self->check)) {
        return cwj_refuse_type(who, "check", "callable", self->check);
    }
    summarize(self);
    return 0;
}

static void
clear_parameter(cwj_parameter *p)
{
    cwj_dims_clear(p->dims, p->ndim);
    PyMem_Free(p->bases);
    PyMem_Free(p->bound);
    cwj_dim_clear(&p->value);
    CWJ_RELEASE(p->descr, p->cls, p->layout, p->known, p->item, p->encoding, p->name, p->library);
}

void
cwj_library_clear(cwj_library_function *self)
{
    for (int i = 0; i < self->narguments; i++) {
        CWJ_RELEASE(self->arguments[i].name, self->arguments[i].annotation,
                    self->arguments[i].preset);
    }
    for (int k = 0; k < self->nparameters; k++) {
        clear_parameter(&self->parameters[k]);
    }
    clear_parameter(&self->result);
    PyMem_Free(self->arguments);
    PyMem_Free(self->parameters);
    PyMem_Free(self->checked);
    for (int i = 0; i < self->nsizes; i++) {
        cwj_size_clear(&self->sizes[i]);
    }
    PyMem_Free(self->sizes);
    PyMem_Free(self->keeps);
    CWJ_RELEASE(self->described, self->symbols, self->check, self->who, self->signature,
                self->c_name, self->owner); /* last: the code */
}
