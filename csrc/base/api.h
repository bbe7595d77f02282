/* api.h: Python's and NumPy's C API, set up the same way for every file of csrc/. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION /* PyDataMem_SetHandler() */
#define PY_ARRAY_UNIQUE_SYMBOL cwrapjit_ARRAY_API
#ifndef CWJ_IMPORTS_NUMPY /* init.c alone fills the table that the others share */
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tinyjit.h"

/* Returns zeroed memory for PyMem_Free(), or NULL with MemoryError set. */
static inline void *
cwj_allocate(size_t count, size_t size)
{
    void *memory = PyMem_Calloc(count, size);
    return memory != NULL ? memory : PyErr_NoMemory();
}

/* Grows *(items *)array, which PyMem_Realloc() allocated, if it is full. Returns 0, or -1 with MemoryError set. */
static inline int
cwj_reserve(void *array, int count, int *capacity, size_t size)
{
    void *items;
    int longer = *capacity == 0 ? 4 : *capacity * 2;
    if (count < *capacity) {
        return 0;
    }
    memcpy(&items, array, sizeof(items));
    items = longer > INT_MAX / 4 ? NULL : PyMem_Realloc(items, (size_t)longer * size);
    if (items == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(array, &items, sizeof(items));
    *capacity = longer;
    return 0;
}
