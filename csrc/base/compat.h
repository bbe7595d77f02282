/* compat.h: functions of newer CPythons under names of our own, for all that are supported.
 *
 * Names with a leading underscore are CPython's own: they may go with any version. What has to be
 * used of them because an old version offers nothing else stands here, and in the list of
 * test_versions.py with its reason.
 */
#pragma once

/* Python.h and stdbool.h come before this file: m.write() embeds it. */

/* 1: *value is a new reference, 0: there is no such attribute, -1: an exception is set; *value is
 * NULL in both. Before 3.13 an AttributeError is made and dropped. */
static inline int
cwj_optional_attribute(PyObject *object, PyObject *name, PyObject **value)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyObject_GetOptionalAttr(object, name, value);
#else
    *value = PyObject_GetAttr(object, name);
    if (*value != NULL) {
        return 1;
    }
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return -1;
    }
    PyErr_Clear();
    return 0;
#endif
}

/* The state that holds the GIL, or NULL: of this thread only where CPython keeps one per thread
 * (3.12 and newer). */
static inline PyThreadState *
cwj_current_state(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyThreadState_GetUnchecked();
#else
    return _PyThreadState_UncheckedGet(); /* PyThreadState_Get() ends the process for NULL */
#endif
}

static inline bool
cwj_is_finalizing(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing(); /* sys.is_finalizing() cannot be asked without the GIL */
#endif
}
