/* nesting.c: checks brackets and estimates how deep a C parser recurses (tokens.h).
 *
 * libtcc is a recursive parser that ends the process when its stack overflows. So each text is measured first, after
 * macro expansion: brackets, unary operators, chains of `?:`, `=` and statements. The measure uses only the form of the
 * text and never underestimates.
 *
 * The depth counts, in each open bracket, the operators that still need an operand and the statements that are not
 * finished. Without types it is often unknown whether `-` is unary, or whether "(x)" is a cast; then the deeper reading
 * counts. The only text that this refuses wrongly is a single expression of thousands of terms.
 *
 * At #else the brackets are again those at the #if. After #endif they are those at the end of the branch that leaves
 * more of them open. So a text that is correct for some macros passes, and a text that closes too many for all macros
 * is refused. */
#include "read/tokens.h"

/* The last token: an operator (an operand must follow), an operand, or a parenthesis that may end a cast. */
typedef enum last_token {
    WANTS_OPERAND,
    OPERAND,
    MAYBE_CAST
} last_token;

/* A level: an open bracket, or the text outside all of them. */
typedef struct open_bracket {
    char bracket; /* 0: the text */
    bool may_be_cast;
    bool ended; /* a statement has ended: only `else` and `while` continue it */
    last_token last;
    size_t around;     /* the depth of the text around it */
    size_t prefixes;   /* unary operators before an operand */
    size_t chain;      /* `=` and `?` whose right side is not finished */
    size_t questions;  /* those of `chain` that still need their `:` */
    size_t statements; /* unfinished if, for, while, do, switch */
    const tj_token *token; /* the bracket */
} open_bracket;

typedef struct brackets {
    open_bracket *items; /* owned; NULL: none */
    size_t count, capacity;
    bool loose; /* brackets depend on conditions, so their kinds are not compared */
} brackets;

/* An open #if. */
typedef struct condition {
    brackets start; /* owned: the brackets at the #if */
    brackets best;  /* owned: the brackets after the branches so far */
} condition;

typedef struct measure {
    brackets levels; /* owned */
    condition conditions[TJ_MAX_CONDITIONS];
    size_t nconditions;
    bool is_expression;
    const tj_token *blamed; /* the token to report; NULL: the current one */
    bool failed;            /* out of memory */
} measure;

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* ---- levels -------------------------------------------------------------------- */

static void clear_levels(brackets *this)
{
    tj_free(this->items);
    *this = (brackets){0};
}

/* Copies the levels, after freeing the former contents of `to`. */
static void copy_levels(measure *this, brackets *to, const brackets *from)
{
    clear_levels(to);
    to->items = tj_alloc_zeroed(from->count, sizeof *to->items);
    if (!to->items) {
        this->failed = true;
        return;
    }
    memcpy(to->items, from->items, from->count * sizeof *to->items);
    to->count = to->capacity = from->count;
    to->loose = from->loose;
}

static open_bracket *top_of(measure *this)
{
    return &this->levels.items[this->levels.count - 1];
}

static size_t depth_of(const open_bracket *this)
{
    return this->around + this->prefixes + this->chain + this->statements;
}

static const char *open_level(measure *this, char bracket, const tj_token *token)
{
    brackets *all = &this->levels;
    if (all->count > TJ_MAX_NESTING)
        return "nested too deeply: more than 256 brackets are open";
    if (!tj_grow(&all->items, all->count, &all->capacity, sizeof *all->items)) {
        this->failed = true;
        return NULL;
    }
    const open_bracket *around = top_of(this);
    all->items[all->count++] =
        (open_bracket){.bracket = bracket,
                       .may_be_cast = bracket == '(' && around->last != OPERAND,
                       .around = depth_of(around) + 1,
                       .token = token};
    return NULL;
}

static void end_expression(open_bracket *this)
{
    this->prefixes = this->chain = this->questions = 0;
    this->ended = true;
}

static const char *fault_of_opening(const open_bracket *this)
{
    return this->token->made ? "this macro opens a bracket that is not closed"
                             : "'%.*s' is not closed";
}

/* If two brackets do not match, the opening one is reported, which may be far above, unless no such bracket
 * is open. A brace ends everything that is open inside it. */
static const char *fault_of_closing(measure *this, char opening, const tj_token *token)
{
    const open_bracket *inner = top_of(this);
    if (this->is_expression)
        return NULL;
    if (this->levels.count > 1 && (this->levels.loose || inner->bracket == opening))
        return NULL;
    bool open = opening == '{' && this->levels.count > 1;
    for (size_t i = 1; i < this->levels.count && !open; i++)
        open = this->levels.items[i].bracket == opening;
    if (!open)
        return token->made ? "this macro closes a bracket that nothing opened"
                           : "'%.*s' closes nothing";
    if (token->made)
        return "this macro does not close the bracket that is open here";
    this->blamed = inner->token;
    return fault_of_opening(inner);
}

static const char *close_level(measure *this, char closing, const tj_token *token)
{
    char opening = closing == ')' ? '(' : closing == ']' ? '[' : '{';
    const char *fault = fault_of_closing(this, opening, token);
    bool cast = closing == ')' && top_of(this)->may_be_cast;
    if (this->levels.count > 1)
        this->levels.count--;
    open_bracket *level = top_of(this);
    level->last = cast ? MAYBE_CAST : OPERAND;
    level->prefixes += cast;
    level->may_be_cast = level->may_be_cast && (closing == ']' || cast);
    if (closing == '}')
        end_expression(level);
    return fault;
}

/* ---- tokens ---------------------------------------------------------------------- */

static void read_name(open_bracket *this, const tj_tokens *tokens, size_t i, bool after_end)
{
    bool statement = tj_token_word(tokens, i, TJ_STATEMENT);
    bool begins = statement && (tj_token_among(tokens, i, "if for do switch") ||
                                (!after_end && tj_token_at(tokens, i, "while")));
    bool waits = tj_token_word(tokens, i, TJ_MEASURE | TJ_EXTENSION | TJ_TYPEOF);
    bool goes_on =
        begins || waits || (statement && tj_token_among(tokens, i, "return else case goto"));
    this->statements += begins;
    this->prefixes += waits;
    this->last = goes_on ? WANTS_OPERAND : OPERAND;
}

static void read_operator(open_bracket *this, const tj_tokens *tokens, size_t i)
{
    char first = *tokens->items[i].text;
    bool after_operand = this->last == OPERAND;
    this->may_be_cast = this->may_be_cast && (tj_token_at(tokens, i, "*") || first == ',');
    if (after_operand && tj_token_among(tokens, i, "++ --"))
        return;
    this->last = WANTS_OPERAND;
    if (tj_token_among(tokens, i, ". ->"))
        return; /* still the same operand */
    if (!after_operand && tj_token_among(tokens, i, "- + * & && ! ~ ++ --")) {
        this->prefixes++;
        return;
    }
    this->prefixes = 0;
    if (first == ';') {
        end_expression(this);
    } else if (first == ',') {
        this->chain = this->questions;
    } else if (first == '?') {
        this->chain++;
        this->questions++;
    } else if (first == ':') {
        this->questions -= this->questions > 0;
    } else {
        this->chain += tj_token_among(tokens, i, "= += -= *= /= %= &= |= ^= <<= >>=");
    }
}

/* ---- conditions --------------------------------------------------------------------- */

/* Keeps the branch with more open brackets, and the larger numbers of both. */
static void join_levels(measure *this, brackets *best)
{
    brackets *now = &this->levels;
    if (best->items && now->count > best->count) {
        brackets swap = *best;
        *best = *now;
        *now = swap;
    }
    if (!best->items) {
        copy_levels(this, best, now);
        return;
    }
    for (size_t i = 0; i < now->count; i++) {
        open_bracket *most = &best->items[i];
        const open_bracket *other = &now->items[i];
        most->prefixes = larger(most->prefixes, other->prefixes);
        most->chain = larger(most->chain, other->chain);
        most->statements = larger(most->statements, other->statements);
    }
    for (size_t i = 1; i < best->count; i++)
        best->items[i].around = depth_of(&best->items[i - 1]) + 1;
    best->loose |= now->loose || now->count != best->count;
}

/* Handles a branch of a condition. expand.c has checked that conditions are balanced. */
static void read_condition(measure *this, tj_token_kind kind)
{
    if (kind == TJ_TOKEN_IF) {
        condition *new = &this->conditions[this->nconditions++];
        *new = (condition){.best = {0}};
        copy_levels(this, &new->start, &this->levels);
        return;
    }
    condition *open = &this->conditions[this->nconditions - 1];
    bool loose = this->levels.loose;
    if (kind == TJ_TOKEN_ENDIF) {
        if (open->best.items)
            copy_levels(this, &this->levels, &open->best);
        clear_levels(&open->start);
        clear_levels(&open->best);
        this->nconditions--;
    } else {
        join_levels(this, &open->best);
        copy_levels(this, &this->levels, &open->start);
    }
    this->levels.loose |= loose;
}

/* ---- the text ------------------------------------------------------------------------ */

static const char *read_token(measure *this, const tj_tokens *tokens, size_t i)
{
    const tj_token *token = &tokens->items[i];
    open_bracket *level = top_of(this);
    char first = *token->text;
    bool after_end = level->ended;
    const char *fault = NULL;
    if (after_end && !tj_token_is(token, "else") && !tj_token_is(token, "while") && first != ';')
        level->statements = 0;
    level->ended = false;
    if (token->kind == TJ_TOKEN_NAME) {
        read_name(level, tokens, i, after_end);
    } else if (token->kind != TJ_TOKEN_PUNCTUATOR) {
        level->may_be_cast = false;
        level->last = OPERAND;
    } else if (strchr("([{", first)) {
        fault = open_level(this, first, token);
    } else if (strchr(")]}", first)) {
        fault = close_level(this, first, token);
    } else {
        read_operator(level, tokens, i);
    }
    if (!fault && !this->failed && depth_of(top_of(this)) > TJ_MAX_DEPTH)
        fault = "nested too deeply for the compiler";
    return fault;
}

static void read_tokens(measure *this, const tj_tokens *tokens, tj_fault *fault)
{
    for (size_t i = 0; i < tokens->count && !this->failed && !fault->text; i++) {
        const tj_token *token = &tokens->items[i];
        if (token->kind >= TJ_TOKEN_IF)
            read_condition(this, token->kind);
        else if (token->length > 0)
            fault->text = read_token(this, tokens, i);
        if (this->blamed)
            token = this->blamed;
        fault->start = token->start;
        fault->end = token->end;
    }
    if (this->failed || fault->text || this->levels.count == 1 || this->levels.loose ||
        this->is_expression)
        return;
    const open_bracket *open = top_of(this);
    *fault = (tj_fault){fault_of_opening(open), open->token->start, open->token->end};
}

bool tj_nesting_check(const tj_tokens *tokens, bool is_expression, tj_fault *fault)
{
    measure *this = tj_alloc_zeroed(1, sizeof *this);
    bool fine =
        this && tj_grow(&this->levels.items, 0, &this->levels.capacity, sizeof(open_bracket));
    *fault = (tj_fault){0};
    if (fine) {
        this->is_expression = is_expression;
        this->levels.items[this->levels.count++] = (open_bracket){0};
        read_tokens(this, tokens, fault);
        fine = !this->failed;
        for (size_t i = 0; i < this->nconditions; i++) {
            clear_levels(&this->conditions[i].start);
            clear_levels(&this->conditions[i].best);
        }
        clear_levels(&this->levels);
    }
    tj_free(this);
    return fine;
}
