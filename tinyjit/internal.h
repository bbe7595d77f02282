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
/* What came of an attempt: TJ_OK when the code was relocated, or what failed. */
tj_status tj_diagnosis_judge(const tj_diagnosis *diagnosis, bool relocated, tj_error *error);

/* ---- symbols.c --------------------------------------------------------- */

/* Functions that generated machine code calls without being told to. */
extern const tj_symbol tj_helper_symbols[];
extern const size_t tj_helper_count;
/* Names of libc that texts use without naming them: copies of structs, and what
 * macros of standard headers expand to. NULL-terminated. */
extern const char *const tj_implied_names[];

/* Functions of libc whose results depend on calls before. NULL-terminated. */
extern const char *const tj_remembering_names[];

/* The address of a name in what the process has loaded, or NULL. `again`: ask
 * the loader even if it did not know the name before. Compile lock held. */
const void *tj_process_symbol(const char *name, bool again);

/* ---- environment.c ----------------------------------------------------- */

struct tj_environment {
    int shares; /* atomic */
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
/* True if what is called there can be seen from outside, or remembers: what the
 * embedding program offers, other than looking at the call, libraries that the
 * user named, and libc's generators of random numbers and their like. */
bool tj_environment_speaks(const tj_environment *environment, const tj_symbol *symbol);

/* ---- backend.c --------------------------------------------------------- */

/* The small headers' folder; NULL before tj_backend_open(). Static. */
const char *tj_backend_include_dir(void);

/* One use of libtcc. The compile lock is held in all of the following. */
typedef struct TCCState tj_state;

typedef enum tj_file_kind {
    TJ_FILE_C,      /* whatever its name ends with */
    TJ_FILE_OBJECT, /* no name to tell it by */
    TJ_FILE_ANY     /* its kind is in the file */
} tj_file_kind;

bool tj_backend_is_open(void);
/* whole_files: for sources rather than for generated text. What libtcc says goes
 * to diagnosis, which the state keeps. Without memory diagnosis->messages has
 * failed; the result, if any, is the caller's all the same. */
tj_state *tj_state_new(const tj_environment *environment, bool whole_files,
                       tj_diagnosis *diagnosis);
void tj_state_free(tj_state *state);
/* These are false when libtcc has complained. */
bool tj_state_compile(tj_state *state, const char *text);
bool tj_state_add_file(tj_state *state, const char *path, tj_file_kind kind);
bool tj_state_relocate(tj_state *state);
void tj_state_add_archive(tj_state *state); /* libtcc1.a */
void tj_state_bind(tj_state *state, const char *name, const void *address);
void *tj_state_symbol(tj_state *state, const char *name); /* borrowed; NULL: not there */
void tj_state_each(tj_state *state,
                   void (*see)(void *context, const char *name, const void *address),
                   void *context);

/* ---- compile.c --------------------------------------------------------- */

/* Compiles the sources of environment to one unit and fills its exports. */
tj_status tj_compile_sources(tj_environment *environment, const tj_names *names, tj_unit **unit,
                             tj_messages *messages, tj_error *error);

/* Compiled code that another compiler left in a file. */
typedef struct tj_object {
    int fd;             /* borrowed: a file in memory */
    char **undefined;   /* owned list of owned names */
    size_t nundefined;
    size_t capacity;
    bool fuses;         /* its code may multiply and add with one rounding */
    bool keeps_state;   /* set by the caller: data that it may write is accepted */
} tj_object;

/* Loads an object that tj_object_check() accepted. Binds its symbols as a unit's,
 * with what compilers expect of their own libraries behind that. */
tj_status tj_load_object(const tj_environment *environment, const tj_object *object, tj_unit **unit,
                         tj_error *error);

/* ---- object.c ---------------------------------------------------------- */

/* True when bytes are a relocatable ELF64 file of this machine that libtcc can
 * load and that holds no data that it may write, unless object->keeps_state; the
 * names that it leaves undefined are appended to object. Any bytes may come. */
tj_status tj_object_check(const unsigned char *bytes, size_t size, tj_object *object,
                          tj_error *error);
/* The same of the file object->fd, which is made unchangeable first. */
tj_status tj_object_look(tj_object *object, tj_error *error);
void tj_object_clear(tj_object *object);

/* ---- fused.c ----------------------------------------------------------- */

/* False when it is certain that no instruction multiplies and adds with one
 * rounding. */
bool tj_code_fuses(const unsigned char *code, size_t size);
/* Bytes of the instruction at code; 0: it is not one that compilers emit. */
size_t tj_code_length(const unsigned char *code, size_t size);

/* ---- compiler.c -------------------------------------------------------- */

/* A growing NULL-terminated list of owned words. A failed allocation is sticky. */
typedef struct tj_words {
    char **items; /* owned */
    size_t count;
    size_t capacity;
    bool failed;
} tj_words;

void tj_words_add(tj_words *words, const char *bytes, size_t length);
void tj_words_clear(tj_words *words);

tj_status tj_compiler_copy(const tj_compiler *compiler, tj_compiler *copy, tj_error *error);
/* The number by which its process knows the object's file: 3, or 1 for what does
 * not pass descriptors on to its own processes (zig). */
int tj_compiler_object_number(const tj_compiler *compiler);
/* The whole command line, `narrow` without AVX-512: text from standard input, the object to that file. */
void tj_compiler_command(const tj_compiler *compiler, const tj_environment *environment,
                         const char *text, bool fastmath, bool narrow, tj_words *words);
/* Declares the functions of libm that this machine has for vectors. */
void tj_compiler_declare_vectors(tj_text *text);
/* What compilers call without being told to: vectors' functions of libmvec, the
 * helpers of libgcc. NULL: unknown. Compile lock held. */
const void *tj_compiler_symbol(const char *name);

/* ---- process.c --------------------------------------------------------- */

/* The files of a running compiler. */
typedef struct tj_pipework {
    int text;   /* what the process reads */
    int object; /* what it writes */
    int said;   /* its standard error */
    int number; /* the process knows the object by this: 1 or 3 */
} tj_pipework;

/* Makes the files, with text in the first. All -1 after a failure. */
tj_status tj_pipework_open(tj_pipework *files, const char *text, size_t length, tj_error *error);
void tj_pipework_close(tj_pipework *files);
/* Runs the command, with an environment (NULL: none), to its end, `seconds` at most, or until given_up. TJ_OK also
 * when nobody can tell how it ended: the object decides. */
tj_status tj_process_run(char *const *words, char *const *variables, const tj_pipework *files,
                         double seconds, bool (*given_up)(void *context), void *context,
                         tj_error *error);

/* ---- build.c ------------------------------------------------------------- */

/* A text for the optimizing compiler, and what is wanted of it. */
typedef struct tj_build {
    tj_environment *environment; /* a share, or NULL */
    char *text;                  /* owned */
    tj_compiler compiler;        /* owned */
    char *symbol;                /* owned */
    tj_words variables;          /* owned: a copy of the process' environment, which the
                                    thread that compiles cannot read: it may change */
    bool fastmath;
    bool keeps_state; /* as in tj_job_options */
} tj_build;

/* Copies all, in a thread in which nobody changes the environment meanwhile. Returns false without memory. */
bool tj_build_init(tj_build *build, tj_environment *environment, const char *text,
                   const tj_job_options *options);
void tj_build_clear(tj_build *build);
/* Appends what the compiler reads. */
void tj_build_write(const tj_build *build, tj_text *text);
/* Runs the compiler on files, which hold that text; `narrow` without AVX-512. As
 * tj_process_run(). */
tj_status tj_build_compile(const tj_build *build, bool narrow, const tj_pipework *files,
                           double seconds, bool (*given_up)(void *context), void *context,
                           tj_error *error);
/* Loads what tj_object_look() accepted and finds the symbol. unit is the caller's
 * then. */
tj_status tj_build_load(const tj_build *build, const tj_object *object, tj_unit **unit,
                        const void **address, tj_error *error);

#endif
