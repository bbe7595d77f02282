/* emit_slices.c: writes the user's snippets, and the loops that run slices.
 *
 * A snippet becomes the body of a separate function, whose parameters are only the values that it names. libtcc never
 * inlines, so one call per slice would take longer than many slices do. A slice whose text runs to its last `return
 * true;` (body.c) is therefore written into the loop itself. That loop consists of a label and a goto, so that a stray
 * `break` is an error as it is in a function. `return` is a macro there that does not compile, so a return in a macro
 * of the user is an error, too; define.c then uses the form with functions. Variants for unit strides were measured and
 * omitted: they gain 2 to 11 % for twice the text to compile. */

#include "emit/emit.h"

void tj_emit_snippet_function(tj_emitter *this, const tj_user_code *snippet)
{
    tj_text_printf(this->out, "__%s(const cwj_call *cwj", this->spec->name);
    tj_emit_values(this, snippet, TJ_AS_PARAMETER);
    tj_text_puts(this->out, ")\n{\n");
    if (snippet->kind == TJ_SLICE_CODE)
        tj_emit_truths(this, snippet);
    tj_emit_piece(this, snippet->piece, "}\n");
    tj_text_puts(this->out, "\n");
}

void tj_emit_loop_head(tj_emitter *this, int t)
{
    tj_text_printf(this->out,
                   "static int cwj_loop_%d__%s(char **cwj_data, const npy_intp *cwj_dims,\n"
                   "    const npy_intp *cwj_steps, void *cwj_ctx)\n"
                   "{\n"
                   "    const cwj_call *cwj = cwj_ctx;\n",
                   t, this->spec->name);
}

/* ---- a slice as a separate function ------------------------------------------ */

/* Emits the snippet's function and its loop. */
static void emit_apart(tj_emitter *this, const tj_user_code *snippet, int t)
{
    const tj_spec *spec = this->spec;
    tj_text_printf(this->out, "static _Bool cwj_slice_%d", t);
    tj_emit_snippet_function(this, snippet);
    tj_emit_loop_head(this, t);
    tj_emit_values(this, snippet, TJ_AS_LOCAL);
    tj_text_printf(this->out,
                   "\n"
                   "    for (npy_intp cwj_k = 0; cwj_k < cwj_dims[0]; cwj_k++) {\n"
                   "        if (!cwj_slice_%d__%s(cwj",
                   t, spec->name);
    tj_emit_values(this, snippet, TJ_AS_ARGUMENT);
    tj_text_puts(this->out, "))\n            return 0;\n");
    for (int k = 0; k < spec->noperands; k++)
        if (tj_snippet_wants_data(this, snippet, k))
            tj_text_printf(this->out, "        cwj_at__%s += cwj_steps[%d];\n",
                           spec->operands[k].name, k);
    tj_text_puts(this->out, "    }\n    return 1;\n}\n\n");
}

/* ---- a slice in the loop itself ---------------------------------------------- */

static void emit_direct_text(tj_emitter *this, const tj_piece *piece, const tj_body *body)
{
    size_t at = 0;
    tj_text_line(this->out, 1, piece->file);
    for (size_t i = 0; i < body->nreturns; i++) {
        tj_text_add(this->out, piece->text + at, body->returns[i].start - at);
        tj_text_puts(this->out, i + 1 == body->nreturns ? "" : "goto cwj_false;");
        for (at = body->returns[i].start; at < body->returns[i].end; at++)
            if (piece->text[at] == '\n') /* the number of lines stays */
                tj_text_puts(this->out, "\n");
    }
    tj_text_add(this->out, piece->text + at, piece->length - at);
    tj_text_puts(this->out, "\n    }\n");
    tj_emit_own_line(this);
}

static void emit_direct_loop(tj_emitter *this, const tj_user_code *snippet, const tj_body *body,
                             int t)
{
    const tj_spec *spec = this->spec;
    tj_emit_loop_head(this, t);
    tj_text_puts(this->out, "    npy_intp cwj_left = cwj_dims[0];\n");
    tj_emit_values(this, snippet, TJ_AS_LOCAL);
    tj_text_puts(this->out, "\n    if (cwj_left < 1)\n        return 1;\n"
                            /* a hidden return, or changed true and false, are errors */
                            "    _Static_assert(true && !false, \"true and false are changed\");\n"
                            "#ifdef return\n#error return is a macro\n#endif\n"
                            "/* A macro's return would leave the loop: then the slice becomes a\n"
                            "   function. */\n"
                            "#define return cwj_hidden_return\n"
                            "cwj_next:;\n    {\n");
    tj_emit_slice_data(this, snippet);
    tj_emit_truths(this, snippet);
    emit_direct_text(this, snippet->piece, body);
    tj_text_puts(this->out, "#undef return\n");
    for (int k = 0; k < spec->noperands; k++)
        if (tj_snippet_wants_data(this, snippet, k))
            tj_text_printf(this->out, "    cwj_at__%s += cwj_step__%s;\n", spec->operands[k].name,
                           spec->operands[k].name);
    tj_text_puts(this->out, "    if (--cwj_left > 0)\n        goto cwj_next;\n    return 1;\n");
    tj_text_puts(this->out, body->total ? "}\n\n" : "cwj_false:\n    return 0;\n}\n\n");
}

void tj_emit_slice(tj_emitter *this, tj_user_code *snippet, int t)
{
    tj_body body = {0};
    if (!snippet->apart && !(this->form & TJ_APART)) {
        this->out->failed |= !tj_body_read(&snippet->tokens, &body);
        snippet->inlined = body.direct;
    }
    tj_emit_macros(this, snippet);
    if (snippet->inlined)
        emit_direct_loop(this, snippet, &body, t);
    else
        emit_apart(this, snippet, t);
    tj_emit_undefs(this);
    tj_body_clear(&body);
}
