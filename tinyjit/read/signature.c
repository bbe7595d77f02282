/* signature.c: parses a signature such as "inout a(n, 3), b(n) -> out(3)" to operands.
 *
 *     signature = [operand {"," operand}] "->" outputs
 *     outputs   = output {"," output} | "(" output "," [output {"," output}] ")"
 *     operand   = ["inout"] ["shared"] name "(" [dim {"," dim}] ")"
 *     output    = [name] "(" [dim {"," dim}] ")"
 *     dim       = name | digits
 *
 * It is a recursive descent parser over the bytes. It stops at the first fault and reports the offset at
 * which it expected another character. Outputs without a name are called output, or output0, output1, ... if
 * there are several. The text after the arrow may be empty only if an inout argument takes the result. */
#include <stdint.h>
#include <string.h>

#include "internal.h"
#include "read/bytes.h"

typedef struct parser {
    tj_bytes in;
    size_t capacity; /* of signature->operands */
    tj_signature *signature;
} parser;

/* Returns the length of the next name, 0 if there is none. */
static size_t name_ahead(parser *this)
{
    size_t length = tj_word_ahead(&this->in);
    return length && tj_is_digit(this->in.text[this->in.at]) ? 0 : length;
}

/* ---- dims ---------------------------------------------------------------- */

static tj_status parse_size(parser *this, tj_dim *dim)
{
    size_t start = this->in.at;
    ptrdiff_t size = 0;
    for (; this->in.at < this->in.length && tj_is_digit(this->in.text[this->in.at]);
         this->in.at++) {
        ptrdiff_t digit = this->in.text[this->in.at] - '0';
        if (size > (PTRDIFF_MAX - digit) / 10)
            return tj_fail_at(&this->in, start, "this size is too large");
        size = 10 * size + digit;
    }
    if (this->in.at < this->in.length && tj_is_name_byte(this->in.text[this->in.at]))
        return tj_fail_here(&this->in, "expected ',' or ')'");
    dim->size = size;
    return TJ_OK;
}

static tj_status parse_dim(parser *this, tj_dim *dim)
{
    size_t length = name_ahead(this);
    if (this->in.at < this->in.length && tj_is_digit(this->in.text[this->in.at]))
        return parse_size(this, dim);
    if (!length)
        return tj_fail_here(&this->in, "expected a dim (a name, or a size that is not negative)");
    dim->name = tj_copy_bytes(this->in.text + this->in.at, length);
    this->in.at += length;
    return dim->name ? TJ_OK : tj_fail_no_memory(this->in.error);
}

/* Parses the text after the "(" of an operand, and its ")". */
static tj_status parse_dims(parser *this, tj_operand *operand)
{
    size_t capacity = 0;
    if (tj_take(&this->in, ")"))
        return TJ_OK;
    do {
        tj_dim *dims = (tj_dim *)operand->dims;
        bool grown = tj_grow(&dims, (size_t)operand->ndims, &capacity, sizeof(*dims));
        operand->dims = dims;
        if (!grown)
            return tj_fail_no_memory(this->in.error);
        dims[operand->ndims] = (tj_dim){0};
        tj_status status = parse_dim(this, &dims[operand->ndims++]);
        if (status != TJ_OK)
            return status;
    } while (tj_take(&this->in, ","));
    return tj_take(&this->in, ")") ? TJ_OK : tj_fail_here(&this->in, "expected ',' or ')'");
}

/* ---- operands ------------------------------------------------------------ */

static tj_operand *add_operand(parser *this, tj_role role)
{
    tj_signature *signature = this->signature;
    if (!tj_grow(&signature->operands, (size_t)signature->noperands, &this->capacity,
                 sizeof(tj_operand)))
        return NULL;
    tj_operand *operand = &signature->operands[signature->noperands++];
    *operand = (tj_operand){.role = role};
    signature->noutputs += role == TJ_OUT;
    return operand;
}

/* Reads a role before another name. An argument may also have the name of a role. */
static bool take_role(parser *this, const char *role)
{
    size_t start = this->in.at;
    if (name_ahead(this) == strlen(role) && tj_take(&this->in, role) && name_ahead(this))
        return true;
    this->in.at = start;
    return false;
}

static tj_role parse_role(parser *this)
{
    bool is_inout = take_role(this, "inout"); /* shared arguments may be written anyway */
    return take_role(this, "shared") ? TJ_SHARED : is_inout ? TJ_INOUT : TJ_IN;
}

/* Returns true if one of the first `count` operands has this name. */
static bool is_taken(const tj_signature *signature, int count, const char *name)
{
    for (int k = 0; k < count; k++)
        if (signature->operands[k].name && !strcmp(signature->operands[k].name, name))
            return true;
    return false;
}

static tj_status parse_operand(parser *this, bool is_output)
{
    tj_operand *operand = add_operand(this, is_output ? TJ_OUT : parse_role(this));
    if (!operand)
        return tj_fail_no_memory(this->in.error);
    size_t length = name_ahead(this);
    size_t start = this->in.at;
    if (!length && !(is_output && start < this->in.length && this->in.text[start] == '('))
        return tj_fail_at(&this->in, start,
                          is_output ? "expected an output" : "expected an argument");
    if (length) {
        operand->name = tj_copy_bytes(this->in.text + start, length);
        if (!operand->name)
            return tj_fail_no_memory(this->in.error);
        if (is_taken(this->signature, this->signature->noperands - 1, operand->name))
            return tj_fail_at(&this->in, start, "this name is taken");
        this->in.at += length;
    }
    if (!tj_take(&this->in, "("))
        return tj_fail_here(&this->in, "expected '(' and the dims");
    return parse_dims(this, operand);
}

/* Recognises "(out(3),": a parenthesis around outputs, not around dims. */
static bool take_tuple(parser *this)
{
    size_t start = this->in.at;
    if (tj_take(&this->in, "(")) {
        size_t inside = this->in.at;
        this->in.at += name_ahead(this);
        if (tj_take(&this->in, "(")) {
            this->in.at = inside;
            return true;
        }
    }
    this->in.at = start;
    return false;
}

static tj_status parse_tuple(parser *this)
{
    for (bool first = true;; first = false) {
        tj_status status = parse_operand(this, true);
        if (status != TJ_OK)
            return status;
        bool goes_on = tj_take(&this->in, ",");
        if (!(first && !goes_on) && tj_take(&this->in, ")"))
            return TJ_OK;
        if (!goes_on)
            return tj_fail_here(&this->in, first ? "expected ','" : "expected ',' or ')'");
    }
}

static bool updates(const tj_signature *signature)
{
    for (int k = 0; k < signature->noperands; k++)
        if (signature->operands[k].role != TJ_IN)
            return true;
    return false;
}

static tj_status parse_outputs(parser *this)
{
    tj_status status;
    tj_skip_blanks(&this->in);
    if (this->in.at == this->in.length && updates(this->signature))
        return TJ_OK;
    if (take_tuple(this))
        return parse_tuple(this);
    do
        status = parse_operand(this, true);
    while (status == TJ_OK && tj_take(&this->in, ","));
    this->signature->one_output = this->signature->noutputs == 1;
    return status;
}

static tj_status name_outputs(parser *this)
{
    tj_signature *signature = this->signature;
    int first = signature->noperands - signature->noutputs;
    for (int k = first; k < signature->noperands; k++) {
        tj_text name = {0};
        if (signature->operands[k].name)
            continue;
        tj_text_puts(&name, "output");
        if (signature->noutputs > 1)
            tj_text_printf(&name, "%d", k - first);
        if (name.failed) {
            tj_text_clear(&name);
            return tj_fail_no_memory(this->in.error);
        }
        bool taken = is_taken(signature, signature->noperands, name.data);
        signature->operands[k].name = name.data;
        if (taken)
            return tj_fail(this->in.error, TJ_BAD_SPEC,
                           "an output without a name is '%s', and that name is taken", name.data);
    }
    return TJ_OK;
}

static tj_status parse_signature(parser *this)
{
    if (!tj_take(&this->in, "->")) {
        do {
            tj_status status = parse_operand(this, false);
            if (status != TJ_OK)
                return status;
        } while (tj_take(&this->in, ","));
        if (!tj_take(&this->in, "->"))
            return tj_fail_here(&this->in, "expected ',' or '->'");
    }
    tj_status status = parse_outputs(this);
    if (status != TJ_OK)
        return status;
    tj_skip_blanks(&this->in);
    if (this->in.at < this->in.length)
        return tj_fail_here(&this->in, "expected the end");
    return name_outputs(this);
}

tj_status tj_signature_parse(const char *text, size_t length, tj_signature *signature,
                             tj_error *error)
{
    *signature = (tj_signature){0};
    parser this = {.in = {.text = text, .length = length, .error = error}, .signature = signature};
    tj_status status = parse_signature(&this);
    if (status != TJ_OK)
        tj_signature_clear(signature);
    return status;
}

void tj_signature_clear(tj_signature *signature)
{
    if (!signature)
        return;
    for (int k = 0; k < signature->noperands; k++) {
        tj_operand *operand = &signature->operands[k];
        for (int i = 0; i < operand->ndims; i++)
            tj_free((char *)operand->dims[i].name);
        tj_free((tj_dim *)operand->dims);
        tj_free((char *)operand->name);
    }
    tj_free(signature->operands);
    *signature = (tj_signature){0};
}
