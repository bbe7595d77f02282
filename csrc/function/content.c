/* content.c: see content.h.
 *
 * Python makes pickles and digests of what travel.c tells it (cwrapjit/_travel.py), when asked.
 */
#include "function/content.h"

#include "base/errors.h"
#include "function/function.h"

static PyObject *
ask(const char *question, PyObject *self)
{
    PyObject *travel = cwj_import("cwrapjit._travel");
    PyObject *answer = travel == NULL ? NULL : PyObject_CallMethod(travel, question, "O", self);
    Py_XDECREF(travel);
    return answer;
}

PyObject *
cwj_content_reduce(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return ask("reduced", self);
}

PyObject *
cwj_content_token(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return ask("token", self);
}

PyObject *
cwj_content_copy(PyObject *self, PyObject *Py_UNUSED(unused))
{
    return Py_NewRef(self);
}

/* Bytes that functions of the same content have in common; borrowed. */
static PyObject *
digest_of(PyObject *op)
{
    cwj_function_object *self = (cwj_function_object *)op;
    if (self->digest == NULL) {
        PyObject *digest = ask("digest", op);
        if (digest != NULL && !PyBytes_CheckExact(digest)) {
            cwj_refuse_type(self->spec->who, "digest()", "bytes", digest);
            Py_CLEAR(digest);
        }
        if (digest == NULL) {
            return NULL;
        }
        Py_XSETREF(self->digest, digest); /* another thread may have made the same */
    }
    return self->digest;
}

Py_hash_t
cwj_content_hash(PyObject *self)
{
    PyObject *digest = digest_of(self);
    return digest == NULL ? -1 : PyObject_Hash(digest);
}

PyObject *
cwj_content_compare(PyObject *self, PyObject *other, int op)
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
