/* body.c: finds the returns of a slice's text without compiling it (body.h).
 *
 * If a body runs to a last `return true;`, a loop can contain it: the last return is removed, and `return false;`
 * leaves the loop. Such a body is called direct. A body is direct only if this file understands all of it. The compiler
 * handles the rest: directives, jumps, and text that needs a separate function (statics, the function's name, its
 * stack). Returns that macros hide are not seen here; the loop is written so that they do not compile. */
#include "read/body.h"
#include "read/expand.h"

/* Words that have, or may have, another meaning in a loop than in a function. */
static const char unfit[] =
    "static goto __func__ __FUNCTION__ __PRETTY_FUNCTION__ __label__ extern "
    "__builtin_frame_address __builtin_return_address";

static bool is_unfit(const tj_tokens *tokens, size_t i)
{
    return tokens->items[i].length == 0 || tj_token_directs(tokens, i) ||
           tj_token_at(tokens, i, "%:") || tj_token_word(tokens, i, TJ_ASSEMBLER) ||
           tj_token_among(tokens, i, unfit);
}

/* Reads the value after `return` at *i: 1 true, 0 false, -1 anything else. Moves *i to the semicolon. */
static int read_truth(const tj_tokens *tokens, size_t *i)
{
    size_t parentheses = 0;
    while (tj_token_at(tokens, ++*i, "("))
        parentheses++;
    int truth = tj_token_among(tokens, *i, "true 1")    ? 1
                : tj_token_among(tokens, *i, "false 0") ? 0
                                                        : -1;
    while (tj_token_at(tokens, ++*i, ")") && parentheses > 0)
        parentheses--;
    return tj_token_at(tokens, *i, ";") && !parentheses ? truth : -1;
}

bool tj_body_read(const tj_tokens *tokens, tj_body *body)
{
    bool fits = true, ended = false, fine = true;
    int depth = 0; /* of all kinds of brackets */
    *body = (tj_body){.total = true};
    for (size_t i = 0; i < tokens->count && fits && fine; i++) {
        size_t start = i;
        if (ended) { /* there is text after the last return */
            fits = false;
        } else if (tj_token_at(tokens, i, "return")) {
            bool may_end = depth == 0 && (i == 0 || tj_token_in(tokens, i - 1, ";{}"));
            int truth = read_truth(tokens, &i);
            fits = truth == 0 || (truth == 1 && may_end);
            ended = truth == 1;
            body->total &= truth == 1;
            fine = !fits ||
                   tj_grow(&body->returns, body->nreturns, &body->capacity, sizeof *body->returns);
            if (fits && fine)
                body->returns[body->nreturns++] =
                    (tj_span){tokens->items[start].start, tokens->items[i].end};
        } else {
            depth += tj_token_in(tokens, i, "([{") - tj_token_in(tokens, i, ")]}");
            fits = !is_unfit(tokens, i);
        }
    }
    body->direct = fits && ended;
    body->total &= body->direct;
    return fine;
}

void tj_body_clear(tj_body *body)
{
    tj_free(body->returns);
    *body = (tj_body){0};
}

/* Returns true for names of functions that take stack until their caller returns, or that jump back into a
 * function. In a loop each slice would take more stack, and no compiler inlines a function that uses them. A
 * part of the name is enough, because macros of other libraries have such names: g_alloca, sigsetjmp. */
static bool holds_stack(const tj_token *token)
{
    static const char *const parts[] = {"alloca", "strdupa", "strndupa", "setjmp", NULL};
    bool found = false;
    for (size_t p = 0; parts[p] && !found; p++)
        found = tj_bytes_hold(token->text, token->length, parts[p]);
    return found;
}

bool tj_body_wants_function(const tj_tokens *tokens)
{
    bool found = false, operand = false; /* the last token ends an operand */
    for (size_t i = 0; i < tokens->count && !found; i++) {
        found = (tj_token_is_name(tokens, i) && holds_stack(&tokens->items[i])) ||
                (tj_token_at(tokens, i, "goto") && tj_token_at(tokens, i + 1, "*")) ||
                (tj_token_at(tokens, i, "&&") && !operand); /* the address of a label */
        operand = !tj_token_at(tokens, i, "return") &&
                  (tokens->items[i].kind != TJ_TOKEN_PUNCTUATOR || tj_token_in(tokens, i, ")]}"));
    }
    return found;
}

tj_standing tj_expression_standing(const tj_piece *expression, const tj_piece *before)
{
    tj_expander *expander = tj_expander_new();
    tj_expanded front = {0}, own = {0};
    tj_standing standing = TJ_STANDS_APART;
    if (!expander || !tj_expand(expander, before, &front) ||
        !tj_expand(expander, expression, &own) || tj_body_wants_function(&front.tokens) ||
        tj_body_wants_function(&own.tokens))
        goto done;
    bool hidden = tj_expander_includes(expander) || own.doubts || front.fault.text;
    for (size_t i = 0; i < own.tokens.count && !hidden; i++)
        hidden = is_unfit(&own.tokens, i);
    standing = hidden ? TJ_STANDS_IN_FUNCTION : TJ_STANDS_IN_LOOP;
done:
    tj_expanded_clear(&own);
    tj_expanded_clear(&front);
    tj_expander_free(expander);
    return standing;
}

/* Returns true if token i is a digit that numbers one of ndims dims. */
static bool is_axis(const tj_tokens *tokens, size_t i, int ndims)
{
    const tj_token *token = &tokens->items[i];
    return i < tokens->count && token->kind == TJ_TOKEN_NUMBER && token->length == 1 &&
           *token->text >= '0' && *token->text < '0' + (ndims < 10 ? ndims : 10);
}

bool tj_body_only_indexes(const tj_tokens *tokens, const char *prefix, const char *name, int ndims)
{
    bool fine = true;
    for (size_t i = 0; i < tokens->count && fine; i++)
        if (tj_token_is_name(tokens, i) && tj_token_is_joined(&tokens->items[i], prefix, name))
            fine = tj_token_at(tokens, i + 1, "[") && is_axis(tokens, i + 2, ndims) &&
                   tj_token_at(tokens, i + 3, "]");
    return fine;
}
