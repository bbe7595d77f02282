/* statements.h: a walk through the statements of a C text, behind its macros. Internal to
 * tinyjit. */
#ifndef TJ_READ_STATEMENTS_H
#define TJ_READ_STATEMENTS_H

#include "read/tokens.h"

/* What a text does to the text around it. */
typedef enum tj_effect {
    TJ_RETURNS,
    TJ_BREAKS,    /* out of a loop or switch that is not its own */
    TJ_CONTINUES, /* likewise */
    TJ_JUMPS,     /* to a label that is not its own */
    TJ_FAILS,     /* by a failure code */
    TJ_MEDDLES    /* names what belongs to the generated text */
} tj_effect;

/* A walk through the statements of a text. */
typedef struct tj_walk {
    const tj_tokens *tokens;
    size_t at;        /* the token at hand */
    size_t statement; /* the first token of the statement at hand */
    char *frames;     /* owned: brackets and statements without end, the innermost last */
    size_t count, capacity;
    bool starts;      /* a statement begins here */
    bool ended;       /* one has just ended: `else` and `while` may go on with it */
    bool header;      /* ( begins a header */
    bool labels_case; /* : ends a case */
    bool loose;       /* ways through conditions: loops cannot be told */
    bool failed;      /* no memory */
    tj_words labels;  /* owned: its own ones */
    /* Something that reaches out of the text, at the token at hand. block: of a failure
     * code. */
    void (*report)(struct tj_walk *this, tj_effect effect, int block);
    void (*declares_array)(struct tj_walk *this, size_t name); /* or NULL */
    void *context;
} tj_walk;

/* Walks through all tokens. The caller clears the walk. Returns false without memory. */
bool tj_walk_text(tj_walk *this);
void tj_walk_clear(tj_walk *this);
/* A name that belongs to the generated text. */
bool tj_is_reserved(const tj_token *token);

#endif
