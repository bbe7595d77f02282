/* silent.c: refuses code that libtcc silently compiles wrongly (scan.h).
 *
 * One pass over the tokens looks for four constructs. It refuses the first occurrence of each. */
#include <errno.h>
#include <stdlib.h>

#include "read/scan.h"

/* ---- locals with more alignment than libtcc gives ------------------------------------ */

/* libtcc aligns stack frames to 16 bytes, so locals cannot have a larger alignment; static data can. */
enum {
    MOST_ALIGNMENT = 16 /* bytes */
};

/* Returns the alignment that "aligned(64)" or "_Alignas(64)" at i requests. */
static long alignment_at(const tj_tokens *tokens, size_t i)
{
    if (!tj_token_is_name(tokens, i) ||
        !tj_token_among(tokens, i, "_Alignas alignas aligned __aligned__") ||
        !tj_token_at(tokens, i + 1, "(") || !tj_token_at(tokens, i + 3, ")") ||
        tokens->items[i + 2].kind != TJ_TOKEN_NUMBER)
        return 0;
    return strtol(tokens->items[i + 2].text, NULL, 0);
}

static size_t find_aligned(const tj_tokens *tokens, size_t i, bool inside)
{
    bool wrong = inside && alignment_at(tokens, i) > MOST_ALIGNMENT;
    for (size_t k = i; wrong && k > 0 && !tj_token_in(tokens, k - 1, ";{}"); k--)
        wrong = !tj_token_among(tokens, k - 1, "static extern");
    return wrong ? i : tokens->count;
}

/* ---- addresses that are written as numbers ------------------------------------------- */

/* libtcc truncates an address that is written as a number to 32 bits, so `*(double *)0x7f1234567890 = 1` writes
 * to a wrong place. Some reads are wrong, too, such as `1 + *(double *)0x7f1234567890`. Accesses through pointer
 * variables are right. On arm64 all such addresses are wrong, also small ones. We look for an expression of a
 * number, casts and constants that is dereferenced, indexed or used with ->. */
#if defined(__aarch64__)
#define FARTHEST 0
#else
#define FARTHEST INT32_MAX /* libtcc keeps 32 bits and extends the sign */
#endif

/* An expression around a number, extended step by step. */
typedef struct place {
    const tj_tokens *tokens;
    size_t first, behind;
    bool cast;    /* the number was cast to a pointer or a larger type */
    bool pointer; /* the outermost cast is certainly a pointer */
    bool access;  /* the expression accesses that address */
} place;

static bool is_far(const tj_tokens *tokens, size_t i)
{
    static const char digits[] = "0123456789abcdefABCDEFxXuUlL";
    const tj_token *token = &tokens->items[i];
    if (token->kind != TJ_TOKEN_NUMBER || strspn(token->text, digits) < token->length)
        return false;
    errno = 0;
    return strtoull(token->text, NULL, 0) > FARTHEST && !errno;
}

/* Returns true if the tokens [first, behind) contain no names. */
static bool is_constant(const tj_tokens *tokens, size_t first, size_t behind)
{
    for (size_t i = first; i < behind; i++)
        if (tokens->items[i].kind != TJ_TOKEN_NUMBER &&
            tokens->items[i].kind != TJ_TOKEN_PUNCTUATOR)
            return false;
    return behind > first && behind <= tokens->count;
}

/* Returns true if i is the last token of an expression, so that * after it multiplies. */
static bool ends_operand(const tj_tokens *tokens, size_t i)
{
    size_t open = tokens->mates[i];
    if (tj_token_at(tokens, i, ")"))
        return !(open > 0 && open < i && tj_token_among(tokens, open - 1, "if while for switch"));
    return tokens->items[i].kind == TJ_TOKEN_NUMBER || tj_token_at(tokens, i, "]") ||
           (tj_token_is_name(tokens, i) && !tj_token_among(tokens, i, "return else do case"));
}

/* Extends the expression to the right. Returns false if it ends. */
static bool grow_behind(place *this)
{
    size_t next = this->behind;
    if (this->cast && tj_token_at(this->tokens, next, "[") &&
        is_constant(this->tokens, next + 1, this->tokens->mates[next])) {
        this->behind = this->tokens->mates[next] + 1;
        this->access = true;
    } else if (tj_token_is_name(this->tokens, next + 1) &&
               ((this->cast && tj_token_at(this->tokens, next, "->")) ||
                (this->access && tj_token_at(this->tokens, next, ".")))) {
        this->behind = next + 2;
        this->access = true;
    } else if (!this->access && tj_token_in(this->tokens, next, "+-") &&
               is_constant(this->tokens, next + 1, next + 2)) {
        this->behind = next + 2;
    } else {
        return false;
    }
    return true;
}

/* Extends the expression to the left, or to brackets around it. */
static bool grow_before(place *this)
{
    if (this->first == 0)
        return false;
    size_t before = this->first - 1;
    if (tj_token_at(this->tokens, before, "(") && this->tokens->mates[before] == this->behind) {
        this->behind++;
        this->first = before;
    } else if (tj_token_at(this->tokens, before, ")") && this->tokens->mates[before] < before &&
               !this->access) {
        this->first = this->tokens->mates[before];
        this->cast = true;
        this->pointer = tj_token_at(this->tokens, before - 1, "*");
    } else if (this->cast && tj_token_at(this->tokens, before, "*") &&
               (this->pointer || before == 0 || !ends_operand(this->tokens, before - 1))) {
        this->first = before;
        this->access = true;
    } else {
        return false;
    }
    return true;
}

static size_t find_address(const tj_tokens *tokens, size_t i, bool inside)
{
    place this = {.tokens = tokens, .first = i, .behind = i + 1};
    (void)inside;
    if (!is_far(tokens, i))
        return tokens->count;
    while (grow_behind(&this) || grow_before(&this))
        ;
    bool taken = this.first > 0 && tj_token_at(tokens, this.first - 1, "&");
    return this.access && !taken ? i : tokens->count;
}

/* ---- arrays of 2 GiB and more -------------------------------------------------------- */

/* libtcc computes array sizes with 32 bits: `char a[65536][65537]` gets 64 KiB. We look for two adjacent
 * words, as in `double a`, and brackets after them. A dim that contains a name counts as 1. */

/* The size in bytes of a type that is not listed: a large guess. It is better to refuse an array wrongly,
 * which can then move to the heap, than to accept one of the wrong size. */
enum {
    UNKNOWN = 16
};

static const struct {
    const char *word;
    int size;
} SIZES[] = {{"char", 1},       {"bool", 1},     {"_Bool", 1},     {"npy_bool", 1},
             {"int8_t", 1},     {"uint8_t", 1},  {"npy_int8", 1},  {"npy_uint8", 1},
             {"short", 2},      {"int16_t", 2},  {"uint16_t", 2},  {"npy_int16", 2},
             {"npy_uint16", 2}, {"int", 4},      {"unsigned", 4},  {"float", 4},
             {"int32_t", 4},    {"uint32_t", 4}, {"npy_int32", 4}, {"npy_uint32", 4},
             {"npy_float", 4}};

static int size_of(const tj_tokens *tokens, size_t word)
{
    if (word > 0 && tj_token_at(tokens, word - 1, "long"))
        return tj_token_at(tokens, word, "double") ? 16 : 8;
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(*SIZES); i++)
        if (tj_token_at(tokens, word, SIZES[i].word))
            return SIZES[i].size;
    return tj_token_at(tokens, word, "double") || tj_token_at(tokens, word, "long") ? 8 : UNKNOWN;
}

static double sum(const tj_tokens *tokens, size_t *at, size_t end);

static double number(const tj_tokens *tokens, size_t *at, size_t end)
{
    size_t i = (*at)++;
    double value = 1;
    if (tj_token_at(tokens, i, "(") && tokens->mates[i] < end) {
        value = sum(tokens, at, tokens->mates[i]);
        *at = tokens->mates[i] + 1;
    } else if (i < end && tokens->items[i].kind == TJ_TOKEN_NUMBER) {
        value = (double)strtoull(tokens->items[i].text, NULL, 0);
    }
    return value;
}

/* Rounds towards zero, like integer division. */
static double whole(double value)
{
    return value < 9e18 && value > -9e18 ? (double)(long long)value : value;
}

static double product(const tj_tokens *tokens, size_t *at, size_t end)
{
    double value = number(tokens, at, end);
    while (*at < end && tj_token_in(tokens, *at, "*/%")) {
        size_t sign = (*at)++;
        double other = number(tokens, at, end), quotient = other != 0 ? whole(value / other) : 0;
        value = tj_token_at(tokens, sign, "*")   ? value * other
                : tj_token_at(tokens, sign, "/") ? quotient
                                                 : value - quotient * other;
    }
    return value;
}

/* Evaluates sums and shifts. Stops at any other operator. */
static double sum(const tj_tokens *tokens, size_t *at, size_t end)
{
    double value = product(tokens, at, end);
    while (*at < end) {
        size_t sign = (*at)++;
        bool left = tj_token_at(tokens, sign, "<<");
        if (left || tj_token_at(tokens, sign, ">>")) {
            double bits = product(tokens, at, end);
            double power = bits >= 0 && bits < 64 ? (double)(1ull << (unsigned)bits) : 0;
            value = left ? value * power : power > 0 ? whole(value / power) : 0;
        } else if (tj_token_at(tokens, sign, "+")) {
            value += product(tokens, at, end);
        } else if (tj_token_at(tokens, sign, "-")) {
            value -= product(tokens, at, end);
        } else {
            break;
        }
    }
    return value;
}

/* Returns the number of items that the brackets from `at` on declare; moves *at after them. */
static double items_of(const tj_tokens *tokens, size_t *at)
{
    double items = 1;
    while (tj_token_at(tokens, *at, "[") && tokens->mates[*at] < tokens->count) {
        size_t inside = *at + 1, end = tokens->mates[*at];
        double dim = inside < end ? sum(tokens, &inside, end) : 1;
        items *= dim > 1 ? dim : 1;
        *at = end + 1;
    }
    return items;
}

/* Reads declarators: double a[2], *b[3], c = 1, d[4]. Returns the place of the first array that is too large,
 * or the end of the text. The body of a function ends the list. */
static size_t large_declarator(const tj_tokens *tokens, size_t first)
{
    size_t at = first;
    int size = size_of(tokens, first - 1);
    while (at < tokens->count) {
        bool pointer = tj_token_at(tokens, at, "*");
        while (tj_token_at(tokens, at, "*"))
            at++;
        size_t name = at;
        if (!tj_token_is_name(tokens, at++) ||
            items_of(tokens, &at) * (pointer ? 8 : size) >= 2147483648.0)
            return tj_token_is_name(tokens, name) ? name : tokens->count;
        for (bool given = false; at < tokens->count && !tj_token_at(tokens, at, ",");) {
            bool body = tj_token_at(tokens, at, "{") && tj_token_at(tokens, at - 1, ")") && !given;
            if (body || tj_token_at(tokens, at, ";") || tj_token_at(tokens, at, ")"))
                return tokens->count;
            given |= tj_token_at(tokens, at, "=");
            at = tokens->mates[at] > at && tokens->mates[at] < tokens->count ? tokens->mates[at] + 1
                                                                             : at + 1;
        }
        at++;
    }
    return tokens->count;
}

/* Finds an array that is too large. Of several adjacent names, the last one is declared. The others are skipped,
 * because each would read to the end of the list. */
static size_t find_large(const tj_tokens *tokens, size_t i, bool inside)
{
    bool two = tj_token_is_name(tokens, i + 1) && !tj_token_is_name(tokens, i + 2) &&
               !tj_token_word(tokens, i, TJ_STATEMENT | TJ_MEASURE);
    bool pointer = tj_token_word(tokens, i, TJ_TYPE) && tj_token_at(tokens, i + 1, "*");
    (void)inside;
    return two || pointer ? large_declarator(tokens, i + 1) : tokens->count;
}

/* ---- parameters that point to rows whose length is another parameter ----------------- */

/* libtcc reads the length of `double (*a)[n]` from an uninitialised place on the stack. a[][n], which is the
 * same type, is correct. Only parameters of a definition are affected: a local pointer is correct. */

/* Returns the token after the declarator `(*restrict a)` at i, and its name in *name; 0 if there is none. */
static size_t behind_pointer(const tj_tokens *tokens, size_t i, size_t *name)
{
    size_t end = tokens->mates[i];
    if (!tj_token_at(tokens, i, "(") || !tj_token_at(tokens, i + 1, "*") || end >= tokens->count)
        return 0;
    for (*name = i + 2; tj_token_word(tokens, *name, TJ_QUALIFIER); ++*name)
        ;
    return tj_token_is_name(tokens, *name) && *name + 1 == end ? end + 1 : 0;
}

/* Returns true if the name at i is a parameter in the list. */
static bool is_parameter(const tj_tokens *tokens, size_t i, size_t open)
{
    for (size_t k = open + 1; k < tokens->mates[open]; k++) {
        if (tj_token_at(tokens, k, "[") && tokens->mates[k] < tokens->count)
            k = tokens->mates[k];
        else if (tj_token_same(&tokens->items[i], &tokens->items[k]) &&
                 tj_token_in(tokens, k + 1, ",)["))
            return true;
    }
    return false;
}

/* Returns true if a dim from `at` on names a parameter. */
static bool is_variable(const tj_tokens *tokens, size_t at, size_t open)
{
    for (; tj_token_at(tokens, at, "["); at = tokens->mates[at] + 1)
        for (size_t i = at + 1; i < tokens->mates[at] && i < tokens->count; i++)
            if (tj_token_is_name(tokens, i) && is_parameter(tokens, i, open))
                return true;
    return false;
}

/* Finds such a parameter. i: the name of the function. */
static size_t find_rows(const tj_tokens *tokens, size_t i, bool inside)
{
    size_t open = i + 1, name;
    (void)inside;
    if (!tj_token_at(tokens, open, "(") || tj_token_word(tokens, i, TJ_STATEMENT) ||
        !tj_token_at(tokens, tokens->mates[open] + 1, "{"))
        return tokens->count;
    for (size_t k = open + 1; k < tokens->mates[open]; k++) {
        size_t dims = behind_pointer(tokens, k, &name);
        if (dims && is_variable(tokens, dims, open))
            return name;
    }
    return tokens->count;
}

/* ---- the pass ------------------------------------------------------------------------ */

static const struct {
    tj_token_kind kind; /* the kind of token at which find() is called */
    /* Returns the token to report, or the number of tokens. inside: in a function. */
    size_t (*find)(const tj_tokens *tokens, size_t i, bool inside);
    const char *text;
} constructs[] = {
    {TJ_TOKEN_NAME, find_aligned,
     "locals are aligned to 16 bytes at the most: make it static, or round an address up"},
    {TJ_TOKEN_NUMBER, find_address,
     "libtcc takes another address than this number: put it into a pointer variable first"},
    {TJ_TOKEN_NAME, find_large,
     "this array is too large for libtcc, which counts bytes in 32 bits (2 GiB and more are above "
     "any cwrapjit.config.compile_memory)"},
    {TJ_TOKEN_NAME, find_rows,
     "libtcc takes a wrong length for the rows of this parameter: write a[][n] for (*a)[n], which "
     "is the same type"},
};

enum {
    COUNT = sizeof constructs / sizeof *constructs
};

void tj_silent_check(const tj_tokens *tokens, const tj_piece *piece, tj_scope scope,
                     tj_messages *messages)
{
    size_t depth = 0, found[COUNT];
    bool inside = scope == TJ_BLOCK_SCOPE;
    for (size_t k = 0; k < COUNT; k++)
        found[k] = tokens->count;
    for (size_t i = 0; i < tokens->count; i++) {
        if (tj_token_at(tokens, i, "{") && depth++ == 0 && scope == TJ_FILE_SCOPE)
            inside = i > 0 && tj_token_in(tokens, i - 1, ");");
        else if (tj_token_at(tokens, i, "}") && depth > 0 && --depth == 0)
            inside = scope == TJ_BLOCK_SCOPE;
        for (size_t k = 0; k < COUNT; k++)
            if (constructs[k].kind == tokens->items[i].kind && found[k] == tokens->count)
                found[k] = constructs[k].find(tokens, i, inside);
    }
    for (size_t k = 0; k < COUNT; k++)
        if (found[k] < tokens->count)
            tj_messages_add_at(messages, piece, tokens->items[found[k]].start,
                               tokens->items[found[k]].end, "%s", constructs[k].text);
}
