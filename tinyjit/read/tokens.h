/* tokens.h: a C text as an array of tokens, for readers that look ahead. Internal
 * to tinyjit. */
#pragma once

#include "internal.h"
#include "read/lexer.h"

enum {
    TJ_MAX_CONDITIONS = 64 /* open at a time, as in libtcc */
};

typedef struct tj_tokens {
    tj_token *items; /* owned; without NEWLINE and END: `first` says where lines begin */
    size_t *mates;   /* owned: of brackets, the index of the other one, or count */
    size_t count, capacity;
    tj_words spelled; /* owned: the spellings of those that span lines */
} tj_tokens;

/* What is wrong with a text, and where. */
typedef struct tj_fault {
    const char *text; /* static; NULL: nothing. "%.*s" in it stands for what is there */
    size_t start, end;
} tj_fault;

/* Reads a text. Returns false without memory; to be cleared in any case. */
bool tj_tokens_read(tj_tokens *tokens, const char *text, size_t length);
/* The same without mates. */
bool tj_tokens_list(tj_tokens *tokens, const char *text, size_t length);
/* Appends a copy. Returns false without memory. */
bool tj_tokens_add(tj_tokens *tokens, const tj_token *token);
void tj_tokens_clear(tj_tokens *tokens);
/* Finds the mates; there must be none yet. Returns false without memory. */
bool tj_tokens_pair(tj_tokens *tokens);

/* Token i exists and is spelled so. */
static inline bool tj_token_at(const tj_tokens *tokens, size_t i, const char *spelling)
{
    return i < tokens->count && tj_token_is(&tokens->items[i], spelling);
}

/* ... is a keyword of one of these kinds. */
static inline bool tj_token_word(const tj_tokens *tokens, size_t i, int words)
{
    return i < tokens->count && (tokens->items[i].word & words);
}

/* ... is one of these punctuators of one byte each. */
static inline bool tj_token_in(const tj_tokens *tokens, size_t i, const char *bytes)
{
    return i < tokens->count && tj_token_is_one(&tokens->items[i], bytes);
}

/* One of these words, which have blanks between them. */
bool tj_word_among(const char *word, size_t length, const char *words);
bool tj_token_among(const tj_tokens *tokens, size_t i, const char *words);
bool tj_token_is_name(const tj_tokens *tokens, size_t i);
/* It is `prefix` and `name` joined. */
bool tj_token_is_joined(const tj_token *token, const char *prefix, const char *name);
/* `part` occurs in the bytes. */
bool tj_bytes_hold(const char *bytes, size_t length, const char *part);
/* Token i is the # of a directive. */
bool tj_token_directs(const tj_tokens *tokens, size_t i);
/* The index behind the directive that begins at i. */
size_t tj_tokens_behind_line(const tj_tokens *tokens, size_t i);
/* The index behind the lines that the condition at i, such as #if 0, takes out. */
size_t tj_tokens_behind_dead_lines(const tj_tokens *tokens, size_t i);

/* ---- nesting.c -------------------------------------------------------------------- */

enum {
    TJ_MAX_DEPTH = 5000 /* the parser survives 20,000 on TJ_BIG_STACK */
};

/* Looks for what is wrong with brackets and depth; is_expression: with depth alone, the
 * compiler finds the brackets. Returns false without memory. */
bool tj_nesting_check(const tj_tokens *tokens, bool is_expression, tj_fault *fault);

/* ---- place.c ---------------------------------------------------------------------- */

/* The place of an offset: both 1-based, columns in bytes. */
void tj_text_place(const char *text, size_t length, size_t offset, int *line, int *column);
/* Appends an error about the bytes [start, end) of a piece. */
void tj_messages_add_at(tj_messages *messages, const tj_piece *piece, size_t start, size_t end,
                        const char *format, ...);

/* ---- vocabulary.c ----------------------------------------------------------------- */

/* What stands in front of an operand's name in the names that snippets have for it. */
extern const char *const tj_value_prefixes[]; /* NULL-terminated */

tj_word tj_word_of(const char *name, size_t length);

/* ---- names.c ----------------------------------------------------------------- */

/* Adds the identifiers of a text. Returns false without memory. */
bool tj_names_add(tj_names *names, const tj_tokens *tokens);
/* As tj_names_have() for `prefix` and `name` joined. */
bool tj_names_have_joined(const tj_names *names, const char *prefix, const char *name);
