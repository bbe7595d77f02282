/* operands.h: a text whose operands get something written around them (negations.c, truths.c).
 * Internal to tinyjit.
 *
 * A text is read in ranges: what stands between two directives, and the body of each #define.
 * Nothing is certain of an operand beyond the edge of its range, nor of one with a name that may
 * stand for something else than one operand: a macro with operators outside of brackets, or a
 * macro's parameter. What a macro does with its arguments is not looked at: there is nothing in
 * them to write around.
 */
#pragma once

#include "internal.h"
#include "read/tokens.h"

/* What to write at a token. */
typedef struct tj_mark {
    size_t opens, closes; /* operands that begin and end with it */
    const char *opening;  /* static: what to write; NULL: see tj_operands_rewrite() */
} tj_mark;

typedef struct tj_operands {
    tj_tokens tokens;  /* owned; mates are those in the range, and `count` for others */
    tj_mark *marks;    /* owned: one for each token */
    tj_map types;      /* owned: names that the text gives to types */
    tj_map macros;     /* owned: those whose operators are not in brackets */
    tj_map calls;      /* owned: macros with parameters */
    tj_map defined;    /* owned: all macros */
    tj_map labels;     /* owned */
    size_t begin, end; /* the range: tokens */
    size_t
        before; /* the token before it that is in no directive; count: none is, or which depends on conditions */
    size_t depth; /* open braces in front of it */
    bool is_body; /* of a #define ... */
    size_t parameters; /* ... which has these, from here to begin; begin: it has none */
    bool hashes; /* ... which pastes or spells something */
    bool computes; /* the text has #if or #elif in which there are its macros */
    bool failed; /* there was no memory */
} tj_operands;

/* How far it is certain that a name is one operand. */
typedef enum tj_openness {
    TJ_CLOSED,
    TJ_OPEN, /* operators outside of brackets, such as + */
    TJ_LOOSE /* among these are && || ? : = and commas; or it is no operand at all */
} tj_openness;

/* Appends the text on the same lines, as mark() of each of its ranges says: with `opening` at each token
 * that opens something, in place of it (replaces), or before it as often as it does, and with ")" behind
 * those that close something. is_concerned: false for a text that stays as it is; NULL: none does. */
void tj_operands_rewrite(const char *text, bool (*is_concerned)(const tj_operands *this),
                         void (*mark)(tj_operands *this), const char *opening, bool replaces,
                         tj_text *out);

/* Token i is in the range, and is one of these. */
bool tj_operands_in(const tj_operands *this, size_t i, const char *bytes);
bool tj_operands_any(const tj_operands *this, size_t i, const char *words);
/* Token i is a name that the map has. */
bool tj_operands_known(const tj_operands *this, const tj_map *map, size_t i);
/* The token behind the arguments of a macro of the text at i; i: there is none. */
size_t tj_operands_behind_call(const tj_operands *this, size_t i);
/* A name or literal that is an operand. */
bool tj_operands_is_primary(const tj_operands *this, size_t i);
bool tj_operands_is_literal(const tj_operands *this, size_t i);
/* The other bracket, which is in the range; i: there is none. */
size_t tj_operands_mate(const tj_operands *this, size_t i);
/* The bracket at `open` has a type in it and nothing else. *perhaps: it may have, as when it has one name, of which
 * the text does not tell what it is. */
bool tj_operands_is_type(const tj_operands *this, size_t open, bool *perhaps);
/* The token behind the unary expression that begins at i; i: none does, it is a literal, or it is not certain that
 * it ends there. */
size_t tj_operands_behind_whole(const tj_operands *this, size_t i);
/* Nothing in [first, behind) may be more than one operand, up to this openness. */
bool tj_operands_is_certain(const tj_operands *this, size_t first, size_t behind, tj_openness most);
