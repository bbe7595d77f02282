/* internal.h: declares everything that the files of tinyjit share and that is not public.
 *
 * Public declarations are in tinyjit.h. The parts below are grouped by the file that defines them. */
#pragma once

#include <stdarg.h>

#include "os/big_stack.h"
#include "os/process.h"
#include "tinyjit.h"

/* ---- memory.c ---------------------------------------------------------- */

/* Returns a copy; NULL if out of memory, and for NULL. */
char *tj_copy_string(const char *string);
char *tj_copy_bytes(const char *bytes, size_t length);

/* Makes room for one more item of item_size bytes in the array *items, which holds `count` items. Returns
 * false if out of memory; the array is then unchanged. */
bool tj_grow(void *items, size_t count, size_t *capacity, size_t item_size);

/* ---- error.c ----------------------------------------------------------- */

tj_status tj_fail_no_memory(tj_error *error);

/* ---- text.c ------------------------------------------------------------ */

void tj_text_vprintf(tj_text *text, const char *format, va_list arguments);

/* ---- words.c ----------------------------------------------------------- */

/* A growing NULL-terminated list of owned words. If an allocation fails, `failed` stays set. */
typedef struct tj_words {
    char **items; /* owned */
    size_t count;
    size_t capacity;
    bool failed;
} tj_words;

void tj_words_add(tj_words *words, const char *bytes, size_t length);
void tj_words_add_list(tj_words *words, const char *const *list); /* NULL-terminated, or NULL */
void tj_words_clear(tj_words *words);

/* ---- line_directives.c ------------------------------------------------- */

/* A part of a text, borrowed. */
typedef struct tj_stretch {
    const char *start;
    size_t length;
} tj_stretch;

/* Reads `#line 12 "file"`: its number, and the file's name as it is written. */
bool tj_read_line_directive(tj_stretch line, int *number, tj_stretch *file);
/* Returns true if the directive names this file, with or without escapes. */
bool tj_is_file_of_line(const char *name, tj_stretch file);
/* Returns the line with that number, counted as the text's #line directives say. If the text is shorter,
 * returns the last line that is not blank and sets *number to its number. */
tj_stretch tj_piece_line(const tj_piece *piece, int *number);

/* ---- messages.c -------------------------------------------------------- */

/* Appends all of `from` to `to` and leaves `from` empty. */
void tj_messages_move(tj_messages *to, tj_messages *from);

/* Appends copies. Returns false if out of memory. */
bool tj_messages_copy(tj_messages *to, const tj_messages *from);
/* Returns TJ_OK if there are as many messages as before a check; otherwise fails with the text, or out of memory. */
tj_status tj_messages_judge(const tj_messages *messages, size_t before, const char *text,
                            tj_error *error);
/* Returns true if `messages` contains the same message about the same place. */
bool tj_messages_have(const tj_messages *messages, const tj_message *one);
/* Like tj_messages_locate(), for a generated text whose #line directives name its lines. Known columns stay. */
void tj_messages_locate_lines(tj_messages *messages, const char *text, size_t length);

/* ---- hints.c ----------------------------------------------------------- */

/* Adds a hint to an error whose line is known, if the compiler's text does not name the actual fault. */
void tj_message_hint(tj_message *message, const tj_piece *piece);
/* Refuses item__x(7) in a slice of three elements. tokens: those of the piece after macro expansion. */
struct tj_tokens;
void tj_spec_check_indices(const tj_spec *spec, const struct tj_tokens *tokens,
                           const tj_piece *piece, tj_messages *messages);

/* ---- map.c ------------------------------------------------------------- */

typedef struct tj_map_item {
    char *name; /* owned; NULL: a free slot */
    const void *address;
    bool neutral; /* like tj_symbol.neutral */
} tj_map_item;

/* Maps names to addresses. A zeroed map is empty. */
typedef struct tj_map {
    tj_map_item *items; /* owned: a power of two of slots, or NULL */
    size_t capacity;
    size_t count;
} tj_map;

/* Adds or replaces an item. Returns false if out of memory. */
bool tj_map_set(tj_map *map, const char *name, const void *address, bool neutral);
/* Returns the item of that name, and adds it if it is missing. NULL if out of memory. */
tj_map_item *tj_map_add(tj_map *map, const char *name, size_t length);
/* Returns the item, borrowed until the next item is added, or NULL. */
const tj_map_item *tj_map_get(const tj_map *map, const char *name);
/* Like tj_map_get(), for `prefix` and `name` joined. */
const tj_map_item *tj_map_find(const tj_map *map, const char *prefix, size_t prefix_length,
                               const char *name, size_t length);
void tj_map_clear(tj_map *map);

/* ---- compile_lock.c ---------------------------------------------------- */

/* The process-wide lock around libtcc. Not recursive. */
void tj_compile_lock(void);
void tj_compile_unlock(void);

/* ---- diagnose.c -------------------------------------------------------- */

/* Turns the compiler's output lines into messages. */
typedef struct tj_diagnosis {
    tj_messages messages;          /* owned */
    tj_map undefined;              /* owned: names that relocation did not find */
    int denied;                    /* the errno if memory could not be made executable, else 0 */
    const char *const *quiet_dirs; /* borrowed, NULL-terminated: their warnings are dropped */
    bool lenient;                  /* for whole files: warnings stay warnings */
    bool ignore;                   /* drop further output */
} tj_diagnosis;

/* diagnosis: a tj_diagnosis. */
void tj_diagnose(void *diagnosis, const char *line);
void tj_diagnosis_clear(tj_diagnosis *diagnosis);
/* Returns the result of an attempt: TJ_OK if the code was relocated, else the reason of the failure. */
tj_status tj_diagnosis_judge(const tj_diagnosis *diagnosis, bool relocated, tj_error *error);

/* Reads the number whose digits end at `end`; sets *start to the first digit. */
int tj_number_before(const char *begin, const char *end, const char **start);

/* ---- environment.c ----------------------------------------------------- */

/* The embedding program's symbols as a map; all environments share it. */
typedef struct tj_offer tj_offer;

/* The text of a source file, after a #line directive with its path. */
typedef struct tj_source_text {
    tj_text text;
    size_t start; /* bytes of the #line directive */
    bool given;   /* the caller gave the text; the file may not exist */
} tj_source_text;

struct tj_environment {
    int shares; /* atomic */
    tj_words include_dirs; /* owned, like the other lists */
    tj_words define_macros;
    tj_words sources;
    tj_source_text *source_texts; /* owned: one per source file, or NULL */
    tj_words source_paths; /* absolute paths of the files that were read */
    char *text;          /* owned: the text that replaces the source files, or NULL */
    tj_offer *offer;  /* a share: the symbols of the embedding program, or NULL */
    void **libraries; /* owned: handles of dlopen */
    size_t nlibraries;
    bool interruptible; /* their code may be left */
    tj_unit *sources_unit;            /* owned, or NULL */
    bool own_mathematics; /* see tj_environment_has_mathematics() */
    bool libm; /* see tj_environment_options */
    tj_lines *lines; /* owned: the lines of the sources, or NULL */
    bool lines_known; /* creating them was tried, so it is not tried again */
    const char *const *host_prefixes; /* borrowed, NULL-terminated, or NULL */
    const char *host_data; /* borrowed, or NULL */
};

/* Appends the contents of a source file, at most TJ_MAX_TEXT bytes plus a few thousand. */
tj_status tj_read_file(const char *path, tj_text *text, tj_error *error);

/* ---- symbols.c --------------------------------------------------------- */

/* Functions that machine code of libtcc calls although the text does not name them. */
extern const tj_symbol tj_helper_symbols[];
extern const size_t tj_helper_count;
/* libc's names that texts use without naming them: to copy structs, and in standard macros. NULL-terminated. */
extern const char *const tj_implied_names[];

/* Functions of libc whose results depend on earlier calls. NULL-terminated. */
extern const char *const tj_remembering_names[];

/* Stands before the names of libm's functions that a text defines itself. */
#define TJ_HIDDEN_PREFIX "cwj_hidden_"

/* Returns the address of a name in libm, or NULL. Compile lock held. */
const void *tj_libm_symbol(const char *name);

/* Returns a share of the map of these symbols. NULL if out of memory. */
tj_offer *tj_offer_share(const tj_symbol *symbols, size_t count);
void tj_offer_free(tj_offer *offer); /* accepts NULL */

/* Returns the embedding program's symbols. */
const tj_map *tj_environment_symbols(const tj_environment *environment);
/* Finds the symbol that a unit of environment uses for name. libm: functions of mathematics are libm's, not ours.
 * Returns false if there is none. Compile lock held. */
bool tj_environment_find(const tj_environment *environment, const char *name, bool again, bool libm,
                         tj_symbol *found);
/* Returns true if the sources or the libraries, other than libm, define the name. Compile lock held. */
bool tj_environment_brings(const tj_environment *environment, const char *name);
/* Lines of a text that asks for libm's functions of mathematics, or for ours. */
#define TJ_WITH_LIBM "#define CWJ_LIBM\n"
#define TJ_WITHOUT_LIBM "#undef CWJ_LIBM\n"
/* Returns true if the functions of mathematics of a text (NULL: of the sources) are libm's. */
bool tj_uses_libm(const tj_environment *environment, const char *text);
/* Returns true if use of this symbol is a call into the embedding program. */
bool tj_environment_is_host(const tj_environment *environment, const tj_symbol *symbol);
/* Returns true if a call of this symbol is observable from outside, or keeps state: functions of the
 * embedding program (except those that only read the call), libraries that the user named, and functions of
 * libc such as the random number generators. */
bool tj_environment_speaks(const tj_environment *environment, const tj_symbol *symbol);

/* ---- mathematics.c ----------------------------------------------------- */

/* Returns a function of mathematics.h, by the name that the package's <math.h> gives it ("cwj_pow"), or NULL. */
const void *tj_mathematical_function(const char *name, size_t length);
/* Returns the usual name of the i-th of these functions ("pow"); NULL after the last. */
const char *tj_mathematical_name(size_t i);
/* Returns true if the sources or the libraries define one of these functions. Then no function of
 * mathematics.h is used. */
bool tj_environment_has_mathematics(const tj_environment *environment);

/* ---- maths/choice.c ---------------------------------------------------- */

/* Reads $CWRAPJIT_CPU, the most that our code may use. Fails if that is no instruction set of this processor. */
tj_status tj_maths_choose(tj_error *error);
/* Returns true if code may use these instructions: "avx2" (with FMA3), "avx512". */
bool tj_maths_may_use(const char *instructions);
/* The functions of libm that are ours: the i-th one's name (NULL after the last), number of arguments, and type. */
const char *tj_maths_name(size_t i);
int tj_maths_arity(size_t i);
bool tj_maths_is_float(size_t i);
/* Returns our function of this name, or its form for vectors, which compilers call "_ZGVdN4v_exp"; NULL: none. */
const void *tj_maths_function(const char *name);
const void *tj_maths_vector(const char *symbol);

/* ---- pages.c ----------------------------------------------------------- */

/* Returns whole pages, not always zeroed; NULL with errno set. All functions here need the compile lock. */
void *tj_pages_alloc(size_t size);
void tj_pages_free(void *memory, size_t size);
/* Lets code of a library be left, or no longer. */
void tj_code_let_leave(const void *first, const void *behind, bool leave);
/* tj_pages_mark_end() fills the last page with a pattern. tj_pages_trim() gives that page back if the pattern
 * is unchanged, and returns the remaining size. */
void tj_pages_mark_end(void *memory, size_t size);
size_t tj_pages_trim(void *memory, size_t size);
/* Makes pages executable. Returns false with errno set if the system refuses. */
bool tj_pages_make_code(void *memory, size_t size);
/* Turns an errno of these functions into an error. */
tj_status tj_pages_fail(int reason, tj_error *error);

/* ---- region.c ---------------------------------------------------------- */

/* Pages in which libtcc has placed code. */
typedef struct tj_code {
    void *memory; /* NULL: none */
    size_t size;
} tj_code;

typedef enum tj_refusal {
    TJ_NOT_REFUSED,
    TJ_REFUSED_MEMORY,   /* the system has no more */
    TJ_REFUSED_BY_LIMIT, /* tj_set_compile_memory() */
    TJ_REFUSED_PAGES     /* tj_pages_alloc() failed with errno `reason` */
} tj_refusal;

typedef struct tj_block tj_block;

/* The memory that libtcc holds during one use. A region that is zeroed, except for its limit, is empty. */
typedef struct tj_region {
    tj_block *blocks;     /* owned */
    tj_code code[8];      /* owned pages */
    const tj_code *taken; /* the one of these that the caller has taken, or NULL */
    size_t held;
    size_t limit;
    bool places_code;   /* large new blocks are placed in pages for code */
    tj_refusal refusal; /* the first one */
    int reason;
    char *reserve; /* memory for libtcc after a refusal; owned if it is large */
    size_t reserve_size;
    size_t reserve_used;
} tj_region;

/* Returns NULL if the request is refused; the old block is then unchanged. size > 0. */
void *tj_region_resize(tj_region *region, void *memory, size_t size);
/* Gives the reserve `size` bytes for libtcc's setup. Call this before anything else uses the region. Returns
 * false, with a refusal, if out of memory or above the limit. */
bool tj_region_prepare(tj_region *region, size_t size);
/* Like tj_region_resize(), but takes the memory from the reserve and leaves at least `kept` bytes in it.
 * libtcc uses it to finish after a refusal. */
void *tj_region_reserve(tj_region *region, void *memory, size_t size, size_t kept);
void tj_region_free(tj_region *region, void *memory);
/* Returns false, with a refusal, if `more` bytes would exceed the limit. */
bool tj_region_has_room(tj_region *region, size_t more);
/* Returns the code that contains address, or NULL. */
const tj_code *tj_region_code_at(const tj_region *region, const void *address);
/* Frees all blocks and pages except the taken ones. */
void tj_region_clear(tj_region *region);

/* ---- backend.c --------------------------------------------------------- */

/* Returns the folders in which snippets find headers; the folder of the small headers is first. Empty before
 * tj_backend_open(). Static, NULL-terminated. */
const char *const *tj_backend_include_dirs(void);

/* One use of libtcc. All functions below need the compile lock. Code that may need memory runs on the big
 * stack. If memory runs out, libtcc can be abandoned in the middle, with every function on that stack. These
 * functions must therefore not own memory that the caller cannot free. */
typedef struct tj_state tj_state;

/* Ends this use of libtcc after abort() on the big stack. Returns if the abort did not come from libtcc. */
void tj_state_on_abort(void);
/* Compiles a text that defines the string `answer` and returns the string, owned. NULL if libtcc cannot compile it. */
char *tj_backend_ask(const char *text);
/* Returns TJ_OK if libtcc can be used. */
tj_status tj_backend_check(tj_error *error);
/* Returns a new state, without calling libtcc. NULL if out of memory. */
tj_state *tj_state_new(void);
/* The following functions return false if libtcc has reported an error or was refused memory. */

/* text: the generated text that libtcc will compile; NULL: whole files. for_file: make an object with
 * debugging data instead of code in memory. libtcc's messages go to diagnosis, which the state keeps. */
bool tj_state_set_up(tj_state *state, const tj_environment *environment, const char *text,
                     bool for_file, tj_diagnosis *diagnosis);
/* Includes gcc's builtins before everything that is compiled; call it before the first text. */
void tj_state_include_builtins(tj_state *state);
bool tj_state_compile(tj_state *state, const char *text);
bool tj_state_add_source(tj_state *state, const char *path);
bool tj_state_add_object(tj_state *state, int fd); /* from a file in memory */
void tj_state_add_archive(tj_state *state);        /* libtcc1.a */
void tj_state_bind(tj_state *state, const char *name, const void *address);
bool tj_state_relocate(tj_state *state);
bool tj_state_write(tj_state *state, int fd); /* writes an object to a file in memory */

/* Returns a symbol's address, borrowed, or NULL. Before relocation it is an offset in its section. */
void *tj_state_symbol(tj_state *state, const char *name);
void tj_state_each(tj_state *state,
                   void (*see)(void *context, const char *name, const void *address),
                   void *context);
tj_region *tj_state_region(tj_state *state);
/* Returns TJ_OK, or the reason why memory was refused. */
tj_status tj_state_judge(const tj_state *state, tj_error *error);
/* Frees all but the code of a relocated state, whose pages the caller then owns. On failure, code->memory is NULL. */
tj_status tj_state_take_code(tj_state *state, tj_code *code, tj_error *error);
/* Frees the state, with all that the caller has not taken. */
void tj_state_free(tj_state *state);

/* ---- compiled.c -------------------------------------------------------- */

struct tj_unit {
    tj_code code; /* owned */
    tj_map symbols; /* owned: the symbols that it exports */
    bool uses_host;
    bool has_state;
    bool speaks;
};

/* Compile lock held. */
void tj_unit_free_locked(tj_unit *unit);

/* ---- compile.c --------------------------------------------------------- */

tj_status tj_compile_sources(tj_environment *environment, const tj_names *names, tj_unit **unit,
                             tj_messages *messages, tj_error *error);

/* Refuses values in one of these files that are used as numbers but are not numbers. */
tj_status tj_check_values(const tj_environment *environment, const tj_piece *source,
                          tj_messages *messages, tj_error *error);

/* Reads the lines of an object that lies in memory. Borrows shown; else like tj_lines_new(). */
tj_status tj_lines_read(int fd, const char *shown, const tj_anchor *anchors, tj_lines **lines,
                        tj_error *error);

/* Compiles the input of tj_compile() or, if text is NULL, of tj_compile_sources(), to an object with debugging data. */
tj_status tj_compile_to_file(const tj_environment *environment, const char *text, int fd,
                             tj_error *error);

/* Compiled code that another compiler left in a file. */
typedef struct tj_object {
    int fd; /* borrowed: a file in memory */
    tj_words undefined; /* owned */
    bool fuses; /* its code may fuse a multiplication and an addition, with one rounding */
    bool keeps_state; /* set by the caller: writable data is accepted */
    bool calls_fma; /* set by the caller: instructions for fma() are accepted */
    bool
        libm; /* set by the caller: its functions of mathematics, and their vector forms, are libm's */
} tj_object;

/* Loads an object that tj_object_check() accepted. Binds its symbols like those of a unit, and then the
 * helper functions that compilers expect in their own libraries. */
tj_status tj_load_object(const tj_environment *environment, const tj_object *object, tj_unit **unit,
                         tj_error *error);

/* ---- object.c ---------------------------------------------------------- */

/* Returns TJ_OK if bytes are a relocatable ELF64 file of this machine that libtcc can load and that has no
 * writable data (unless object->keeps_state). Appends its undefined names to object. Accepts any bytes. */
tj_status tj_object_check(const unsigned char *bytes, size_t size, tj_object *object,
                          tj_error *error);
/* Rewrites parts that libtcc would read differently from the compiler's intention. Accepts any bytes. */
void tj_object_settle(unsigned char *bytes, size_t size);
/* Makes the file object->fd unchangeable for others, and does both for it. */
tj_status tj_object_look(tj_object *object, tj_error *error);
/* Appends "cwrapjit size NAME BYTES" for each function of a file that tj_object_look() accepted. */
tj_status tj_object_sizes(const tj_object *object, tj_text *told, tj_error *error);
void tj_object_clear(tj_object *object);

/* .debug_line of an object. Its addresses are offsets into the code. */
typedef struct tj_line_table {
    const char *code; /* borrowed: the first instruction of .text in memory */
    size_t code_size;
    unsigned char *bytes; /* owned */
    size_t size;
} tj_line_table;
/* Takes it from an object, in a file with any bytes. At least one anchor must be there. */
tj_status tj_object_lines(int fd, const tj_anchor *anchors, tj_line_table *table, tj_error *error);

/* ---- fused_x86_64.c, fused_aarch64.c ------------------------------------- */

/* For code of these machines: returns false if it is certain that no instruction fuses a multiplication and
 * an addition; with calls_fma, that none does except those for fma(). */
bool tj_x86_64_fuses(const unsigned char *code, size_t size, bool calls_fma);
bool tj_aarch64_fuses(const unsigned char *code, size_t size, bool calls_fma);
/* Returns the length in bytes of the instruction at code; 0: compilers do not emit it. */
size_t tj_x86_64_length(const unsigned char *code, size_t size);

/* ---- reading.c --------------------------------------------------------- */

/* Appends the text that precedes all other text. It tells our own text which compiler reads it, and defines
 * libtcc's predefined macros if the compiler predefines none. */
void tj_reading_write(bool as_libtcc, tj_text *text);

/* ---- lean.c ------------------------------------------------------------ */

/* The parts of the usual preceding text that a text needs. */
typedef struct tj_needs {
    tj_names *names; /* owned: all names in the text; NULL: it may need everything */
    bool mathematics; /* the text uses tj_mathematics(), whose names are then in `names` */
} tj_needs;

void tj_needs_init(tj_needs *needs, const tj_environment *environment, const char *text);
void tj_needs_clear(tj_needs *needs);
/* Returns true if the text may use this name. */
bool tj_needs_name(const tj_needs *needs, const char *name);
/* Appends the needed parts of the prelude. */
void tj_needs_prelude(const tj_needs *needs, tj_text *text);

/* ---- compiler.c -------------------------------------------------------- */

tj_status tj_compiler_copy(const tj_compiler *compiler, tj_compiler *copy, tj_error *error);
/* Returns the descriptor number of the object's file in the compiler's process: 3, or 1 for compilers that do
 * not pass descriptors on to their child processes (zig). */
int tj_compiler_object_number(const tj_compiler *compiler);
/* How to compile a text to code. */
typedef struct tj_code_flags {
    bool fastmath;
    bool narrow; /* no instructions that fuse despite -ffp-contract=off: AVX-512, FCMLA */
    bool urgent; /* like tj_job_options.urgent */
    bool explains; /* the compiler reports its optimizations of loops */
    bool libm; /* functions of mathematics are libm's */
    const tj_needs *needs;
} tj_code_flags;
/* Appends the whole command line. The compiler reads the text from standard input and writes the object to
 * its file. as_libtcc: it reads the text as libtcc does, after the text of tj_reading_write(). */
void tj_compiler_command(const tj_compiler *compiler, const tj_environment *environment,
                         const char *text, bool as_libtcc, tj_code_flags flags, tj_words *words);
/* The same for jobs that make no code: TJ_JOB_SYNTAX, TJ_JOB_CHECK. file: NULL for standard input. */
void tj_compiler_check_command(const tj_compiler *compiler, const tj_environment *environment,
                               tj_job_kind kind, const char *file, bool as_libtcc, tj_words *words);
/* Returns true if the text calls fma() or fmaf(). Calls that macros of included files hide are not found. */
bool tj_compiler_calls_fma(const char *text);
/* Returns true if the text may change the rounding mode or ask for floating point exceptions. */
bool tj_compiler_sees_environment(const char *text);
/* Turns builtins that compilers fold or replace, such as __builtin_pow, into calls of libm's functions. Flags
 * do the same for the plain names. */
void tj_compiler_hide_builtins(const tj_needs *needs, tj_text *text);
/* Declares our functions, which all have vector forms, except those that the environment brings. */
void tj_compiler_declare_maths(const tj_environment *environment, const tj_needs *needs,
                               tj_text *text);
/* Declares the functions of libm that this machine has in vector form. */
void tj_compiler_declare_vectors(tj_text *text);
/* Returns a function of libgcc that compilers call implicitly, or the vector form of a function, ours or (libm)
 * libmvec's; NULL: unknown. Compile lock held. */
const void *tj_compiler_symbol(const char *name, bool libm);

/* ---- pipework.c -------------------------------------------------------- */

/* Creates the files and writes text to the first. After a failure, all descriptors are -1. */
tj_status tj_pipework_open(tj_pipework *files, const char *text, size_t length, tj_error *error);
void tj_pipework_close(tj_pipework *files);
/* Runs the command with an environment (NULL: none) until it ends, for `seconds` at most, or until given_up() returns
 * true. Also returns TJ_OK if the exit status is unknown; the object then shows whether it succeeded. */
tj_status tj_process_run(char *const *words, char *const *variables, const tj_pipework *files,
                         double seconds, bool (*given_up)(void *context), void *context,
                         tj_error *error);

/* ---- objections.c -------------------------------------------------------- */

/* Appends the compiler's messages from a file, with the lines of the text that they refer to: errors; also warnings, if
 * the job asks for them. For checks it drops messages about generated text and about unused names. */
void tj_objections_read(int fd, const tj_text *compiled, tj_job_kind job, tj_messages *messages);

/* Appends the compiler's output, a megabyte at most. */
void tj_said_read(int fd, tj_text *said);

/* ---- explain.c ----------------------------------------------------------- */

/* Appends the report described at tj_job_told(), about an object that tj_object_look() accepted. */
tj_status tj_explain(const tj_environment *environment, int said, const tj_object *object,
                     tj_text *told, tj_error *error);

/* ---- build.c ------------------------------------------------------------- */

/* A text for the system's compiler, and its options. */
typedef struct tj_build {
    tj_environment *environment; /* a share, or NULL */
    char *text; /* owned */
    tj_compiler compiler; /* owned */
    char *symbol; /* owned */
    char *file; /* owned, or NULL */
    tj_words variables; /* owned: a copy of the process' environment. The compiling thread cannot
                                    read the original, which may change. */
    tj_job_kind kind;
    bool fastmath;
    bool keeps_state; /* like tj_job_options.keeps_state */
    bool urgent;
} tj_build;

/* Copies all. Call it in a thread while no other thread changes the environment. Returns false if out of memory. */
bool tj_build_init(tj_build *build, tj_environment *environment, const char *text,
                   const tj_job_options *options);
void tj_build_clear(tj_build *build);
/* Returns true if functions of mathematics, and their vector forms, are libm's in this build. */
bool tj_build_uses_libm(const tj_build *build);
/* Returns true if the build makes an object. */
bool tj_build_makes_code(const tj_build *build);
/* Appends the text that the compiler reads, with hidden divisors (read/divisors.h) if `hides` is set and code
 * is made. Returns true if any divisor is hidden. */
bool tj_build_write(const tj_build *build, bool hides, tj_text *text);
/* Runs the compiler on `files`, which contain the text of tj_build_write(). `narrow` is as in tj_code_flags.
 * Returns what tj_process_run() returns. */
tj_status tj_build_compile(const tj_build *build, bool narrow, const tj_pipework *files,
                           double seconds, bool (*given_up)(void *context), void *context,
                           tj_error *error);
/* Loads an object that tj_object_look() accepted and finds the symbol. The caller then owns *unit, and *lines, which
 * are NULL if they cannot be read. */
tj_status tj_build_load(const tj_build *build, const tj_object *object, tj_unit **unit,
                        tj_lines **lines, const void **address, tj_error *error);
