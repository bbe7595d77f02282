/* tinyjit.h: turns the description of a broadcasting function into code in memory.
 *
 * tinyjit handles C text and libtcc. It does not use Python or NumPy: a dtype is a number with the name of a
 * C type, and there are no arrays. tinyjit is one pipeline:
 *
 *     tj_spec --check--> --emit--> C text --compile--> tj_unit --bind--> address
 *
 * tj_define() runs the whole pipeline. The other functions are its steps. They are public so that each can be
 * tested, and so that other front ends can start at a later step.
 *
 * OWNERSHIP. `_new/_free` own heap memory; `_init/_clear` are for memory that the caller owns. Every `_clear`
 * and `_free` accepts NULL or a zeroed struct. Strings in specs and requests are borrowed during the call.
 * The comment of each function that returns memory names its owner. All texts are UTF-8.
 *
 * ERRORS. A function that can fail returns a tj_status and fills the caller's tj_error, which owns its long
 * text. tinyjit never prints and never exits.
 *
 * THREADS. Any thread may call any function. To share an object between threads, the caller must lock it.
 * Compiling takes one process-wide lock, which fork() also takes, so that a forked child can compile. tinyjit
 * calls no callback while it holds this lock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TJ_VERSION "0.1.0"

/* ---- memory ------------------------------------------------------------ */

/* The only allocator of tinyjit. Size 0 frees the block and returns NULL. Tests replace the allocator to make
 * the k-th allocation fail. Never pass it a block of another allocator. */
typedef void *tj_allocator(void *block, size_t old_size, size_t new_size);
void tj_set_allocator(tj_allocator *allocator); /* NULL: tj_allocate() */
void *tj_allocate(void *block, size_t old_size, size_t new_size);
void *tj_realloc(void *block, size_t old_size, size_t new_size);
void *tj_alloc_zeroed(size_t count, size_t size); /* NULL also on overflow */
void tj_free(void *block);

/* ---- live objects ------------------------------------------------------ */

/* Exact counts of live objects, for leak tests: X(KIND, name). Blocks and bytes: of tj_realloc(), also for libtcc. */
#define TJ_LIVE(X)                                            \
    X(BLOCKS, "blocks")                                       \
    X(BYTES, "bytes")                                         \
    X(LIBTCC_BLOCKS, "blocks of libtcc")                      \
    X(LIBTCC_BYTES, "bytes of libtcc")                        \
    X(CODE_PAGES, "pages of code")                            \
    X(MAPPINGS, "mappings")                                   \
    X(SHARED_OBJECTS, "shared objects") /* of environments */ \
    X(ENVIRONMENTS, "environments")                           \
    X(UNITS, "units")                                         \
    X(JOBS, "jobs")

typedef enum tj_live {
#define TJ_LIVE_KIND(kind, name) TJ_LIVE_##kind,
    TJ_LIVE(TJ_LIVE_KIND)
#undef TJ_LIVE_KIND
    TJ_LIVE_KINDS
} tj_live;

void tj_live_add(tj_live kind, ptrdiff_t change);
ptrdiff_t tj_live_count(tj_live kind);

/* ---- errors ------------------------------------------------------------ */

typedef enum tj_status {
    TJ_OK = 0,
    TJ_NO_MEMORY,      /* `brief` says so; reporting it allocates nothing */
    TJ_TOO_LARGE,      /* compiling needs more than tj_set_compile_memory() allows */
    TJ_BAD_SPEC,       /* an invalid definition (a wrong value) */
    TJ_COMPILE_FAILED, /* the tj_messages give the reason */
    TJ_NO_SYMBOL,      /* declared and used, but no library defines it: `text` lists the names */
    TJ_NO_LIBRARY,     /* a library or source file could not be opened */
    TJ_NO_EXEC,        /* the system denied executable memory */
    TJ_NO_BACKEND      /* libtcc could not be loaded */
} tj_status;

typedef struct tj_error {
    tj_status status;
    const char *brief;    /* static text; not NULL once status is set */
    char *text;           /* owned: the whole message; NULL: use brief */
} tj_error;

void tj_error_init(tj_error *error);
void tj_error_clear(tj_error *error);
/* Fills error (printf style) and returns status, for `return tj_fail(...)`. */
tj_status tj_fail(tj_error *error, tj_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- text -------------------------------------------------------------- */

/* A growing string. If an allocation fails, `failed` is set and later appends do nothing: check it once at the end. */
typedef struct tj_text {
    char *data; /* NUL-terminated after the first append, else NULL */
    size_t length;
    size_t capacity;
    bool failed;
} tj_text;

void tj_text_clear(tj_text *text);
/* Returns the bytes in a block of exactly their size, which the caller owns (tj_free), and empties text. */
char *tj_text_take(tj_text *text);
void tj_text_add(tj_text *text, const char *bytes, size_t length);
void tj_text_puts(tj_text *text, const char *string);
void tj_text_printf(tj_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends a C string literal with quotes that keeps every byte. */
void tj_text_quote(tj_text *text, const char *bytes, size_t length);
/* Appends a #line directive: the next line is line `number` of `file` (NULL: of the file ""). */
void tj_text_line(tj_text *text, size_t number, const char *file);

/* ---- compiler messages ------------------------------------------------- */

typedef struct tj_message {
    bool is_error;   /* false: a warning */
    char *file;      /* owned; "" if unknown */
    char *text;      /* owned */
    int line;        /* 1-based within `file`; 0: unknown */
    int column;      /* 1-based, in bytes; 0: unknown, so underline the whole line */
    int end_column;  /* 1-based, one after the last byte; 0: unknown */
    char *source;    /* owned: a copy of the line; NULL: unknown */
} tj_message;

typedef struct tj_messages {
    tj_message *items; /* owned */
    size_t count;
    size_t capacity;
    bool failed; /* out of memory: items are incomplete */
} tj_messages;

void tj_messages_clear(tj_messages *messages);
void tj_messages_add(tj_messages *messages, bool is_error, const char *file, int line,
                     const char *text);
bool tj_messages_have_error(const tj_messages *messages);

/* A piece of C text, with the name that #line and messages use for it. */
typedef struct tj_piece {
    const char *file; /* "<cwrapjit innerlib.inner float64>" */
    const char *text; /* NULL: absent */
    size_t length;    /* bytes */
} tj_piece;

/* Fills source, column and end_column of messages about this piece, from the token that each quotes ('x'). */
void tj_messages_locate(tj_messages *messages, const tj_piece *piece);

/* ---- reading C text without compiling it ------------------------------- */

/* Settings and symbols that the functions of a module share. It copies the parts that it owns. */
typedef struct tj_environment tj_environment;

/* Refuses texts that libtcc cannot handle: NUL bytes; unbalanced brackets outside directives; nesting deeper than
 * TJ_MAX_NESTING brackets or 5000 operators and unfinished statements, also if macros of the text create it; macros
 * that expand a small text to more than a million tokens; unterminated strings and comments; thread locals; text over
 * TJ_MAX_TEXT bytes; declarations without a type, which C once took for int. Appends one error message per fault
 * (usually one) and returns TJ_OK or TJ_COMPILE_FAILED. The environment's macros (NULL: none) are defined before the
 * text. is_part: generated text follows, so the text must not define C keywords as macros. */
#define TJ_MAX_NESTING 256
#define TJ_MAX_TEXT ((size_t)16 << 20)
tj_status tj_scan_check(const tj_environment *environment, const tj_piece *piece, bool is_part,
                        tj_messages *messages);
/* Refuses only declarations without a type at file level. The text must declare all types that it uses. */
tj_status tj_check_types(const tj_piece *piece, tj_messages *messages);

/* Calls visit for each token of a text, including comments, until visit returns false. kind is "word",
 * "number", "string", "mark" or "comment"; "#" begins a directive and "end" ends it. Offsets are in bytes.
 * Returns false if out of memory or if visit returned false. */
typedef bool tj_visit_token(void *ctx, const char *kind, const char *spelled, size_t length,
                            size_t start, size_t end);
bool tj_read_tokens(const char *text, size_t length, tj_visit_token *visit, void *ctx);

/* A set of the identifiers of texts, without those in comments and strings. Owned. */
typedef struct tj_names tj_names;
tj_names *tj_names_new(void);
void tj_names_free(tj_names *names);
/* Adds the identifiers of text. Returns false if out of memory. */
bool tj_names_collect(tj_names *names, const char *text, size_t length);
bool tj_names_have(const tj_names *names, const char *name);
/* Returns true if a macro of the texts uses ##: then any name may occur. */
bool tj_names_may_paste(const tj_names *names);
/* Returns the next name, in no particular order; NULL after the last. *at begins with 0. */
const char *tj_names_next(const tj_names *names, size_t *at);

/* ---- the description of a function ------------------------------------- */

typedef enum tj_role {
    TJ_IN,
    TJ_INOUT,
    TJ_OUT,
    TJ_SHARED
} tj_role; /* like CWJ_IN ... in abi.h */

/* One core dim. */
typedef struct tj_dim {
    const char *name; /* NULL: a fixed dim */
    ptrdiff_t size;   /* elements, if fixed */
} tj_dim;

typedef struct tj_operand {
    const char *name; /* "a"; outputs: "output", "output0", ... or a given name */
    tj_role role;
    int ndims;
    const tj_dim *dims;
} tj_operand;

#define TJ_BOOL_CTYPE "_Bool" /* of np.bool_: stores convert to 0 or 1, as for any _Bool */

typedef struct tj_type {
    int type_num;      /* NumPy's number; tinyjit does not interpret it */
    size_t itemsize;   /* bytes; 0: any size */
    const char *ctype; /* "npy_float64", TJ_BOOL_CTYPE; NULL: only raw pointers */
    const char *label; /* "float64" */
    const char *dtype; /* like cwj_type.dtype */
} tj_type;

typedef struct tj_typeset {
    const tj_type *types; /* one per operand */
    tj_piece body;        /* the value of Ccode_slice_eval */
} tj_typeset;

/* One step of an expression, like cwj_dim_step of abi.h, but named dims do not have numbers yet. */
typedef struct tj_dim_step {
    int op;
    ptrdiff_t value;
    const char *name; /* CWJ_DIM_SYMBOL: a dim of an input */
} tj_dim_step;

/* A dim of outputs whose length is computed from dims of inputs. */
typedef struct tj_output_dim {
    const char *name;
    const char *text; /* "n*(n-1)/2" */
    int nsteps;
    const tj_dim_step *steps;
} tj_output_dim;

typedef struct tj_extra {
    const char *c_type;
    const char *name;
    tj_piece default_value; /* a C expression; contains no NUL */
    char code;              /* one of TJ_PARSE_CODES */
} tj_extra;
#define TJ_PARSE_CODES "bhilLnkKIHBfdpcszyO"

/* Like cwj_window of abi.h. */
typedef struct tj_window {
    int border;
    const int *axes;        /* one per core dim; NULL: the operand is not a window */
    const ptrdiff_t *steps; /* one per core dim, in elements */
    const unsigned char *fills;
} tj_window;

typedef struct tj_spec {
    const char *module;    /* NULL: the function belongs to no module */
    const char *generated; /* the generated text in messages: "<cwrapjit m.f generated>" */
    const char *name;
    int noperands; /* inputs first, then outputs */
    int noutputs;
    const tj_operand *operands;
    int noutput_dims;
    const tj_output_dim *output_dims;
    const tj_window *windows; /* one per operand, or NULL */
    int ntypesets;
    const tj_typeset *typesets;
    int nextras;
    const tj_extra *extras;
    const char *records; /* definitions of the structs that are ctypes; NULL: none */
    tj_piece header; /* the header of the module */
    tj_piece cookie; /* struct members */
    tj_piece validate;
    tj_piece cleanup;
    int flags;            /* CWJ_ONE_OUTPUT ... of abi.h */
    int threads;          /* like cwj_function_decl.threads */
    bool cookie_readonly; /* const in slices */
    bool apart; /* slices stay separate functions; set after tj_function.apart is known */
    bool checked;         /* item__X() checks its indices: see tj_emit_function() */
    bool libm; /* functions of mathematics are libm's */
    bool says_libm; /* the text says so, as its environment has another default */
    bool fastmath;  /* the system's compiler may change results */
} tj_spec;

/* Checks all that needs no compiler: names (unique identifiers that are not reserved), the C types and
 * defaults of extra arguments, and snippets that use names of another kind of snippet. Returns TJ_BAD_SPEC
 * with the reason in error, or TJ_COMPILE_FAILED with messages. */
tj_status tj_spec_check(const tj_spec *spec, tj_messages *messages, tj_error *error);

/* Returns "a(n), b(n) -> output()", which the caller owns (tj_free), or NULL if out of memory. */
char *tj_spec_signature(const tj_spec *spec);

/* ---- emitting ---------------------------------------------------------- */

/* The part of a spec to emit: all of it, only the header, or the header with one other piece. tj_define()
 * compiles each piece alone after a failure to find every faulty one. */
typedef enum tj_part {
    TJ_ALL,
    TJ_HEADER,
    TJ_COOKIE,   /* the struct and the defaults of the extra arguments */
    TJ_VALIDATE, /* this and the following parts include the cookie */
    TJ_CLEANUP,
    TJ_BODY /* + index of the type set */
} tj_part;

/* Forms in which the snippets of a unit are emitted. */
enum {
    TJ_ALL_NAMES = 1, /* every snippet gets every value, not only those that its text names */
    TJ_APART = 2      /* every slice is a separate function, even if its loop could contain it */
};

/* Appends the C text of a unit, in a form (TJ_ALL_NAMES ...). It needs the prelude before it and defines the
 * symbol "cwj_function__NAME", a cwj_function_decl. If the spec is checked, accessors call this function of
 * the embedding program for each index:
 *
 *     npy_intp cwj_debugged_index(const cwj_call *, int operand, int axis, int is_unsigned,
 *                                 const char *index)
 *
 * The index is an integer, passed as a pointer. The function returns it if it is in range. Texts may use
 *
 *     CWJ_NUMBER_WITHIN(format, limit, index)
 *
 * for a number from 0 to below limit. It calls
 *
 *     npy_intp cwj_debugged_number(const char *format, npy_intp limit, int is_unsigned, const char *index)
 *
 * If the number is out of range, format makes the message, from the index (an object) and limit. */
tj_status tj_emit_function(const tj_spec *spec, int part, int form, tj_text *text);

/* Properties that the calls of one type set share. The generated code treats them as constants. */
typedef struct tj_profile {
    bool known;             /* false: nothing is known; the other members are not read */
    bool contiguous;        /* the slices of every operand are C-contiguous */
    const ptrdiff_t *named; /* one per named dim, in elements; -1: varies */
    /* In bytes: one step from slice to slice per operand, then the core strides of all operands. NULL: they vary. */
    const ptrdiff_t *strides;
} tj_profile;

/* A running call that waits for faster code. named, strides: NULL if unknown; arrays are then taken as contiguous. */
typedef struct tj_running {
    int typeset;
    const ptrdiff_t *named; /* the named dims, in elements */
    const ptrdiff_t *strides; /* like those of a profile */
    const void *const *loops; /* the current loops, one per type set; all other calls use them */
} tj_running;

/* Appends the C text of only a function's loops, for the system's compiler: header, cookie, extra arguments, slice
 * snippets, and loops in variants for unit strides, for scalars and for the profiles (one per type set, or NULL). Needs
 * the prelude before it. Defines "cwj_loops__NAME", an array of one cwj_loop* per type set. all_names: uses the form
 * TJ_ALL_NAMES. running: emits only the variant that this call uses; NULL: emits everything. */
tj_status tj_emit_loops(const tj_spec *spec, const tj_profile *profiles, const tj_running *running,
                        bool all_names, tj_text *text);

/* A piece of the text of our functions of mathematics. */
typedef struct tj_maths_piece {
    uint64_t users; /* the functions that need it; bits in the order of maths/functions.def */
    const char *text; /* NULL: the end */
} tj_maths_piece;

/* Appends the source of a standalone extension module for these functions, which share the header of the
 * first spec. call_path is the text of the call path (NUL-terminated). docs[i] may be NULL. comment is plain
 * text for the top of the file (how to build), or NULL. environment is that of the functions, or NULL. */
tj_status tj_emit_module(const tj_environment *environment, const char *name, const char *doc,
                         const char *comment, const char *call_path, const tj_maths_piece *maths,
                         int nspecs, const tj_spec *const *specs, const char *const *docs,
                         tj_text *text);

/* ---- compiling --------------------------------------------------------- */

/* Loads libtcc once per process. libtcc is the path of the shared library, lib_dir is tcc's own folder (its
 * headers and libtcc1.a), include_dir contains the small headers of the package. If a backend is already
 * loaded, returns TJ_OK and changes nothing. */
tj_status tj_backend_open(const char *libtcc, const char *lib_dir, const char *include_dir,
                          tj_error *error);
/* Returns "0.9.28rc" or whatever __TINYC__ of the compiler says; NULL before tj_backend_open(). Static. */
const char *tj_backend_version(void);
/* Returns the predefined macros of libtcc as lines of C. The compiler of the cc tier uses them instead of its
 * own. NULL if out of memory. Static. */
const char *tj_backend_macros(void);

/* The number of bytes that one compilation may hold, including code and data: the default, the minimum (which
 * small texts need) and the maximum (libtcc cannot place more than 2 GiB). */
#define TJ_COMPILE_MEMORY ((size_t)1 << 30)
#define TJ_LEAST_COMPILE_MEMORY ((size_t)1 << 22)
#define TJ_MOST_COMPILE_MEMORY (((size_t)1 << 31) - ((size_t)1 << 20))
void tj_set_compile_memory(size_t bytes);

/* A symbol that C text may use without defining it. */
typedef struct tj_symbol {
    const char *name;
    const void *address;
    bool neutral; /* using it does not count as a call into the embedding program */
} tj_symbol;

/* Compiled code in memory; freeing it unmaps the code. */
typedef struct tj_unit tj_unit;

typedef struct tj_environment_options {
    const char *const *include_dirs; /* NULL-terminated lists, or NULL */
    const char *const *define_macros; /* "NAME" or "NAME=VALUE" */
    const char *const *sources; /* paths of C files, which are compiled once, together */
    /* One text per source file. NULL, or a piece without text: the file is read. */
    const tj_piece *source_texts;
    const tj_piece *text; /* C text that replaces the source files, after the prelude; or NULL */
    const char *const *libraries; /* as dlopen() accepts them */
    bool
        interruptible; /* the libraries' own code may be left (tj_is_code()) while the environment lives */
    const tj_symbol *symbols; /* entry points of the embedding program, searched first */
    size_t nsymbols; /* of symbols, which are borrowed for the lifetime of the process */
    /* A function whose name has one of these prefixes (for example "Py", "_Py") calls into the embedding program,
     * unless its symbol is neutral. NULL-terminated, borrowed. */
    const char *const *host_prefixes;
    const char *host_data; /* names with this prefix are data, not functions; or NULL */
    /* Macros that the program's headers need, defined before define_macros, in the same form. */
    const char *const *host_macros;
    bool
        libm; /* texts use libm's functions of mathematics such as exp, not ours, unless they say the opposite */
} tj_environment_options;

tj_status tj_environment_new(const tj_environment_options *options, tj_environment **environment,
                             tj_messages *messages, tj_error *error);
/* Returns environment with one more share. _new creates the first; jobs hold shares, too. Any thread may call this. */
tj_environment *tj_environment_ref(tj_environment *environment);
void tj_environment_free(tj_environment *environment); /* gives one share back */
/* Returns the address that the sources, the libraries or the process define for `name`, or NULL. */
const void *tj_environment_symbol(tj_environment *environment, const char *name);
/* Returns the paths of the C files that were read. NULL-terminated, borrowed. */
const char *const *tj_environment_sources(const tj_environment *environment);
/* Returns the text that was compiled for the i-th source file, or NULL. Borrowed. */
const char *tj_environment_source(const tj_environment *environment, size_t i, size_t *length);
/* Returns the text that replaces the source files, after a #line directive, or NULL. Borrowed. */
const char *tj_environment_text(const tj_environment *environment);
bool tj_environment_uses_libm(const tj_environment *environment); /* the option of that name */
/* Returns true if the sources or the text contain writable data. */
bool tj_environment_has_state(const tj_environment *environment);
/* Returns true if functions that it calls may keep an address: there is writable data, or a library. */
bool tj_environment_may_keep(const tj_environment *environment);
/* Returns true if libtcc compiled this function from the sources. Then code compiled by libtcc must call it,
 * because libtcc passes some structs by value differently from other compilers. */
bool tj_environment_compiled(const tj_environment *environment, const char *name);

/* Compiles text, with the prelude before it, to memory. names are the identifiers of the text, which are
 * looked up as symbols; NULL: unknown. Appends warnings to messages also on success. */
tj_status tj_compile(tj_environment *environment, const char *text, const tj_names *names,
                     tj_unit **unit, tj_messages *messages, tj_error *error);
void *tj_unit_symbol(const tj_unit *unit, const char *name); /* borrowed; NULL: not there */
/* Returns true if the unit calls into the embedding program through symbols that are not neutral (host_prefixes). */
bool tj_unit_uses_host(const tj_unit *unit);
/* Returns true if the unit or the sources that it uses hold writable data: a slice may depend on earlier ones. */
bool tj_unit_has_state(const tj_unit *unit);
/* Returns true if the unit may call the embedding program (to raise, to print), a library that the user
 * named, or a function of libc that keeps state (rand). The order of slices is then observable. */
bool tj_unit_speaks(const tj_unit *unit);
void tj_unit_free(tj_unit *unit);

/* Returns the text of the prelude, and that of mathematics.h. Static. */
const char *tj_prelude(void);
const char *tj_mathematics(void);
/* Return the texts of the package's <complex.h>, <cwj_half.h> and <cwj_extremes.h>, for emitted modules. Static. */
const char *tj_complex(void);
const char *tj_half(void);
const char *tj_extremes(void);

/* ---- source lines of machine code -------------------------------------- */

/* A function of a unit, with its name in C. */
typedef struct tj_anchor {
    const char *name; /* NULL: the end of a list */
    const void *address;
} tj_anchor;

/* Maps the instructions of a unit to source lines. */
typedef struct tj_lines tj_lines;

/* Compiles the text of a unit again to learn its lines (NULL: the sources of the environment). Source lines are shown
 * from `shown` if it is not NULL, else from the text; #line directives count. anchors lists some functions of the unit
 * and their addresses in memory; unknown names are ignored. Takes as long as tj_compile() took. */
tj_status tj_lines_new(const tj_environment *environment, const char *text, const char *shown,
                       const tj_anchor *anchors, tj_lines **lines, tj_error *error);
void tj_lines_free(tj_lines *lines); /* call this before you free the code */
/* Adds the file, the line and, if known, the source text of the instruction at address, in the code of all
 * live tj_lines. is_return: address is a return address, so the call before it is meant. Returns false if the
 * line is unknown. */
bool tj_lines_find(const void *address, bool is_return, tj_messages *place);
/* Creates the lines of the environment's sources, if there are sources and the lines can still be determined. */
void tj_environment_lines(tj_environment *environment, const char *shown);
/* True if the address lies in memory for the code of units or jobs, or in code of a library that may be left. Signal
 * handlers may ask. */
bool tj_is_code(const void *address);

/* Makes fork() wait for compilations. The first compilation does so, too, but may come while another thread forks. */
void tj_know_forks(void);

/* ---- the pipeline ------------------------------------------------------ */

typedef struct tj_function {
    tj_unit *unit; /* owned */
    char *source; /* owned: the generated text without the prelude */
    const void *decl; /* a const cwj_function_decl* inside the unit */
    bool all_names; /* macros hide names, so the form is TJ_ALL_NAMES */
    bool apart; /* a macro of an included file may take stack: see tj_spec */
    bool orderless; /* the order of slices is not observable: they write no cookie, keep no state
                                  and return no false */
} tj_function;

/* Checks, emits, compiles and binds. After a failure it compiles every piece alone, so that messages holds
 * the faults of all pieces (a fault of the header once). */
tj_status tj_define(tj_environment *environment, const tj_spec *spec, tj_function *function,
                    tj_messages *messages, tj_error *error);
void tj_function_clear(tj_function *function);

/* ---- graphs: nested blocks of C ----------------------------------------- */

/* The second front end. A graph consists of values, which can be converted to C and back, and of operations,
 * which are C text between them. Each value and each operation is a block:
 *
 *     {                        block 1: get a value ready
 *         begin of 1
 *         {                    block 2
 *             begin of 2
 *         label_2:
 *             cleanup of 2     runs whether or not 2 or a block inside it fails
 *         }
 *     label_1:
 *         cleanup of 1
 *     }
 *     return failure;          0, or the number of the block that failed
 *
 * A text fails by "{failure = 2; goto label_2;}". The sync of a variable, after which only the cleanup is
 * left, fails by "{failure = 2; goto label_2_cleanup;}". Thus exactly the blocks that were entered are
 * cleaned up, in reverse order.
 *
 * Blocks are numbered from 1: first the variables in their order, then the operations. The caller numbers the
 * operations; each number is larger than the one before. */

/* The declarations of a text that only declares variables and types. */
typedef struct tj_declarations {
    char *typedefs; /* owned: the typedefs and the definitions of structs, unions and enums */
    char *members; /* owned: the variables, in the form of struct members */
    char **names; /* owned: the names of the variables; NULL if there are none */
    size_t nnames;
} tj_declarations;

/* Parses declarations. The name of every variable and typedef must contain `name` (NULL: any name is
 * accepted) and must not be py_NAME or storage_NAME. Directives, initializers, functions, statements, storage
 * classes and variable-length arrays are errors: one message per fault, and TJ_COMPILE_FAILED. */
tj_status tj_declarations_read(const tj_piece *piece, const char *name,
                               tj_declarations *declarations, tj_messages *messages,
                               tj_error *error);
void tj_declarations_clear(tj_declarations *declarations);

typedef enum tj_graph_role {
    TJ_GRAPH_INPUT, /* extract; py_NAME comes from its storage */
    TJ_GRAPH_CONSTANT, /* like an input; a kept constant is extracted once per state */
    TJ_GRAPH_TEMPORARY, /* init; py_NAME is None */
    TJ_GRAPH_OUTPUT /* init, or extract_out; sync, and py_NAME goes to its storage */
} tj_graph_role;

typedef struct tj_graph_variable {
    const char *name; /* its C name, "V1_x", which the name of each of its declarations contains */
    const char *label; /* for comments: "x (Double)" */
    bool fetched; /* like an output, but: extract_out, and py_NAME comes from its storage */
    bool kept; /* stored in the state: declared, begun and cleaned up once */
    bool sync_fails; /* its sync may fail (types of the later protocol) */
    tj_piece declare;
    tj_piece extract; /* for inputs and constants */
    tj_piece init; /* for other roles; the text of extract_out if fetched */
    tj_piece sync;
    tj_piece cleanup;
} tj_graph_variable;

typedef struct tj_graph_node {
    const char *name; /* "node_1" */
    const char *label; /* for comments: "z = Add(x, y)" */
    int validate_block; /* 0: none */
    int code_block;
    tj_piece support; /* at file level */
    tj_piece element; /* support's expression for each element: only checked */
    tj_piece struct_declare; /* members of the state, with any names */
    tj_piece struct_init; /* runs once per state; may fail like code_block */
    tj_piece struct_cleanup;
    tj_piece validate;
    tj_piece validate_cleanup;
    tj_piece code;
    tj_piece code_cleanup;
} tj_graph_node;

typedef struct tj_graph_use {
    int variable;
    tj_graph_role role;
} tj_graph_use;

/* Nodes that run as one C function, in nested blocks: first the uses, then the nodes. */
typedef struct tj_graph_step {
    int nuses;
    const tj_graph_use *uses; /* in the order of the variables */
    int nnodes;
    const int *nodes;
} tj_graph_step;

typedef struct tj_graph {
    const char *name; /* for messages and comments: "graph" */
    bool struct_form; /* a struct keeps storages and variables; false: functions take storages */
    int nvariables;
    const tj_graph_variable *variables;
    int nnodes;
    const tj_graph_node *nodes;
    int nsteps;
    const tj_graph_step *steps;
    int nheaders;
    const char *const *headers; /* the operands of #include: "<math.h>", "\"my.h\"" */
    int nsupports;
    const tj_piece *supports; /* support code, in order, without duplicates */
    int ninits;
    const tj_piece *inits; /* init code: statements that run once per unit */
} tj_graph;

/* The place that an expression needs if a generated loop computes it for each element. */
typedef enum tj_standing {
    TJ_STANDS_IN_LOOP,
    TJ_STANDS_IN_FUNCTION, /* it contains labels, statics, or unknown macros */
    TJ_STANDS_APART /* in a function that compilers must not inline: it takes stack until that function
                              returns, or jumps back into it */
} tj_standing;

/* Returns the place that `expression` needs. before: the directives and support code that precede it. Returns
 * TJ_STANDS_APART if out of memory. */
tj_standing tj_expression_standing(const tj_piece *expression, const tj_piece *before);

/* Checks all that needs no compiler; messages give piece, line and column. Refuses texts that tj_scan_check()
 * refuses; invalid declarations; `return`, and break, continue and goto that leave the piece; a failure in a
 * cleanup, or in a sync that must not fail; and the names that the generated text reserves (failure, label_N,
 * cwj_state ...). Expands the macros of the support code. Returns TJ_BAD_SPEC if a header's name is invalid
 * or if there are more blocks than can be nested. */
tj_status tj_graph_check(const tj_environment *environment, const tj_graph *graph,
                         tj_messages *messages, tj_error *error);

/* Appends the C text of a unit that defines "cwj_graph", a cwj_graph_decl. The prelude must precede it. */
tj_status tj_emit_graph(const tj_graph *graph, tj_text *text);

/* Checks, emits, and compiles unless unit is NULL. The caller owns *source (tj_free); pass NULL if you do not
 * need it. Reports C++ code as such. Faults that only the compiler finds are also errors of the piece: a variable-length array
 * after a failure code of its block, or a `return` that a macro of a header hides. */
tj_status tj_graph_define(tj_environment *environment, const tj_graph *graph, tj_unit **unit,
                          char **source, tj_messages *messages, tj_error *error);

/* ---- the system's compiler ------------------------------------------- */

/* A C compiler of this machine, which runs as a process: "cc", "gcc-12 -m64". */
typedef struct tj_compiler {
    char **words; /* owned, NULL-terminated: the program's path, then its arguments */
} tj_compiler;

/* Finds a compiler. wanted is a command line (blanks separate words, quotes keep them together) whose program
 * is looked up in path (the text of a PATH variable); NULL: the first of cc, gcc and clang that exists.
 * Returns TJ_NO_BACKEND with the reason if there is none. */
tj_status tj_compiler_find(const char *wanted, const char *path, tj_compiler *compiler,
                           tj_error *error);
void tj_compiler_clear(tj_compiler *compiler);

/* One text for the system's compiler: it is queued, compiled by a process to an object in memory, loaded and bound.
 * Background threads start jobs in the order of tj_job_start(), as many at a time as tj_optimizer_set_limits() allows.
 * The owner of a job and the thread that runs it share the job. Only tj_job_wait() waits for it. A forked child has no
 * such threads: jobs that were queued or running start again there when the child starts or waits for a job. */
typedef struct tj_job tj_job;

typedef enum tj_job_state {
    TJ_JOB_NEW,
    TJ_JOB_STARTED, /* queued or running */
    TJ_JOB_READY, /* the code is loaded, ready() was called */
    TJ_JOB_FAILED /* tj_job_failure() gives the reason; final, unless no thread could be started */
} tj_job_state;

typedef enum tj_job_kind {
    TJ_JOB_CODE, /* compile an object to code in memory */
    TJ_JOB_SYNTAX, /* no code: only report errors */
    TJ_JOB_CHECK, /* no code: report errors and warnings */
    TJ_JOB_EXPLAIN /* no code: report optimizations of loops; needs keeps_state */
} tj_job_kind;

typedef struct tj_job_options {
    const tj_compiler *compiler; /* copied */
    tj_job_kind kind;
    const char *file; /* copied: a C file that is checked instead of the text; or NULL */
    bool fastmath;
    bool keeps_state; /* the object may have writable data, because no other tier of it runs */
    bool urgent; /* another job's code will replace this one's soon: it precedes jobs that are not
                           urgent, and the compiler does not unroll loops */
    const char *symbol; /* copied: the symbol to look up in the object; NULL if no object is made */
    /* Called once, in a background thread, with the symbol's address when the code is ready; never after
     * tj_job_free(). It must not call tinyjit. */
    void (*ready)(void *context, const void *address);
    void *context;
} tj_job_options;

/* Copies text, which the compiler reads after the prelude. Holds a share of environment. NULL if out of memory. */
tj_job *tj_job_new(tj_environment *environment, const char *text, const tj_job_options *options);
/* Returns false if no thread could be started: the job has failed, and may start again. A second start does nothing. */
bool tj_job_start(tj_job *job);
tj_job_state tj_job_look(tj_job *job);
/* Starts a new job and waits until it is ready or failed, for `seconds` at most (< 0: no limit). */
tj_job_state tj_job_wait(tj_job *job, double seconds);
/* Returns the reason why a job failed: an owned text (tj_free), or NULL. */
char *tj_job_failure(tj_job *job);
/* Appends copies of the compiler's messages about the text, by file and line: the errors that made a job
 * fail; for checks all messages, except those about generated text. Returns false if out of memory. */
bool tj_job_messages(tj_job *job, tj_messages *messages);
/* Returns the report of a TJ_JOB_EXPLAIN job: first the compiler's own messages about loops, then lines of
 * tinyjit about the object, "cwrapjit size FUNCTION BYTES" and "cwrapjit calls NAME FILE". FILE is the
 * library that contains the function, or empty. The text is owned (tj_free), or NULL. */
char *tj_job_told(tj_job *job);
/* Gives back the owner's share. Cancels a job that is not ready (ends its compiler), else frees its code. */
void tj_job_free(tj_job *job);

/* Returns the flags for every text, separated by blanks: an owned text (tj_free), or NULL if out of memory.
 * Flags that depend on the text or on the environment are not included. */
char *tj_optimizer_flags(bool fastmath);

/* Sets how many compiler processes run at a time (default 1), and how many seconds one may take (default 60). */
void tj_optimizer_set_limits(int processes, double seconds);
/* Waits until no job is queued or running. */
void tj_optimizer_settle(void);
/* Returns the reason of the last failure of any job: an owned text (tj_free), or NULL if none failed. */
char *tj_optimizer_last_failure(void);
/* Ends running compilers and the threads; call it before the process exits. */
void tj_optimizer_stop(void);
