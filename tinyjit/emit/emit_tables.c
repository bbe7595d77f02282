/* emit_tables.c: writes the constant tables that describe a function to the call path.
 *
 * Members are initialised by position, not by name: the user's header precedes the tables, and may define
 * macros called `name` or `flags`. */
#include <string.h>

#include "emit/emit.h"

static void emit_named(const tj_emitter *this)
{
    tj_text *out = this->out;
    if (!this->nnamed)
        return;
    tj_text_printf(out, "static const char *const cwj_named__%s[] = {", this->spec->name);
    for (int i = 0; i < this->nnamed; i++)
        tj_text_printf(out, "%s\"%s\"", i ? ", " : "", this->named[i].dim->name);
    tj_text_puts(out, "};\n\n");
}

static void emit_core(const tj_emitter *this, const tj_operand *operand)
{
    tj_text *out = this->out;
    if (!operand->ndims) {
        tj_text_puts(out, "0");
        return;
    }
    tj_text_puts(out, "(const npy_intp[]){");
    for (int i = 0; i < operand->ndims; i++) {
        const tj_dim *dim = &operand->dims[i];
        ptrdiff_t value = dim->name ? -1 - tj_named_dim(this, dim->name) : dim->size;
        tj_text_printf(out, "%s%td", i ? ", " : "", value);
    }
    tj_text_puts(out, "}");
}

static void emit_operands(const tj_emitter *this)
{
    const tj_spec *spec = this->spec;
    tj_text *out = this->out;
    static const char *const roles[] = {[TJ_IN] = "CWJ_IN",
                                        [TJ_INOUT] = "CWJ_INOUT",
                                        [TJ_OUT] = "CWJ_OUT",
                                        [TJ_SHARED] = "CWJ_SHARED"};
    bool casts = this->packed && spec->flags & (CWJ_CAST_SAFE | CWJ_CAST_SAME_KIND);
    tj_text_printf(out, "static const cwj_operand_decl cwj_operands__%s[] = {\n", spec->name);
    for (int k = 0; k < spec->noperands; k++) {
        const tj_operand *operand = &spec->operands[k];
        tj_text_printf(out, "    {\"%s\", %s, %d, ", operand->name, roles[operand->role],
                       operand->ndims);
        emit_core(this, operand);
        tj_text_puts(out, casts && this->packed[k] ? ", 1},\n" : ", 0},\n");
    }
    tj_text_puts(out, "};\n\n");
}

static void emit_dim_steps(const tj_emitter *this, const tj_output_dim *dim)
{
    tj_text *out = this->out;
    tj_text_puts(out, "(const cwj_dim_step[]){");
    for (int i = 0; i < dim->nsteps; i++) {
        const tj_dim_step *step = &dim->steps[i];
        ptrdiff_t value = step->name ? tj_named_dim(this, step->name) : step->value;
        tj_text_printf(out, "%s{%d, %td}", i ? ", " : "", step->op, value);
    }
    tj_text_puts(out, "}");
}

static void emit_output_dims(const tj_emitter *this)
{
    const tj_spec *spec = this->spec;
    tj_text *out = this->out;
    if (!spec->noutput_dims)
        return;
    tj_text_printf(out, "static const cwj_output_dim cwj_output_dims__%s[] = {\n", spec->name);
    for (int i = 0; i < spec->noutput_dims; i++) {
        const tj_output_dim *dim = &spec->output_dims[i];
        tj_text_printf(out, "    {%d, ", tj_named_dim(this, dim->name));
        tj_text_quote(out, dim->text, strlen(dim->text));
        tj_text_printf(out, ", %d,\n     ", dim->nsteps);
        emit_dim_steps(this, dim);
        tj_text_puts(out, "},\n");
    }
    tj_text_puts(out, "};\n\n");
}

static void emit_types(const tj_spec *spec, const tj_type *types, tj_text *out)
{
    tj_text_puts(out, "(const cwj_type[]){");
    for (int k = 0; k < spec->noperands; k++) {
        const tj_type *type = &types[k];
        tj_text_printf(out, "%s{%d, %zu, ", k ? ", " : "", type->type_num, type->itemsize);
        if (type->dtype)
            tj_text_quote(out, type->dtype, strlen(type->dtype));
        else
            tj_text_puts(out, "0");
        tj_text_puts(out, "}");
    }
    tj_text_puts(out, "}");
}

static void emit_typesets(const tj_spec *spec, tj_text *out)
{
    tj_text_printf(out, "static const cwj_typeset cwj_typesets__%s[] = {\n", spec->name);
    for (int t = 0; t < spec->ntypesets; t++) {
        tj_text_puts(out, "    {\"");
        tj_emit_typeset_name(spec, t, out);
        tj_text_puts(out, "\",\n     ");
        emit_types(spec, spec->typesets[t].types, out);
        tj_text_printf(out, ", cwj_loop_%d__%s},\n", t, spec->name);
    }
    tj_text_puts(out, "};\n\n");
}

static void emit_window(const tj_window *window, int ndims, size_t ntypesets, tj_text *out)
{
    static const char *const borders[] = {[CWJ_REFLECT] = "CWJ_REFLECT",
                                          [CWJ_NEAREST] = "CWJ_NEAREST",
                                          [CWJ_WRAP] = "CWJ_WRAP",
                                          [CWJ_MIRROR] = "CWJ_MIRROR",
                                          [CWJ_CONSTANT] = "CWJ_CONSTANT"};
    tj_text_printf(out, "    {%s, (const int[]){", borders[window->border]);
    for (int i = 0; i < ndims; i++)
        tj_text_printf(out, "%s%d", i ? ", " : "", window->axes[i]);
    tj_text_puts(out, "}, (const npy_intp[]){");
    for (int i = 0; i < ndims; i++)
        tj_text_printf(out, "%s%td", i ? ", " : "", window->steps[i]);
    tj_text_puts(out, window->fills ? "}, (const unsigned char[]){" : "}, 0");
    for (size_t i = 0; window->fills && i < ntypesets * CWJ_FILL_BYTES; i++)
        tj_text_printf(out, "%s%d", i ? "," : "", window->fills[i]);
    tj_text_puts(out, window->fills ? "}},\n" : "},\n");
}

static void emit_windows(const tj_spec *spec, tj_text *out)
{
    if (!spec->windows)
        return;
    tj_text_printf(out, "static const cwj_window cwj_windows__%s[] = {\n", spec->name);
    for (int k = 0; k < spec->noperands; k++)
        if (spec->windows[k].axes)
            emit_window(&spec->windows[k], spec->operands[k].ndims, (size_t)spec->ntypesets, out);
        else
            tj_text_puts(out, "    {0, 0, 0, 0},\n");
    tj_text_puts(out, "};\n\n");
}

static void emit_extras(const tj_spec *spec, tj_text *out)
{
    if (!spec->nextras)
        return;
    tj_text_printf(out, "static const cwj_extra cwj_extra_table__%s[] = {\n", spec->name);
    for (int i = 0; i < spec->nextras; i++) {
        const tj_extra *extra = &spec->extras[i];
        tj_text_printf(out, "    {\"%s\", \"%s\", '%c', CWJ_KIND(", extra->name, extra->c_type,
                       extra->code);
        tj_emit_extra_type(extra, out);
        tj_text_puts(out, "), sizeof(");
        tj_emit_extra_type(extra, out);
        tj_text_printf(out, "),\n     offsetof(cwj_extras__%s, %s)},\n", spec->name, extra->name);
    }
    tj_text_puts(out, "};\n\n");
}

static void emit_flags(int flags, tj_text *out)
{
    static const struct {
        int flag;
        const char *name;
    } all[] = {{CWJ_ONE_OUTPUT, "CWJ_ONE_OUTPUT"}, {CWJ_INPLACE, "CWJ_INPLACE"},
               {CWJ_CAST_SAFE, "CWJ_CAST_SAFE"},   {CWJ_RELEASE_GIL, "CWJ_RELEASE_GIL"},
               {CWJ_UNORDERED, "CWJ_UNORDERED"},   {CWJ_GIL_ALWAYS, "CWJ_GIL_ALWAYS"},
               {CWJ_SILENT, "CWJ_SILENT"},         {CWJ_CAST_SAME_KIND, "CWJ_CAST_SAME_KIND"},
               {CWJ_WHOLE, "CWJ_WHOLE"},           {CWJ_WARN_COPIES, "CWJ_WARN_COPIES"}};
    const char *separator = "";
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        if (flags & all[i].flag) {
            tj_text_printf(out, "%s%s", separator, all[i].name);
            separator = " | ";
        }
    }
    tj_text_puts(out, *separator ? "" : "0");
}

/* Emits text of the descriptor, then "cwj_KIND__NAME", or 0 if that does not exist. */
static void emit_pointer(const tj_spec *spec, const char *before, bool there, const char *kind,
                         tj_text *out)
{
    tj_text_printf(out, there ? "%scwj_%s__%s" : "%s0", before, kind, spec->name);
}

static void emit_descriptor(const tj_emitter *this)
{
    const tj_spec *spec = this->spec;
    tj_text *out = this->out;
    char *signature = tj_spec_signature(spec);
    if (!signature) {
        out->failed = true;
        return;
    }
    tj_text_printf(out, "CWJ_DESCRIPTOR const cwj_function_decl cwj_function__%s = {\n",
                   spec->name);
    tj_text_printf(out, "    /* names      */ \"%s\", \"", spec->name);
    tj_emit_qualname(spec, out);
    tj_text_printf(out, "\", \"%s\",\n    /* flags      */ ", signature);
    emit_flags(spec->flags | (this->whole ? CWJ_WHOLE : 0), out);
    tj_text_printf(out, ",\n    /* threads    */ %d", spec->threads);
    tj_text_printf(out, ",\n    /* operands   */ %d, %d, cwj_operands__%s,\n",
                   spec->noperands - spec->noutputs, spec->noutputs, spec->name);
    tj_text_printf(out, "    /* named dims */ %d, ", this->nnamed);
    emit_pointer(spec, "", this->nnamed > 0, "named", out);
    tj_text_printf(out, ", %d, ", spec->noutput_dims);
    emit_pointer(spec, "", spec->noutput_dims > 0, "output_dims", out);
    tj_text_printf(out, ",\n    /* type sets  */ %d, cwj_typesets__%s,\n", spec->ntypesets,
                   spec->name);
    tj_text_printf(out, "    /* extras     */ %d, ", spec->nextras);
    emit_pointer(spec, "", spec->nextras > 0, "extra_table", out);
    tj_text_printf(out, spec->nextras ? ", sizeof(cwj_extras__%s), " : ", 0, ", spec->name);
    emit_pointer(spec, "", spec->nextras > 0, "defaults", out);
    tj_text_puts(out, ",\n    /* cookie     */ ");
    tj_text_printf(out, spec->cookie.length ? "sizeof(cwj_cookie__%s)" : "0", spec->name);
    emit_pointer(spec, ",\n    /* validate   */ ", spec->validate.text, "validate", out);
    emit_pointer(spec, ",\n    /* cleanup    */ ", spec->cleanup.text, "cleanup", out);
    emit_pointer(spec, ",\n    /* windows    */ ", spec->windows, "windows", out);
    tj_text_puts(out, ",\n};\n");
    tj_free(signature);
}

void tj_emit_tables(tj_emitter *this)
{
    tj_text_puts(this->out, "/* ---- what the call path knows of the function ---- */\n\n");
    emit_named(this);
    emit_operands(this);
    emit_output_dims(this);
    emit_typesets(this->spec, this->out);
    emit_extras(this->spec, this->out);
    emit_windows(this->spec, this->out);
    emit_descriptor(this);
}
