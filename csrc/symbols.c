/* symbols.c: the table of names that compiled code may use and csrc/ defines.
 *
 * Four parts: storages of graphs, entry points of the call path that stand in for
 * CPython's and libc's own (they take the GIL and print through sys.stdout), the
 * exception objects, and NumPy's macros as functions (shim.c). All but the last are neutral:
 * a snippet that uses nothing else may run without the GIL.
 */
#include "symbols.h"

#include "call.h"
#include "graph/storage.h"
#include "ready/ready.h"
#include "shim.h"

#define ENTRY(name) {#name, (const void *)cwj_##name, true}
#define CALL_PATH(name) {#name, (const void *)name, true}
#define EXCEPTION(name) {"PyExc_" #name, (const void *)&PyExc_##name, true}

static const tj_symbol own_symbols[] = {
    CALL_PATH(cwj_contiguous),
    CALL_PATH(cwj_contiguous_or_error),
    CALL_PATH(cwj_contiguous_all),
    CALL_PATH(cwj_contiguous_all_or_error),

    CALL_PATH(cwj_storage_get),
    CALL_PATH(cwj_storage_put),

    ENTRY(PyErr_SetString),
    ENTRY(PyErr_Format),
    ENTRY(PyErr_Occurred),
    ENTRY(PyErr_NoMemory),
    ENTRY(PyErr_Clear),
    ENTRY(PyErr_SetNone),
    ENTRY(PyErr_SetObject),
    ENTRY(printf),
    ENTRY(vprintf),
    ENTRY(puts),
    ENTRY(putchar),
    ENTRY(fprintf),
    ENTRY(vfprintf),
    ENTRY(fputs),
    ENTRY(fputc),
    ENTRY(putc),
    ENTRY(fwrite),
    ENTRY(fflush),

    EXCEPTION(BaseException),
    EXCEPTION(Exception),
    EXCEPTION(StopAsyncIteration),
    EXCEPTION(StopIteration),
    EXCEPTION(GeneratorExit),
    EXCEPTION(ArithmeticError),
    EXCEPTION(LookupError),
    EXCEPTION(AssertionError),
    EXCEPTION(AttributeError),
    EXCEPTION(BufferError),
    EXCEPTION(EOFError),
    EXCEPTION(FloatingPointError),
    EXCEPTION(OSError),
    EXCEPTION(EnvironmentError),
    EXCEPTION(IOError),
    EXCEPTION(ImportError),
    EXCEPTION(ModuleNotFoundError),
    EXCEPTION(IndexError),
    EXCEPTION(KeyError),
    EXCEPTION(KeyboardInterrupt),
    EXCEPTION(MemoryError),
    EXCEPTION(NameError),
    EXCEPTION(OverflowError),
    EXCEPTION(RuntimeError),
    EXCEPTION(RecursionError),
    EXCEPTION(NotImplementedError),
    EXCEPTION(SyntaxError),
    EXCEPTION(IndentationError),
    EXCEPTION(TabError),
    EXCEPTION(ReferenceError),
    EXCEPTION(SystemError),
    EXCEPTION(SystemExit),
    EXCEPTION(TypeError),
    EXCEPTION(UnboundLocalError),
    EXCEPTION(UnicodeError),
    EXCEPTION(UnicodeEncodeError),
    EXCEPTION(UnicodeDecodeError),
    EXCEPTION(UnicodeTranslateError),
    EXCEPTION(ValueError),
    EXCEPTION(ZeroDivisionError),
    EXCEPTION(BlockingIOError),
    EXCEPTION(BrokenPipeError),
    EXCEPTION(ChildProcessError),
    EXCEPTION(ConnectionError),
    EXCEPTION(ConnectionAbortedError),
    EXCEPTION(ConnectionRefusedError),
    EXCEPTION(ConnectionResetError),
    EXCEPTION(FileExistsError),
    EXCEPTION(FileNotFoundError),
    EXCEPTION(InterruptedError),
    EXCEPTION(IsADirectoryError),
    EXCEPTION(NotADirectoryError),
    EXCEPTION(PermissionError),
    EXCEPTION(ProcessLookupError),
    EXCEPTION(TimeoutError),
#if PY_VERSION_HEX >= 0x030D0000
    EXCEPTION(PythonFinalizationError),
#endif

    EXCEPTION(Warning),
    EXCEPTION(UserWarning),
    EXCEPTION(DeprecationWarning),
    EXCEPTION(PendingDeprecationWarning),
    EXCEPTION(SyntaxWarning),
    EXCEPTION(RuntimeWarning),
    EXCEPTION(FutureWarning),
    EXCEPTION(ImportWarning),
    EXCEPTION(UnicodeWarning),
    EXCEPTION(BytesWarning),
    EXCEPTION(ResourceWarning),
    EXCEPTION(EncodingWarning),
};

const tj_symbol *
cwj_symbols(size_t *count)
{
    static tj_symbol *table = NULL; /* made once; environments borrow it for good */
    size_t nown = sizeof(own_symbols) / sizeof(own_symbols[0]);
    size_t all = nown + cwj_shim_count + cwj_value_symbols_count;
    if (table == NULL) {
        tj_symbol *fresh = PyMem_Calloc(all, sizeof(tj_symbol));
        if (fresh == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        memcpy(fresh, own_symbols, sizeof(own_symbols));
        memcpy(fresh + nown, cwj_shim_symbols, cwj_shim_count * sizeof(tj_symbol));
        memcpy(fresh + nown + cwj_shim_count, cwj_value_symbols,
               cwj_value_symbols_count * sizeof(tj_symbol));
        table = fresh;
    }
    *count = all;
    return table;
}
