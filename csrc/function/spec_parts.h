/* spec_parts.h: between the files that build a cwj_spec.
 *
 * Each step fills its members of spec->tj and returns 0, or -1 with an
 * exception that names the function and the place in the argument.
 */
#pragma once

#include "function/spec.h"

/* spec_operands.c: names, roles and dims */
int cwj_take_operands(cwj_spec *spec, const cwj_arguments *arguments);
/* spec_dims.c: dims of outputs that are computed, behind the operands */
int cwj_take_output_dims(cwj_spec *spec, PyObject *output_dims);
void cwj_clear_output_dims(cwj_spec *spec);
/* The same for one operand's dims; `what` says whose: "prototype_input for 'a'". */
int cwj_take_shape(cwj_spec *spec, tj_operand *operand, PyObject *shape, const char *what);
/* spec_types.c: type sets and their bodies */
int cwj_take_typesets(cwj_spec *spec, PyObject *slice_eval);
/* spec_records.c: a type that is a structured dtype, and, behind all of them, their structs */
int cwj_take_record(cwj_spec *spec, tj_type *type, PyArray_Descr *descr, PyObject *key);
int cwj_finish_records(cwj_spec *spec);
/* spec_windows.c: inputs that are windows; behind operands and type sets */
int cwj_take_windows(cwj_spec *spec, const cwj_arguments *arguments);
/* As Function.windows has them; new reference. */
PyObject *cwj_describe_windows(const cwj_spec *spec);
/* spec_borders.c: what lies outside of an array, for a window over operand k; `what` as below */
int cwj_take_border(cwj_spec *spec, tj_window *window, PyObject *value, const char *what);
int cwj_take_fill(cwj_spec *spec, int k, tj_window *window, PyObject *value, const char *what);
int cwj_check_border(const cwj_spec *spec, int k, const tj_window *window);
const char *cwj_border_name(int border);
/* cval as the first type set has it; new reference. */
PyObject *cwj_fill_value(const cwj_spec *spec, int k);
/* spec_extras.c: extra arguments */
int cwj_take_extras(cwj_spec *spec, PyObject *extra_args);

/* ---- what they share (spec_parts.c) ------------------------------------ */

/* The UTF-8 of a str, borrowed for the life of spec. NULL with an exception
 * when it has none (lone surrogates). */
const char *cwj_take_text(cwj_spec *spec, PyObject *text, size_t *length);
/* A piece of C from a str, whose faults are CompileErrors of "<cwrapjit QUALNAME LABEL>". Returns
 * 0, or -1 with an exception. */
int cwj_take_piece(cwj_spec *spec, tj_piece *piece, PyObject *text, const char *label);
/* The same for a name; `what` says whose: "args_input[1]". */
const char *cwj_take_name(cwj_spec *spec, PyObject *name, const char *what);

/* True when text is an identifier that Python code may use as a name. */
int cwj_is_name(PyObject *text);

/* True for what may stand where a tuple is asked for. */
static inline int
cwj_is_sequence(PyObject *object)
{
    return PyTuple_Check(object) || PyList_Check(object);
}

/* A tuple of a tuple or list, borrowed until the spec is complete, or NULL with TypeError. */
PyObject *cwj_take_tuple(cwj_spec *spec, PyObject *object, const char *what);
