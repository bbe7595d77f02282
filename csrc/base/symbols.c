/* symbols.c: the table of names that compiled code may use and csrc/ defines.
 *
 * The exception objects and the shapes of arrays without axes stand here, NumPy's macros as
 * functions in shim.c, the rest in the entries.c of each front end.
 */
#include "base/symbols.h"

#include "../../cwrapjit/include/cwj_layout.h"
#include "base/array_members.h"
#include "base/shim.h"

#define EXCEPTION(name) {"PyExc_" #name, (const void *)&PyExc_##name, true}

static const tj_symbol own_symbols[] = {
    {"cwj_no_dims", (const void *)cwj_no_dims, true},
    {"cwj_no_strides", (const void *)cwj_no_strides, true},

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

static const cwj_symbols own = {own_symbols, sizeof own_symbols / sizeof *own_symbols};

static const cwj_symbols *const *offered;

void
cwj_symbols_set(const cwj_symbols *const *front_ends)
{
    offered = front_ends;
}

/* Returns how many there are; copies them to table unless that is NULL. */
static size_t
copy_symbols(tj_symbol *table, size_t count, const cwj_symbols *from)
{
    if (table != NULL) {
        memcpy(table + count, from->items, from->count * sizeof(tj_symbol));
    }
    return count + from->count;
}

static size_t
copy_all(tj_symbol *table)
{
    size_t count = copy_symbols(table, copy_symbols(table, 0, &own), &cwj_shim_symbols);
    for (const cwj_symbols *const *one = offered; *one != NULL; one++) {
        count = copy_symbols(table, count, *one);
    }
    return count;
}

/* The table, made once: environments borrow it for good. */
static const tj_symbol *
all_symbols(size_t *count)
{
    static tj_symbol *table = NULL;
    *count = copy_all(NULL);
    if (table == NULL) {
        table = PyMem_Calloc(*count, sizeof(tj_symbol));
        if (table == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        copy_all(table);
    }
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
