/* spec_parts.h: the interface between the files that build a cwj_spec.
 *
 * Each step fills its members of spec->tj. It returns 0, or -1 with an exception set that names the function and the
 * place in the argument.
 */
#pragma once

#include "function/spec.h"

/* spec_operands.c: reads names, roles and dims. */
int cwj_take_operands(cwj_spec *spec, const cwj_arguments *arguments);
/* Sets the dims of an operand to those in a tuple that cwrapjit/_arguments.py has checked. */
int cwj_read_dims(cwj_spec *spec, tj_operand *operand, PyObject *dims);
/* Returns the operands for that module: a new reference. */
PyObject *cwj_describe_operands(const cwj_spec *spec);
/* spec_dims.c: reads the computed dims of outputs; call it after cwj_take_operands(). */
int cwj_take_output_dims(cwj_spec *spec, PyObject *output_dims);
/* spec_types.c: reads type sets and their bodies; call it after cwj_take_operands(). */
int cwj_take_typesets(cwj_spec *spec, const cwj_arguments *arguments);
/* spec_windows.c: reads the inputs that are windows; call it after the operands and type sets are read. */
int cwj_take_windows(cwj_spec *spec, const cwj_arguments *arguments);
/* Returns Function.windows; new reference. */
PyObject *cwj_describe_windows(const cwj_spec *spec);
/* spec_extras.c: reads extra arguments. */
int cwj_take_extras(cwj_spec *spec, PyObject *extra_args);

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
