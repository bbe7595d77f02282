/* cwj_layout.h: the struct members of NumPy's arrays and dtypes, as fixed by its binary interface, for the small
 * <numpy/arrayobject.h> and for csrc/base/array_members.c, which compares them with the running NumPy. NumPy 2 moved
 * those of dtypes. */
#ifndef CWJ_LAYOUT_H
#define CWJ_LAYOUT_H

#define CWJ_ARRAY_MEMBERS         \
    PyObject ob_base;             \
    char *data;                   \
    int nd;                       \
    npy_intp *dimensions;         \
    npy_intp *strides;            \
    PyObject *base;               \
    struct _PyArray_Descr *descr; \
    int flags;                    \
    PyObject *weakreflist;        \
    void *_buffer_info;           \
    PyObject *mem_handler;

#define CWJ_DESCR_MEMBERS                   \
    PyObject ob_base;                       \
    PyTypeObject *typeobj;                  \
    char kind, type, byteorder, char_flags; \
    int type_num;
#define CWJ_DESCR_MEMBERS_1 CWJ_DESCR_MEMBERS int elsize, alignment;
#define CWJ_DESCR_MEMBERS_2             \
    CWJ_DESCR_MEMBERS npy_uint64 flags; \
    npy_intp elsize, alignment;

/* The dims and strides of an array without axes: 1 and 0, repeated. */
extern const npy_intp cwj_no_dims[], cwj_no_strides[];

#endif
