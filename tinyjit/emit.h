/* emit.h: what the files that write C text share. Internal to tinyjit. */
#ifndef TJ_EMIT_H
#define TJ_EMIT_H

#include "internal.h"

typedef ptrdiff_t npy_intp; /* as NumPy's; abi.h wants it declared */
#include "abi.h"

/* Appends "innerlib.inner". */
void tj_emit_qualname(const tj_spec *spec, tj_text *out);

/* An extra argument's C type is a pointer: snippets get it as it is. */
bool tj_extra_is_pointer(const tj_extra *extra);
/* Appends the type as a member can have it: without const, unless it is a pointer. */
void tj_emit_extra_type(const tj_extra *extra, tj_text *out);
/* Appends the file by which messages call the default of an extra argument. */
void tj_emit_default_file(const tj_spec *spec, int extra, tj_text *out);

/* Appends everything of a function behind the header. `file` is what the
 * generated text itself is called in #line. */
tj_status tj_emit_body(const tj_spec *spec, int part, bool all_names, const char *file,
                       tj_text *text);

/* Appends "float64, float64 -> int32": the types of a type set. */
void tj_emit_typeset_name(const tj_spec *spec, int typeset, tj_text *out);

/* Appends the constant tables and the descriptor. */
void tj_emit_tables(const tj_spec *spec, tj_text *out);

#endif
