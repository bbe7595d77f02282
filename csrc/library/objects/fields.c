/* fields.c: type cwrapjit._cwrapjit.Field, a member of a struct as an attribute. A Field belongs to a layout and works
 * only on instances of that C type, in whatever class it is. Arrays and structs that it returns keep the instance
 * alive. */
#include "library/objects/field.h"

#include "base/tuples.h"
#include "library/objects/looks.h"
#include "library/objects/foreign_memory.h"
#include "library/objects/owners.h"
#include "library/objects/pointer.h"
#include "library/objects/references.h"

#include <structmember.h>

/* ---- the member's memory ------------------------------------------------------------ */

/* Returns the member's address, or NULL with an exception set. */
static char *
locate(const field_object *self, PyObject *instance)
{
    cwj_instance *of = (cwj_instance *)instance;
    if (!cwj_is_instance(instance) || !cwj_layouts_agree(of->layout, self->layout)) {
        PyErr_Format(PyExc_TypeError, "attribute %U is of %U objects, not of %s", self->name,
                     self->layout->name, Py_TYPE(instance)->tp_name);
        return NULL;
    }
    if (cwj_instance_check(of) < 0) {
        return NULL;
    }
    return (char *)of->pointer + self->offset;
}

/* Computes the present dims from members of the struct. Returns 0, or -1 with an exception set. */
static int
measure(const field_object *self, const char *start, npy_intp *dims)
{
    for (int k = 0; k < self->nd; k++) {
        dims[k] = self->dims[k].value;
        const cwj_library_type *type = self->dims[k].type;
        if (type != NULL) {
            npy_int64 value;
            cwj_slot slot;
            cwj_scalar_load(type, start + self->dims[k].value, &slot);
            dims[k] = cwj_scalar_count(type, &slot, &value) ? (npy_intp)value : -1;
        }
        if (dims[k] < 0) {
            PyErr_Format(PyExc_ValueError, "attribute %U: the %U says a size that is no size",
                         self->name, self->layout->name);
            return -1;
        }
    }
    return 0;
}

/* ---- reading ------------------------------------------------------------------------ */

static PyObject *
read_array(const field_object *self, PyObject *instance, char *data, const npy_intp *dims)
{
    PyObject *base = cwj_anchor_of(instance);
    PyObject *array =
        cwj_array_over(self->descr, self->nd, dims, NULL, false, data, !self->readonly, base);
    if (array != NULL && cwj_looks_add(array, base, instance, data) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

static PyObject *
read_data(const field_object *self, PyObject *instance, const char *at)
{
    npy_intp dims[NPY_MAXDIMS];
    char *data;
    memcpy(&data, at, sizeof(data));
    if (measure(self, at - self->offset, dims) < 0) {
        return NULL;
    }
    if (data == NULL && PyArray_MultiplyList(dims, self->nd) != 0) {
        return PyErr_Format(PyExc_ValueError, "attribute %U: the pointer is NULL", self->name);
    }
    return data == NULL ? PyArray_Zeros(self->nd, dims, (PyArray_Descr *)Py_NewRef(self->descr), 0)
                        : read_array(self, instance, data, dims);
}

/* Returns what keeps the memory that a pointer member points to: a new reference. */
static PyObject *
keeper_of(PyObject *instance, const char *at, const void *pointer)
{
    PyObject *owner = (PyObject *)cwj_owner_at(pointer);
    if (owner != NULL) {
        return Py_NewRef(owner);
    }
    PyObject *anchor = cwj_anchor_of(instance);
    PyObject *given = cwj_references_get((cwj_instance *)instance, at), *keeper = NULL;
    if (given == NULL) {
        keeper = PyErr_Occurred() ? NULL : Py_NewRef(anchor);
    } else if (!cwj_is_instance(given)) { /* a capsule */
        keeper = PyTuple_Pack(2, given, anchor);
    } else {
        bool same = ((cwj_instance *)given)->pointer == pointer;
        keeper = Py_NewRef(same ? cwj_anchor_of(given) : anchor);
    }
    Py_XDECREF(given);
    return keeper;
}

/* Returns the object that was assigned, or a Pointer if the function is C's own. */
static PyObject *
read_function(const field_object *self, PyObject *instance, const char *at)
{
    void *pointer;
    memcpy(&pointer, at, sizeof(pointer));
    if (pointer == NULL) {
        Py_RETURN_NONE;
    }
    PyObject *given = cwj_references_get((cwj_instance *)instance, at), *result = NULL;
    if (given == NULL && PyErr_Occurred()) {
        return NULL;
    }
    if (given != NULL && PyTuple_CheckExact(given) && PyTuple_GET_SIZE(given) == 3 &&
        PyLong_AsVoidPtr(PyTuple_GET_ITEM(given, 0)) == pointer) {
        result = Py_NewRef(PyTuple_GET_ITEM(given, 2));
    } else {
        result = cwj_function_at(self->converter, pointer, instance);
    }
    Py_XDECREF(given);
    return result;
}

/* An object that is assigned to an address is kept as (object, Pointer to it). */
static PyObject *
read_address(const field_object *self, PyObject *instance, const char *at)
{
    void *address;
    memcpy(&address, at, sizeof(address));
    if (address == NULL) {
        Py_RETURN_NONE;
    }
    PyObject *kept = cwj_references_get((cwj_instance *)instance, at), *result = NULL, *base = NULL;
    bool given = kept != NULL && cwj_is_given(kept); /* not of another member of a union */
    if (given && ((cwj_pointer *)PyTuple_GET_ITEM(kept, 1))->address == address) {
        result = Py_NewRef(PyTuple_GET_ITEM(kept, 0));
    } else if (kept != NULL || !PyErr_Occurred()) { /* C has set the pointer */
        PyObject *anchor = cwj_anchor_of(instance);
        base = kept == NULL ? Py_NewRef(anchor)
                            : PyTuple_Pack(2, given ? PyTuple_GET_ITEM(kept, 0) : kept, anchor);
    }
    if (base != NULL) {
        PyTypeObject *type = cwj_state_of((PyObject *)self)->pointer_type;
        result = cwj_pointer_around(type, address, self->item, self->is_const, base);
    }
    CWJ_RELEASE(base, kept);
    return result;
}

static PyObject *
read_text(const field_object *self, const char *text, size_t length)
{
    const char *codec = PyUnicode_AsUTF8(self->item);
    if (codec == NULL || strcmp(codec, "bytes") == 0) {
        return codec == NULL ? NULL : PyBytes_FromStringAndSize(text, (Py_ssize_t)length);
    }
    return PyUnicode_Decode(text, (Py_ssize_t)length, *codec == '\0' ? "utf-8" : codec,
                            "surrogateescape");
}

/* Returns the text, or the struct, that a pointer points to; None for NULL. */
static PyObject *
read_item(const field_object *self, PyObject *instance, const char *at)
{
    void *pointer;
    memcpy(&pointer, at, sizeof(pointer));
    if (pointer == NULL) {
        Py_RETURN_NONE;
    }
    if (self->of == NULL) {
        return read_text(self, pointer, strlen(pointer));
    }
    PyObject *keeper = keeper_of(instance, at, pointer);
    PyObject *result =
        keeper == NULL ? NULL : cwj_instance_around(self->of, pointer, false, NULL, keeper);
    Py_XDECREF(keeper);
    return result;
}

/* Wraps a list so that its items can be assigned if the member can. Steals the list. */
static PyObject *
items_of(const field_object *self, PyObject *instance, PyObject *list)
{
    return cwj_ask_python(
        "cwrapjit.library.items", "Items", "(NNOO)", list,
        PyUnicode_FromFormat("attribute %U of %U", self->name, self->layout->name),
        self->readonly ? Py_None : (PyObject *)self, instance);
}

static PyObject *
read_list(const field_object *self, PyObject *instance, const char *at)
{
    npy_intp count[NPY_MAXDIMS] = {0};
    const char *pointers = at;
    if (measure(self, at - self->offset, count) < 0) {
        return NULL;
    }
    if (self->kind == LIST) {
        memcpy(&pointers, at, sizeof(pointers));
    }
    if (pointers == NULL) {
        Py_RETURN_NONE;
    }
    while (self->nd == 0 && ((void *const *)(const void *)pointers)[count[0]] != NULL) {
        count[0]++;
    }
    PyObject *list = PyList_New(0);
    for (npy_intp i = 0; list != NULL && i < count[0]; i++) {
        cwj_list_add(&list, read_item(self, instance, pointers + (size_t)i * sizeof(void *)));
    }
    return list == NULL ? NULL : items_of(self, instance, list);
}

static PyObject *
refuse(const field_object *self)
{
    return PyErr_Format(PyExc_NotImplementedError, "attribute %U of %U: %U", self->name,
                        self->layout->name, self->reason);
}

/* Returns how many bytes have the bits, from *from on. C may write the bytes around them at the same time. */
static size_t
bytes_of_bits(const field_object *self, size_t *from)
{
    *from = (size_t)self->dims[0].value / 8;
    return (size_t)(self->dims[0].value + self->dims[1].value + 7) / 8 - *from;
}

static void
load_bits(const field_object *self, const char *at, cwj_slot *slot)
{
    int first = (int)self->dims[0].value % 8, above = 64 - (int)self->dims[1].value;
    size_t from, size = bytes_of_bits(self, &from);
    slot->u = 0;
    memcpy(slot, at + from, size);
    slot->u = slot->u >> first << above;
    if (self->type->kind == 'i') {
        slot->i >>= above;
    } else {
        slot->u >>= above;
    }
}

static PyObject *
read_number(const field_object *self, const char *at)
{
    cwj_slot slot;
    if (self->kind == BITS) {
        load_bits(self, at, &slot);
    } else {
        cwj_scalar_load(self->type, at, &slot);
    }
    PyObject *number = cwj_number_object(self->type, &slot);
    return self->converter == NULL ? number : cwj_enumerator(self->converter, number);
}

static PyObject *
field_get(PyObject *op, PyObject *instance, PyObject *Py_UNUSED(type))
{
    const field_object *self = (field_object *)op;
    npy_intp dims[NPY_MAXDIMS];
    if (instance == NULL || instance == Py_None) {
        return Py_NewRef(op);
    }
    char *at = locate(self, instance);
    if (at == NULL) {
        return NULL;
    }
    switch (self->kind) {
    case SCALAR:
    case BITS:
        return read_number(self, at);
    case ARRAY:
        return measure(self, at - self->offset, dims) < 0 ? NULL
                                                          : read_array(self, instance, at, dims);
    case BUFFER:
        return measure(self, at - self->offset, dims) < 0
                   ? NULL
                   : read_text(self, at, strnlen(at, (size_t)dims[0]));
    case STRING:
    case POINTER:
        return read_item(self, instance, at);
    case LIST:
    case POINTERS:
        return read_list(self, instance, at);
    case DATA:
        return read_data(self, instance, at);
    case INSIDE:
        return cwj_instance_around(self->of, at, false, NULL, cwj_anchor_of(instance));
    case ADDRESS:
        return read_address(self, instance, at);
    case FUNCTION:
        return read_function(self, instance, at);
    case REFUSED:
        break;
    }
    return refuse(self);
}

/* ---- writing ------------------------------------------------------------------------ */

static int
wrong_type(const field_object *self, const char *wanted, PyObject *value)
{
    PyObject *got = cwj_text_of_other_kind(value, NPY_OBJECT);
    if (got != NULL) {
        PyErr_Format(PyExc_TypeError, "Expected an argument of type %s for attribute %U, got %U",
                     wanted, self->name, got);
        Py_DECREF(got);
    }
    return -1;
}

static int
wrong_class(const field_object *self, PyObject *value)
{
    const char *name = PyUnicode_AsUTF8(self->of->name);
    return name == NULL ? -1 : wrong_type(self, name, value);
}

static void
store_bits(const field_object *self, char *at, const cwj_slot *slot)
{
    cwj_slot whole = {.u = 0};
    int first = (int)self->dims[0].value % 8;
    unsigned long long mask = ~0ULL >> (64 - self->dims[1].value);
    size_t from, size = bytes_of_bits(self, &from);
    memcpy(&whole, at + from, size);
    whole.u = (whole.u & ~(mask << first)) | (slot->u & mask) << first;
    memcpy(at + from, &whole, size);
}

static bool
fits_bits(const field_object *self, const cwj_slot *slot)
{
    cwj_slot kept = {.u = 0}, read;
    store_bits(self, (char *)&kept, slot);
    load_bits(self, (char *)&kept, &read);
    return read.u == slot->u;
}

static int
write_number(const field_object *self, PyObject *instance, PyObject *value)
{
    cwj_slot slot;
    cwj_fit fit = cwj_scalar_take(self->type, false, value, &slot);
    if (fit != CWJ_FITS) {
        return cwj_scalar_refuse(fit, self->type, value, "attribute %U", self->name);
    }
    if (self->kind == BITS && !fits_bits(self, &slot)) {
        PyErr_Format(PyExc_OverflowError, "attribute %U: %R is out of range of %zd bits",
                     self->name, value, (Py_ssize_t)self->dims[1].value);
        return -1;
    }
    char *at = locate(self, instance); /* again: a warning may run Python code */
    if (at != NULL && self->kind == BITS) {
        store_bits(self, at, &slot);
    } else if (at != NULL) {
        cwj_scalar_store(self->type, &slot, at);
    }
    return at == NULL ? -1 : 0;
}

/* Returns the bytes from which read_text() makes this text: a new reference. */
static PyObject *
bytes_of(const field_object *self, PyObject *value, const char *wanted)
{
    if (PyBytes_Check(value)) {
        return Py_NewRef(value);
    }
    if (!PyUnicode_Check(value)) {
        wrong_type(self, wanted, value);
        return NULL;
    }
    const char *codec = PyUnicode_AsUTF8(self->item);
    bool plain = codec != NULL && (*codec == '\0' || strcmp(codec, "bytes") == 0);
    return codec == NULL
               ? NULL
               : PyUnicode_AsEncodedString(value, plain ? "utf-8" : codec, "surrogateescape");
}

static bool
holds_nul(const field_object *self, PyObject *bytes)
{
    bool found = strlen(PyBytes_AS_STRING(bytes)) != (size_t)PyBytes_GET_SIZE(bytes);
    if (found) {
        PyErr_Format(PyExc_ValueError, "attribute %U takes no NUL inside the text", self->name);
    }
    return found;
}

static int
write_buffer(const field_object *self, PyObject *instance, PyObject *value)
{
    PyObject *bytes = bytes_of(self, value, "str or bytes");
    Py_ssize_t length = bytes == NULL ? 0 : PyBytes_GET_SIZE(bytes), room = self->dims[0].value;
    char *at = NULL;
    if (length >= room) {
        PyErr_Format(PyExc_ValueError, "attribute %U has room for %zd bytes, got %zd", self->name,
                     room - 1, length);
    } else if (bytes != NULL && !holds_nul(self, bytes)) {
        at = locate(self, instance); /* again: codecs may run Python code */
    }
    if (at != NULL) {
        memset(at, 0, (size_t)room);
        memcpy(at, PyBytes_AS_STRING(bytes), (size_t)length);
    }
    Py_XDECREF(bytes);
    return at == NULL ? -1 : 0;
}

/* Assigns bytes to all items of an array of bytes: 32 to unsigned char key[32]. */
static int
write_bytes(const field_object *self, PyObject *instance, PyObject *value)
{
    Py_buffer view;
    char *at = NULL;
    if (PyObject_GetBuffer(value, &view, PyBUF_SIMPLE) < 0) {
        return -1;
    }
    if (view.len != self->dims[0].value) {
        PyErr_Format(PyExc_ValueError, "attribute %U has %zd bytes, got %zd", self->name,
                     (Py_ssize_t)self->dims[0].value, view.len);
    } else if ((at = locate(self, instance)) != NULL) {
        memcpy(at, view.buf, (size_t)view.len);
    }
    PyBuffer_Release(&view);
    return at == NULL ? -1 : 0;
}

/* Copies a text for C, which may write into the copy; None stays None. Returns a new reference. */
static PyObject *
copy_text(const field_object *self, PyObject *value)
{
    if (value == Py_None) {
        return Py_NewRef(value);
    }
    PyObject *bytes = bytes_of(self, value, "str, bytes or None"), *copy = NULL;
    if (bytes != NULL && !holds_nul(self, bytes)) {
        copy = PyByteArray_FromObject(bytes);
    }
    Py_XDECREF(bytes);
    return copy;
}

static int
copy_struct(const field_object *self, char *at, PyObject *instance, PyObject *value,
            const char *from)
{
    cwj_instance *of = (cwj_instance *)instance;
    const cwj_struct_layout *layout = self->of;
    if (from == at) {
        return 0;
    }
    int behind = layout->has_pointers ? cwj_looks_behind(of) : 0;
    if (behind > 0) { /* only the old pointers keep this memory alive */
        PyErr_Format(PyExc_BufferError,
                     "attribute %U of %U: an array looks into memory that its pointers lead to",
                     self->name, self->layout->name);
    }
    if (behind != 0) {
        return -1;
    }
    int generation = cwj_call_begins(); /* C may read the old pointers until then */
    int status = !layout->has_pointers
                     ? 0
                     : cwj_references_copy(of, at, value, from, layout->size, false, CWJ_IS_A_COPY);
    if (status == 0) {
        memmove(at, from, layout->size);
    }
    cwj_call_ends(generation);
    return status;
}

/* Copies a record or a tuple of members into a struct inside the struct. */
static int
write_record(const field_object *self, PyObject *instance, PyObject *value)
{
    PyObject *fault, *made = cwj_instance_of_record(self->of, value, false, &fault);
    int status = -1;
    void *from;
    if (made != NULL) {
        char *at = locate(self, instance); /* again: members of a tuple may run Python code */
        if (at != NULL && cwj_instance_pointer(self->of, made, &from) > 0) {
            status = copy_struct(self, at, instance, made, from);
        }
    } else if (fault != NULL) {
        PyErr_Format(PyExc_TypeError, "Expected an argument of type %U for attribute %U, got %U",
                     self->of->name, self->name, fault);
    } else if (!PyErr_Occurred()) {
        wrong_class(self, value);
    }
    CWJ_RELEASE(fault, made);
    return status;
}

static int
write_inside(const field_object *self, char *at, PyObject *instance, PyObject *value)
{
    void *from;
    int answer = cwj_instance_pointer(self->of, value, &from);
    return answer > 0   ? copy_struct(self, at, instance, value, from)
           : answer < 0 ? -1
                        : write_record(self, instance, value);
}

/* Returns the copy of a text, or the struct itself: a new reference; NULL if the item does not fit. */
static PyObject *
take_item(const field_object *self, PyObject *item)
{
    void *pointer;
    int answer =
        self->of == NULL || item == Py_None ? 1 : cwj_instance_pointer(self->of, item, &pointer);
    if (answer == 0) {
        wrong_class(self, item);
    }
    return answer <= 0 ? NULL : self->of == NULL ? copy_text(self, item) : Py_NewRef(item);
}

/* Writes an item that take_item() returned. The instance keeps it until another one is assigned. */
static int
write_item(const field_object *self, PyObject *instance, Py_ssize_t i, PyObject *item)
{
    char *at = locate(self, instance); /* again: freeing the previous item may run Python code */
    PyObject *kept = item == Py_None ? NULL : item;
    void *pointer = NULL;
    int answer = at == NULL ? -1 : 1;
    if (answer > 0 && kept != NULL && self->of != NULL) {
        answer = cwj_instance_pointer(self->of, kept, &pointer);
    } else if (answer > 0 && kept != NULL) {
        pointer = PyByteArray_AsString(kept);
    }
    if (answer <= 0) {
        return answer < 0 ? -1 : wrong_class(self, item);
    }
    at += (size_t)i * sizeof(void *);
    return cwj_references_point((cwj_instance *)instance, at, pointer, kept);
}

static int
assign_item(const field_object *self, PyObject *instance, Py_ssize_t i, PyObject *value)
{
    PyObject *item = take_item(self, value);
    int status = item == NULL ? -1 : write_item(self, instance, i, item);
    Py_XDECREF(item);
    return status;
}

/* Returns a new list of take_item() for all items; NULL if they do not fit. */
static PyObject *
take_list(const field_object *self, PyObject *value)
{
    bool is_list = PyList_Check(value) || PyTuple_Check(value);
    PyObject *items = is_list ? PySequence_List(value) : NULL;
    if (!is_list) {
        wrong_type(self, "list", value);
    } else if (items != NULL && PyList_GET_SIZE(items) != self->dims[0].value) {
        PyErr_Format(PyExc_ValueError, "attribute %U has %zd items, got %zd", self->name,
                     (Py_ssize_t)self->dims[0].value, PyList_GET_SIZE(items));
        Py_CLEAR(items);
    }
    for (Py_ssize_t i = 0; items != NULL && i < PyList_GET_SIZE(items); i++) {
        PyObject *taken = take_item(self, PyList_GET_ITEM(items, i));
        if (taken == NULL) {
            Py_CLEAR(items);
        } else {
            PyList_SetItem(items, i, taken);
        }
    }
    return items;
}

static int
write_list(const field_object *self, PyObject *instance, PyObject *value)
{
    PyObject *items = take_list(self, value);
    int status = items == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; status == 0 && i < self->dims[0].value; i++) {
        status = write_item(self, instance, i, PyList_GET_ITEM(items, i));
    }
    Py_XDECREF(items);
    return status;
}

static PyObject *
field_assign_item(PyObject *op, PyObject *args)
{
    field_object *self = (field_object *)op;
    PyObject *instance, *value;
    Py_ssize_t i;
    if (!PyArg_ParseTuple(args, "OnO:assign_item", &instance, &i, &value)) {
        return NULL;
    }
    if (self->kind != POINTERS || self->readonly || i < 0 || i >= self->dims[0].value) {
        return PyErr_Format(PyExc_ValueError, "attribute %U has no such item", self->name);
    }
    if (locate(self, instance) == NULL || assign_item(self, instance, i, value) < 0) {
        return NULL;
    }
    const char *at = locate(self, instance);
    return at == NULL ? NULL : read_item(self, instance, at + (size_t)i * sizeof(void *));
}

/* Returns a Pointer to the value's memory, or NULL with an exception set. */
static PyObject *
pointer_to(const field_object *self, PyObject *value)
{
    if (cwj_is_pointer(value)) {
        return Py_NewRef(value);
    }
    if (!PyArray_Check(value) && !PyObject_CheckBuffer(value)) {
        wrong_type(self, "Pointer, array, buffer or None", value);
        return NULL;
    }
    return PyObject_CallOneArg((PyObject *)cwj_state_of((PyObject *)self)->pointer_type, value);
}

static bool
fits(const field_object *self, const cwj_pointer *pointer)
{
    if (!cwj_items_agree(pointer->item, self->item)) {
        PyErr_Format(PyExc_TypeError, "attribute %U of %U: wanted a pointer to %U, got one to %U",
                     self->name, self->layout->name, self->item, pointer->item);
        return false;
    }
    if (pointer->readonly && !self->is_const) {
        PyErr_Format(PyExc_ValueError,
                     "attribute %U of %U: this memory is read-only, and C may write there",
                     self->name, self->layout->name);
        return false;
    }
    return true;
}

/* Keeps the value until another one is assigned, because C has its address. */
static int
write_address(const field_object *self, PyObject *instance, PyObject *value)
{
    PyObject *pointer = value == Py_None ? NULL : pointer_to(self, value), *kept = NULL;
    if (pointer != NULL && fits(self, (cwj_pointer *)pointer)) {
        kept = PyTuple_Pack(2, value, pointer);
    }
    void *address = kept == NULL ? NULL : ((cwj_pointer *)pointer)->address;
    bool fine = kept != NULL || value == Py_None;
    char *at = fine ? locate(self, instance) : NULL; /* again: a buffer may run Python code */
    int status =
        at == NULL ? -1 : cwj_references_point((cwj_instance *)instance, at, address, kept);
    CWJ_RELEASE(kept, pointer);
    return status;
}

/* Locates the member after the converter has run, because that is Python code. */
static int
write_function(const field_object *self, PyObject *instance, PyObject *value)
{
    PyObject *kept = NULL, *made = PyObject_CallOneArg(self->converter, value);
    void *pointer = NULL;
    if (made != NULL && (!PyTuple_Check(made) || PyTuple_GET_SIZE(made) < 2)) {
        PyErr_Format(PyExc_TypeError, "attribute %U: its converter returned %R", self->name, made);
    } else if (made != NULL) {
        PyObject *address = PyTuple_GET_ITEM(made, 0);
        pointer = PyLong_AsVoidPtr(address);
        kept = pointer == NULL ? NULL : PyTuple_Pack(3, address, PyTuple_GET_ITEM(made, 1), value);
    }
    char *at = PyErr_Occurred() ? NULL : locate(self, instance);
    int status =
        at == NULL ? -1 : cwj_references_point((cwj_instance *)instance, at, pointer, kept);
    CWJ_RELEASE(kept, made);
    return status;
}

static int
field_set(PyObject *op, PyObject *instance, PyObject *value)
{
    const field_object *self = (field_object *)op;
    char *at = locate(self, instance);
    if (at == NULL) {
        return -1;
    }
    if (value == NULL || self->readonly) {
        PyErr_Format(PyExc_AttributeError, "attribute %U of %U %s", self->name, self->layout->name,
                     value == NULL ? "cannot be deleted" : "is read-only");
        return -1;
    }
    switch (self->kind) {
    case SCALAR:
    case BITS:
        return write_number(self, instance, value);
    case BUFFER:
        return write_buffer(self, instance, value);
    case STRING:
    case POINTER:
        return assign_item(self, instance, 0, value);
    case POINTERS:
        return write_list(self, instance, value);
    case INSIDE:
        return write_inside(self, at, instance, value);
    case ADDRESS:
        return write_address(self, instance, value);
    case FUNCTION:
        return write_function(self, instance, value);
    case ARRAY:
        if (self->nd == 1 && self->dims[0].type == NULL && PyDataType_ELSIZE(self->descr) == 1 &&
            (PyBytes_Check(value) || PyByteArray_Check(value))) {
            return write_bytes(self, instance, value);
        }
        /* fall through */
    case DATA:
    case LIST:
        PyErr_Format(PyExc_AttributeError,
                     "Can't reallocate memory: attribute %U of %U is part of C's memory; assign "
                     "to its items",
                     self->name, self->layout->name);
        return -1;
    case REFUSED:
        break;
    }
    refuse(self);
    return -1;
}

/* ---- the type ----------------------------------------------------------------------- */

/* No tp_clear: clearing the classes' dicts breaks cycles. */
static int
field_traverse(PyObject *op, visitproc visit, void *arg)
{
    field_object *self = (field_object *)op;
    return CWJ_VISIT(Py_TYPE(op), self->layout, self->of, self->converter);
}

static void
field_dealloc(PyObject *op)
{
    field_object *self = (field_object *)op;
    PyObject_GC_UnTrack(op);
    CWJ_RELEASE(self->layout, self->name, self->reason, self->word, self->descr, self->of,
                self->converter, self->item);
    cwj_object_free(op);
}

static PyObject *
field_repr(PyObject *op)
{
    const field_object *self = (field_object *)op;
    return PyUnicode_FromFormat("<attribute %R of %U>", self->name, self->layout->name);
}

static PyMemberDef field_members[] = {
    {"__name__", T_OBJECT, offsetof(field_object, name), READONLY, NULL},
    {"__doc__", T_OBJECT, offsetof(field_object, reason), READONLY, NULL},
    {"kind", T_OBJECT, offsetof(field_object, word), READONLY, NULL},
    {"dtype", T_OBJECT, offsetof(field_object, descr), READONLY, NULL},
    {"offset", T_PYSSIZET, offsetof(field_object, offset), READONLY, NULL},
    {"item", T_OBJECT, offsetof(field_object, item), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef field_methods[] = {
    {"assign_item", field_assign_item, METH_VARARGS,
     "assign_item($self, instance, index, value, /)\n--\n\n"
     "Put one of a member's items in its place: what is there then."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot field_slots[] = {
    {Py_tp_new, cwj_field_new},
    {Py_tp_dealloc, field_dealloc},
    {Py_tp_traverse, field_traverse},
    {Py_tp_repr, field_repr},
    {Py_tp_descr_get, field_get},
    {Py_tp_descr_set, field_set},
    {Py_tp_members, field_members},
    {Py_tp_methods, field_methods},
    {0, NULL},
};

CWJ_TYPE(cwj_field_spec, "cwrapjit._cwrapjit.Field", field_object, field_slots, Py_TPFLAGS_HAVE_GC);
