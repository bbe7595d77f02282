/* pack.c: makes what a call returns from slots: None, one object, or a tuple.
 *
 * The same functions pack what C returned and what it wrote through parameters: `at` is slot 0, or the target of a
 * parameter. Once a Python object owns a pointer, they set it to NULL there. */
#include "base/raised.h"
#include "library/objects/foreign_memory.h"
#include "library/objects/instance.h"
#include "library/objects/looks.h"
#include "library/objects/pointer.h"
#include "library/call/steps.h"

/* ---- memory that C gives away ---------------------------------------------------------------- */

typedef struct gift {
    void (*free)(void *);
    PyObject *code; /* owned, or NULL */
} gift;

static const char GIFT[] = "cwrapjit.memory";

static void
end_gift(PyObject *capsule)
{
    gift *given = PyCapsule_GetContext(capsule);
    given->free(PyCapsule_GetPointer(capsule, GIFT));
    Py_XDECREF(given->code);
    PyMem_Free(given);
}

/* Returns a capsule that frees the memory at data when it ends, and keeps `code` (borrowed, or NULL) until then. Frees
 * the memory on failure. */
static PyObject *
new_gift(void *data, void (*free)(void *), PyObject *code)
{
    gift *given = PyMem_Malloc(sizeof(*given));
    PyObject *capsule = given == NULL ? PyErr_NoMemory() : PyCapsule_New(data, GIFT, NULL);
    if (capsule == NULL) {
        PyMem_Free(given);
        free(data);
        return NULL;
    }
    given->free = free;
    given->code = Py_XNewRef(code);
    PyCapsule_SetContext(capsule, given); /* these two do not fail for a valid capsule */
    PyCapsule_SetDestructor(capsule, end_gift);
    return capsule;
}

/* ---- one result ------------------------------------------------------------------------------ */

/* An array over data, whose ownership is taken. If data is NULL, a new array, which must have no items. */
static PyObject *
pack_memory(const cwj_library_frame *frame, const cwj_parameter *p, const npy_intp *shape,
            void *data, PyObject *base, bool writeable)
{
    if (data != NULL) {
        PyObject *owner = p->free == NULL ? Py_NewRef(base) : new_gift(data, p->free, base);
        PyObject *array = owner == NULL
                              ? NULL
                              : cwj_array_over(p->descr, p->ndim, shape, NULL,
                                               p->order == CWJ_ORDER_F, data, writeable, owner);
        Py_XDECREF(owner);
        return array;
    }
    for (int d = 0; d < p->ndim; d++) {
        if (shape[d] == 0) {
            return PyArray_Zeros(p->ndim, shape, (PyArray_Descr *)Py_NewRef(p->descr),
                                 p->order == CWJ_ORDER_F);
        }
    }
    cwj_library_refuse(frame, PyExc_RuntimeError, "%U is NULL where an array was promised",
                       p->name);
    return NULL;
}

static PyObject *
pack_array(const cwj_library_frame *frame, const cwj_parameter *p, cwj_slot *at)
{
    npy_intp shape[NPY_MAXDIMS];
    PyObject *packed = NULL;
    PyObject *base = cwj_library_base(frame, p);
    int writeable = base != NULL ? cwj_library_may_write(frame, p) : -1;
    if (writeable >= 0 && cwj_library_shape(frame, p, shape) == 0) {
        void *data = at->p;
        at->p = NULL;
        packed = pack_memory(frame, p, shape, data, base, writeable > 0);
        if (packed != NULL && p->role == CWJ_ARRAY && cwj_looks_add(packed, base, base, data) < 0) {
            Py_CLEAR(packed);
        }
    }
    Py_XDECREF(base);
    return packed;
}

/* Lists the values, as C got them, that ending the object needs, too. */
static void
list_bound(const cwj_library_frame *frame, const cwj_parameter *p, cwj_slot *values)
{
    for (int i = 0; i < p->nbound; i++) {
        values[i] = frame->slots[p->bound[i] + 1];
    }
}

static cwj_bound *
bind(const cwj_library_frame *frame, const cwj_parameter *p)
{
    cwj_slot values[CWJ_MOST_BOUND];
    cwj_bound *bound = cwj_bound_new();
    list_bound(frame, p, values);
    for (int i = 0; i < p->nbound && bound != NULL; i++) {
        PyObject *given = cwj_library_given(frame, p->bound[i]);
        if (cwj_bound_add(bound, &values[i], given == NULL ? Py_None : given) < 0) {
            cwj_bound_free(bound);
            bound = NULL;
        }
    }
    return bound;
}

/* Sets *bound for a new object. Raises RuntimeError if free= was set after the function was mapped. Returns 0 or -1. */
static int
bind_end(const cwj_library_frame *frame, const cwj_parameter *p, cwj_bound **bound)
{
    if (p->layout->nbound != p->nbound) {
        return cwj_library_refuse(
            frame, PyExc_RuntimeError,
            "free= of %U was said after this function was mapped: get it from "
            "the library again",
            p->layout->name);
    }
    return p->nbound == 0 || (*bound = bind(frame, p)) != NULL ? 0 : -1;
}

/* Makes an instance that owns an object that C gave away. If bind_end() fails, cwj_library_drop() ends the object. */
static PyObject *
pack_gift(const cwj_library_frame *frame, const cwj_parameter *p, cwj_slot *at)
{
    cwj_bound *bound = NULL;
    if (bind_end(frame, p, &bound) < 0) {
        return NULL;
    }
    void *pointer = at->p;
    at->p = NULL;
    return cwj_instance_around(p->layout, pointer, true, bound, NULL);
}

PyObject *
cwj_library_pack_borrowed(const cwj_library_frame *frame, const cwj_parameter *p, void *pointer)
{
    if (pointer == NULL) {
        return Py_NewRef(Py_None);
    }
    PyObject *keeper = cwj_library_keeper(frame, p, pointer), *instance = NULL;
    if (keeper != NULL || !PyErr_Occurred()) {
        instance = cwj_instance_around(p->layout, pointer, false, NULL, keeper);
    }
    Py_XDECREF(keeper);
    return instance;
}

/* C gives objects away. One in an output that nothing ends may instead lie in memory that C got from the caller. */
static PyObject *
pack_handle(const cwj_library_frame *frame, const cwj_parameter *p, cwj_slot *at)
{
    if (at->p != NULL && p->owner == CWJ_OWNER_CALLEE &&
        (p->layout->free != NULL || p == &frame->function->result ||
         !cwj_library_gets_memory(frame->function))) {
        return pack_gift(frame, p, at);
    }
    void *pointer = at->p;
    at->p = NULL;
    return cwj_library_pack_borrowed(frame, p, pointer);
}

static PyObject *
pack_address(const cwj_library_frame *frame, const cwj_parameter *p, cwj_slot *at)
{
    void *address = at->p;
    at->p = NULL;
    if (address == NULL) {
        return Py_NewRef(Py_None);
    }
    PyObject *base = cwj_library_base(frame, p), *made = NULL;
    if (base != NULL && p->free != NULL) {
        Py_SETREF(base, new_gift(address, p->free, base));
    }
    if (base != NULL && p->cls != Py_None) {
        made = cwj_function_at(p->cls, address, base);
    } else if (base != NULL) {
        PyTypeObject *type = cwj_state_of((PyObject *)frame->function)->pointer_type;
        made = cwj_pointer_around(type, address, p->item, p->readonly, base);
    }
    Py_XDECREF(base);
    return made;
}

/* Decodes a text in C's memory. Codecs written in Python could keep that memory, so they get a copy. */
static PyObject *
decode(const cwj_parameter *p, const char *text, Py_ssize_t length)
{
    if (p->bytes) {
        return PyBytes_FromStringAndSize(text, length);
    }
    if (p->encoding == NULL) {
        return PyUnicode_DecodeUTF8(text, length, NULL);
    }
    const char *encoding = PyUnicode_AsUTF8(p->encoding);
    if (encoding == NULL || strcmp(encoding, "fs") == 0) {
        return encoding == NULL ? NULL : PyUnicode_DecodeFSDefaultAndSize(text, length);
    }
    PyObject *copy = PyBytes_FromStringAndSize(text, length), *made = NULL;
    if (copy != NULL) {
        made = PyUnicode_FromEncodedObject(copy, encoding, NULL);
        Py_DECREF(copy);
    }
    return made;
}

static PyObject *
text_or_none(const cwj_parameter *p, const char *text)
{
    return text == NULL ? Py_NewRef(Py_None) : decode(p, text, (Py_ssize_t)strlen(text));
}

/* A list of texts or handles: as many as its dim says, or up to a NULL. If C returned the list, it keeps the items; in
 * an output, pointers that an instance now owns become NULL. */
static PyObject *
pack_list(const cwj_library_frame *frame, const cwj_parameter *p, void **pointers)
{
    npy_intp count[1] = {0};
    if (pointers == NULL) {
        Py_RETURN_NONE;
    }
    if (p->ndim > 0 && cwj_library_shape(frame, p, count) < 0) {
        return NULL;
    }
    while (p->ndim == 0 && pointers[count[0]] != NULL) {
        count[0]++;
    }
    PyObject *list = PyList_New(0);
    for (npy_intp i = 0; list != NULL && i < count[0]; i++) {
        cwj_slot at = {.p = pointers[i]};
        PyObject *item = p->role == CWJ_TEXTS            ? text_or_none(p, at.p)
                         : p == &frame->function->result ? cwj_library_pack_borrowed(frame, p, at.p)
                                                         : pack_handle(frame, p, &at);
        if (p != &frame->function->result) {
            pointers[i] = at.p;
        }
        cwj_list_add(&list, item);
    }
    return list;
}

/* True if C writes the length. */
static bool
is_written(const cwj_library_function *function, int symbol)
{
    for (int k = 0; k < function->nparameters; k++) {
        const cwj_parameter *p = &function->parameters[k];
        if (p->symbol == symbol && cwj_is_written_length(p)) {
            return true;
        }
    }
    return false;
}

/* The text in an array of char, up to the first NUL; for bytes whose length C has written, the whole array. */
static PyObject *
pack_characters(const cwj_library_frame *frame, int k, const cwj_parameter *p)
{
    PyArrayObject *made = (PyArrayObject *)frame->made[k];
    const char *text = PyArray_DATA(made);
    size_t room = (size_t)PyArray_SIZE(made);
    int symbol = cwj_dim_symbol(&p->dims[0]);
    bool is_whole = p->bytes && symbol >= 0 && is_written(frame->function, symbol);
    return decode(p, text, (Py_ssize_t)(is_whole ? room : strnlen(text, room)));
}

/* Has an output struct own its C object, as handles do, if C gives it away and free= ends it. Returns 0, or -1. */
static int
own_struct(const cwj_library_frame *frame, const cwj_parameter *p, PyObject *made)
{
    cwj_instance *self = (cwj_instance *)made;
    if (p->owner != CWJ_OWNER_CALLEE || self->layout->free == NULL || self->owned) {
        return 0;
    }
    self->owned = bind_end(frame, p, &self->bound) == 0;
    return self->owned ? 0 : -1;
}

/* Hands out an array or a struct that the call has made. */
static PyObject *
pack_made(cwj_library_frame *frame, int k, const cwj_parameter *p)
{
    PyObject *made = frame->made[k];
    if (p->role == CWJ_STRUCT &&
        (own_struct(frame, p, made) < 0 || cwj_library_keep_arguments(frame, made) < 0)) {
        return NULL;
    }
    frame->made[k] = NULL;
    return made;
}

/* k: a parameter, or nparameters for what C returned. */
static PyObject *
pack_one(cwj_library_frame *frame, int k)
{
    const cwj_library_function *function = frame->function;
    bool returned = k == function->nparameters;
    const cwj_parameter *p = returned ? &function->result : &function->parameters[k];
    cwj_slot *at = returned ? &frame->slots[0] : &frame->targets[k];
    switch (p->role) {
    case CWJ_STRING:
        return text_or_none(p, at->p);
    case CWJ_TEXTS:
    case CWJ_HANDLES:
        return pack_list(frame, p, returned ? at->p : frame->slots[k + 1].p);
    case CWJ_HANDLE:
        return pack_handle(frame, p, at);
    case CWJ_ADDRESS:
        return pack_address(frame, p, at);
    case CWJ_DATA:
        return pack_array(frame, p, at);
    case CWJ_ARRAY:
        return returned                           ? pack_array(frame, p, at)
               : p->type != NULL && p->type->text ? pack_characters(frame, k, p)
                                                  : pack_made(frame, k, p);
    case CWJ_STRUCT:
        return pack_made(frame, k, p);
    default:
        break;
    }
    if (!returned && frame->slots[k + 1].p == NULL) {
        return Py_NewRef(Py_None); /* absent */
    }
    cwj_slot slot;
    cwj_scalar_load(p->type, at, &slot);
    PyObject *made = cwj_scalar_object(p->type, &slot);
    return PyDict_CheckExact(p->cls) ? cwj_enumerator(p->cls, made) : made;
}

/* ---- the whole -------------------------------------------------------------------------------- */

PyObject *
cwj_library_pack(cwj_library_frame *frame)
{
    const cwj_library_function *function = frame->function;
    PyObject *all = NULL, *one = NULL;
    Py_ssize_t position = 0;
    for (int k = 0; function->nkeeps > 0 && k < function->nparameters; k++) {
        if (cwj_library_keep(frame, k, cwj_library_given(frame, k)) < 0) {
            return NULL;
        }
    }
    if ((function->nkeeps > 0 &&
         cwj_library_keep(frame, function->nparameters + 1, function->result.library) < 0) ||
        (function->sized_after && cwj_library_set_sizes(frame) < 0) ||
        (function->nlengths_read > 0 && cwj_library_read_lengths(frame) < 0)) {
        return NULL;
    }
    if (function->nresults == 0) {
        return Py_NewRef(Py_None);
    }
    if (function->nresults > 1 && (all = PyTuple_New(function->nresults)) == NULL) {
        return NULL;
    }
    for (int i = -1; i < function->nparameters; i++) { /* -1: what C returned comes first */
        int k = i < 0 ? function->nparameters : i;
        if (!cwj_is_result(i < 0 ? &function->result : &function->parameters[i])) {
            continue;
        }
        one = pack_one(frame, k);
        if (one != NULL && function->nkeeps > 0 && cwj_library_keep(frame, k, one) < 0) {
            Py_CLEAR(one);
        }
        if (one == NULL) {
            cwj_raised_of("%U: %V", function->who, i < 0 ? NULL : function->parameters[i].name,
                          "the result");
            Py_XDECREF(all);
            return NULL;
        }
        if (all != NULL) {
            PyTuple_SET_ITEM(all, position++, one);
        }
    }
    return all != NULL ? all : one;
}

/* Ends the object in the struct `made`, or at `left`. Keeps the current exception and drops new ones. */
static void
drop_object(const cwj_library_frame *frame, const cwj_parameter *p, void *left, PyObject *made)
{
    PyObject *raised = cwj_raised_take();
    if (made != NULL) {
        own_struct(frame, p, made); /* which ends the object when it is freed */
    } else if (p->layout->nbound == p->nbound) {
        cwj_slot values[CWJ_MOST_BOUND];
        list_bound(frame, p, values);
        cwj_layout_end(p->layout, left, values);
    }
    cwj_raised_set(raised);
}

/* left: a pointer that no Python object owns. made: what the call has made for an output. Both may be NULL. */
static void
drop(const cwj_library_frame *frame, const cwj_parameter *p, void *left, PyObject *made)
{
    if (left != NULL && p->free != NULL) {
        p->free(left);
    } else if (made != NULL && p->role == CWJ_STRUCT) {
        drop_object(frame, p, NULL, made);
    } else if (left != NULL && (p->role == CWJ_HANDLE || p->role == CWJ_HANDLES) &&
               p->owner == CWJ_OWNER_CALLEE) {
        drop_object(frame, p, left, NULL);
    }
}

/* Drops each pointer of a list. Keeps the current exception and drops new ones. */
static void
drop_list(const cwj_library_frame *frame, const cwj_parameter *p, PyObject *memory)
{
    PyObject *raised = cwj_raised_take();
    npy_intp most = PyBytes_GET_SIZE(memory) / (npy_intp)sizeof(void *), count;
    void **pointers = (void **)(void *)PyBytes_AS_STRING(memory);
    if (cwj_library_shape(frame, p, &count) == 0) {
        for (npy_intp i = 0; i < count && i < most; i++) {
            drop(frame, p, pointers[i], NULL);
        }
    }
    cwj_raised_set(raised);
}

void
cwj_library_drop(cwj_library_frame *frame)
{
    const cwj_library_function *function = frame->function;
    drop(frame, &function->result, frame->slots[0].p, NULL);
    for (int k = 0; k < function->nparameters; k++) {
        const cwj_parameter *p = &function->parameters[k];
        bool is_input = p->intent == CWJ_INTENT_IN; /* made of a record */
        drop(frame, p, frame->targets[k].p, is_input ? NULL : frame->made[k]);
        if (p->role == CWJ_HANDLES && p->intent == CWJ_INTENT_OUT) {
            drop_list(frame, p, frame->made[k]);
        }
    }
}
