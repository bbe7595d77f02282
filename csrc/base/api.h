/* api.h: Python's and NumPy's C API, set up the same way for every file of csrc/. */
#ifndef CWJ_BASE_API_H
#define CWJ_BASE_API_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION /* PyDataMem_SetHandler() */
#define PY_ARRAY_UNIQUE_SYMBOL cwrapjit_ARRAY_API
#ifndef CWJ_IMPORTS_NUMPY /* init.c alone fills the table that the others share */
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tinyjit.h"

/* Zeroed memory for PyMem_Free(), or NULL with MemoryError set. */
static inline void *
cwj_allocate(size_t count, size_t size)
{
    void *memory = PyMem_Calloc(count, size);
    return memory != NULL ? memory : PyErr_NoMemory();
}

#endif
