/* body.h: finds the returns of a slice's text, and constructs that a loop cannot contain. Internal to tinyjit. */
#pragma once

#include "read/tokens.h"

typedef struct tj_span {
    size_t start; /* in bytes */
    size_t end;
} tj_span;

typedef struct tj_body {
    bool direct; /* it runs to its last `return true;`, so a loop can contain it */
    bool total; /* direct, and contains no `return false;` */
    tj_span *returns; /* owned, if direct: the returns of false, then the last one */
    size_t nreturns;
    size_t capacity;
} tj_body;

/* Returns false if out of memory. The caller must always clear body. */
bool tj_body_read(const tj_tokens *tokens, tj_body *body);
void tj_body_clear(tj_body *body);
/* Returns true if the text must be a function that is not inlined: it uses alloca, setjmp or computed goto. */
bool tj_body_wants_function(const tj_tokens *tokens);
/* Returns true if "[K]" follows every occurrence of the identifier PREFIXNAME, where K numbers one of ndims dims. */
bool tj_body_only_indexes(const tj_tokens *tokens, const char *prefix, const char *name, int ndims);
