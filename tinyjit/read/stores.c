/* stores.c: finds values that a text stores into floating point numbers and bools (stores.h).
 *
 * This is one pass over the tokens of each piece of the user's text, without its directives. It remembers the variables
 * that declarations name. Two adjacent names are a declaration; so are a name, asterisks and a name at the beginning of
 * a statement or a parameter. If this is not certain, only the name is remembered, so that it hides another variable of
 * that name. The type of item__X is known from a #define in the generated text.
 *
 * __builtin_choose_expr() takes exactly one value. If a macro brings a comma or the end of a statement, that is an
 * error there; compile.c then compiles the text unchanged. */
#include "read/stores.h"

#include <stdlib.h>
#include <string.h>

#include "read/tokens.h"

enum {
    MOST_VARIABLES = 64, /* only the nearest are searched */
    MOST_OPEN = 8        /* nested values: libtcc's stack is limited */
};

static const struct {
    const char *name, *type;
} types[] = {
    {"double", "double"},     {"float", "float"},        {"_Bool", "bool"},
    {"bool", "bool"},         {"npy_float64", "double"}, {"npy_double", "double"},
    {"npy_float32", "float"}, {"npy_float", "float"},    {"npy_longdouble", "long double"}};

/* Structs of the size of a number, and the type of their parts or their value. */
static const struct {
    const char *name, *part;
} structs[] = {{"npy_complex64", "float"}, {"npy_complex128", "double"}, {"cwj_half", "float"}};

/* Functions of only floating point numbers, and their forms that end with f. */
static const char functions[] =
    "acos acosh asin asinh atan atan2 atanh cbrt ceil cos cosh copysign erf erfc exp exp2 "
    "expm1 fabs fdim floor fma fmax fmin fmod hypot lgamma log log10 log1p log2 pow rint "
    "round nearbyint remainder sin sinh sqrt tan tanh tgamma trunc";

/* The value that begins at a token; type NULL: there is none. */
typedef struct beginning {
    const char *type;
    size_t end, name; /* tokens */
} beginning;

/* A name that a declaration introduces; type NULL: its type does not matter here. */
typedef struct variable {
    size_t token;
    const char *type;
    size_t depth; /* the number of array and pointer levels around the number */
    size_t level; /* the level of the block that declares it */
} variable;

typedef struct reader {
    tj_stores *stores;
    const char *text;
    size_t start;      /* offset of the current piece in the text */
    tj_tokens tokens;  /* owned: the tokens of that piece */
    beginning *starts; /* owned: one per token */
    variable *items;   /* owned: a stack */
    size_t count;
    size_t capacity;
    size_t braces, parentheses;
    const char *returns; /* the type that the function returns, ... */
    size_t returns_name, returns_end; /* ... its name and its last token */
    tj_map declared;     /* owned: maps "ctype__X" to the name of a type, and V1_x of a graph */
    tj_map parts;        /* owned: maps "ctype__X" of a struct to the type of its parts */
    bool declares;       /* the piece declares a variable of a graph */
    bool redefines;      /* one of the functions may be redefined */
    bool failed;
} reader;

static bool is(const reader *this, size_t i, const char *spelling)
{
    return tj_token_at(&this->tokens, i, spelling);
}

static bool is_any(const reader *this, size_t i, const char *words)
{
    return tj_token_among(&this->tokens, i, words);
}

/* Returns true for a name that is not one of the keywords before an expression or a block. */
static bool is_name(const reader *this, size_t i)
{
    return tj_token_is_name(&this->tokens, i) &&
           !is_any(this, i, "return else goto case sizeof _Alignof do");
}

/* Returns the matching bracket, or count. */
static size_t mate(const reader *this, size_t i)
{
    return i < this->tokens.count ? this->tokens.mates[i] : this->tokens.count;
}

/* Returns the token after the brackets from i on, "[i][j]"; adds their number to *depth. */
static size_t behind_indices(const reader *this, size_t i, size_t *depth)
{
    for (; is(this, i, "[") && mate(this, i) < this->tokens.count; i = mate(this, i) + 1)
        ++*depth;
    return i;
}

/* ---- types --------------------------------------------------------------------- */

static const char *type_named(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == length && !memcmp(types[i].name, name, length))
            return types[i].type;
    return NULL;
}

/* Returns the type that the generated text, or a graph's declaration, gives to a name; NULL: none. */
static const char *declared_type(const reader *this, const char *prefix, const char *name,
                                 size_t length)
{
    const tj_map_item *item = tj_map_find(&this->declared, prefix, strlen(prefix), name, length);
    return item ? item->address : NULL;
}

/* Returns the type that the name at i denotes; NULL: none of these. */
static const char *type_at(const reader *this, size_t i)
{
    const tj_token *token = &this->tokens.items[i];
    const char *type = type_named(token->text, token->length);
    if (i > 0 && is_any(this, i - 1, "struct union enum _Complex complex -> __complex__ ."))
        return NULL;
    if (!type && token->length > 7 && !memcmp(token->text, "ctype__", 7))
        return declared_type(this, "", token->text, token->length);
    return type && i > 0 && is(this, i - 1, "long") ? "long double" : type;
}

/* ---- values ---------------------------------------------------------------------- */

/* Returns the end of the value that begins at `start`, or `start` if its end is not certain. */
static size_t behind_value(const reader *this, size_t start)
{
    size_t choices = 0, i = start, count = this->tokens.count;
    for (; i < count && !tj_token_in(&this->tokens, i, ",;)]}"); i++) {
        choices += is(this, i, "?");
        if (is(this, i, ":") && choices-- == 0)
            return i;
        size_t behind = tj_token_in(&this->tokens, i, "([{") ? mate(this, i) : i;
        if (behind >= count || this->tokens.items[i].kind > TJ_TOKEN_PUNCTUATOR)
            return start;
        for (; i < behind; i++)
            if (tj_token_directs(&this->tokens, i))
                return start;
        if (tj_token_directs(&this->tokens, i))
            return start;
    }
    return i < count ? i : start;
}

/* Records the value that begins at `at`, unless it is a number; the name of its variable is at `name`. */
static void note(reader *this, size_t at, const char *type, size_t name)
{
    size_t end = behind_value(this, at), first = at + is(this, at, "-");
    bool number = end == first + 1 && this->tokens.items[first].kind == TJ_TOKEN_NUMBER;
    if (type && end > at && !number && !is(this, at, "{"))
        this->starts[at] = (beginning){type, end, name};
}

/* Records the members of an array's "{...}" at i. */
static void note_members(reader *this, size_t i, const char *type, size_t name)
{
    size_t end = is(this, i, "{") ? mate(this, i) : i;
    while (i < end && end < this->tokens.count) {
        bool plain = !tj_token_in(&this->tokens, i, "{},=[");
        size_t behind = is(this, i, "[") ? mate(this, i) + 1
                        : plain          ? behind_value(this, i)
                                         : i + 1;
        if (behind <= i)
            return;
        if (plain)
            note(this, i, type, name);
        i = behind;
    }
}

/* ---- variables -------------------------------------------------------------------- */

static void declare(reader *this, tj_map *map, const char *name, size_t length, const char *type)
{
    tj_map_item *item = tj_map_add(map, name, length);
    if (item)
        item->address = type;
    this->failed |= !item;
}

/* Records a variable. parentheses: the number of those around the declared name, which do not enclose parameters. */
static void remember(reader *this, size_t token, const char *type, size_t depth, size_t parentheses)
{
    if (!tj_grow(&this->items, this->count, &this->capacity, sizeof *this->items)) {
        this->failed = true;
        return;
    }
    size_t level = this->braces + (this->parentheses > parentheses);
    this->items[this->count++] = (variable){token, type, depth, level};
    if (!this->declares || !type || depth)
        return;
    const tj_token *name = &this->tokens.items[token];
    declare(this, &this->declared, name->text, name->length, type);
}

static void forget(reader *this)
{
    while (this->count && this->items[this->count - 1].level > this->braces)
        this->count--;
}

static const variable *find(const reader *this, size_t i)
{
    const tj_token *wanted = &this->tokens.items[i];
    for (size_t k = this->count, left = MOST_VARIABLES; k-- > 0 && left-- > 0;) {
        if (tj_token_same(&this->tokens.items[this->items[k].token], wanted))
            return &this->items[k];
    }
    return NULL;
}

/* Handles "f(...) {" at i: records the type that the function returns. */
static void enter_function(reader *this, size_t i, const char *type)
{
    size_t behind = mate(this, i + 1);
    if (this->braces || behind >= this->tokens.count || !is(this, behind + 1, "{"))
        return;
    this->returns = type;
    this->returns_name = i;
    this->returns_end = mate(this, behind + 1);
}

/* Reads the declarators that begin at i, of a type that may matter. */
static void read_declarators(reader *this, size_t i, const char *type)
{
    for (;; i++) {
        size_t depth = 0, pointers, name;
        for (; is(this, i, "*") || is_any(this, i, "const volatile restrict __restrict"); i++)
            depth += is(this, i, "*");
        name = i++;
        pointers = depth;
        if (!is_name(this, name))
            return;
        if (is(this, i, "("))
            enter_function(this, name, depth ? NULL : type);
        i = behind_indices(this, i, &depth);
        if (!tj_token_in(&this->tokens, i, "=,;)"))
            return;
        remember(this, name, type, depth, 0);
        if (is(this, i, "=")) {
            note(this, i + 1, depth ? NULL : type, name);
            if (depth && !pointers)
                note_members(this, i + 1, type, name);
            i = behind_value(this, i + 1);
        }
        if (!is(this, i, ","))
            return;
    }
}

/* Recognises "T *name" at the beginning of a statement. If T is one of the variables, it is a product. */
static bool declares_pointer(const reader *this, size_t i)
{
    size_t name = i + 1;
    while (is(this, name, "*"))
        name++;
    return name > i + 1 && is_name(this, name) && !find(this, i) &&
           (i == 0 || tj_token_in(&this->tokens, i - 1, ";{}(,") || is_name(this, i - 1));
}

/* Returns true if the name at i follows the members of a struct, or typeof(). */
static bool follows_type(const reader *this, size_t i)
{
    static const char words[] = "struct union typeof __typeof__ __typeof __attribute__ __attribute";
    size_t open = i > 0 && (is(this, i - 1, "}") || is(this, i - 1, ")")) ? mate(this, i - 1) : 0;
    return open > 0 && open < i &&
           (is_any(this, open - 1, words) || (open > 1 && is_any(this, open - 2, words)));
}

static void look_for_declaration(reader *this, size_t i)
{
    const char *type = type_at(this, i);
    if (type || (is_name(this, i) && (is_name(this, i + 1) || declares_pointer(this, i))))
        read_declarators(this, i + 1, type);
    else if (i > 2 && is(this, i - 1, "*") && is(this, i - 2, "(") && is_name(this, i - 3) &&
             is(this, i + 1, ")") && is(this, i + 2, "(")) /* (*name)(, a pointer to functions */
        remember(this, i, NULL, 0, 1);
    else if (follows_type(this, i))
        read_declarators(this, i, NULL);
}

/* ---- stores -------------------------------------------------------------------------- */

/* Handles "item__X() = value", "item__X().real = value", and "(float)item__X()", which libtcc treats as the bits of a
 * struct. */
static void look_for_item(reader *this, size_t i)
{
    const tj_token *token = &this->tokens.items[i];
    const char *type = declared_type(this, "ctype__", token->text + 6, token->length - 6);
    const tj_map_item *item =
        tj_map_find(&this->parts, "ctype__", 7, token->text + 6, token->length - 6);
    size_t behind = mate(this, i + 1) + 1;
    if (type && behind <= this->tokens.count && is(this, behind, "="))
        note(this, behind + 1, type, i);
    if (!item || behind > this->tokens.count)
        return;
    const tj_token *before = i > 2 ? &this->tokens.items[i - 2] : NULL; /* "(float)" */
    bool member = is(this, behind, "."), cast = before && is(this, i - 1, ")") &&
                                                mate(this, i - 1) < i - 2 &&
                                                type_named(before->text, before->length);
    if (member && is_any(this, behind + 1, "real imag") && is(this, behind + 2, "="))
        note(this, behind + 3, item->address, i);
    else if (!member && cast)
        note(this, i, item->address, i);
}

/* Handles "name = value", "name[i] = value" and "*name = value". */
static void look_for_assignment(reader *this, size_t i)
{
    size_t depth = 0, behind = behind_indices(this, i + 1, &depth);
    if (!is(this, behind, "=") || (i > 0 && is_any(this, i - 1, ". ->")))
        return;
    if (i > 1 && is(this, i - 1, "*")) {
        if (!tj_token_in(&this->tokens, i - 2, ";{}"))
            return;
        depth++;
    }
    const variable *found = find(this, i);
    const char *type =
        found   ? (found->depth == depth ? found->type : NULL)
        : depth ? NULL
                : declared_type(this, "", this->tokens.items[i].text, this->tokens.items[i].length);
    note(this, behind + 1, type, i);
}

static bool is_function(const reader *this, size_t i)
{
    const tj_token *token = &this->tokens.items[i];
    return is_name(this, i) && (tj_word_among(token->text, token->length, functions) ||
                                (token->text[token->length - 1] == 'f' &&
                                 tj_word_among(token->text, token->length - 1, functions)));
}

/* Handles "sin(value)". A text may declare its own function with that name. */
static void look_for_call(reader *this, size_t i)
{
    size_t end = mate(this, i + 1);
    if (end >= this->tokens.count || this->redefines || !is_function(this, i))
        return;
    if ((i > 0 && (is_name(this, i - 1) || is_any(this, i - 1, ". ->"))) || find(this, i))
        return;
    for (size_t at = i + 2; at < end; at = behind_value(this, at) + 1) {
        note(this, at, "double", i);
        if (behind_value(this, at) == at)
            return;
    }
}

static void look_at_name(reader *this, size_t i)
{
    const tj_token *token = &this->tokens.items[i];
    look_for_declaration(this, i);
    if (is(this, i, "return") && this->returns && i < this->returns_end)
        note(this, i + 1, this->returns, this->returns_name);
    else if (is(this, i + 1, "(") && token->length > 6 && !memcmp(token->text, "item__", 6))
        look_for_item(this, i);
    else if (is(this, i + 1, "("))
        look_for_call(this, i);
    else
        look_for_assignment(this, i);
}

/* ---- pieces ------------------------------------------------------------------------ */

static void take_brackets(reader *this, size_t i)
{
    if (is(this, i, "(")) {
        this->parentheses++;
    } else if (is(this, i, ")")) {
        this->parentheses -= this->parentheses > 0;
    } else if (is(this, i, "{")) {
        this->braces++;
    } else if (is(this, i, "}")) {
        this->braces -= this->braces > 0;
        forget(this);
    } else if (is(this, i, ";") && !this->parentheses) {
        forget(this);
    }
}

static void keep_stores(reader *this)
{
    size_t ends[MOST_OPEN], open = 0;
    tj_stores *stores = this->stores;
    for (size_t i = 0; i < this->tokens.count && !this->failed; i++) {
        const beginning *from = &this->starts[i];
        const tj_token *items = this->tokens.items, *name = &items[from->name];
        while (open && ends[open - 1] <= i)
            open--;
        if (!from->type || open == MOST_OPEN)
            continue;
        ends[open++] = from->end;
        this->failed =
            !tj_grow(&stores->items, stores->count, &stores->capacity, sizeof *stores->items);
        if (!this->failed)
            stores->items[stores->count++] =
                (tj_store){.start = this->start + items[i].start,
                           .end = this->start + items[from->end - 1].end,
                           .name = this->start + name->start,
                           .name_length = name->end - name->start,
                           .type = from->type};
    }
}

static void read_piece(reader *this, const char *start, size_t length)
{
    this->start = (size_t)(start - this->text);
    this->count = this->braces = this->parentheses = this->returns_end = 0;
    this->returns = NULL;
    this->failed |= !tj_tokens_read(&this->tokens, start, length);
    if (!this->failed)
        this->starts = tj_alloc_zeroed(this->tokens.count + 1, sizeof *this->starts);
    this->failed |= !this->starts;
    for (size_t i = 0; i < this->tokens.count && !this->failed; i++) {
        if (tj_token_directs(&this->tokens, i)) {
            for (size_t end = tj_tokens_behind_line(&this->tokens, i); i < end; i++)
                this->redefines |=
                    is(this, i, "tgmath") || (is(this, i, "define") && is_function(this, i + 1));
            i--;
        } else if (tj_token_is_name(&this->tokens, i)) {
            look_at_name(this, i);
        } else {
            take_brackets(this, i);
        }
    }
    if (!this->failed)
        keep_stores(this);
    tj_free(this->starts);
    this->starts = NULL;
    tj_tokens_clear(&this->tokens);
}

/* ---- the text ------------------------------------------------------------------------ */

/* Handles "#define ctype__X npy_float64" in the generated text. */
static void take_definition(reader *this, const char *line, size_t length)
{
    static const char word[] = "#define ctype__";
    if (strncmp(line, word, sizeof word - 1) != 0)
        return;
    const char *name = line + 8, *end = line + length;
    const char *blank = memchr(name, ' ', (size_t)(end - name));
    if (!blank)
        return;
    size_t size = (size_t)(end - blank - 1);
    declare(this, &this->declared, name, (size_t)(blank - name), type_named(blank + 1, size));
    for (size_t i = 0; i < sizeof structs / sizeof *structs; i++)
        if (strlen(structs[i].name) == size && !memcmp(structs[i].name, blank + 1, size))
            declare(this, &this->parts, name, (size_t)(blank - name), structs[i].part);
}

bool tj_stores_find(tj_stores *stores, const char *text)
{
    reader this = {.stores = stores, .text = text};
    const char *piece = NULL; /* the start of the user's text */
    *stores = (tj_stores){0};
    for (const char *line = text, *next; *line && !this.failed; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        if (!strncmp(line, "#line ", 6)) {
            if (piece)
                read_piece(&this, piece, (size_t)(line - piece));
            piece = tj_bytes_hold(line, length, " generated>\"") ? NULL : next;
            this.declares = tj_bytes_hold(line, length, ".c_declare of ");
        } else if (!piece) {
            take_definition(&this, line, length);
        }
    }
    if (piece && !this.failed)
        read_piece(&this, piece, strlen(piece));
    tj_free(this.items);
    tj_map_clear(&this.declared);
    tj_map_clear(&this.parts);
    return !this.failed;
}

void tj_stores_clear(tj_stores *stores)
{
    tj_free(stores->items);
    *stores = (tj_stores){0};
}

static const char opening[] = "1 ? __builtin_choose_expr(1, ";

void tj_stores_write(const tj_stores *stores, const char *text, size_t count, tj_text *out)
{
    const tj_store *open[MOST_OPEN];
    size_t nopen = 0, at = 0;
    for (size_t i = 0; i < count || nopen;) {
        bool closes = nopen && (i == count || open[nopen - 1]->end <= stores->items[i].start);
        const tj_store *store = closes ? open[--nopen] : &stores->items[i++];
        size_t place = closes ? store->end : store->start;
        tj_text_add(out, text + at, place - at);
        at = place;
        /* Zero has the type that the text names, which a macro or a typedef may change: with another type, an integer
         * would be rounded. A bool may be set to an address, and `bool` may stand for any number. */
        if (!closes)
            tj_text_puts(out, opening);
        else if (*store->type == 'b')
            tj_text_puts(out, ", 0) : 0");
        else
            tj_text_printf(out, ", 0) : (%s)0", store->type);
        if (!closes)
            open[nopen++] = store;
    }
    tj_text_puts(out, text + at);
}

/* ---- messages ------------------------------------------------------------------------ */

int tj_store_line(const tj_store *store, const char *text)
{
    int line = 1;
    for (size_t i = store->start; i-- > 0;) {
        if (i > 0 && text[i - 1] != '\n')
            continue;
        if (!strncmp(text + i, "#line ", 6))
            return atoi(text + i + 6) + line - 2;
        line++;
    }
    return line;
}

/* Returns libtcc's name for the value's type in "... (have 'TYPE' and 'double')". */
static const char *kind_of(const char *message)
{
    static const char before[] = "type mismatch in conditional expression (have '";
    if (strncmp(message, before, sizeof before - 1) != 0)
        return NULL;
    const char *type = message + sizeof before - 1, *end = strstr(type, "' and '");
    size_t length = end ? (size_t)(end - type) : 0;
    if (tj_bytes_hold(type, length, "(*)"))
        return "a function";
    return length && (end[-1] == '*' || end[-1] == ']') ? "a pointer or a text" : "a struct";
}

char *tj_store_explain(const tj_store *store, const char *text, const char *message)
{
    const char *kind = kind_of(message);
    tj_text words = {0};
    if (!kind)
        return NULL;
    tj_text_printf(&words, "%s stands where the %s of '%.*s' belongs%s", kind, store->type,
                   (int)store->name_length, text + store->name,
                   strchr(kind, 'p') ? " (is a '*' or an index missing?)" : "");
    return tj_text_take(&words);
}
