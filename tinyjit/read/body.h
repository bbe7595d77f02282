/* body.h: how a slice's text ends, and what it must not stand in. Internal to tinyjit. */
#pragma once

#include "read/tokens.h"

typedef struct tj_span {
    size_t start; /* bytes */
    size_t end;
} tj_span;

typedef struct tj_body {
    bool direct;      /* it runs to its last `return true;`: it can stand in a loop */
    bool total;       /* direct, and no `return false;` in it */
    tj_span *returns; /* owned, when direct: the false ones, then the last */
    size_t nreturns;
    size_t capacity;
} tj_body;

/* Returns false without memory; the body is to be cleared in any case. */
bool tj_body_read(const tj_tokens *tokens, tj_body *body);
void tj_body_clear(tj_body *body);
/* True for text that has to stand in a function of its own, which is not made part of
 * another: alloca and setjmp, jumps to computed labels. */
bool tj_body_wants_function(const tj_tokens *tokens);
/* True when `prefix` and `name` joined occurs only with the number of one of
 * ndims dims in brackets behind it. */
bool tj_body_only_indexes(const tj_tokens *tokens, const char *prefix, const char *name, int ndims);
