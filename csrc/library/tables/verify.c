/* verify.c: checks that the parts of a description fit together, so that calls can rely on it. */
#include "base/errors.h"
#include "library/tables/tables.h"

/* ---- parameters ---------------------------------------------------------------------- */

/* This and the other *_fault() functions return the text of an error, or NULL if nothing is wrong. */
static const char *
type_fault(const cwj_parameter *p)
{
    bool out = p->intent == CWJ_INTENT_OUT, is_array = p->role == CWJ_ARRAY;
    if ((cwj_role_is(p->role, CWJ_COUNT) || p->symbol >= 0) && !cwj_is_integer(p->type)) {
        return "needs an integer type";
    }
    if (cwj_role_is(p->role, CWJ_TYPED) && p->type == NULL && p->descr == NULL &&
        (!is_array || out || p->ndim > 0)) {
        return "needs a type";
    }
    for (int d = 0; is_array && out && d < p->ndim; d++) {
        if (p->dims[d].count == 0) {
            return "is an output and needs all of its dims";
        }
    }
    return (p->role == CWJ_TEXTS || p->role == CWJ_HANDLES) && p->ndim > 1
               ? "must have one dim, or none"
               : NULL;
}

static const char *
role_fault(const cwj_library_function *self, const cwj_parameter *p)
{
    bool is_set = p->container == &PySet_Type;
    switch (p->role) {
    case CWJ_VALUE:
        return p->by_pointer                ? NULL
               : p->intent != CWJ_INTENT_IN ? "is no result unless it goes by pointer"
               : p->optional                ? "cannot be NULL unless it goes by pointer"
                                            : NULL;
    case CWJ_ITEMS:
        return p->intent != CWJ_INTENT_IN || p->ndim < 1 || (is_set && p->ndim > 1)
                   ? "must be an input with dims, a set of one dim"
                   : NULL;
    case CWJ_BUFFER:
        return p->ndim == 1 || p->ndim == 2
                   ? NULL
                   : "must have one dim, or the number of items and their size";
    case CWJ_CALLBACK:
    case CWJ_STREAM:
        return PyCallable_Check(p->cls) ? NULL : "needs what makes an address";
    case CWJ_STRIDE:
        return p->of < 0 || p->of >= self->nparameters ||
                       self->parameters[p->of].role != CWJ_ARRAY || p->axis < 0 ||
                       p->axis >= self->parameters[p->of].ndim
                   ? "must be the stride along an axis of an array"
                   : NULL;
    default:
        return p->role == CWJ_NONE ? "needs a role" : NULL;
    }
}

static const char *
parameter_fault(const cwj_library_function *self, const cwj_parameter *p)
{
    bool has_argument = p->argument >= 0, out = p->intent == CWJ_INTENT_OUT;
    bool has_items = p->role == CWJ_ARRAY || p->role == CWJ_TEXTS || p->role == CWJ_HANDLES;
    const char *of_type = type_fault(p), *of_role = role_fault(self, p);
    if (p->argument >= self->narguments) {
        return "has an argument that is not there";
    }
    return of_type != NULL                          ? of_type
           : out && cwj_role_is(p->role, CWJ_INPUT) ? "cannot be an output"
           : out && has_items && p->ndim == 0       ? "is an output and needs dims"
           : of_role != NULL                        ? of_role
           : cwj_role_is(p->role, CWJ_GIVEN) && has_argument == out
               ? (out ? "is an output, which no argument gives" : "needs an argument")
           : has_argument && !p->optional && !out && self->arguments[p->argument].preset == Py_None
               ? "is not optional, but has no default"
               : NULL;
}

static bool
dim_names(const cwj_dim *dim, int symbol)
{
    for (int i = 0; i < dim->count; i++) {
        if (dim->steps[i].op == CWJ_DIM_SYMBOL && dim->steps[i].value == symbol) {
            return true;
        }
    }
    return false;
}

static bool
has_dim(const cwj_parameter *p, int symbol)
{
    for (int d = 0; d < p->ndim; d++) {
        if (dim_names(&p->dims[d], symbol)) {
            return true;
        }
    }
    return false;
}

bool
cwj_has_size(const cwj_library_function *self, const cwj_parameter *p)
{
    for (int i = 0; i < self->nsizes; i++) {
        if (has_dim(p, self->sizes[i].symbol)) {
            return true;
        }
    }
    return false;
}

bool
cwj_is_capacity(const cwj_library_function *self, int symbol)
{
    bool found = self->result.owner == CWJ_OWNER_ARGUMENT;
    for (int k = 0; k < self->nparameters; k++) {
        const cwj_parameter *p = &self->parameters[k];
        found |= p->intent != CWJ_INTENT_IN && p->role != CWJ_DATA && has_dim(p, symbol);
    }
    return found;
}

/* What needs the value of a symbol, and what sets it. */
typedef struct sources {
    bool needed;  /* its value is needed before the call */
    bool given;   /* an argument or a size sets it before the call */
    bool written; /* C sets it and gets no value before */
    bool later;   /* C may write it */
} sources;

static sources
sources_of(const cwj_library_function *self, int symbol)
{
    sources found = {false, false, false, false};
    for (int i = 0; i < self->nsizes; i++) {
        found.given |= self->sizes[i].symbol == symbol;
        for (int j = 0; j < self->sizes[i].count; j++) {
            found.needed |= dim_names(&self->sizes[i].values[j], symbol);
        }
    }
    for (int k = 0; k < self->nparameters; k++) {
        const cwj_parameter *p = &self->parameters[k];
        bool out = p->intent == CWJ_INTENT_OUT;
        found.needed |= (p->role == CWJ_HIDDEN && dim_names(&p->value, symbol)) ||
                        (p->role != CWJ_DATA && has_dim(p, symbol));
        if (p->symbol == symbol) {
            found.given |= (p->role == CWJ_VALUE && !out) || p->role == CWJ_HIDDEN;
            found.written |= p->role == CWJ_VALUE && out;
            found.later |= cwj_is_written_length(p);
        }
        bool has_shape = !out && (p->role == CWJ_ARRAY || cwj_role_is(p->role, CWJ_COUNTED));
        for (int d = 0; has_shape && d < p->ndim; d++) {
            found.given |= cwj_dim_symbol(&p->dims[d]) == symbol;
        }
    }
    return found;
}

static int
check_symbols(const cwj_library_function *self, const char *who)
{
    for (int s = 0; s < self->nsymbols; s++) {
        PyObject *name = PyTuple_GET_ITEM(self->symbols, s);
        sources found = sources_of(self, s);
        if (found.needed && found.written) {
            return cwj_refuse(
                who, PyExc_ValueError,
                "%U is written by C, but a length before the call: inout= makes it the "
                "capacity, which cuts the results after the call",
                name);
        }
        if (!found.given && (found.needed || !found.later)) {
            return cwj_refuse(who, PyExc_ValueError,
                              "nothing gives %U a value: no array has it as a dim of its own",
                              name);
        }
    }
    return 0;
}

/* ---- sizes ------------------------------------------------------------------------------ */

static int
check_sizes(const cwj_library_function *self, const char *who)
{
    for (int i = 0; i < self->nsizes; i++) {
        for (int j = 0; j < self->sizes[i].count; j++) {
            int k = self->sizes[i].parameters[j];
            const cwj_parameter *p = k >= 0 ? &self->parameters[k] : NULL;
            if (p != NULL && (p->role != CWJ_HANDLE || p->intent == CWJ_INTENT_OUT)) {
                return cwj_refuse(who, PyExc_ValueError, "a size is of %U, which is no handle",
                                  p->name);
            }
        }
    }
    return 0;
}

/* ---- the result ---------------------------------------------------------------------- */

/* A result must not point into memory that is freed at the end of the call. */
static const char *
base_fault(const cwj_library_function *self)
{
    const cwj_parameter *result = &self->result;
    bool points = result->role == CWJ_ARRAY || result->role == CWJ_HANDLE;
    for (int i = 0; points && i < result->nbases; i++) {
        for (int k = 0; k < self->nparameters; k++) {
            const cwj_parameter *p = &self->parameters[k];
            if (p->argument == result->bases[i] &&
                (p->role == CWJ_ITEMS || (p->role == CWJ_VALUE && p->by_pointer))) {
                return "cannot point into an argument that is a number or a container";
            }
        }
    }
    return NULL;
}

static const char *
result_fault(const cwj_library_function *self)
{
    const char *fault = cwj_role_is(self->result.role, CWJ_RETURNED)
                            ? type_fault(&self->result)
                            : "has a role that only parameters have";
    return fault != NULL ? fault : base_fault(self);
}

int
cwj_library_verify(const cwj_library_function *self, const char *who)
{
    for (int k = 0; k < self->nparameters; k++) {
        const cwj_parameter *p = &self->parameters[k];
        const char *fault = parameter_fault(self, p);
        if (fault != NULL) {
            return cwj_refuse(who, PyExc_ValueError, "parameter %d (%U) %s", k + 1, p->name, fault);
        }
    }
    const char *fault = result_fault(self);
    if (fault != NULL) {
        return cwj_refuse(who, PyExc_ValueError, "the result %s", fault);
    }
    return check_sizes(self, who) < 0 ? -1 : check_symbols(self, who);
}
