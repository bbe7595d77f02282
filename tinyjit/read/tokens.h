/* tokens.h: stores the tokens of a C text in an array, for readers that look ahead. Internal to tinyjit. */
#pragma once

#include "internal.h"
#include "read/lexer.h"

enum {
    TJ_MAX_CONDITIONS = 64 /* most open conditions, as in libtcc */
};

typedef struct tj_tokens {
    tj_token *items; /* owned; without NEWLINE and END: `first` marks the beginnings of lines */
    size_t *mates; /* owned: for each bracket the index of the matching one, or count */
    size_t count, capacity;
    tj_words spelled; /* owned: the spellings of tokens that span lines */
} tj_tokens;

/* A fault of a text and its place. */
typedef struct tj_fault {
    const char *text; /* static; NULL: no fault. "%.*s" in it stands for the text at this place */
    size_t start, end;
} tj_fault;

/* Reads a text. Returns false if out of memory. The caller must always clear tokens. */
bool tj_tokens_read(tj_tokens *tokens, const char *text, size_t length);
/* Reads a text without setting the mates. */
bool tj_tokens_list(tj_tokens *tokens, const char *text, size_t length);
/* Appends a copy. Returns false if out of memory. */
bool tj_tokens_add(tj_tokens *tokens, const tj_token *token);
void tj_tokens_clear(tj_tokens *tokens);
/* Sets the mates, which must not be set yet. Returns false if out of memory. */
bool tj_tokens_pair(tj_tokens *tokens);
/* Sets the mates of the brackets among the tokens [begin, end), as if there were no others. */
void tj_tokens_pair_range(tj_tokens *tokens, size_t begin, size_t end);

/* Returns true if token i exists and has this spelling. */
static inline bool tj_token_at(const tj_tokens *tokens, size_t i, const char *spelling)
{
    return i < tokens->count && tj_token_is(&tokens->items[i], spelling);
}

/* Returns true if token i exists and is a keyword of one of these kinds. */
static inline bool tj_token_word(const tj_tokens *tokens, size_t i, int words)
{
    return i < tokens->count && (tokens->items[i].word & words);
}

/* Returns true if token i exists and is one of these one-byte punctuators. */
static inline bool tj_token_in(const tj_tokens *tokens, size_t i, const char *bytes)
{
    return i < tokens->count && tj_token_is_one(&tokens->items[i], bytes);
}

/* Returns true if `words`, separated by blanks, contain this word. */
bool tj_word_among(const char *word, size_t length, const char *words);
bool tj_token_among(const tj_tokens *tokens, size_t i, const char *words);
bool tj_token_is_name(const tj_tokens *tokens, size_t i);
/* Returns true if the token is the identifier PREFIXNAME. */
bool tj_token_is_joined(const tj_token *token, const char *prefix, const char *name);
/* Returns true if the bytes contain `part`. */
bool tj_bytes_hold(const char *bytes, size_t length, const char *part);
/* Returns true if token i is the # of a directive. */
bool tj_token_directs(const tj_tokens *tokens, size_t i);
/* Returns the index after the directive that begins at i. */
size_t tj_tokens_behind_line(const tj_tokens *tokens, size_t i);
/* Returns the index after the lines that the condition at i, such as #if 0, removes. */
size_t tj_tokens_behind_dead_lines(const tj_tokens *tokens, size_t i);

/* ---- nesting.c -------------------------------------------------------------------- */

enum {
    TJ_MAX_DEPTH = 5000 /* the parser survives 20,000 on TJ_BIG_STACK */
};

/* Checks brackets and depth. With is_expression it checks only depth, because the compiler checks the
 * brackets. Returns false if out of memory. */
bool tj_nesting_check(const tj_tokens *tokens, bool is_expression, tj_fault *fault);

/* ---- place.c ---------------------------------------------------------------------- */

/* Converts an offset to a line and a column: both 1-based, columns in bytes. */
void tj_text_place(const char *text, size_t length, size_t offset, int *line, int *column);
/* Appends an error about the bytes [start, end) of a piece. */
void tj_messages_add_at(tj_messages *messages, const tj_piece *piece, size_t start, size_t end,
                        const char *format, ...);

/* ---- vocabulary.c ----------------------------------------------------------------- */

/* The prefixes of an operand's name in the names that snippets use. */
extern const char *const tj_value_prefixes[]; /* NULL-terminated */

tj_word tj_word_of(const char *name, size_t length);

/* ---- defined.c --------------------------------------------------------------- */

/* Adds the names of the functions that a text defines at file scope. Returns false if out of memory. */
bool tj_defined_collect(const char *text, tj_names *names);

/* ---- names.c ----------------------------------------------------------------- */

/* Adds the identifiers of a text. Returns false if out of memory. */
bool tj_names_add(tj_names *names, const tj_tokens *tokens);
/* Like tj_names_have(), for the identifier PREFIXNAME. */
bool tj_names_have_joined(const tj_names *names, const char *prefix, const char *name);
