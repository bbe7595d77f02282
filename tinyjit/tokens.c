/* tokens.c: a C text as an array of tokens (tokens.h).
 *
 * Brackets are paired by one stack, without regard to conditions; those of
 * directives are left alone: they are their own mates.
 */
#include "tokens.h"

static bool keep(tj_tokens *this, size_t *capacity, const tj_token *token, const char *text)
{
    if (!tj_grow(&this->items, this->count, capacity, sizeof *this->items))
        return false;
    tj_token *kept = &this->items[this->count];
    *kept = *token;
    if (token->length && kept->text != text + token->start) { /* the lexer's own memory */
        tj_words_add(&this->spelled, token->text, token->length);
        if (this->spelled.failed)
            return false;
        kept->text = this->spelled.items[this->spelled.count - 1];
    }
    this->count++;
    return true;
}

static bool read_all(tj_tokens *this, const char *text, size_t length)
{
    bool fine = true;
    size_t capacity = 0;
    tj_lexer lexer;
    tj_lexer_init(&lexer, text, length);
    while (fine) {
        tj_token token = tj_lexer_next(&lexer);
        if (token.kind == TJ_TOKEN_END)
            break;
        if (token.kind != TJ_TOKEN_NEWLINE && token.kind != TJ_TOKEN_COMMENT)
            fine = keep(this, &capacity, &token, text);
    }
    fine = fine && !lexer.spelling.failed;
    tj_lexer_clear(&lexer);
    return fine;
}

static bool is_one(const tj_token *token, const char *bytes)
{
    return token->kind == TJ_TOKEN_PUNCTUATOR && token->length == 1 && strchr(bytes, *token->text);
}

/* The open brackets are a list through mates: each holds the one around it. */
static bool pair_brackets(tj_tokens *this)
{
    this->mates = tj_alloc_zeroed(this->count + 1, sizeof *this->mates);
    if (!this->mates)
        return false;
    size_t open = this->count;
    for (size_t i = 0; i < this->count; i++) {
        if (tj_token_directs(this, i)) {
            for (size_t end = tj_tokens_behind_line(this, i); i < end; i++)
                this->mates[i] = i;
            i--;
        } else if (is_one(&this->items[i], "([{")) {
            this->mates[i] = open;
            open = i;
        } else if (is_one(&this->items[i], ")]}")) {
            size_t around = open < this->count ? this->mates[open] : open;
            this->mates[i] = open;
            if (open < this->count)
                this->mates[open] = i;
            open = around;
        }
    }
    while (open < this->count) {
        size_t around = this->mates[open];
        this->mates[open] = this->count;
        open = around;
    }
    return true;
}

bool tj_tokens_read(tj_tokens *tokens, const char *text, size_t length)
{
    *tokens = (tj_tokens){0};
    return read_all(tokens, text, length) && pair_brackets(tokens);
}

void tj_tokens_clear(tj_tokens *tokens)
{
    tj_free(tokens->items);
    tj_free(tokens->mates);
    tj_words_clear(&tokens->spelled);
    *tokens = (tj_tokens){0};
}

bool tj_token_among(const tj_tokens *tokens, size_t i, const char *const *words)
{
    for (; i < tokens->count && *words; words++)
        if (tj_token_is(&tokens->items[i], *words))
            return true;
    return false;
}

bool tj_token_is_name(const tj_tokens *tokens, size_t i)
{
    return i < tokens->count && tokens->items[i].kind == TJ_TOKEN_NAME;
}

bool tj_token_directs(const tj_tokens *tokens, size_t i)
{
    return i < tokens->count && tokens->items[i].first && tj_token_is(&tokens->items[i], "#");
}

size_t tj_tokens_behind_line(const tj_tokens *tokens, size_t i)
{
    for (i++; i < tokens->count && !tokens->items[i].first; i++)
        continue;
    return i;
}
