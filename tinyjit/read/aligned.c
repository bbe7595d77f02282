/* aligned.c: locals that ask for more alignment than libtcc gives (typeless.h).
 *
 * Its frames are aligned to 16 bytes, and locals in them not further, in silence. Data
 * with static storage is placed as it is asked for.
 */
#include <stdlib.h>

#include "read/typeless.h"

enum {
    MOST = 16 /* bytes */
};

/* "aligned(64)" or "_Alignas(64)" at i: how much is asked for. */
static long alignment_at(const tj_tokens *tokens, size_t i)
{
    static const char *const words[] = {"_Alignas", "alignas", "aligned", "__aligned__", NULL};
    if (!tj_token_is_name(tokens, i) || !tj_token_among(tokens, i, words) ||
        !tj_token_at(tokens, i + 1, "(") || !tj_token_at(tokens, i + 3, ")") ||
        tokens->items[i + 2].kind != TJ_TOKEN_NUMBER)
        return 0;
    return strtol(tokens->items[i + 2].text, NULL, 0);
}

/* The declaration that i is part of has static storage. */
static bool is_static(const tj_tokens *tokens, size_t i)
{
    static const char *const ends[] = {";", "{", "}", NULL};
    static const char *const words[] = {"static", "extern", NULL};
    while (i > 0 && !tj_token_among(tokens, i - 1, ends))
        if (tj_token_among(tokens, --i, words))
            return true;
    return false;
}

bool tj_aligned_check(const tj_tokens *tokens, const tj_piece *piece, tj_scope scope,
                      tj_messages *messages)
{
    size_t depth = 0;
    bool inside = scope == TJ_BLOCK_SCOPE; /* of a function */
    for (size_t i = 0; i < tokens->count; i++) {
        if (tj_token_at(tokens, i, "{") && depth++ == 0 && scope == TJ_FILE_SCOPE)
            inside = i > 0 && (tj_token_at(tokens, i - 1, ")") || tj_token_at(tokens, i - 1, ";"));
        else if (tj_token_at(tokens, i, "}") && depth > 0 && --depth == 0)
            inside = scope == TJ_BLOCK_SCOPE;
        if (!inside || alignment_at(tokens, i) <= MOST || is_static(tokens, i))
            continue;
        tj_messages_add_at(messages, piece, tokens->items[i].start, tokens->items[i].end,
                           "locals are aligned to 16 bytes at the most: make it static, or round "
                           "an address up");
        break;
    }
    return !messages->failed;
}
