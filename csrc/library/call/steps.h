/* steps.h: a call of a LibraryFunction: its frame and its steps. */
#pragma once

#include "library/tables/tables.h"

#include "base/tuples.h"

/* All arrays are in one piece of memory, on the C stack in the usual call. */
typedef struct cwj_library_frame {
    cwj_library_function *function; /* borrowed */
    cwj_slot *slots;       /* nparameters + 1 */
    cwj_slot *targets;     /* nparameters: what goes by pointer */
    PyObject **given;      /* narguments: borrowed; NULL: absent */
    PyObject **made;       /* nparameters + 1, the last for the result: outputs, and the memory of
                              items and texts; owned, or NULL */
    npy_intp *lengths;     /* nlengths: of buffers and items */
    npy_int64 *symbols;    /* nsymbols */
    int *sources;          /* nsymbols: the parameter that gave it its value, or -1 */
    Py_buffer *views;      /* nbuffers */
    int nviews;            /* held */
    bool strict;           /* for an interface: see cwj_scalar_take() */
    bool begun;            /* the call is counted, in this generation (objects/references.h) */
    int generation;
    bool called;           /* the C function has run, and its status was good */
    int error;   /* errno after the call, where check= wants it */
    bool warms; /* an argument is C text that the system's compiler could have */
    bool moves; /* C may move what other threads could look into: it runs with the GIL */
} cwj_library_frame;

/* call.c */
/* Bytes of memory behind the frame of a function. */
size_t cwj_library_frame_size(const cwj_library_function *function);
PyObject *cwj_library_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames);
/* Method _fits(*args, **kwargs): which arguments have a type that fits strictly, as a tuple of
 * bool, or None when they cannot be bound. */
PyObject *cwj_library_fits(PyObject *op, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames);

/* The steps. Each returns 0, or -1 with an exception set. Before them all memory of the frame is
 * zero: the slot of an absent argument holds NULL. */
int cwj_library_bind(cwj_library_frame *frame, PyObject *const *args, Py_ssize_t nargs,
                     PyObject *kwnames);
int cwj_library_take_value(cwj_library_frame *frame, int k, PyObject *object);
int cwj_library_take_array(cwj_library_frame *frame, int k, PyObject *object);
int cwj_library_take_items(cwj_library_frame *frame, int k, PyObject *object);
int cwj_library_take_string(cwj_library_frame *frame, int k, PyObject *object);
int cwj_library_take_texts(cwj_library_frame *frame, int k, PyObject *object);
int cwj_library_take_buffer(cwj_library_frame *frame, int k, PyObject *object);
int cwj_library_take_callback(cwj_library_frame *frame, int k, PyObject *object);
/* So long ran a call that has C text: when that is hot, its better code is asked for. Returns 0, or -1 with an
 * exception set. */
int cwj_library_warm(const cwj_library_frame *frame, uint64_t nanoseconds);
/* Closes streams of Python's files; an exception that is set stays. */
int cwj_library_end_streams(cwj_library_frame *frame);
int cwj_library_take_instance(cwj_library_frame *frame, int k, PyObject *object);
int cwj_library_take_instances(cwj_library_frame *frame, int k, PyObject *object);
int cwj_library_take_address(cwj_library_frame *frame, int k, PyObject *object);
int cwj_library_solve(cwj_library_frame *frame);
int cwj_library_check_overlap(const cwj_library_frame *frame);
int cwj_library_fill(cwj_library_frame *frame);
int cwj_library_refuse_looks(cwj_library_frame *frame);
/* status.c: asks check=, unless the status is good. */
int cwj_library_check_status(const cwj_library_frame *frame);
int cwj_library_read_lengths(cwj_library_frame *frame);
PyObject *cwj_library_pack(cwj_library_frame *frame);
/* Frees what C gave away, and nobody came to own. */
void cwj_library_drop(cwj_library_frame *frame);

/* What argument object parameter k has; NULL: absent. Borrowed. */
static inline PyObject *
cwj_library_given(const cwj_library_frame *frame, int k)
{
    int argument = frame->function->parameters[k].argument;
    return argument < 0 ? NULL : frame->given[argument];
}

/* take_quick.c: the short way of functions of numbers and instances, each given by position. */
typedef struct cwj_quick {
    cwj_slot slots[CWJ_MOST_SIMPLE + 1];
    struct cwj_instance *used[CWJ_MOST_SIMPLE]; /* borrowed: whose memory a call counts on */
    int nused;
    bool moves; /* as of the frame */
    PyObject *made; /* owned: the struct that C returns, into which slots[0] points; or NULL */
} cwj_quick;

/* Fills slots from 1 on and returns 1; 0, with nothing changed, where the long way has to look, and to raise
 * what is wrong; -1 with an exception set. */
int cwj_library_take_quick(const cwj_library_function *self, PyObject *const *args,
                           cwj_quick *quick);
/* An instance of (not of C's ownership) what is there, with what keeps it; None of NULL. */
PyObject *cwj_library_pack_borrowed(const cwj_library_frame *frame, const cwj_parameter *p,
                                    void *pointer);
PyObject *cwj_library_pack_quick(cwj_library_function *self, PyObject *const *args,
                                 cwj_quick *quick);

/* take_instances.c: true for what ends an object that Python owns: that is called once, and by the
 * owner, whatever class the object came through. */
bool cwj_library_is_destructor(const cwj_library_function *function, PyObject *object);
/* The same of an instance whose memory owner has; NULL: nobody. */
bool cwj_library_ends(const cwj_library_function *function, const struct cwj_instance *self,
                      const struct cwj_instance *owner);
/* Raises that; returns -1. */
int cwj_library_refuse_end(cwj_library_frame *frame, int k, const struct cwj_instance *self);
/* take_instances.c: counts the call on each instance that it has: change is 1 or -1. */
void cwj_library_use_instances(const cwj_library_frame *frame, Py_ssize_t change);

/* keep.c, of what C gives back. What keeps the memory of an array: an argument, several of them, or
 * the code. */
PyObject *cwj_library_base(const cwj_library_frame *frame, const cwj_parameter *result);
/* Whether a struct, a handle, an array or a Pointer is among its arguments. */
bool cwj_library_gets_memory(const cwj_library_function *function);
/* What keeps the memory at a pointer; new reference. NULL, perhaps with an exception: nothing. */
PyObject *cwj_library_keeper(const cwj_library_frame *frame, const cwj_parameter *result,
                             const void *pointer);
/* A struct that C filled may point into any argument: it keeps them all. */
int cwj_library_keep_arguments(const cwj_library_frame *frame, PyObject *made);
/* What keeps= says: what parameter k was given, or gave back, keeps others; nparameters for k: what C
 * returned, one more: the library. instance: may be anything, and NULL. */
int cwj_library_keep(const cwj_library_frame *frame, int k, PyObject *instance);
/* Nothing that is read-only becomes writeable by being returned: 1, 0, or -1 with an exception
 * set. */
int cwj_library_may_write(const cwj_library_frame *frame, const cwj_parameter *result);

/* evaluate.c: the value of a dim, with an exception when there is none. what: "n", for messages. */
int cwj_library_evaluate(const cwj_library_frame *frame, const cwj_dim *dim, PyObject *what,
                         npy_int64 *value);
/* The shape of what C gives back: p->ndim dims, none of them negative. */
int cwj_library_shape(const cwj_library_frame *frame, const cwj_parameter *p, npy_intp *shape);

/* sizes.c: asks for the sizes that C functions and structs say. */
int cwj_library_set_sizes(cwj_library_frame *frame);

/* Raise, with "WHO: " in front; -1 for `return`. */
int cwj_library_refuse(const cwj_library_frame *frame, PyObject *type, const char *format, ...);
/* "Expected an argument of type T for argument a, got G": the format is of G. */
int cwj_library_refuse_type(const cwj_library_frame *frame, int k, const char *format, ...);
/* The same for a number, or an item, that does not fit; or "argument a: 300 is out of range of
 * uint8". */
int cwj_library_refuse_number(const cwj_library_frame *frame, int k, cwj_fit fit, PyObject *number);
/* "n + 1, n is 3 by argument a": a dim, and its symbols. A new reference. */
PyObject *cwj_library_text_of_dim(const cwj_library_frame *frame, const cwj_dim *dim);
/* What messages call parameter k: its argument, or C's name of it. Borrowed. */
PyObject *cwj_library_name(const cwj_library_frame *frame, int k);
