/* spec_parts.h: the interface between the files that build a cwj_spec.
 *
 * cwrapjit/_arguments.py reads and checks most arguments. Each step copies a part of what it returns to members of
 * spec->tj. It returns 0, or -1 with an exception set.
 */
#pragma once

#include "function/spec.h"

/* spec_operands.c: names, roles and dims; then type sets and their bodies. */
int cwj_read_operands(cwj_spec *spec, PyObject *items);
int cwj_read_dims(cwj_spec *spec, tj_operand *operand, PyObject *dims);
int cwj_read_typesets(cwj_spec *spec, PyObject *items);
/* spec_dims.c: computed dims of outputs. */
int cwj_read_output_dims(cwj_spec *spec, PyObject *items);
/* spec_extras.c: extra arguments. */
int cwj_read_extras(cwj_spec *spec, PyObject *items);
/* spec_windows.c: inputs that are windows; call it after the operands and type sets are read. */
int cwj_read_windows(cwj_spec *spec, PyObject *items);
/* Returns Function.windows; new reference. */
PyObject *cwj_describe_windows(const cwj_spec *spec);

/* ---- helpers of these files (spec_parts.c) ----------------------------- */

/* Returns a str's UTF-8, borrowed for the life of spec; NULL with an exception set (for lone surrogates). */
const char *cwj_take_text(cwj_spec *spec, PyObject *text, size_t *length);
/* Takes C text from a str; its CompileErrors name the file "<cwrapjit QUALNAME LABEL>". Returns 0 or -1. */
int cwj_take_piece(cwj_spec *spec, tj_piece *piece, PyObject *text, const char *label);
/* The same for a name that Python code may use. `what` is its place in messages: "args_input[1]". */
const char *cwj_take_name(cwj_spec *spec, PyObject *name, const char *what);

/* True if text is a str that Python code may use as a name. */
int cwj_is_name(PyObject *text);

/* Returns a dict of the arguments that were passed after the name, without options: a new reference. */
PyObject *cwj_arguments_given(const cwj_arguments *arguments);
