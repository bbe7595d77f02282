/* confine_macros.c: what macros do to the text that uses them (graph.h).
 *
 * A macro's body is walked through when the macro is used, as a text of its own:
 * what would leave that leaves the text around the use. Results are kept until the
 * next #define or #undef.
 */
#include "confine.h"

enum {
    MAX_LEVELS = 200
};

typedef struct habit {
    char *body; /* owned; NULL: undefined again */
    size_t age; /* tj_habits.age when effects were found, 0: never */
    tj_effects effects;
    bool busy;
} habit;

struct tj_habits {
    tj_map map; /* owned: names to indices in items, plus one */
    habit *items;
    size_t count;
    size_t capacity;
    size_t age;
    size_t levels;
    tj_text name; /* owned: the name that is looked up */
};

tj_habits *tj_habits_new(void)
{
    tj_habits *habits = tj_alloc_zeroed(1, sizeof *habits);
    if (habits)
        habits->age = 1;
    return habits;
}

void tj_habits_free(tj_habits *habits)
{
    if (!habits)
        return;
    for (size_t i = 0; i < habits->count; i++)
        tj_free(habits->items[i].body);
    tj_free(habits->items);
    tj_map_clear(&habits->map);
    tj_text_clear(&habits->name);
    tj_free(habits);
}

/* 0: it is no macro and never was. *fine becomes false without memory. */
static size_t find(tj_habits *habits, const tj_token *name, bool *fine)
{
    habits->name.length = 0;
    tj_text_add(&habits->name, name->text, name->length);
    if (habits->name.failed) {
        *fine = false;
        return 0;
    }
    const tj_map_item *item = tj_map_get(&habits->map, habits->name.data);
    return item ? (size_t)item->address : 0;
}

/* Appends what stands between the macro's name and the end of its line, without its
 * parameters. */
static char *copy_body(const tj_tokens *tokens, size_t name, size_t end)
{
    tj_text body = {0};
    size_t at = name + 1;
    if (tj_token_at(tokens, at, "(") && at < end && !tokens->items[at].spaced)
        while (at < end && !tj_token_at(tokens, at++, ")"))
            continue;
    tj_text_puts(&body, "");
    for (; at < end; at++) {
        tj_text_puts(&body, " ");
        tj_text_add(&body, tokens->items[at].text, tokens->items[at].length);
    }
    if (body.failed)
        tj_text_clear(&body);
    return body.data;
}

static bool define(tj_habits *habits, const tj_tokens *tokens, size_t name, size_t end)
{
    bool fine = true;
    char *body = copy_body(tokens, name, end);
    size_t index = body ? find(habits, &tokens->items[name], &fine) : 0;
    if (!body || !fine) {
        tj_free(body);
        return false;
    }
    if (index) {
        tj_free(habits->items[index - 1].body);
        habits->items[index - 1] = (habit){.body = body};
        return true;
    }
    if (!tj_grow(&habits->items, habits->count, &habits->capacity, sizeof *habits->items) ||
        !tj_map_set(&habits->map, habits->name.data, (const void *)(habits->count + 1), false)) {
        tj_free(body);
        return false;
    }
    habits->items[habits->count++] = (habit){.body = body};
    return true;
}

bool tj_habits_direct(tj_habits *habits, const tj_tokens *tokens, size_t at)
{
    bool fine = true;
    size_t end = tj_tokens_behind_line(tokens, at), name = at + 2;
    if (name >= end || !tj_token_is_name(tokens, name))
        return true;
    if (tj_token_at(tokens, at + 1, "define")) {
        habits->age++;
        return define(habits, tokens, name, end);
    }
    size_t index = 0;
    if (tj_token_at(tokens, at + 1, "undef"))
        index = find(habits, &tokens->items[name], &fine);
    if (index) {
        habits->age++;
        tj_free(habits->items[index - 1].body);
        habits->items[index - 1].body = NULL;
    }
    return fine;
}

static void collect(tj_walk *walk, tj_effects effects, bool by_macro)
{
    tj_effects *all = walk->context;
    (void)by_macro;
    all->what |= effects.what;
    if (effects.what & TJ_FAILS)
        all->fails = effects.fails;
}

/* What is open at the end of the body. */
static int opens_of(const tj_walk *walk)
{
    bool loop = false, brace = false;
    for (size_t i = 0; i < walk->count && !walk->ended; i++) {
        loop |=
            walk->frames[i] == TJ_LOOP || walk->frames[i] == TJ_DO || walk->frames[i] == TJ_SWITCH;
        brace |= walk->frames[i] == TJ_COMPOUND;
    }
    return brace ? TJ_OPENS : loop ? TJ_LOOPS : 0;
}

static bool walk_body(tj_habits *habits, size_t index, tj_effects *effects)
{
    tj_tokens tokens;
    const char *body = habits->items[index].body;
    tj_walk walk = {.habits = habits, .tokens = &tokens, .report = collect, .context = effects};
    bool fine = tj_tokens_read(&tokens, body, strlen(body)) && tj_walk_text(&walk);
    if (fine)
        effects->what |= opens_of(&walk);
    tj_walk_clear(&walk);
    tj_tokens_clear(&tokens);
    return fine;
}

tj_effects tj_habits_of(tj_habits *habits, const tj_token *name, bool *fine)
{
    tj_effects none = {0, 0}, found = {0, 0};
    size_t index = habits->count ? find(habits, name, fine) : 0;
    if (!index || !habits->items[index - 1].body)
        return none;
    habit *this = &habits->items[index - 1];
    if (this->age == habits->age)
        return this->effects;
    if (this->busy || habits->levels >= MAX_LEVELS)
        return none;
    this->busy = true;
    habits->levels++;
    if (!walk_body(habits, index - 1, &found))
        *fine = false;
    habits->levels--;
    this = &habits->items[index - 1];
    this->busy = false;
    this->effects = found;
    this->age = habits->age;
    return found;
}
