/* confine.c: what a text must not do that stands in a block (confine.h).
 *
 * The way out of a block leads through its cleanup, and through those around it. So
 * `return` is not for such a text, nor are break, continue and goto that leave it,
 * and what begins may fail only by the failure code of its own block. statements.c
 * finds all that; here is what it means at which place.
 */
#include "read/confine.h"
#include "read/statements.h"

typedef struct confinement {
    const tj_graph_text *text;
    tj_confined *confined; /* or NULL */
    tj_messages *messages;
    bool failed_before; /* a failure code was met */
    size_t blamed;      /* where the macro's name ends that was the last to be blamed */
} confinement;

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

/* Why a text must not do that, or NULL. */
static const char *fault_of(const tj_graph_text *text, tj_effect effect, int block)
{
    switch (effect) {
    case TJ_RETURNS:
        return text->place == TJ_REPEATS
                   ? "'return' would skip the other elements and the rest of this one"
                   : "'return' would skip the cleanup of this and all other blocks";
    case TJ_JUMPS:
        return "'goto' must not leave the text: it knows only its own labels";
    case TJ_BREAKS:
        return "'break' outside of a loop or switch of its own";
    case TJ_CONTINUES:
        return "'continue' outside of a loop of its own";
    case TJ_MEDDLES:
        return "this name belongs to the generated text";
    case TJ_FAILS:
        break;
    }
    return fault_of_failing(text, block);
}

/* What a macro makes is said once, and of the macro. */
static void blame(confinement *this, const tj_token *token, const char *fault)
{
    const tj_piece *piece = this->text->piece;
    tj_text what = {0};
    if (token->made && this->blamed == token->end)
        return;
    this->blamed = token->made ? token->end : 0;
    if (token->made)
        tj_text_printf(&what, "in the macro '%.*s': ", (int)(token->end - token->start),
                       piece->text + token->start);
    tj_text_puts(&what, fault);
    if (what.failed)
        this->messages->failed = true;
    else
        tj_messages_add_at(this->messages, piece, token->start, token->end, what.data);
    tj_text_clear(&what);
}

static void judge(tj_walk *walk, tj_effect effect, int block)
{
    confinement *this = walk->context;
    const char *fault = fault_of(this->text, effect, block);
    this->failed_before |= effect == TJ_FAILS;
    if (fault)
        blame(this, &walk->tokens->items[walk->at], fault);
}

/* The token may stand between the words of a type and the name of an array. */
static bool is_of_declaration(const tj_tokens *tokens, size_t i)
{
    return tj_token_is_name(tokens, i) || tj_token_at(tokens, i, "*") ||
           tj_token_at(tokens, i, ",");
}

/* A name among the sizes: that of a macro, of a constant, or of a variable. */
static bool has_named_size(const tj_tokens *tokens, size_t open)
{
    for (; tj_token_at(tokens, open, "["); open = tokens->mates[open] + 1)
        for (size_t i = open + 1; i < tokens->mates[open]; i++)
            if (tj_token_is_name(tokens, i))
                return true;
    return false;
}

/* name is that of an array, if this is a declaration and not an expression. */
static void note_array(tj_walk *walk, size_t name)
{
    confinement *this = walk->context;
    const tj_tokens *tokens = walk->tokens;
    int line, column;
    bool declares = name > walk->statement && tj_token_is_name(tokens, walk->statement);
    for (size_t i = walk->statement; i < name && declares; i++) {
        if (tj_token_at(tokens, i, "["))
            i = tokens->mates[i];
        else
            declares = is_of_declaration(tokens, i);
    }
    if (!declares || !this->failed_before || !has_named_size(tokens, name + 1))
        return;
    tj_confined *to = this->confined;
    const tj_token *token = &tokens->items[name];
    if (!tj_grow(&to->lines, to->arrays.count, &to->capacity, sizeof *to->lines)) {
        walk->failed = true;
        return;
    }
    tj_text_place(this->text->piece->text, this->text->piece->length, token->start, &line, &column);
    to->lines[to->arrays.count] = line;
    tj_words_add(&to->arrays, token->text, token->length);
    walk->failed |= to->arrays.failed;
}

/* "#define failure 1" */
static void check_definitions(confinement *this, const tj_tokens *raw)
{
    for (size_t i = 0; i < raw->count; i = tj_tokens_behind_line(raw, i))
        if (tj_token_directs(raw, i) && tj_token_is_name(raw, i + 2) &&
            (tj_token_at(raw, i + 1, "define") || tj_token_at(raw, i + 1, "undef")) &&
            tj_is_reserved(&raw->items[i + 2]))
            blame(this, &raw->items[i + 2], fault_of(this->text, TJ_MEDDLES, 0));
}

bool tj_confine(const tj_expanded *expanded, const tj_graph_text *text, tj_confined *confined,
                tj_messages *messages)
{
    confinement this = {.text = text, .confined = confined, .messages = messages};
    tj_walk walk = {.tokens = &expanded->tokens,
                    .report = judge,
                    .declares_array = confined && text->place == TJ_SHARES ? note_array : NULL,
                    .context = &this};
    bool fine = true;
    if (text->place != TJ_AT_FILE_LEVEL) { /* that is C like any other */
        check_definitions(&this, &expanded->raw);
        fine = tj_walk_text(&walk);
    }
    if (confined) {
        confined->labels = walk.labels;
        walk.labels = (tj_words){0};
    }
    tj_walk_clear(&walk);
    return fine && !messages->failed;
}

void tj_confined_clear(tj_confined *confined)
{
    tj_words_clear(&confined->labels);
    tj_words_clear(&confined->arrays);
    tj_free(confined->lines);
    *confined = (tj_confined){0};
}
