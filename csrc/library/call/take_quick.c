/* take_quick.c: the short way of calls whose arguments are numbers and instances, each by position. It needs no
 * frame. Where it cannot go on, it has changed nothing, and the long way raises what is wrong.
 */
#include "library/call/steps.h"
#include "library/objects/instance.h"
#include "library/objects/owners.h"

/* 1, 0 or -1: see cwj_library_take_quick(). */
static int
take_number(const cwj_library_type *type, PyObject *object, cwj_slot *slot)
{
    if (PyFloat_CheckExact(object) && type->typenum == NPY_FLOAT64) {
        slot->d = PyFloat_AS_DOUBLE(object);
        return 1;
    }
    cwj_fit fit = cwj_scalar_take(type, false, object, slot);
    return fit == CWJ_FITS ? 1 : fit == CWJ_FIT_ERROR ? -1 : 0;
}

/* Whether nothing looks behind an instance, and nothing else points to what it points to: C may
 * write there. The long way knows more cases. */
static bool
is_alone(const cwj_instance *self)
{
    const cwj_instance *owner = self->listed ? self : cwj_owner_at(self->pointer);
    owner = owner == NULL ? self : owner;
    return owner->nlooks == 0 && owner->copied == 0 && owner->references == NULL;
}

static bool
take_instance(const cwj_library_function *self, const cwj_parameter *parameter, PyObject *object,
              cwj_slot *slot, bool *moves)
{
    const cwj_instance *instance = (cwj_instance *)object;
    bool may_move = parameter->intent == CWJ_INTENT_INOUT && !self->stable;
    bool is_instance = (PyObject *)Py_TYPE(object) == parameter->cls || cwj_is_instance(object);
    void *pointer = is_instance ? cwj_instance_quick(parameter->cls, instance) : NULL;
    if (pointer == NULL || (may_move && !is_alone(instance)) ||
        cwj_library_is_destructor(self, object)) {
        return false;
    }
    *moves |= may_move && cwj_may_be_read(instance);
    slot->p = pointer;
    return true;
}

static bool
take_instances(const cwj_library_function *self, PyObject *const *args, cwj_slot *slots,
               bool *moves)
{
    for (int k = 0; k < self->nparameters; k++) {
        if (self->parameters[k].role == CWJ_HANDLE &&
            !take_instance(self, &self->parameters[k], args[k], &slots[k + 1], moves)) {
            return false;
        }
    }
    return true;
}

/* Instances first, so that numbers with Python code in them are asked once even where the long way has to
 * go on; and then again, as such code may free one. */
int
cwj_library_take_quick(const cwj_library_function *self, PyObject *const *args, cwj_slot *slots,
                       bool *moves)
{
    const cwj_parameter *parameters = self->parameters;
    bool again = false;
    if (self->has_instances && !take_instances(self, args, slots, moves)) {
        return 0;
    }
    for (int k = 0; k < self->nparameters; k++) {
        if (parameters[k].role == CWJ_VALUE) {
            int taken = take_number(parameters[k].type, args[k], &slots[k + 1]);
            if (taken <= 0) {
                return taken;
            }
            again |= !PyFloat_CheckExact(args[k]) && !PyLong_CheckExact(args[k]);
        }
    }
    return !(again && self->has_instances) || take_instances(self, args, slots, moves);
}

void
cwj_library_use_quick(const cwj_library_function *self, PyObject *const *args, Py_ssize_t change)
{
    for (int k = 0; k < self->nparameters; k++) {
        if (self->parameters[k].role == CWJ_HANDLE) {
            ((cwj_instance *)args[k])->uses += change;
        }
    }
}

PyObject *
cwj_library_pack_quick(const cwj_library_function *self, const cwj_slot *result)
{
    const cwj_parameter *p = &self->result;
    if (p->role == CWJ_NONE || (p->role == CWJ_HANDLE && result->p == NULL)) {
        return Py_NewRef(Py_None);
    }
    return p->role == CWJ_HANDLE ? cwj_instance_around(p->cls, result->p, true, NULL)
                                 : cwj_number_object(p->type, result);
}
