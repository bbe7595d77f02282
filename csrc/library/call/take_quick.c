/* take_quick.c: takes the arguments of calls with only numbers and instances, all by position, without a frame. In
 * unusual cases and for wrong arguments it gives up with nothing changed, and the call begins again with a frame. */
#include "library/call/steps.h"
#include "library/objects/instance.h"
#include "library/objects/owners.h"

/* Returns 1, 0 or -1 as cwj_library_take_quick(). */
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

static bool
is_bare(const cwj_instance *owner)
{
    return owner->nlooks == 0 && owner->copied == 0 && owner->references == NULL;
}

/* True if no array looks into memory that an instance leads to, and nothing else points to what it points to, so that C
 * may write there. owner: of its memory, or NULL. Calls with a frame distinguish more cases. */
static bool
is_alone(const cwj_instance *root, const cwj_instance *owner)
{
    Py_ssize_t count;
    PyObject *const *bases = cwj_bases_of(root, &count);
    bool alone = is_bare(owner != NULL ? owner : root);
    for (Py_ssize_t k = 0; k < count && alone && owner == NULL; k++) {
        alone = !cwj_is_instance(bases[k]) || is_bare(((cwj_instance *)bases[k])->root);
    }
    return alone;
}

/* Takes a ready instance of exactly the parameter's type. Returns false for all that a frame's steps must check. */
static bool
take_instance(const cwj_library_function *self, const cwj_parameter *parameter, PyObject *object,
              cwj_quick *quick, int k)
{
    cwj_instance *instance = (cwj_instance *)object;
    bool may_move = parameter->intent == CWJ_INTENT_INOUT && !self->stable;
    if (!cwj_is_instance(object) || instance->layout != parameter->layout ||
        instance->stage != CWJ_INSTANCE_READY || instance->pointer == NULL) {
        return false;
    }
    cwj_instance *root = instance->root;
    if (root->stage != CWJ_INSTANCE_READY || (root->lies && !cwj_is_alive(instance))) {
        return false;
    }
    const cwj_instance *owner = instance->listed ? instance : cwj_owner_at(instance->pointer);
    if (cwj_library_ends(self, instance, owner) || (may_move && !is_alone(root, owner))) {
        return false;
    }
    quick->moves |= may_move && cwj_may_be_read(instance);
    quick->slots[k + 1].p = instance->pointer;
    quick->used[quick->nused++] = root;
    return true;
}

static bool
take_instances(const cwj_library_function *self, PyObject *const *args, cwj_quick *quick)
{
    quick->nused = 0;
    for (int k = 0; k < self->nparameters; k++) {
        if (self->parameters[k].role != CWJ_VALUE &&
            !take_instance(self, &self->parameters[k], args[k], quick, k)) {
            return false;
        }
    }
    return true;
}

/* Takes instances first: if that gives up, no number's Python code has run, so none runs twice. Code that has run may
 * have freed an instance, so they are then taken again. */
int
cwj_library_take_quick(const cwj_library_function *self, PyObject *const *args, cwj_quick *quick)
{
    const cwj_parameter *parameters = self->parameters;
    bool again = false;
    if (!take_instances(self, args, quick)) {
        return 0;
    }
    for (int k = 0; k < self->nparameters && quick->nused < self->nparameters; k++) {
        if (parameters[k].role == CWJ_VALUE) {
            int taken = take_number(parameters[k].type, args[k], &quick->slots[k + 1]);
            if (taken <= 0) {
                return taken;
            }
            again |= !PyFloat_CheckExact(args[k]) && !PyLong_CheckExact(args[k]);
        }
    }
    return !(again && self->has_instances) || take_instances(self, args, quick);
}

/* Packs with a frame of which only the members that the pack functions read are set. */
PyObject *
cwj_library_pack_quick(cwj_library_function *self, PyObject *const *args, cwj_quick *quick)
{
    const cwj_parameter *p = &self->result;
    cwj_slot *slots = quick->slots;
    cwj_library_frame frame = {.function = self, .slots = slots, .given = (PyObject **)args};
    if (p->role == CWJ_VALUE) {
        PyObject *made = cwj_number_object(p->type, &slots[0]);
        return PyDict_CheckExact(p->cls) ? cwj_enumerator(p->cls, made) : made;
    }
    if (p->role == CWJ_STRUCT) {
        return cwj_library_keep_arguments(&frame, quick->made) < 0 ? NULL : Py_NewRef(quick->made);
    }
    if (p->role == CWJ_NONE || slots[0].p == NULL) {
        return Py_NewRef(Py_None);
    }
    if (p->owner == CWJ_OWNER_CALLEE) {
        return cwj_instance_around(p->layout, slots[0].p, true, NULL, NULL);
    }
    return cwj_library_pack_borrowed(&frame, p, slots[0].p);
}
