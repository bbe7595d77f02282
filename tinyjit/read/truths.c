/* truths.c: writes conditions as !!(x) (truths.h).
 *
 * One pass over the tokens finds conditions: the operands of &&, || and ?, which extend to the next operator of lower
 * precedence, and the parentheses of if, while and for. An operand that is not certain stays unchanged (operands.h). */
#include "read/truths.h"

#include <string.h>

#include "read/operands.h"

static const char in_front_of_expressions[] = "return case else do";
static const char in_front_of_conditions[] = "if while for switch";
/* Operators of the same or a lower precedence than || and &&, except those of one byte. */
static const char lower_operators[] = "&& || = += -= *= /= %= &= |= ^= <<= >>= ...";

/* ---- long double ----------------------------------------------------------------------- */

static bool is_floating(const tj_token *number)
{
    bool found = false;
    for (size_t i = 0; i < number->length && !found; i++)
        found = strchr(".eEpP", number->text[i]);
    return found;
}

/* Returns true for 1.5L, or a function such as fmodl() and strtold(). */
static bool is_long(const tj_operands *this, size_t i)
{
    const tj_token *token = &this->tokens.items[i];
    char last = token->length ? token->text[token->length - 1] : 0;
    if (token->kind == TJ_TOKEN_NUMBER)
        return (last == 'l' || last == 'L') && is_floating(token);
    return token->kind == TJ_TOKEN_NAME && tj_token_at(&this->tokens, i + 1, "(") &&
           (last == 'l' ||
            (token->length > 2 && !memcmp(token->text + token->length - 2, "ld", 2)));
}

static bool may_have_long_double(const tj_operands *this)
{
    const tj_tokens *tokens = &this->tokens;
    bool is_double = false,
         is_long_one = false; /* in this sequence of words, such as `long const double` */
    for (size_t i = 0; i < tokens->count; i++) {
        bool goes_on = tj_token_word(tokens, i, TJ_QUALIFIER | TJ_STORAGE | TJ_TYPEDEF | TJ_TYPE);
        is_double = goes_on && (is_double || tj_token_at(tokens, i, "double"));
        is_long_one = goes_on && (is_long_one || tj_token_at(tokens, i, "long"));
        if ((is_double && is_long_one) || is_long(this, i) ||
            tj_bytes_hold(tokens->items[i].text, tokens->items[i].length, "longdouble"))
            return true;
    }
    return false;
}

/* ---- conditions ------------------------------------------------------------------------ */

/* Marks the tokens [first, behind) as a condition. `most`: the openness that it may contain. */
static void mark_condition(tj_operands *this, size_t first, size_t behind, tj_openness most)
{
    /* For libtcc an address is constant, but !!(address) is not. */
    bool address = tj_operands_any(this, first, "& &&") ||
                   (first < behind && this->tokens.items[first].kind == TJ_TOKEN_STRING);
    if (first >= behind || address || !tj_operands_is_certain(this, first, behind, most))
        return;
    this->marks[first].opens++;
    this->marks[behind - 1].closes++;
}

/* Returns true if the brace that closes at i ends an operand, (struct s){1, 2}, and not a block. */
static bool ends_value(const tj_operands *this, size_t i)
{
    size_t brace = tj_operands_mate(this, i), last = brace - 1;
    if (brace == i || brace == this->begin || !tj_operands_in(this, last, ")"))
        return false;
    size_t open = tj_operands_mate(this, last);
    return open < last && !(open > this->begin && tj_operands_is_primary(this, open - 1));
}

/* Returns the start of the operand that ends before i; i if there is none, or if it is not certain. */
static size_t operand_before(const tj_operands *this, size_t i)
{
    size_t end = i;
    bool found = false;
    while (i > this->begin && !found) {
        size_t last = i - 1, first = last;
        if (tj_operands_in(this, last, ")]") ||
            (tj_operands_in(this, last, "}") && ends_value(this, last))) {
            first = tj_operands_mate(this, last);
            if (first == last)
                return end;
            found = first > this->begin && tj_operands_any(this, first - 1, in_front_of_conditions);
        } else {
            found = tj_operands_in(this, last, "([{},;?:") ||
                    tj_operands_any(this, last, lower_operators) ||
                    tj_operands_any(this, last, in_front_of_expressions);
        }
        i = found ? i : first;
    }
    /* Nothing before the range belongs to the operand at its beginning. */
    bool whole =
        !this->is_body && (this->begin == 0 || tj_token_in(&this->tokens, this->before, ";{"));
    bool begins = i == this->begin || tj_operands_in(this, i - 1, ";{}:)") ||
                  tj_operands_any(this, i - 1, "else do");
    /* A statement may begin with a macro: EACH(x, list) x->y && ...; */
    bool call = begins && tj_operands_is_primary(this, i) && tj_operands_in(this, i + 1, "(");
    return (found || whole) && !call ? i : end;
}

/* Returns the token after the operand of && or || that begins at i; i if its end is not certain. */
static size_t operand_behind(const tj_operands *this, size_t i)
{
    size_t begin = i;
    while (i < this->end && !tj_operands_in(this, i, ")]},;?:") &&
           !tj_operands_any(this, i, lower_operators)) {
        size_t last = tj_operands_in(this, i, "([{") ? tj_operands_mate(this, i) : i;
        if (last == i && tj_operands_in(this, i, "([{"))
            return begin;
        i = last + 1;
    }
    return i < this->end || i == this->tokens.count ? i : begin;
}

/* Returns the first semicolon in [i, end) outside brackets; end if there is none. */
static size_t semicolon(const tj_operands *this, size_t i, size_t end)
{
    while (i < end && !tj_operands_in(this, i, ";"))
        i = (tj_operands_in(this, i, "([{") ? tj_operands_mate(this, i) : i) + 1;
    return i < end ? i : end;
}

/* Handles if (...), while (...) and for (...; ...; ...) at i. */
static void mark_parentheses(tj_operands *this, size_t i)
{
    size_t open = i + 1;
    if (!tj_operands_in(this, open, "(") || tj_operands_mate(this, open) == open)
        return;
    size_t first = open + 1, behind = tj_operands_mate(this, open);
    if (tj_operands_any(this, i, "for")) {
        size_t close = behind;
        first = semicolon(this, first, close) + 1;
        behind = semicolon(this, first, close);
        if (behind >= close || semicolon(this, behind + 1, close) < close)
            return; /* a macro contains the others */
    }
    mark_condition(this, first, behind, TJ_LOOSE);
}

/* Recognises &&label. */
static bool is_address(const tj_operands *this, size_t i)
{
    bool perhaps;
    size_t last = i - 1;
    if (tj_operands_known(this, &this->labels, i + 1) || i == this->begin)
        return true;
    if (tj_operands_in(this, last, ")"))
        return tj_operands_mate(this, last) < last &&
               tj_operands_is_type(this, tj_operands_mate(this, last), &perhaps);
    return this->tokens.items[last].kind == TJ_TOKEN_PUNCTUATOR &&
           !tj_operands_in(this, last, "]}") && !tj_operands_any(this, last, "++ --");
}

/* Recognises `x ? : y`, or a text that may be one: with a directive or a macro in the middle. */
static bool is_elvis(const tj_operands *this, size_t i)
{
    if (i + 1 == this->end || tj_operands_in(this, i + 1, ":"))
        return true;
    return tj_operands_in(this, i + 2, ":") && !tj_operands_is_literal(this, i + 1) &&
           (this->is_body || tj_operands_known(this, &this->macros, i + 1));
}

static void mark_operands(tj_operands *this, size_t i)
{
    size_t first = operand_before(this, i);
    bool marked = first > this->begin && tj_operands_any(this, first - 1, "&& ||");
    bool choice = tj_operands_any(this, i, "?");
    if (choice ? is_elvis(this, i) : is_address(this, i))
        return;
    if (!marked)
        mark_condition(this, first, i, TJ_OPEN);
    if (!choice)
        mark_condition(this, i + 1, operand_behind(this, i + 1), TJ_OPEN);
}

/* Marks conditions in functions and macros. Other text must be constant, and for libtcc !!(address) is not. */
static void mark_range(tj_operands *this)
{
    size_t depth = this->depth;
    for (size_t i = this->begin, behind; i<this->end; i = behind> i ? behind : i + 1) {
        behind = tj_operands_behind_call(this, i);
        depth += tj_operands_in(this, i, "{");
        depth -= depth > 0 && tj_operands_in(this, i, "}");
        if (depth == 0 && !this->is_body)
            continue;
        if (tj_operands_any(this, i, "if while for"))
            mark_parentheses(this, i);
        else if (tj_operands_any(this, i, "&& || ?"))
            mark_operands(this, i);
    }
}

void tj_truths_write(const char *text, tj_text *out)
{
    tj_operands_rewrite(text, may_have_long_double, mark_range, "!!(", false, out);
}
