/* zones.c: see zones.h. */
#include "base/debug/zones.h"

#include "base/raised.h"

enum {
    ZONE = 256, /* bytes on either side */
    ZONE_BYTE = 0xB5,
    NEW_BYTE = 0xCB
};

/* At the start of the zone in front. */
typedef struct header {
    size_t magic;
    size_t size; /* of the array */
} header;

static const size_t magic = 0x5A4F4E45C0DEB175u;

/* ---- the allocator --------------------------------------------------------------------- */

static void *
allocate(size_t size, int byte)
{
    char *base = size > PY_SSIZE_T_MAX - 2 * ZONE ? NULL : tj_realloc(NULL, 0, size + 2 * ZONE);
    if (base == NULL) {
        return NULL;
    }
    *(header *)base = (header){magic, size};
    memset(base + sizeof(header), ZONE_BYTE, ZONE - sizeof(header));
    memset(base + ZONE, byte, size);
    memset(base + ZONE + size, ZONE_BYTE, ZONE);
    return base + ZONE;
}

static void *
zone_malloc(void *Py_UNUSED(context), size_t size)
{
    return allocate(size, NEW_BYTE);
}

static void *
zone_calloc(void *Py_UNUSED(context), size_t count, size_t size)
{
    return size != 0 && count > (size_t)PY_SSIZE_T_MAX / size ? NULL : allocate(count * size, 0);
}

static void
zone_free(void *Py_UNUSED(context), void *data, size_t Py_UNUSED(size))
{
    if (data != NULL) {
        tj_free((char *)data - ZONE);
    }
}

static void *
zone_realloc(void *context, void *data, size_t size)
{
    char *fresh = allocate(size, NEW_BYTE);
    if (fresh != NULL && data != NULL) {
        size_t before = ((header *)((char *)data - ZONE))->size;
        memcpy(fresh, data, before < size ? before : size);
        zone_free(context, data, before);
    }
    return fresh;
}

static PyDataMem_Handler handler = {
    "cwrapjit_debug", 1, {NULL, zone_malloc, zone_calloc, zone_realloc, zone_free}};

static PyObject *capsule; /* of the handler, for the life of the process: arrays keep it */

PyObject *
cwj_zones_enter(void)
{
    if (capsule == NULL) {
        capsule = PyCapsule_New(&handler, "mem_handler", NULL);
    }
    return capsule == NULL ? NULL : PyDataMem_SetHandler(capsule);
}

void
cwj_zones_leave(PyObject *before)
{
    PyObject *raised = cwj_raised_take();
    PyObject *ours = PyDataMem_SetHandler(before);
    if (ours == NULL) {
        PyErr_WriteUnraisable(NULL);
    }
    Py_XDECREF(ours);
    Py_DECREF(before);
    cwj_raised_set(raised);
}

bool
cwj_zones_have(PyArrayObject *array)
{
    return PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA) && PyArray_HANDLER(array) == capsule;
}

/* ---- looking at the zones ------------------------------------------------------------------ */

bool
cwj_zones_damaged(const void *data, ptrdiff_t *offset)
{
    const unsigned char *front = (const unsigned char *)data - ZONE;
    const header *known = (const header *)front;
    if (known->magic != magic) {
        *offset = -ZONE;
        return true;
    }
    for (size_t i = ZONE; i-- > sizeof(header);) {
        if (front[i] != ZONE_BYTE) {
            *offset = (ptrdiff_t)i - ZONE;
            return true;
        }
    }
    for (size_t i = known->size; i < known->size + ZONE; i++) {
        if (front[ZONE + i] != ZONE_BYTE) {
            *offset = (ptrdiff_t)i;
            return true;
        }
    }
    return false;
}

/* ---- looking at the array ------------------------------------------------------------------ */

/* Bytes of a number; 0: too few to tell, or no number. */
static npy_intp
size_of_number(PyArrayObject *array)
{
    int type = PyArray_TYPE(array);
    npy_intp size = PyArray_ITEMSIZE(array) / (PyTypeNum_ISCOMPLEX(type) ? 2 : 1);
    return (PyTypeNum_ISNUMBER(type) || PyTypeNum_ISDATETIME(type)) && size >= 4 ? size : 0;
}

bool
cwj_zones_unwritten(PyArrayObject *array, npy_intp *offset)
{
    const unsigned char *data = PyArray_DATA(array);
    npy_intp size = size_of_number(array), bytes = PyArray_NBYTES(array);
    unsigned char fresh[sizeof(npy_longdouble)];
    memset(fresh, NEW_BYTE, sizeof(fresh));
    for (npy_intp at = 0; size != 0 && at < bytes; at += size) {
        if (memcmp(data + at, fresh, (size_t)size) == 0) {
            *offset = at;
            return true;
        }
    }
    return false;
}
