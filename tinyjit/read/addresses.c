/* addresses.c: memory whose address is written as a number (typeless.h).
 *
 * libtcc cuts it to 32 bits and accesses another place, in silence: `*(double *)0x7f1234567890 = 1`.
 * So it does with some of what is read, as `1 + *(double *)0x7f1234567890`, and with no pointer
 * that is a variable. What is looked for is a number, with casts and constants around it, and then
 * an access.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "read/typeless.h"

/* An expression that grows around a number. */
typedef struct place {
    const tj_tokens *tokens;
    size_t first, behind;
    bool cast;    /* the number is a pointer, or made larger */
    bool pointer; /* what is certain of the outermost cast */
    bool access;  /* this is what lies there */
} place;

static bool is(const place *this, size_t i, const char *spelling)
{
    return tj_token_at(this->tokens, i, spelling);
}

/* More than libtcc keeps, which extends the sign. */
static bool is_far(const tj_tokens *tokens, size_t i)
{
    static const char digits[] = "0123456789abcdefABCDEFxXuUlL";
    const tj_token *token = &tokens->items[i];
    if (token->kind != TJ_TOKEN_NUMBER || strspn(token->text, digits) < token->length)
        return false;
    errno = 0;
    return strtoull(token->text, NULL, 0) > INT32_MAX && !errno;
}

/* The tokens from `first` on, up to `behind`, name nothing. */
static bool is_constant(const tj_tokens *tokens, size_t first, size_t behind)
{
    for (size_t i = first; i < behind; i++)
        if (tokens->items[i].kind != TJ_TOKEN_NUMBER &&
            tokens->items[i].kind != TJ_TOKEN_PUNCTUATOR)
            return false;
    return behind > first && behind <= tokens->count;
}

/* The parentheses that end at i are those of a statement. */
static bool ends_head(const tj_tokens *tokens, size_t i)
{
    static const char *const words[] = {"if", "while", "for", "switch", NULL};
    size_t open = tokens->mates[i];
    return open > 0 && open < i && tj_token_among(tokens, open - 1, words);
}

/* The last token of something that has a value, so that * behind it multiplies. */
static bool ends_operand(const tj_tokens *tokens, size_t i)
{
    static const char *const words[] = {"return", "else", "do", "case", NULL};
    if (tj_token_at(tokens, i, ")"))
        return !ends_head(tokens, i);
    return tokens->items[i].kind == TJ_TOKEN_NUMBER || tj_token_at(tokens, i, "]") ||
           (tj_token_is_name(tokens, i) && !tj_token_among(tokens, i, words));
}

/* Takes what is behind. False: nothing of that kind is. */
static bool grow_behind(place *this)
{
    static const char *const signs[] = {"+", "-", NULL};
    size_t next = this->behind;
    if (this->cast && is(this, next, "[") &&
        is_constant(this->tokens, next + 1, this->tokens->mates[next])) {
        this->behind = this->tokens->mates[next] + 1;
        this->access = true;
    } else if (tj_token_is_name(this->tokens, next + 1) &&
               ((this->cast && is(this, next, "->")) || (this->access && is(this, next, ".")))) {
        this->behind = next + 2;
        this->access = true;
    } else if (!this->access && tj_token_among(this->tokens, next, signs) &&
               is_constant(this->tokens, next + 1, next + 2)) {
        this->behind = next + 2;
    } else {
        return false;
    }
    return true;
}

/* Takes what is in front, or around. */
static bool grow_before(place *this)
{
    if (this->first == 0)
        return false;
    size_t before = this->first - 1;
    if (is(this, before, "(") && this->tokens->mates[before] == this->behind) {
        this->behind++;
        this->first = before;
    } else if (is(this, before, ")") && this->tokens->mates[before] < before && !this->access) {
        this->first = this->tokens->mates[before];
        this->cast = true;
        this->pointer = is(this, before - 1, "*");
    } else if (this->cast && is(this, before, "*") &&
               (this->pointer || before == 0 || !ends_operand(this->tokens, before - 1))) {
        this->first = before;
        this->access = true;
    } else {
        return false;
    }
    return true;
}

bool tj_addresses_check(const tj_tokens *tokens, const tj_piece *piece, tj_messages *messages)
{
    for (size_t i = 0; i < tokens->count; i++) {
        if (!is_far(tokens, i))
            continue;
        place this = {.tokens = tokens, .first = i, .behind = i + 1};
        while (grow_behind(&this) || grow_before(&this))
            ;
        if (!this.access || (this.first > 0 && is(&this, this.first - 1, "&")))
            continue;
        tj_messages_add_at(messages, piece, tokens->items[i].start, tokens->items[i].end,
                           "libtcc cuts this address to 32 bits: put it into a pointer variable "
                           "first");
        break;
    }
    return !messages->failed;
}
