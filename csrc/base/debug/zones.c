/* zones.c: allocates new arrays with red zones around them (zones.h). */
#include "base/debug/zones.h"

#include "base/raised.h"
#include "os/address_space.h"

#include <stdint.h>

enum {
    FENCED = 256, /* newest arrays: a process may have only about 65,000 mappings */
    NEW_BYTE = 0xCB
};

/* Is stored at the start of a page, before the zone that precedes the array. */
typedef struct header {
    cwj_fence fence;
    size_t sum; /* wrong if code has overwritten the header */
} header;

/* The newest fences, in a ring. */
static cwj_fence newest[FENCED];
static unsigned int turn;

/* ---- headers ------------------------------------------------------------------------------ */

static size_t
sum_of(const cwj_fence *fence)
{
    return (0x5A4F4E45C0DEB175u ^ (uintptr_t)fence->map) + fence->side + fence->room +
           ((uintptr_t)fence->data ^ fence->size);
}

static void
write_header(const cwj_fence *fence)
{
    *(header *)(fence->map + fence->side) = (header){*fence, sum_of(fence)};
}

/* Returns the header of an array's memory; NULL: it was overwritten. */
static const header *
header_of(const void *data)
{
    uintptr_t front = (uintptr_t)data - sizeof(header);
    const header *found = (const header *)(front - front % tj_page_size());
    return found->fence.data == data && found->sum == sum_of(&found->fence) ? found : NULL;
}

/* ---- the allocator --------------------------------------------------------------------- */

static void *
allocate(const bool *beyond, size_t size, int byte)
{
    cwj_fence fence = {0};
    size_t behind = *beyond ? 8 : 0;
    if (cwj_fence_open(&fence, true, sizeof(header), size, behind, false)) {
        cwj_fence *oldest = &newest[turn++ % FENCED];
        if (oldest->map != NULL) {
            cwj_fence_open_sides(oldest);
            write_header(oldest);
        }
        *oldest = fence;
    } else if (!cwj_fence_open(&fence, false, sizeof(header), size, behind, false)) {
        return NULL;
    }
    write_header(&fence);
    memset(fence.data, byte, size);
    return fence.data;
}

static void *
zone_malloc(void *beyond, size_t size)
{
    return allocate(beyond, size, NEW_BYTE);
}

static void *
zone_calloc(void *beyond, size_t count, size_t size)
{
    return size != 0 && count > (size_t)PY_SSIZE_T_MAX / size ? NULL
                                                              : allocate(beyond, count * size, 0);
}

/* Frees an array's memory, or leaks it if its header was overwritten. */
static void
zone_free(void *Py_UNUSED(beyond), void *data, size_t Py_UNUSED(size))
{
    const header *known = data == NULL ? NULL : header_of(data);
    cwj_fence fence = known == NULL ? (cwj_fence){0} : known->fence;
    for (int i = 0; i < FENCED && fence.map != NULL; i++) {
        if (newest[i].map == fence.map) {
            newest[i] = (cwj_fence){0};
        }
    }
    cwj_fence_drop(&fence);
}

static void *
zone_realloc(void *beyond, void *data, size_t size)
{
    const header *known = data == NULL ? NULL : header_of(data);
    char *fresh = data != NULL && known == NULL ? NULL : allocate(beyond, size, NEW_BYTE);
    if (fresh != NULL && known != NULL) {
        memcpy(fresh, data, known->fence.size < size ? known->fence.size : size);
        zone_free(beyond, data, size);
    }
    return fresh;
}

static bool beyonds[] = {false, true};

#define CWJ_HANDLER(beyond)                                                     \
    {                                                                           \
        "cwrapjit_debug", 1,                                                    \
        {                                                                       \
            &beyonds[beyond], zone_malloc, zone_calloc, zone_realloc, zone_free \
        }                                                                       \
    }
static PyDataMem_Handler handlers[] = {CWJ_HANDLER(false), CWJ_HANDLER(true)};
#undef CWJ_HANDLER

static PyObject *capsules[2]; /* capsules of the handlers, kept for the life of the process
                                 because arrays use them */

PyObject *
cwj_zones_enter(bool beyond)
{
    if (capsules[beyond] == NULL) {
        capsules[beyond] = PyCapsule_New(&handlers[beyond], "mem_handler", NULL);
    }
    return capsules[beyond] == NULL ? NULL : PyDataMem_SetHandler(capsules[beyond]);
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
    PyObject *handler = PyArray_HANDLER(array);
    return PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA) && handler != NULL &&
           (handler == capsules[false] || handler == capsules[true]);
}

/* ---- checking the zones -------------------------------------------------------------------- */

const cwj_fence *
cwj_zones_find(const void *address)
{
    for (int i = 0; i < FENCED; i++) {
        if (cwj_fence_has(&newest[i], address)) {
            return &newest[i];
        }
    }
    return NULL;
}

bool
cwj_zones_damaged(const void *data, ptrdiff_t *offset)
{
    const header *known = header_of(data);
    if (known == NULL) {
        *offset = -(ptrdiff_t)((uintptr_t)data % tj_page_size());
        return true;
    }
    return cwj_fence_damaged(&known->fence, offset);
}

/* ---- checking the array -------------------------------------------------------------------- */

bool
cwj_zones_unwritten(PyArrayObject *array, npy_intp *offset)
{
    const unsigned char *data = PyArray_DATA(array);
    int type = PyArray_TYPE(array);
    npy_intp size = PyArray_ITEMSIZE(array) / (PyTypeNum_ISCOMPLEX(type) ? 2 : 1);
    npy_intp bytes = PyArray_NBYTES(array);
    /* Fewer bytes are too few to decide. */
    bool decides = size >= 4 && (PyTypeNum_ISNUMBER(type) || PyTypeNum_ISDATETIME(type));
    unsigned char fresh[sizeof(npy_longdouble)];
    memset(fresh, NEW_BYTE, sizeof(fresh));
    for (npy_intp at = 0; decides && at < bytes; at += size) {
        if (memcmp(data + at, fresh, (size_t)size) == 0) {
            *offset = at;
            return true;
        }
    }
    return false;
}
