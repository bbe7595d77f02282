/* emit_unit.c: from the description of a function to the C text of its unit.
 *
 * Only what varies is generated: accessors, the user's snippets with one strided
 * loop per type set (emit_slices.c; emit_loops.c for an optimizing compiler), and
 * the tables that describe the function to the call path (emit_tables.c).
 *
 * Generated names are `cwj_KIND__NAME`, NAME being the function's, so that no
 * two functions of a module share one and none is a name of abi.h. A value's
 * name, such as dims_slice__a, is the same in the loop and in the snippet.
 *
 * Every snippet has its own file in #line. Behind it the numbering of the
 * generated text goes on, so that a fault there is recognised as ours.
 */
#include <string.h>

#include "emit/emit.h"

/* ---- cookie and extras ----------------------------------------------------- */

static void emit_cookie(tj_emitter *this)
{
    tj_text end = {0};
    if (!this->spec->cookie.length)
        return;
    tj_text_printf(&end, "} cwj_cookie__%s;\n", this->spec->name);
    this->out->failed |= end.failed;
    tj_text_puts(this->out, "/* ---- cookie ---- */\n\ntypedef struct {\n");
    tj_emit_piece(this, &this->spec->cookie, end.failed ? "" : end.data);
    tj_text_puts(this->out, "\n");
    tj_text_clear(&end);
}

static void emit_extras(tj_emitter *this)
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

/* A default is the user's text: parentheses keep it one expression. The first stands in
 * the user's line: compilers say there what cannot be assigned. */
static void emit_default(tj_emitter *this, int i)
{
    const tj_extra *extra = &this->spec->extras[i];
    tj_text file = {0};
    tj_emit_default_file(this->spec, i, &file);
    if (file.failed) {
        this->out->failed = true;
    } else {
        tj_piece piece = {file.data, extra->default_text, strlen(extra->default_text)};
        tj_text_printf(this->out, "    cwj->%s =\n", extra->name);
        tj_emit_piece_line(this, &piece);
        tj_text_printf(this->out, "(%s\n);\n", extra->default_text);
        tj_emit_own_line(this);
    }
    tj_text_clear(&file);
}

static void emit_defaults(tj_emitter *this)
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

/* ---- snippets ----------------------------------------------------------------- */

static void emit_typeset(tj_emitter *this, tj_user_code *snippet, int t)
{
    snippet->types = this->spec->typesets[t].types;
    snippet->apart = this->apart || tj_body_wants_function(&snippet->tokens);
    tj_text_puts(this->out, "/* ---- ");
    tj_emit_typeset_name(this->spec, t, this->out);
    tj_text_puts(this->out, " ---- */\n\n");
    if (this->form & TJ_FAST)
        tj_emit_fast_loops(this, snippet, t);
    else
        tj_emit_slice(this, snippet, t);
}

static void emit_validate(tj_emitter *this, const tj_user_code *snippet)
{
    const char *name = this->spec->name;
    tj_text_puts(this->out, "/* ---- validate ---- */\n\n");
    tj_emit_macros(this, snippet, true);
    tj_emit_snippet_function(this, snippet, "static bool cwj_validate_text");
    tj_text_printf(this->out, "static int cwj_validate__%s(cwj_call *cwj)\n{\n", name);
    tj_emit_values(this, snippet, TJ_AS_LOCAL);
    tj_text_printf(this->out, "    return cwj_validate_text__%s(cwj", name);
    tj_emit_values(this, snippet, TJ_AS_ARGUMENT);
    tj_text_puts(this->out, ");\n}\n\n");
    tj_emit_macros(this, snippet, false);
}

static void emit_cleanup(tj_emitter *this, const tj_user_code *snippet)
{
    const char *name = this->spec->name;
    tj_text_puts(this->out, "/* ---- cleanup ---- */\n\n");
    tj_emit_snippet_function(this, snippet, "static void cwj_cleanup_text");
    tj_text_printf(this->out, "static void cwj_cleanup__%s(cwj_call *cwj)\n{\n", name);
    tj_emit_values(this, snippet, TJ_AS_LOCAL);
    tj_text_printf(this->out, "    cwj_cleanup_text__%s(cwj", name);
    tj_emit_values(this, snippet, TJ_AS_ARGUMENT);
    tj_text_puts(this->out, ");\n}\n\n");
}

static void emit_snippet(tj_emitter *this, const tj_piece *piece, tj_snippet_kind kind, int t)
{
    tj_user_code snippet = {.piece = piece, .kind = kind, .names = tj_names_new()};
    if (!tj_tokens_list(&snippet.tokens, piece->text, piece->length) || !snippet.names ||
        !tj_names_add(snippet.names, &snippet.tokens))
        this->out->failed = true;
    else if (kind == TJ_VALIDATE_CODE)
        emit_validate(this, &snippet);
    else if (kind == TJ_CLEANUP_CODE)
        emit_cleanup(this, &snippet);
    else
        emit_typeset(this, &snippet, t);
    tj_names_free(snippet.names);
    tj_tokens_clear(&snippet.tokens);
}

/* ---- the unit -------------------------------------------------------------- */

static void emit_legend(tj_emitter *this)
{
    const char *name = this->spec->name;
    char *signature = tj_spec_signature(this->spec);
    tj_text_puts(this->out, "/* ");
    tj_emit_qualname(this->spec, this->out);
    tj_text_printf(this->out, ": %s\n *\n", signature ? signature : "");
    tj_text_printf(this->out,
                   " *   cwj_loop_K__%s     runs cwj_dims[0] slices of type set K\n"
                   " *   cwj_slice_K__%s    one of them, where the loop calls it\n"
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

static void emit_snippets(tj_emitter *this, int part)
{
    const tj_spec *spec = this->spec;
    if (spec->validate.text && has_part(part, TJ_VALIDATE))
        emit_snippet(this, &spec->validate, TJ_VALIDATE_CODE, 0);
    if (spec->cleanup.text && has_part(part, TJ_CLEANUP))
        emit_snippet(this, &spec->cleanup, TJ_CLEANUP_CODE, 0);
    for (int t = 0; t < spec->ntypesets; t++)
        if (has_part(part, TJ_BODY + t))
            emit_snippet(this, &spec->typesets[t].body, TJ_SLICE_CODE, t);
}

static bool begin(tj_emitter *this)
{
    const tj_piece *header = &this->spec->header;
    tj_tokens tokens;
    this->header = tj_names_new();
    if (!tj_tokens_list(&tokens, header->text, header->length) || !this->header ||
        !tj_names_add(this->header, &tokens))
        this->out->failed = true;
    else
        this->apart = this->spec->apart || tj_body_wants_function(&tokens);
    tj_tokens_clear(&tokens);
    return !this->out->failed;
}

tj_status tj_emit_body(const tj_spec *spec, int part, int form, const char *file, tj_text *text)
{
    tj_emitter this = {.spec = spec, .out = text, .file = file, .form = form};
    if (begin(&this)) {
        emit_cookie(&this);
        emit_extras(&this);
        if (has_part(part, TJ_COOKIE))
            emit_defaults(&this);
        emit_snippets(&this, part);
        if (part == TJ_ALL)
            tj_emit_tables(spec, text);
    }
    tj_names_free(this.header);
    return text->failed ? TJ_NO_MEMORY : TJ_OK;
}

static void emit_header(tj_emitter *this)
{
    const tj_piece *header = &this->spec->header;
    if (!header->length)
        return;
    tj_text_puts(this->out, "/* ---- header ---- */\n\n");
    tj_emit_piece(this, header, "");
    tj_text_puts(this->out, "\n");
}

tj_status tj_emit_unit(const tj_spec *spec, int part, int form, tj_text *text)
{
    tj_status status = TJ_NO_MEMORY;
    tj_text file = {0};
    tj_emit_own_file(spec, &file);
    if (file.failed)
        goto done;
    tj_emitter this = {.spec = spec, .out = text, .file = file.data};
    tj_emit_own_line(&this);
    emit_legend(&this);
    if (spec->checked)
        tj_text_puts(text, "npy_intp cwj_checked_index(const cwj_call *cwj, int operand, int axis, "
                           "const char *index);\n\n");
    emit_header(&this);
    status = text->failed ? TJ_NO_MEMORY : TJ_OK;
    if (status == TJ_OK && part != TJ_HEADER)
        status = tj_emit_body(spec, part, form, file.data, text);
done:
    tj_text_clear(&file);
    return status;
}

tj_status tj_emit_function(const tj_spec *spec, int part, bool all_names, tj_text *text)
{
    return tj_emit_unit(spec, part, all_names ? TJ_ALL_NAMES : 0, text);
}

tj_status tj_emit_for_checks(const tj_spec *spec, bool all_names, tj_text *text)
{
    return tj_emit_unit(spec, TJ_ALL, TJ_APART | (all_names ? TJ_ALL_NAMES : 0), text);
}

/* "cwj_loops__NAME", the loops of all type sets. */
static void emit_table(const tj_spec *spec, tj_text *out)
{
    tj_text_printf(out, "cwj_loop *const cwj_loops__%s[] = {", spec->name);
    for (int t = 0; t < spec->ntypesets; t++)
        tj_text_printf(out, "%scwj_loop_%d__%s", t ? ", " : "", t, spec->name);
    tj_text_puts(out, "};\n");
}

tj_status tj_emit_loops(const tj_spec *spec, const tj_profile *profiles, bool all_names,
                        tj_text *text)
{
    tj_text file = {0};
    tj_emitter this = {.spec = spec, .out = text, .profiles = profiles};
    this.form = TJ_FAST | (all_names ? TJ_ALL_NAMES : 0);
    tj_emit_own_file(spec, &file);
    this.file = file.data;
    if (!file.failed && begin(&this)) {
        tj_emit_own_line(&this);
        emit_header(&this);
        emit_cookie(&this);
        emit_extras(&this);
        emit_defaults(&this);        /* nobody calls these and the snippets beside slices here, */
        emit_snippets(&this, TJ_ALL); /* but the compiler says what it refuses in them */
        emit_table(spec, text);
    }
    tj_names_free(this.header);
    text->failed |= file.failed;
    tj_text_clear(&file);
    return text->failed ? TJ_NO_MEMORY : TJ_OK;
}
