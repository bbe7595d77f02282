/* emit.h: what the files that write C text share. Internal to tinyjit. */
#ifndef TJ_EMIT_H
#define TJ_EMIT_H

#include "internal.h"

typedef ptrdiff_t npy_intp; /* as NumPy's; abi.h wants it declared */
#include "abi.h"

/* ---- body.c: how a slice's text ends ------------------------------------------ */

typedef struct tj_span {
    size_t start; /* bytes */
    size_t end;
} tj_span;

typedef struct tj_body {
    bool direct;      /* it runs to its last `return true;`: it can stand in a loop */
    bool total;       /* direct, and no `return false;` in it */
    tj_span *returns; /* owned, when direct: the false ones, then the last */
    size_t nreturns;
    size_t capacity;
} tj_body;

/* Returns false without memory; the body is to be cleared in any case. */
bool tj_body_read(const tj_piece *piece, tj_body *body);
void tj_body_clear(tj_body *body);
/* True when `prefix` and `name` joined occurs only with the number of one of
 * ndims dims in brackets behind it. False without memory. */
bool tj_body_only_indexes(const tj_piece *piece, const char *prefix, const char *name, int ndims);

/* ---- emit_values.c: what a snippet may name ---------------------------------- */

typedef enum tj_snippet_kind {
    TJ_SLICE_CODE,
    TJ_VALIDATE_CODE,
    TJ_CLEANUP_CODE
} tj_snippet_kind;

typedef struct tj_user_code {
    const tj_piece *piece;
    tj_snippet_kind kind;
    tj_names *names;      /* owned: the identifiers in it */
    const tj_type *types; /* TJ_SLICE_CODE: one per operand */
    bool inlined;         /* its text stands in the loop itself */
} tj_user_code;

/* How the snippets of a unit are emitted. */
enum {
    TJ_ALL_NAMES = 1, /* every snippet gets every value */
    TJ_APART = 2,     /* every slice in a function of its own, even if it is direct */
    TJ_FAST = 4       /* loops for an optimizing compiler (emit_loops.c) */
};

typedef struct tj_emitter {
    const tj_spec *spec;
    tj_text *out;
    const char *file; /* what #line calls the generated text */
    int form; /* TJ_ALL_NAMES ... */
    const tj_profile *profiles;          /* TJ_FAST: one per type set, or NULL */
    const struct tj_variant *variant;    /* the loop that is being emitted, or NULL */
    int typeset;                         /* and what it is of */
    tj_names *header;  /* owned: the identifiers of the header */
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
/* #define, or #undef, of the accessors that it names, and a blank line if there are any. */
void tj_emit_macros(tj_emitter *this, const tj_user_code *snippet, bool define);
/* It needs operand k's data. */
bool tj_snippet_wants_data(const tj_emitter *this, const tj_user_code *snippet, int k);
/* It needs the strides of operand k's slice. */
bool tj_snippet_wants_strides(const tj_emitter *this, const tj_user_code *snippet, int k);
/* "const " for what snippets only read, else "". */
const char *tj_const_of(const tj_operand *operand);

/* ---- emit_slices.c: snippets and loops ------------------------------------------ */

/* One snippet with what calls it; t is the type set of a slice's. */
void tj_emit_snippet(tj_emitter *this, const tj_piece *piece, tj_snippet_kind kind, int t);
/* "HEAD__NAME(parameters) {text}" */
void tj_emit_snippet_function(tj_emitter *this, const tj_user_code *snippet, const char *head);

/* ---- emit_loops.c: for an optimizing compiler ------------------------------------ */

/* The slice's function and its loops. The accessors are defined. */
void tj_emit_fast_loops(tj_emitter *this, const tj_user_code *snippet, int t);
/* The locals dims_slice__X or strides_slice__X of a loop. */
void tj_emit_variant_geometry(tj_emitter *this, int k, bool strides);

/* ---- emit.c ------------------------------------------------------------------ */

/* Goes back from the user's text to the numbering of the generated one. */
void tj_emit_own_line(tj_emitter *this);
/* The user's text as it is, under its own name. `behind` closes what it stands
 * in, still under that name: "might return no value" is said of the brace. */
void tj_emit_piece(tj_emitter *this, const tj_piece *piece, const char *behind);
/* #line of a piece. */
void tj_emit_piece_line(tj_emitter *this, const tj_piece *piece);

/* Appends "innerlib.inner". */
void tj_emit_qualname(const tj_spec *spec, tj_text *out);

/* An extra argument's C type is a pointer: snippets get it as it is. */
bool tj_extra_is_pointer(const tj_extra *extra);
/* Appends the type as a member can have it: without const, unless it is a pointer. */
void tj_emit_extra_type(const tj_extra *extra, tj_text *out);
/* Appends the file by which messages call the default of an extra argument. */
void tj_emit_default_file(const tj_spec *spec, int extra, tj_text *out);

/* Appends the file by which messages call the generated text itself. */
void tj_emit_own_file(const tj_spec *spec, tj_text *out);

/* As tj_emit_function(), with a choice of forms (TJ_APART ...). */
tj_status tj_emit_unit(const tj_spec *spec, int part, int form, tj_text *text);
/* Appends everything of a function behind the header. `file` is what the
 * generated text itself is called in #line. */
tj_status tj_emit_body(const tj_spec *spec, int part, int form, const char *file, tj_text *text);

/* Appends "float64, float64 -> int32": the types of a type set. */
void tj_emit_typeset_name(const tj_spec *spec, int typeset, tj_text *out);

/* ---- emit_tables.c ------------------------------------------------------------ */

/* The number of a named dim, from 0, in order of appearance. */
int tj_named_dim(const tj_spec *spec, const char *name);
/* True where no dim before this one, dim i of operand k, has its name. */
bool tj_is_first_dim(const tj_spec *spec, int k, int i);
/* Appends the constant tables and the descriptor. */
void tj_emit_tables(const tj_spec *spec, tj_text *out);

#endif
