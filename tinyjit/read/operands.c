/* operands.c: finds the operands of a C text and inserts text around them (operands.h). */
#include "read/operands.h"

#include <string.h>

static const char standard_types[] =
    "size_t ssize_t ptrdiff_t intptr_t uintptr_t intmax_t uintmax_t int8_t int16_t int32_t "
    "int64_t uint8_t uint16_t uint32_t uint64_t";

bool tj_operands_in(const tj_operands *this, size_t i, const char *bytes)
{
    return i < this->end && tj_token_in(&this->tokens, i, bytes);
}

bool tj_operands_any(const tj_operands *this, size_t i, const char *words)
{
    return i < this->end && tj_token_among(&this->tokens, i, words);
}

bool tj_operands_is_literal(const tj_operands *this, size_t i)
{
    tj_token_kind kind = i < this->end ? this->tokens.items[i].kind : TJ_TOKEN_END;
    return kind == TJ_TOKEN_NUMBER || kind == TJ_TOKEN_STRING || kind == TJ_TOKEN_CHARACTER;
}

bool tj_operands_is_primary(const tj_operands *this, size_t i)
{
    return tj_operands_is_literal(this, i) ||
           (i < this->end && tj_token_is_name(&this->tokens, i) &&
            (!tj_token_word(&this->tokens, i, -1) || tj_operands_any(this, i, "_Generic")));
}

size_t tj_operands_mate(const tj_operands *this, size_t i)
{
    size_t other = this->tokens.mates[i];
    return other < this->tokens.count ? other : i;
}

enum {
    MOST_PARAMETERS = 200 /* tokens of a macro's list; with more, any name may be a parameter */
};

/* ---- types ----------------------------------------------------------------------------- */

bool tj_operands_known(const tj_operands *this, const tj_map *map, size_t i)
{
    const tj_token *token = i < this->tokens.count ? &this->tokens.items[i] : NULL;
    return token && token->kind == TJ_TOKEN_NAME &&
           tj_map_find(map, "", 0, token->text, token->length);
}

static bool add_name(tj_operands *this, tj_map *map, size_t i)
{
    const tj_token *token = &this->tokens.items[i];
    if (!tj_map_add(map, token->text, token->length))
        this->failed = true;
    return !this->failed;
}

/* Returns true if token i is a word of a type, or the name of a type. */
static bool is_type_word(const tj_operands *this, size_t i)
{
    const tj_token *token = &this->tokens.items[i];
    return tj_token_word(&this->tokens, i, TJ_TYPE | TJ_QUALIFIER | TJ_DEFINER) ||
           tj_token_among(&this->tokens, i, standard_types) || tj_token_starts(token, "npy_") ||
           tj_operands_known(this, &this->types, i);
}

/* Returns true if brackets that do not plainly contain a type may contain one: typeof(x), enum {A}, a macro(32). */
static bool may_be_type(const tj_operands *this, size_t open, size_t close)
{
    for (size_t i = open + 1; i < close; i++) {
        if (tj_token_word(&this->tokens, i,
                          TJ_TYPE | TJ_QUALIFIER | TJ_DEFINER | TJ_TYPEOF | TJ_ATTRIBUTE) ||
            (tj_operands_is_primary(this, i) && tj_operands_is_primary(this, i + 1)))
            return true;
        if (tj_operands_in(this, i, "([{"))
            i = tj_operands_mate(this, i);
    }
    return tj_token_is_name(&this->tokens, open + 1) &&
           (open + 2 == close ||
            (tj_operands_in(this, open + 2, "(") && tj_operands_mate(this, open + 2) + 1 == close));
}

bool tj_operands_is_type(const tj_operands *this, size_t open, bool *perhaps)
{
    size_t at = open + 1, close = tj_operands_mate(this, open);
    bool found = at < close && is_type_word(this, at);
    bool named = found || tj_token_is_name(&this->tokens, at);
    for (at++; at < close && found && tj_token_is_name(&this->tokens, at); at++)
        continue;
    for (; at < close && named && tj_operands_in(this, at, "*"); at++)
        found = true; /* (name *) must be a type */
    found = found && at == close;
    *perhaps = !found && open < close && may_be_type(this, open, close);
    return found;
}

/* Adds the types of `typedef double T, U[2];` at i. Returns its last token; a directive ends it early. */
static size_t add_typedef(tj_operands *this, size_t i)
{
    const tj_tokens *tokens = &this->tokens;
    size_t depth = 0;
    while (++i < tokens->count && !tj_token_directs(tokens, i)) {
        depth += tj_token_in(tokens, i, "([{");
        depth -= depth > 0 && tj_token_in(tokens, i, ")]}");
        if (depth == 0 && tj_token_is_name(tokens, i) && tj_token_in(tokens, i + 1, ";,["))
            add_name(this, &this->types, i);
        if (depth == 0 && tj_token_at(tokens, i, ";"))
            return i;
    }
    return i - 1;
}

/* ---- macros ------------------------------------------------------------------------------ */

/* Returns the start of the body of the #define at i, which ends at `end`. Its parameters begin at *parameters. */
static size_t body_of(const tj_tokens *tokens, size_t i, size_t end, size_t *parameters)
{
    size_t body = i + 3 < end ? i + 3 : end;
    *parameters = body;
    if (tj_token_at(tokens, body, "(") && !tokens->items[body].spaced)
        while (body < end && !tj_token_at(tokens, body++, ")"))
            continue;
    return body;
}

static tj_openness openness_of(const tj_operands *this, size_t i, size_t end)
{
    const tj_tokens *tokens = &this->tokens;
    tj_openness found = i < end ? TJ_CLOSED : TJ_LOOSE;
    size_t depth = 0, first = i;
    bool has_type = false; /* (int) is a cast, not an operand */
    for (; i < end; i++) {
        bool opens = tj_token_in(tokens, i, "([{"), closes = tj_token_in(tokens, i, ")]}");
        if ((closes && depth == 0) || tj_token_word(tokens, i, TJ_STATEMENT))
            return TJ_LOOSE;
        depth -= closes;
        has_type |= depth == 1 && is_type_word(this, i);
        if (depth == 0 && !opens && !closes && tokens->items[i].kind == TJ_TOKEN_PUNCTUATOR &&
            !tj_token_among(tokens, i, ". ->")) {
            bool loose = tj_token_in(tokens, i, "?:,;=") || tj_token_among(tokens, i, "&& ||");
            found = loose ? TJ_LOOSE : found < TJ_OPEN ? TJ_OPEN : found;
        }
        depth += opens;
    }
    bool is_cast = has_type && tj_token_in(tokens, first, "(");
    return depth > 0 || is_cast ? TJ_LOOSE : found;
}

/* Adds the macro of `#define T double` or `#define N 2 + 3` at i. */
static void add_macro(tj_operands *this, size_t i, size_t end)
{
    static const char openness[] = {TJ_CLOSED, TJ_OPEN, TJ_LOOSE};
    const tj_tokens *tokens = &this->tokens;
    size_t parameters, body = body_of(tokens, i, end, &parameters), behind = body, name = i + 2;
    if (name >= end)
        return;
    add_name(this, &this->defined, name);
    if (parameters < body)
        add_name(this, &this->calls, name);
    while (behind < end && is_type_word(this, behind))
        behind++;
    while (behind > body && behind < end && tj_token_at(tokens, behind, "*"))
        behind++;
    if (parameters == body && behind > body && behind == end) {
        add_name(this, &this->types, name);
        return;
    }
    tj_openness found = openness_of(this, body, end);
    if (found == TJ_CLOSED)
        return;
    tj_map_item *item =
        tj_map_add(&this->macros, tokens->items[name].text, tokens->items[name].length);
    if (!item)
        this->failed = true;
    else if (!item->address || *(const char *)item->address < (char)found)
        item->address = &openness[found];
}

/* Returns true if token i is a parameter of the macro that this body belongs to. */
static bool is_parameter(const tj_operands *this, size_t i)
{
    const tj_token *token = &this->tokens.items[i];
    if (!this->is_body || token->kind != TJ_TOKEN_NAME)
        return false;
    if (this->begin - this->parameters > MOST_PARAMETERS)
        return true; /* any name may be one */
    for (size_t k = this->parameters; k < this->begin; k++)
        if (tj_token_same(token, &this->tokens.items[k]))
            return true;
    return tj_token_is(token, "__VA_ARGS__");
}

static tj_openness openness_at(const tj_operands *this, size_t i)
{
    const tj_token *token = &this->tokens.items[i];
    if (token->kind != TJ_TOKEN_NAME)
        return TJ_CLOSED;
    if (is_parameter(this, i))
        return TJ_LOOSE;
    const tj_map_item *item = tj_map_find(&this->macros, "", 0, token->text, token->length);
    return item ? (tj_openness) * (const char *)item->address : TJ_CLOSED;
}

size_t tj_operands_behind_call(const tj_operands *this, size_t i)
{
    if (!tj_operands_known(this, &this->calls, i) || !tj_operands_in(this, i + 1, "("))
        return i;
    size_t close = tj_operands_mate(this, i + 1);
    return close > i + 1 ? close + 1 : this->end;
}

bool tj_operands_is_certain(const tj_operands *this, size_t first, size_t behind, tj_openness most)
{
    if (this->is_body && this->hashes)
        return false;
    for (size_t i = first; i < behind; i++) {
        if (openness_at(this, i) > most || tj_token_word(&this->tokens, i, TJ_STATEMENT) ||
            (i + 1 < behind && tj_operands_is_primary(this, i) &&
             tj_operands_is_primary(this, i + 1)))
            return false;
        if (tj_operands_in(this, i, "([{")) {
            size_t close = tj_operands_mate(this, i);
            if (close == i || close >= behind)
                return false;
            i = close;
        }
    }
    return true;
}

/* ---- unary expressions -------------------------------------------------------------------- */

/* Returns the token after the bracket that matches the one at i; i if there is none. */
static size_t behind_bracket(const tj_operands *this, size_t i)
{
    size_t close = tj_operands_mate(this, i);
    return close == i ? i : close + 1;
}

enum {
    MOST_OPERATORS = 100 /* tokens before an operand: operators and casts */
};

/* Returns the token after the postfix operators of a primary expression. */
static size_t behind_postfix(const tj_operands *this, size_t i)
{
    for (size_t next = i; next < this->end; i = next) {
        if (tj_operands_in(this, i, "[("))
            next = behind_bracket(this, i);
        else if (tj_operands_any(this, i, ". ->") && i + 1 < this->end)
            next = i + 2;
        else if (tj_operands_any(this, i, "++ --"))
            next = i + 1;
        if (next == i)
            break;
    }
    return i;
}

/* Returns the token after the unary expression that begins at i, as far as it is known; i if there is none. */
static size_t behind_unary(const tj_operands *this, size_t i)
{
    size_t at = i;
    while (at < this->end && at < i + MOST_OPERATORS) {
        bool measures = tj_operands_any(this, at, "sizeof _Alignof"), perhaps;
        if (measures || tj_operands_any(this, at, "+ - ! ~ * & ++ --")) {
            at++;
            if (!measures || !tj_operands_in(this, at, "("))
                continue;
            at = behind_bracket(this, at);
            return behind_postfix(this,
                                  tj_operands_in(this, at, "{") ? behind_bracket(this, at) : at);
        }
        if (tj_operands_is_primary(this, at))
            return behind_postfix(this, at + 1);
        if (!tj_operands_in(this, at, "("))
            return i;
        size_t behind = behind_bracket(this, at);
        if (behind == at)
            return i;
        bool is_type = tj_operands_is_type(this, at, &perhaps);
        if (is_type && tj_operands_in(this, behind, "{"))
            return behind_postfix(this, behind_bracket(this, behind));
        if (!is_type) {
            if (perhaps && tj_operands_any(this, behind, "( { + - * & && ++ --"))
                return i;
            bool casts = tj_operands_is_primary(this, behind) ||
                         tj_operands_any(this, behind, "! ~ sizeof _Alignof");
            if (!casts)
                return behind_postfix(this, behind);
        }
        at = behind;
    }
    return i;
}

size_t tj_operands_behind_whole(const tj_operands *this, size_t i)
{
    size_t behind = behind_unary(this, i);
    bool literal = behind == i + 1 && tj_operands_is_literal(this, i);
    bool goes_on =
        tj_operands_is_primary(this, behind); /* a macro that expands to an index or arguments */
    bool cut = behind == this->end && behind < this->tokens.count;
    return literal || goes_on || cut || !tj_operands_is_certain(this, i, behind, TJ_CLOSED)
               ? i
               : behind;
}

/* ---- the text ------------------------------------------------------------------------------ */

static void read_names(tj_operands *this)
{
    const tj_tokens *tokens = &this->tokens;
    for (size_t i = 0; i < tokens->count && !this->failed; i++) {
        if (tj_token_directs(tokens, i)) {
            size_t end = tj_tokens_behind_line(tokens, i);
            if (tj_token_at(tokens, i + 1, "define"))
                add_macro(this, i, end);
            for (size_t k = i + 2; tj_token_among(tokens, i + 1, "if elif") && k < end; k++)
                this->computes |= tj_operands_known(this, &this->defined, k) &&
                                  !tj_token_at(tokens, k - 1, "defined") &&
                                  !tj_token_at(tokens, k - 2, "defined");
            i = end - 1;
        } else if (tj_token_at(tokens, i, "typedef")) {
            i = add_typedef(this, i);
        } else if (tj_token_is_name(tokens, i) && tj_token_at(tokens, i + 1, ":") &&
                   (i == 0 || tj_token_in(tokens, i - 1, ";{}:)"))) {
            add_name(this, &this->labels, i);
        }
    }
}

static void mark_range(tj_operands *this, size_t begin, size_t end, void (*mark)(tj_operands *this))
{
    this->begin = begin;
    this->end = end;
    this->hashes = false;
    for (size_t i = begin; i < end && this->is_body; i++)
        this->hashes |= tj_operands_any(this, i, "# ##");
    tj_tokens_pair_range(&this->tokens, begin, end);
    mark(this);
    for (size_t i = begin; i < end && !this->is_body; i++) {
        this->depth += tj_operands_in(this, i, "{");
        this->depth -= this->depth > 0 && tj_operands_in(this, i, "}");
    }
    if (!this->is_body && end > begin)
        this->before = end - 1;
}

static void mark_ranges(tj_operands *this, void (*mark)(tj_operands *this))
{
    static const char conditions[] = "if ifdef ifndef else elif elifdef elifndef endif";
    const tj_tokens *tokens = &this->tokens;
    size_t begin = 0;
    this->before = tokens->count;
    for (size_t i = 0; i <= tokens->count; i++) {
        if (i < tokens->count && !tj_token_directs(tokens, i))
            continue;
        mark_range(this, begin, i, mark);
        if (i == tokens->count)
            break;
        begin = tj_tokens_behind_line(tokens, i);
        if (tj_token_at(tokens, i + 1, "define")) {
            this->is_body = true;
            mark_range(this, body_of(tokens, i, begin, &this->parameters), begin, mark);
            this->is_body = false;
        } else if (tj_token_among(tokens, i + 1, conditions)) {
            this->before = tokens->count;
        }
        i = begin - 1;
    }
}

static void write_text(const tj_operands *this, const char *text, size_t length,
                       const char *opening, bool replaces, tj_text *out)
{
    size_t written = 0;
    for (size_t i = 0; i < this->tokens.count; i++) {
        const tj_token *token = &this->tokens.items[i];
        const tj_mark *mark = &this->marks[i];
        if (!mark->opens && !mark->closes)
            continue;
        tj_text_add(out, text + written, token->start - written);
        for (size_t k = 0; k < mark->opens; k++)
            tj_text_puts(out, mark->opening ? mark->opening : opening);
        if (!mark->opens || !replaces)
            tj_text_add(out, text + token->start, token->end - token->start);
        for (size_t k = 0; k < mark->closes; k++)
            tj_text_puts(out, ")");
        written = token->end;
    }
    tj_text_add(out, text + written, length - written);
}

void tj_operands_rewrite(const char *text, bool (*is_concerned)(const tj_operands *this),
                         void (*mark)(tj_operands *this), const char *opening, bool replaces,
                         tj_text *out)
{
    tj_operands this = {0};
    size_t length = strlen(text);
    this.failed = !tj_tokens_read(&this.tokens, text, length);
    this.end = this.tokens.count;
    this.marks = tj_alloc_zeroed(this.tokens.count + 1, sizeof *this.marks);
    this.failed |= !this.marks;
    read_names(&this);
    bool complete = !this.failed;
    if (complete && (!is_concerned || is_concerned(&this)))
        mark_ranges(&this, mark);
    if (complete)
        write_text(&this, text, length, opening, replaces, out);
    out->failed |= !complete;
    tj_tokens_clear(&this.tokens);
    tj_free(this.marks);
    tj_map_clear(&this.types);
    tj_map_clear(&this.macros);
    tj_map_clear(&this.calls);
    tj_map_clear(&this.defined);
    tj_map_clear(&this.labels);
}
