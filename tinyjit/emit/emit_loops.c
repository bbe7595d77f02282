/* emit_loops.c: writes the loops of one type set for the system's compiler.
 *
 * The snippet is an inline function that is written once (or a function that is called, if its text takes stack that is
 * freed only when the function returns: body.c). The loops around it come in variants. Each variant is a function in
 * which something is constant: the steps from slice to slice, strides, or dims. The exported loop tests the properties
 * of the call, the cheapest first, and runs the first variant that fits; the last ones always fit.
 *
 * Operands are parameters that are restrict in every variant except "aliased": the call path excludes overlap, except
 * that an input and an output may be exactly the same view if that is allowed. Their addresses are then equal, and the
 * loop runs a "same" variant, in which both are one pointer, or "aliased". A cookie may keep the address of an output,
 * through which a later slice reads; then nothing is restrict.
 *
 * The text for a running call has only the variant that this call needs. For all other calls, its loop calls the
 * current loop of the tcc tier, whose address is a constant in the text. */
#include <stdint.h>
#include <string.h>

#include "emit/emit.h"

enum {
    SMALL_SLICE = 16, /* elements */
    MAX_SPECIAL_INPUTS = 3 /* more get no variants of their own, because compiling takes time */
};

/* The loops of one type set that are being emitted. */
typedef struct loops {
    tj_emitter *emitter;
    const tj_user_code *snippet;
    int t;
    bool may_be_same;  /* an input and an output can be exactly the same view */
    tj_variant *found; /* for a running call: the first variant that fits */
} loops;

static bool wants_data(const loops *this, int k)
{
    return tj_snippet_wants_data(this->emitter, this->snippet, k);
}

static bool has_core_dims(const tj_spec *spec)
{
    for (int k = 0; k < spec->noperands; k++)
        if (spec->operands[k].ndims)
            return true;
    return false;
}

/* Emits a macro that makes gcc use vectors of 32 bytes. gcc vectorises contiguous small slices by permuting elements,
 * which takes many more instructions with vectors of 64 bytes: products of 3-vectors run at half the speed. */
static void emit_vector_width(tj_text *out)
{
    tj_text_puts(out, "#ifndef CWJ_HALF_VECTORS\n"
                      "#if defined(__x86_64__) && CWJ_GCC >= 8\n"
                      "#define CWJ_HALF_VECTORS "
                      "__attribute((target(\"prefer-vector-width=256\")))\n"
                      "#else\n"
                      "#define CWJ_HALF_VECTORS\n"
                      "#endif\n"
                      "#endif\n\n");
}

/* ---- properties of dims --------------------------------------------------------- */

/* Returns true if the sizes of all types are known. */
static bool has_sizes(const loops *this)
{
    for (int k = 0; k < this->emitter->spec->noperands; k++)
        if (!this->snippet->types[k].itemsize)
            return false;
    return true;
}

/* Returns true if all core dims are constant in the variant, and all sizes are known. */
static bool is_dense_possible(const loops *this, const tj_variant *variant)
{
    const tj_spec *spec = this->emitter->spec;
    for (int k = 0; k < spec->noperands; k++)
        for (int i = 0; i < spec->operands[k].ndims; i++)
            if (tj_constant_dim(this->emitter, variant, this->t, &spec->operands[k].dims[i]) < 0)
                return false;
    return has_sizes(this);
}

/* Emits the named dims that are not constant, as locals. In a variant for contiguous slices, the test has
 * shown that they fit in an int. The cast shows the compiler that an int index, which may wrap around with
 * -fwrapv, reaches the limit before it wraps. */
static void emit_dim_locals(const loops *this, const tj_variant *variant)
{
    const tj_emitter *emitter = this->emitter;
    for (int n = 0; n < emitter->nnamed; n++)
        if (tj_constant_dim(emitter, variant, this->t, emitter->named[n].dim) < 0)
            tj_text_printf(emitter->out,
                           "    const npy_intp cwj_dim_%d = %scwj->operands[%d].dims_slice[%d];\n",
                           n, variant->contiguous ? "(int)" : "", emitter->named[n].operand,
                           emitter->named[n].axis);
}

/* Returns the bytes of a whole slice whose dims are constant in the variant. */
static ptrdiff_t slice_size(const loops *this, const tj_variant *variant, int k)
{
    const tj_operand *operand = &this->emitter->spec->operands[k];
    ptrdiff_t size = (ptrdiff_t)this->snippet->types[k].itemsize;
    for (int i = 0; i < operand->ndims; i++)
        size *= tj_constant_dim(this->emitter, variant, this->t, &operand->dims[i]);
    return size;
}

/* Returns the step from slice to slice of the variant for dense slices. */
static ptrdiff_t dense_step(const loops *this, const tj_variant *variant, int k)
{
    const tj_spec *spec = this->emitter->spec;
    if (!tj_is_window(this->emitter, k))
        return slice_size(this, variant, k);
    return (ptrdiff_t)this->snippet->types[k].itemsize *
           spec->windows[k].steps[spec->operands[k].ndims - 1];
}

/* Returns true if no slice has more than SMALL_SLICE elements. All dims must be constant in the variant. */
static bool has_small_slices(const loops *this, const tj_variant *variant)
{
    for (int k = 0; k < this->emitter->spec->noperands; k++)
        if (slice_size(this, variant, k) >
            SMALL_SLICE * (ptrdiff_t)this->snippet->types[k].itemsize)
            return false;
    return true;
}

/* ---- one variant ---------------------------------------------------------------- */

/* Emits the name of the variant's function, such as "cwj_unit_0__f". */
static void emit_name(const loops *this, const tj_variant *variant)
{
    tj_text *out = this->emitter->out;
    int number = variant->scalar ? variant->scalar : variant->same;
    tj_text_printf(out, "cwj_%s", variant->what);
    if (number)
        tj_text_printf(out, "%d", number - 1);
    tj_text_printf(out, "_%d__%s", this->t, this->emitter->spec->name);
}

static bool is_parameter(const loops *this, const tj_variant *variant, int k)
{
    return wants_data(this, k) && k + 1 != variant->same;
}

static bool has_step(const loops *this, const tj_variant *variant, int k)
{
    return wants_data(this, k) && !variant->dense && !variant->steady;
}

static void emit_parameters(const loops *this, const tj_variant *variant)
{
    const tj_spec *spec = this->emitter->spec;
    tj_text *out = this->emitter->out;
    bool apart = !variant->aliased && !spec->cookie.length;
    tj_text_puts(out, "(const cwj_call *cwj, npy_intp cwj_left");
    for (int k = 0; k < spec->noperands; k++) {
        const char *name = spec->operands[k].name;
        if (is_parameter(this, variant, k))
            tj_text_printf(out, ",\n    %schar *%scwj_at__%s", tj_const_of(&spec->operands[k]),
                           apart ? "__restrict " : "", name);
        if (has_step(this, variant, k))
            tj_text_printf(out, ", npy_intp cwj_step__%s", name);
    }
    tj_text_puts(out, ")\n");
}

static void emit_moves(const loops *this, const tj_variant *variant)
{
    const tj_spec *spec = this->emitter->spec;
    tj_text *out = this->emitter->out;
    for (int k = 0; k < spec->noperands; k++) {
        if (!wants_data(this, k) || k + 1 == variant->scalar)
            continue;
        tj_text_printf(out, "        cwj_at__%s += ", spec->operands[k].name);
        if (variant->dense || variant->steady)
            tj_emit_variant_stride(this->emitter, variant, this->t, k, -1);
        else
            tj_text_printf(out, "cwj_step__%s", spec->operands[k].name);
        tj_text_puts(out, ";\n");
    }
}

static void emit_variant(const loops *this, const tj_variant *variant)
{
    const tj_spec *spec = this->emitter->spec;
    tj_text *out = this->emitter->out;
    tj_text_puts(out, "static __attribute((noinline)) ");
    if (variant->dense && has_core_dims(spec) && has_small_slices(this, variant))
        tj_text_puts(out, "CWJ_HALF_VECTORS ");
    tj_text_puts(out, "int ");
    emit_name(this, variant);
    emit_parameters(this, variant);
    tj_text_puts(out, "{\n");
    if (variant->same)
        tj_text_printf(out, "    const char *cwj_at__%s = cwj_at__%s;\n",
                       spec->operands[variant->same - 1].name,
                       spec->operands[spec->noperands - 1].name);
    this->emitter->variant = variant;
    this->emitter->typeset = this->t;
    emit_dim_locals(this, variant);
    tj_emit_values(this->emitter, this->snippet, TJ_AS_LOCAL);
    tj_text_printf(out,
                   "    for (; cwj_left > 0; cwj_left--) {\n"
                   "        if (!cwj_slice_%d__%s(cwj",
                   this->t, spec->name);
    tj_emit_values(this->emitter, this->snippet, TJ_AS_ARGUMENT);
    this->emitter->variant = NULL;
    tj_text_puts(out, "))\n            return 0;\n");
    emit_moves(this, variant);
    tj_text_puts(out, "    }\n    return 1;\n}\n\n");
}

/* ---- which variant a call takes -------------------------------------------------- */

static void emit_and(const loops *this, bool *first)
{
    tj_text_puts(this->emitter->out, *first ? "    if (" : " &&\n        ");
    *first = false;
}

/* Returns true if input k and output j may be exactly the same view. */
static bool may_be_same(const tj_spec *spec, int k, int j)
{
    const tj_operand *input = &spec->operands[k], *output = &spec->operands[j];
    return input->role == TJ_IN && output->role != TJ_IN &&
           ((spec->flags & CWJ_INPLACE) || (!input->ndims && !output->ndims));
}

static void emit_test_steps(const loops *this, const tj_variant *variant, bool *first)
{
    for (int k = 0; k < this->emitter->spec->noperands; k++) {
        if (!wants_data(this, k))
            continue;
        emit_and(this, first);
        tj_text_printf(this->emitter->out, "cwj_steps[%d] == ", k);
        if (k + 1 == variant->scalar)
            tj_text_puts(this->emitter->out, "0");
        else
            tj_emit_variant_stride(this->emitter, variant, this->t, k, -1);
    }
}

static void emit_test_dims(const loops *this, const tj_variant *variant, bool *first)
{
    const tj_emitter *emitter = this->emitter;
    for (int n = 0; n < emitter->nnamed; n++) {
        ptrdiff_t size = tj_constant_dim(emitter, variant, this->t, emitter->named[n].dim);
        emit_and(this, first);
        if (size >= 0)
            tj_text_printf(emitter->out, "cwj->operands[%d].dims_slice[%d] == %td",
                           emitter->named[n].operand, emitter->named[n].axis, size);
        else
            tj_text_printf(emitter->out, "cwj_dim_%d <= 2147483647", n);
    }
}

static void emit_test_strides(const loops *this, const tj_variant *variant, bool *first)
{
    const tj_spec *spec = this->emitter->spec;
    for (int k = 0; k < spec->noperands; k++) {
        if (!tj_snippet_wants_strides(this->emitter, this->snippet, k))
            continue;
        for (int i = 0; i < spec->operands[k].ndims; i++) {
            if (tj_is_free_stride(this->emitter, k, i))
                continue;
            emit_and(this, first);
            tj_text_printf(this->emitter->out, "cwj->operands[%d].strides_slice[%d] == ", k, i);
            tj_emit_variant_stride(this->emitter, variant, this->t, k, i);
        }
    }
}

static void emit_call(const loops *this, const tj_variant *variant, const char *indent)
{
    tj_text *out = this->emitter->out;
    tj_text_printf(out, "%sreturn ", indent);
    emit_name(this, variant);
    tj_text_puts(out, "(cwj, cwj_dims[0]");
    for (int k = 0; k < this->emitter->spec->noperands; k++) {
        if (is_parameter(this, variant, k))
            tj_text_printf(out, ", cwj_data[%d]", k);
        if (has_step(this, variant, k))
            tj_text_printf(out, ", cwj_steps[%d]", k);
    }
    tj_text_puts(out, ");\n");
}

static void emit_choice(const loops *this, const tj_variant *variant)
{
    bool first = true;
    tj_text *out = this->emitter->out;
    if (variant->same) {
        emit_and(this, &first);
        tj_text_printf(out, "cwj_same == 1 && cwj_data[%d] == cwj_data[%d]", variant->same - 1,
                       this->emitter->spec->noperands - 1);
    } else if (this->may_be_same && !variant->aliased) {
        emit_and(this, &first);
        tj_text_puts(out, "!cwj_same");
    }
    if (variant->dense || variant->steady)
        emit_test_steps(this, variant, &first);
    if (variant->contiguous || variant->steady) {
        emit_test_dims(this, variant, &first);
        emit_test_strides(this, variant, &first);
    }
    if (!first)
        tj_text_puts(out, ")\n");
    emit_call(this, variant, first ? "    " : "        ");
}

/* ---- the variants of a type set ---------------------------------------------------- */

static const tj_variant unit = {"unit", .dense = true}, general = {.what = "general"};

typedef void visitor(const loops *this, const tj_variant *variant);

/* Returns true if calls always have the same steps, and these differ from the variant for dense slices. If
 * all steps are 0, the calls have one slice. */
static bool is_steady(const loops *this, const tj_variant *dense)
{
    const tj_profile *profile = tj_profile_of(this->emitter, this->t);
    bool moves = false, differs = !profile || !profile->contiguous;
    if (!profile || !profile->strides)
        return false;
    for (int k = 0; k < this->emitter->spec->noperands; k++) {
        ptrdiff_t step = profile->strides[k];
        moves |= wants_data(this, k) && step != 0;
        differs |= wants_data(this, k) && step != dense_step(this, dense, k);
    }
    return moves && differs;
}

/* Visits the variants for one scalar among arrays. */
static void visit_scalars(const loops *this, visitor *visit)
{
    const tj_spec *spec = this->emitter->spec;
    int ninputs = spec->noperands - spec->noutputs;
    if (ninputs < 2 || ninputs > MAX_SPECIAL_INPUTS)
        return;
    for (int k = 0; k < ninputs; k++)
        if (wants_data(this, k) && spec->operands[k].role == TJ_IN &&
            !tj_is_window(this->emitter, k))
            visit(this, &(tj_variant){"scalar", .scalar = k + 1, .dense = true,
                                      .contiguous = has_core_dims(spec)});
}

/* Visits the variants in which one input is also the output, in place. The other input may be a scalar. */
static void visit_same(const loops *this, visitor *visit)
{
    const tj_spec *spec = this->emitter->spec;
    int ninputs = spec->noperands - spec->noutputs;
    if (spec->noutputs != 1 || ninputs > MAX_SPECIAL_INPUTS || !wants_data(this, ninputs))
        return;
    for (int k = 0; k < ninputs; k++)
        if (wants_data(this, k) && spec->operands[k].role == TJ_IN &&
            this->snippet->types[k].itemsize == this->snippet->types[ninputs].itemsize) {
            visit(this, &(tj_variant){"same", .same = k + 1, .dense = true});
            if (ninputs == 2 && wants_data(this, 1 - k) && spec->operands[1 - k].role == TJ_IN)
                visit(this,
                      &(tj_variant){"inplace", .same = k + 1, .scalar = 2 - k, .dense = true});
        }
}

static void visit_elementwise(const loops *this, visitor *visit)
{
    static const tj_variant steady = {"steady", .steady = true};
    if (!is_dense_possible(this, &unit))
        return;
    visit(this, &unit);
    if (is_steady(this, &unit))
        visit(this, &steady);
    visit_scalars(this, visit);
    visit_same(this, visit);
}

static void visit_slices(const loops *this, visitor *visit)
{
    static const tj_variant dense = {"dense", .dense = true, .contiguous = true, .fixed = true};
    static const tj_variant steady = {"steady", .fixed = true, .steady = true};
    static const tj_variant fixed = {"fixed", .contiguous = true, .fixed = true};
    static const tj_variant contiguous = {"contiguous", .contiguous = true};
    const tj_profile *profile = tj_profile_of(this->emitter, this->t);
    if (!has_sizes(this))
        return;
    if (is_dense_possible(this, &dense) && (!profile || profile->contiguous))
        visit(this, &dense);
    if (this->emitter->spec->windows && !this->emitter->profiles && is_dense_possible(this, &dense))
        visit_scalars(this, visit); /* otherwise a profile asks for them later */
    if (profile && is_steady(this, &dense))
        visit(this, &steady);
    if (profile && profile->contiguous)
        visit(this, &fixed);
    visit(this, &contiguous);
}

static void visit_all(const loops *this, visitor *visit)
{
    const tj_spec *spec = this->emitter->spec;
    static const tj_variant aliased = {"aliased", .aliased = true};
    if (has_core_dims(spec))
        visit_slices(this, visit);
    else
        visit_elementwise(this, visit);
    /* For the compiler, unknown steps are worse than overlap. */
    if (has_core_dims(spec) || !this->may_be_same)
        visit(this, &general);
    if (this->may_be_same)
        visit(this, &aliased);
}

/* ---- the variant of a running call --------------------------------------------------- */

static bool has_steps(const loops *this, const tj_variant *variant)
{
    const tj_running *running = this->emitter->running;
    for (int k = 0; k < this->emitter->spec->noperands; k++) {
        ptrdiff_t step =
            k + 1 == variant->scalar
                ? 0
                : tj_variant_stride(this->emitter, variant, this->t, k, -1, running->named);
        if (wants_data(this, k) && running->strides[k] != step)
            return false;
    }
    return true;
}

static bool has_dims(const loops *this, const tj_variant *variant)
{
    const tj_emitter *emitter = this->emitter;
    for (int n = 0; n < emitter->nnamed; n++) {
        ptrdiff_t size = tj_constant_dim(emitter, variant, this->t, emitter->named[n].dim);
        ptrdiff_t given = emitter->running->named[n];
        if (size >= 0 ? given != size : given > INT32_MAX)
            return false;
    }
    return true;
}

static bool has_strides(const loops *this, const tj_variant *variant)
{
    const tj_spec *spec = this->emitter->spec;
    const tj_running *running = this->emitter->running;
    const ptrdiff_t *given = running->strides + spec->noperands;
    for (int k = 0; k < spec->noperands; k++) {
        bool wanted = tj_snippet_wants_strides(this->emitter, this->snippet, k);
        for (int i = 0; i < spec->operands[k].ndims; i++, given++)
            if (wanted && !tj_is_free_stride(this->emitter, k, i) &&
                *given != tj_variant_stride(this->emitter, variant, this->t, k, i, running->named))
                return false;
    }
    return true;
}

/* Returns true if emit_choice()'s loop would choose this variant for the running call, which has no overlap. */
static bool takes(const loops *this, const tj_variant *variant)
{
    bool moves = variant->dense || variant->steady;
    bool lies = variant->contiguous || variant->steady;
    if (!this->emitter->running->strides)
        return !variant->same && !variant->scalar && !variant->steady;
    return !variant->same && (!moves || has_steps(this, variant)) &&
           (!lies || (has_dims(this, variant) && has_strides(this, variant)));
}

static void find(const loops *this, const tj_variant *variant)
{
    if (!this->found->what && takes(this, variant))
        *this->found = *variant;
}

void tj_emit_loop_in_place(tj_emitter *emitter, int t)
{
    tj_text_printf(emitter->out, "((cwj_loop *)%zuull)",
                   (size_t)(uintptr_t)emitter->running->loops[t]);
}

/* Emits the number of pairs of an input and an output that are the same view. */
static void emit_same(const loops *this)
{
    const tj_spec *spec = this->emitter->spec;
    if (!this->may_be_same || (!has_core_dims(spec) && !is_dense_possible(this, &unit)))
        return; /* only "aliased" exists */
    const char *between = "    const int cwj_same = ";
    tj_text *out = this->emitter->out;
    for (int k = 0; k < spec->noperands; k++)
        for (int j = 0; j < spec->noperands; j++)
            if (may_be_same(spec, k, j)) {
                tj_text_printf(out, "%s(cwj_data[%d] == cwj_data[%d])", between, k, j);
                between = " + ";
            }
    tj_text_puts(out, ";\n");
}

/* Visits all variants, or only that of the running call. */
static void visit_wanted(const loops *this, visitor *visit)
{
    if (!this->emitter->running) {
        visit_all(this, visit);
        return;
    }
    visit_all(this, find);
    visit(this, this->found);
}

void tj_emit_fast_loops(tj_emitter *emitter, const tj_user_code *snippet, int t)
{
    tj_variant found = {0};
    const tj_spec *spec = emitter->spec;
    loops this = {emitter, snippet, t, false, &found};
    for (int k = 0; k < spec->noperands; k++)
        for (int j = 0; j < spec->noperands; j++)
            this.may_be_same |= may_be_same(spec, k, j);
    tj_emit_macros(emitter, snippet);
    tj_text_printf(
        emitter->out, "static %s _Bool cwj_slice_%d",
        snippet->apart ? "__attribute((noinline))" : "__inline __attribute((always_inline))", t);
    tj_emit_snippet_function(emitter, snippet);
    if (has_core_dims(spec))
        emit_vector_width(emitter->out);
    visit_wanted(&this, emit_variant);
    tj_emit_loop_head(emitter, t);
    emit_same(&this);
    if (has_sizes(&this))
        emit_dim_locals(&this, &general); /* the tests compare with these */
    visit_wanted(&this, emit_choice);
    if (emitter->running) {
        tj_text_puts(emitter->out, "    return ");
        tj_emit_loop_in_place(emitter, t);
        tj_text_puts(emitter->out, "(cwj_data, cwj_dims, cwj_steps, cwj_ctx);\n");
    }
    tj_text_puts(emitter->out, "}\n\n");
    tj_emit_undefs(emitter);
}
