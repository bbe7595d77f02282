/* emit_values.c: writes the values that a snippet names, and its accessors.
 *
 * The parameters of a snippet's function are only the values that the snippet names. A value has the same name in the
 * snippet and in the loop that passes it. If names may be hidden (## in a macro, macros of an included file), all
 * values are passed.
 *
 * A snippet that is written into the loop gets the values as locals of the loop. A snippet may change a parameter for
 * one slice, but it must not change a local for all later slices, so the locals are const, or set again for each slice.
 * A compiler that keeps no value in a register loads each from the stack at every use. Strides are therefore scalars,
 * and dims that are only indexed are a local array, so that each use is one load.
 *
 * np.bool_ is _Bool, but its memory can hold any byte, which a _Bool must not. Inputs are therefore read as bytes and
 * converted; operands that are both input and output are set to 0 or 1 first. */
#include <string.h>

#include "emit/emit.h"
#include "read/lexer.h"

/* A property of an operand's geometry that snippets may name. */
typedef struct fact {
    const char *type;
    const char *prefix;
    const char *member; /* member of cwj_operand */
    bool is_core;       /* one per core dim */
} fact;

static const fact geometries[] = {
    {"const int ", "Ndims_full__", "ndims_full", false},
    {"const npy_intp *", "dims_full__", "dims_full", false},
    {"const npy_intp *", "strides_full__", "strides_full", false},
    {"const int ", "Ndims_slice__", "ndims_slice", false},
    {"const npy_intp *", "dims_slice__", "dims_slice", true},
    {"const npy_intp *", "strides_slice__", "strides_slice", true},
    {"const npy_intp ", "sizeof_element__", "sizeof_element", false},
};
enum {
    NGEOMETRIES = sizeof(geometries) / sizeof(*geometries)
};

#define CHECK "CHECK_CONTIGUOUS_AND_SETERROR" /* raises; CHECK_CONTIGUOUS does not */

const char *tj_const_of(const tj_operand *operand)
{
    return operand->role == TJ_IN ? "const " : "";
}

/* ---- the values that a snippet names --------------------------------------- */

/* Returns true if the snippet or the header, whose macros the snippet may use, names the value. */
static bool wants(const tj_emitter *this, const tj_user_code *snippet, const char *prefix,
                  const char *name)
{
    return (this->form & TJ_ALL_NAMES) || tj_names_may_paste(this->header) ||
           tj_names_may_paste(snippet->names) ||
           tj_names_have_joined(snippet->names, prefix, name) ||
           tj_names_have_joined(this->header, prefix, name);
}

static bool wants_item(const tj_emitter *this, const tj_user_code *snippet, int k)
{
    return snippet->kind == TJ_SLICE_CODE && snippet->types[k].ctype &&
           wants(this, snippet, "item__", this->spec->operands[k].name);
}

static const char *data_prefix(const tj_user_code *snippet)
{
    return snippet->kind == TJ_SLICE_CODE ? "data_slice__" : "data__";
}

bool tj_snippet_wants_data(const tj_emitter *this, const tj_user_code *snippet, int k)
{
    return wants_item(this, snippet, k) ||
           (snippet->kind != TJ_CLEANUP_CODE &&
            wants(this, snippet, data_prefix(snippet), this->spec->operands[k].name));
}

bool tj_snippet_wants_strides(const tj_emitter *this, const tj_user_code *snippet, int k)
{
    return wants_item(this, snippet, k) ||
           wants(this, snippet, "strides_slice__", this->spec->operands[k].name);
}

/* Returns true if the snippet needs this fact of operand k. Accessors of inlined snippets use scalar strides. */
static bool wants_geometry(const tj_emitter *this, const tj_user_code *snippet, int k, int g)
{
    const tj_operand *operand = &this->spec->operands[k];
    bool strides = !strcmp(geometries[g].member, "strides_slice") && operand->ndims > 0;
    return (strides && !snippet->inlined && wants_item(this, snippet, k)) ||
           (snippet->kind != TJ_CLEANUP_CODE &&
            wants(this, snippet, geometries[g].prefix, operand->name));
}

/* Returns true for an array of npy_intp whose members an inlined snippet only reads, by number. It can be a
 * local array, accessed through a macro with its name. */
static bool is_local_array(const tj_emitter *this, const tj_user_code *snippet, int k, int g)
{
    const tj_operand *operand = &this->spec->operands[k];
    const char *prefix = geometries[g].prefix;
    return snippet->inlined && operand->ndims > 0 && geometries[g].is_core &&
           wants_geometry(this, snippet, k, g) && !(this->form & TJ_ALL_NAMES) &&
           !tj_names_may_paste(this->header) && !tj_names_may_paste(snippet->names) &&
           !tj_names_have_joined(this->header, prefix, operand->name) &&
           tj_body_only_indexes(&snippet->tokens, prefix, operand->name, operand->ndims);
}

void tj_note_layout(tj_emitter *this, const tj_user_code *snippet)
{
    for (int k = 0; k < this->spec->noperands; k++) {
        const char *name = this->spec->operands[k].name;
        for (int g = 0; g < NGEOMETRIES; g++)
            this->whole |= strstr(geometries[g].prefix, "_full__") &&
                           wants(this, snippet, geometries[g].prefix, name);
        if (snippet->kind != TJ_SLICE_CODE)
            this->whole |= wants(this, snippet, "data__", name);
        if (snippet->kind == TJ_VALIDATE_CODE)
            this->packed[k] = tj_names_have_joined(snippet->names, CHECK, "_ALL") ||
                              tj_names_have_joined(snippet->names, CHECK "__", name);
    }
}

/* ---- values as locals, arguments and parameters ---------------------------- */

/* Emits a comma; lists break their lines between groups. */
static void emit_separator(tj_emitter *this, tj_value_use use)
{
    const tj_text *out = this->out;
    bool within = this->group != out->length;
    size_t column = 0, most = use == TJ_AS_ARGUMENT ? 60 : 24;
    while (column < out->length && column < most && out->data[out->length - 1 - column] != '\n')
        column++;
    if (use == TJ_AS_LOCAL)
        tj_text_puts(this->out, "    ");
    else if (within || column < most)
        tj_text_puts(this->out, ", ");
    else
        tj_text_puts(this->out, use == TJ_AS_ARGUMENT ? ",\n                " : ",\n    ");
}

/* Emits a value as a parameter or as an argument. */
static void emit_passed(tj_emitter *this, tj_value_use use, const char *type, const char *prefix,
                        const char *name)
{
    emit_separator(this, use);
    tj_text_printf(this->out, "%s%s%s", use == TJ_AS_PARAMETER ? type : "", prefix, name);
}

/* Emits a local array without initialiser, because libtcc would call memset() for one. */
static void emit_local_array(tj_emitter *this, int k, const char *member)
{
    const tj_operand *operand = &this->spec->operands[k];
    tj_text_printf(this->out, "npy_intp cwj_%s__%s[%d];\n", member, operand->name, operand->ndims);
    for (int i = 0; i < operand->ndims; i++)
        tj_text_printf(this->out, "    cwj_%s__%s[%d] = cwj->operands[%d].%s[%d];\n", member,
                       operand->name, i, k, member, i);
}

static void emit_geometry_local(tj_emitter *this, const tj_user_code *snippet, int k, int g)
{
    const fact *geometry = &geometries[g];
    const tj_operand *operand = &this->spec->operands[k];
    bool pointer = strchr(geometry->type, '*') != NULL;
    emit_separator(this, TJ_AS_LOCAL);
    if (is_local_array(this, snippet, k, g)) {
        emit_local_array(this, k, geometry->member);
        return;
    }
    if (this->variant && geometry->is_core && operand->ndims > 0) {
        tj_emit_variant_geometry(this, k, !strcmp(geometry->member, "strides_slice"));
        return;
    }
    tj_text_printf(this->out, "%s%s%s%s = ", geometry->type,
                   snippet->inlined && pointer ? "const " : "", geometry->prefix, operand->name);
    if (this->variant && !strcmp(geometry->member, "ndims_slice"))
        tj_text_printf(this->out, "%d;\n", operand->ndims);
    else
        tj_text_printf(this->out, "%scwj->operands[%d].%s;\n",
                       !strcmp(geometry->type, "const int ") ? "(int)" : "", k, geometry->member);
}

/* Emits the slice's address, which the loop increments; inlined snippets also get each of the slice's strides. */
static void emit_data_local(tj_emitter *this, const tj_user_code *snippet, int k)
{
    const tj_operand *operand = &this->spec->operands[k];
    const char *name = operand->name;
    if (this->variant)
        return; /* a parameter of the loop */
    emit_separator(this, TJ_AS_LOCAL);
    if (snippet->kind != TJ_SLICE_CODE) {
        tj_text_printf(this->out, "char *cwj_at__%s = cwj->operands[%d].data;\n", name, k);
        return;
    }
    tj_text_printf(this->out, "char *cwj_at__%s = cwj_data[%d];\n", name, k);
    if (!snippet->inlined)
        return;
    tj_text_printf(this->out, "    const npy_intp cwj_step__%s = cwj_steps[%d];\n", name, k);
    for (int i = 0; wants_item(this, snippet, k) && i < operand->ndims; i++)
        tj_text_printf(this->out,
                       "    const npy_intp cwj_stride_%d__%s = "
                       "cwj->operands[%d].strides_slice[%d];\n",
                       i, name, k, i);
}

/* Emits the value of an extra argument for snippets: its address, or the pointer that it is. */
static void emit_extra_pointer(tj_emitter *this, const tj_extra *extra)
{
    bool pointer = tj_extra_is_pointer(extra);
    tj_text_puts(this->out, pointer ? "" : "const ");
    tj_emit_extra_type(extra, this->out);
    tj_text_puts(this->out, pointer ? " " : " *");
}

/* Emits an extra argument as a local. For the cc tier it is a copy, which no store through an output can change. */
static void emit_extra_local(tj_emitter *this, const tj_user_code *snippet, const tj_extra *extra)
{
    bool pointer = tj_extra_is_pointer(extra), copied = this->variant && !pointer;
    if (copied) {
        tj_text_puts(this->out, "const ");
        tj_emit_extra_type(extra, this->out);
        tj_text_printf(this->out, " cwj_extra__%s = ((cwj_extras__%s *)cwj->extras)->%s;\n    ",
                       extra->name, this->spec->name, extra->name);
    }
    emit_extra_pointer(this, extra);
    tj_text_printf(this->out, "%s%s = ", snippet->inlined ? "const " : "", extra->name);
    if (copied)
        tj_text_printf(this->out, "&cwj_extra__%s;\n", extra->name);
    else
        tj_text_printf(this->out, "%s((cwj_extras__%s *)cwj->extras)->%s;\n", pointer ? "" : "&",
                       this->spec->name, extra->name);
}

static void emit_extra(tj_emitter *this, const tj_user_code *snippet, const tj_extra *extra,
                       tj_value_use use)
{
    emit_separator(this, use);
    if (use == TJ_AS_LOCAL) {
        emit_extra_local(this, snippet, extra);
        return;
    }
    if (use == TJ_AS_PARAMETER)
        emit_extra_pointer(this, extra);
    tj_text_puts(this->out, extra->name);
}

static void emit_cookie_value(tj_emitter *this, const tj_user_code *snippet, tj_value_use use)
{
    emit_separator(this, use);
    if (use != TJ_AS_ARGUMENT) {
        bool constant = snippet->kind == TJ_SLICE_CODE && this->spec->cookie_readonly;
        tj_text_printf(this->out, "%scwj_cookie__%s *%s", constant ? "const " : "",
                       this->spec->name, snippet->inlined ? "const " : "");
    }
    tj_text_puts(this->out, use == TJ_AS_LOCAL ? "cookie = cwj->cookie;\n" : "cookie");
}

void tj_emit_values(tj_emitter *this, const tj_user_code *snippet, tj_value_use use)
{
    for (int k = 0; k < this->spec->noperands; k++) {
        const tj_operand *operand = &this->spec->operands[k];
        bool local = use == TJ_AS_LOCAL, data = tj_snippet_wants_data(this, snippet, k);
        this->group = this->out->length;
        if (data && local)
            emit_data_local(this, snippet, k);
        else if (data)
            emit_passed(this, use, operand->role == TJ_IN ? "const void *" : "void *",
                        use == TJ_AS_PARAMETER ? data_prefix(snippet) : "cwj_at__", operand->name);
        for (int g = 0; g < NGEOMETRIES; g++)
            if (wants_geometry(this, snippet, k, g) && local)
                emit_geometry_local(this, snippet, k, g);
            else if (wants_geometry(this, snippet, k, g))
                emit_passed(this, use, geometries[g].type, geometries[g].prefix, operand->name);
    }
    this->group = this->out->length;
    for (int i = 0; i < this->spec->nextras; i++)
        if (wants(this, snippet, "", this->spec->extras[i].name))
            emit_extra(this, snippet, &this->spec->extras[i], use);
    this->group = this->out->length;
    if (this->spec->cookie.length > 0 && wants(this, snippet, "", "cookie"))
        emit_cookie_value(this, snippet, use);
}

void tj_emit_slice_data(tj_emitter *this, const tj_user_code *snippet)
{
    for (int k = 0; k < this->spec->noperands; k++) {
        const tj_operand *operand = &this->spec->operands[k];
        if (wants(this, snippet, "data_slice__", operand->name))
            tj_text_printf(this->out, "    %svoid *data_slice__%s = cwj_at__%s;\n",
                           tj_const_of(operand), operand->name, operand->name);
    }
}

/* ---- accessors ------------------------------------------------------------- */

/* Emits the name of an index of item__X(): i, j, k, or i0, i1, ... if there are many. */
static void emit_index(tj_emitter *this, int ndims, int axis)
{
    if (ndims <= 3)
        tj_text_printf(this->out, "%c", "ijk"[axis]);
    else
        tj_text_printf(this->out, "i%d", axis);
}

static bool is_bool(const tj_user_code *snippet, int k)
{
    const char *ctype = snippet->types[k].ctype;
    return ctype && !strcmp(ctype, TJ_BOOL_CTYPE);
}

/* Returns the prefix of the accessors' base: data_slice__X if the snippet names that, because it may change it. */
static const char *item_base(const tj_emitter *this, const tj_user_code *snippet, int k)
{
    const char *name = this->spec->operands[k].name;
    return snippet->inlined && !wants(this, snippet, "data_slice__", name) ? "cwj_at__"
                                                                           : "data_slice__";
}

static void emit_define_item(tj_emitter *this, const tj_user_code *snippet, int k)
{
    const tj_operand *operand = &this->spec->operands[k];
    const char *name = operand->name;
    tj_text_printf(this->out, "#define item__%s(", name);
    for (int i = 0; i < operand->ndims; i++) {
        tj_text_puts(this->out, i ? ", " : "");
        emit_index(this, operand->ndims, i);
    }
    if (is_bool(snippet, k) && operand->role == TJ_IN)
        tj_text_printf(this->out, ") ((_Bool)*(const npy_bool *)(%s%s", item_base(this, snippet, k),
                       name);
    else
        tj_text_printf(this->out, ") (*(%sctype__%s *)(%s%s", tj_const_of(operand), name,
                       item_base(this, snippet, k), name);
    for (int i = 0; i < operand->ndims; i++) {
        if (this->spec->checked && !(this->form & TJ_FAST))
            tj_text_printf(this->out, " + CWJ_INDEX_WITHIN(%d, %d, ", k, i);
        else
            tj_text_puts(this->out, " + (");
        emit_index(this, operand->ndims, i);
        if (snippet->inlined)
            tj_text_printf(this->out, ") * cwj_stride_%d__%s", i, name);
        else
            tj_text_printf(this->out, ") * strides_slice__%s[%d]", name, i);
    }
    tj_text_puts(this->out, "))\n");
}

void tj_emit_truths(tj_emitter *this, const tj_user_code *snippet)
{
    for (int k = 0; k < this->spec->noperands; k++) {
        const tj_operand *operand = &this->spec->operands[k];
        if (operand->role != TJ_INOUT || !wants_item(this, snippet, k) || !is_bool(snippet, k))
            continue;
        for (int i = 0; i < operand->ndims; i++)
            tj_text_printf(
                this->out,
                "    for (npy_intp cwj_%d = 0; cwj_%d < cwj->operands[%d].dims_slice[%d]; "
                "cwj_%d++)\n",
                i, i, k, i, i);
        tj_text_printf(this->out, "    {\n        npy_bool *cwj_bool = (npy_bool *)&item__%s(",
                       operand->name);
        for (int i = 0; i < operand->ndims; i++)
            tj_text_printf(this->out, "%scwj_%d", i ? ", " : "", i);
        tj_text_puts(this->out, ");\n        *cwj_bool = *cwj_bool != 0;\n    }\n");
    }
}

static void emit_accessors(tj_emitter *this, const tj_user_code *snippet)
{
    for (int k = 0; k < this->spec->noperands; k++) {
        const char *name = this->spec->operands[k].name;
        const char *ctype = snippet->types[k].ctype;
        bool item = wants_item(this, snippet, k);
        if (!ctype || !(item || wants(this, snippet, "ctype__", name)))
            continue;
        tj_text_printf(this->out, "#define ctype__%s %s\n", name, ctype);
        if (item)
            emit_define_item(this, snippet, k);
    }
}

/* Emits CHECK_CONTIGUOUS__a() or the macro that raises, for operand k, or for all if k is -1. */
static void emit_check(tj_emitter *this, const tj_user_code *snippet, int k, bool raises)
{
    const char *prefix = raises ? CHECK "__" : "CHECK_CONTIGUOUS__";
    const char *all = raises ? CHECK "_ALL" : "CHECK_CONTIGUOUS_ALL";
    const char *name = k < 0 ? "" : this->spec->operands[k].name;
    const char *error = raises ? "_or_error" : "";
    if (!wants(this, snippet, k < 0 ? all : prefix, name))
        return;
    if (k < 0)
        tj_text_printf(this->out, "#define %s() cwj_contiguous_all%s(cwj)\n", all, error);
    else
        tj_text_printf(this->out, "#define %s%s() cwj_contiguous%s(cwj, %d)\n", prefix, name, error,
                       k);
}

void tj_emit_macros(tj_emitter *this, const tj_user_code *snippet)
{
    tj_text *out = this->out;
    this->out = &this->macros;
    if (snippet->kind == TJ_SLICE_CODE)
        emit_accessors(this, snippet);
    for (int k = 0; snippet->inlined && k < this->spec->noperands; k++) {
        const char *name = this->spec->operands[k].name;
        for (int g = 0; g < NGEOMETRIES; g++)
            if (is_local_array(this, snippet, k, g))
                tj_text_printf(this->out, "#define %s%s ((const npy_intp *)cwj_%s__%s)\n",
                               geometries[g].prefix, name, geometries[g].member, name);
    }
    for (int k = -1; snippet->kind != TJ_CLEANUP_CODE && k < this->spec->noperands; k++) {
        emit_check(this, snippet, k, false);
        emit_check(this, snippet, k, true);
    }
    if (this->macros.length)
        tj_text_puts(&this->macros, "\n");
    this->out = out;
    tj_text_add(out, this->macros.data, this->macros.length);
    out->failed |= this->macros.failed;
}

void tj_emit_undefs(tj_emitter *this)
{
    static const char define[] = "#define ";
    for (const char *at = this->macros.data; at && (at = strstr(at, define));) {
        at += sizeof define - 1;
        tj_text_printf(this->out, "#undef %.*s\n", (int)strcspn(at, " ("), at);
    }
    tj_text_puts(this->out, this->macros.length ? "\n" : "");
    tj_text_clear(&this->macros);
}
