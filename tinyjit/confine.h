/* confine.h: what confine.c and confine_macros.c share. Internal to tinyjit. */
#ifndef TJ_CONFINE_H
#define TJ_CONFINE_H

#include "graph.h"
#include "tokens.h"

/* What a text does to the text around it. */
enum {
    TJ_RETURNS = 1,
    TJ_BREAKS = 2,    /* out of a loop or switch that is not its own */
    TJ_CONTINUES = 4, /* likewise */
    TJ_JUMPS = 8,     /* to a label that is not its own */
    TJ_FAILS = 16,    /* by a failure code, of block `fails` */
    TJ_MEDDLES = 32,  /* names what belongs to the generated text */
    TJ_LOOPS = 64,    /* a macro whose end is the head of a loop */
    TJ_OPENS = 128    /* ... or leaves a loop's brace open */
};

typedef struct tj_effects {
    int what; /* TJ_RETURNS ... */
    int fails;
} tj_effects;

typedef enum tj_frame {
    TJ_PAREN = '(',
    TJ_SQUARE = '[',
    TJ_HEAD = 'h',  /* the parentheses behind for, while, switch, if */
    TJ_COMPOUND = '{',
    TJ_LIST = 'i',    /* the braces of an initializer, a struct, an enum */
    TJ_LOOP = 'l',    /* these four: a statement without its end */
    TJ_SWITCH = 's',
    TJ_IF = 'c',
    TJ_DO = 'd'
} tj_frame;

/* A walk through the statements of a text. */
typedef struct tj_walk {
    struct tj_habits *habits;
    const tj_tokens *tokens;
    size_t at;        /* the token at hand */
    size_t statement; /* the first token of the statement at hand */
    char *frames;     /* owned: tj_frame, the innermost last */
    size_t count, capacity;
    bool starts;      /* a statement begins here */
    bool ended;       /* one has just ended: `else` and `while` may go on with it */
    bool header;      /* ( begins a header */
    bool labels_case; /* : ends a case */
    bool loose;       /* branches of conditions: loops cannot be told */
    bool failed;      /* no memory */
    tj_words labels;  /* owned: its own ones */
    /* Something that reaches out of the text, at token `at`; by a macro: its name is
     * that token. */
    void (*report)(struct tj_walk *this, tj_effects effects, bool by_macro);
    void (*declares_array)(struct tj_walk *this, size_t name); /* or NULL */
    void *context;
} tj_walk;

/* Walks through all tokens. The caller clears the walk. Returns false without memory. */
bool tj_walk_text(tj_walk *this);
void tj_walk_clear(tj_walk *this);

/* ---- confine_macros.c ------------------------------------------------------ */

/* The directive that begins at token `at`: #define and #undef. False without memory. */
bool tj_habits_direct(struct tj_habits *habits, const tj_tokens *tokens, size_t at);
/* What using the name does: nothing, for what is no macro. *fine: there was memory. */
tj_effects tj_habits_of(struct tj_habits *habits, const tj_token *name, bool *fine);

#endif
