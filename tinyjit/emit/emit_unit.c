/* emit_unit.c: writes the C text of a function's unit from its description.
 *
 * Only the variable parts are generated: accessors, the user's snippets with one strided loop per type set
 * (emit_slices.c; emit_loops.c for the system's compiler), and the tables that describe the function to the
 * call path (emit_tables.c).
 *
 * Generated names are `cwj_KIND__NAME`, where NAME is the function's name. So no two functions of a module
 * share a name, and none has a name of abi.h. A value's name, such as dims_slice__a, is the same in the loop
 * and in the snippet.
 *
 * Every snippet has its own file name in #line. After it the line numbers of the generated text continue, so
 * that messages show that a fault there is ours. */
#include <string.h>

#include "emit/emit.h"
#include "read/scan.h"

/* ---- cookie and extras ----------------------------------------------------- */

static void emit_cookie(tj_emitter *this)
{
    const tj_piece *cookie = &this->spec->cookie;
    if (!cookie->length)
        return;
    tj_text_puts(this->out, "/* ---- cookie ---- */\n\ntypedef struct {\n");
    tj_text_line(this->out, 1, cookie->file);
    tj_text_add(this->out, cookie->text, cookie->length);
    tj_text_printf(this->out, "\n} cwj_cookie__%s;\n", this->spec->name);
    tj_emit_own_line(this);
    tj_text_puts(this->out, "\n");
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

/* Emits the defaults of extra arguments. They are the user's texts, so parentheses make each one expression. The first
 * stands in the user's line, because compilers report there that a value cannot be assigned. */
static void emit_defaults(tj_emitter *this)
{
    const char *name = this->spec->name;
    if (!this->spec->nextras)
        return;
    tj_text_printf(this->out,
                   "static void cwj_defaults__%s(void *cwj_extras)\n{\n"
                   "    cwj_extras__%s *cwj = cwj_extras;\n",
                   name, name);
    for (int i = 0; i < this->spec->nextras; i++) {
        const tj_extra *extra = &this->spec->extras[i];
        tj_text_printf(this->out, "    cwj->%s =\n", extra->name);
        tj_text_line(this->out, 1, extra->default_value.file);
        tj_text_printf(this->out, "(%s\n);\n", extra->default_value.text);
        tj_emit_own_line(this);
    }
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

/* Emits validate or cleanup: the text as a function, and the function that the call path calls. */
static void emit_once(tj_emitter *this, const tj_user_code *snippet)
{
    bool cleans = snippet->kind == TJ_CLEANUP_CODE;
    const char *kind = cleans ? "cleanup" : "validate", *name = this->spec->name;
    tj_text_printf(this->out, "/* ---- %s ---- */\n\n", kind);
    tj_emit_macros(this, snippet);
    tj_text_printf(this->out, "static %s cwj_%s_text", cleans ? "void" : "_Bool", kind);
    tj_emit_snippet_function(this, snippet);
    tj_text_printf(this->out, "static %s cwj_%s__%s(cwj_call *cwj)\n{\n", cleans ? "void" : "int",
                   kind, name);
    tj_emit_values(this, snippet, TJ_AS_LOCAL);
    tj_text_printf(this->out, "    %scwj_%s_text__%s(cwj", cleans ? "" : "return ", kind, name);
    tj_emit_values(this, snippet, TJ_AS_ARGUMENT);
    tj_text_puts(this->out, ");\n}\n\n");
    tj_emit_undefs(this);
}

static void emit_snippet(tj_emitter *this, const tj_piece *piece, tj_snippet_kind kind, int t)
{
    tj_user_code snippet = {.piece = piece, .kind = kind, .names = tj_names_new()};
    if (!tj_tokens_list(&snippet.tokens, piece->text, piece->length) || !snippet.names ||
        !tj_names_add(snippet.names, &snippet.tokens))
        this->out->failed = true;
    else {
        tj_note_layout(this, &snippet);
        if (kind == TJ_SLICE_CODE)
            emit_typeset(this, &snippet, t);
        else
            emit_once(this, &snippet);
    }
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

/* Records the first occurrence of each named dim. */
static void collect_named(tj_emitter *this)
{
    const tj_spec *spec = this->spec;
    size_t ndims = 0;
    for (int k = 0; k < spec->noperands; k++)
        ndims += (size_t)spec->operands[k].ndims;
    this->named = tj_alloc_zeroed(ndims, sizeof *this->named);
    this->out->failed |= !this->named;
    for (int k = 0; k < spec->noperands && this->named; k++)
        for (int i = 0; i < spec->operands[k].ndims; i++) {
            const tj_dim *dim = &spec->operands[k].dims[i];
            if (dim->name && tj_named_dim(this, dim->name) == this->nnamed)
                this->named[this->nnamed++] = (tj_named){dim, k, i};
        }
}

/* Emits everything of the function after the header, except its tables. */
static void emit_body(tj_emitter *this, int part)
{
    const tj_piece *header = &this->spec->header;
    tj_tokens tokens;
    collect_named(this);
    this->header = tj_names_new();
    this->packed = tj_alloc_zeroed((size_t)this->spec->noperands, sizeof *this->packed);
    if (!tj_tokens_list(&tokens, header->text, header->length) || !this->header || !this->packed ||
        !tj_names_add(this->header, &tokens))
        this->out->failed = true;
    else
        this->apart = this->spec->apart || tj_body_wants_function(&tokens);
    tj_tokens_clear(&tokens);
    if (this->out->failed)
        return;
    if (this->spec->records)
        tj_text_printf(this->out, "/* ---- structured dtypes ---- */\n\n%s\n", this->spec->records);
    emit_cookie(this);
    emit_extras(this);
    if (has_part(part, TJ_COOKIE))
        emit_defaults(this);
    emit_snippets(this, part);
}

static tj_status end(tj_emitter *this)
{
    tj_names_free(this->header);
    tj_free(this->named);
    tj_free(this->packed);
    tj_text_clear(&this->macros);
    return this->out->failed ? TJ_NO_MEMORY : TJ_OK;
}

/* Emits the header, and a check that an included file defines none of our words as macros. */
static void emit_header(tj_emitter *this)
{
    const tj_piece *header = &this->spec->header;
    tj_text guard = {0};
    if (!header->length)
        return;
    if (tj_bytes_hold(header->text, header->length, "include \"")) {
        tj_text_puts(&guard, "#if " TJ_OUR_WORDS);
        for (const char *const *prefix = tj_value_prefixes; *prefix; prefix++)
            for (int k = 0; k < this->spec->noperands; k++)
                tj_text_printf(&guard, " || defined %s%s", *prefix, this->spec->operands[k].name);
        tj_text_puts(&guard, "\n#error a file that is included makes a macro of a word of C, or of "
                             "generated code, which changes the code around it\n#endif\n");
    }
    tj_text_puts(this->out, "/* ---- header ---- */\n\n");
    tj_emit_piece(this, header, guard.data ? guard.data : "");
    tj_text_puts(this->out, "\n");
    this->out->failed |= guard.failed;
    tj_text_clear(&guard);
}

/* Emits "cwj_loops__NAME", the loops of all type sets. */
static void emit_loop_table(tj_emitter *this)
{
    const tj_spec *spec = this->spec;
    tj_text_printf(this->out, "cwj_loop *const cwj_loops__%s[] = {", spec->name);
    for (int t = 0; t < spec->ntypesets; t++) {
        tj_text_puts(this->out, t ? ", " : "");
        if (this->running && t != this->running->typeset)
            tj_emit_loop_in_place(this, t);
        else
            tj_text_printf(this->out, "cwj_loop_%d__%s", t, spec->name);
    }
    tj_text_puts(this->out, "};\n");
}

/* An index may be unsigned. It is passed through a pointer, so that only integers compile. */
static const char checked_entries[] =
    "npy_intp cwj_debugged_index(const cwj_call *cwj, int operand, int axis, int is_unsigned, "
    "const "
    "char *index);\n"
    "npy_intp cwj_debugged_number(const char *format, npy_intp limit, int is_unsigned, const char "
    "*index);\n"
    "#define CWJ_INTEGER_AND_SIGN(i) \\\n"
    "    _Generic((i) + 0, unsigned long: 1, unsigned long long: 1, default: 0), (char *)0 + (i)\n"
    "#define CWJ_INDEX_WITHIN(operand, axis, i) cwj_debugged_index(cwj, operand, axis, "
    "CWJ_INTEGER_AND_SIGN(i))\n"
    "#define CWJ_NUMBER_WITHIN(format, limit, i) cwj_debugged_number(format, limit, "
    "CWJ_INTEGER_AND_SIGN(i))\n\n";

/* Emits the text before the body. The text for the cc tier has no legend, because nobody reads it. */
static void emit_top(tj_emitter *this)
{
    if (this->spec->says_libm)
        tj_text_puts(this->out, this->spec->libm ? TJ_WITH_LIBM : TJ_WITHOUT_LIBM);
    tj_emit_own_line(this);
    if (!(this->form & TJ_FAST))
        emit_legend(this);
    if (this->spec->checked)
        tj_text_puts(this->out, checked_entries);
    emit_header(this);
    int headers = tj_implied_headers(this->spec, &this->out->failed);
    for (int header = 0; header < TJ_IMPLIED_HEADERS; header++)
        if (headers & 1 << header)
            tj_text_printf(this->out, "#include <%s>\n\n", tj_implied_header(header));
}

/* Emits a text that is compiled in memory: a unit, or, in the form TJ_FAST, only the loops. */
static tj_status emit_text(tj_emitter *this, int part)
{
    this->file = this->spec->generated;
    emit_top(this);
    if (!this->out->failed && part != TJ_HEADER)
        emit_body(this, part);
    if (this->form & TJ_FAST)
        emit_loop_table(this);
    else if (part == TJ_ALL)
        tj_emit_tables(this);
    return end(this);
}

tj_status tj_emit_function(const tj_spec *spec, int part, int form, tj_text *text)
{
    return emit_text(&(tj_emitter){.spec = spec, .out = text, .form = form}, part);
}

/* Nothing calls the defaults and the other snippets in this text, but the compiler reports errors in them. */
tj_status tj_emit_loops(const tj_spec *spec, const tj_profile *profiles, const tj_running *running,
                        bool all_names, tj_text *text)
{
    tj_emitter this = {.spec = spec, .out = text, .profiles = profiles, .running = running};
    this.form = TJ_FAST | (all_names ? TJ_ALL_NAMES : 0);
    return emit_text(&this, running ? TJ_BODY + running->typeset : TJ_ALL);
}

tj_status tj_emit_for_module(const tj_spec *spec, bool all_names, const char *file, tj_text *text)
{
    tj_emitter this = {.spec = spec, .out = text, .file = file};
    this.form = TJ_FAST | (all_names ? TJ_ALL_NAMES : 0);
    emit_body(&this, TJ_ALL);
    tj_emit_tables(&this);
    return end(&this);
}
