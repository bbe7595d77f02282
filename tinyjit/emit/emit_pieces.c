/* emit_pieces.c: writes small pieces of a function's C text: names, types, dims, #line. */
#include <string.h>

#include "emit/emit.h"

/* ---- names and types ---------------------------------------------------------- */

void tj_emit_qualname(const tj_spec *spec, tj_text *out)
{
    if (spec->module && strcmp(spec->module, spec->name) != 0)
        tj_text_printf(out, "%s.", spec->module);
    tj_text_puts(out, spec->name);
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

void tj_emit_extra_type(const tj_extra *extra, tj_text *out)
{
    const char *between = "";
    if (tj_extra_is_pointer(extra)) {
        tj_text_puts(out, extra->c_type);
        return;
    }
    for (const char *at = extra->c_type + strspn(extra->c_type, " "); *at;) {
        size_t length = strcspn(at, " ");
        if (!tj_word_among(at, length, "const volatile")) { /* the variable is assigned later */
            tj_text_puts(out, between);
            tj_text_add(out, at, length);
            between = " ";
        }
        at += length;
        at += strspn(at, " ");
    }
}

/* ---- #line ---------------------------------------------------------------------- */

void tj_emit_own_line(tj_emitter *this)
{
    const tj_text *out = this->out;
    for (; this->counted < out->length; this->counted++)
        this->newlines += out->data[this->counted] == '\n';
    tj_text_line(this->out, this->newlines + 2, this->file);
}

void tj_emit_piece(tj_emitter *this, const tj_piece *piece, const char *behind)
{
    tj_text_line(this->out, 1, piece->file);
    tj_text_add(this->out, piece->text, piece->length);
    tj_text_printf(this->out, "\n%s", behind);
    tj_emit_own_line(this);
}

/* ---- named dims ------------------------------------------------------------------ */

int tj_named_dim(const tj_emitter *this, const char *name)
{
    int i = 0;
    while (i < this->nnamed && strcmp(this->named[i].dim->name, name))
        i++;
    return i;
}
