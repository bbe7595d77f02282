/* emit_pieces.c: small pieces of a function's C text: names, types, dims, #line. */
#include <string.h>

#include "emit/emit.h"

/* ---- names and types ---------------------------------------------------------- */

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

void tj_emit_own_file(const tj_spec *spec, tj_text *out)
{
    tj_text_puts(out, "<cwrapjit ");
    tj_emit_qualname(spec, out);
    tj_text_puts(out, " generated>");
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

/* ---- #line ---------------------------------------------------------------------- */

void tj_emit_own_line(tj_emitter *this)
{
    const tj_text *out = this->out;
    for (; this->counted < out->length; this->counted++)
        this->newlines += out->data[this->counted] == '\n';
    tj_text_printf(this->out, "#line %zu ", this->newlines + 2);
    tj_text_quote(this->out, this->file, strlen(this->file));
    tj_text_puts(this->out, "\n");
}

void tj_emit_piece_line(tj_emitter *this, const tj_piece *piece)
{
    tj_text_puts(this->out, "#line 1 ");
    tj_text_quote(this->out, piece->file, strlen(piece->file));
    tj_text_puts(this->out, "\n");
}

void tj_emit_piece(tj_emitter *this, const tj_piece *piece, const char *behind)
{
    tj_emit_piece_line(this, piece);
    tj_text_add(this->out, piece->text, piece->length);
    tj_text_printf(this->out, "\n%s", behind);
    tj_emit_own_line(this);
}

/* ---- named dims ------------------------------------------------------------------ */

bool tj_is_first_dim(const tj_spec *spec, int k, int i)
{
    const char *name = spec->operands[k].dims[i].name;
    for (int other = 0; other <= k; other++) {
        int ndims = other < k ? spec->operands[other].ndims : i;
        for (int axis = 0; axis < ndims; axis++) {
            const char *before = spec->operands[other].dims[axis].name;
            if (before && !strcmp(before, name))
                return false;
        }
    }
    return true;
}

int tj_named_dim(const tj_spec *spec, const char *name)
{
    int count = 0;
    for (int k = 0; k < spec->noperands; k++) {
        for (int i = 0; i < spec->operands[k].ndims; i++) {
            const char *other = spec->operands[k].dims[i].name;
            if (other && !strcmp(other, name))
                return count;
            count += other && tj_is_first_dim(spec, k, i);
        }
    }
    return count;
}
