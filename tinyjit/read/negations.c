/* negations.c: -x as (-1*(x)) (negations.h).
 *
 * One pass over the tokens: a minus that cannot stand between two operands has one, which ends
 * where C's grammar of unary expressions says. Whether (a) is a cast depends on what a is: keywords
 * are types, and names that declare something elsewhere in the text may be. A minus whose operand
 * depends on such a name stays.
 */
#include "read/negations.h"

#include <string.h>

#include "read/tokens.h"

static const char type_words[] = "void char short int long float double signed unsigned const "
                                 "volatile restrict struct union enum "
                                 "_Bool bool size_t npy_intp npy_bool npy_float16 npy_float32 "
                                 "npy_float64 npy_longdouble npy_int8 "
                                 "npy_int16 npy_int32 npy_int64 npy_uint8 npy_uint16 npy_uint32 "
                                 "npy_uint64 int8_t int16_t int32_t "
                                 "int64_t uint8_t uint16_t uint32_t uint64_t";
static const char before_operands[] = "return case else do sizeof _Alignof typeof __typeof__";
static const char named_operators[] = "and or xor bitand bitor not_eq and_eq or_eq xor_eq";

/* What to write around a token. */
typedef struct mark {
    bool opens;    /* the token is a minus, and (-1*( stands in its place */
    size_t closes; /* negations whose operand ends with the token */
} mark;

typedef struct reader {
    tj_tokens tokens; /* owned */
    mark *marks;      /* owned: one for each token */
    size_t end;       /* of the directive, or of the text: token */
} reader;

static const tj_token *token_at(const reader *this, size_t i)
{
    return &this->tokens.items[i];
}

static bool is_in(const reader *this, size_t i, const char *bytes)
{
    return i < this->end && tj_token_in(&this->tokens, i, bytes);
}

static bool is_any(const reader *this, size_t i, const char *words)
{
    return i < this->end && tj_token_among(&this->tokens, i, words);
}

static bool is_literal(const reader *this, size_t i)
{
    tj_token_kind kind = token_at(this, i)->kind;
    return kind == TJ_TOKEN_NUMBER || kind == TJ_TOKEN_STRING || kind == TJ_TOKEN_CHARACTER;
}

/* A name or literal that is an operand. */
static bool is_primary(const reader *this, size_t i)
{
    return i < this->end && (is_literal(this, i) || (tj_token_is_name(&this->tokens, i) &&
                                                     !is_any(this, i, before_operands)));
}

/* The token behind the bracket that closes the one at i; i: there is none, or a directive comes
 * first. */
static size_t behind_bracket(const reader *this, size_t i)
{
    size_t depth = 0;
    for (size_t at = i; at < this->end && !tj_token_directs(&this->tokens, at); at++) {
        if (is_in(this, at, "([{"))
            depth++;
        else if (is_in(this, at, ")]}") && --depth == 0)
            return at + 1;
    }
    return i;
}

/* The open bracket of the one that closes at i; i: there is none. */
static size_t bracket_before(const reader *this, size_t i)
{
    size_t depth = 0;
    for (size_t at = i + 1; at-- > 0;) {
        if (tj_token_in(&this->tokens, at, ")]}"))
            depth++;
        else if (tj_token_in(&this->tokens, at, "([{") && --depth == 0)
            return at;
    }
    return i;
}

/* ---- casts ------------------------------------------------------------------------- */

typedef enum truth {
    NO,
    PERHAPS,
    YES
} truth;

/* Somewhere the name stands in front of another one on its line, as types do. */
static bool declares(const reader *this, const tj_token *name)
{
    for (size_t i = 0; i + 1 < this->tokens.count; i++) {
        const tj_token *one = token_at(this, i), *next = one + 1;
        if (one->length == name->length && !memcmp(one->text, name->text, one->length) &&
            next->kind == TJ_TOKEN_NAME && !next->first && !next->word &&
            !tj_word_among(next->text, next->length, named_operators))
            return true;
    }
    return false;
}

/* Is what stands in the parentheses from open to close a type? */
static truth is_type(const reader *this, size_t open, size_t close)
{
    size_t at = open + 1;
    truth found = is_any(this, at, type_words) ? YES
                  : tj_token_is_name(&this->tokens, at) && declares(this, token_at(this, at))
                      ? PERHAPS
                      : NO;
    while (at < close && (tj_token_is_name(&this->tokens, at) || is_in(this, at, "*")))
        at++;
    return at == close ? found : NO;
}

/* ---- operands ------------------------------------------------------------------------ */

/* The token behind what follows a primary expression. */
static size_t behind_postfix(const reader *this, size_t i)
{
    for (size_t next = i; next < this->end; i = next) {
        if (is_in(this, i, "[("))
            next = behind_bracket(this, i);
        else if (is_any(this, i, ". ->") && i + 1 < this->end)
            next = i + 2;
        else if (is_any(this, i, "++ --"))
            next = i + 1;
        if (next == i)
            break;
    }
    return i;
}

/* The token behind the unary expression that begins at i; i: none does, or it is not certain where
 * it ends. */
static size_t behind_operand(const reader *this, size_t i)
{
    size_t at = i;
    while (at < this->end) {
        bool measures = is_any(this, at, "sizeof _Alignof");
        if (measures || is_any(this, at, "+ - ! ~ * & ++ --")) {
            at++;
            if (measures && is_in(this, at, "("))
                return behind_postfix(this, behind_bracket(this, at));
            continue;
        }
        if (is_primary(this, at))
            return behind_postfix(this, at + 1);
        if (!is_in(this, at, "("))
            return i;
        size_t behind = behind_bracket(this, at);
        if (behind == at)
            return i;
        if (is_in(this, behind, "{"))
            return behind_postfix(this, behind_bracket(this, behind));
        truth casts = is_primary(this, behind) ? YES : is_type(this, at, behind - 1);
        if (casts == NO)
            return behind_postfix(this, behind);
        if (casts == PERHAPS && is_any(this, behind, "+ - * &"))
            return i;
        at = behind;
    }
    return i;
}

/* The parenthesis that closes at i is a cast's. */
static bool ends_cast(const reader *this, size_t i)
{
    size_t open = bracket_before(this, i);
    bool calls =
        open > 0 && (is_primary(this, open - 1) || is_any(this, open - 1, before_operands));
    return (!calls || is_any(this, open - 1, "return case else do")) &&
           is_type(this, open, i) != NO;
}

/* The minus at i has one operand. */
static bool is_unary(const reader *this, size_t begin, size_t i)
{
    if (i == begin || is_any(this, i - 1, before_operands))
        return true;
    if (is_in(this, i - 1, ")"))
        return ends_cast(this, i - 1);
    return !is_primary(this, i - 1) && !is_in(this, i - 1, "]}") && !is_any(this, i - 1, "++ --");
}

/* Pasting or spelling happens here. */
static bool has_hash(const reader *this, size_t i, size_t end)
{
    for (; i <= end && i < this->end; i++)
        if (is_any(this, i, "# ##"))
            return true;
    return false;
}

static void mark_one(reader *this, size_t i)
{
    size_t behind = behind_operand(this, i + 1);
    bool literal = behind == i + 2 && is_literal(this, i + 1);
    bool goes_on = is_primary(this, behind); /* a macro that is an index, or other arguments */
    if (behind == i + 1 || literal || goes_on || has_hash(this, i ? i - 1 : 0, behind))
        return;
    this->marks[i].opens = true;
    this->marks[behind - 1].closes++;
}

static void mark_range(reader *this, size_t begin, size_t end)
{
    this->end = end;
    for (size_t i = begin; i < end; i++)
        if (is_any(this, i, "-") && is_unary(this, begin, i))
            mark_one(this, i);
}

/* The body of a #define at i. */
static void mark_directive(reader *this, size_t i, size_t end)
{
    size_t at = i + 3;
    this->end = end;
    if (!is_any(this, i + 1, "define") || at >= end)
        return;
    if (is_in(this, at, "(") && !token_at(this, at)->spaced)
        at = behind_bracket(this, at);
    mark_range(this, at, end);
}

static void mark_text(reader *this)
{
    const tj_tokens *tokens = &this->tokens;
    size_t begin = 0;
    for (size_t i = 0; i <= tokens->count; i++) {
        if (i < tokens->count && !tj_token_directs(tokens, i))
            continue;
        mark_range(this, begin, i);
        if (i == tokens->count)
            break;
        begin = tj_tokens_behind_line(tokens, i);
        mark_directive(this, i, begin);
        i = begin - 1;
    }
}

/* ---- the text -------------------------------------------------------------------------- */

static void write_marked(const reader *this, const char *text, size_t length, tj_text *out)
{
    size_t written = 0;
    for (size_t i = 0; i < this->tokens.count; i++) {
        const tj_token *token = token_at(this, i);
        const mark *around = &this->marks[i];
        if (around->opens) {
            tj_text_add(out, text + written, token->start - written);
            tj_text_puts(out, "(-1*(");
            written = token->end;
        }
        if (around->closes) {
            tj_text_add(out, text + written, token->end - written);
            written = token->end;
        }
        for (size_t k = 0; k < around->closes; k++)
            tj_text_puts(out, "))");
    }
    tj_text_add(out, text + written, length - written);
}

void tj_negations_write(const char *text, tj_text *out)
{
    reader this = {0};
    size_t length = strlen(text);
    if (tj_tokens_list(&this.tokens, text, length) &&
        (this.marks = tj_alloc_zeroed(this.tokens.count + 1, sizeof *this.marks))) {
        mark_text(&this);
        write_marked(&this, text, length, out);
    } else {
        out->failed = true;
    }
    tj_free(this.marks);
    tj_tokens_clear(&this.tokens);
}
