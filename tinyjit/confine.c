/* confine.c: what a text must not do that stands in a block (graph.h).
 *
 * The way out of a block leads through its cleanup, and through those around it. So
 * `return` is not for such a text, nor are break, continue and goto that leave it,
 * and what begins may fail only by the failure code of its own block. confine_walk.c
 * finds all that; here is what it means at which place.
 */
#include "confine.h"
#include "nesting.h"

typedef struct confinement {
    const tj_graph_text *text;
    tj_confined *confined; /* or NULL */
    tj_messages *messages;
    bool failed_before; /* a failure code was met */
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
static const char *fault_of(const tj_graph_text *text, tj_effects effects)
{
    if (effects.what & TJ_RETURNS)
        return "'return' would skip the cleanup of this and all other blocks";
    if (effects.what & TJ_JUMPS)
        return "'goto' must not leave the text: it knows only its own labels";
    if (effects.what & TJ_BREAKS)
        return "'break' outside of a loop or switch of its own";
    if (effects.what & TJ_CONTINUES)
        return "'continue' outside of a loop of its own";
    if (effects.what & TJ_MEDDLES)
        return "this name belongs to the generated text";
    return effects.what & TJ_FAILS ? fault_of_failing(text, effects.fails) : NULL;
}

static void judge(tj_walk *walk, tj_effects effects, bool by_macro)
{
    confinement *this = walk->context;
    const tj_token *token = &walk->tokens->items[walk->at];
    const char *fault = fault_of(this->text, effects);
    tj_text what = {0};
    this->failed_before |= (effects.what & TJ_FAILS) != 0;
    if (!fault)
        return;
    if (by_macro)
        tj_text_printf(&what, "in the macro '%.*s': %s", (int)token->length, token->text, fault);
    if (what.failed)
        this->messages->failed = true;
    else
        tj_messages_add_at(this->messages, this->text->piece, token->start, token->end,
                           by_macro ? what.data : fault);
    tj_text_clear(&what);
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

/* Support code is C like any other; its macros are wanted. */
static bool read_macros(tj_habits *habits, const tj_tokens *tokens)
{
    bool fine = true;
    for (size_t i = 0; i < tokens->count && fine; i = tj_tokens_behind_line(tokens, i))
        if (tj_token_directs(tokens, i))
            fine = tj_habits_direct(habits, tokens, i);
    return fine;
}

bool tj_confine(tj_habits *habits, const tj_graph_text *text, tj_confined *confined,
                tj_messages *messages)
{
    tj_tokens tokens;
    confinement this = {.text = text, .confined = confined, .messages = messages};
    tj_walk walk = {.habits = habits,
                    .tokens = &tokens,
                    .report = judge,
                    .declares_array = confined && text->place == TJ_SHARES ? note_array : NULL,
                    .context = &this};
    bool fine = tj_tokens_read(&tokens, text->piece->text, text->piece->length);
    if (fine && text->place == TJ_AT_FILE_LEVEL)
        fine = read_macros(habits, &tokens);
    else if (fine)
        fine = tj_walk_text(&walk);
    if (confined) {
        confined->labels = walk.labels;
        walk.labels = (tj_words){0};
    }
    tj_walk_clear(&walk);
    tj_tokens_clear(&tokens);
    return fine && !messages->failed;
}

void tj_confined_clear(tj_confined *confined)
{
    tj_words_clear(&confined->labels);
    tj_words_clear(&confined->arrays);
    tj_free(confined->lines);
    *confined = (tj_confined){0};
}
