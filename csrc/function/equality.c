/* equality.c: see equality.h. */
#include "function/equality.h"

#include "base/content.h"
#include "base/errors.h"
#include "function/function.h"

/* Returns bytes that are equal for functions with equal content. Borrowed; NULL with an exception set. */
static PyObject *
digest_of(PyObject *op)
{
    cwj_function_object *self = (cwj_function_object *)op;
    if (self->digest == NULL) {
        PyObject *digest = cwj_content_ask("digest", op);
        if (digest != NULL && !PyBytes_CheckExact(digest)) {
            cwj_refuse_type(self->spec->who, "digest()", "bytes", digest);
            Py_CLEAR(digest);
        }
        if (digest == NULL) {
            return NULL;
        }
        Py_XSETREF(self->digest, digest); /* another thread may have set it meanwhile */
    }
    return self->digest;
}

Py_hash_t
cwj_function_hash(PyObject *self)
{
    PyObject *digest = digest_of(self);
    return digest == NULL ? -1 : PyObject_Hash(digest);
}

PyObject *
cwj_function_compare(PyObject *self, PyObject *other, int op)
{
    if ((op != Py_EQ && op != Py_NE) || !Py_IS_TYPE(other, Py_TYPE(self))) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (self == other) {
        return PyBool_FromLong(op == Py_EQ);
    }
    PyObject *mine = Py_XNewRef(digest_of(self));
    PyObject *others = mine == NULL ? NULL : digest_of(other);
    PyObject *result = others == NULL ? NULL : PyObject_RichCompare(mine, others, op);
    Py_XDECREF(mine);
    return result;
}
