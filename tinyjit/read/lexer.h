/* lexer.h: splits C text into tokens. Internal to tinyjit.
 *
 * One pass over a text, without a preprocessor: it removes comments and line continuations and turns
 * everything else into tokens. The scanner (scan.c) and the set of names (names.c) use it. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "tinyjit.h"

typedef enum tj_token_kind {
    TJ_TOKEN_END,
    TJ_TOKEN_NEWLINE, /* ends a directive; ignored elsewhere */
    TJ_TOKEN_NAME,
    TJ_TOKEN_NUMBER,
    TJ_TOKEN_STRING, /* with its quotes; a prefix such as L is a separate name token */
    TJ_TOKEN_CHARACTER,
    TJ_TOKEN_PUNCTUATOR,
    TJ_TOKEN_BAD,     /* the quote of an unterminated string or character constant */
    TJ_TOKEN_COMMENT, /* an unterminated comment, then END; with `comments` set, any comment */
    /* after macro expansion (expand.h), without text: */
    TJ_TOKEN_DOUBT, /* the next tokens come from a macro that may have another definition */
    TJ_TOKEN_IF,    /* a condition begins ... */
    TJ_TOKEN_ELSE,  /* ... one branch ends and another begins ... */
    TJ_TOKEN_WAY,   /* ... a branch ends and none begins, or a branch may be empty ... */
    TJ_TOKEN_ENDIF
} tj_token_kind;

/* Kinds of keywords. Add them up to ask for one of several. */
typedef enum tj_word {
    TJ_NO_WORD = 0,
    TJ_QUALIFIER = 1 << 0,     /* const, _Atomic ... */
    TJ_STORAGE = 1 << 1,       /* static, inline ... */
    TJ_TYPEDEF = 1 << 2,
    TJ_THREAD_LOCAL = 1 << 3,
    TJ_TYPE = 1 << 4,          /* int ... */
    TJ_DEFINER = 1 << 5,       /* struct, union, enum */
    TJ_TYPEOF = 1 << 6,
    TJ_ATTRIBUTE = 1 << 7,     /* takes an operand in parentheses */
    TJ_EXTENSION = 1 << 8,
    TJ_STATEMENT = 1 << 9,     /* if, return ... */
    TJ_ASSEMBLER = 1 << 10,
    TJ_MEASURE = 1 << 11,      /* sizeof ... */
    TJ_OTHER_WORD = 1 << 12
} tj_word;

/* Small, because macros create millions of tokens. */
typedef struct tj_token {
    const char *text;  /* without line continuations; valid until the next token. For BAD and
                          COMMENT: a static error text */
    uint32_t length; /* bytes; 0 except for names, numbers, literals and punctuators */
    uint32_t start; /* offset in the text */
    uint32_t end; /* offset of its end in the text */
    tj_token_kind kind : 8;
    tj_word word : 16; /* set in arrays of tokens, for names that are keywords */
    bool first : 1; /* the first token of its line: here # begins a directive */
    bool spaced : 1; /* white space comes before it */
    /* after macro expansion: */
    bool made : 1;  /* from a macro's body; its place is that of the macro's name in the text */
    bool plain : 1; /* a macro's name inside its own expansion, which is not expanded again */
    bool doubtful : 1; /* from a macro that may have another definition */
} tj_token;

typedef struct tj_lexer {
    const char *text;
    size_t length;
    size_t at;
    bool line_start;
    bool comments; /* return comments as tokens */
    tj_text spelling; /* owned: a token that spans several lines */
} tj_lexer;

/* Begins to read a text. If it is too long for the offsets (TJ_MAX_TEXT is not), only its beginning is read. */
void tj_lexer_init(tj_lexer *lexer, const char *text, size_t length);
void tj_lexer_clear(tj_lexer *lexer);
/* Returns the next token. After END it returns END again. */
tj_token tj_lexer_next(tj_lexer *lexer);
/* True for bytes of names and numbers. */
bool tj_is_name_byte(char byte);
static inline bool tj_token_is(const tj_token *token, const char *spelling)
{
    return token->text[0] == spelling[0] && strlen(spelling) == token->length &&
           !memcmp(token->text, spelling, token->length);
}
static inline bool tj_token_same(const tj_token *one, const tj_token *other)
{
    return one->length == other->length && !memcmp(one->text, other->text, one->length);
}
static inline bool tj_token_starts(const tj_token *token, const char *prefix)
{
    size_t length = strlen(prefix);
    return token->length >= length && !memcmp(token->text, prefix, length);
}
/* Returns true if the token is one of these one-byte punctuators. */
static inline bool tj_token_is_one(const tj_token *token, const char *bytes)
{
    return token->kind == TJ_TOKEN_PUNCTUATOR && token->length == 1 && strchr(bytes, *token->text);
}
