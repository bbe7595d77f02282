/* call.h: declares the call path, from Python arguments to a result.
 *
 * The call path is compiled into the extension, and m.write() embeds its text in emitted modules, so both behave the
 * same by construction. Besides CPython and NumPy, it needs only the files that call.c includes.
 *
 * One call, in the order of run_call() in csrc/function/call/call.c:
 *
 *     bind -> convert -> match -> resolve -> allocate -> overlap
 *          -> validate -> loop -> return          (cleanup: always) */
#pragma once

/* Python.h, numpy/arrayobject.h, stdbool.h, stdio.h come before this file. */
#include "abi.h"

/* What recent timed calls of a type set had in common: constants for specialised loops. */
typedef struct cwj_profile {
    unsigned long long time;   /* ns that calls with these dims took; 0: none yet */
    unsigned long long steady; /* ns of those that also had these steps and strides */
    int contiguous;            /* the slices of every operand are contiguous; see meter.c */
    npy_intp *named;           /* [nnamed] lengths of the named dims */
    /* Bytes: [noperands] steps of the innermost loop, then all operands' core strides. */
    npy_intp *strides;
} cwj_profile;

/* A callable function: its descriptor and what is derived from it. Its owner embeds it. */
typedef struct cwj_runtime {
    const cwj_function_decl *decl; /* borrowed */
    int flags;                     /* decl->flags, and those that define.c adds later */
    int threads;                   /* as decl->threads; 1: never parallel */
    int has_user_data;             /* there is a cookie, or extras */
    int has_core;                  /* some operand has core dims */
    int has_inout;                 /* some input is updated in place */
    int has_output_dims;           /* outputs name dims that only out= gives */
    int has_units;                 /* some type set takes datetimes of any unit */
    int has_plain_types;           /* NumPy has only one dtype object for each type */
    int may_be_quick;              /* quick.c may make short calls */
    PyArray_Descr *unit_descrs[2]; /* owned: datetime64 and timedelta64 in the unit of the last
                                      call, or NULL; the GIL guards them */
    int guess;                     /* the type set to try first */
    int nnames;
    PyObject **names;       /* owned, interned: inputs, "out", extras */
    PyArray_Descr **descrs; /* owned: typeset x operand; NULL if any itemsize fits */
    /* The current loops, one per type set. Another thread may replace one at any time: read
     * it with __atomic_load_n(..., __ATOMIC_ACQUIRE) before each chunk. */
    cwj_loop **loops;

    double cost;      /* ns per unit of work lately (meter.c); 0: unknown. The GIL guards this
                         and all below. */
    int until_sample; /* short calls until one is timed */
    long long calls;  /* see cwj_calls_made() */
    long long *copied; /* owned: [noperands] calls that copied it, whole or by slices */

    /* Measurements for the code that compiles better loops. */
    cwj_profile *profiles;        /* owned: one per type set */
    unsigned long long heat;      /* ns in loops so far; short calls count by samples */
    unsigned long long hot_at;    /* `hot` is called when heat reaches this */
    /* Called with the GIL held, between slices; sets hot_at anew. It does not fail. Python
     * code may run in it; if that raises, the exception stays set and ends the call. NULL if
     * there are no better loops, as in emitted modules. */
    void (*hot)(struct cwj_runtime *runtime, int typeset);
    /* Makes the call if an argument overrides __array_ufunc__ (pandas columns, for example), or
     * if it has a keyword of ufuncs. NULL: such arguments are refused, as in emitted modules. */
    PyObject *(*foreign)(struct cwj_runtime *runtime, PyObject *const *args, size_t nargsf,
                         PyObject *kwnames);
    /* Raises what a call raises whose code was left (base/leave.h). NULL in emitted modules. */
    void (*left)(struct cwj_runtime *runtime);
    PyObject *watcher; /* borrowed: context variable (progress.c); NULL in emitted modules */
} cwj_runtime;

/* Returns empty profiles, one per type set, in one block (free it with PyMem_Free); NULL with MemoryError set. */
cwj_profile *cwj_profiles_new(const cwj_function_decl *decl);
/* Returns the number of strides in a profile. */
size_t cwj_profile_strides(const cwj_function_decl *decl);

/* Fills runtime. Returns 0, or -1 with an exception set. */
int cwj_runtime_init(cwj_runtime *runtime, const cwj_function_decl *decl);
/* Frees what runtime owns. A zeroed runtime is fine. */
void cwj_runtime_clear(cwj_runtime *runtime);

/* Calls the function, by the vectorcall protocol. Returns a new reference, or NULL with an exception set: TypeError
 * (types, counts), ValueError (shapes, layout, writability), OverflowError (integers), RuntimeError (a snippet returned
 * false and raised nothing), what a snippet or an array-like raised, MemoryError or KeyboardInterrupt. */
PyObject *cwj_invoke(cwj_runtime *runtime, PyObject *const *args, size_t nargsf, PyObject *kwnames);

/* Returns the number of calls, including those that failed. Quick calls count in until_sample only. */
static inline long long
cwj_calls_made(const cwj_runtime *runtime)
{
    return runtime->calls + 1 - runtime->until_sample;
}

/* A loop of a function, for other compiled code that runs it without a call. */
typedef struct cwj_loop_entry {
    cwj_runtime *runtime; /* borrowed */
    int typeset;
    int may_raise; /* its slices may set an exception */
    size_t bytes;  /* that a run needs on the stack or the heap */
    int index[];   /* per core dim of all operands: its number among the distinct ones */
} cwj_loop_entry;

/* Returns one block (free it with PyMem_Free), or NULL with MemoryError set. */
cwj_loop_entry *cwj_loop_entry_new(cwj_runtime *runtime, int typeset, int may_raise);
/* Runs dims[0] slices in the current loop. dims[1...] are the distinct core dims, in order of first appearance. steps:
 * one step per operand, then the core strides of all operands. extras: the struct of the extra arguments, or NULL for
 * their defaults. Works on any thread, with or without the GIL. Returns 1; 0 if a slice returned false or raised (then
 * reported as unraisable), or if there was no memory. The function must have no cookie and no validate. */
int cwj_loop_entry_run(const cwj_loop_entry *entry, char **data, const npy_intp *dims,
                       const npy_intp *steps, void *extras);

/* Numbers the distinct core dims of all operands from 0, in order of first appearance; equal fixed lengths count once,
 * like names. index[] gets the number of each core dim. index and seen have room for all. Returns their number. */
int cwj_number_core_dims(const cwj_function_decl *decl, npy_intp *seen, int *index);

/* For code between the call path and a function's snippets. */

/* Returns the type set of a running call. */
int cwj_typeset_index(const cwj_call *cwj);
/* Runs task(argument) with the GIL, on a thread that runs slices. */
void cwj_in_python(void (*task)(void *), void *argument);
/* Returns the address, constant on each thread, of the number of entry points (gil.c) that the thread is inside. */
const int *cwj_entered_python(void);

/* For slices that run in somebody else's loop, like NumPy's for a ufunc, with or without the GIL. cwj_numpy_loop_run()
 * runs the task unless an exception is pending; the task gets the call that compiled code sees. If the slices raise,
 * the exception is set afterwards, as after a call. operands describe the slices' dims and strides. */
typedef int cwj_numpy_loop_task(void *argument,
                                const cwj_call *call); /* 0: a slice returned false */
void cwj_numpy_loop_run(cwj_runtime *runtime, int typeset, const cwj_operand *operands,
                        cwj_numpy_loop_task *task, void *argument);
/* Like cwj_in_python(), in such a task. */
void cwj_numpy_loop_in_python(void (*task)(void *), void *argument);
/* Call this in such a task, with the GIL held and no exception set. Notes that slices took `ns`, and lately had these
 * named dims and strides (as in cwj_profile). May run Python code. */
void cwj_note_numpy_loop(const cwj_call *call, const npy_intp *named, const npy_intp *strides,
                         unsigned long long ns);

/* Returns the number of malloc() blocks that running calls hold. */
ptrdiff_t cwj_call_blocks(void);

/* Snippets call these instead of CPython's and libc's functions. They take the GIL if the running call has released it,
 * and write through sys.stdout and sys.stderr, so that text appears in order and in the right notebook cell. */
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
