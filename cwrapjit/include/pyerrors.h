/* pyerrors.h: raises Python exceptions from C. Part of the prelude and of this package's small <Python.h>. These
 * functions are bound to the project's own, which take the GIL if the running call has released it. */
#ifndef CWJ_PYERRORS_H
#define CWJ_PYERRORS_H

typedef struct _object PyObject;
typedef __PTRDIFF_TYPE__ Py_ssize_t;

void PyErr_SetString(PyObject *, const char *), PyErr_SetNone(PyObject *),
    PyErr_SetObject(PyObject *, PyObject *), PyErr_Clear(void);
PyObject *PyErr_Format(PyObject *, const char *, ...), *PyErr_Occurred(void), *PyErr_NoMemory(void);

/* Those that the running CPython lacks are unknown symbols if they are used: PythonFinalizationError exists from 3.13
 * on, ImportCycleError from 3.15 on. */
extern PyObject *PyExc_ArithmeticError, *PyExc_AssertionError, *PyExc_AttributeError,
    *PyExc_BaseException, *PyExc_BlockingIOError, *PyExc_BrokenPipeError, *PyExc_BufferError,
    *PyExc_BytesWarning, *PyExc_ChildProcessError, *PyExc_ConnectionAbortedError,
    *PyExc_ConnectionError, *PyExc_ConnectionRefusedError, *PyExc_ConnectionResetError,
    *PyExc_DeprecationWarning, *PyExc_EOFError, *PyExc_EncodingWarning, *PyExc_EnvironmentError,
    *PyExc_Exception, *PyExc_FileExistsError, *PyExc_FileNotFoundError, *PyExc_FloatingPointError,
    *PyExc_FutureWarning, *PyExc_GeneratorExit, *PyExc_IOError, *PyExc_ImportCycleError,
    *PyExc_ImportError, *PyExc_ImportWarning, *PyExc_IndentationError, *PyExc_IndexError,
    *PyExc_InterruptedError, *PyExc_IsADirectoryError, *PyExc_KeyError, *PyExc_KeyboardInterrupt,
    *PyExc_LookupError, *PyExc_MemoryError, *PyExc_ModuleNotFoundError, *PyExc_NameError,
    *PyExc_NotADirectoryError, *PyExc_NotImplementedError, *PyExc_OSError, *PyExc_OverflowError,
    *PyExc_PendingDeprecationWarning, *PyExc_PermissionError, *PyExc_ProcessLookupError,
    *PyExc_PythonFinalizationError, *PyExc_RecursionError, *PyExc_ReferenceError,
    *PyExc_ResourceWarning, *PyExc_RuntimeError, *PyExc_RuntimeWarning, *PyExc_StopAsyncIteration,
    *PyExc_StopIteration, *PyExc_SyntaxError, *PyExc_SyntaxWarning, *PyExc_SystemError,
    *PyExc_SystemExit, *PyExc_TabError, *PyExc_TimeoutError, *PyExc_TypeError,
    *PyExc_UnboundLocalError, *PyExc_UnicodeDecodeError, *PyExc_UnicodeEncodeError,
    *PyExc_UnicodeError, *PyExc_UnicodeTranslateError, *PyExc_UnicodeWarning, *PyExc_UserWarning,
    *PyExc_ValueError, *PyExc_Warning, *PyExc_ZeroDivisionError;

#endif
