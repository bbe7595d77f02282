/* macros.c: the macros of a text, and what using them costs (nesting.h).
 *
 * A macro's body is measured when the macro is used, since it means what the
 * macros in it mean then. Results are kept until the next #define or #undef.
 * Names that ## makes are not followed.
 */
#include <stdint.h>
#include <string.h>

#include "internal.h"
#include "nesting.h"

enum {
    MAX_PARAMETERS = 8,    /* that are told apart; the others count together */
    MAX_WORK = 20 * 1000 * 1000 /* tokens looked at, over all: a fraction of a second */
};

typedef struct macro {
    char *text;       /* owned: what stood behind #define; NULL: undefined again */
    size_t body;      /* offset of the body in text */
    size_t length;    /* of text */
    tj_names **parameters; /* owned, owned: a set each, of one name */
    size_t nparameters;
    bool is_function;
    bool busy;        /* being weighed: its name in its own body is no macro */
    size_t age;       /* tj_macros.age when weight was found, 0: never */
    tj_weight weight;
} macro;

struct tj_macros {
    tj_map map;       /* owned: names to indices in items, plus one */
    macro *items;     /* owned */
    size_t count;
    size_t capacity;
    size_t age;       /* counts definitions, from 1 */
    size_t work;
    size_t levels;    /* macros being weighed */
    uint64_t filter[4]; /* a bit for each first byte and length of a name */
    bool cut;         /* a busy macro was met: results are not for all places */
};

tj_macros *tj_macros_new(void)
{
    tj_macros *macros = tj_alloc_zeroed(1, sizeof(tj_macros));
    if (macros)
        macros->age = 1;
    return macros;
}

static void clear_macro(macro *this)
{
    for (size_t i = 0; i < this->nparameters; i++)
        tj_names_free(this->parameters[i]);
    tj_free(this->parameters);
    tj_free(this->text);
    *this = (macro){0};
}

void tj_macros_free(tj_macros *macros)
{
    if (!macros)
        return;
    for (size_t i = 0; i < macros->count; i++)
        clear_macro(&macros->items[i]);
    tj_free(macros->items);
    tj_map_clear(&macros->map);
    tj_free(macros);
}

/* Most names are no macros: the filter says so without looking for them. */
static unsigned look_of(const char *name, size_t length)
{
    return ((unsigned char)name[0] + 7u * (unsigned char)name[length - 1] +
            31u * (unsigned)length) &
           255u;
}

static macro *find_macro(tj_macros *macros, const char *name)
{
    const tj_map_item *item = tj_map_get(&macros->map, name);
    return item ? &macros->items[(size_t)item->address - 1] : NULL;
}

/* ---- definitions ----------------------------------------------------------- */

static bool add_parameter(macro *this, size_t *capacity, const char *name, size_t length)
{
    if (!tj_grow(&this->parameters, this->nparameters, capacity, sizeof(tj_names *)))
        return false;
    tj_names *one = tj_names_new();
    this->parameters[this->nparameters++] = one;
    return one && tj_names_collect(one, name, length);
}

/* Reads "(a, b, ...)". */
static bool read_parameters(macro *this, tj_lexer *lexer)
{
    size_t capacity = 0;
    this->is_function = true;
    for (;;) {
        tj_token token = tj_lexer_next(lexer);
        bool rest = tj_token_is(&token, "...");
        if (token.kind == TJ_TOKEN_END || tj_token_is(&token, ")"))
            return true;
        if (rest && !add_parameter(this, &capacity, "__VA_ARGS__", strlen("__VA_ARGS__")))
            return false;
        if (token.kind == TJ_TOKEN_NAME &&
            !add_parameter(this, &capacity, token.text, token.length))
            return false;
    }
}

/* Fills everything but the weight; *name is owned by the caller. */
static bool read_definition(macro *this, const char *text, size_t length, char **name)
{
    bool fine = false;
    tj_lexer lexer;
    this->text = tj_copy_bytes(text, length);
    this->length = length;
    tj_lexer_init(&lexer, this->text, length);
    if (!this->text)
        goto done;
    tj_token token = tj_lexer_next(&lexer);
    *name = tj_copy_bytes(token.text, token.length);
    this->body = lexer.at;
    token = tj_lexer_next(&lexer);
    fine = *name != NULL;
    if (fine && tj_token_is(&token, "(") && !token.spaced) {
        fine = read_parameters(this, &lexer);
        this->body = lexer.at;
    }
    fine = fine && !lexer.spelling.failed;
done:
    tj_lexer_clear(&lexer);
    return fine;
}

bool tj_macros_define(tj_macros *macros, const char *text, size_t length)
{
    macro this = {0};
    char *name = NULL;
    bool fine = read_definition(&this, text, length, &name);
    macros->age++;
    macro *old = fine ? find_macro(macros, name) : NULL;
    if (old) {
        clear_macro(old);
        *old = this;
    } else if (fine) {
        fine = tj_grow(&macros->items, macros->count, &macros->capacity, sizeof(macro)) &&
               tj_map_set(&macros->map, name, (const void *)(macros->count + 1), false);
        if (fine)
            macros->items[macros->count++] = this;
    }
    if (fine && *name) {
        unsigned look = look_of(name, strlen(name));
        macros->filter[look / 64] |= (uint64_t)1 << look % 64;
    }
    if (!fine)
        clear_macro(&this);
    tj_free(name);
    return fine;
}

void tj_macros_undefine(tj_macros *macros, const char *name)
{
    macro *old = find_macro(macros, name);
    macros->age++;
    if (old)
        clear_macro(old);
}

/* ---- weights --------------------------------------------------------------- */

static bool is_parameter(const macro *this, const char *name, size_t which)
{
    size_t last = which + 1 < MAX_PARAMETERS ? which + 1 : this->nparameters;
    for (size_t i = which; i < last && i < this->nparameters; i++)
        if (tj_names_have(this->parameters[i], name))
            return true;
    return false;
}

/* What a body that has been read comes to. */
static tj_weight weight_of(const tj_nesting *nesting, size_t opens, bool is_function)
{
    const tj_level *whole = &nesting->levels[0];
    size_t bare_copies = whole->bare_copies;
    return (tj_weight){.peak = whole->peak + whole->bare_peak,
                       .rest = whole->prefixes + whole->chain,
                       .statements = whole->statements,
                       .ended = whole->ended && opens == 0,
                       .size = whole->size,
                       .copies = whole->uses > bare_copies ? whole->uses : bare_copies,
                       .leaks = whole->leaks,
                       .opens = opens,
                       .closes = nesting->closes,
                       .is_function = is_function};
}

/* Measures the body; parameter number `which` counts as one. */
static const char *measure_body(tj_macros *macros, size_t index, size_t which, tj_weight *weight)
{
    const char *fault = NULL;
    tj_text name = {0};
    tj_lexer lexer;
    tj_nesting nesting;
    const char *text = macros->items[index].text;
    size_t body = macros->items[index].body;
    tj_lexer_init(&lexer, text + body, macros->items[index].length - body);
    if (!tj_nesting_begin(&nesting, true))
        fault = "out of memory";
    while (!fault) {
        tj_token token = tj_lexer_next(&lexer);
        if (token.kind == TJ_TOKEN_END)
            break;
        if (token.kind == TJ_TOKEN_NEWLINE || token.kind > TJ_TOKEN_PUNCTUATOR)
            continue;
        name.length = 0;
        tj_text_add(&name, token.text, token.length);
        bool counts = token.kind == TJ_TOKEN_NAME && !name.failed &&
                      is_parameter(&macros->items[index], name.data, which);
        fault = name.failed || lexer.spelling.failed ? "out of memory"
                : ++macros->work > MAX_WORK ? "the macros here are too many to follow"
                                            : tj_nesting_token(&nesting, macros, &token, counts);
    }
    if (!fault)
        fault = tj_nesting_settle(&nesting);
    size_t opens = fault ? 0 : nesting.count - 1;
    if (!fault)
        fault = tj_nesting_end(&nesting);
    if (!fault)
        *weight = weight_of(&nesting, opens, macros->items[index].is_function);
    tj_nesting_clear(&nesting);
    tj_lexer_clear(&lexer);
    tj_text_clear(&name);
    return fault;
}

/* The weight with the parameter that is copied most. */
static const char *weigh(tj_macros *macros, size_t index, tj_weight *weight)
{
    const char *fault = measure_body(macros, index, 0, weight);
    size_t count = macros->items[index].nparameters;
    for (size_t i = 1; i < count && i < MAX_PARAMETERS && !fault; i++) {
        tj_weight other;
        fault = measure_body(macros, index, i, &other);
        if (!fault && other.copies > weight->copies)
            weight->copies = other.copies;
        if (!fault && other.leaks > weight->leaks)
            weight->leaks = other.leaks;
    }
    return fault;
}

bool tj_macros_weigh(tj_macros *macros, const char *name, size_t length, tj_weight *weight,
                     const char **fault)
{
    unsigned look = look_of(name, length);
    if (!(macros->filter[look / 64] >> look % 64 & 1))
        return false;
    char *copy = tj_copy_bytes(name, length);
    macro *this = copy ? find_macro(macros, copy) : NULL;
    tj_free(copy);
    *fault = copy ? NULL : "out of memory";
    if (!this || !this->text)
        return !copy;
    if (this->busy) {
        macros->cut = true;
        return false;
    }
    if (this->age == macros->age) {
        *weight = this->weight;
        return true;
    }
    if (macros->levels >= TJ_MAX_MACRO_LEVELS) {
        *fault = "nested too deeply: macros that use macros";
        return true;
    }
    size_t index = (size_t)(this - macros->items);
    bool cut = macros->cut;
    macros->cut = false;
    macros->levels++;
    this->busy = true;
    *fault = weigh(macros, index, weight);
    this->busy = false;
    macros->levels--;
    if (!*fault && (!macros->cut || macros->levels == 0)) {
        this->weight = *weight;
        this->age = macros->age;
    }
    macros->cut = macros->levels > 0 && (macros->cut || cut);
    return true;
}
