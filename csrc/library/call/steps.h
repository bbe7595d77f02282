/* steps.h: declares the frame of a LibraryFunction's call, and the steps that fill and use it. */
#pragma once

#include "library/tables/tables.h"

#include "base/tuples.h"

/* All arrays lie in one block of memory, which is on the C stack unless frame_size is large. */
typedef struct cwj_library_frame {
    cwj_library_function *function; /* borrowed */
    cwj_slot *slots;       /* nparameters + 1 */
    cwj_slot *targets;     /* nparameters: values that C reads or writes through a pointer */
    PyObject **given;      /* narguments: borrowed; NULL: absent */
    PyObject **made; /* owned or NULL: outputs, memory of items and texts; last, the result */
    npy_intp *lengths; /* nlengths: of buffers, items and lists */
    npy_int64 *symbols; /* nsymbols */
    int *sources; /* nsymbols: the parameter it comes from; nparameters: none; -1: unset */
    Py_buffer *views; /* nbuffers */
    int nviews; /* to release */
    bool strict; /* for an interface: see cwj_scalar_take() */
    bool begun; /* the call is counted in `generation` (objects/references.h) */
    int generation;
    bool called; /* the C function has run, and its status was good */
    int error; /* errno after the call if check= takes it */
    bool warms; /* an argument is C text whose running time is counted */
    bool moves; /* C may move memory that other threads could begin to read: it keeps the GIL */
} cwj_library_frame;

/* call.c */
/* Bytes that the arrays of a function's frame need. */
size_t cwj_library_frame_size(const cwj_library_function *function);
PyObject *cwj_library_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames);
/* Method _fits(*args, **kwargs): returns a tuple with True for each argument whose type fits strictly, or None if the
 * arguments cannot be bound. */
PyObject *cwj_library_fits(PyObject *op, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames);

/* The steps. Each returns 0, or -1 with an exception set. The memory of the frame is zeroed before, so the slot of an
 * absent argument holds NULL. */
int cwj_library_bind(cwj_library_frame *frame, PyObject *const *args, Py_ssize_t nargs,
                     PyObject *kwnames);
typedef int cwj_library_take(cwj_library_frame *frame, int k, PyObject *object);
cwj_library_take cwj_library_take_value, cwj_library_take_array, cwj_library_take_items,
    cwj_library_take_string, cwj_library_take_texts, cwj_library_take_buffer,
    cwj_library_take_callback, cwj_library_take_instance, cwj_library_take_instances,
    cwj_library_take_address;
/* Adds a call's time to the heat of the C texts among its arguments; asks for the `cc` code of those that are hot. */
int cwj_library_warm(const cwj_library_frame *frame, uint64_t nanoseconds);
/* Finishes the streams over Python's files. An exception that is already set stays set. */
int cwj_library_end_streams(cwj_library_frame *frame);
int cwj_library_solve(cwj_library_frame *frame);
int cwj_library_check_overlap(const cwj_library_frame *frame);
int cwj_library_fill(cwj_library_frame *frame);
int cwj_library_refuse_looks(cwj_library_frame *frame);
/* status.c: calls check= unless the status is good. */
int cwj_library_check_status(const cwj_library_frame *frame);
/* leave.c: raises what a call raises whose code was left. */
void cwj_library_raise_left(const cwj_library_function *function);
int cwj_library_read_lengths(cwj_library_frame *frame);
PyObject *cwj_library_pack(cwj_library_frame *frame);
/* Frees objects and memory that C gave away and no Python object owns yet. */
void cwj_library_drop(cwj_library_frame *frame);

/* The argument of parameter k, borrowed; NULL if it is absent. */
static inline PyObject *
cwj_library_given(const cwj_library_frame *frame, int k)
{
    int argument = frame->function->parameters[k].argument;
    return argument < 0 ? NULL : frame->given[argument];
}

/* take_quick.c: the state of a call that needs no frame. */
typedef struct cwj_quick {
    cwj_slot slots[CWJ_MOST_SIMPLE + 1];
    struct cwj_instance *used[CWJ_MOST_SIMPLE]; /* borrowed: roots of the instances given */
    int nused;
    bool moves; /* see cwj_library_frame */
    PyObject *made; /* owned: the struct that C returns, at slots[0].p; or NULL */
} cwj_quick;

/* Fills the slots from 1 on and returns 1; 0, with nothing changed, if the call, or an error of it, needs a frame; -1
 * with an exception set. */
int cwj_library_take_quick(const cwj_library_function *self, PyObject *const *args,
                           cwj_quick *quick);
/* An instance around `pointer`, which does not own it, but keeps its keeper alive; None if it is NULL. */
PyObject *cwj_library_pack_borrowed(const cwj_library_frame *frame, const cwj_parameter *p,
                                    void *pointer);
PyObject *cwj_library_pack_quick(cwj_library_function *self, PyObject *const *args,
                                 cwj_quick *quick);

/* take_instances.c: true if the function destroys `object` and Python owns it. Only the owner may call such a function,
 * once, whatever the class of `object`. */
bool cwj_library_is_destructor(const cwj_library_function *function, PyObject *object);
/* The same for an instance whose memory `owner` owns; owner may be NULL. */
bool cwj_library_ends(const cwj_library_function *function, const struct cwj_instance *self,
                      const struct cwj_instance *owner);
/* Raises TypeError for such a call, and returns -1. */
int cwj_library_refuse_end(cwj_library_frame *frame, int k, const struct cwj_instance *self);
/* take_instances.c: counts the call on each instance among its arguments: change is 1 or -1. */
void cwj_library_use_instances(const cwj_library_frame *frame, Py_ssize_t change);

/* keep.c: returns what keeps a result's memory alive: an argument, a tuple of several, or the code; new reference. */
PyObject *cwj_library_base(const cwj_library_frame *frame, const cwj_parameter *result);
/* True if the function takes a struct, a handle, an array or a Pointer. */
bool cwj_library_gets_memory(const cwj_library_function *function);
/* The object that keeps the memory at a pointer alive; new reference. NULL, perhaps with an exception, for none. */
PyObject *cwj_library_keeper(const cwj_library_frame *frame, const cwj_parameter *result,
                             const void *pointer);
/* Has a struct that C filled keep all arguments alive, as it may point into any of them. */
int cwj_library_keep_arguments(const cwj_library_frame *frame, PyObject *made);
/* Applies keeps= to keeper k: a parameter; nparameters: what C returned; nparameters + 1: the library. instance: the
 * object that shall keep arguments; NULL, and an object that is no instance, keep none. */
int cwj_library_keep(const cwj_library_frame *frame, int k, PyObject *instance);
/* 1 if a result may be writeable; 0 if it is const, or may lie in a read-only argument; -1 with an exception set. */
int cwj_library_may_write(const cwj_library_frame *frame, const cwj_parameter *result);

/* evaluate.c: computes a dim's value, or raises ValueError. what: its name in the message, "n". */
int cwj_library_evaluate(const cwj_library_frame *frame, const cwj_dim *dim, PyObject *what,
                         npy_int64 *value);
/* Computes the shape of an output or result: p->ndim dims, none of them negative. */
int cwj_library_shape(const cwj_library_frame *frame, const cwj_parameter *p, npy_intp *shape);

/* sizes.c: sets the symbols whose value a C function returns or a struct's member holds. */
int cwj_library_set_sizes(cwj_library_frame *frame);

/* Raises an exception whose message begins with "WHO: ". Returns -1, as all that refuse do. */
int cwj_library_refuse(const cwj_library_frame *frame, PyObject *type, const char *format, ...);
/* "Expected an argument of type T for argument a, got G": format makes G. */
int cwj_library_refuse_type(const cwj_library_frame *frame, int k, const char *format, ...);
/* The same for a number or an item that does not fit, or "argument a: 300 is out of range of uint8". */
int cwj_library_refuse_number(const cwj_library_frame *frame, int k, cwj_fit fit, PyObject *number);
/* Text of a dim and the values of its symbols: "n + 1, n is 3 by argument a". New reference. */
PyObject *cwj_library_text_of_dim(const cwj_library_frame *frame, const cwj_dim *dim);
/* The name of parameter k in messages: its argument's, or else C's. Borrowed. */
PyObject *cwj_library_name(const cwj_library_frame *frame, int k);
