/* emit.h: what the files that write C text share. Internal to tinyjit. */
#ifndef TJ_EMIT_H
#define TJ_EMIT_H

#include "internal.h"

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
    tj_names *names;      /* owned: the identifiers in it */
    const tj_type *types; /* TJ_SLICE_CODE: one per operand */
} tj_user_code;

typedef struct tj_emitter {
    const tj_spec *spec;
    tj_text *out;
    const char *file; /* what #line calls the generated text */
    bool all_names;
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
/* #define, or #undef, of the accessors that it names, and a blank line if there are any. */
void tj_emit_macros(tj_emitter *this, const tj_user_code *snippet, bool define);
/* It needs operand k's data. */
bool tj_snippet_wants_data(const tj_emitter *this, const tj_user_code *snippet, int k);

/* ---- emit.c ------------------------------------------------------------------ */

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

/* Appends everything of a function behind the header. `file` is what the
 * generated text itself is called in #line. */
tj_status tj_emit_body(const tj_spec *spec, int part, bool all_names, const char *file,
                       tj_text *text);

/* Appends "float64, float64 -> int32": the types of a type set. */
void tj_emit_typeset_name(const tj_spec *spec, int typeset, tj_text *out);

/* ---- emit_tables.c ------------------------------------------------------------ */

/* Appends the constant tables and the descriptor. */
void tj_emit_tables(const tj_spec *spec, tj_text *out);

#endif
