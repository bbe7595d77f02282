/* call.h: the call path, from Python arguments to a result.
 *
 * The call path needs CPython and NumPy and nothing else of this project but
 * abi.h. It is compiled into the extension, and m.write() embeds its text in
 * the modules that it emits, so that both behave the same by construction.
 *
 * One call, in the order of csrc/function/call/call.c:
 *
 *     bind -> convert -> match -> resolve -> allocate -> overlap
 *          -> validate -> loop -> return          (cleanup: always)
 */
#pragma once

/* Python.h, numpy/arrayobject.h, stdbool.h, stdio.h come before this file. */
#include "abi.h"

/* What the calls of one type set had in common lately, as far as they were
 * timed: what a specialised loop may take for constant. */
typedef struct cwj_profile {
    unsigned long long time;   /* ns that calls of these dims took, 0: none yet */
    unsigned long long steady; /* those of them with these steps and strides, too */
    int contiguous;            /* the slices of every operand are C-contiguous */
    npy_intp *named;           /* [nnamed] elements */
    /* Bytes: [noperands] steps of the innermost loop, then the core strides of
     * all operands. */
    npy_intp *strides;
} cwj_profile;

/* A function that can be called: its descriptor and what was derived from it.
 * Embedded by value in whatever owns it. */
typedef struct cwj_runtime {
    const cwj_function_decl *decl; /* borrowed */
    int flags;                     /* as decl->flags; what was found out later is set, too */
    int threads;                   /* as decl->threads; 1: never parallel */
    int has_user_data;             /* there is a cookie, or extras */
    int has_core;                  /* some operand has core dims */
    int has_inout;                 /* some input is updated in place */
    int has_output_dims;           /* outputs name dims that nothing but out= tells */
    int has_units;                 /* some type set takes datetimes of any unit */
    int has_plain_types;           /* each type is one object, descrs[i], in all of NumPy */
    int may_be_quick;              /* short calls may take the way of quick.c */
    PyArray_Descr *unit_descrs[2]; /* owned: datetime64 and timedelta64 of the unit that a call
                                      had last, NULL before; the GIL guards them */
    int guess;                     /* the type set to try first */
    int nnames;
    PyObject **names;       /* owned, interned: inputs, "out", extras */
    PyArray_Descr **descrs; /* owned: typeset x operand; NULL where any itemsize fits */
    /* One per type set: what runs today. Another thread may replace one at any
     * time: read with __atomic_load_n(..., __ATOMIC_ACQUIRE), before each chunk. */
    cwj_loop **loops;

    double cost;      /* ns that a unit of work took lately (meter.c), 0: not known. The GIL
                         guards this and all below. */
    int until_sample; /* short calls until one is timed */
    long long calls;  /* see cwj_calls_made() */
    long long *copied; /* owned: [noperands] calls that copied it, whole or slice by slice */

    /* What calls tell whoever compiles better loops. */
    cwj_profile *profiles;        /* owned: one per type set */
    unsigned long long heat;      /* ns that loops took in all, short calls by samples */
    unsigned long long hot_at;    /* `hot` is called when heat reaches this */
    /* Called with the GIL held, between slices; it sets hot_at anew. NULL: nobody
     * asks, as in emitted modules. It never fails; an exception that it sets is of what
     * struck the Python code that may run there, and ends the call. */
    void (*hot)(struct cwj_runtime *runtime, int typeset);
    /* Makes the call for arguments that take NumPy's calls over, as columns of pandas do. NULL: they
     * are refused, as in emitted modules. */
    PyObject *(*foreign)(struct cwj_runtime *runtime, PyObject *const *args, size_t nargsf,
                         PyObject *kwnames);
    PyObject *watcher; /* borrowed: a context variable (progress.c); NULL: none, as in emitted
                          modules */
} cwj_runtime;

/* Profiles of nothing yet, one per type set, in one block (PyMem_Free); NULL with
 * MemoryError. */
cwj_profile *cwj_profiles_new(const cwj_function_decl *decl);
/* How many strides a profile has, which stand behind its named dims. */
size_t cwj_profile_strides(const cwj_function_decl *decl);

/* Fills runtime. Returns 0, or -1 with an exception set (MemoryError). */
int cwj_runtime_init(cwj_runtime *runtime, const cwj_function_decl *decl);
/* Frees what runtime owns; a zeroed runtime is fine. */
void cwj_runtime_clear(cwj_runtime *runtime);

/* Calls the function: the vectorcall protocol. Returns a new reference, or
 * NULL with TypeError (types, counts), ValueError (shapes, layout,
 * writability), RuntimeError (a snippet returned false and set nothing) or
 * whatever a snippet raised. */
PyObject *cwj_invoke(cwj_runtime *runtime, PyObject *const *args, size_t nargsf, PyObject *kwnames);

/* How many calls there were, those that failed included. The quickest of them count in until_sample
 * alone, which they have to write anyway. */
static inline long long
cwj_calls_made(const cwj_runtime *runtime)
{
    return runtime->calls + 1 - runtime->until_sample;
}

/* A function's loop for other compiled code, which calls it without a call. */
typedef struct cwj_loop_entry {
    cwj_runtime *runtime; /* borrowed */
    int typeset;
    int may_raise; /* its slices may leave an exception behind */
    size_t bytes;  /* what a run needs on the stack, or of the heap */
    int index[];   /* per core dim of all operands: which of the distinct ones it is */
} cwj_loop_entry;

/* One block (PyMem_Free), or NULL with MemoryError. */
cwj_loop_entry *cwj_loop_entry_new(cwj_runtime *runtime, int typeset, int may_raise);
/* Runs dims[0] slices, in whatever loop is in place: dims[1...] are the distinct core dims, in
 * the order of their appearance, and behind one step per operand stand the core strides of all
 * of them. extras: the extra arguments' struct, or NULL for their defaults. With or without the
 * GIL, from any thread. Returns 1, or 0 where a slice returned false, raised something (which is
 * reported as unraisable), or there was no memory. The function has neither cookie nor validate. */
int cwj_loop_entry_run(const cwj_loop_entry *entry, char **data, const npy_intp *dims,
                       const npy_intp *steps, void *extras);

/* Which of the distinct core dims each core dim of all operands is, from 0: they count once, in the
 * order of their first appearance; lengths as names do. index and seen have room for all of them.
 * Returns how many there are. */
int cwj_number_core_dims(const cwj_function_decl *decl, npy_intp *seen, int *index);

/* For code that stands between the call path and a function's snippets. */

/* The type set of a running call. */
int cwj_typeset_index(const cwj_call *cwj);
/* Runs task(argument) with the GIL, in a thread that runs slices. */
void cwj_in_python(void (*task)(void *), void *argument);
/* How deep this thread is inside of what snippets call to get there; the address stays. */
const int *cwj_entered_python(void);

/* For slices that somebody else's loop runs, as NumPy does for a ufunc, with the GIL or without
 * it. cwj_numpy_loop_run() runs the task, which gets what compiled code sees of a call, unless an exception
 * is pending; one of the slices' is set behind it, as after a call. operands have the geometry of
 * slices. */
typedef int cwj_numpy_loop_task(void *argument,
                                const cwj_call *call); /* 0: a slice returned false */
void cwj_numpy_loop_run(cwj_runtime *runtime, int typeset, const cwj_operand *operands,
                        cwj_numpy_loop_task *task, void *argument);
/* As cwj_in_python(), in such a task. */
void cwj_numpy_loop_in_python(void (*task)(void *), void *argument);
/* In such a task, with the GIL held and no exception set: slices took so much time, lately with
 * these named dims and strides, which are as in cwj_profile. May run Python code. */
void cwj_note_lent(const cwj_call *call, const npy_intp *named, const npy_intp *strides,
                   unsigned long long ns);

/* Blocks of malloc() that running calls have. */
ptrdiff_t cwj_call_blocks(void);

/* What snippets call instead of CPython's and libc's own: these take the GIL
 * where the running call has released it, and write through sys.stdout and
 * sys.stderr, so that texts appear in order and in the right notebook cell. */
void cwj_PyErr_SetString(PyObject *type, const char *text);
PyObject *cwj_PyErr_Format(PyObject *type, const char *format, ...);
PyObject *cwj_PyErr_Occurred(void);
PyObject *cwj_PyErr_NoMemory(void);
void cwj_PyErr_Clear(void);
void cwj_PyErr_SetNone(PyObject *type);
void cwj_PyErr_SetObject(PyObject *type, PyObject *value);
int cwj_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cwj_vprintf(const char *format, va_list arguments);
int cwj_puts(const char *text);
int cwj_putchar(int byte);
int cwj_fprintf(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cwj_vfprintf(FILE *file, const char *format, va_list arguments);
int cwj_fputs(const char *text, FILE *file);
int cwj_fputc(int byte, FILE *file);
size_t cwj_fwrite(const void *bytes, size_t size, size_t count, FILE *file);
int cwj_fflush(FILE *file);
