/* call.h: the call path, from Python arguments to a result.
 *
 * The call path needs CPython and NumPy and nothing else of this project but
 * abi.h. It is compiled into the extension, and m.write() embeds its text in
 * the modules that it emits, so that both behave the same by construction.
 *
 * One call, in the order of csrc/call.c:
 *
 *     bind -> convert -> match -> resolve -> allocate -> overlap
 *          -> validate -> loop -> return          (cleanup: always)
 */
#ifndef CWJ_CALL_H
#define CWJ_CALL_H

/* Python.h, numpy/arrayobject.h, stdbool.h, stdio.h come before this file. */
#include "../tinyjit/abi.h"

/* A function that can be called: its descriptor and what was derived from it.
 * Embedded by value in whatever owns it. */
typedef struct cwj_runtime {
    const cwj_function_decl *decl; /* borrowed */
    int release_gil;               /* no snippet needs the GIL */
    int nnames;
    PyObject **names;       /* owned, interned: inputs, "out", extras */
    PyArray_Descr **descrs; /* owned: typeset x operand; NULL where any itemsize fits */
    cwj_loop **loops;       /* one per type set: what runs today */
} cwj_runtime;

/* Fills runtime. Returns 0, or -1 with an exception set (MemoryError). */
int cwj_runtime_init(cwj_runtime *runtime, const cwj_function_decl *decl);
/* Frees what runtime owns; a zeroed runtime is fine. */
void cwj_runtime_clear(cwj_runtime *runtime);

/* Calls the function: the vectorcall protocol. Returns a new reference, or
 * NULL with TypeError (types, counts), ValueError (shapes, layout,
 * writability), RuntimeError (a snippet returned false and set nothing) or
 * whatever a snippet raised. */
PyObject *cwj_invoke(cwj_runtime *runtime, PyObject *const *args, size_t nargsf, PyObject *kwnames);

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
int cwj_putc(int byte, FILE *file);
size_t cwj_fwrite(const void *bytes, size_t size, size_t count, FILE *file);
int cwj_fflush(FILE *file);

#endif
