/* tinyjit.h: from the description of a broadcasting function to code in memory.
 *
 * tinyjit knows C text and libtcc. It knows nothing of Python or NumPy: dtypes
 * are numbers with a C type's name, arrays do not occur. The whole of it is
 * one pipeline:
 *
 *     tj_spec --check--> --emit--> C text --compile--> tj_unit --bind--> address
 *
 * tj_define() is that pipeline; the other functions are its steps, public so
 * that each can be tested and so that other front ends can enter half way.
 *
 * OWNERSHIP. `_new/_free` own heap memory, `_init/_clear` are for memory that
 * the caller owns, every `_clear` and `_free` accepts NULL or a zeroed struct.
 * Strings in specs and requests are borrowed for the time of the call; what a
 * function hands out says who owns it. All texts are UTF-8.
 *
 * ERRORS. A function that can fail returns a tj_status and fills the caller's
 * tj_error, which owns its long text. Nothing prints, nothing exits.
 *
 * THREADS. Any thread may call anything, objects are not shared without a lock
 * of the caller's. Compiling takes one process-wide lock, which fork() also
 * takes, so that a child can compile. No callback runs under it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TJ_VERSION "0.1.0"

/* ---- memory ------------------------------------------------------------ */

/* The one allocator: size 0 frees and returns NULL. Tests replace it to make
 * the k-th allocation fail. Never call it with another allocator's block. */
typedef void *tj_allocator(void *block, size_t old_size, size_t new_size);
void tj_set_allocator(tj_allocator *allocator); /* NULL: the usual one, which is */
void *tj_allocate(void *block, size_t old_size, size_t new_size);
void *tj_realloc(void *block, size_t old_size, size_t new_size);
void *tj_alloc_zeroed(size_t count, size_t size); /* NULL on overflow too */
void tj_free(void *block);

/* ---- what lives -------------------------------------------------------- */

/* Exact counts, for tests of what is kept: X(KIND, name). Blocks and bytes are those of
 * tj_realloc(), libtcc's among them. */
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
    TJ_NO_MEMORY,      /* `brief` says so; nothing was allocated to say it */
    TJ_TOO_LARGE,      /* compiling takes more than tj_set_compile_memory() allows */
    TJ_BAD_SPEC,       /* a definition that makes no sense (a value) */
    TJ_BAD_SIGNATURE,  /* as TJ_BAD_SPEC, `position` is a byte offset */
    TJ_COMPILE_FAILED, /* the tj_messages say why */
    TJ_NO_SYMBOL,      /* declared, used, and in no library: `text` names them */
    TJ_NO_LIBRARY,     /* a library or a source file that cannot be opened */
    TJ_NO_EXEC,        /* the system denied executable memory */
    TJ_NO_BACKEND      /* libtcc could not be loaded */
} tj_status;

typedef struct tj_error {
    tj_status status;
    ptrdiff_t position;   /* byte offset in a signature string, or -1 */
    const char *brief;    /* static text, never NULL once status is set */
    char *text;           /* owned, the whole message; NULL: use brief */
} tj_error;

void tj_error_init(tj_error *error);
void tj_error_clear(tj_error *error);
/* Fills error (printf style) and returns status, for `return tj_fail(...)`. */
tj_status tj_fail(tj_error *error, tj_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- text -------------------------------------------------------------- */

/* A growing string. A failed allocation is remembered in `failed`, later
 * appends do nothing; check once at the end. */
typedef struct tj_text {
    char *data; /* NUL-terminated once anything was appended, else NULL */
    size_t length;
    size_t capacity;
    bool failed;
} tj_text;

void tj_text_clear(tj_text *text);
/* Leaves text empty. The result is owned (tj_free), and no larger than it must be. */
char *tj_text_take(tj_text *text);
void tj_text_add(tj_text *text, const char *bytes, size_t length);
void tj_text_puts(tj_text *text, const char *string);
void tj_text_printf(tj_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A C string literal with quotes, every byte kept. */
void tj_text_quote(tj_text *text, const char *bytes, size_t length);
/* A directive: the next line is line `number` of a file (NULL: of none). */
void tj_text_line(tj_text *text, size_t number, const char *file);

/* ---- what a compiler says ---------------------------------------------- */

typedef struct tj_message {
    bool is_error;   /* else a warning */
    char *file;      /* owned; "" if unknown */
    char *text;      /* owned */
    int line;        /* 1-based within `file`; 0: unknown */
    int column;      /* 1-based, in bytes; 0: unknown, underline the whole line */
    int end_column;  /* 1-based, one past the last byte; 0: unknown */
    char *source;    /* owned copy of the line; NULL: unknown */
} tj_message;

typedef struct tj_messages {
    tj_message *items; /* owned */
    size_t count;
    size_t capacity;
    bool failed; /* ran out of memory: items are incomplete */
} tj_messages;

void tj_messages_clear(tj_messages *messages);
void tj_messages_add(tj_messages *messages, bool is_error, const char *file, int line,
                     const char *text);
bool tj_messages_have_error(const tj_messages *messages);

/* A named piece of C text, as #line and messages call it. */
typedef struct tj_piece {
    const char *file; /* "<cwrapjit innerlib.inner float64>" */
    const char *text; /* may be NULL: absent */
    size_t length;    /* bytes */
} tj_piece;

/* Fills source, column and end_column of the messages whose file is the piece's,
 * from the token that the message quotes ('x'). */
void tj_messages_locate(tj_messages *messages, const tj_piece *piece);

/* ---- looking at C text without compiling it ---------------------------- */

/* What a module's functions share. Owned parts are its own copies. */
typedef struct tj_environment tj_environment;

/* Refuses what libtcc must not see: NUL bytes, unbalanced brackets outside
 * directives, nesting deeper than TJ_MAX_NESTING brackets or 5000 operators and
 * statements without end, also as the text's own macros make it, macros that make more
 * than a million tokens of a small text, unterminated strings and comments, thread locals,
 * text over TJ_MAX_TEXT bytes, what C once took for int. Appends one error message per
 * fault (usually one) and returns TJ_OK or TJ_COMPILE_FAILED. The environment's macros
 * (NULL: none) stand in front of the text. is_part: text of ours follows, for which macros
 * must leave C's words alone. */
#define TJ_MAX_NESTING 256
#define TJ_MAX_TEXT ((size_t)16 << 20)
tj_status tj_scan_check(const tj_environment *environment, const tj_piece *piece, bool is_part,
                        tj_messages *messages);
/* Only the part of it that refuses declarations without a type, at file level. All types
 * that the text uses are declared in it. */
tj_status tj_check_types(const tj_piece *piece, tj_messages *messages);

/* Calls visit for each token of a text, comments among them, until it returns false. kind: "word",
 * "number", "string", "mark", "comment"; "#" begins a directive, "end" ends one. Offsets are in
 * bytes. Returns false without memory, or where visit did. */
typedef bool tj_visit_token(void *ctx, const char *kind, const char *spelled, size_t length,
                            size_t start, size_t end);
bool tj_read_tokens(const char *text, size_t length, tj_visit_token *visit, void *ctx);

/* The identifiers of a text, comments and strings apart. A set, owned. */
typedef struct tj_names tj_names;
tj_names *tj_names_new(void);
void tj_names_free(tj_names *names);
/* Adds those of text. Returns false without memory. */
bool tj_names_collect(tj_names *names, const char *text, size_t length);
bool tj_names_have(const tj_names *names, const char *name);
/* True when the texts use ## in a macro: any name may then occur. */
bool tj_names_may_paste(const tj_names *names);
/* Calls visit for each name, in no particular order. */
void tj_names_each(const tj_names *names, void (*visit)(void *ctx, const char *name), void *ctx);

/* ---- the description of a function ------------------------------------- */

typedef enum tj_role {
    TJ_IN,
    TJ_INOUT,
    TJ_OUT,
    TJ_SHARED
} tj_role; /* as CWJ_IN ... in abi.h */

/* One core dim. */
typedef struct tj_dim {
    const char *name; /* NULL: fixed */
    ptrdiff_t size;   /* elements, when fixed */
} tj_dim;

typedef struct tj_operand {
    const char *name; /* "a"; outputs: "output", "output0", ... or their own */
    tj_role role;
    int ndims;
    const tj_dim *dims;
} tj_operand;

#define TJ_BOOL_CTYPE "_Bool" /* of np.bool_: stores convert, as into any _Bool */

typedef struct tj_type {
    int type_num;      /* opaque here: NumPy's number */
    size_t itemsize;   /* bytes; 0: any */
    const char *ctype; /* "npy_float64", TJ_BOOL_CTYPE; NULL: raw pointers only */
    const char *label; /* "float64" */
    const char *dtype; /* as cwj_type.dtype */
} tj_type;

typedef struct tj_typeset {
    const tj_type *types; /* one per operand */
    tj_piece body;        /* Ccode_slice_eval's value */
} tj_typeset;

/* One step of an expression: cwj_dim_step of abi.h, before named dims have numbers. */
typedef struct tj_dim_step {
    int op;
    ptrdiff_t value;
    const char *name; /* CWJ_DIM_SYMBOL: borrowed from the operand that has the dim */
} tj_dim_step;

/* A dim of outputs whose length follows from the dims of inputs. */
typedef struct tj_output_dim {
    const char *name;
    const char *text; /* "n*(n-1)/2" */
    int nsteps;
    tj_dim_step *steps; /* owned: tj_output_dim_clear() */
} tj_output_dim;

typedef struct tj_extra {
    const char *c_type;
    const char *name;
    tj_piece default_value; /* a C expression, without NUL */
    char code;              /* one of TJ_PARSE_CODES */
} tj_extra;
#define TJ_PARSE_CODES "bhilLnkKIHBfdpcszyO"

/* As cwj_window of abi.h. */
typedef struct tj_window {
    int border;
    const int *axes;        /* one per core dim; NULL: the operand is no window */
    const ptrdiff_t *steps; /* one per core dim, in elements */
    const unsigned char *fills;
} tj_window;

typedef struct tj_spec {
    const char *module;    /* NULL: a function without module */
    const char *generated; /* what messages call the generated text: "<cwrapjit m.f generated>" */
    const char *name;
    int noperands; /* inputs first, outputs behind */
    int noutputs;
    const tj_operand *operands;
    int noutput_dims;
    const tj_output_dim *output_dims;
    const tj_window *windows; /* one per operand, or NULL */
    int ntypesets;
    const tj_typeset *typesets;
    int nextras;
    const tj_extra *extras;
    const char *records; /* definitions of structs that are ctypes; NULL: none */
    tj_piece header; /* the module's */
    tj_piece cookie; /* struct members */
    tj_piece validate;
    tj_piece cleanup;
    int flags;            /* CWJ_ONE_OUTPUT ... of abi.h */
    int threads;          /* as cwj_function_decl.threads */
    bool cookie_readonly; /* const in slices */
    bool apart; /* slices stay functions: set once tj_function.apart is known */
    bool checked;         /* item__X() looks at its indices: see tj_emit_function() */
} tj_spec;

/* Checks what needs no compiler: names (unique, not reserved; they are identifiers), C types
 * and defaults of extra arguments, snippets that use what only another kind of snippet has.
 * TJ_BAD_SPEC with the reason in error, or TJ_COMPILE_FAILED with messages. */
tj_status tj_spec_check(const tj_spec *spec, tj_messages *messages, tj_error *error);

/* "a(n), b(n) -> output()", owned by the caller (tj_free), NULL without memory. */
char *tj_spec_signature(const tj_spec *spec);

/* ---- signature strings ------------------------------------------------- */

/* "inout a(n, 3), b(n) -> out(3)". What is parsed is owned here. */
typedef struct tj_signature {
    int noperands;
    int noutputs;
    bool one_output;      /* "-> out(3)" as opposed to "-> (out(3),)" */
    tj_operand *operands; /* owned, with their names and dims */
} tj_signature;

tj_status tj_signature_parse(const char *text, size_t length, tj_signature *signature,
                             tj_error *error);
void tj_signature_clear(tj_signature *signature);

/* ---- dims that are computed -------------------------------------------- */

/* Reads a C integer expression over the named dims of the spec's inputs: constants,
 * ?: || && == != < <= > >= << >> + - * / % ! brackets, min(a, b) and max(a, b). Fills steps
 * and nsteps; TJ_BAD_SIGNATURE with the position of what is wrong. */
tj_status tj_output_dim_parse(const tj_spec *spec, const char *text, size_t length,
                              tj_output_dim *dim, tj_error *error);
void tj_output_dim_clear(tj_output_dim *dim);

/* ---- emitting ---------------------------------------------------------- */

/* Which parts of a spec to emit: the whole, or the header alone, or the header
 * with one other piece, to find every faulty piece after a failure. */
typedef enum tj_part {
    TJ_ALL,
    TJ_HEADER,
    TJ_COOKIE,   /* the struct and the extras' defaults */
    TJ_VALIDATE, /* each of these with the cookie */
    TJ_CLEANUP,
    TJ_BODY /* + index of the type set */
} tj_part;

/* How the snippets of a unit are emitted. */
enum {
    TJ_ALL_NAMES = 1, /* every snippet gets every value, instead of those that its text names */
    TJ_APART = 2      /* every slice in a function of its own, even if its loop could hold it */
};

/* Appends the C text of a unit, in a form (TJ_ALL_NAMES ...). It needs the prelude in
 * front and defines the symbol "cwj_function__NAME", a cwj_function_decl. Accessors of a
 * checked spec call the embedding program's
 *
 *     npy_intp cwj_debugged_index(const cwj_call *, int operand, int axis, int is_unsigned,
 *                                const char *index)
 *
 * for each index (an integer in a pointer's place), which returns it if it is in range. Texts may write
 *
 *     CWJ_NUMBER_WITHIN(format, limit, index)
 *
 * for what is from 0 to below limit, which calls
 *
 *     npy_intp cwj_debugged_number(const char *format, npy_intp limit, int is_unsigned, const char *index)
 *
 * The format is of what is told otherwise, of the index (an object) and of limit.
 */
tj_status tj_emit_function(const tj_spec *spec, int part, int form, tj_text *text);

/* What calls of one type set had in common, to become constants. */
typedef struct tj_profile {
    bool known;             /* false: nothing is known, the rest is not read */
    bool contiguous;        /* the slices of every operand are C-contiguous */
    const ptrdiff_t *named; /* one per named dim, in elements; -1: it varies */
    /* Bytes: one step from slice to slice per operand, then the core strides of all
     * operands. NULL: they vary. */
    const ptrdiff_t *strides;
} tj_profile;

/* A call that waits for better code; named and strides NULL: of usual arrays. */
typedef struct tj_running {
    int typeset;
    const ptrdiff_t *named;   /* the named dims, in elements */
    const ptrdiff_t *strides; /* as those of a profile */
    const void *const *loops; /* the loops in place, one per type set: all other calls' */
} tj_running;

/* Appends the C text of a function's loops alone, for the system's compiler:
 * header, cookie, extras, slice snippets and loops in variants for unit strides,
 * scalars and what the profiles say (one per type set, or NULL). Needs the
 * prelude in front and defines "cwj_loops__NAME", an array of one cwj_loop* per
 * type set. all_names: in the form TJ_ALL_NAMES. running: the variant that this call takes, and
 * nothing else of the function; NULL: everything. */
tj_status tj_emit_loops(const tj_spec *spec, const tj_profile *profiles, const tj_running *running,
                        bool all_names, tj_text *text);

/* Appends the source of a standalone extension module for these functions,
 * which share one header (the first spec's). call_path is the text of the call
 * path (NUL-terminated); docs[i] may be NULL; comment is plain text for the
 * top of the file (how to build) or NULL; environment is the functions', or NULL. */
tj_status tj_emit_module(const tj_environment *environment, const char *name, const char *doc,
                         const char *comment, const char *call_path, int nspecs,
                         const tj_spec *const *specs, const char *const *docs, tj_text *text);

/* ---- compiling --------------------------------------------------------- */

/* Loads libtcc once per process. libtcc is the path of the shared library,
 * lib_dir tcc's own folder (its headers and libtcc1.a), include_dir the small
 * headers that ship with the package. Later calls with a backend in place
 * return TJ_OK and change nothing. */
tj_status tj_backend_open(const char *libtcc, const char *lib_dir, const char *include_dir,
                          tj_error *error);
/* "0.9.28rc" or what the compiler's __TINYC__ says; NULL before open. Static. */
const char *tj_backend_version(void);
/* The macros that it predefines, as lines of C: what the cc tier's compiler gets instead of its own. NULL
 * without memory. Static. */
const char *tj_backend_macros(void);

/* How many bytes one compilation may hold, code and data among them. The default, the
 * least, which small texts need, and the most: libtcc cannot place more than 2 GiB. */
#define TJ_COMPILE_MEMORY ((size_t)1 << 30)
#define TJ_LEAST_COMPILE_MEMORY ((size_t)1 << 22)
#define TJ_MOST_COMPILE_MEMORY (((size_t)1 << 31) - ((size_t)1 << 20))
void tj_set_compile_memory(size_t bytes);

/* Where symbols that C text leaves undefined come from. */
typedef struct tj_symbol {
    const char *name;
    const void *address;
    bool neutral; /* using it does not mean calling into the embedding program */
} tj_symbol;

/* Compiled code in memory; freeing it unmaps the code. */
typedef struct tj_unit tj_unit;

typedef struct tj_environment_options {
    const char *const *include_dirs; /* NULL-terminated lists, or NULL */
    const char *const *define_macros; /* "NAME" or "NAME=VALUE" */
    const char *const *sources;      /* paths of C files, compiled once, together */
    /* One for each of sources, what is in it; NULL, or no text: the file is read. */
    const tj_piece *source_texts;
    const tj_piece *text;            /* C text in their place, behind the prelude; or NULL */
    const char *const *libraries;    /* as dlopen() takes them */
    const tj_symbol *symbols; /* entry points offered by the embedding program, */
    size_t nsymbols;          /* searched first; borrowed for the process' life */
    /* Names with one of these prefixes call into the embedding program when
     * they are not neutral symbols ("Py", "_Py"): NULL-terminated, borrowed. */
    const char *const *host_prefixes;
    const char *host_data; /* or NULL: using those with this prefix is no call */
    /* What its headers want defined, in front of define_macros, in the same form. */
    const char *const *host_macros;
} tj_environment_options;

tj_status tj_environment_new(const tj_environment_options *options, tj_environment **environment,
                             tj_messages *messages, tj_error *error);
/* Counted: new makes the first share, jobs hold shares of their own. Any thread. */
tj_environment *tj_environment_ref(tj_environment *environment);
void tj_environment_free(tj_environment *environment); /* gives one share back */
/* The address of what the sources, the libraries or the process call `name`; NULL: nothing. */
const void *tj_environment_symbol(tj_environment *environment, const char *name);
/* The paths of the C files that were read. NULL-terminated, borrowed. */
const char *const *tj_environment_sources(const tj_environment *environment);
/* What was compiled of the file that was given i-th; NULL: there is none. Borrowed. */
const char *tj_environment_source(const tj_environment *environment, size_t i, size_t *length);
/* The text in their place, behind a #line; NULL: there is none. Borrowed. */
const char *tj_environment_text(const tj_environment *environment);
/* True when sources or text hold data that they may write. */
bool tj_environment_has_state(const tj_environment *environment);
/* True when what it calls may keep an address: there is such data, or a library. */
bool tj_environment_may_keep(const tj_environment *environment);
/* True when libtcc compiled it, from the sources: code of libtcc's must call it, because
 * libtcc passes some structs by value in its own way. */
bool tj_environment_compiled(const tj_environment *environment, const char *name);

/* Compiles text (prelude included by this function, when asked) to memory.
 * extra_names are looked up as symbols when not NULL: the identifiers of the
 * text. Warnings are appended to messages even on success. */
tj_status tj_compile(tj_environment *environment, const char *text, const tj_names *names,
                     tj_unit **unit, tj_messages *messages, tj_error *error);
void *tj_unit_symbol(const tj_unit *unit, const char *name); /* borrowed; NULL: not there */
/* True when the unit calls into the embedding program by other than neutral
 * symbols (host_prefixes). */
bool tj_unit_uses_host(const tj_unit *unit);
/* True when the unit, or the sources behind it, holds data that it may write:
 * what slices do can then depend on the slices before. */
bool tj_unit_has_state(const tj_unit *unit);
/* True when the unit may call what the embedding program offers (to raise, to
 * print), a library that the user named, or what remembers calls in libc (rand).
 * The order of slices can then be seen from outside. */
bool tj_unit_speaks(const tj_unit *unit);
void tj_unit_free(tj_unit *unit);

/* The prelude's text, and that of mathematics.h. Static. */
const char *tj_prelude(void);
const char *tj_mathematics(void);
/* Those of the package's <complex.h>, <cwj_half.h> and <cwj_extremes.h>, for modules that are written. Static. */
const char *tj_complex(void);
const char *tj_half(void);
const char *tj_extremes(void);

/* ---- from code back to its text ------------------------------------------ */

/* A function of a unit, by its name in C. */
typedef struct tj_anchor {
    const char *name; /* NULL: the end of a list of them */
    const void *address;
} tj_anchor;

/* Which line each instruction of a unit was compiled from. */
typedef struct tj_lines tj_lines;

/* Compiles a unit's text once more, for its lines; text NULL: the environment's sources.
 * shown, or else the text, is what lines are shown from, with #line directives. anchors are some
 * of its functions, as they are in memory; other names do no harm. Costs as much as tj_compile()
 * did. */
tj_status tj_lines_new(const tj_environment *environment, const char *text, const char *shown,
                       const tj_anchor *anchors, tj_lines **lines, tj_error *error);
void tj_lines_free(tj_lines *lines); /* before the code that they are about */
/* Adds the file, the line and, where it is known, the text of the instruction at address, in code
 * of whatever lines there are; is_return: of the call that returns there. False: not known. */
bool tj_lines_find(const void *address, bool is_return, tj_messages *place);
/* Has the lines of the environment's sources made, where there are some and they can still be told. */
void tj_environment_lines(tj_environment *environment, const char *shown);

/* ---- the pipeline ------------------------------------------------------ */

typedef struct tj_function {
    tj_unit *unit;             /* owned */
    char *source;              /* owned: the generated text, without the prelude */
    const void *decl;          /* const cwj_function_decl* inside the unit */
    bool all_names;            /* names hide in macros: the form is TJ_ALL_NAMES */
    bool apart;                /* a macro of an included file takes stack: see tj_spec */
    bool orderless;            /* nothing can tell in which order slices ran: no
                                  cookie that they write, no state, no false answer */
} tj_function;

/* Check, emit, compile, bind. After a failure every piece is compiled alone, so
 * that messages holds the faults of all of them (a fault of the header once). */
tj_status tj_define(tj_environment *environment, const tj_spec *spec, tj_function *function,
                    tj_messages *messages, tj_error *error);
void tj_function_clear(tj_function *function);

/* ---- graphs: nested blocks of C ----------------------------------------- */

/* The second front end: values that know how to become C and back, operations
 * that are C text between them. Each value and each operation is a block:
 *
 *     {                        block 1: get a value ready
 *         begin of 1
 *         {                    block 2
 *             begin of 2
 *         label_2:
 *             cleanup of 2     runs whatever happened in 2 or inside it
 *         }
 *     label_1:
 *         cleanup of 1
 *     }
 *     return failure;          0, or the number of the block that failed
 *
 * A text fails by "{failure = 2; goto label_2;}", in the sync of a variable, from where
 * only the cleanup is left, by "{failure = 2; goto label_2_cleanup;}", so that exactly the blocks that were entered are cleaned up, in reverse order.
 *
 * Blocks are numbered from 1: the variables in their order, then the operations'
 * (numbered by the caller, each larger than the one before). */

/* What a text that only declares variables and types declares. */
typedef struct tj_declarations {
    char *typedefs; /* owned: the typedefs and definitions of structs, unions, enums */
    char *members;  /* owned: the variables, as a struct could have them */
    char **names;   /* owned: the variables; NULL where there are none */
    size_t nnames;
} tj_declarations;

/* Reads declarations. Every variable and typedef must have `name` in its name
 * (NULL: anything goes) and be neither py_NAME nor storage_NAME. Directives,
 * initializers, functions, statements, storage classes, variable-length arrays:
 * one error message per fault, TJ_COMPILE_FAILED. */
tj_status tj_declarations_read(const tj_piece *piece, const char *name,
                               tj_declarations *declarations, tj_messages *messages,
                               tj_error *error);
void tj_declarations_clear(tj_declarations *declarations);

typedef enum tj_graph_role {
    TJ_GRAPH_INPUT,     /* extract; py_NAME comes from its storage */
    TJ_GRAPH_CONSTANT,  /* as an input; kept ones are extracted once per state */
    TJ_GRAPH_TEMPORARY, /* init; py_NAME is None */
    TJ_GRAPH_OUTPUT     /* init, or extract_out; sync, and py_NAME goes to its storage */
} tj_graph_role;

typedef struct tj_graph_variable {
    const char *name;  /* its C name, "V1_x": part of the name of all that it declares */
    const char *label; /* for comments: "x (Double)" */
    bool fetched;      /* as an output: extract_out, and py_NAME comes from its storage */
    bool kept;         /* lives in the state: declared, begun and cleaned up once */
    bool sync_fails;   /* its sync may fail (types of the later protocol) */
    tj_piece declare;
    tj_piece extract;  /* where it is an input or a constant */
    tj_piece init;     /* elsewhere; the text of extract_out where fetched */
    tj_piece sync;
    tj_piece cleanup;
} tj_graph_variable;

typedef struct tj_graph_node {
    const char *name;  /* "node_1" */
    const char *label; /* for comments: "z = Add(x, y)" */
    int validate_block; /* 0: it has none */
    int code_block;
    tj_piece support;        /* at file level */
    tj_piece element;        /* what support does for each element: only checked */
    tj_piece struct_declare; /* members of the state; any names */
    tj_piece struct_init;    /* once per state; may fail, as code_block */
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

/* Nodes that run as one C function, in nested blocks: the uses, then the nodes. */
typedef struct tj_graph_step {
    int nuses;
    const tj_graph_use *uses; /* in the order of the variables */
    int nnodes;
    const int *nodes;
} tj_graph_step;

typedef struct tj_graph {
    const char *name; /* in messages and in comments: "graph" */
    bool struct_form; /* a struct with storages and what is kept, else functions of storages */
    int nvariables;
    const tj_graph_variable *variables;
    int nnodes;
    const tj_graph_node *nodes;
    int nsteps;
    const tj_graph_step *steps;
    int nheaders;
    const char *const *headers; /* what stands behind #include: "<math.h>", "\"my.h\"" */
    int nsupports;
    const tj_piece *supports; /* support code, in order, each once */
    int ninits;
    const tj_piece *inits; /* init code: statements that run once per unit */
} tj_graph;

/* Where an expression can stand that a generated loop computes for each element. */
typedef enum tj_standing {
    TJ_STANDS_IN_LOOP,
    TJ_STANDS_IN_FUNCTION, /* it has labels, statics, or macros that nobody has seen */
    TJ_STANDS_APART        /* in one that compilers must not make a part of the loop: it
                              takes stack until that function's end, or comes back to it */
} tj_standing;

/* before: the directives and support code in front of it. TJ_STANDS_APART without memory. */
tj_standing tj_expression_standing(const tj_piece *expression, const tj_piece *before);

/* Checks what needs no compiler, with messages that give piece, line and column:
 * what tj_scan_check() refuses; declarations; `return`, and break, continue and
 * goto that leave the piece; failing in a cleanup, and in a sync that may not; the
 * names that the generated text keeps for itself (failure, label_N, cwj_state ...).
 * Macros of the support code are followed. TJ_BAD_SPEC: a header that is none, more
 * blocks than can be nested. */
tj_status tj_graph_check(const tj_environment *environment, const tj_graph *graph,
                         tj_messages *messages, tj_error *error);

/* Appends the C text of a unit that defines "cwj_graph", a cwj_graph_decl of
 * cwj_graph.h. Needs the prelude in front. */
tj_status tj_emit_graph(const tj_graph *graph, tj_text *text);

/* Check, emit, compile. *source is owned by the caller (tj_free); NULL: not
 * wanted. What is C++ is said to be. What only the compiler can tell is an error of
 * the piece, too: a variable-length array behind a failure code of its block, a
 * `return` that a header's macro hides. */
tj_status tj_graph_define(tj_environment *environment, const tj_graph *graph, tj_unit **unit,
                          char **source, tj_messages *messages, tj_error *error);

/* ---- the system's compiler ------------------------------------------- */

/* A C compiler of this machine, started as a process: "cc", "gcc-12 -m64". */
typedef struct tj_compiler {
    char **words; /* owned, NULL-terminated: the program's path, then arguments */
} tj_compiler;

/* Finds a compiler. wanted is a command line (blanks separate words, quotes keep
 * them) whose program is looked up in path (a PATH variable's text); NULL: the
 * first of cc, gcc, clang that is there. TJ_NO_BACKEND with the reason. */
tj_status tj_compiler_find(const char *wanted, const char *path, tj_compiler *compiler,
                           tj_error *error);
void tj_compiler_clear(tj_compiler *compiler);

/* One text on its way through the system's compiler: queued, compiled by a
 * process to an object in memory, loaded, bound. Background threads serve all
 * jobs in the order of their start, as many at a time as tj_optimizer_set_limits()
 * says. A job is shared by its owner and the thread that does it; nothing ever waits
 * for that but tj_job_wait(). A forked child has no such threads: what was queued
 * or running starts again there when somebody starts or waits for a job. */
typedef struct tj_job tj_job;

typedef enum tj_job_state {
    TJ_JOB_NEW,
    TJ_JOB_STARTED, /* queued or running */
    TJ_JOB_READY,   /* the code is loaded, ready() was called */
    TJ_JOB_FAILED   /* tj_job_failure() says why; for good, unless it was for want of a thread */
} tj_job_state;

typedef enum tj_job_kind {
    TJ_JOB_CODE,   /* the object, as code in memory */
    TJ_JOB_SYNTAX, /* no code: only what the compiler refuses */
    TJ_JOB_CHECK,  /* no code: all that it warns of, too */
    TJ_JOB_EXPLAIN /* no code: what became of its loops; it must keep state */
} tj_job_kind;

typedef struct tj_job_options {
    const tj_compiler *compiler; /* copied */
    tj_job_kind kind;
    const char *file; /* copied: a C file in the place of the text, for checks; or NULL */
    bool fastmath;
    bool keeps_state;   /* the object may have data that it writes: no other tier of it runs */
    bool urgent;        /* code that another job's replaces soon: it goes in front of those that
                           are not, and no time is taken for unrolling */
    const char *symbol; /* copied: what the owner wants of the object; NULL where none is made */
    /* Called once, in a background thread, when the code is there, with the
     * symbol's address; never after tj_job_free(). It must not call tinyjit. */
    void (*ready)(void *context, const void *address);
    void *context;
} tj_job_options;

/* text is copied; the prelude goes in front. environment is kept by a count of
 * its own. NULL without memory. */
tj_job *tj_job_new(tj_environment *environment, const char *text, const tj_job_options *options);
/* False: it has failed, for want of a thread, and may be started again. Starting twice does
 * nothing. */
bool tj_job_start(tj_job *job);
tj_job_state tj_job_look(tj_job *job);
/* Starts a job that is new and waits until it is ready or failed, `seconds` at
 * most (< 0: no limit). */
tj_job_state tj_job_wait(tj_job *job, double seconds);
/* Why a job failed: an owned text (tj_free), or NULL. */
char *tj_job_failure(tj_job *job);
/* Appends copies of what the compiler said of the text, by file and line: errors of a
 * job that failed for them, all of a check's but what is about generated text. Returns
 * false without memory. */
bool tj_job_messages(tj_job *job, tj_messages *messages);
/* What a job that explains has to tell: what the compiler said of loops, as it said it, then lines
 * of our own about the object, "cwrapjit size FUNCTION BYTES" and "cwrapjit calls NAME FILE", where
 * FILE is the library that has the function, or empty. An owned text (tj_free), or NULL. */
char *tj_job_told(tj_job *job);
/* Gives the owner's share back: a job that is not ready is given up (a running
 * compiler is ended), the code of one that is ready is freed. */
void tj_job_free(tj_job *job);

/* The flags that every text gets, separated by blanks: an owned text (tj_free),
 * or NULL without memory. Those that depend on the text or on the environment
 * are not among them. */
char *tj_optimizer_flags(bool fastmath);

/* Compiler processes at a time (default 1), and seconds that one may take
 * (default 60). */
void tj_optimizer_set_limits(int processes, double seconds);
/* Waits until no job is queued or running. */
void tj_optimizer_settle(void);
/* The last failure of any job: an owned text (tj_free), or NULL: none. */
char *tj_optimizer_last_failure(void);
/* Ends running compilers and the threads, before the process exits. */
void tj_optimizer_stop(void);
