/* tokens.c: stores the tokens of a C text in an array (tokens.h).
 *
 * One stack pairs the brackets, whatever the conditions around them are. Brackets in directives are not
 * paired: they are their own mates. */
#include "read/tokens.h"

bool tj_tokens_add(tj_tokens *this, const tj_token *token)
{
    if (!tj_grow(&this->items, this->count, &this->capacity, sizeof *this->items))
        return false;
    this->items[this->count++] = *token;
    return true;
}

static bool keep(tj_tokens *this, tj_token token, const char *text)
{
    if (token.length && token.text != text + token.start) { /* it points to the lexer's memory */
        tj_words_add(&this->spelled, token.text, token.length);
        if (this->spelled.failed)
            return false;
        token.text = this->spelled.items[this->spelled.count - 1];
    }
    if (token.kind == TJ_TOKEN_NAME)
        token.word = tj_word_of(token.text, token.length);
    return tj_tokens_add(this, &token);
}

bool tj_tokens_list(tj_tokens *this, const char *text, size_t length)
{
    *this = (tj_tokens){0};
    bool fine = true;
    tj_lexer lexer;
    tj_lexer_init(&lexer, text, length);
    while (fine) {
        tj_token token = tj_lexer_next(&lexer);
        if (token.kind == TJ_TOKEN_END)
            break;
        if (token.kind != TJ_TOKEN_NEWLINE)
            fine = keep(this, token, text);
    }
    fine = fine && !lexer.spelling.failed;
    tj_lexer_clear(&lexer);
    return fine;
}

/* Until a bracket is closed, its mate is the next outer open bracket. */
void tj_tokens_pair_range(tj_tokens *this, size_t begin, size_t end)
{
    size_t open = this->count;
    for (size_t i = begin; i < end; i++) {
        if (tj_token_directs(this, i)) {
            for (size_t behind = tj_tokens_behind_line(this, i); i < behind; i++)
                this->mates[i] = i;
            i--;
        } else if (tj_token_in(this, i, "([{")) {
            this->mates[i] = open;
            open = i;
        } else if (tj_token_in(this, i, ")]}")) {
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
}

bool tj_tokens_pair(tj_tokens *this)
{
    this->mates = tj_alloc_zeroed(this->count + 1, sizeof *this->mates);
    if (this->mates)
        tj_tokens_pair_range(this, 0, this->count);
    return this->mates;
}

bool tj_tokens_read(tj_tokens *tokens, const char *text, size_t length)
{
    return tj_tokens_list(tokens, text, length) && tj_tokens_pair(tokens);
}

void tj_tokens_clear(tj_tokens *tokens)
{
    tj_free(tokens->items);
    tj_free(tokens->mates);
    tj_words_clear(&tokens->spelled);
    *tokens = (tj_tokens){0};
}

bool tj_word_among(const char *word, size_t length, const char *words)
{
    bool has_text =
        length > 0 && !memchr(word, 0, length); /* a NUL is in no list, but would end it */
    const char *at = has_text ? strchr(words, *word) : NULL;
    for (; at; at = strchr(at + 1, *word))
        if ((at == words || at[-1] == ' ') && !strncmp(at, word, length) &&
            (!at[length] || at[length] == ' '))
            return true;
    return false;
}

bool tj_token_among(const tj_tokens *tokens, size_t i, const char *words)
{
    return i < tokens->count &&
           tj_word_among(tokens->items[i].text, tokens->items[i].length, words);
}

bool tj_token_is_name(const tj_tokens *tokens, size_t i)
{
    return i < tokens->count && tokens->items[i].kind == TJ_TOKEN_NAME;
}

bool tj_token_is_joined(const tj_token *token, const char *prefix, const char *name)
{
    size_t length = strlen(prefix);
    return token->length == length + strlen(name) && !memcmp(token->text, prefix, length) &&
           !memcmp(token->text + length, name, token->length - length);
}

bool tj_bytes_hold(const char *bytes, size_t length, const char *part)
{
    size_t size = strlen(part);
    const char *end = bytes + length, *at = bytes;
    for (; (at = memchr(at, *part, (size_t)(end - at))) && (size_t)(end - at) >= size; at++)
        if (!memcmp(at, part, size))
            return true;
    return false;
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

size_t tj_tokens_behind_dead_lines(const tj_tokens *tokens, size_t at)
{
    int depth = 0;
    at = tj_tokens_behind_line(tokens, at);
    for (; at < tokens->count; at = tj_tokens_behind_line(tokens, at)) {
        if (!tj_token_directs(tokens, at))
            continue;
        if (tj_token_among(tokens, at + 1, "if ifdef ifndef"))
            depth++;
        else if (depth == 0 && tj_token_among(tokens, at + 1, "else elif endif"))
            break;
        else if (tj_token_at(tokens, at + 1, "endif"))
            depth--;
    }
    return at;
}
