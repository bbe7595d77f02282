/* statements.c: a walk through the statements of a C text, without compiling it
 * (statements.h): which loops a `break` stands in, which labels are its own, and what
 * reaches out of the text.
 *
 * What cannot be told, because macros of headers or conditions hide it, is taken to
 * be right: in the generated text the compiler has the last word, as no loop and no
 * function that one could return from surrounds it.
 */
#include "read/statements.h"

/* ---- frames ------------------------------------------------------------------- */

typedef enum frame_kind {
    PAREN = '(',
    SQUARE = '[',
    HEAD = 'h',  /* the parentheses behind for, while, switch, if */
    COMPOUND = '{',
    LIST = 'i',    /* the braces of an initializer, a struct, an enum */
    LOOP = 'l',    /* these four: a statement without its end */
    SWITCH = 's',
    IF = 'c',
    DO = 'd'
} frame_kind;

static void push(tj_walk *this, frame_kind frame)
{
    if (!tj_grow(&this->frames, this->count, &this->capacity, 1))
        this->failed = true;
    else
        this->frames[this->count++] = (char)frame;
}

static bool is_statement(char frame)
{
    return frame == LOOP || frame == SWITCH || frame == IF || frame == DO;
}

/* The innermost bracket, or 0. */
static char bracket_of(const tj_walk *this)
{
    for (size_t i = this->count; i-- > 0;)
        if (!is_statement(this->frames[i]))
            return this->frames[i];
    return 0;
}

static void pop_statements(tj_walk *this)
{
    while (this->count && is_statement(this->frames[this->count - 1]))
        this->count--;
}

/* Pops statements up to the innermost of that kind. False: there is none. */
static bool pop_to(tj_walk *this, frame_kind frame)
{
    for (size_t i = this->count; i-- > 0 && is_statement(this->frames[i]);)
        if (this->frames[i] == (char)frame) {
            this->count = i;
            return true;
        }
    return false;
}

static bool is_in(const tj_walk *this, bool counts_switch)
{
    for (size_t i = 0; i < this->count; i++)
        if (this->frames[i] == LOOP || this->frames[i] == DO ||
            (counts_switch && this->frames[i] == SWITCH))
            return true;
    return this->loose;
}

static void end_statement(tj_walk *this)
{
    this->ended = this->starts = true;
    this->header = this->labels_case = false;
}

/* ---- names that are not the text's own ------------------------------------------ */

static bool starts_with(const tj_token *token, const char *prefix)
{
    size_t length = strlen(prefix);
    return token->length >= length && !memcmp(token->text, prefix, length);
}

/* "label_4", "label_4_cleanup"; *block is the number. */
static bool is_label(const tj_token *token, long *block)
{
    if (!starts_with(token, "label_") || token->length < 7)
        return false;
    long number = 0;
    size_t i = 6;
    for (; i < token->length && token->text[i] >= '0' && token->text[i] <= '9'; i++)
        number = number > 100000000 ? number : 10 * number + (token->text[i] - '0');
    *block = number;
    return i > 6 && (i == token->length ||
                     (token->length == i + 8 && !memcmp(token->text + i, "_cleanup", 8)));
}

bool tj_is_reserved(const tj_token *token)
{
    static const char *const prefixes[] = {"cwj_state", "cwj_graph", "cwj_step_", "cwj_enter_",
                                           "cwj_begin", "cwj_end",   "cwj_renew", "cwj_kept",
                                           "cwj_fetch", "cwj_load",  "cwj_done",  NULL};
    long block;
    for (size_t i = 0; prefixes[i]; i++)
        if (starts_with(token, prefixes[i]))
            return true;
    return tj_token_is(token, "failure") || is_label(token, &block);
}

/* "{failure = 4; goto label_4;}": the block's number, with `failure` at hand, or 0.
 * The number stands there twice. */
static int failure_code(const tj_walk *this)
{
    const tj_tokens *tokens = this->tokens;
    size_t at = this->at;
    long number = 0, label;
    if (at == 0 || at + 7 >= tokens->count || !tj_token_at(tokens, at - 1, "{") ||
        !tj_token_at(tokens, at + 1, "=") || !tj_token_at(tokens, at + 3, ";") ||
        !tj_token_at(tokens, at + 4, "goto") || !tj_token_at(tokens, at + 6, ";") ||
        !tj_token_at(tokens, at + 7, "}") || !is_label(&tokens->items[at + 5], &label))
        return 0;
    const tj_token *digits = &tokens->items[at + 2];
    for (size_t i = 0; i < digits->length; i++) {
        if (digits->text[i] < '0' || digits->text[i] > '9' || number > 100000000)
            return 0;
        number = 10 * number + (digits->text[i] - '0');
    }
    return number == label ? (int)number : 0;
}

/* ---- single tokens ---------------------------------------------------------------- */

static bool is_own_label(const tj_walk *this, const tj_token *name)
{
    for (size_t i = 0; i < this->labels.count; i++)
        if (tj_token_is(name, this->labels.items[i]))
            return true;
    return false;
}

static void read_goto(tj_walk *this)
{
    size_t next = this->at + 1;
    if (tj_token_is_name(this->tokens, next) && !is_own_label(this, &this->tokens->items[next])) {
        this->report(this, TJ_JUMPS, 0);
        this->at++; /* said once */
    }
}

static void read_failure(tj_walk *this)
{
    int block = failure_code(this);
    if (!block) {
        this->report(this, TJ_MEDDLES, 0);
        return;
    }
    this->report(this, TJ_FAILS, block);
    this->at += 6;
    end_statement(this);
}

static void open_statement(tj_walk *this, frame_kind frame)
{
    push(this, frame);
    this->header = frame != DO;
    this->starts = frame == DO;
}

static void read_own_name(tj_walk *this, bool starts)
{
    const tj_token *token = &this->tokens->items[this->at];
    if (tj_token_is(token, "failure")) {
        read_failure(this);
    } else if (tj_is_reserved(token)) {
        this->report(this, TJ_MEDDLES, 0);
    } else if (starts && tj_token_at(this->tokens, this->at + 1, ":")) {
        this->at++; /* a label */
        this->starts = true;
    }
}

static void read_keyword(tj_walk *this)
{
    const tj_token *token = &this->tokens->items[this->at];
    if (tj_token_is(token, "for") || tj_token_is(token, "while")) {
        open_statement(this, LOOP);
    } else if (tj_token_is(token, "switch")) {
        open_statement(this, SWITCH);
    } else if (tj_token_is(token, "if")) {
        open_statement(this, IF);
    } else if (tj_token_is(token, "do")) {
        open_statement(this, DO);
    } else if (tj_token_is(token, "else")) {
        this->starts = true;
    } else if (tj_token_is(token, "case") || tj_token_is(token, "default")) {
        this->labels_case = true;
    } else if (tj_token_is(token, "return")) {
        this->report(this, TJ_RETURNS, 0);
    } else if (tj_token_is(token, "break")) {
        if (!is_in(this, true))
            this->report(this, TJ_BREAKS, 0);
    } else if (tj_token_is(token, "continue")) {
        if (!is_in(this, false))
            this->report(this, TJ_CONTINUES, 0);
    } else if (tj_token_is(token, "goto")) {
        read_goto(this);
    }
}

static void read_name(tj_walk *this)
{
    bool starts = this->starts;
    this->starts = false;
    if (tj_token_word(this->tokens, this->at, TJ_STATEMENT))
        read_keyword(this);
    else
        read_own_name(this, starts);
}

/* "name(...) {": the head of a loop that a macro of some header makes. */
static bool is_macro_head(const tj_walk *this)
{
    size_t first = this->statement;
    return tj_token_is_name(this->tokens, first) && tj_token_at(this->tokens, first + 1, "(") &&
           this->tokens->mates[first + 1] + 1 == this->at;
}

static void open_brace(tj_walk *this)
{
    bool expression = this->at > 0 && tj_token_at(this->tokens, this->at - 1, "(");
    bool head = !this->starts && !expression && is_macro_head(this);
    if (head)
        push(this, LOOP);
    push(this, this->starts || expression || head ? COMPOUND : LIST);
    this->starts = this->frames && this->count && this->frames[this->count - 1] == COMPOUND;
    this->ended = false;
}

static void close_bracket(tj_walk *this)
{
    pop_statements(this);
    char frame = this->count ? this->frames[--this->count] : 0;
    this->starts = frame == HEAD;
    if (frame == COMPOUND)
        end_statement(this);
}

static void read_punctuator(tj_walk *this)
{
    const tj_token *token = &this->tokens->items[this->at];
    char first = token->length == 1 ? *token->text : 0;
    char around = bracket_of(this);
    if (first == '(') {
        push(this, this->header ? HEAD : PAREN);
    } else if (first == '[') {
        if (this->declares_array && !this->count && tj_token_is_name(this->tokens, this->at - 1))
            this->declares_array(this, this->at - 1);
        push(this, SQUARE);
    } else if (first == '{') {
        open_brace(this);
        return;
    } else if (first == ')' || first == ']' || first == '}') {
        close_bracket(this);
        return;
    } else if (first == ';' && (around == 0 || around == COMPOUND)) {
        end_statement(this);
        return;
    } else if (first == ':' && this->labels_case) {
        this->labels_case = false;
        this->starts = true;
        return;
    }
    this->starts = this->header = false;
}

/* ---- the walk ----------------------------------------------------------------------- */

/* A statement has ended: what goes on with it, what begins anew. True when the token
 * at hand is read by that. */
static bool go_on(tj_walk *this)
{
    this->ended = false;
    if (tj_token_at(this->tokens, this->at, "else") && pop_to(this, IF))
        return this->starts = true;
    if (tj_token_at(this->tokens, this->at, "while") && pop_to(this, DO)) {
        this->starts = false;
        return true;
    }
    pop_statements(this);
    return false;
}

/* How many `?` still wait for their `:` behind a token. */
static size_t count_choices(const tj_tokens *tokens, size_t at, size_t waiting)
{
    static const char *const ends[] = {";", "{", "}", NULL};
    if (tj_token_at(tokens, at, "?"))
        return waiting + 1;
    if (tj_token_at(tokens, at, ":") && waiting > 0)
        return waiting - 1;
    return tj_token_among(tokens, at, ends) ? 0 : waiting;
}

/* "name:" where a statement may begin. */
static void find_labels(tj_walk *this)
{
    static const char *const no_labels[] = {"default", NULL};
    static const char *const before[] = {";", "{", "}", ":", ")", "else", "do", NULL};
    const tj_tokens *tokens = this->tokens;
    size_t waiting = 0;
    for (size_t i = 0; i + 1 < tokens->count; i++) {
        waiting = count_choices(tokens, i, waiting);
        if (tj_token_is_name(tokens, i) && tj_token_at(tokens, i + 1, ":") && waiting == 0 &&
            !tj_token_among(tokens, i, no_labels) && !tj_is_reserved(&tokens->items[i]) &&
            (i == 0 || tj_token_among(tokens, i - 1, before) || tokens->items[i].first))
            if (!is_own_label(this, &tokens->items[i]))
                tj_words_add(&this->labels, tokens->items[i].text, tokens->items[i].length);
    }
    this->failed |= this->labels.failed;
}

bool tj_walk_text(tj_walk *this)
{
    find_labels(this);
    this->starts = true;
    for (this->at = 0; this->at < this->tokens->count && !this->failed; this->at++) {
        const tj_token *token = &this->tokens->items[this->at];
        this->loose |= token->kind == TJ_TOKEN_ELSE;
        if (!token->length) /* a condition, or a doubt */
            continue;
        if (this->ended && go_on(this))
            continue;
        if (this->starts)
            this->statement = this->at;
        if (token->kind == TJ_TOKEN_NAME)
            read_name(this);
        else if (token->kind == TJ_TOKEN_PUNCTUATOR)
            read_punctuator(this);
        else
            this->starts = this->header = false;
    }
    return !this->failed;
}

void tj_walk_clear(tj_walk *this)
{
    tj_free(this->frames);
    tj_words_clear(&this->labels);
}
