/* field_new.c: makes a Field from the description of a member by cwrapjit.library, and checks it. */
#include "library/objects/field.h"

#include "base/choices.h"
#include "base/errors.h"

#include <stdint.h>

#define WORD(name, word) word,
static const char *const kinds[] = {FIELD_KINDS(WORD)};

/* Parses an integer member: (offset, type). */
static int
parse_member(const field_object *self, PyObject *pair, field_dim *dim)
{
    PyObject *name;
    if (!PyArg_ParseTuple(pair, "nU", &dim->value, &name)) {
        return -1;
    }
    dim->type = cwj_library_type_find(name);
    if (!cwj_is_integer(dim->type) || dim->value < 0 ||
        (size_t)dim->value + dim->type->size > self->layout->size) {
        return cwj_refuse("Field", PyExc_ValueError, "%R is no integer member", pair);
    }
    return 0;
}

static int
parse_dims(field_object *self, PyObject *dims)
{
    if (PyTuple_GET_SIZE(dims) > NPY_MAXDIMS) {
        return cwj_refuse("Field", PyExc_ValueError, "too many dims");
    }
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(dims); k++) {
        PyObject *given = PyTuple_GET_ITEM(dims, k);
        field_dim *dim = &self->dims[k];
        if (PyTuple_Check(given)) {
            if (parse_member(self, given, dim) < 0) {
                return -1;
            }
        } else {
            dim->value = PyLong_AsSsize_t(given);
            if (dim->value < 0) {
                return cwj_refuse("Field", PyExc_ValueError, "%R is no size", given);
            }
        }
        self->nd = (int)k + 1;
    }
    return 0;
}

/* Returns the bytes that items take inside the struct; SIZE_MAX: too many. Items of x[], whose length is in another
 * member, take none. */
static size_t
items_size(const field_object *self, size_t size)
{
    if (self->nd > 0 && self->dims[0].type != NULL) {
        return 0;
    }
    for (int k = 0; k < self->nd; k++) {
        if (self->dims[k].type != NULL ||
            __builtin_mul_overflow(size, (size_t)self->dims[k].value, &size)) {
            return SIZE_MAX;
        }
    }
    return size;
}

static bool
are_bits(const field_object *self)
{
    npy_intp room = 8 * (npy_intp)self->type->size;
    return self->nd == 2 && self->dims[0].type == NULL && self->dims[1].type == NULL &&
           strchr("biu", self->type->kind) != NULL && self->dims[1].value > 0 &&
           self->dims[0].value <= room && self->dims[1].value <= room - self->dims[0].value;
}

/* Refuses members whose kind lacks something, or that would lie outside: a mistake in cwrapjit.library must not lead to
 * a read outside the struct. */
static int
check_extent(const field_object *self)
{
    size_t size = sizeof(void *), end;
    bool has_items = self->kind == ARRAY || self->kind == DATA;
    bool is_number = self->kind == SCALAR || self->kind == BITS;
    if ((is_number && self->type == NULL) || (has_items && self->descr == NULL)) {
        return cwj_refuse("Field", PyExc_ValueError, "%U needs a dtype", self->name);
    }
    if (self->kind == BITS && !are_bits(self)) {
        return cwj_refuse("Field", PyExc_ValueError, "%U: these are no bits of a %s", self->name,
                          self->type->name);
    }
    if (self->kind == FUNCTION && !PyCallable_Check(self->converter)) {
        return cwj_refuse("Field", PyExc_ValueError, "%U needs what makes an address", self->name);
    }
    if (is_number) {
        size = self->type->size;
    } else if (self->kind == ARRAY) {
        size = items_size(self, (size_t)PyDataType_ELSIZE(self->descr));
    } else if (self->kind == BUFFER) {
        bool has_room = self->nd == 1 && (self->dims[0].value > 0 || self->dims[0].type != NULL);
        size = has_room ? items_size(self, 1) : SIZE_MAX;
    } else if (self->kind == POINTERS) {
        size = self->nd == 1 ? items_size(self, sizeof(void *)) : SIZE_MAX;
    } else if (self->kind == LIST && self->nd > 1) {
        size = SIZE_MAX;
    } else if (self->kind == REFUSED) {
        size = 0;
    } else if (self->kind == INSIDE) {
        size = self->of->size;
    }
    if (__builtin_add_overflow(self->offset, size, &end) || end > self->layout->size) {
        return cwj_refuse("Field", PyExc_ValueError, "%U would lie outside of %U", self->name,
                          self->layout->name);
    }
    return 0;
}

/* Parses the name of a number's type, or any dtype that NumPy knows. */
static int
parse_dtype(field_object *self, PyObject *dtype)
{
    if (dtype == Py_None) {
        return 0;
    }
    self->type = PyUnicode_Check(dtype) ? cwj_library_type_find(dtype) : NULL;
    if (self->type != NULL && self->type->text) { /* NumPy does not know this name */
        self->descr = PyArray_DescrFromType(self->type->typenum);
        return self->descr == NULL ? -1 : 0;
    }
    if (!PyArray_DescrConverter(dtype, &self->descr)) {
        return -1;
    }
    if (PyDataType_REFCHK(self->descr)) {
        return cwj_refuse("Field", PyExc_ValueError, "%R: C's memory has no Python objects", dtype);
    }
    return 0;
}

static int
parse_of(field_object *self, PyObject *of)
{
    if (self->kind == FUNCTION || (PyDict_CheckExact(of) && self->kind <= BITS)) {
        self->converter = Py_NewRef(of);
        return 0;
    }
    if (of != Py_None || self->kind == INSIDE || self->kind == POINTER) {
        self->of = cwj_layout_of(of);
        return self->of == NULL ? -1 : 0;
    }
    return 0;
}

PyObject *
cwj_field_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"layout", "name",     "offset", "kind", "dtype",    "dims",
                            "of",     "readonly", "reason", "item", "is_const", NULL};
    field_object *self = (field_object *)type->tp_alloc(type, 0);
    PyObject *layout, *name, *cls = Py_None, *dims = NULL, *reason = NULL, *item = NULL,
                             *dtype = Py_None;
    PyObject *given_kind;
    Py_ssize_t offset;
    int readonly = 0, is_const = 0;
    if (self == NULL ||
        !PyArg_ParseTupleAndKeywords(args, kwargs, "OUnO|OO!OpUUp:Field", names, &layout, &name,
                                     &offset, &given_kind, &dtype, &PyTuple_Type, &dims, &cls,
                                     &readonly, &reason, &item, &is_const)) {
        goto failed;
    }
    if (!cwj_is_layout(layout)) {
        cwj_refuse("Field", PyExc_TypeError, "%R is no Layout", layout);
        goto failed;
    }
    self->layout = (cwj_struct_layout *)Py_NewRef(layout);
    self->name = Py_NewRef(name);
    self->reason = reason == NULL ? PyUnicode_FromString("") : Py_NewRef(reason);
    self->item = item == NULL ? PyUnicode_FromString("") : Py_NewRef(item);
    self->is_const = is_const;
    self->offset = (size_t)offset;
    self->readonly = readonly;
    self->word = Py_NewRef(given_kind);
    int kind = cwj_parse_choice(given_kind, kinds, REFUSED + 1, "Field", "kind");
    self->kind = (field_kind)kind;
    if (self->reason == NULL || self->item == NULL || kind < 0 || parse_of(self, cls) < 0 ||
        parse_dtype(self, dtype) < 0 || (dims != NULL && parse_dims(self, dims) < 0) ||
        check_extent(self) < 0) {
        goto failed;
    }
    return (PyObject *)self;
failed:
    Py_XDECREF(self);
    return NULL;
}
