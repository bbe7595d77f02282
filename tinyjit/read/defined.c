/* defined.c: finds the functions that a text defines at file scope, outside of conditions such as #if. */
#include "read/tokens.h"

/* Returns true if token i is the name of a function that is defined there. */
static bool is_defined_at(const tj_tokens *this, size_t i)
{
    if (!tj_token_is_name(this, i) || this->items[i].word || !tj_token_at(this, i + 1, "("))
        return false;
    for (i = this->mates[i + 1] + 1;
         tj_token_word(this, i, TJ_ATTRIBUTE) && tj_token_at(this, i + 1, "(");)
        i = this->mates[i + 1] + 1;
    return tj_token_at(this, i, "{");
}

bool tj_defined_collect(const char *text, tj_names *names)
{
    tj_tokens tokens;
    bool fine = tj_tokens_read(&tokens, text, strlen(text));
    int conditions = 0;
    for (size_t i = 0; fine && i < tokens.count; i++) {
        if (tj_token_directs(&tokens, i)) {
            conditions += tj_token_among(&tokens, i + 1, "if ifdef ifndef");
            conditions -= tj_token_at(&tokens, i + 1, "endif");
            i = tj_tokens_behind_line(&tokens, i) - 1;
        } else if (tj_token_in(&tokens, i, "{"))
            i = tokens.mates[i];
        else if (conditions == 0 && is_defined_at(&tokens, i))
            fine = tj_names_collect(names, tokens.items[i].text, tokens.items[i].length);
    }
    tj_tokens_clear(&tokens);
    return fine;
}
