/* emit.c: from the description of a function to the C text of its unit.
 *
 * Only what varies is generated: accessors, the user's snippets, one strided
 * loop per type set, and the tables that describe the function to the call path
 * (emit_tables.c). Each snippet becomes the body of a function of its own, with
 * the values that it names as parameters and no others: a compiler that never
 * inlines has little to pass then.
 *
 * Generated names are `cwj_KIND__NAME`, NAME being the function's, so that no
 * two functions of a module share one and none is a name of abi.h. A value's
 * name, such as dims_slice__a, is the same in the loop and in the snippet.
 *
 * Every snippet has its own file in #line. Behind it the numbering of the
 * generated text goes on, so that a fault there is recognised as ours.
 */
#include <string.h>

#include "emit.h"

typedef enum snippet_kind { SLICE, VALIDATE, CLEANUP } snippet_kind;

typedef struct user_code {
    const tj_piece *piece;
    snippet_kind kind;
    tj_names *names;      /* owned: the identifiers in it */
    const tj_type *types; /* SLICE: one per operand */
} user_code;

typedef struct emitter {
    const tj_spec *spec;
    tj_text *out;
    const char *file; /* what #line calls the generated text */
    bool all_names;
    tj_names *header;  /* owned: the identifiers of the header */
    size_t counted;    /* bytes of out in which newlines were counted */
    size_t newlines;
    size_t group;      /* out's length where the last group of values began */
} emitter;

/* The geometry of an operand, as snippets may name it. */
typedef struct fact {
    const char *type;
    const char *prefix;
    const char *member; /* of cwj_operand */
} fact;

static const fact geometries[] = {
    {"const int ", "Ndims_full__", "ndims_full"},
    {"const npy_intp *", "dims_full__", "dims_full"},
    {"const npy_intp *", "strides_full__", "strides_full"},
    {"const int ", "Ndims_slice__", "ndims_slice"},
    {"const npy_intp *", "dims_slice__", "dims_slice"},
    {"const npy_intp *", "strides_slice__", "strides_slice"},
    {"const npy_intp ", "sizeof_element__", "sizeof_element"},
};
enum { NGEOMETRIES = sizeof(geometries) / sizeof(*geometries) };

/* ---- small pieces of text -------------------------------------------------- */

void tj_emit_qualname(const tj_spec *spec, tj_text *out)
{
    if (spec->module)
        tj_text_printf(out, "%s.", spec->module);
    tj_text_puts(out, spec->name);
}

void tj_emit_default_file(const tj_spec *spec, int extra, tj_text *out)
{
    tj_text_puts(out, "<cwrapjit ");
    tj_emit_qualname(spec, out);
    tj_text_printf(out, " default of %s>", spec->extras[extra].name);
}

void tj_emit_typeset_name(const tj_spec *spec, int typeset, tj_text *out)
{
    int ninputs = spec->noperands - spec->noutputs;
    for (int k = 0; k < spec->noperands; k++) {
        const char *between = k == ninputs ? (k ? " -> " : "-> ") : k ? ", " : "";
        tj_text_printf(out, "%s%s", between, spec->typesets[typeset].types[k].label);
    }
}

bool tj_extra_is_pointer(const tj_extra *extra)
{
    return strchr(extra->c_type, '*') != NULL;
}

/* A word of a type that a variable which is assigned cannot have. */
static bool is_qualifier(const char *word, size_t length)
{
    return (length == 5 && !memcmp(word, "const", 5)) ||
           (length == 8 && !memcmp(word, "volatile", 8));
}

void tj_emit_extra_type(const tj_extra *extra, tj_text *out)
{
    const char *between = "";
    if (tj_extra_is_pointer(extra)) {
        tj_text_puts(out, extra->c_type);
        return;
    }
    for (const char *at = extra->c_type + strspn(extra->c_type, " "); *at;) {
        size_t length = strcspn(at, " ");
        if (!is_qualifier(at, length)) {
            tj_text_puts(out, between);
            tj_text_add(out, at, length);
            between = " ";
        }
        at += length;
        at += strspn(at, " ");
    }
}

static const char *const_of(const tj_operand *operand)
{
    return operand->role == TJ_IN ? "const " : "";
}

/* Goes back from the user's text to the numbering of the generated one. */
static void emit_own_line(emitter *this)
{
    const tj_text *out = this->out;
    for (; this->counted < out->length; this->counted++)
        this->newlines += out->data[this->counted] == '\n';
    tj_text_printf(this->out, "#line %zu ", this->newlines + 2);
    tj_text_quote(this->out, this->file, strlen(this->file));
    tj_text_puts(this->out, "\n");
}

/* The user's text as it is, under its own name. `behind` closes what it stands
 * in, still under that name: "might return no value" is said of the brace. */
static void emit_piece(emitter *this, const tj_piece *piece, const char *behind)
{
    tj_text_puts(this->out, "#line 1 ");
    tj_text_quote(this->out, piece->file, strlen(piece->file));
    tj_text_puts(this->out, "\n");
    tj_text_add(this->out, piece->text, piece->length);
    tj_text_printf(this->out, "\n%s", behind);
    emit_own_line(this);
}

/* ---- which values a snippet names ------------------------------------------ */

static bool names_joined(const tj_names *names, const char *prefix, const char *name)
{
    tj_text joined = {0};
    tj_text_printf(&joined, "%s%s", prefix, name);
    bool found = joined.failed || tj_names_have(names, joined.data);
    tj_text_clear(&joined);
    return found;
}

/* The header counts as well: its macros may name values. */
static bool wants(const emitter *this, const user_code *snippet, const char *prefix,
                  const char *name)
{
    return this->all_names || tj_names_may_paste(this->header) ||
           tj_names_may_paste(snippet->names) || names_joined(snippet->names, prefix, name) ||
           names_joined(this->header, prefix, name);
}

static bool wants_item(const emitter *this, const user_code *snippet, int k)
{
    return snippet->kind == SLICE && snippet->types[k].ctype &&
           wants(this, snippet, "item__", this->spec->operands[k].name);
}

static const char *data_prefix(const user_code *snippet)
{
    return snippet->kind == SLICE ? "data_slice__" : "data__";
}

static bool wants_data(const emitter *this, const user_code *snippet, int k)
{
    return wants_item(this, snippet, k) ||
           (snippet->kind != CLEANUP &&
            wants(this, snippet, data_prefix(snippet), this->spec->operands[k].name));
}

static bool wants_geometry(const emitter *this, const user_code *snippet, int k, int g)
{
    const tj_operand *operand = &this->spec->operands[k];
    bool strides = !strcmp(geometries[g].member, "strides_slice") && operand->ndims > 0;
    return (strides && wants_item(this, snippet, k)) ||
           (snippet->kind != CLEANUP &&
            wants(this, snippet, geometries[g].prefix, operand->name));
}

static bool wants_cookie(const emitter *this, const user_code *snippet)
{
    return this->spec->cookie.length > 0 && wants(this, snippet, "", "cookie");
}

/* ---- values: as locals of a loop, its arguments, a snippet's parameters ------ */

typedef enum value_use { LOCAL, ARGUMENT, PARAMETER } value_use;

/* The values of one operand share a line of the list. */
static void begin_group(emitter *this)
{
    this->group = this->out->length;
}

/* The column at which the text ends, from 0. */
static size_t column_of(const tj_text *out)
{
    size_t column = 0;
    while (column < out->length && out->data[out->length - 1 - column] != '\n')
        column++;
    return column;
}

/* A list breaks its lines between groups. */
static void emit_separator(emitter *this, value_use use)
{
    bool within = this->group != this->out->length;
    if (use == LOCAL)
        tj_text_puts(this->out, "    ");
    else if (within || column_of(this->out) < (use == ARGUMENT ? 60 : 24))
        tj_text_puts(this->out, ", ");
    else
        tj_text_puts(this->out, use == ARGUMENT ? ",\n                " : ",\n    ");
}

static void emit_geometry(emitter *this, int k, int g, value_use use)
{
    const fact *geometry = &geometries[g];
    const char *name = this->spec->operands[k].name;
    emit_separator(this, use);
    if (use != ARGUMENT)
        tj_text_puts(this->out, geometry->type);
    tj_text_printf(this->out, "%s%s", geometry->prefix, name);
    if (use == LOCAL)
        tj_text_printf(this->out, " = %scwj->operands[%d].%s;\n",
                       !strcmp(geometry->type, "const int ") ? "(int)" : "", k, geometry->member);
}

static void emit_data(emitter *this, const user_code *snippet, int k, value_use use)
{
    const tj_operand *operand = &this->spec->operands[k];
    emit_separator(this, use);
    if (use == PARAMETER)
        tj_text_printf(this->out, "%svoid *%s%s", const_of(operand), data_prefix(snippet),
                       operand->name);
    else if (use == ARGUMENT)
        tj_text_printf(this->out, "cwj_at__%s", operand->name);
    else if (snippet->kind == SLICE)
        tj_text_printf(this->out, "char *cwj_at__%s = cwj_data[%d];\n", operand->name, k);
    else
        tj_text_printf(this->out, "char *cwj_at__%s = cwj->operands[%d].data;\n", operand->name, k);
}

static void emit_extra(emitter *this, int i, value_use use)
{
    const tj_extra *extra = &this->spec->extras[i];
    bool pointer = tj_extra_is_pointer(extra);
    emit_separator(this, use);
    if (use != ARGUMENT) {
        tj_text_puts(this->out, pointer ? "" : "const ");
        tj_emit_extra_type(extra, this->out);
        tj_text_puts(this->out, pointer ? " " : " *");
    }
    tj_text_puts(this->out, extra->name);
    if (use == LOCAL)
        tj_text_printf(this->out, " = %s((cwj_extras__%s *)cwj->extras)->%s;\n",
                       pointer ? "" : "&", this->spec->name, extra->name);
}

static void emit_cookie_value(emitter *this, const user_code *snippet, value_use use)
{
    emit_separator(this, use);
    if (use != ARGUMENT) {
        bool constant = snippet->kind == SLICE && this->spec->cookie_readonly;
        tj_text_printf(this->out, "%scwj_cookie__%s *", constant ? "const " : "",
                       this->spec->name);
    }
    tj_text_puts(this->out, use == LOCAL ? "cookie = cwj->cookie;\n" : "cookie");
}

/* What the snippet names, in one and the same order for each use. */
static void emit_values(emitter *this, const user_code *snippet, value_use use)
{
    for (int k = 0; k < this->spec->noperands; k++) {
        begin_group(this);
        if (wants_data(this, snippet, k))
            emit_data(this, snippet, k, use);
        for (int g = 0; g < NGEOMETRIES; g++)
            if (wants_geometry(this, snippet, k, g))
                emit_geometry(this, k, g, use);
    }
    begin_group(this);
    for (int i = 0; i < this->spec->nextras; i++)
        if (wants(this, snippet, "", this->spec->extras[i].name))
            emit_extra(this, i, use);
    begin_group(this);
    if (wants_cookie(this, snippet))
        emit_cookie_value(this, snippet, use);
}

/* ---- accessors ------------------------------------------------------------- */

/* The name of an index of item__X(): i, j, k, or i0, i1, ... where there are many. */
static void emit_index(emitter *this, int ndims, int axis)
{
    if (ndims <= 3)
        tj_text_printf(this->out, "%c", "ijk"[axis]);
    else
        tj_text_printf(this->out, "i%d", axis);
}

static void emit_define_item(emitter *this, int k)
{
    const tj_operand *operand = &this->spec->operands[k];
    tj_text_printf(this->out, "#define item__%s(", operand->name);
    for (int i = 0; i < operand->ndims; i++) {
        tj_text_puts(this->out, i ? ", " : "");
        emit_index(this, operand->ndims, i);
    }
    tj_text_printf(this->out, ") (*(%sctype__%s *)(data_slice__%s", const_of(operand),
                   operand->name, operand->name);
    for (int i = 0; i < operand->ndims; i++) {
        tj_text_puts(this->out, " + (");
        emit_index(this, operand->ndims, i);
        tj_text_printf(this->out, ") * strides_slice__%s[%d]", operand->name, i);
    }
    tj_text_puts(this->out, "))\n");
}

static void emit_accessors(emitter *this, const user_code *snippet, bool define)
{
    for (int k = 0; k < this->spec->noperands; k++) {
        const char *name = this->spec->operands[k].name;
        const char *ctype = snippet->types[k].ctype;
        bool item = wants_item(this, snippet, k);
        if (!ctype || !(item || wants(this, snippet, "ctype__", name)))
            continue;
        if (define)
            tj_text_printf(this->out, "#define ctype__%s %s\n", name, ctype);
        else
            tj_text_printf(this->out, "#undef ctype__%s\n", name);
        if (item && define)
            emit_define_item(this, k);
        else if (item)
            tj_text_printf(this->out, "#undef item__%s\n", name);
    }
}

/* CHECK_CONTIGUOUS__a() and its kin, for operand k or, with -1, for all. */
static void emit_check(emitter *this, const user_code *snippet, int k, bool raises, bool define)
{
    const char *prefix = raises ? "CHECK_CONTIGUOUS_AND_SETERROR_" : "CHECK_CONTIGUOUS_";
    const char *error = raises ? "_or_error" : "";
    tj_text macro = {0};
    if (k < 0)
        tj_text_printf(&macro, "%sALL", prefix);
    else
        tj_text_printf(&macro, "%s_%s", prefix, this->spec->operands[k].name);
    if (macro.failed)
        this->out->failed = true;
    else if (!wants(this, snippet, macro.data, ""))
        ;
    else if (!define)
        tj_text_printf(this->out, "#undef %s\n", macro.data);
    else if (k < 0)
        tj_text_printf(this->out, "#define %s() cwj_contiguous_all%s(cwj)\n", macro.data, error);
    else
        tj_text_printf(this->out, "#define %s() cwj_contiguous%s(cwj, %d)\n", macro.data, error, k);
    tj_text_clear(&macro);
}

/* All macros of a snippet, and a blank line if there are any. */
static void emit_macros(emitter *this, const user_code *snippet, bool define)
{
    size_t before = this->out->length;
    if (snippet->kind == SLICE)
        emit_accessors(this, snippet, define);
    for (int k = -1; snippet->kind != CLEANUP && k < this->spec->noperands; k++) {
        emit_check(this, snippet, k, false, define);
        emit_check(this, snippet, k, true, define);
    }
    if (this->out->length > before)
        tj_text_puts(this->out, "\n");
}

/* ---- snippets -------------------------------------------------------------- */

/* "static TYPE cwj_WHAT__NAME(parameters) {text}", head being what stands before __. */
static void emit_snippet_function(emitter *this, const user_code *snippet, const char *head)
{
    tj_text_printf(this->out, "%s__%s(const cwj_call *cwj", head, this->spec->name);
    emit_values(this, snippet, PARAMETER);
    tj_text_puts(this->out, ")\n{\n");
    emit_piece(this, snippet->piece, "}\n");
    tj_text_puts(this->out, "\n");
}

static void emit_loop(emitter *this, const user_code *snippet, int t)
{
    const tj_spec *spec = this->spec;
    tj_text_printf(this->out,
                   "static int cwj_loop_%d__%s(char **cwj_data, const npy_intp *cwj_dims,\n"
                   "    const npy_intp *cwj_steps, void *cwj_ctx)\n"
                   "{\n"
                   "    const cwj_call *cwj = cwj_ctx;\n",
                   t, spec->name);
    emit_values(this, snippet, LOCAL);
    tj_text_printf(this->out,
                   "\n"
                   "    for (npy_intp cwj_k = 0; cwj_k < cwj_dims[0]; cwj_k++) {\n"
                   "        if (!cwj_slice_%d__%s(cwj",
                   t, spec->name);
    emit_values(this, snippet, ARGUMENT);
    tj_text_puts(this->out, "))\n            return 0;\n");
    for (int k = 0; k < spec->noperands; k++)
        if (wants_data(this, snippet, k))
            tj_text_printf(this->out, "        cwj_at__%s += cwj_steps[%d];\n",
                           spec->operands[k].name, k);
    tj_text_puts(this->out, "    }\n    return 1;\n}\n\n");
}

static void emit_typeset(emitter *this, const user_code *snippet, int t)
{
    tj_text head = {0};
    tj_text_puts(this->out, "/* ---- ");
    tj_emit_typeset_name(this->spec, t, this->out);
    tj_text_puts(this->out, " ---- */\n\n");
    emit_macros(this, snippet, true);
    tj_text_printf(&head, "static bool cwj_slice_%d", t);
    if (head.failed)
        this->out->failed = true;
    else
        emit_snippet_function(this, snippet, head.data);
    emit_loop(this, snippet, t);
    emit_macros(this, snippet, false);
    tj_text_clear(&head);
}

static void emit_validate(emitter *this, const user_code *snippet)
{
    const char *name = this->spec->name;
    tj_text_puts(this->out, "/* ---- validate ---- */\n\n");
    emit_macros(this, snippet, true);
    emit_snippet_function(this, snippet, "static bool cwj_validate_text");
    tj_text_printf(this->out, "static int cwj_validate__%s(cwj_call *cwj)\n{\n", name);
    emit_values(this, snippet, LOCAL);
    tj_text_printf(this->out, "    return cwj_validate_text__%s(cwj", name);
    emit_values(this, snippet, ARGUMENT);
    tj_text_puts(this->out, ");\n}\n\n");
    emit_macros(this, snippet, false);
}

static void emit_cleanup(emitter *this, const user_code *snippet)
{
    const char *name = this->spec->name;
    tj_text_puts(this->out, "/* ---- cleanup ---- */\n\n");
    emit_snippet_function(this, snippet, "static void cwj_cleanup_text");
    tj_text_printf(this->out, "static void cwj_cleanup__%s(cwj_call *cwj)\n{\n", name);
    emit_values(this, snippet, LOCAL);
    tj_text_printf(this->out, "    cwj_cleanup_text__%s(cwj", name);
    emit_values(this, snippet, ARGUMENT);
    tj_text_puts(this->out, ");\n}\n\n");
}

static void emit_snippet(emitter *this, const tj_piece *piece, snippet_kind kind, int t)
{
    user_code snippet = {.piece = piece, .kind = kind, .names = tj_names_new()};
    if (!snippet.names || !tj_names_collect(snippet.names, piece->text, piece->length)) {
        this->out->failed = true;
    } else if (kind == VALIDATE) {
        emit_validate(this, &snippet);
    } else if (kind == CLEANUP) {
        emit_cleanup(this, &snippet);
    } else {
        snippet.types = this->spec->typesets[t].types;
        emit_typeset(this, &snippet, t);
    }
    tj_names_free(snippet.names);
}

/* ---- cookie and extras ----------------------------------------------------- */

static void emit_cookie(emitter *this)
{
    tj_text end = {0};
    if (!this->spec->cookie.length)
        return;
    tj_text_printf(&end, "} cwj_cookie__%s;\n", this->spec->name);
    this->out->failed |= end.failed;
    tj_text_puts(this->out, "/* ---- cookie ---- */\n\ntypedef struct {\n");
    emit_piece(this, &this->spec->cookie, end.failed ? "" : end.data);
    tj_text_puts(this->out, "\n");
    tj_text_clear(&end);
}

static void emit_extras(emitter *this)
{
    const tj_spec *spec = this->spec;
    if (!spec->nextras)
        return;
    tj_text_puts(this->out, "/* ---- extra arguments ---- */\n\ntypedef struct {\n");
    for (int i = 0; i < spec->nextras; i++) {
        tj_text_puts(this->out, "    ");
        tj_emit_extra_type(&spec->extras[i], this->out);
        tj_text_printf(this->out, " %s;\n", spec->extras[i].name);
    }
    tj_text_printf(this->out, "} cwj_extras__%s;\n\n", spec->name);
}

/* A default is the user's text: parentheses keep it one expression. */
static void emit_default(emitter *this, int i)
{
    const tj_extra *extra = &this->spec->extras[i];
    tj_text file = {0};
    tj_emit_default_file(this->spec, i, &file);
    if (file.failed) {
        this->out->failed = true;
    } else {
        tj_piece piece = {file.data, extra->default_text, strlen(extra->default_text)};
        tj_text_printf(this->out, "    cwj->%s = (\n", extra->name);
        emit_piece(this, &piece, ");\n");
    }
    tj_text_clear(&file);
}

static void emit_defaults(emitter *this)
{
    const char *name = this->spec->name;
    if (!this->spec->nextras)
        return;
    tj_text_printf(this->out,
                   "static void cwj_defaults__%s(void *cwj_extras)\n{\n"
                   "    cwj_extras__%s *cwj = cwj_extras;\n",
                   name, name);
    for (int i = 0; i < this->spec->nextras; i++)
        emit_default(this, i);
    tj_text_puts(this->out, "}\n\n");
}

/* ---- the unit -------------------------------------------------------------- */

static void emit_legend(emitter *this)
{
    const char *name = this->spec->name;
    char *signature = tj_spec_signature(this->spec);
    tj_text_puts(this->out, "/* ");
    tj_emit_qualname(this->spec, this->out);
    tj_text_printf(this->out, ": %s\n *\n", signature ? signature : "");
    tj_text_printf(this->out,
                   " *   cwj_slice_K__%s    the snippet of type set K: one slice\n"
                   " *   cwj_loop_K__%s     calls it for cwj_dims[0] slices\n"
                   " *   cwj_function__%s   describes the function to the call path\n"
                   " *\n",
                   name, name, name);
    tj_text_puts(this->out,
                 " * A snippet gets the values that it names, here for an operand X:\n"
                 " *\n"
                 " *   data_slice__X       its slice; dims_slice__X in elements, strides_slice__X\n"
                 " *                       in bytes; ..._full__X of the whole array\n"
                 " *   item__X(i, ...)     one element, a ctype__X\n"
                 " */\n\n");
    this->out->failed |= !signature;
    tj_free(signature);
}

static bool has_part(int part, int wanted)
{
    return part == TJ_ALL || part == wanted;
}

static void emit_snippets(emitter *this, int part)
{
    const tj_spec *spec = this->spec;
    if (spec->validate.text && has_part(part, TJ_VALIDATE))
        emit_snippet(this, &spec->validate, VALIDATE, 0);
    if (spec->cleanup.text && has_part(part, TJ_CLEANUP))
        emit_snippet(this, &spec->cleanup, CLEANUP, 0);
    for (int t = 0; t < spec->ntypesets; t++)
        if (has_part(part, TJ_BODY + t))
            emit_snippet(this, &spec->typesets[t].body, SLICE, t);
}

tj_status tj_emit_body(const tj_spec *spec, int part, bool all_names, const char *file,
                       tj_text *text)
{
    emitter this = {.spec = spec, .out = text, .file = file, .all_names = all_names};
    this.header = tj_names_new();
    if (!this.header || !tj_names_collect(this.header, spec->header.text, spec->header.length)) {
        text->failed = true;
        goto done;
    }
    emit_cookie(&this);
    emit_extras(&this);
    if (has_part(part, TJ_COOKIE))
        emit_defaults(&this);
    emit_snippets(&this, part);
    if (part == TJ_ALL)
        tj_emit_tables(spec, text);
done:
    tj_names_free(this.header);
    return text->failed ? TJ_NO_MEMORY : TJ_OK;
}

tj_status tj_emit_function(const tj_spec *spec, int part, bool all_names, tj_text *text)
{
    tj_status status = TJ_NO_MEMORY;
    tj_text file = {0};
    tj_text_puts(&file, "<cwrapjit ");
    tj_emit_qualname(spec, &file);
    tj_text_puts(&file, " generated>");
    if (file.failed)
        goto done;
    emitter this = {.spec = spec, .out = text, .file = file.data};
    emit_own_line(&this);
    emit_legend(&this);
    if (spec->header.length) {
        tj_text_puts(text, "/* ---- header ---- */\n\n");
        emit_piece(&this, &spec->header, "");
        tj_text_puts(text, "\n");
    }
    status = text->failed ? TJ_NO_MEMORY : TJ_OK;
    if (status == TJ_OK && part != TJ_HEADER)
        status = tj_emit_body(spec, part, all_names, file.data, text);
done:
    tj_text_clear(&file);
    return status;
}
