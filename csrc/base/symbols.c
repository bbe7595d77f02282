/* symbols.c: the table of names that compiled code may use and csrc/ defines.
 *
 * The shapes of arrays without axes stand here, NumPy's macros as functions in shim.c, the rest in the
 * entries.c of each front end. What Python itself exports is found in the process.
 */
#include "base/symbols.h"

#include "../../cwrapjit/include/cwj_layout.h"
#include "base/array_members.h"

static const tj_symbol own_symbols[] = {
    {"cwj_no_dims", (const void *)cwj_no_dims, true},
    {"cwj_no_strides", (const void *)cwj_no_strides, true},
};

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
    options->host_data = "PyExc_";
    options->host_macros = cwj_layout_macros();
    options->symbols = options->host_macros == NULL ? NULL : all_symbols(&options->nsymbols);
    return options->symbols == NULL ? -1 : 0;
}
