/* output_dim.c: parses the expression for the length of an output's dim, "n*(n-1)/2".
 *
 *     choice  = binary ["?" choice ":" choice]
 *     binary  = unary {operator unary}            by C's precedence
 *     unary   = {"-" | "+" | "!"} primary
 *     primary = digits | name | ("min" | "max") "(" choice "," choice ")" | "(" choice ")"
 *
 * The result is steps for a stack of numbers, which the call path runs (csrc/base/arithmetic.h). The parser
 * stops at the first fault and reports the offset at which it expected another character. */
#include <string.h>

#include "internal.h"
#include "read/bytes.h"

typedef ptrdiff_t npy_intp; /* like NumPy's; abi.h needs it */
#include "abi.h"

enum {
    MAX_NESTING = 100, /* brackets and signs; each takes some of the C stack */
    MAX_STEPS = 10000
};

typedef struct parser {
    const tj_spec *spec;
    tj_bytes in;
    size_t capacity; /* of dim->steps */
    int stack;       /* the number of values that the steps so far leave on the stack */
    int nesting;
    tj_output_dim *dim;
} parser;

/* ---- steps ------------------------------------------------------------------ */

/* Appends a step that adds `more` numbers to the stack. */
static tj_status add_step(parser *this, int op, ptrdiff_t value, int more)
{
    tj_output_dim *dim = this->dim;
    this->stack += more;
    if (this->stack > CWJ_DIM_STACK || dim->nsteps == MAX_STEPS)
        return tj_fail_here(&this->in, "this expression is too large");
    if (!tj_grow(&dim->steps, (size_t)dim->nsteps, &this->capacity, sizeof *dim->steps))
        return tj_fail_no_memory(this->in.error);
    dim->steps[dim->nsteps++] = (tj_dim_step){.op = op, .value = value};
    return TJ_OK;
}

/* ---- numbers and names -------------------------------------------------------- */

static int digit_of(char byte)
{
    return tj_is_digit(byte)            ? byte - '0'
           : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
           : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                        : 16;
}

/* Parses a number. As in C, 0x1f is hexadecimal and 017 is octal. */
static tj_status parse_number(parser *this)
{
    size_t start = this->in.at, end = start + tj_word_ahead(&this->in);
    int base = 10;
    ptrdiff_t value = 0;
    if (end - start > 1 && this->in.text[start] == '0') {
        base = this->in.text[start + 1] == 'x' || this->in.text[start + 1] == 'X' ? 16 : 8;
        this->in.at += base == 16 ? 2 : 1;
    }
    if (this->in.at == end)
        return tj_fail_here(&this->in, "expected a digit");
    for (; this->in.at < end; this->in.at++) {
        int digit = digit_of(this->in.text[this->in.at]);
        if (digit >= base)
            return tj_fail_here(&this->in, base == 8 ? "expected a digit of an octal number"
                                                     : "expected a digit");
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return tj_fail_at(&this->in, start, "this number is too large");
    }
    return add_step(this, CWJ_DIM_NUMBER, value, 1);
}

/* Returns the name of a dim of the inputs, or NULL. */
static const char *find_dim(const tj_spec *spec, const char *name, size_t length)
{
    for (int k = 0; k < spec->noperands - spec->noutputs; k++)
        for (int i = 0; i < spec->operands[k].ndims; i++) {
            const char *dim = spec->operands[k].dims[i].name;
            if (dim && strlen(dim) == length && !memcmp(dim, name, length))
                return dim;
        }
    return NULL;
}

static tj_status parse_name(parser *this, size_t length)
{
    const char *name = find_dim(this->spec, this->in.text + this->in.at, length);
    if (!name)
        return tj_place_at(&this->in, this->in.at,
                           tj_fail(this->in.error, TJ_BAD_SIGNATURE,
                                   "no input has a dimension '%.*s'", (int)length,
                                   this->in.text + this->in.at));
    this->in.at += length;
    tj_status status = add_step(this, CWJ_DIM_SYMBOL, 0, 1);
    if (status == TJ_OK)
        this->dim->steps[this->dim->nsteps - 1].name = name;
    return status;
}

/* ---- expressions --------------------------------------------------------------- */

static tj_status parse_choice(parser *this);

/* Parses the contents of parentheses, and the ")". */
static tj_status parse_bracket(parser *this)
{
    tj_status status = parse_choice(this);
    if (status == TJ_OK && !tj_take(&this->in, ")"))
        return tj_fail_here(&this->in, "expected an operator or ')'");
    return status;
}

static tj_status parse_extreme(parser *this, int op)
{
    if (!tj_take(&this->in, "("))
        return tj_fail_here(&this->in, "expected '('");
    tj_status status = parse_choice(this);
    if (status == TJ_OK && !tj_take(&this->in, ","))
        return tj_fail_here(&this->in, "expected an operator or ','");
    if (status == TJ_OK)
        status = parse_bracket(this);
    return status ? status : add_step(this, op, 0, -1);
}

static tj_status parse_primary(parser *this)
{
    size_t length = tj_word_ahead(&this->in);
    const char *word = this->in.text + this->in.at;
    if (length && tj_is_digit(*word))
        return parse_number(this);
    bool is_min = length == 3 && !memcmp(word, "min", 3);
    bool is_max = length == 3 && !memcmp(word, "max", 3);
    if ((is_min || is_max) && !find_dim(this->spec, word, length)) {
        this->in.at += length;
        return parse_extreme(this, is_min ? CWJ_DIM_MIN : CWJ_DIM_MAX);
    }
    if (length)
        return parse_name(this, length);
    return tj_take(&this->in, "(")
               ? parse_bracket(this)
               : tj_fail_here(&this->in, "expected a number, a dimension of an input, or '('");
}

static tj_status parse_operand(parser *this)
{
    tj_bytes *in = &this->in;
    int op = tj_is_next(in, "-") ? CWJ_DIM_MINUS : tj_is_next(in, "!") ? CWJ_DIM_NOT : -1;
    if (op < 0 && !tj_is_next(in, "+"))
        return parse_primary(this);
    in->at++;
    tj_status status =
        this->nesting++ < MAX_NESTING ? parse_operand(this) : tj_fail_here(in, "too deeply nested");
    this->nesting--;
    return status || op < 0 ? status : add_step(this, op, 0, 0);
}

typedef struct operation {
    const char *word;
    int precedence;
    int op;
} operation;

/* Longer operators come first. */
static const operation operations[] = {
    {"||", 1, CWJ_DIM_OR},         {"&&", 2, CWJ_DIM_AND},
    {"==", 3, CWJ_DIM_EQUAL},      {"!=", 3, CWJ_DIM_UNEQUAL},
    {"<<", 5, CWJ_DIM_SHIFT_LEFT}, {">>", 5, CWJ_DIM_SHIFT_RIGHT},
    {"<=", 4, CWJ_DIM_LESS_EQUAL}, {">=", 4, CWJ_DIM_GREATER_EQUAL},
    {"<", 4, CWJ_DIM_LESS},        {">", 4, CWJ_DIM_GREATER},
    {"+", 6, CWJ_DIM_ADD},         {"-", 6, CWJ_DIM_SUBTRACT},
    {"*", 7, CWJ_DIM_MULTIPLY},    {"/", 7, CWJ_DIM_DIVIDE},
    {"%", 7, CWJ_DIM_REMAINDER}};

static const operation *next_operation(parser *this)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (tj_is_next(&this->in, operations[i].word))
            return &operations[i];
    return NULL;
}

/* Parses operands and the operators of this precedence or higher between them. */
static tj_status parse_binary(parser *this, int weakest)
{
    tj_status status = parse_operand(this);
    while (status == TJ_OK) {
        const operation *found = next_operation(this);
        if (!found || found->precedence < weakest)
            break;
        this->in.at += strlen(found->word);
        status = parse_binary(this, found->precedence + 1);
        status = status ? status : add_step(this, found->op, 0, -1);
    }
    return status;
}

/* Parses the text after "a ?". */
static tj_status parse_branches(parser *this)
{
    tj_status status = parse_choice(this);
    if (status == TJ_OK && !tj_take(&this->in, ":"))
        return tj_fail_here(&this->in, "expected an operator or ':'");
    status = status ? status : parse_choice(this);
    return status ? status : add_step(this, CWJ_DIM_CHOOSE, 0, -2);
}

static tj_status parse_choice(parser *this)
{
    if (this->nesting >= MAX_NESTING)
        return tj_fail_here(&this->in, "too deeply nested");
    this->nesting++;
    tj_status status = parse_binary(this, 1);
    if (status == TJ_OK && tj_take(&this->in, "?"))
        status = parse_branches(this);
    this->nesting--;
    return status;
}

tj_status tj_output_dim_parse(const tj_spec *spec, const char *text, size_t length,
                              tj_output_dim *dim, tj_error *error)
{
    parser this = {
        .spec = spec, .in = {.text = text, .length = length, .error = error}, .dim = dim};
    tj_status status = parse_choice(&this);
    tj_skip_blanks(&this.in);
    if (status == TJ_OK && this.in.at < length)
        status = tj_fail_here(&this.in, "expected an operator or the end");
    if (status != TJ_OK)
        tj_output_dim_clear(dim);
    return status;
}

void tj_output_dim_clear(tj_output_dim *dim)
{
    tj_free(dim->steps);
    dim->steps = NULL;
    dim->nsteps = 0;
}
