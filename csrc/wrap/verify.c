/* verify.c: what has to fit together in a description, so that calls can rely on it. */
#include "../errors.h"
#include "wrap.h"

/* ---- parameters ---------------------------------------------------------------------- */

static bool
is_integer(const cwj_type *type)
{
    return type != NULL && (type->kind == 'i' || type->kind == 'u');
}

/* NULL: nothing. Otherwise what is wrong with a parameter on its own. */
static const char *
parameter_fault(const cwj_wrapped *self, const cwj_parameter *p)
{
    bool has_argument = p->argument >= 0, out = p->intent == CWJ_OUT;
    bool optional_argument = has_argument && self->arguments[p->argument].preset != NULL;
    bool is_count = p->role == CWJ_HIDDEN || p->role == CWJ_STRIDE || p->role == CWJ_LENGTH ||
                    p->role == CWJ_STATUS || p->symbol >= 0;
    if (is_count && !is_integer(p->type)) {
        return "needs an integer type";
    }
    if ((p->role == CWJ_VALUE || p->role == CWJ_ARRAY || p->role == CWJ_ITEMS ||
         p->role == CWJ_DATA) &&
        p->type == NULL && (p->role != CWJ_ARRAY || p->ndim > 0)) {
        return "needs a type";
    }
    switch (p->role) {
    case CWJ_VALUE:
        if (p->intent != CWJ_IN && !p->by_pointer) {
            return "is no result unless it goes by pointer";
        }
        if (p->optional && !p->by_pointer) {
            return "cannot be NULL unless it goes by pointer";
        }
        break;
    case CWJ_ITEMS:
        if (p->intent != CWJ_IN || p->ndim < 1 || (p->container == &PySet_Type && p->ndim > 1)) {
            return "must be an input with dims, a set of one dim";
        }
        break;
    case CWJ_BUFFER:
        if (p->ndim != 1) {
            return "must have one dim";
        }
        break;
    case CWJ_STRIDE:
        if (p->of < 0 || p->of >= self->nparameters || self->parameters[p->of].role != CWJ_ARRAY ||
            p->axis < 0 || p->axis >= self->parameters[p->of].ndim) {
            return "must be the stride along an axis of an array";
        }
        break;
    case CWJ_STRING:
    case CWJ_STRUCT:
        if (out) {
            return "cannot be an output";
        }
        break;
    case CWJ_NONE:
        return "needs a role";
    default:
        break;
    }
    bool wants_argument = p->role == CWJ_VALUE || p->role == CWJ_ARRAY || p->role == CWJ_STRING ||
                          p->role == CWJ_BUFFER || p->role == CWJ_HANDLE || p->role == CWJ_STRUCT ||
                          p->role == CWJ_ITEMS;
    if (wants_argument && !has_argument && !out) {
        return "needs an argument";
    }
    if (optional_argument && !p->optional && !out &&
        self->arguments[p->argument].preset == Py_None) {
        return "is not optional, but has no default";
    }
    return NULL;
}

static int
check_parameter(const cwj_wrapped *self, int k, const char *who)
{
    const cwj_parameter *p = &self->parameters[k];
    const char *fault = p->argument >= self->narguments ? "has an argument that is not there"
                                                        : parameter_fault(self, p);
    if (fault == NULL && p->role == CWJ_ARRAY && p->order == 'A' &&
        p->strided != (p->ndim == 64 ? UINT64_MAX : ((uint64_t)1 << p->ndim) - 1)) {
        fault = "of order 'A' needs a stride parameter for each axis";
    }
    if (fault == NULL && p->intent == CWJ_OUT && (p->role == CWJ_ARRAY || p->role == CWJ_BUFFER)) {
        for (int d = 0; d < p->ndim; d++) {
            fault = p->dims[d].count == 0 ? "is an output and needs all of its dims" : fault;
        }
        if (p->ndim == 0 && p->argument < 0) {
            fault = "is an output and needs dims";
        }
    }
    return fault == NULL
               ? 0
               : cwj_refuse(who, PyExc_ValueError, "parameter %d (%U) %s", k + 1, p->name, fault);
}

/* True when the symbols of dims may come from what is given. */
static bool
gives_symbols(const cwj_parameter *p)
{
    return (p->role == CWJ_ARRAY && (p->intent != CWJ_OUT)) || p->role == CWJ_ITEMS ||
           (p->role == CWJ_BUFFER && p->intent != CWJ_OUT);
}

static int
check_symbols(const cwj_wrapped *self, const char *who)
{
    for (int s = 0; s < self->nsymbols; s++) {
        bool found = false;
        for (int k = 0; k < self->nparameters && !found; k++) {
            const cwj_parameter *p = &self->parameters[k];
            found = p->symbol == s && (p->role == CWJ_LENGTH || p->role == CWJ_VALUE);
            for (int d = 0; d < p->ndim && !found && gives_symbols(p); d++) {
                found = cwj_dim_symbol(&p->dims[d]) == s;
            }
        }
        if (!found) {
            return cwj_refuse(who, PyExc_ValueError,
                              "nothing gives %U a value: no array has it as a dim of its own",
                              PyTuple_GET_ITEM(self->symbols, s));
        }
    }
    return 0;
}

/* ---- the result ---------------------------------------------------------------------- */

static const char *
result_fault(const cwj_result *result)
{
    switch (result->role) {
    case CWJ_VALUE:
        return result->type == NULL ? "needs a type" : NULL;
    case CWJ_STATUS:
        return is_integer(result->type) ? NULL : "needs an integer type";
    case CWJ_ARRAY:
        if (result->type == NULL) {
            return "needs a type";
        }
        for (int d = 0; d < result->ndim; d++) {
            if (result->dims[d].count == 0) {
                return "needs all of its dims";
            }
        }
        return NULL;
    case CWJ_NONE:
    case CWJ_STRING:
    case CWJ_HANDLE:
    case CWJ_STRUCT:
        return NULL;
    default:
        return "has a role that only parameters have";
    }
}

/* NULL: nothing. Memory that ends with the call cannot be what a result points into. */
static const char *
base_fault(const cwj_wrapped *self)
{
    const cwj_result *result = &self->result;
    bool points = result->role == CWJ_ARRAY || result->role == CWJ_HANDLE;
    for (int i = 0; points && i < result->nof; i++) {
        for (int k = 0; k < self->nparameters; k++) {
            const cwj_parameter *p = &self->parameters[k];
            if (p->argument == result->of[i] &&
                (p->role == CWJ_ITEMS || (p->role == CWJ_VALUE && p->by_pointer))) {
                return "cannot point into an argument that is a number or a container";
            }
        }
    }
    return NULL;
}

int
cwj_wrapped_verify(const cwj_wrapped *self, const char *who)
{
    const char *fault = result_fault(&self->result);
    fault = fault == NULL ? base_fault(self) : fault;
    for (int k = 0; k < self->nparameters; k++) {
        if (check_parameter(self, k, who) < 0) {
            return -1;
        }
    }
    if (fault != NULL) {
        return cwj_refuse(who, PyExc_ValueError, "the result %s", fault);
    }
    return check_symbols(self, who);
}
