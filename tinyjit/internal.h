/* internal.h: what the files of tinyjit share and nobody else sees.
 *
 * Everything public is in tinyjit.h. The parts below are grouped by the file
 * that defines them.
 */
#ifndef TJ_INTERNAL_H
#define TJ_INTERNAL_H

#include "tinyjit.h"

/* ---- memory.c ---------------------------------------------------------- */

/* Copies; NULL without memory, and for NULL. */
char *tj_copy_string(const char *string);
char *tj_copy_bytes(const char *bytes, size_t length);

/* Makes room for one more item of item_size bytes in the array *items, which
 * holds count of them. Returns false without memory; nothing has changed then. */
bool tj_grow(void *items, size_t count, size_t *capacity, size_t item_size);

/* ---- error.c ----------------------------------------------------------- */

tj_status tj_fail_no_memory(tj_error *error);

/* ---- messages.c -------------------------------------------------------- */

/* Appends all of `from` to `to` and leaves `from` empty. */
void tj_messages_move(tj_messages *to, tj_messages *from);

/* ---- map.c ------------------------------------------------------------- */

typedef struct tj_map_item {
    char *name; /* owned; NULL: a free slot */
    const void *address;
    bool neutral; /* as in tj_symbol */
} tj_map_item;

/* From names to addresses. A zeroed map is empty. */
typedef struct tj_map {
    tj_map_item *items; /* owned; a power of two of them, or NULL */
    size_t capacity;
    size_t count;
} tj_map;

/* Sets or replaces. Returns false without memory. */
bool tj_map_set(tj_map *map, const char *name, const void *address, bool neutral);
/* Borrowed until the next tj_map_set; NULL: not there. */
const tj_map_item *tj_map_get(const tj_map *map, const char *name);
void tj_map_clear(tj_map *map);

/* ---- worker.c ---------------------------------------------------------- */

/* The process-wide lock around libtcc. Not recursive. */
void tj_compile_lock(void);
void tj_compile_unlock(void);

/* Runs task(argument) to its end on a stack of TJ_COMPILE_STACK bytes. Returns
 * false, and runs nothing, when the system has no memory for one. Compile lock
 * held; not re-entrant. */
#define TJ_COMPILE_STACK ((size_t)32 << 20)
bool tj_run_on_big_stack(void (*task)(void *argument), void *argument);

/* ---- diagnose.c -------------------------------------------------------- */

/* How the compiler's own lines become messages. */
typedef struct tj_diagnosis {
    tj_messages messages;          /* owned */
    tj_map undefined;              /* owned: names that relocation did not find */
    bool exec_denied;              /* executable memory was refused */
    const char *const *quiet_dirs; /* borrowed, NULL-terminated: no warnings from there */
    bool lenient;                  /* whole files: warnings stay warnings */
    bool ignore;                   /* drop what comes */
} tj_diagnosis;

void tj_diagnose(tj_diagnosis *diagnosis, const char *line);
void tj_diagnosis_clear(tj_diagnosis *diagnosis);

/* ---- symbols.c --------------------------------------------------------- */

/* Functions that generated machine code calls without being told to. */
extern const tj_symbol tj_helper_symbols[];
extern const size_t tj_helper_count;
/* Names of libc that texts use without naming them: copies of structs, and what
 * macros of standard headers expand to. NULL-terminated. */
extern const char *const tj_implied_names[];

/* The address of a name in what the process has loaded, or NULL. `again`: ask
 * the loader even if it did not know the name before. Compile lock held. */
const void *tj_process_symbol(const char *name, bool again);

/* ---- environment.c ----------------------------------------------------- */

struct tj_environment {
    char **include_dirs; /* owned NULL-terminated lists of owned strings, or NULL */
    char **define_macros;
    char **sources;
    tj_map symbols;   /* owned: those of the embedding program */
    tj_map exports;   /* owned: what the sources define */
    void **libraries; /* owned: handles of dlopen */
    size_t nlibraries;
    tj_unit *sources_unit;            /* owned, or NULL */
    const char *const *host_prefixes; /* borrowed, NULL-terminated, or NULL */
};

/* Finds where a unit of environment gets name from. Returns false when there is
 * no such symbol. Compile lock held. */
bool tj_environment_find(const tj_environment *environment, const char *name, bool again,
                         tj_symbol *found);
/* True if binding this symbol means calling into the embedding program. */
bool tj_environment_is_host(const tj_environment *environment, const tj_symbol *symbol);

/* ---- compile.c --------------------------------------------------------- */

/* Compiles the sources of environment to one unit and fills its exports. */
tj_status tj_compile_sources(tj_environment *environment, const tj_names *names, tj_unit **unit,
                             tj_messages *messages, tj_error *error);

#endif
