/* tokens.h: a C text as an array of tokens, for readers that look ahead. Internal
 * to tinyjit. */
#ifndef TJ_TOKENS_H
#define TJ_TOKENS_H

#include "internal.h"
#include "lexer.h"

typedef struct tj_tokens {
    tj_token *items; /* owned; without NEWLINE and END: `first` says where lines begin */
    size_t *mates;   /* owned: of brackets, the index of the other one, or count */
    size_t count;
    tj_words spelled; /* owned: those that span lines */
} tj_tokens;

/* Reads a text. Returns false without memory; to be cleared in any case. */
bool tj_tokens_read(tj_tokens *tokens, const char *text, size_t length);
void tj_tokens_clear(tj_tokens *tokens);

/* Token i exists and is spelled so. */
static inline bool tj_token_at(const tj_tokens *tokens, size_t i, const char *spelling)
{
    return i < tokens->count && tj_token_is(&tokens->items[i], spelling);
}

/* One of the words of a NULL-terminated list. */
bool tj_token_among(const tj_tokens *tokens, size_t i, const char *const *words);
bool tj_token_is_name(const tj_tokens *tokens, size_t i);
/* The # of a directive. */
bool tj_token_directs(const tj_tokens *tokens, size_t i);
/* The index behind the directive that begins at i. */
size_t tj_tokens_behind_line(const tj_tokens *tokens, size_t i);

#endif
