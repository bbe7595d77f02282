/* symbols.c: the table of names that compiled code may use and csrc/ defines.
 *
 * The exception objects and the shapes of arrays without axes stand here, NumPy's macros as
 * functions in shim.c, the rest in the entries.c of each front end.
 */
#include "base/symbols.h"

#include "../../cwrapjit/include/cwj_layout.h"
#include "base/array_members.h"

#define X(name) {"PyExc_" #name, (const void *)&PyExc_##name, true}

/* clang-format off */
static const tj_symbol own_symbols[] = {
    {"cwj_no_dims", (const void *)cwj_no_dims, true},
    {"cwj_no_strides", (const void *)cwj_no_strides, true},

    X(BaseException), X(Exception), X(StopAsyncIteration), X(StopIteration), X(GeneratorExit),
    X(ArithmeticError), X(LookupError), X(AssertionError), X(AttributeError), X(BufferError),
    X(EOFError), X(FloatingPointError), X(OSError), X(EnvironmentError), X(IOError),
    X(ImportError), X(ModuleNotFoundError), X(IndexError), X(KeyError), X(KeyboardInterrupt),
    X(MemoryError), X(NameError), X(OverflowError), X(RuntimeError), X(RecursionError),
    X(NotImplementedError), X(SyntaxError), X(IndentationError), X(TabError), X(ReferenceError),
    X(SystemError), X(SystemExit), X(TypeError), X(UnboundLocalError), X(UnicodeError),
    X(UnicodeEncodeError), X(UnicodeDecodeError), X(UnicodeTranslateError), X(ValueError),
    X(ZeroDivisionError), X(BlockingIOError), X(BrokenPipeError), X(ChildProcessError),
    X(ConnectionError), X(ConnectionAbortedError), X(ConnectionRefusedError),
    X(ConnectionResetError), X(FileExistsError), X(FileNotFoundError), X(InterruptedError),
    X(IsADirectoryError), X(NotADirectoryError), X(PermissionError), X(ProcessLookupError),
    X(TimeoutError),
#if PY_VERSION_HEX >= 0x030D0000
    X(PythonFinalizationError),
#endif
#if PY_VERSION_HEX >= 0x030F0000
    X(ImportCycleError),
#endif
    X(Warning), X(UserWarning), X(DeprecationWarning), X(PendingDeprecationWarning),
    X(SyntaxWarning), X(RuntimeWarning), X(FutureWarning), X(ImportWarning), X(UnicodeWarning),
    X(BytesWarning), X(ResourceWarning), X(EncodingWarning),
};
/* clang-format on */

static const cwj_symbols own = {own_symbols, sizeof own_symbols / sizeof *own_symbols};

static const cwj_symbols *const *offered;

void
cwj_symbols_set(const cwj_symbols *const *front_ends)
{
    offered = front_ends;
}

/* Appends to a table that PyMem_Realloc() made. Returns false without memory. */
static bool
append(tj_symbol **table, size_t *count, const cwj_symbols *more)
{
    tj_symbol *longer = PyMem_Realloc(*table, (*count + more->count) * sizeof(tj_symbol));
    if (longer != NULL) {
        memcpy(longer + *count, more->items, more->count * sizeof(tj_symbol));
        *table = longer;
        *count += more->count;
    }
    return longer != NULL;
}

/* The table, made once: environments borrow it for good. */
static const tj_symbol *
all_symbols(size_t *count)
{
    static tj_symbol *table;
    static size_t length;
    if (table == NULL) {
        tj_symbol *made = NULL;
        size_t size = 0;
        bool fine = append(&made, &size, &own) && append(&made, &size, cwj_shim_symbols());
        for (const cwj_symbols *const *one = offered; *one != NULL && fine; one++) {
            fine = append(&made, &size, *one);
        }
        if (!fine) {
            PyMem_Free(made);
            PyErr_NoMemory();
            return NULL;
        }
        table = made;
        length = size;
    }
    *count = length;
    return table;
}

int
cwj_symbols_offer(tj_environment_options *options)
{
    static const char *const prefixes[] = {"Py", "_Py", NULL};
    options->host_prefixes = prefixes;
    options->host_macros = cwj_layout_macros();
    options->symbols = options->host_macros == NULL ? NULL : all_symbols(&options->nsymbols);
    return options->symbols == NULL ? -1 : 0;
}
