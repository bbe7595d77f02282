/* compat.h: provides functions of newer CPythons, under our own names, for all supported versions.
 *
 * Names with a leading underscore are private to CPython and may disappear in any version. Those that we need because
 * an old version has no public function are used only here. test_versions.py lists each with its reason. */
#pragma once

/* Python.h and stdbool.h come before this file: m.write() embeds it. */

/* Returns 1 and stores a new reference in *value; 0 if there is no such attribute; -1 with an exception set. In the
 * last two cases *value is NULL. Before 3.13 it creates and drops an AttributeError. */
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

/* Returns the thread state that holds the GIL, or NULL. Only since 3.12, CPython keeps one per
 * thread; before, the state may belong to another thread. */
static inline PyThreadState *
cwj_current_state(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyThreadState_GetUnchecked();
#else
    return _PyThreadState_UncheckedGet(); /* PyThreadState_Get() aborts the process if it is NULL */
#endif
}

static inline bool
cwj_is_finalizing(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing(); /* sys.is_finalizing() needs the GIL */
#endif
}
