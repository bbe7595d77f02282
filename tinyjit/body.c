/* body.c: how a slice's text ends, seen without compiling it.
 *
 * A body that runs through to a last `return true;` can stand in the loop
 * itself: the last return goes away, `return false;` leaves the loop. Such a
 * body is called direct. Only what this file fully understands is: directives,
 * jumps, and what belongs to a function of its own (statics, its name, its
 * stack) are left to the compiler. Returns that macros hide are not seen here;
 * the loop is written so that those do not compile.
 */
#include "emit.h"
#include "lexer.h"

/* Words that mean something else in a loop than in a function, or may. */
static const char *const unfit[] = {"static",
                                    "goto",
                                    "asm",
                                    "__asm",
                                    "__asm__",
                                    "alloca",
                                    "setjmp",
                                    "_setjmp",
                                    "sigsetjmp",
                                    "__func__",
                                    "__FUNCTION__",
                                    "__PRETTY_FUNCTION__",
                                    "__label__",
                                    "extern",
                                    "__builtin_alloca",
                                    "__builtin_frame_address",
                                    "__builtin_return_address"};

static bool is_unfit(const tj_token *token)
{
    for (size_t i = 0; i < sizeof(unfit) / sizeof(*unfit); i++)
        if (tj_token_is(token, unfit[i]))
            return true;
    return false;
}

/* What the reader knows of the tokens so far. */
typedef struct reader {
    tj_lexer lexer;
    tj_token token;
    int depth;      /* of brackets of any kind */
    bool at_start;  /* a statement of its own may begin here */
    bool ended;     /* the last return was read */
    bool fits;
    tj_body *body;
} reader;

static bool next(reader *this)
{
    do
        this->token = tj_lexer_next(&this->lexer);
    while (this->token.kind == TJ_TOKEN_NEWLINE);
    return this->token.kind != TJ_TOKEN_END;
}

static bool add_return(tj_body *body, size_t start, size_t end)
{
    if (!tj_grow(&body->returns, body->nreturns, &body->capacity, sizeof(*body->returns)))
        return false;
    body->returns[body->nreturns++] = (tj_span){start, end};
    return true;
}

/* The word after `return`: 1 true, 0 false, -1 anything else. */
static int truth_of(const tj_token *token)
{
    if (tj_token_is(token, "true") || tj_token_is(token, "1"))
        return 1;
    return tj_token_is(token, "false") || tj_token_is(token, "0") ? 0 : -1;
}

/* Reads on behind the word `return`, up to the semicolon. */
static int read_truth(reader *this)
{
    int truth, parentheses = 0;
    while (next(this) && tj_token_is(&this->token, "("))
        parentheses++;
    truth = truth_of(&this->token);
    while (next(this) && parentheses > 0 && tj_token_is(&this->token, ")"))
        parentheses--;
    return tj_token_is(&this->token, ";") && !parentheses ? truth : -1;
}

/* Returns false without memory. */
static bool read_return(reader *this)
{
    bool whole = this->at_start && !this->depth;
    size_t start = this->token.start;
    int truth = read_truth(this);
    if (truth < 0 || (truth && !whole)) {
        this->fits = false;
        return true;
    }
    this->ended = truth;
    this->body->total &= truth;
    this->at_start = true;
    return add_return(this->body, start, this->token.end);
}

static void read_other(reader *this)
{
    const tj_token *token = &this->token;
    bool opens = token->length == 1 && strchr("([{", *token->text);
    bool closes = token->length == 1 && strchr(")]}", *token->text);
    this->depth += opens - closes;
    this->at_start = token->length == 1 && strchr(";{}", *token->text);
    if (token->kind == TJ_TOKEN_NAME && is_unfit(token))
        this->fits = false;
    if (token->kind == TJ_TOKEN_BAD || token->kind == TJ_TOKEN_COMMENT || token->length == 0 ||
        (token->first && *token->text == '#') || tj_token_is(token, "%:"))
        this->fits = false;
}

bool tj_body_read(const tj_piece *piece, tj_body *body)
{
    reader this = {.at_start = true, .fits = true, .body = body};
    bool fine = true;
    *body = (tj_body){.total = true};
    tj_lexer_init(&this.lexer, piece->text, piece->length);
    while (fine && this.fits && next(&this)) {
        if (this.ended)
            this.fits = false; /* the last return was not the last */
        else if (tj_token_is(&this.token, "return"))
            fine = read_return(&this);
        else
            read_other(&this);
    }
    body->direct = this.fits && this.ended;
    body->total &= body->direct;
    fine &= !this.lexer.spelling.failed;
    tj_lexer_clear(&this.lexer);
    return fine;
}

void tj_body_clear(tj_body *body)
{
    tj_free(body->returns);
    *body = (tj_body){0};
}

/* True for the number of one of ndims dims. */
static bool is_axis(const tj_token *token, int ndims)
{
    return token->kind == TJ_TOKEN_NUMBER && token->length == 1 && *token->text >= '0' &&
           *token->text < '0' + (ndims < 10 ? ndims : 10);
}

/* The token is `prefix` and `name` joined. */
static bool is_joined(const tj_token *token, const char *prefix, const char *name)
{
    size_t length = strlen(prefix);
    return token->kind == TJ_TOKEN_NAME && token->length == length + strlen(name) &&
           !memcmp(token->text, prefix, length) &&
           !memcmp(token->text + length, name, token->length - length);
}

bool tj_body_only_indexes(const tj_piece *piece, const char *prefix, const char *name, int ndims)
{
    tj_lexer lexer;
    bool fine = true;
    tj_lexer_init(&lexer, piece->text, piece->length);
    for (tj_token token = tj_lexer_next(&lexer); fine && token.kind != TJ_TOKEN_END;
         token = tj_lexer_next(&lexer)) {
        if (!is_joined(&token, prefix, name))
            continue;
        token = tj_lexer_next(&lexer);
        fine = tj_token_is(&token, "[");
        token = fine ? tj_lexer_next(&lexer) : token;
        fine = fine && is_axis(&token, ndims);
        token = fine ? tj_lexer_next(&lexer) : token;
        fine = fine && tj_token_is(&token, "]");
    }
    fine &= !lexer.spelling.failed;
    tj_lexer_clear(&lexer);
    return fine;
}
