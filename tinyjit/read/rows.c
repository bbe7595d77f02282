/* rows.c: parameters that point to rows of a length that another one says (typeless.h).
 *
 * libtcc takes the length of `double (*a)[n]` from a place on the stack that nothing has set, where
 * a[][n], the same type, is right. Of a definition's own parameters only: a local pointer is fine.
 */
#include <string.h>

#include "read/typeless.h"

/* The token behind the declarator `(*restrict a)` that begins at i, whose name is at *name;
 * 0: there is none. */
static size_t behind_pointer(const tj_tokens *tokens, size_t i, size_t *name)
{
    size_t end = tokens->mates[i];
    if (!tj_token_at(tokens, i, "(") || !tj_token_at(tokens, i + 1, "*") || end >= tokens->count)
        return 0;
    for (*name = i + 2; tj_token_word(tokens, *name, TJ_QUALIFIER); ++*name)
        ;
    return tj_token_is_name(tokens, *name) && *name + 1 == end ? end + 1 : 0;
}

static bool same_name(const tj_token *one, const tj_token *other)
{
    return one->kind == TJ_TOKEN_NAME && one->length == other->length &&
           !memcmp(one->text, other->text, one->length);
}

/* The name at i is a parameter's of the list. */
static bool is_parameter(const tj_tokens *tokens, size_t i, size_t open)
{
    static const char *const behind[] = {",", ")", "[", NULL};
    for (size_t k = open + 1; k < tokens->mates[open]; k++) {
        if (tj_token_at(tokens, k, "[") && tokens->mates[k] < tokens->count)
            k = tokens->mates[k];
        else if (same_name(&tokens->items[i], &tokens->items[k]) &&
                 tj_token_among(tokens, k + 1, behind))
            return true;
    }
    return false;
}

/* Some dim from `at` on is said by a parameter. */
static bool is_variable(const tj_tokens *tokens, size_t at, size_t open)
{
    for (; tj_token_at(tokens, at, "["); at = tokens->mates[at] + 1)
        for (size_t i = at + 1; i < tokens->mates[at] && i < tokens->count; i++)
            if (tj_token_is_name(tokens, i) && is_parameter(tokens, i, open))
                return true;
    return false;
}

/* The parameters of a definition begin at i. */
static bool opens_parameters(const tj_tokens *tokens, size_t i)
{
    return i > 0 && tj_token_at(tokens, i, "(") && tj_token_is_name(tokens, i - 1) &&
           !tj_token_word(tokens, i - 1, TJ_STATEMENT) && tokens->mates[i] < tokens->count &&
           tj_token_at(tokens, tokens->mates[i] + 1, "{");
}

bool tj_rows_check(const tj_tokens *tokens, const tj_piece *piece, tj_messages *messages)
{
    for (size_t open = 0; open < tokens->count; open++) {
        for (size_t i = open + 1; opens_parameters(tokens, open) && i < tokens->mates[open]; i++) {
            size_t name = 0, dims = behind_pointer(tokens, i, &name);
            if (!dims || !is_variable(tokens, dims, open))
                continue;
            tj_messages_add_at(messages, piece, tokens->items[name].start, tokens->items[name].end,
                               "libtcc takes a wrong length for the rows of this parameter: write "
                               "a[][n] for (*a)[n], which is the same type");
            return !messages->failed;
        }
    }
    return !messages->failed;
}
