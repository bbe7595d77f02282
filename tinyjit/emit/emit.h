/* emit.h: what the files that write C text share. Internal to tinyjit. */
#pragma once

#include "internal.h"
#include "read/body.h"

typedef ptrdiff_t npy_intp; /* as NumPy's; abi.h wants it declared */
#include "abi.h"

/* ---- emit_values.c: what a snippet may name ---------------------------------- */

typedef enum tj_snippet_kind {
    TJ_SLICE_CODE,
    TJ_VALIDATE_CODE,
    TJ_CLEANUP_CODE
} tj_snippet_kind;

typedef struct tj_user_code {
    const tj_piece *piece;
    tj_snippet_kind kind;
    tj_tokens tokens;     /* owned: what it is made of */
    tj_names *names;      /* owned: the identifiers in it */
    const tj_type *types; /* TJ_SLICE_CODE: one per operand */
    bool inlined;         /* its text stands in the loop itself */
    bool apart;           /* ... has to stand in a function that calls go to */
} tj_user_code;

/* A form beside those of tj_emit_function(): loops for the system's compiler (emit_loops.c). */
enum {
    TJ_FAST = 4
};

/* A named dim, and where it appears first. */
typedef struct tj_named {
    const tj_dim *dim;
    int operand, axis;
} tj_named;

typedef struct tj_emitter {
    const tj_spec *spec;
    tj_text *out;
    const char *file; /* what #line calls the generated text */
    int form; /* TJ_ALL_NAMES ... */
    const tj_profile *profiles;          /* TJ_FAST: one per type set, or NULL */
    const tj_running *running;           /* TJ_FAST: only what this call takes; or NULL */
    const struct tj_variant *variant;    /* the loop that is being emitted, or NULL */
    int typeset;                         /* and what it is of */
    tj_names *header;  /* owned: the identifiers of the header */
    bool apart;        /* every slice must be a function: spec->apart, or the header's macros */
    tj_named *named;   /* owned: the named dims in order of appearance */
    int nnamed;
    bool *packed;      /* owned: operands of which validate wants contiguous slices */
    bool whole;        /* a snippet names what lies beyond its slices */
    tj_text macros;    /* the accessors that are defined now */
    size_t counted;    /* bytes of out in which newlines were counted */
    size_t newlines;
    size_t group;      /* out's length where the last group of values began */
} tj_emitter;

/* A value as a parameter of the snippet's function, as a local of its caller,
 * and as the argument that the caller passes. */
typedef enum tj_value_use {
    TJ_AS_LOCAL,
    TJ_AS_ARGUMENT,
    TJ_AS_PARAMETER
} tj_value_use;

/* The values that the snippet names, in one and the same order for each use. */
void tj_emit_values(tj_emitter *this, const tj_user_code *snippet, tj_value_use use);
/* Inlined snippets: data_slice__X for this slice, where it is named. */
void tj_emit_slice_data(tj_emitter *this, const tj_user_code *snippet);
/* Makes the bytes of the bools that a slice reads and writes 0 or 1. */
void tj_emit_truths(tj_emitter *this, const tj_user_code *snippet);
/* #define of the accessors that it names, later #undef, and a blank line if there are any. */
void tj_emit_macros(tj_emitter *this, const tj_user_code *snippet);
void tj_emit_undefs(tj_emitter *this);
/* Notes what it asks of the memory of whole arrays. */
void tj_note_layout(tj_emitter *this, const tj_user_code *snippet);
/* It needs operand k's data. */
bool tj_snippet_wants_data(const tj_emitter *this, const tj_user_code *snippet, int k);
/* It needs the strides of operand k's slice. */
bool tj_snippet_wants_strides(const tj_emitter *this, const tj_user_code *snippet, int k);
/* "const " for what snippets only read, else "". */
const char *tj_const_of(const tj_operand *operand);

/* ---- emit_slices.c: snippets and loops ------------------------------------------ */

/* The slice of type set t and its loop, with the accessors. */
void tj_emit_slice(tj_emitter *this, tj_user_code *snippet, int t);
/* "__NAME(parameters) {text}" */
void tj_emit_snippet_function(tj_emitter *this, const tj_user_code *snippet);
/* What the loop of type set t begins with. */
void tj_emit_loop_head(tj_emitter *this, int t);

/* ---- emit_loops.c: for the system's compiler ------------------------------------ */

/* The slice's function and its loops, with the accessors. */
void tj_emit_fast_loops(tj_emitter *this, const tj_user_code *snippet, int t);
/* The loop that runs where no variant of this text does, as an expression. */
void tj_emit_loop_in_place(tj_emitter *this, int t);

/* ---- emit_variants.c: what is constant in one of them ------------------------------- */

/* One loop. */
typedef struct tj_variant {
    const char *what; /* begins its name */
    int scalar;       /* the number, from 1, of an input that stays where it is; 0: none does */
    int same;         /* that of an input that is the output as well; 0: none is */
    bool dense;       /* steps are the sizes of slices */
    bool contiguous;  /* strides follow from the dims */
    bool fixed;       /* named dims are those of the profile */
    bool steady;      /* steps and strides, too */
    bool aliased;     /* nothing is known of overlap */
} tj_variant;

/* What calls of type set t have in common, or NULL. */
const tj_profile *tj_profile_of(const tj_emitter *this, int t);
/* The length of a dim if it is a constant there, else -1. */
ptrdiff_t tj_constant_dim(const tj_emitter *this, const tj_variant *variant, int t,
                          const tj_dim *dim);
/* The bytes from one index to the next of axis i of a slice; i = -1: from slice to
 * slice. They are those of the profile, or of slices that are contiguous. */
void tj_emit_variant_stride(tj_emitter *this, const tj_variant *variant, int t, int k, int i);
/* Operand k is a window. */
bool tj_is_window(const tj_emitter *this, int k);
/* A stride that no variant takes for a constant: of a window only its last axis' is one, as the
 * others change with each size of image. */
bool tj_is_free_stride(const tj_emitter *this, int k, int i);
/* The same as a number, in a call with these named dims. */
ptrdiff_t tj_variant_stride(const tj_emitter *this, const tj_variant *variant, int t, int k, int i,
                            const ptrdiff_t *named);
/* The locals dims_slice__X or strides_slice__X of a loop. */
void tj_emit_variant_geometry(tj_emitter *this, int k, bool strides);

/* ---- emit_pieces.c --------------------------------------------------------------- */

/* Goes back from the user's text to the numbering of the generated one. */
void tj_emit_own_line(tj_emitter *this);
/* The user's text as it is, under its own name. `behind` closes what it stands
 * in, still under that name: "might return no value" is said of the brace. */
void tj_emit_piece(tj_emitter *this, const tj_piece *piece, const char *behind);

/* Appends "innerlib.inner". */
void tj_emit_qualname(const tj_spec *spec, tj_text *out);

/* An extra argument's C type is a pointer: snippets get it as it is. */
bool tj_extra_is_pointer(const tj_extra *extra);
/* Appends the type as a member can have it: without const, unless it is a pointer. */
void tj_emit_extra_type(const tj_extra *extra, tj_text *out);

/* Appends "float64, float64 -> int32": the types of a type set. */
void tj_emit_typeset_name(const tj_spec *spec, int typeset, tj_text *out);

/* The number of a named dim, from 0, in order of appearance; nnamed: it is unknown. */
int tj_named_dim(const tj_emitter *this, const char *name);

/* ---- emit_unit.c --------------------------------------------------------------- */

/* Appends everything of a function behind the header, for a module that is written. `file` is
 * what the generated text itself is called in #line. */
tj_status tj_emit_for_module(const tj_spec *spec, bool all_names, const char *file, tj_text *text);

/* ---- emit_implied.c ---------------------------------------------------------------- */

enum {
    TJ_COMPLEX_HEADER,
    TJ_HALF_HEADER,
    TJ_IMPLIED_HEADERS /* how many there are */
};

/* Bit by bit: the function gets this header without asking. *failed: there is no memory. */
int tj_implied_headers(const tj_spec *spec, bool *failed);
/* Its name between < and >. */
const char *tj_implied_header(int header);
/* It has a function of that name. */
bool tj_implied_header_has(int header, const char *name);
/* Some operand has a type that the header is for. */
bool tj_implied_header_fits(int header, const tj_spec *spec);

/* ---- emit_tables.c ------------------------------------------------------------ */

/* Appends the constant tables and the descriptor. */
void tj_emit_tables(tj_emitter *this);
