/* nesting.h: how deep a C parser descends. Internal to tinyjit.
 *
 * libtcc is a recursive parser that ends the process when its stack or the
 * memory is used up. So a text is measured before it sees it: brackets, unary
 * operators, chains of `?:`, `=` and statements, all of them also as macros
 * make them, and the number of tokens that one macro call becomes. The measure
 * is of the form of the text alone and errs on the large side.
 */
#ifndef TJ_NESTING_H
#define TJ_NESTING_H

#include "lexer.h"

enum {
    TJ_MAX_DEPTH = 5000,       /* the parser survives 20,000 on TJ_COMPILE_STACK */
    TJ_MAX_EXPANSION = 1 << 20, /* tokens of one macro call: some 60 MB in libtcc */
    TJ_MAX_MACRO_LEVELS = 200  /* macros that use macros that ... */
};

/* What using a macro does to the text around it. All figures saturate. */
typedef struct tj_weight {
    size_t peak;   /* how deep its expansion goes */
    size_t rest;   /* operators that still wait for an operand at its end */
    size_t statements; /* those that are not complete at its end */
    size_t size;   /* tokens */
    size_t copies; /* of its arguments */
    size_t leaks; /* those of them that no bracket of its own surrounds */
    size_t opens;  /* brackets that it leaves open */
    size_t closes; /* brackets that it closes for others */
    bool ended;        /* it ends with a statement */
    bool is_function;
} tj_weight;

/* ---- macros.c -------------------------------------------------------------- */

typedef struct tj_macros tj_macros;

tj_macros *tj_macros_new(void);
void tj_macros_free(tj_macros *macros);
/* text is what stands behind #define. Returns false without memory. */
bool tj_macros_define(tj_macros *macros, const char *text, size_t length);
void tj_macros_undefine(tj_macros *macros, const char *name);
/* The weight of a name: false if it is no macro. *fault is set, to a static
 * text, when the macro is beyond measure. */
bool tj_macros_weigh(tj_macros *macros, const char *name, size_t length, tj_weight *weight,
                     const char **fault);

/* ---- nesting.c ------------------------------------------------------------- */

/* An open bracket, or the text around all of them. */
typedef struct tj_level {
    char bracket;    /* '(' '[' '{', '?' for a macro's, 0 for the text */
    bool may_be_cast;
    bool is_call;    /* a macro's arguments: `call` is its weight */
    bool ended;      /* a statement ended: only `else` and `while` go on with it */
    char last;       /* what the last token leaves: see nesting.c */
    tj_weight call;
    size_t prefixes;  /* unary operators in front of an operand */
    size_t chain;     /* `=` and `?` whose right side is open */
    size_t questions; /* those of them that wait for their `:` */
    size_t statements; /* if, for, while, do, switch without end */
    size_t peak;      /* the deepest so far, relative to this level */
    size_t size;      /* tokens, macros expanded */
    size_t uses;      /* of a macro's parameter */
    size_t leaks; /* those of them that no bracket surrounds */
    size_t bare_peak; /* macros named without arguments: somebody may apply them */
    size_t bare_copies;
    size_t offset;    /* of the bracket in the text */
} tj_level;

/* Zeroed: not begun. */
typedef struct tj_nesting {
    tj_level *levels; /* owned */
    size_t count;
    size_t capacity;
    size_t closes;    /* brackets of others that were closed, where `is_macro` */
    size_t total;     /* tokens of all macro calls */
    bool is_macro;    /* the body of a macro: may be unbalanced */
    bool is_loose;    /* brackets depend on conditions: kinds are not compared */
    bool named, called; /* the last token was a macro, the end of a macro's call */
    tj_weight weight;   /* of that macro */
    size_t offset;      /* where it is in the text */
} tj_nesting;

bool tj_nesting_begin(tj_nesting *nesting, bool is_macro);
void tj_nesting_clear(tj_nesting *nesting);
bool tj_nesting_copy(tj_nesting *to, const tj_nesting *from);
/* Of two ways through a condition keeps the one with more open brackets, and
 * the larger figures of both. */
bool tj_nesting_join(tj_nesting *nesting, const tj_nesting *other);
/* Counts a token. Returns NULL or a static text that says what is wrong. */
const char *tj_nesting_token(tj_nesting *nesting, tj_macros *macros, const tj_token *token,
                             bool is_parameter);
/* After the last token: uses the macro that it may have been. */
const char *tj_nesting_settle(tj_nesting *nesting);
/* After that: closes what is open, as far as depth is concerned. */
const char *tj_nesting_end(tj_nesting *nesting);

/* ---- scan.c ---------------------------------------------------------------- */

/* What the texts of one unit share while they are scanned, in order. */
typedef struct tj_scanner tj_scanner;

tj_scanner *tj_scanner_new(void);
void tj_scanner_free(tj_scanner *scanner);
/* tj_scan_check() for a text that stands behind those scanned before. */
tj_status tj_scanner_check(tj_scanner *scanner, const tj_piece *piece, tj_messages *messages);

/* Appends an error about the bytes [start, end) of a piece. */
void tj_messages_add_at(tj_messages *messages, const tj_piece *piece, size_t start, size_t end,
                        const char *text);

#endif
