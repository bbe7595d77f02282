/* emit.h: declarations that the files that write C text share. Internal to tinyjit. */
#pragma once

#include "internal.h"
#include "read/body.h"

typedef ptrdiff_t npy_intp; /* like NumPy's; abi.h needs it */
#include "abi.h"

/* ---- emit_values.c: the values and accessors of snippets ------------------------ */

typedef enum tj_snippet_kind {
    TJ_SLICE_CODE,
    TJ_VALIDATE_CODE,
    TJ_CLEANUP_CODE
} tj_snippet_kind;

typedef struct tj_user_code {
    const tj_piece *piece;
    tj_snippet_kind kind;
    tj_tokens tokens;     /* owned: the tokens of the snippet */
    tj_names *names;      /* owned: the identifiers of the snippet */
    const tj_type *types; /* TJ_SLICE_CODE: one per operand */
    bool inlined;         /* the text stands in the loop itself */
    bool apart;           /* the text must stand in a function, which the loop calls */
} tj_user_code;

/* A form in addition to those of tj_emit_function(): loops for the system's compiler (emit_loops.c). */
enum {
    TJ_FAST = 4
};

/* A named dim and its first occurrence. */
typedef struct tj_named {
    const tj_dim *dim;
    int operand, axis;
} tj_named;

typedef struct tj_emitter {
    const tj_spec *spec;
    tj_text *out;
    const char *file; /* the name of the generated text in #line */
    int form; /* TJ_ALL_NAMES ... */
    const tj_profile *profiles;          /* TJ_FAST: one per type set, or NULL */
    const tj_running *running;           /* TJ_FAST: emit only the loop for this call; or NULL */
    const struct tj_variant *variant;    /* the loop that is being emitted, or NULL */
    int typeset;                         /* the type set of that loop */
    tj_names *header;  /* owned: the identifiers of the header */
    bool apart;        /* every slice must be a function: spec->apart, or the header's macros */
    tj_named *named;   /* owned: the named dims in the order of their first occurrence */
    int nnamed;
    bool *packed;      /* owned: operands whose slices validate requires to be contiguous */
    bool whole;        /* a snippet uses memory outside its slices */
    tj_text macros;    /* the accessors that are currently defined */
    size_t counted;    /* bytes of out whose newlines have been counted */
    size_t newlines;
    size_t
        group; /* length of out at the start of the last group of values, on one line of a list */
} tj_emitter;

/* The form of a value: a parameter of the snippet's function, the caller's local, or the argument that it passes. */
typedef enum tj_value_use {
    TJ_AS_LOCAL,
    TJ_AS_ARGUMENT,
    TJ_AS_PARAMETER
} tj_value_use;

/* Emits the values that the snippet names; their order is the same for each use. */
void tj_emit_values(tj_emitter *this, const tj_user_code *snippet, tj_value_use use);
/* Emits data_slice__X of this slice, if the (inlined) snippet names it. */
void tj_emit_slice_data(tj_emitter *this, const tj_user_code *snippet);
/* Emits code that sets the bytes of the bools that a slice reads and writes to 0 or 1. */
void tj_emit_truths(tj_emitter *this, const tj_user_code *snippet);
/* Emits #define for the accessors that the snippet names, later #undef, and a blank line if there are any. */
void tj_emit_macros(tj_emitter *this, const tj_user_code *snippet);
void tj_emit_undefs(tj_emitter *this);
/* Records what the snippet requires of the memory of whole arrays. */
void tj_note_layout(tj_emitter *this, const tj_user_code *snippet);
/* Returns true if the snippet needs operand k's data. */
bool tj_snippet_wants_data(const tj_emitter *this, const tj_user_code *snippet, int k);
/* Returns true if the snippet needs the strides of operand k's slice. */
bool tj_snippet_wants_strides(const tj_emitter *this, const tj_user_code *snippet, int k);
/* Returns "const " for operands that snippets only read, else "". */
const char *tj_const_of(const tj_operand *operand);

/* ---- emit_slices.c: snippets and loops ------------------------------------------ */

/* Emits the slice of type set t and its loop, with the accessors. */
void tj_emit_slice(tj_emitter *this, tj_user_code *snippet, int t);
/* Emits "__NAME(parameters) {text}". */
void tj_emit_snippet_function(tj_emitter *this, const tj_user_code *snippet);
/* Emits the beginning of the loop of type set t. */
void tj_emit_loop_head(tj_emitter *this, int t);

/* ---- emit_loops.c: for the system's compiler ------------------------------------ */

/* Emits the slice's function and its loops, with the accessors. */
void tj_emit_fast_loops(tj_emitter *this, const tj_user_code *snippet, int t);
/* Emits the loop that runs if no variant of this text does, as an expression. */
void tj_emit_loop_in_place(tj_emitter *this, int t);

/* ---- emit_variants.c: the constants of a variant -------------------------------- */

/* One variant of a loop. */
typedef struct tj_variant {
    const char *what; /* the beginning of the function's name, "unit" */
    int scalar; /* the 1-based number of an input whose data pointer stays the same; 0: none */
    int same; /* the 1-based number of an input that is also the output; 0: none */
    bool dense; /* steps equal the sizes of slices */
    bool contiguous; /* strides follow from the dims */
    bool fixed; /* the named dims are those of the profile */
    bool steady; /* the steps and strides are those of the profile, too */
    bool aliased; /* operands may overlap */
} tj_variant;

/* Returns the common properties of calls of type set t, or NULL. */
const tj_profile *tj_profile_of(const tj_emitter *this, int t);
/* Returns the length of a dim if it is constant in this variant, else -1. */
ptrdiff_t tj_constant_dim(const tj_emitter *this, const tj_variant *variant, int t,
                          const tj_dim *dim);
/* Emits the distance in bytes between two indices of axis i of a slice; i = -1: from slice to slice. It is
 * taken from the profile, or from contiguous slices. */
void tj_emit_variant_stride(tj_emitter *this, const tj_variant *variant, int t, int k, int i);
bool tj_is_window(const tj_emitter *this, int k);
/* Returns true if no variant treats this stride as constant. Of a window, only the stride of the last axis is
 * constant; the others change with each image size. */
bool tj_is_free_stride(const tj_emitter *this, int k, int i);
/* Returns the same distance as a number, for a call with these named dims. */
ptrdiff_t tj_variant_stride(const tj_emitter *this, const tj_variant *variant, int t, int k, int i,
                            const ptrdiff_t *named);
/* Emits the locals dims_slice__X or strides_slice__X of a loop. */
void tj_emit_variant_geometry(tj_emitter *this, int k, bool strides);

/* ---- emit_pieces.c --------------------------------------------------------------- */

/* Returns from the line numbers of the user's text to those of the generated text. */
void tj_emit_own_line(tj_emitter *this);
/* Emits the user's text unchanged, under its own name. `behind` closes the block that contains the text. It
 * keeps the text's name, because the warning "might return no value" refers to the brace. */
void tj_emit_piece(tj_emitter *this, const tj_piece *piece, const char *behind);

/* Appends "innerlib.inner". */
void tj_emit_qualname(const tj_spec *spec, tj_text *out);

/* Returns true if the C type of the extra argument is a pointer. Snippets then get it unchanged. */
bool tj_extra_is_pointer(const tj_extra *extra);
/* Appends the type of a struct member for the extra argument: without const, except in pointers. */
void tj_emit_extra_type(const tj_extra *extra, tj_text *out);

/* Appends "float64, float64 -> int32": the types of a type set. */
void tj_emit_typeset_name(const tj_spec *spec, int typeset, tj_text *out);

/* Returns the number of a named dim, from 0, in the order of first occurrence; nnamed: it is unknown. */
int tj_named_dim(const tj_emitter *this, const char *name);

/* ---- emit_unit.c --------------------------------------------------------------- */

/* Appends everything of a function after the header, for a module that m.write() emits. `file` is the name of
 * the generated text in #line. */
tj_status tj_emit_for_module(const tj_spec *spec, bool all_names, const char *file, tj_text *text);

/* ---- emit_maths.c: functions of mathematics in modules that m.write() emits --------- */

/* In front of functions whose products and sums no compiler may fuse, and behind them. */
#define TJ_FUSE_NOTHING                                \
    "#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n" \
    "#else\n#pragma GCC push_options\n"                \
    "#pragma GCC optimize(\"fp-contract=off\", \"no-fast-math\")\n#endif\n"
#define TJ_FUSE_AS_BEFORE                                  \
    "#ifdef __clang__\n#pragma STDC FP_CONTRACT DEFAULT\n" \
    "#else\n#pragma GCC pop_options\n#endif\n"

/* Returns the set of functions that a module gets: bit i stands for tj_maths_name(i). `defined` are those of the header.
 * *failed: out of memory. */
uint64_t tj_maths_find(const tj_environment *environment, int nspecs, const tj_spec *const *specs,
                       const tj_names *defined, bool *failed);
/* Emits the functions of a set, and macros that give them the usual names. */
void tj_emit_maths(const tj_maths_piece *pieces, uint64_t set, tj_text *text);
/* Emits, around a function that calls libm's, directives that end these macros, and (on) that bring them back. */
void tj_emit_maths_switch(const tj_spec *spec, uint64_t set, bool on, tj_text *text);

/* ---- emit_implied.c ---------------------------------------------------------------- */

enum {
    TJ_COMPLEX_HEADER,
    TJ_HALF_HEADER,
    TJ_IMPLIED_HEADERS /* the number of these headers */
};

/* Returns a bit set of the headers that the function gets without asking. *failed: out of memory. */
int tj_implied_headers(const tj_spec *spec, bool *failed);
/* Returns the header's name between < and >. */
const char *tj_implied_header(int header);
/* Returns true if the header has a function of that name. */
bool tj_implied_header_has(int header, const char *name);

/* ---- emit_tables.c ------------------------------------------------------------ */

/* Appends the constant tables and the descriptor. */
void tj_emit_tables(tj_emitter *this);
