/* truths.c: conditions as !!(x) (truths.h).
 *
 * One pass over the tokens finds what asks for a truth: &&, || and ?, whose operands reach to where
 * C's grammar says that something of lower precedence begins, and the parentheses of if, while and
 * for. What a directive cuts in two is looked at in parts, and an operand that is not whole stays.
 */
#include "read/truths.h"

#include <string.h>

#include "read/tokens.h"

static const char in_front_of_expressions[] = "return case else do";
static const char in_front_of_conditions[] = "if while for switch";
/* Of lower precedence than || and &&, or these; those of one byte are "([{,;?:". */
static const char lower_operators[] =
    "&& || = += -= *= /= %= &= |= ^= <<= >>= and or and_eq or_eq xor_eq";

/* What to write around a token. */
typedef struct mark {
    size_t opens, closes; /* conditions that begin and end with it */
} mark;

typedef struct reader {
    tj_tokens tokens;  /* owned; its mates are those within a range, and `count` for others */
    mark *marks;       /* owned: one for each token */
    size_t begin, end; /* the range: a directive's body, or what is between directives */
} reader;

static bool is_in(const reader *this, size_t i, const char *bytes)
{
    return i < this->end && tj_token_in(&this->tokens, i, bytes);
}

static bool is_any(const reader *this, size_t i, const char *words)
{
    return i < this->end && tj_token_among(&this->tokens, i, words);
}

/* The other bracket, which is in the range; i: there is none. */
static size_t mate(const reader *this, size_t i)
{
    size_t other = this->tokens.mates[i];
    return other < this->tokens.count ? other : i;
}

static void pair(reader *this)
{
    size_t *mates = this->tokens.mates, none = this->tokens.count, open = none;
    for (size_t i = this->begin; i < this->end; i++) {
        mates[i] = none;
        if (is_in(this, i, "([{")) {
            mates[i] = open;
            open = i;
        } else if (is_in(this, i, ")]}") && open < none) {
            size_t around = mates[open];
            mates[i] = open;
            mates[open] = i;
            open = around;
        }
    }
    while (open < none) {
        size_t around = mates[open];
        mates[open] = none;
        open = around;
    }
}

/* ---- long double ----------------------------------------------------------------------- */

/* 1.5L, or a function of libm such as fmodl(). */
static bool is_long(const reader *this, size_t i)
{
    const tj_token *token = &this->tokens.items[i];
    char last = token->length ? token->text[token->length - 1] : 0;
    if (token->kind == TJ_TOKEN_NUMBER)
        return (last == 'l' || last == 'L') && strcspn(token->text, ".eEpP") < token->length;
    return token->kind == TJ_TOKEN_NAME && last == 'l' && is_in(this, i + 1, "(");
}

static bool may_have_long_double(const reader *this)
{
    for (size_t i = 0; i < this->tokens.count; i++) {
        const tj_token *token = &this->tokens.items[i];
        if (is_long(this, i) || tj_bytes_hold(token->text, token->length, "longdouble") ||
            (is_any(this, i, "long") &&
             (is_any(this, i + 1, "double") || (i > 0 && is_any(this, i - 1, "double")))))
            return true;
    }
    return false;
}

/* ---- conditions ------------------------------------------------------------------------ */

/* Pasting or spelling happens here. */
static bool has_hash(const reader *this, size_t i, size_t end)
{
    for (; i < end; i++)
        if (is_any(this, i, "# ##"))
            return true;
    return false;
}

/* The tokens from `first` on, up to `behind`, are a condition. */
static void mark_condition(reader *this, size_t first, size_t behind)
{
    size_t before = first > this->begin ? first - 1 : first;
    if (first >= behind || has_hash(this, before, behind < this->end ? behind + 1 : behind))
        return;
    this->marks[first].opens++;
    this->marks[behind - 1].closes++;
}

/* A brace that closes at i ends an operand, as in (struct s){1, 2}.x, and no block. */
static bool ends_value(const reader *this, size_t i)
{
    return is_any(this, i + 1, ". -> [ && || ? and or");
}

/* Where the operand begins that ends in front of i. */
static size_t operand_before(const reader *this, size_t i)
{
    while (i > this->begin) {
        size_t last = i - 1, first = last;
        if (is_in(this, last, ")]") || (is_in(this, last, "}") && ends_value(this, last))) {
            first = mate(this, last);
            if (first == last)
                break;
            if (first > this->begin && is_any(this, first - 1, in_front_of_conditions))
                break;
        } else if (is_in(this, last, "([{},;?:") || is_any(this, last, lower_operators) ||
                   is_any(this, last, in_front_of_expressions)) {
            break;
        }
        i = first;
    }
    return i;
}

/* Where the operand of && or || ends that begins at i: the token behind it. */
static size_t operand_behind(const reader *this, size_t i)
{
    while (i < this->end && !is_in(this, i, ")]},;?:") && !is_any(this, i, lower_operators)) {
        bool opens = is_in(this, i, "([{");
        if (opens && mate(this, i) == i)
            break;
        i = (opens ? mate(this, i) : i) + 1;
    }
    return i;
}

/* The first semicolon in [i, end) that is in no brackets; end: none is. */
static size_t semicolon(const reader *this, size_t i, size_t end)
{
    while (i < end && !is_in(this, i, ";"))
        i = (is_in(this, i, "([{") ? mate(this, i) : i) + 1;
    return i < end ? i : end;
}

/* if (...), while (...), for (...; ...; ...) at i. */
static void mark_parentheses(reader *this, size_t i)
{
    size_t open = i + 1;
    if (!is_in(this, open, "(") || mate(this, open) == open)
        return;
    size_t first = open + 1, behind = mate(this, open);
    if (is_any(this, i, "for")) {
        first = semicolon(this, first, behind) + 1;
        behind = semicolon(this, first, behind);
    }
    mark_condition(this, first, behind);
}

static void mark_operands(reader *this, size_t i)
{
    static const char chains[] = "&& || and or";
    size_t first = operand_before(this, i);
    bool marked = first > this->begin && is_any(this, first - 1, chains);
    bool choice = is_any(this, i, "?"), elvis = choice && is_any(this, i + 1, ":");
    if (!marked && !elvis)
        mark_condition(this, first, i);
    if (!choice && first < i) /* &&label is an address */
        mark_condition(this, i + 1, operand_behind(this, i + 1));
}

static void mark_range(reader *this, size_t begin, size_t end)
{
    this->begin = begin;
    this->end = end;
    pair(this);
    for (size_t i = begin; i < end; i++) {
        if (is_any(this, i, "if while for"))
            mark_parentheses(this, i);
        else if (is_any(this, i, "&& || ? and or"))
            mark_operands(this, i);
    }
}

/* The body of a #define at i, which ends at `end`. */
static void mark_definition(reader *this, size_t i, size_t end)
{
    const tj_tokens *tokens = &this->tokens;
    size_t begin = i + 3;
    if (begin < end && tj_token_at(tokens, begin, "(") && !tokens->items[begin].spaced)
        while (begin < end && !tj_token_at(tokens, begin++, ")"))
            continue;
    if (begin < end)
        mark_range(this, begin, end);
}

static void mark_text(reader *this)
{
    const tj_tokens *tokens = &this->tokens;
    size_t begin = 0;
    for (size_t i = 0; i <= tokens->count; i++) {
        if (i < tokens->count && !tj_token_directs(tokens, i))
            continue;
        mark_range(this, begin, i);
        if (i == tokens->count)
            break;
        begin = tj_tokens_behind_line(tokens, i);
        if (tj_token_at(tokens, i + 1, "define"))
            mark_definition(this, i, begin);
        i = begin - 1;
    }
}

/* ---- the text -------------------------------------------------------------------------- */

static void write_marked(const reader *this, const char *text, size_t length, tj_text *out)
{
    size_t written = 0;
    for (size_t i = 0; i < this->tokens.count; i++) {
        const tj_token *token = &this->tokens.items[i];
        const mark *around = &this->marks[i];
        if (!around->opens && !around->closes)
            continue;
        tj_text_add(out, text + written, token->start - written);
        for (size_t k = 0; k < around->opens; k++)
            tj_text_puts(out, "!!(");
        tj_text_add(out, text + token->start, token->end - token->start);
        for (size_t k = 0; k < around->closes; k++)
            tj_text_puts(out, ")");
        written = token->end;
    }
    tj_text_add(out, text + written, length - written);
}

void tj_truths_write(const char *text, tj_text *out)
{
    reader this = {0};
    size_t length = strlen(text);
    if (tj_tokens_read(&this.tokens, text, length) &&
        (this.marks = tj_alloc_zeroed(this.tokens.count + 1, sizeof *this.marks))) {
        this.end = this.tokens.count;
        if (may_have_long_double(&this))
            mark_text(&this);
        write_marked(&this, text, length, out);
    } else {
        out->failed = true;
    }
    tj_free(this.marks);
    tj_tokens_clear(&this.tokens);
}
