/* confine.c: checks that a text in a block does nothing that is not allowed there (confine.h).
 *
 * A block must be left through its cleanup and those of the blocks around it. So such a text must not use `return`, nor
 * break, continue and goto that leave it. It may fail only by the failure code of its own block.
 *
 * This file checks that by a pass over the statements, without compiling them. It knows the loop of each `break`, and
 * the labels of the text. Macros of headers and conditions can hide such a statement. Then the text is accepted here,
 * and the compiler reports the error: in the generated text there is no loop around it, and no function that it could
 * return from. */
#include "read/confine.h"

/* An effect of a text on the text around it. */
typedef enum effect {
    RETURNS,
    BREAKS,    /* a break out of a loop or switch outside the text */
    CONTINUES, /* a continue of a loop outside the text */
    JUMPS,     /* a goto to a label outside the text */
    FAILS,     /* a failure code */
    MEDDLES    /* uses a name that is reserved for the generated text */
} effect;

/* A pass over the statements of a text. */
typedef struct walk {
    const tj_graph_text *text;
    const tj_tokens *tokens;
    tj_confined *confined; /* or NULL */
    tj_messages *messages;
    tj_words labels;  /* owned: the labels of the text */
    size_t at;        /* the current token */
    size_t statement; /* the first token of the current statement */
    size_t blamed;    /* the end of the macro name that was reported last */
    char *frames;     /* owned: open brackets and unfinished statements, the innermost last */
    size_t count, capacity;
    bool starts;        /* a statement begins here */
    bool ended;         /* a statement has just ended: `else` or `while` may continue it */
    bool header;        /* the next ( begins a header */
    bool labels_case;   /* the next : ends a case label */
    bool loose;         /* there were conditions, so loops are not certain */
    bool failed_before; /* a failure code was found */
    bool failed;        /* out of memory */
} walk;

/* ---- faults ------------------------------------------------------------------- */

static const char *fault_of_failing(const tj_graph_text *text, int block)
{
    switch (text->place) {
    case TJ_CLEANS:
        return "a cleanup must not fail: it runs on the way out, whatever happened before";
    case TJ_SYNCS:
        if (!text->sync_fails)
            return "c_sync must not fail: only the value is handed over here";
        break;
    case TJ_IN_LOAD:
        return "init code belongs to no block that could fail: raise an exception";
    case TJ_AT_FILE_LEVEL:
    case TJ_REPEATS:
    case TJ_DECLARES:
    case TJ_DECLARES_ANY:
        return "there is no block here that could fail";
    case TJ_BEGINS:
    case TJ_SHARES:
        break;
    }
    return block == text->block ? NULL : "this is the failure code of another block";
}

/* Returns the reason why a text must not do that, or NULL. */
static const char *fault_of(const tj_graph_text *text, effect does, int block)
{
    static const char *const faults[] = {
        [RETURNS] = "'return' would skip the cleanup of this and all other blocks",
        [BREAKS] = "'break' outside of a loop or switch of its own",
        [CONTINUES] = "'continue' outside of a loop of its own",
        [JUMPS] = "'goto' must not leave the text: it knows only its own labels",
        [MEDDLES] = "this name belongs to the generated text",
    };
    if (does == FAILS)
        return fault_of_failing(text, block);
    if (does == RETURNS && text->place == TJ_REPEATS)
        return "'return' would skip the other elements and the rest of this one";
    return faults[does];
}

/* Reports a fault. A fault in the expansion of a macro is reported once, at the macro. */
static void blame(walk *this, const tj_token *token, const char *fault)
{
    const tj_piece *piece = this->text->piece;
    if (token->made && this->blamed == token->end)
        return;
    this->blamed = token->made ? token->end : 0;
    if (token->made)
        tj_messages_add_at(this->messages, piece, token->start, token->end,
                           "in the macro '%.*s': %s", (int)(token->end - token->start),
                           piece->text + token->start, fault);
    else
        tj_messages_add_at(this->messages, piece, token->start, token->end, "%s", fault);
}

/* Reports the effect if the text must not have it. block: the number in a failure code. */
static void judge(walk *this, effect does, int block)
{
    const char *fault = fault_of(this->text, does, block);
    this->failed_before |= does == FAILS;
    if (fault)
        blame(this, &this->tokens->items[this->at], fault);
}

/* ---- frames ------------------------------------------------------------------- */

typedef enum frame_kind {
    PAREN = '(',
    SQUARE = '[',
    HEAD = 'h',  /* the parentheses after for, while, switch, if */
    COMPOUND = '{',
    LIST = 'i',    /* the braces of an initializer, a struct, an enum */
    LOOP = 'l',    /* these four are unfinished statements */
    SWITCH = 's',
    IF = 'c',
    DO = 'd'
} frame_kind;

static void push(walk *this, frame_kind frame)
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

/* Returns true if the innermost bracket, if any, holds statements. */
static bool ends_at_semicolon(const walk *this)
{
    size_t i = this->count;
    while (i > 0 && is_statement(this->frames[i - 1]))
        i--;
    return i == 0 || this->frames[i - 1] == COMPOUND;
}

static void pop_statements(walk *this)
{
    while (this->count && is_statement(this->frames[this->count - 1]))
        this->count--;
}

/* Pops statements up to the innermost of that kind. Returns false if there is none. */
static bool pop_to(walk *this, frame_kind frame)
{
    for (size_t i = this->count; i-- > 0 && is_statement(this->frames[i]);)
        if (this->frames[i] == (char)frame) {
            this->count = i;
            return true;
        }
    return false;
}

static bool is_in(const walk *this, bool counts_switch)
{
    for (size_t i = 0; i < this->count; i++)
        if (this->frames[i] == LOOP || this->frames[i] == DO ||
            (counts_switch && this->frames[i] == SWITCH))
            return true;
    return this->loose;
}

static void end_statement(walk *this)
{
    this->ended = this->starts = true;
    this->header = this->labels_case = false;
}

/* ---- names that the text must not use ----------------------------------------- */

/* Reads digits; returns false for anything else. *number is large if the number is too large for a block. */
static bool read_digits(const char *bytes, size_t length, long *number)
{
    *number = 0;
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] < '0' || bytes[i] > '9')
            return false;
        *number = *number > 100000000 ? *number : 10 * *number + (bytes[i] - '0');
    }
    return true;
}

/* Recognises "label_4" and "label_4_cleanup"; *block is the number. */
static bool is_label(const tj_token *token, long *block)
{
    static const char tail[] = "_cleanup";
    const size_t head = sizeof "label_" - 1, size = sizeof tail - 1;
    size_t end = token->length;
    if (!tj_token_starts(token, "label_"))
        return false;
    if (end > head + size && !memcmp(token->text + end - size, tail, size))
        end -= size;
    return end > head && read_digits(token->text + head, end - head, block);
}

static bool is_reserved(const tj_token *token)
{
    static const char *const prefixes[] = {"cwj_state", "cwj_graph", "cwj_step_", "cwj_enter_",
                                           "cwj_begin", "cwj_end",   "cwj_renew", "cwj_kept",
                                           "cwj_fetch", "cwj_load",  "cwj_done",  NULL};
    long block;
    for (size_t i = 0; prefixes[i]; i++)
        if (tj_token_starts(token, prefixes[i]))
            return true;
    return tj_token_is(token, "failure") || is_label(token, &block);
}

/* Returns the number 4 of "{failure = 4; goto label_4;}" (both are equal) if `failure` is the current token, or 0. */
static int failure_code(const walk *this)
{
    static const char *const form[] = {"{", "failure", "=", NULL, ";", "goto", NULL, ";", "}"};
    const tj_token *items = this->tokens->items + this->at;
    long number, label;
    if (this->at == 0)
        return 0;
    for (size_t i = 0; i < sizeof form / sizeof *form; i++)
        if (form[i] && !tj_token_at(this->tokens, this->at - 1 + i, form[i]))
            return 0;
    return is_label(&items[5], &label) && read_digits(items[2].text, items[2].length, &number) &&
                   number == label
               ? (int)number
               : 0;
}

/* ---- arrays ---------------------------------------------------------------------- */

/* Returns true if the sizes contain a name: of a macro, a constant, or a variable. */
static bool has_named_size(const tj_tokens *tokens, size_t open)
{
    for (; tj_token_at(tokens, open, "["); open = tokens->mates[open] + 1)
        for (size_t i = open + 1; i < tokens->mates[open]; i++)
            if (tj_token_is_name(tokens, i))
                return true;
    return false;
}

/* Records the array at `name` if the statement declares it after a failure code and its size contains a name. */
static void note_array(walk *this, size_t name)
{
    const tj_tokens *tokens = this->tokens;
    int line, column;
    bool asked = this->confined && this->text->place == TJ_SHARES && this->failed_before;
    bool declares = asked && name > this->statement && tj_token_is_name(tokens, this->statement);
    for (size_t i = this->statement; i < name && declares; i++) {
        if (tj_token_at(tokens, i, "["))
            i = tokens->mates[i];
        else
            declares = tj_token_is_name(tokens, i) || tj_token_in(tokens, i, "*,");
    }
    if (!declares || !has_named_size(tokens, name + 1))
        return;
    tj_confined *to = this->confined;
    const tj_token *token = &tokens->items[name];
    if (!tj_grow(&to->lines, to->arrays.count, &to->capacity, sizeof *to->lines)) {
        this->failed = true;
        return;
    }
    tj_text_place(this->text->piece->text, this->text->piece->length, token->start, &line, &column);
    to->lines[to->arrays.count] = line;
    tj_words_add(&to->arrays, token->text, token->length);
    this->failed |= to->arrays.failed;
}

/* ---- single tokens ---------------------------------------------------------------- */

static bool is_own_label(const walk *this, const tj_token *name)
{
    bool found = false;
    for (size_t i = 0; i < this->labels.count && !found; i++)
        found = tj_token_is(name, this->labels.items[i]);
    return found;
}

static void read_goto(walk *this)
{
    size_t next = this->at + 1;
    if (tj_token_is_name(this->tokens, next) && !is_own_label(this, &this->tokens->items[next])) {
        judge(this, JUMPS, 0);
        this->at++; /* reported once */
    }
}

static void read_own_name(walk *this, bool starts)
{
    const tj_token *token = &this->tokens->items[this->at];
    int block = tj_token_is(token, "failure") ? failure_code(this) : 0;
    if (block) {
        judge(this, FAILS, block);
        this->at += 6;
        end_statement(this);
    } else if (is_reserved(token)) {
        judge(this, MEDDLES, 0);
    } else if (starts && tj_token_at(this->tokens, this->at + 1, ":")) {
        this->at++; /* it is a label */
        this->starts = true;
    }
}

static void read_keyword(walk *this)
{
    static const struct {
        const char *word;
        frame_kind frame;
    } opening[] = {{"for", LOOP}, {"while", LOOP}, {"switch", SWITCH}, {"if", IF}, {"do", DO}};
    const tj_token *token = &this->tokens->items[this->at];
    for (size_t i = 0; i < sizeof opening / sizeof *opening; i++)
        if (tj_token_is(token, opening[i].word)) {
            push(this, opening[i].frame);
            this->starts = opening[i].frame == DO;
            this->header = !this->starts;
        }
    if (tj_token_is(token, "else"))
        this->starts = true;
    else if (tj_token_is(token, "case") || tj_token_is(token, "default"))
        this->labels_case = true;
    else if (tj_token_is(token, "return"))
        judge(this, RETURNS, 0);
    else if (tj_token_is(token, "break") && !is_in(this, true))
        judge(this, BREAKS, 0);
    else if (tj_token_is(token, "continue") && !is_in(this, false))
        judge(this, CONTINUES, 0);
    else if (tj_token_is(token, "goto"))
        read_goto(this);
}

static void read_name(walk *this)
{
    bool starts = this->starts;
    this->starts = false;
    if (tj_token_word(this->tokens, this->at, TJ_STATEMENT))
        read_keyword(this);
    else
        read_own_name(this, starts);
}

static void open_brace(walk *this)
{
    const tj_tokens *tokens = this->tokens;
    size_t first = this->statement;
    bool expression = this->at > 0 && tj_token_at(tokens, this->at - 1, "(");
    bool head = !this->starts && !expression && tj_token_is_name(tokens, first) &&
                tj_token_at(tokens, first + 1, "(") && tokens->mates[first + 1] + 1 == this->at;
    if (head) /* "name(...) {": a macro of some header */
        push(this, LOOP);
    push(this, this->starts || expression || head ? COMPOUND : LIST);
    this->starts = this->frames && this->count && this->frames[this->count - 1] == COMPOUND;
    this->ended = false;
}

static void close_bracket(walk *this)
{
    pop_statements(this);
    char frame = this->count ? this->frames[--this->count] : 0;
    this->starts = frame == HEAD;
    if (frame == COMPOUND)
        end_statement(this);
}

static void read_punctuator(walk *this)
{
    const tj_token *token = &this->tokens->items[this->at];
    char first = token->length == 1 ? *token->text : 0;
    if (first == '(') {
        push(this, this->header ? HEAD : PAREN);
    } else if (first == '[') {
        if (!this->count && tj_token_is_name(this->tokens, this->at - 1))
            note_array(this, this->at - 1);
        push(this, SQUARE);
    } else if (first == '{') {
        open_brace(this);
        return;
    } else if (first == ')' || first == ']' || first == '}') {
        close_bracket(this);
        return;
    } else if (first == ';' && ends_at_semicolon(this)) {
        end_statement(this);
        return;
    } else if (first == ':' && this->labels_case) {
        this->labels_case = false;
        this->starts = true;
        return;
    }
    this->starts = this->header = false;
}

/* ---- the pass ----------------------------------------------------------------- */

/* Finds the continuation of a statement, or the next one. Returns true if this consumes the current token. */
static bool go_on(walk *this)
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

/* Counts the `?` that still need their `:` after a token. */
static size_t count_choices(const tj_tokens *tokens, size_t at, size_t waiting)
{
    if (tj_token_at(tokens, at, "?"))
        return waiting + 1;
    if (tj_token_at(tokens, at, ":") && waiting > 0)
        return waiting - 1;
    return tj_token_in(tokens, at, ";{}") ? 0 : waiting;
}

/* Finds "name:" at places where a statement may begin. */
static void find_labels(walk *this)
{
    const tj_tokens *tokens = this->tokens;
    size_t waiting = 0;
    for (size_t i = 0; i + 1 < tokens->count; i++) {
        waiting = count_choices(tokens, i, waiting);
        if (tj_token_is_name(tokens, i) && tj_token_at(tokens, i + 1, ":") && waiting == 0 &&
            !tj_token_at(tokens, i, "default") && !is_reserved(&tokens->items[i]) &&
            (i == 0 || tokens->items[i].first || tj_token_in(tokens, i - 1, ";{}:)") ||
             tj_token_among(tokens, i - 1, "else do")) &&
            !is_own_label(this, &tokens->items[i]))
            tj_words_add(&this->labels, tokens->items[i].text, tokens->items[i].length);
    }
    this->failed |= this->labels.failed;
}

static void read_text(walk *this)
{
    find_labels(this);
    this->starts = true;
    for (this->at = 0; this->at < this->tokens->count && !this->failed; this->at++) {
        const tj_token *token = &this->tokens->items[this->at];
        this->loose |= token->kind == TJ_TOKEN_ELSE;
        if (!token->length) /* a condition or a doubt */
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
}

/* Refuses "#define failure 1". */
static void check_definitions(walk *this, const tj_tokens *raw)
{
    for (size_t i = 0; i < raw->count; i = tj_tokens_behind_line(raw, i))
        if (tj_token_directs(raw, i) && tj_token_is_name(raw, i + 2) &&
            (tj_token_at(raw, i + 1, "define") || tj_token_at(raw, i + 1, "undef")) &&
            is_reserved(&raw->items[i + 2]))
            blame(this, &raw->items[i + 2], fault_of(this->text, MEDDLES, 0));
}

bool tj_confine(const tj_expanded *expanded, const tj_graph_text *text, tj_confined *confined,
                tj_messages *messages)
{
    walk this = {
        .text = text, .tokens = &expanded->tokens, .confined = confined, .messages = messages};
    if (text->place != TJ_AT_FILE_LEVEL) { /* file level may contain any C */
        check_definitions(&this, &expanded->raw);
        read_text(&this);
    }
    if (confined) {
        confined->labels = this.labels;
        this.labels = (tj_words){0};
    }
    tj_words_clear(&this.labels);
    tj_free(this.frames);
    return !this.failed && !messages->failed;
}

void tj_confined_clear(tj_confined *confined)
{
    tj_words_clear(&confined->labels);
    tj_words_clear(&confined->arrays);
    tj_free(confined->lines);
    *confined = (tj_confined){0};
}
