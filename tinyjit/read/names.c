/* names.c: holds the identifiers of C texts as a set. Emitting uses it to find the values that a snippet
 * names; compiling uses it to find the symbols that a unit may need. */
#include "read/tokens.h"

struct tj_names {
    tj_map map; /* owned */
    bool pastes; /* the texts contain ## */
};

tj_names *tj_names_new(void)
{
    return tj_alloc_zeroed(1, sizeof(tj_names));
}

void tj_names_free(tj_names *names)
{
    if (!names)
        return;
    tj_map_clear(&names->map);
    tj_free(names);
}

static bool add_token(tj_names *names, const tj_token *token)
{
    names->pastes |= tj_token_is(token, "##");
    return token->kind != TJ_TOKEN_NAME || tj_map_add(&names->map, token->text, token->length);
}

bool tj_names_add(tj_names *names, const tj_tokens *tokens)
{
    bool complete = true;
    for (size_t i = 0; i < tokens->count && complete; i++)
        complete = add_token(names, &tokens->items[i]);
    return complete;
}

bool tj_names_collect(tj_names *names, const char *text, size_t length)
{
    tj_lexer lexer;
    tj_token token;
    bool complete = true;
    tj_lexer_init(&lexer, text, length);
    do {
        token = tj_lexer_next(&lexer);
        complete = !lexer.spelling.failed && add_token(names, &token);
    } while (complete && token.kind != TJ_TOKEN_END);
    tj_lexer_clear(&lexer);
    return complete;
}

bool tj_names_have_joined(const tj_names *names, const char *prefix, const char *name)
{
    return tj_map_find(&names->map, prefix, strlen(prefix), name, strlen(name));
}

bool tj_names_have(const tj_names *names, const char *name)
{
    return tj_names_have_joined(names, name, "");
}

bool tj_names_may_paste(const tj_names *names)
{
    return names->pastes;
}

const char *tj_names_next(const tj_names *names, size_t *at)
{
    const char *name = NULL;
    while (*at < names->map.capacity && !name)
        name = names->map.items[(*at)++].name;
    return name;
}
