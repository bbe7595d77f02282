/* macros.c: implements a table of macros (macros.h).
 *
 * Most names are not macros; a filter shows that for most of them without a search. The text of a macro is
 * split into tokens at its first use. */
#include <stdint.h>

#include "read/macros.h"

struct tj_macros {
    tj_map map;         /* owned: maps names to macros, or to NULL after #undef */
    tj_macro **items;   /* owned, with its items: all macros ever defined */
    size_t count, capacity;
    uint64_t filter[4]; /* one bit per hash of a name */
};

static void free_macro(tj_macro *this)
{
    if (!this)
        return;
    tj_tokens_clear(&this->tokens);
    tj_free(this->text);
    tj_free(this);
}

void tj_macros_free(tj_macros *macros)
{
    if (!macros)
        return;
    for (size_t i = 0; i < macros->count; i++)
        free_macro(macros->items[i]);
    tj_free(macros->items);
    tj_map_clear(&macros->map);
    tj_free(macros);
}

static unsigned look_of(const char *name, size_t length)
{
    return ((unsigned char)name[0] + 7u * (unsigned char)name[length - 1] +
            31u * (unsigned)length) &
           255u;
}

static bool set_name(tj_macros *this, const tj_token *name, const tj_macro *new)
{
    unsigned look = look_of(name->text, name->length);
    tj_map_item *item = tj_map_add(&this->map, name->text, name->length);
    this->filter[look / 64] |= (uint64_t)1 << look % 64;
    if (item)
        item->address = new;
    return item;
}

/* ---- definitions --------------------------------------------------------------- */

bool tj_macros_define(tj_macros *this, const char *text, size_t length, const tj_token *name,
                      size_t branch)
{
    if (!text)
        return set_name(this, name, NULL);
    tj_macro *new = tj_alloc_zeroed(1, sizeof *new);
    if (new)
        new->text = tj_copy_bytes(text, length);
    if (!new || !new->text ||
        !tj_grow(&this->items, this->count, &this->capacity, sizeof *this->items)) {
        free_macro(new);
        return false;
    }
    new->length = length;
    new->branch = branch;
    this->items[this->count++] = new;
    return set_name(this, name, new);
}

/* Reads the macro's text if that is not done yet. Returns false if out of memory. */
static bool prepare(tj_macro *this)
{
    if (this->body > 0)
        return true;
    if (!tj_tokens_list(&this->tokens, this->text, this->length)) {
        tj_tokens_clear(&this->tokens);
        return false;
    }
    this->body = 1;
    if (!tj_token_at(&this->tokens, 1, "(") || this->tokens.items[1].spaced)
        return true;
    size_t close = 2; /* "(a, b, c...)": parameters and commas alternate */
    while (close < this->tokens.count && !tj_token_at(&this->tokens, close, ")"))
        close++;
    this->is_function = true;
    this->takes_rest = tj_token_at(&this->tokens, close - 1, "...");
    this->nparameters = (close - 1) / 2;
    this->body = close + 1;
    return true;
}

tj_macro *tj_macros_find(tj_macros *macros, const tj_token *name, bool *fine)
{
    unsigned look = look_of(name->text, name->length);
    if (!(macros->filter[look / 64] >> look % 64 & 1))
        return NULL;
    const tj_map_item *item = tj_map_find(&macros->map, name->text, name->length, "", 0);
    tj_macro *found = item ? (tj_macro *)item->address : NULL;
    *fine &= !found || prepare(found);
    return *fine ? found : NULL;
}

size_t tj_macro_parameter(const tj_macro *this, size_t i)
{
    const tj_token *token = &this->tokens.items[i];
    for (size_t k = 0; k < this->nparameters && token->kind == TJ_TOKEN_NAME; k++) {
        const tj_token *name = &this->tokens.items[2 + 2 * k];
        if (tj_token_is(name, "...") ? tj_token_is(token, "__VA_ARGS__")
                                     : tj_token_same(name, token))
            return k;
    }
    return this->nparameters;
}

/* ---- the prelude ------------------------------------------------------------------ */

/* Defines the macros of the prelude that have parameters; the others expand to little text. The prelude has
 * no comments, and no blanks before a #. */
static bool define_prelude(tj_macros *macros)
{
    static const char directive[] = "\n#define ";
    const char *at = tj_prelude();
    bool fine = true;
    while (fine && (at = strstr(at, directive)) != NULL) {
        const char *text = at + sizeof directive - 1, *end = text;
        tj_token name = {.kind = TJ_TOKEN_NAME, .text = text, .length = strcspn(text, " (\n")};
        while (*end && (*end != '\n' || end[-1] == '\\'))
            end++;
        if (text[name.length] == '(')
            fine = tj_macros_define(macros, text, (size_t)(end - text), &name, TJ_PRELUDE_BRANCH);
        at = end;
    }
    return fine;
}

tj_macros *tj_macros_new(void)
{
    static const char pragma[] = "_Pragma(x)"; /* as in backend.c */
    const tj_token name = {.kind = TJ_TOKEN_NAME, .text = pragma, .length = strlen("_Pragma")};
    tj_macros *macros = tj_alloc_zeroed(1, sizeof(tj_macros));
    if (macros &&
        !(tj_macros_define(macros, pragma, strlen(pragma), &name, 0) && define_prelude(macros))) {
        tj_macros_free(macros);
        return NULL;
    }
    return macros;
}
