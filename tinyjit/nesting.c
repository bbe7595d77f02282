/* nesting.c: how deep a C parser descends (nesting.h).
 *
 * Depth is counted per open bracket: what is pending there (operators,
 * statements) plus the deepest of what stood inside. When a bracket closes, its
 * figures go to the one around it, and a macro's arguments are multiplied by
 * what the macro does with them.
 *
 * Whether `-` is unary, or whether "(x)" is a cast, is often not to be seen
 * without knowing the types; in doubt the deeper reading counts. What that
 * refuses wrongly is a single expression of thousands of terms.
 */
#include <stdint.h>
#include <string.h>

#include "internal.h"
#include "nesting.h"

/* tj_level.last: an operator (an operand must come), an operand, or a closing
 * parenthesis that may have been a cast. */
enum {
    WANTS_OPERAND,
    OPERAND,
    MAYBE_CAST
};

static const char too_many_brackets[] = "nested too deeply: more than 256 brackets are open";
static const char too_deep[] = "nested too deeply for the compiler";
static const char too_large[] = "the macros here expand to too many tokens";
static const char no_memory[] = "out of memory";

static size_t add(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static size_t multiply(size_t a, size_t b)
{
    return b && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

bool tj_nesting_begin(tj_nesting *nesting, bool is_macro)
{
    *nesting = (tj_nesting){.is_macro = is_macro};
    if (!tj_grow(&nesting->levels, 0, &nesting->capacity, sizeof(tj_level)))
        return false;
    nesting->levels[nesting->count++] = (tj_level){.bare_copies = 1};
    return true;
}

void tj_nesting_clear(tj_nesting *nesting)
{
    tj_free(nesting->levels);
    *nesting = (tj_nesting){0};
}

bool tj_nesting_copy(tj_nesting *to, const tj_nesting *from)
{
    *to = *from;
    to->levels = tj_alloc_zeroed(from->capacity, sizeof(tj_level));
    if (!to->levels)
        return false;
    memcpy(to->levels, from->levels, from->count * sizeof(tj_level));
    return true;
}

static void join_level(tj_level *level, const tj_level *other)
{
    level->prefixes = larger(level->prefixes, other->prefixes);
    level->chain = larger(level->chain, other->chain);
    level->statements = larger(level->statements, other->statements);
    level->peak = larger(level->peak, other->peak);
    level->size = larger(level->size, other->size);
    level->bare_peak = larger(level->bare_peak, other->bare_peak);
    level->bare_copies = larger(level->bare_copies, other->bare_copies);
}

bool tj_nesting_join(tj_nesting *nesting, const tj_nesting *other)
{
    const tj_nesting *less = other;
    bool differ = nesting->count != other->count;
    tj_nesting copy = {0};
    if (other->count > nesting->count) {
        if (!tj_nesting_copy(&copy, other))
            return false;
        tj_nesting swap = *nesting;
        *nesting = copy;
        copy = swap;
        less = &copy;
    }
    for (size_t i = 0; i < less->count; i++)
        join_level(&nesting->levels[i], &less->levels[i]);
    nesting->total = larger(nesting->total, less->total);
    nesting->is_loose |= less->is_loose || differ;
    nesting->named = nesting->called = false;
    tj_free(copy.levels);
    return true;
}

/* ---- levels ---------------------------------------------------------------- */

static tj_level *top_of(tj_nesting *nesting)
{
    return &nesting->levels[nesting->count - 1];
}

static size_t pending(const tj_level *level)
{
    return add(level->prefixes, add(level->chain, level->statements));
}

/* Something goes `inside` deep from here. */
static const char *reach(tj_level *level, size_t inside)
{
    level->peak = larger(level->peak, add(pending(level), inside));
    return level->peak > TJ_MAX_DEPTH ? too_deep : NULL;
}

static void end_expression(tj_level *level)
{
    level->prefixes = level->chain = level->questions = 0;
}

static const char *open_level(tj_nesting *nesting, char bracket, size_t offset)
{
    if (nesting->count > TJ_MAX_NESTING)
        return too_many_brackets;
    if (!tj_grow(&nesting->levels, nesting->count, &nesting->capacity, sizeof(tj_level)))
        return no_memory;
    nesting->levels[nesting->count++] = (tj_level){
        .bracket = bracket, .may_be_cast = bracket == '(', .bare_copies = 1, .offset = offset};
    return NULL;
}

static const char *use_brackets(tj_nesting *nesting, const tj_weight *weight, size_t offset);

/* The innermost bracket closes; what it held goes to the one around it. */
static const char *close_level(tj_nesting *nesting)
{
    tj_level inner = *top_of(nesting);
    nesting->count--;
    tj_level *level = top_of(nesting);
    size_t inside = add(inner.peak, 1), size = add(inner.size, 1), uses = inner.uses;
    if (inner.is_call) {
        size_t copies = multiply(inner.call.copies, inner.bare_copies);
        inside = add(add(inside, inner.call.peak), inner.bare_peak);
        size = multiply(add(inner.call.size, multiply(inner.call.copies, size)), inner.bare_copies);
        uses = multiply(uses, copies);
        nesting->total = add(nesting->total, size);
        size_t leaks = multiply(inner.call.leaks, inner.bare_copies);
        level->chain = add(level->chain, multiply(leaks, add(inner.prefixes, inner.chain)));
        level->leaks = add(level->leaks, multiply(leaks, inner.leaks));
    } else {
        level->bare_peak = add(level->bare_peak, inner.bare_peak);
        level->bare_copies = multiply(level->bare_copies, inner.bare_copies);
    }
    level->size = add(level->size, size);
    level->uses = add(level->uses, uses);
    const char *fault = reach(level, inside);
    if (!fault && inner.is_call && !nesting->is_macro &&
        (size > TJ_MAX_EXPANSION || nesting->total > (size_t)16 * TJ_MAX_EXPANSION))
        fault = too_large;
    if (!fault && inner.is_call) {
        fault = use_brackets(nesting, &inner.call, inner.offset);
        nesting->called = true;
        nesting->weight = inner.call;
    }
    return fault;
}

/* Closing brackets without kind: a macro's, or any where kinds are uncertain. */
static const char *close_any(tj_nesting *nesting)
{
    if (nesting->count > 1)
        return close_level(nesting);
    nesting->closes++;
    return nesting->is_macro ? NULL : "a bracket is closed here that nothing opened";
}

/* The brackets that a macro closes and opens, and the operators it leaves. */
static const char *use_brackets(tj_nesting *nesting, const tj_weight *weight, size_t offset)
{
    const char *fault = NULL;
    for (size_t i = 0; i < weight->closes && !fault; i++)
        fault = close_any(nesting);
    for (size_t i = 0; i < weight->opens && !fault; i++)
        fault = open_level(nesting, '?', offset);
    if (fault)
        return fault;
    tj_level *level = top_of(nesting);
    if (weight->ended) /* with a ; or a } */
        end_expression(level);
    level->chain = add(level->chain, weight->rest);
    level->statements = add(level->statements, weight->statements);
    level->ended = weight->ended;
    return reach(level, 0);
}

/* A macro without arguments: an object, or the name of one with parameters,
 * which others may apply. */
static const char *use_macro(tj_nesting *nesting, const tj_weight *weight, size_t offset)
{
    tj_level *level = top_of(nesting);
    level->size = add(level->size, weight->size);
    if (weight->copies > 1)
        level->bare_copies = multiply(level->bare_copies, weight->copies);
    if (weight->is_function) {
        level->bare_peak = add(level->bare_peak, weight->peak);
        return NULL;
    }
    nesting->total = add(nesting->total, weight->size);
    const char *fault = reach(level, weight->peak);
    if (!fault && !nesting->is_macro &&
        (weight->size > TJ_MAX_EXPANSION || nesting->total > (size_t)16 * TJ_MAX_EXPANSION))
        fault = too_large;
    return fault ? fault : use_brackets(nesting, weight, offset);
}

/* ---- tokens ---------------------------------------------------------------- */

static bool is_one_of(const tj_token *token, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tj_token_is(token, words[i]))
            return true;
    return false;
}

#define IS_ONE_OF(token, words) is_one_of(token, words, sizeof(words) / sizeof(*(words)))

static const char *name_token(tj_nesting *nesting, tj_macros *macros, const tj_token *token,
                              bool is_parameter, bool after_end)
{
    static const char *const statements[] = {"if", "for", "do", "switch"};
    static const char *const prefixes[] = {"sizeof",        "_Alignof", "__alignof", "__alignof__",
                                           "__extension__", "typeof",   "__typeof",  "__typeof__"};
    static const char *const others[] = {"return", "else", "case", "goto"};
    tj_level *level = top_of(nesting);
    const char *fault = NULL;
    if (is_parameter) {
        level->uses++;
        level->leaks++;
        level->last = OPERAND;
    } else if (tj_macros_weigh(macros, token->text, token->length, &nesting->weight, &fault)) {
        nesting->named = !fault;
        nesting->offset = token->start;
        level->last = MAYBE_CAST;
    } else if (IS_ONE_OF(token, statements) || (tj_token_is(token, "while") && !after_end)) {
        level->statements++;
        level->last = WANTS_OPERAND;
    } else if (IS_ONE_OF(token, prefixes)) {
        level->prefixes++;
        level->last = WANTS_OPERAND;
    } else {
        level->last = IS_ONE_OF(token, others) ? WANTS_OPERAND : OPERAND;
    }
    return fault ? fault : reach(level, 0);
}

static const char *opening_token(tj_nesting *nesting, char bracket, const tj_token *token,
                                 bool named, bool called)
{
    tj_level *around = top_of(nesting);
    bool is_cast = around->last != OPERAND;
    const char *fault = open_level(nesting, bracket, token->start);
    if (fault || bracket != '(')
        return fault;
    tj_level *level = top_of(nesting);
    level->may_be_cast = is_cast;
    level->is_call = named || called;
    level->call = nesting->weight;
    if (called)
        level->call = (tj_weight){
            .peak = level->call.peak, .copies = level->call.copies, .leaks = level->call.leaks};
    return NULL;
}

static const char *closing_token(tj_nesting *nesting, char bracket)
{
    char opening = bracket == ')' ? '(' : bracket == ']' ? '[' : '{';
    const tj_level *inner = top_of(nesting);
    bool cast = inner->may_be_cast, call = inner->is_call;
    if (nesting->count == 1 && !nesting->is_macro)
        return bracket == '}'   ? "'}' closes nothing"
               : bracket == ')' ? "')' closes nothing"
                                : "']' closes nothing";
    if (nesting->count > 1 && !nesting->is_loose && inner->bracket != opening &&
        inner->bracket != '?')
        return bracket == '}'   ? "'}' does not close the bracket that is open here"
               : bracket == ')' ? "')' does not close the bracket that is open here"
                                : "']' does not close the bracket that is open here";
    const char *fault = close_any(nesting);
    tj_level *level = top_of(nesting);
    if (bracket == '}') {
        end_expression(level);
        level->ended = true;
        level->last = OPERAND;
    } else {
        level->prefixes += bracket == ')' && cast && !call; /* a macro says what it leaves */
        level->last = bracket == ')' && cast ? MAYBE_CAST : OPERAND;
        level->may_be_cast = level->may_be_cast && (bracket == ']' || cast);
    }
    return fault;
}

static const char *operator_token(tj_level *level, const tj_token *token)
{
    static const char *const unary[] = {"-", "+", "*", "&", "&&", "!", "~", "++", "--"};
    static const char *const assigning[] = {
        "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
    char first = token->text[0];
    level->may_be_cast = level->may_be_cast && (tj_token_is(token, "*") || first == ',');
    if (first == ';') {
        end_expression(level);
        level->ended = true;
    } else if (first == ',') {
        level->prefixes = 0;
        level->chain = level->questions;
    } else if (first == '?') {
        level->prefixes = 0;
        level->chain++;
        level->questions++;
    } else if (first == ':') {
        level->prefixes = 0;
        level->questions -= level->questions > 0;
    } else if (IS_ONE_OF(token, assigning)) {
        level->prefixes = 0;
        level->chain++;
    } else if (tj_token_is(token, ".") || tj_token_is(token, "->")) {
        ; /* still the same operand */
    } else if (IS_ONE_OF(token, unary)) {
        bool postfix = tj_token_is(token, "++") || tj_token_is(token, "--");
        if (level->last == OPERAND && postfix)
            return NULL;
        level->prefixes = level->last == OPERAND ? 0 : level->prefixes + 1;
    } else {
        level->prefixes = 0;
    }
    level->last = WANTS_OPERAND;
    return reach(level, 0);
}

/* A macro's name without arguments behind it has been used by now. */
static const char *settle_macro(tj_nesting *nesting, const tj_token *token)
{
    bool arguments = token && token->kind == TJ_TOKEN_PUNCTUATOR && token->text[0] == '(';
    bool use = nesting->named && !arguments;
    tj_weight weight = nesting->weight;
    if (!arguments)
        nesting->named = nesting->called = false;
    return use ? use_macro(nesting, &weight, nesting->offset) : NULL;
}

const char *tj_nesting_settle(tj_nesting *nesting)
{
    return settle_macro(nesting, NULL);
}

const char *tj_nesting_token(tj_nesting *nesting, tj_macros *macros, const tj_token *token,
                             bool is_parameter)
{
    const char *fault = settle_macro(nesting, token);
    bool named = nesting->named, called = nesting->called;
    nesting->named = nesting->called = false;
    if (fault)
        return fault;
    tj_level *level = top_of(nesting);
    bool after_end = level->ended;
    level->size++;
    if (after_end && !tj_token_is(token, "else") && !tj_token_is(token, "while") &&
        !tj_token_is(token, ";"))
        level->statements = 0;
    level->ended = false;
    if (token->kind == TJ_TOKEN_NAME)
        return name_token(nesting, macros, token, is_parameter, after_end);
    if (token->kind != TJ_TOKEN_PUNCTUATOR) {
        level->may_be_cast = false;
        level->last = OPERAND;
        return NULL;
    }
    char first = token->text[0];
    if (first == '(' || first == '[' || first == '{')
        return opening_token(nesting, first, token, named, called);
    if (first == ')' || first == ']' || first == '}')
        return closing_token(nesting, first);
    return operator_token(level, token);
}

const char *tj_nesting_end(tj_nesting *nesting)
{
    const char *fault = settle_macro(nesting, NULL);
    while (!fault && nesting->count > 1)
        fault = close_level(nesting);
    return fault;
}
