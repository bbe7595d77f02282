/* operands.h: inserts text around the operands of a C text (negations.c, truths.c). Internal to tinyjit.
 *
 * A text is read in ranges: the text between two directives, and the body of each #define. An operand is not certain if
 * it may extend beyond its range, or if it contains a name that may stand for more than one operand: a macro with
 * operators outside brackets, or a macro's parameter. Arguments of macros are not searched for operands. */
#pragma once

#include "internal.h"
#include "read/tokens.h"

/* The text to insert at a token. */
typedef struct tj_mark {
    size_t opens, closes; /* the numbers of operands that begin and end with this token */
    const char *opening; /* static: the text to insert; NULL: see tj_operands_rewrite() */
} tj_mark;

typedef struct tj_operands {
    tj_tokens tokens; /* owned; the brackets in the range have mates there, or `count` */
    tj_mark *marks; /* owned: one per token */
    tj_map types; /* owned: the type names that the text defines */
    tj_map macros; /* owned: macros with operators outside brackets */
    tj_map calls; /* owned: macros that have parameters */
    tj_map defined; /* owned: all macros */
    tj_map labels; /* owned */
    size_t begin, end; /* the tokens of the range */
    size_t before; /* the token before the range, outside directives; count: none, or not certain */
    size_t depth; /* the number of open braces before the range */
    bool is_body; /* the range is the body of a #define ... */
    size_t parameters; /* ... its parameters: the tokens from here to begin; begin: none */
    bool hashes; /* ... which uses ## or # */
    bool computes; /* an #if or #elif of the text uses one of its macros */
    bool failed; /* out of memory */
} tj_operands;

/* Says whether a name stands for one operand. */
typedef enum tj_openness {
    TJ_CLOSED,
    TJ_OPEN, /* it contains operators outside brackets, such as + */
    TJ_LOOSE /* these include && || ? : = or commas; or it is not an operand */
} tj_openness;

/* Appends the text on the same lines. Calls mark() for each range, to set the marks. Writes `opening` at each token
 * that begins operands: in place of the token (replaces), or before it, once per operand. Writes ")" after tokens that
 * end operands. is_concerned: returns false for a text that needs no change; NULL: every text may need changes. */
void tj_operands_rewrite(const char *text, bool (*is_concerned)(const tj_operands *this),
                         void (*mark)(tj_operands *this), const char *opening, bool replaces,
                         tj_text *out);

/* Returns true if token i is in the range and is one of these punctuators. */
bool tj_operands_in(const tj_operands *this, size_t i, const char *bytes);
bool tj_operands_any(const tj_operands *this, size_t i, const char *words);
/* Returns true if token i is a name that the map contains. */
bool tj_operands_known(const tj_operands *this, const tj_map *map, size_t i);
/* Returns the token after the arguments of a macro call at i; i if there is none. */
size_t tj_operands_behind_call(const tj_operands *this, size_t i);
/* Returns true if token i is a name or literal that is an operand. */
bool tj_operands_is_primary(const tj_operands *this, size_t i);
bool tj_operands_is_literal(const tj_operands *this, size_t i);
/* Returns the matching bracket if it is in the range, else i. */
size_t tj_operands_mate(const tj_operands *this, size_t i);
/* Returns true if the brackets at `open` contain a type and nothing else. Sets *perhaps if they may contain
 * one, for example a single name that the text does not declare. */
bool tj_operands_is_type(const tj_operands *this, size_t open, bool *perhaps);
/* Returns the token after the unary expression that begins at i. Returns i if there is no such expression, if
 * it is a literal, or if its end is not certain. */
size_t tj_operands_behind_whole(const tj_operands *this, size_t i);
/* Returns true if each token in [first, behind) is at most one operand, up to this openness. */
bool tj_operands_is_certain(const tj_operands *this, size_t first, size_t behind, tj_openness most);
