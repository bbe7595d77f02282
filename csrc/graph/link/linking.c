/* linking.c: see linking.h. */
#include "graph/link/linking.h"

PyObject *
cwj_linking_keep(cwj_linking *link, PyObject *object)
{
    if (object != NULL) {
        int status = PyList_Append(link->kept, object);
        Py_DECREF(object);
        object = status < 0 ? NULL : object;
    }
    return object;
}

const char *
cwj_linking_utf8(cwj_linking *link, PyObject *text, size_t *length)
{
    Py_ssize_t size;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &size);
    if (utf8 == NULL || PyList_Append(link->kept, text) < 0) {
        return NULL;
    }
    if (length != NULL) {
        *length = (size_t)size;
    }
    return utf8;
}

const char *
cwj_linking_copy(cwj_linking *link, const char *bytes, size_t length)
{
    char *copy = cwj_arena_alloc(&link->arena, length + 1, 1);
    if (copy != NULL && length > 0) {
        memcpy(copy, bytes, length);
    }
    return copy;
}
