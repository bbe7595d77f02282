/* internal.h: what the files of tinyjit share and nobody else sees.
 *
 * Everything public is in tinyjit.h. The parts below are grouped by the file
 * that defines them.
 */
#pragma once

#include <stdarg.h>

#include "os/big_stack.h"
#include "os/process.h"
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

/* ---- text.c ------------------------------------------------------------ */

void tj_text_vprintf(tj_text *text, const char *format, va_list arguments);

/* ---- words.c ----------------------------------------------------------- */

/* A growing NULL-terminated list of owned words. A failed allocation is sticky. */
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

/* Bytes of somebody else's text. */
typedef struct tj_stretch {
    const char *start;
    size_t length;
} tj_stretch;

/* `#line 12 "file"`: its number, and the name as it is written there. */
bool tj_read_line_directive(tj_stretch line, int *number, tj_stretch *file);
/* The name in a directive is this one, with or without escapes. */
bool tj_is_file_of_line(const char *name, tj_stretch file);
/* The line of that number, as #line directives of the text count; behind its end the last that is not blank,
 * whose number *number becomes. */
tj_stretch tj_piece_line(const tj_piece *piece, int *number);

/* ---- messages.c -------------------------------------------------------- */

/* Appends all of `from` to `to` and leaves `from` empty. */
void tj_messages_move(tj_messages *to, tj_messages *from);

/* Appends copies. Returns false without memory. */
bool tj_messages_copy(tj_messages *to, const tj_messages *from);
/* One of them says the same of the same place. */
bool tj_messages_have(const tj_messages *messages, const tj_message *one);
/* As tj_messages_locate(), in a generated text, whose #line directives say what
 * its lines are called. Columns that are known stay. */
void tj_messages_locate_lines(tj_messages *messages, const char *text, size_t length);

/* ---- hints.c ----------------------------------------------------------- */

/* Appends " (...)". Without memory the message stays as it is. */
void tj_message_add_hint(tj_message *message, const tj_text *hint);
/* Adds a hint to an error whose line is known, where it is not what it says. */
void tj_message_hint(tj_message *message, const tj_piece *piece);
/* The same of the errors in the snippets of a function. */
void tj_messages_hint(const tj_spec *spec, tj_messages *messages);
/* Refuses item__x(7) in a slice of three elements; tokens: of the piece, behind its macros. */
struct tj_tokens;
void tj_spec_check_indices(const tj_spec *spec, const struct tj_tokens *tokens,
                           const tj_piece *piece, tj_messages *messages);

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
/* The item of that name, a new one where there is none. NULL without memory. */
tj_map_item *tj_map_add(tj_map *map, const char *name, size_t length);
/* Borrowed until something is added; NULL: not there. */
const tj_map_item *tj_map_get(const tj_map *map, const char *name);
/* The same of `prefix` and `name` joined. */
const tj_map_item *tj_map_find(const tj_map *map, const char *prefix, size_t prefix_length,
                               const char *name, size_t length);
void tj_map_clear(tj_map *map);

/* ---- compile_lock.c ---------------------------------------------------- */

/* The process-wide lock around libtcc. Not recursive. */
void tj_compile_lock(void);
void tj_compile_unlock(void);

/* ---- diagnose.c -------------------------------------------------------- */

/* How the compiler's own lines become messages. */
typedef struct tj_diagnosis {
    tj_messages messages;          /* owned */
    tj_map undefined;              /* owned: names that relocation did not find */
    int denied;                    /* errno, when memory could not be made executable */
    const char *const *quiet_dirs; /* borrowed, NULL-terminated: no warnings from there */
    bool lenient;                  /* whole files: warnings stay warnings */
    bool ignore;                   /* drop what comes */
} tj_diagnosis;

void tj_diagnose(tj_diagnosis *diagnosis, const char *line);
void tj_diagnosis_clear(tj_diagnosis *diagnosis);
/* What came of an attempt: TJ_OK when the code was relocated, or what failed. */
tj_status tj_diagnosis_judge(const tj_diagnosis *diagnosis, bool relocated, tj_error *error);

/* Reads the digits that end at `end`; *start becomes the first of them. */
int tj_number_before(const char *begin, const char *end, const char **start);

/* ---- environment.c ----------------------------------------------------- */

/* The embedding program's symbols as a map; one for all environments. */
typedef struct tj_offer tj_offer;

/* The text of a source file, behind a #line with its path. */
typedef struct tj_source_text {
    tj_text text;
    size_t start; /* bytes of the #line */
    bool given;   /* there may be no such file */
} tj_source_text;

struct tj_environment {
    int shares; /* atomic */
    tj_words include_dirs; /* owned, as the other lists */
    tj_words define_macros;
    tj_words sources;
    tj_source_text *source_texts; /* owned: one for each of sources, or NULL */
    tj_words source_paths; /* absolute; of files that were read */
    char *text;          /* owned: what is compiled in the place of files, or NULL */
    tj_offer *offer;  /* a share: the symbols of the embedding program, or NULL */
    void **libraries; /* owned: handles of dlopen */
    size_t nlibraries;
    tj_unit *sources_unit;            /* owned, or NULL */
    bool own_mathematics; /* see tj_environment_has_mathematics() */
    tj_lines *lines; /* owned: the sources', or NULL */
    bool lines_known; /* they have been asked for */
    const char *const *host_prefixes; /* borrowed, NULL-terminated, or NULL */
    const char *host_data; /* borrowed, or NULL */
};

/* Appends a source file, of TJ_MAX_TEXT bytes and a few thousand at most. */
tj_status tj_read_file(const char *path, tj_text *text, tj_error *error);

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
/* The same in the mathematical library itself. Compile lock held. */
const void *tj_libm_symbol(const char *name);

/* A share of the map of these symbols. NULL without memory. */
tj_offer *tj_offer_share(const tj_symbol *symbols, size_t count);
void tj_offer_free(tj_offer *offer); /* accepts NULL */

/* The embedding program's symbols. */
const tj_map *tj_environment_symbols(const tj_environment *environment);
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

/* ---- mathematics.c ----------------------------------------------------- */

/* A function of mathematics.h by the name that <math.h> gives it, "cwj_pow", or NULL. */
const void *tj_mathematical_function(const char *name, size_t length);
/* The usual name of function i of these, "pow"; NULL behind the last. */
const char *tj_mathematical_name(size_t i);
/* Do the sources or the libraries have one of these functions of their own? Then no function of
 * mathematics.h is used. Compile lock held. */
bool tj_environment_has_mathematics(const tj_environment *environment);

/* ---- pages.c ----------------------------------------------------------- */

/* Whole pages, zeroed or not. NULL without memory, errno says why. Compile lock held, as
 * for all here. */
void *tj_pages_alloc(size_t size);
void tj_pages_free(void *memory, size_t size);
/* Marks the last page; later, gives it back when nobody has written to it, and returns
 * the size that is left. */
void tj_pages_mark_end(void *memory, size_t size);
size_t tj_pages_trim(void *memory, size_t size);
/* Makes pages executable. False, with errno, when the system refuses. */
bool tj_pages_make_code(void *memory, size_t size);
/* What an errno of these means. */
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

/* What libtcc holds during one use. Zeroed but for the limit: empty. */
typedef struct tj_region {
    tj_block *blocks;     /* owned */
    tj_code code[8];      /* owned pages */
    const tj_code *taken; /* one of these that is somebody else's now, or NULL */
    size_t held;
    size_t limit;
    bool places_code;   /* large new blocks get pages */
    tj_refusal refusal; /* the first one */
    int reason;
    char *reserve; /* what is given out behind a refusal; owned where it is large */
    size_t reserve_size;
    size_t reserve_used;
} tj_region;

/* NULL when it is refused; the old block is still there then. size > 0. */
void *tj_region_resize(tj_region *region, void *memory, size_t size);
/* Before the first use: the reserve shall have so much for libtcc to set up. False,
 * and a refusal, without memory. */
bool tj_region_prepare(tj_region *region, size_t size);
/* As tj_region_resize(), from the reserve, of which `kept` bytes must be left; for libtcc
 * to come to an end with. */
void *tj_region_reserve(tj_region *region, void *memory, size_t size, size_t kept);
void tj_region_free(tj_region *region, void *memory);
/* False, and a refusal, when so much more is above the limit. */
bool tj_region_has_room(tj_region *region, size_t more);
/* The code that address lies in; NULL: none of these. */
const tj_code *tj_region_code_at(const tj_region *region, const void *address);
/* Frees all but what was taken. */
void tj_region_clear(tj_region *region);

/* ---- backend.c --------------------------------------------------------- */

/* Where snippets find headers, the folder of the small ones first; none before tj_backend_open().
 * Static, NULL behind the last. */
const char *const *tj_backend_include_dirs(void);

/* One use of libtcc. The compile lock is held in all of the following. What may need
 * memory runs on the big stack: when there is none, libtcc can be left in the middle,
 * and with it every function on that stack. So none of them may own what the caller
 * cannot free. */
typedef struct tj_state tj_state;

/* libtcc has called abort(), on the big stack: ends that use of it. Returns where the abort is none
 * of libtcc's. */
void tj_state_on_abort(void);
/* What libtcc makes of a text that defines `answer`, a string: owned. NULL: it cannot tell. */
char *tj_backend_ask(const char *text);
/* TJ_OK when libtcc can be used. */
tj_status tj_backend_check(tj_error *error);
/* Does not enter libtcc. NULL without memory. */
tj_state *tj_state_new(void);
/* These are false when libtcc has complained, or was refused memory. */

/* text: the generated text that it will compile; NULL: whole files. for_file: an object
 * with debugging data is wanted instead of code in memory. What libtcc says goes to
 * diagnosis, which the state keeps. */
bool tj_state_set_up(tj_state *state, const tj_environment *environment, const char *text,
                     bool for_file, tj_diagnosis *diagnosis);
/* In front of everything that is compiled; before the first text. */
void tj_state_include_builtins(tj_state *state);
bool tj_state_compile(tj_state *state, const char *text);
bool tj_state_add_source(tj_state *state, const char *path);
bool tj_state_add_object(tj_state *state, int fd); /* of a file in memory */
void tj_state_add_archive(tj_state *state);        /* libtcc1.a */
void tj_state_bind(tj_state *state, const char *name, const void *address);
bool tj_state_relocate(tj_state *state);
bool tj_state_write(tj_state *state, int fd); /* an object, to a file in memory */

/* Borrowed; NULL: not there. Before relocation, an offset in its section. */
void *tj_state_symbol(tj_state *state, const char *name);
void tj_state_each(tj_state *state,
                   void (*see)(void *context, const char *name, const void *address),
                   void *context);
tj_region *tj_state_region(tj_state *state);
/* TJ_OK, or why memory was refused. */
tj_status tj_state_judge(const tj_state *state, tj_error *error);
/* Frees all but *code, which is one of a relocated state's: its pages are the caller's then,
 * to be freed by tj_pages_free(). NULL in *code after a failure. */
tj_status tj_state_take_code(tj_state *state, tj_code *code, tj_error *error);
/* Frees what is left. */
void tj_state_free(tj_state *state);

/* ---- compiled.c -------------------------------------------------------- */

struct tj_unit {
    tj_code code;   /* owned */
    tj_map symbols; /* owned: what it defines for others */
    bool uses_host;
    bool has_state;
    bool speaks;
};

/* Compile lock held. */
void tj_unit_free_locked(tj_unit *unit);

/* ---- compile.c --------------------------------------------------------- */

/* Compiles the sources of environment to one unit. */
tj_status tj_compile_sources(tj_environment *environment, const tj_names *names, tj_unit **unit,
                             tj_messages *messages, tj_error *error);

/* Refuses values in one of these files that go where a number belongs and are none. */
tj_status tj_check_values(const tj_environment *environment, const tj_piece *source,
                          tj_messages *messages, tj_error *error);

/* Compiles what tj_compile() or, without text, tj_compile_sources() would, to an object
 * with debugging data. */
tj_status tj_compile_to_file(const tj_environment *environment, const char *text, int fd,
                             tj_error *error);

/* Compiled code that another compiler left in a file. */
typedef struct tj_object {
    int fd;             /* borrowed: a file in memory */
    tj_words undefined; /* owned */
    bool fuses;         /* its code may multiply and add with one rounding */
    bool keeps_state;   /* set by the caller: data that it may write is accepted */
    bool calls_fma;     /* set by the caller: it may have instructions for fma() */
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
/* Rewrites what libtcc would not read as the compiler meant it. Any bytes may come. */
void tj_object_settle(unsigned char *bytes, size_t size);
/* Both, of the file object->fd, which is made unchangeable first. */
tj_status tj_object_look(tj_object *object, tj_error *error);
/* Appends "cwrapjit size NAME BYTES" for the functions in a file that was looked at. */
tj_status tj_object_sizes(const tj_object *object, tj_text *told, tj_error *error);
void tj_object_clear(tj_object *object);

/* ---- fused_x86_64.c, fused_aarch64.c ------------------------------------- */

/* Of these machines' code. False when it is certain that no instruction multiplies and adds with
 * one rounding, or with calls_fma, that none does but those that fma() becomes. */
bool tj_x86_64_fuses(const unsigned char *code, size_t size, bool calls_fma);
bool tj_aarch64_fuses(const unsigned char *code, size_t size, bool calls_fma);
/* Bytes of the instruction at code; 0: it is not one that compilers emit. */
size_t tj_x86_64_length(const unsigned char *code, size_t size);

/* ---- reading.c --------------------------------------------------------- */

/* Appends what stands in front of all else: what tells our own text which compiler reads it, and the macros
 * that libtcc predefines where the compiler is told to have no others. */
void tj_reading_write(bool as_libtcc, tj_text *text);

/* ---- lean.c ------------------------------------------------------------ */

/* What a text needs of what usually stands in front of it. */
typedef struct tj_needs {
    tj_names *names;  /* owned: all that the text names; NULL: it may need everything */
    bool mathematics; /* it names what tj_mathematics() has, whose names are among those */
} tj_needs;

void tj_needs_init(tj_needs *needs, const tj_environment *environment, const char *text);
void tj_needs_clear(tj_needs *needs);
/* May the text have this name? */
bool tj_needs_name(const tj_needs *needs, const char *name);
/* Appends the prelude, as much of it as is needed. */
void tj_needs_prelude(const tj_needs *needs, tj_text *text);

/* ---- compiler.c -------------------------------------------------------- */

tj_status tj_compiler_copy(const tj_compiler *compiler, tj_compiler *copy, tj_error *error);
/* The number by which its process knows the object's file: 3, or 1 for what does
 * not pass descriptors on to its own processes (zig). */
int tj_compiler_object_number(const tj_compiler *compiler);
/* How a text is compiled to code. */
typedef struct tj_code_flags {
    bool fastmath;
    bool narrow; /* without what fuses though -ffp-contract=off: AVX-512, FCMLA */
    bool urgent; /* as in tj_job_options */
    bool explains; /* it says what becomes of loops */
    const tj_needs *needs;
} tj_code_flags;
/* The whole command line: text from standard input, the object to that file. as_libtcc: it is read as libtcc
 * reads it, behind what tj_reading_write() says. */
void tj_compiler_command(const tj_compiler *compiler, const tj_environment *environment,
                         const char *text, bool as_libtcc, tj_code_flags flags, tj_words *words);
/* The same for what is not wanted as code: TJ_JOB_SYNTAX, TJ_JOB_CHECK. file: NULL for
 * standard input. */
void tj_compiler_check_command(const tj_compiler *compiler, const tj_environment *environment,
                               tj_job_kind kind, const char *file, bool as_libtcc, tj_words *words);
/* Does this text call fma() or fmaf()? Behind macros of included files: not known, so false. */
bool tj_compiler_calls_fma(const char *text);
/* May it set how numbers are rounded, or ask for exceptions of numbers? */
bool tj_compiler_sees_environment(const char *text);
/* Makes builtins that compilers fold or replace, __builtin_pow among them, calls of libm's
 * functions, as the same flags do it for their plain names. */
void tj_compiler_hide_builtins(const tj_needs *needs, tj_text *text);
/* Declares the functions of libm that this machine has for vectors. */
void tj_compiler_declare_vectors(tj_text *text);
/* What compilers call without being told to: vectors' functions of libmvec, the
 * helpers of libgcc. NULL: unknown. Compile lock held. */
const void *tj_compiler_symbol(const char *name);

/* ---- pipework.c -------------------------------------------------------- */

/* Makes the files, with text in the first. All -1 after a failure. */
tj_status tj_pipework_open(tj_pipework *files, const char *text, size_t length, tj_error *error);
void tj_pipework_close(tj_pipework *files);
/* Runs the command, with an environment (NULL: none), to its end, `seconds` at most, or until given_up. TJ_OK also
 * when nobody can tell how it ended: the object decides. */
tj_status tj_process_run(char *const *words, char *const *variables, const tj_pipework *files,
                         double seconds, bool (*given_up)(void *context), void *context,
                         tj_error *error);

/* ---- objections.c -------------------------------------------------------- */

/* Appends what the compiler has written to a file, with the lines of the text that it
 * was about: errors, and warnings where the job is to bring those. Of checks, nothing about
 * generated text, nor that something is not used. */
void tj_objections_read(int fd, const tj_text *compiled, tj_job_kind job, tj_messages *messages);

/* Appends what the compiler said, a megabyte at the most. */
void tj_said_read(int fd, tj_text *said);

/* ---- explain.c ----------------------------------------------------------- */

/* Appends what tj_job_told() promises, of an object that was looked at. */
tj_status tj_explain(const tj_environment *environment, int said, const tj_object *object,
                     tj_text *told, tj_error *error);

/* ---- build.c ------------------------------------------------------------- */

/* A text for the system's compiler, and what is wanted of it. */
typedef struct tj_build {
    tj_environment *environment; /* a share, or NULL */
    char *text;                  /* owned */
    tj_compiler compiler;        /* owned */
    char *symbol;                /* owned */
    char *file;                  /* owned, or NULL */
    tj_words variables;          /* owned: a copy of the process' environment, which the
                                    thread that compiles cannot read: it may change */
    tj_job_kind kind;
    bool fastmath;
    bool keeps_state; /* as in tj_job_options */
    bool urgent;
} tj_build;

/* Copies all, in a thread in which nobody changes the environment meanwhile. Returns false without memory. */
bool tj_build_init(tj_build *build, tj_environment *environment, const char *text,
                   const tj_job_options *options);
void tj_build_clear(tj_build *build);
/* libtcc reads the text, too: code that keeps state is the only one that runs, and a file is a whole one. */
bool tj_build_reads_as_libtcc(const tj_build *build);
/* It makes an object. */
bool tj_build_makes_code(const tj_build *build);
/* Appends what the compiler reads, with hidden divisors (read/divisors.h) where they are wanted and code is made.
 * Returns true if there are any. */
bool tj_build_write(const tj_build *build, bool hides, tj_text *text);
/* Runs the compiler on files, which hold that text; `narrow` as in tj_code_flags.
 * As tj_process_run(). */
tj_status tj_build_compile(const tj_build *build, bool narrow, const tj_pipework *files,
                           double seconds, bool (*given_up)(void *context), void *context,
                           tj_error *error);
/* Loads what tj_object_look() accepted and finds the symbol. unit is the caller's
 * then. */
tj_status tj_build_load(const tj_build *build, const tj_object *object, tj_unit **unit,
                        const void **address, tj_error *error);
