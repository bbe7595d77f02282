/* compile.c: from C text, or another compiler's object, to code in memory, by what
 * backend.c offers of libtcc.
 *
 * Each unit is a state of its own that is used once:
 *
 *     new state -> compile, or load an object -> bind -> relocate
 *
 * libtcc does not tell which names a text leaves undefined until relocation fails,
 * and a state that failed is lost. So every identifier of the text that is
 * somebody's symbol is bound at once; binding what is not used does no harm, and
 * what the unit defines itself stays its own. Should relocation still miss names
 * (reached through macros of a header), they are bound in a second attempt, which
 * also offers libtcc1.a.
 */
#include "internal.h"

#include <stdio.h>
#include <string.h>

/* ---- one attempt ----------------------------------------------------------- */

struct tj_unit {
    tj_state *state; /* owned; holds the code */
    bool uses_host;
    bool has_state;
    bool speaks;
};

/* What an attempt at a unit needs and gives. */
typedef struct attempt {
    const tj_environment *environment;
    const char *text;      /* NULL: the environment's sources */
    const tj_object *object; /* code of another compiler; NULL: compile text */
    const tj_names *names; /* identifiers of the text; NULL: unknown */
    tj_map missed;         /* owned: what an earlier attempt left undefined */
    bool retry;
    tj_state *state; /* owned; code when `relocated` */
    bool relocated;
    bool uses_host;
    bool speaks;
    tj_map bound; /* owned: what was bound, filled for sources only */
    tj_diagnosis diagnosis;
} attempt;

static bool set_up(attempt *this)
{
    this->state = tj_state_new(this->environment, !this->text, &this->diagnosis);
    return !this->diagnosis.messages.failed;
}

/* One char in front of everything in .data and .bss and one behind it: further
 * than one byte apart means that the text has data of its own there. Constants,
 * tables of addresses and string literals are elsewhere. */
#define FIRST_MARKERS "char cwj_data_first = 1, cwj_bss_first;\n"
#define LAST_MARKERS "\nchar cwj_data_last = 1, cwj_bss_last;\n"

static bool compile_text(attempt *this)
{
    if (this->text)
        return tj_state_compile(this->state, this->text);
    if (!tj_state_compile(this->state, FIRST_MARKERS))
        return false;
    for (char **source = this->environment->sources; *source; source++)
        if (!tj_state_add_file(this->state, *source, TJ_FILE_C))
            return false;
    return tj_state_compile(this->state, LAST_MARKERS);
}

static bool is_one_apart(tj_state *state, const char *first, const char *last)
{
    const char *a = tj_state_symbol(state, first), *b = tj_state_symbol(state, last);
    return a && b && b - a == 1;
}

/* Data can also hide in sections of its own and in assembler text. */
static bool has_state(const attempt *this)
{
    static const char *const hiding[] = {"section", "__section__", "asm", "__asm", "__asm__"};
    for (size_t i = 0; this->names && i < sizeof hiding / sizeof *hiding; i++)
        if (tj_names_have(this->names, hiding[i]))
            return true;
    return !is_one_apart(this->state, "cwj_data_first", "cwj_data_last") ||
           !is_one_apart(this->state, "cwj_bss_first", "cwj_bss_last");
}

static void bind_name(void *context, const char *name)
{
    attempt *this = context;
    tj_symbol symbol;
    if (!tj_environment_find(this->environment, name, this->retry, &symbol))
        return;
    tj_state_bind(this->state, name, symbol.address);
    if (tj_environment_is_host(this->environment, &symbol))
        this->uses_host = true;
    if (tj_environment_speaks(this->environment, &symbol))
        this->speaks = true;
    if (!this->text && !tj_map_set(&this->bound, name, symbol.address, false))
        this->diagnosis.messages.failed = true;
}

static void bind_helpers(attempt *this)
{
    for (size_t i = 0; i < tj_helper_count; i++)
        tj_state_bind(this->state, tj_helper_symbols[i].name, tj_helper_symbols[i].address);
    /* Entry points that generated text reaches by macros. */
    const tj_map *symbols = &this->environment->symbols;
    for (size_t i = 0; i < symbols->capacity; i++)
        if (symbols->items[i].name && !strncmp(symbols->items[i].name, "cwj_", 4))
            tj_state_bind(this->state, symbols->items[i].name, symbols->items[i].address);
}

/* Offers symbols. libtcc complains about those that the unit defines itself,
 * and keeps the unit's: that is what is wanted, so nobody listens. */
static void bind(attempt *this)
{
    this->diagnosis.ignore = true;
    bind_helpers(this);
    for (const char *const *name = tj_implied_names; *name; name++)
        bind_name(this, *name);
    if (this->names)
        tj_names_each(this->names, bind_name, this);
    for (size_t i = 0; i < this->missed.capacity; i++)
        if (this->missed.items[i].name)
            bind_name(this, this->missed.items[i].name);
    if (this->retry) {
        bind_name(this, "abort"); /* the archive's need */
        tj_state_add_archive(this->state);
    }
    this->diagnosis.ignore = false;
}

/* Binds what the object leaves undefined, which it tells. */
static bool bind_object(attempt *this)
{
    for (size_t i = 0; i < this->object->nundefined; i++) {
        const char *name = this->object->undefined[i];
        tj_symbol symbol = {0};
        if (!tj_environment_find(this->environment, name, true, &symbol))
            symbol.address = tj_compiler_symbol(name);
        if (symbol.address)
            tj_state_bind(this->state, name, symbol.address);
        else if (!tj_map_set(&this->diagnosis.undefined, name, NULL, false))
            this->diagnosis.messages.failed = true;
    }
    return this->diagnosis.undefined.count == 0 && !this->diagnosis.messages.failed;
}

static bool load_object(attempt *this)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", this->object->fd);
    return tj_state_add_file(this->state, path, TJ_FILE_OBJECT) && bind_object(this);
}

/* Runs on the big stack. */
static void run_attempt(void *argument)
{
    attempt *this = argument;
    if (this->object) {
        this->relocated = set_up(this) && load_object(this) && tj_state_relocate(this->state);
        return;
    }
    if (!set_up(this) || !compile_text(this) || tj_messages_have_error(&this->diagnosis.messages))
        return;
    bind(this);
    this->relocated = tj_state_relocate(this->state);
}

/* Frees what the attempt made, to try again or for good. */
static void undo_attempt(attempt *this)
{
    tj_state_free(this->state);
    this->state = NULL;
    this->relocated = false;
    tj_map_clear(&this->bound);
    tj_diagnosis_clear(&this->diagnosis);
}

static void clear_attempt(attempt *this)
{
    undo_attempt(this);
    tj_map_clear(&this->missed);
}

/* ---- two attempts --------------------------------------------------------- */

static bool run_on_big_stack(attempt *this, tj_error *error)
{
    if (tj_run_on_big_stack(run_attempt, this))
        return true;
    tj_fail_no_memory(error);
    return false;
}

/* Compile lock held. */
static tj_status try_twice(attempt *this, tj_error *error)
{
    if (!tj_backend_is_open())
        return tj_fail(error, TJ_NO_BACKEND, "libtcc has not been loaded");
    if (!run_on_big_stack(this, error))
        return TJ_NO_MEMORY;
    tj_status status = tj_diagnosis_judge(&this->diagnosis, this->relocated, error);
    if (status != TJ_NO_SYMBOL)
        return status;
    this->missed = this->diagnosis.undefined;
    this->diagnosis.undefined = (tj_map){0};
    undo_attempt(this);
    this->retry = true;
    if (!run_on_big_stack(this, error))
        return TJ_NO_MEMORY;
    status = tj_diagnosis_judge(&this->diagnosis, this->relocated, error);
    if (status == TJ_OK)
        tj_error_clear(error);
    return status;
}

/* Compile lock held. Moves messages and, on success, the code out of this. */
static tj_status make_unit(attempt *this, tj_unit **unit, tj_messages *messages, tj_error *error)
{
    *unit = NULL;
    tj_unit *made = tj_alloc_zeroed(1, sizeof *made);
    if (!made)
        return tj_fail_no_memory(error);
    tj_status status = try_twice(this, error);
    tj_messages_move(messages, &this->diagnosis.messages);
    if (status == TJ_OK) {
        const tj_unit *sources = this->environment->sources_unit;
        made->uses_host = this->uses_host || (sources && sources->uses_host);
        made->speaks = this->speaks || made->uses_host || (sources && sources->speaks);
        made->has_state = has_state(this) || (sources && sources->has_state);
        made->state = this->state;
        this->state = NULL;
        *unit = made;
        made = NULL;
    }
    tj_free(made);
    return status;
}

/* ---- units ------------------------------------------------------------------- */

static const tj_environment no_environment;

tj_status tj_compile(tj_environment *environment, const char *text, const tj_names *names,
                     tj_unit **unit, tj_messages *messages, tj_error *error)
{
    *unit = NULL;
    tj_text whole = {0};
    tj_text_puts(&whole, FIRST_MARKERS);
    tj_text_puts(&whole, tj_prelude());
    tj_text_puts(&whole, "\n");
    tj_text_puts(&whole, text);
    tj_text_puts(&whole, LAST_MARKERS);
    if (whole.failed) {
        tj_text_clear(&whole);
        return tj_fail_no_memory(error);
    }
    attempt this = {.environment = environment ? environment : &no_environment,
                    .text = whole.data,
                    .names = names};
    tj_compile_lock();
    tj_status status = make_unit(&this, unit, messages, error);
    clear_attempt(&this);
    tj_compile_unlock();
    tj_text_clear(&whole);
    return status;
}

/* What libtcc says of an object is not the user's to read as messages. */
static tj_status fail_object(const attempt *this, tj_error *error)
{
    const tj_messages *messages = &this->diagnosis.messages;
    return tj_fail(error, TJ_COMPILE_FAILED, "libtcc cannot load the compiler's object: %s",
                   messages->count ? messages->items[0].text : "no reason given");
}

tj_status tj_load_object(const tj_environment *environment, const tj_object *object, tj_unit **unit,
                         tj_error *error)
{
    attempt this = {.environment = environment ? environment : &no_environment, .object = object};
    tj_unit *made = tj_alloc_zeroed(1, sizeof *made);
    tj_status status = made ? TJ_OK : tj_fail_no_memory(error);
    *unit = NULL;
    tj_compile_lock();
    if (!status && !tj_backend_is_open())
        status = tj_fail(error, TJ_NO_BACKEND, "libtcc has not been loaded");
    if (!status && !run_on_big_stack(&this, error))
        status = TJ_NO_MEMORY;
    if (!status)
        status = tj_diagnosis_judge(&this.diagnosis, this.relocated, error);
    if (status == TJ_COMPILE_FAILED)
        status = fail_object(&this, error);
    if (!status) {
        made->state = this.state;
        this.state = NULL;
        *unit = made;
        made = NULL;
    }
    clear_attempt(&this);
    tj_compile_unlock();
    tj_free(made);
    return status;
}

/* Where the exports of sources go, and what to leave out. */
typedef struct export_list {
    tj_map *exports;
    const tj_map *bound;
    bool failed;
} export_list;

static void add_export(void *context, const char *name, const void *address)
{
    export_list *list = context;
    const tj_map_item *bound = tj_map_get(list->bound, name);
    if (bound && bound->address == address)
        return; /* not the sources' own */
    if (!strncmp(name, "cwj_", 4))
        return; /* markers */
    if (!tj_map_set(list->exports, name, address, false))
        list->failed = true;
}

tj_status tj_compile_sources(tj_environment *environment, const tj_names *names, tj_unit **unit,
                             tj_messages *messages, tj_error *error)
{
    attempt this = {.environment = environment, .names = names};
    tj_compile_lock();
    tj_status status = make_unit(&this, unit, messages, error);
    if (status == TJ_OK) {
        export_list list = {&environment->exports, &this.bound, false};
        tj_state_each((*unit)->state, add_export, &list);
        if (list.failed)
            status = tj_fail_no_memory(error);
    }
    clear_attempt(&this);
    tj_compile_unlock();
    return status; /* the unit, if any, is the environment's, which frees it */
}

void *tj_unit_symbol(const tj_unit *unit, const char *name)
{
    tj_compile_lock();
    void *address = tj_state_symbol(unit->state, name);
    tj_compile_unlock();
    return address;
}

bool tj_unit_uses_host(const tj_unit *unit)
{
    return unit->uses_host;
}

bool tj_unit_has_state(const tj_unit *unit)
{
    return unit->has_state;
}

bool tj_unit_speaks(const tj_unit *unit)
{
    return unit->speaks;
}

void tj_unit_free(tj_unit *unit)
{
    if (!unit)
        return;
    tj_compile_lock();
    tj_state_free(unit->state);
    tj_compile_unlock();
    tj_free(unit);
}

/* ---- the version --------------------------------------------------------------- */

/* __TINYC__ is 928 for 0.9.28. */
static void read_version(char *text, size_t size)
{
    attempt this = {.environment = &no_environment, .text = "const int version = __TINYC__;\n"};
    tj_messages messages = {0};
    tj_unit *unit;
    if (make_unit(&this, &unit, &messages, NULL) == TJ_OK) {
        const int *version = tj_state_symbol(unit->state, "version");
        if (version)
            snprintf(text, size, "%d.%d.%d", *version / 10000, *version / 100 % 100,
                     *version % 100);
        tj_state_free(unit->state);
        tj_free(unit);
    }
    clear_attempt(&this);
    tj_messages_clear(&messages);
}

const char *tj_backend_version(void)
{
    static char version[32];
    tj_compile_lock();
    if (tj_backend_is_open() && !version[0])
        read_version(version, sizeof version);
    tj_compile_unlock();
    return version[0] ? version : NULL;
}
