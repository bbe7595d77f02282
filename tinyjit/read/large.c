/* large.c: arrays of 2 GiB and more (typeless.h).
 *
 * libtcc counts their bytes in 32 bits, in silence: `char a[65536][65537]` gets 64 KiB. What is
 * looked for is two words in a row, as in `double a`, with brackets behind them; dims that name
 * something count as one.
 */
#include <stdlib.h>
#include <string.h>

#include "read/typeless.h"

/* Bytes of an item; of a type that is not listed a guess, as a wrong size is worse than an
 * array on the heap. */
enum {
    UNKNOWN = 16
};

static const struct {
    const char *word;
    int size;
} SIZES[] = {{"char", 1},       {"bool", 1},     {"_Bool", 1},     {"npy_bool", 1},
             {"int8_t", 1},     {"uint8_t", 1},  {"npy_int8", 1},  {"npy_uint8", 1},
             {"short", 2},      {"int16_t", 2},  {"uint16_t", 2},  {"npy_int16", 2},
             {"npy_uint16", 2}, {"int", 4},      {"unsigned", 4},  {"float", 4},
             {"int32_t", 4},    {"uint32_t", 4}, {"npy_int32", 4}, {"npy_uint32", 4},
             {"npy_float", 4}};

static int size_of(const tj_tokens *tokens, size_t word)
{
    if (word > 0 && tj_token_at(tokens, word - 1, "long"))
        return tj_token_at(tokens, word, "double") ? 16 : 8;
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(*SIZES); i++)
        if (tj_token_at(tokens, word, SIZES[i].word))
            return SIZES[i].size;
    return tj_token_at(tokens, word, "double") || tj_token_at(tokens, word, "long") ? 8 : UNKNOWN;
}

/* ---- constant expressions ------------------------------------------------------ */

static double sum(const tj_tokens *tokens, size_t *at, size_t end);

static double number(const tj_tokens *tokens, size_t *at, size_t end)
{
    size_t i = (*at)++;
    double value = 1;
    if (tj_token_at(tokens, i, "(") && tokens->mates[i] < end) {
        value = sum(tokens, at, tokens->mates[i]);
        *at = tokens->mates[i] + 1;
    } else if (i < end && tokens->items[i].kind == TJ_TOKEN_NUMBER) {
        value = (double)strtoull(tokens->items[i].text, NULL, 0);
    }
    return value;
}

static double product(const tj_tokens *tokens, size_t *at, size_t end)
{
    double value = number(tokens, at, end);
    while (*at < end && tj_token_at(tokens, *at, "*")) {
        ++*at;
        value *= number(tokens, at, end);
    }
    return value;
}

/* Sums and shifts; what follows that is neither is left out. */
static double sum(const tj_tokens *tokens, size_t *at, size_t end)
{
    double value = product(tokens, at, end);
    while (*at < end) {
        size_t sign = (*at)++;
        if (tj_token_at(tokens, sign, "<<")) {
            double bits = product(tokens, at, end);
            value *= bits < 64 ? (double)(1ull << (unsigned)bits) : 0;
        } else if (tj_token_at(tokens, sign, "+")) {
            value += product(tokens, at, end);
        } else if (tj_token_at(tokens, sign, "-")) {
            value -= product(tokens, at, end);
        } else {
            break;
        }
    }
    return value;
}

/* ---- declarations ----------------------------------------------------------------- */

/* Items of what the brackets from `at` on declare; *at: behind them. */
static double items_of(const tj_tokens *tokens, size_t *at)
{
    double items = 1;
    while (tj_token_at(tokens, *at, "[") && tokens->mates[*at] < tokens->count) {
        size_t inside = *at + 1, end = tokens->mates[*at];
        double dim = inside < end ? sum(tokens, &inside, end) : 1;
        items *= dim > 1 ? dim : 1;
        *at = end + 1;
    }
    return items;
}

/* From the first declarator on: double a[2], *b[3], c = 1, d[4]. The place of one that is too
 * large, or the end of the text. */
static size_t find_large(const tj_tokens *tokens, size_t first)
{
    size_t at = first;
    int size = size_of(tokens, first - 1);
    while (at < tokens->count) {
        bool pointer = tj_token_at(tokens, at, "*");
        while (tj_token_at(tokens, at, "*"))
            at++;
        size_t name = at;
        if (!tj_token_is_name(tokens, at++) ||
            items_of(tokens, &at) * (pointer ? 8 : size) >= 2147483648.0)
            return tj_token_is_name(tokens, name) ? name : tokens->count;
        while (at < tokens->count && !tj_token_at(tokens, at, ",")) {
            if (tj_token_at(tokens, at, ";") || tj_token_at(tokens, at, ")"))
                return tokens->count;
            at = tokens->mates[at] > at && tokens->mates[at] < tokens->count ? tokens->mates[at] + 1
                                                                             : at + 1;
        }
        at++;
    }
    return tokens->count;
}

bool tj_large_check(const tj_tokens *tokens, const tj_piece *piece, tj_messages *messages)
{
    for (size_t i = 1; i < tokens->count; i++) {
        bool two = tj_token_is_name(tokens, i - 1) && tj_token_is_name(tokens, i) &&
                   !tj_token_word(tokens, i - 1, TJ_STATEMENT | TJ_MEASURE);
        bool pointer = tj_token_word(tokens, i - 1, TJ_TYPE) && tj_token_at(tokens, i, "*");
        size_t large = two || pointer ? find_large(tokens, i) : tokens->count;
        if (large == tokens->count)
            continue;
        tj_messages_add_at(
            messages, piece, tokens->items[large].start, tokens->items[large].end,
            "this array is too large for libtcc, which counts bytes in 32 bits (2 GiB "
            "and more are above any cwrapjit.config.compile_memory)");
        break;
    }
    return !messages->failed;
}
