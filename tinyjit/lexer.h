/* lexer.h: C text as tokens. Internal to tinyjit.
 *
 * One pass over a text, without a preprocessor: comments and line
 * continuations disappear, everything else is a token. The scanner (scan.c)
 * and the set of names (names.c) read texts through it.
 */
#ifndef TJ_LEXER_H
#define TJ_LEXER_H

#include <string.h>

#include "tinyjit.h"

typedef enum tj_token_kind {
    TJ_TOKEN_END,
    TJ_TOKEN_NEWLINE, /* ends a directive, means nothing elsewhere */
    TJ_TOKEN_NAME,
    TJ_TOKEN_NUMBER,
    TJ_TOKEN_STRING, /* with its quotes; a prefix such as L is a name before it */
    TJ_TOKEN_CHARACTER,
    TJ_TOKEN_PUNCTUATOR,
    TJ_TOKEN_BAD,    /* the quote of a string or character constant without end */
    TJ_TOKEN_COMMENT /* a comment without end; END comes next */
} tj_token_kind;

typedef struct tj_token {
    tj_token_kind kind;
    const char *text; /* without line continuations; valid until the next token */
    size_t length;    /* bytes, 0 for END, NEWLINE, BAD and COMMENT */
    size_t start;     /* offset in the text */
    size_t end;       /* offset of its end */
    bool first;       /* the first of its line: a # here begins a directive */
    bool spaced;      /* white space comes before it */
} tj_token;

typedef struct tj_lexer {
    const char *text;
    size_t length;
    size_t at;
    bool line_start;
    const char *fault; /* static: what is wrong with a BAD or COMMENT token */
    tj_text spelling;  /* owned: a token that spans lines */
} tj_lexer;

void tj_lexer_init(tj_lexer *lexer, const char *text, size_t length);
void tj_lexer_clear(tj_lexer *lexer);
/* Reads one token. After END it returns END again. */
tj_token tj_lexer_next(tj_lexer *lexer);
static inline bool tj_token_is(const tj_token *token, const char *spelling)
{
    return token->text[0] == spelling[0] && strlen(spelling) == token->length &&
           !memcmp(token->text, spelling, token->length);
}

/* The place of an offset: both 1-based, columns in bytes. */
void tj_text_place(const char *text, size_t length, size_t offset, int *line, int *column);

/* True for text that is one C identifier; bytes >= 0x80 count as letters. */
bool tj_is_identifier(const char *text);

/* ---- names.c --------------------------------------------------------------- */

/* As tj_names_have() for `prefix` and `name` joined. */
bool tj_names_have_joined(const tj_names *names, const char *prefix, const char *name);

#endif
