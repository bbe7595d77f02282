/* compile.c: compiles C text, or loads another compiler's object, to code in memory, with the functions of backend.c.
 *
 * Each unit needs a separate state, which is used once:
 *
 *     new state -> compile, or load an object -> bind -> relocate
 *
 * A unit keeps the code and the addresses of its symbols; the state is then freed.
 *
 * libtcc does not report which names a text leaves undefined until relocation fails, and a failed state cannot be used
 * again. So every identifier of the text that is a known symbol is bound at once. Binding unused symbols does no harm,
 * and the unit's own definitions take precedence. If relocation still misses names (used in macros of a header), a
 * second attempt binds them, and also adds libtcc1.a. */
#include "read/negations.h"
#include "read/stores.h"
#include "read/truths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one attempt ----------------------------------------------------------- */

static const char builtin_prefix[] = "__builtin_";

/* The input and output of an attempt to make a unit. */
typedef struct attempt {
    const tj_environment *environment;
    const char *text; /* NULL: the environment's sources */
    const tj_object *object; /* another compiler's code; NULL: compile text */
    const tj_names *names; /* identifiers of the text; NULL: unknown */
    tj_map missed; /* owned: the undefined names of an earlier attempt */
    bool writes; /* writes an object to fd; false: code to memory */
    int fd;
    bool checks; /* text is a whole file, compiled only for its messages */
    bool builtins; /* declare gcc's builtins */
    bool libm; /* functions of mathematics are libm's */
    bool retry;
    tj_state *state; /* owned */
    bool relocated;
    bool uses_host;
    bool speaks;
    bool has_state;
    tj_map symbols; /* owned: the symbols that the code defines, after relocation */
    const tj_code *code; /* borrowed from the state: the code of the symbols */
    tj_diagnosis diagnosis;
} attempt;

static bool set_up(attempt *this)
{
    if (!tj_state_set_up(this->state, this->environment, this->checks ? NULL : this->text,
                         this->writes, &this->diagnosis))
        return false;
    if (this->builtins)
        tj_state_include_builtins(this->state);
    return true;
}

/* One char before everything in .data and .bss and one after it. If they are more than one byte apart, the
 * text has writable data. Constants, tables of addresses and string literals are in other sections. */
#define FIRST_MARKERS "char cwj_data_first = 1, cwj_bss_first;\n"
#define LAST_MARKERS "\nchar cwj_data_last = 1, cwj_bss_last;\n"

static bool compile_text(attempt *this)
{
    if (this->text)
        return tj_state_compile(this->state, this->text);
    bool fine = tj_state_compile(this->state, FIRST_MARKERS);
    for (size_t i = 0; i < this->environment->sources.count && fine; i++) {
        const tj_source_text *source = &this->environment->source_texts[i];
        fine = source->given
                   ? tj_state_compile(this->state, source->text.data)
                   : tj_state_add_source(this->state, this->environment->sources.items[i]);
    }
    return fine && tj_state_compile(this->state, LAST_MARKERS);
}

static bool is_one_apart(tj_state *state, const char *first, const char *last)
{
    const char *a = tj_state_symbol(state, first), *b = tj_state_symbol(state, last);
    return a && b && b - a == 1;
}

/* Returns true if the code may have writable data, which can also be in special sections and in assembler text. */
static bool has_state(const attempt *this)
{
    static const char *const hiding[] = {"section", "__section__", "asm", "__asm", "__asm__"};
    for (size_t i = 0; this->names && i < sizeof hiding / sizeof *hiding; i++)
        if (tj_names_have(this->names, hiding[i]))
            return true;
    return !is_one_apart(this->state, "cwj_data_first", "cwj_data_last") ||
           !is_one_apart(this->state, "cwj_bss_first", "cwj_bss_last");
}

static void bind_name(attempt *this, const char *name)
{
    tj_symbol symbol;
    if (!strncmp(name, builtin_prefix, sizeof builtin_prefix - 1))
        name += sizeof builtin_prefix - 1; /* as cwj_builtins.h declares the function */
    if (!tj_environment_find(this->environment, name, this->retry, this->libm, &symbol))
        return;
    tj_state_bind(this->state, name, symbol.address);
    this->uses_host = this->uses_host || tj_environment_is_host(this->environment, &symbol);
    this->speaks = this->speaks || tj_environment_speaks(this->environment, &symbol);
}

#if defined(__aarch64__)
/* libtcc's archive for this machine has no alloca(), and libtcc no assembler. So the text itself contains the
 * machine code, as archives of other machines do. Stack pointers are multiples of 16. */
#define OWN_ALLOCA                                                        \
    "__attribute__((section(\".text\"))) const unsigned alloca[] = {"     \
    "0x91003c00, /* add x0, x0, 15 */ 0x927cec00, /* and x0, x0, -16 */ " \
    "0xcb2063ff, /* sub sp, sp, x0 */ 0x910003e0, /* mov x0, sp */ 0xd65f03c0 /* ret */};\n"
#else
#define OWN_ALLOCA NULL
#endif

static void bind_helpers(attempt *this)
{
    for (size_t i = 0; i < tj_helper_count; i++)
        tj_state_bind(this->state, tj_helper_symbols[i].name, tj_helper_symbols[i].address);
    /* Entry points that generated text uses through macros. */
    const tj_map *symbols = tj_environment_symbols(this->environment);
    for (size_t i = 0; i < symbols->capacity; i++)
        if (symbols->items[i].name && !strncmp(symbols->items[i].name, "cwj_", 4))
            tj_state_bind(this->state, symbols->items[i].name, symbols->items[i].address);
}

/* Binds symbols. libtcc complains about those that the unit defines itself, and keeps the unit's. That is
 * intended, so the messages are ignored. */
static void bind(attempt *this)
{
    this->diagnosis.ignore = true;
    bind_helpers(this);
    const char *name;
    for (const char *const *implied = tj_implied_names; *implied; implied++)
        bind_name(this, *implied);
    for (size_t at = 0; this->names && (name = tj_names_next(this->names, &at));)
        bind_name(this, name);
    for (size_t i = 0; i < this->missed.capacity; i++)
        if (this->missed.items[i].name)
            bind_name(this, this->missed.items[i].name);
    if (this->retry) {
        bind_name(this, "abort"); /* the archive needs it */
        if (OWN_ALLOCA && tj_map_get(&this->missed, "alloca"))
            (void)tj_state_compile(this->state, OWN_ALLOCA);
        tj_state_add_archive(this->state);
    }
    this->diagnosis.ignore = false;
}

/* Binds the names that the object leaves undefined. */
static bool bind_object(attempt *this)
{
    for (size_t i = 0; i < this->object->undefined.count; i++) {
        const char *name = this->object->undefined.items[i];
        tj_symbol symbol = {0};
        if (!tj_environment_find(this->environment, name, true, this->libm, &symbol))
            symbol.address = tj_compiler_symbol(name, this->libm);
        if (symbol.address)
            tj_state_bind(this->state, name, symbol.address);
        else if (!tj_map_set(&this->diagnosis.undefined, name, NULL, false))
            this->diagnosis.messages.failed = true;
    }
    return this->diagnosis.undefined.count == 0 && !this->diagnosis.messages.failed;
}

/* Returns true for symbols that every unit has. */
static bool is_linkers_own(const char *name)
{
    static const char *const names[] = {
        "_etext",           "_edata",   "_end",      "__start_",      "__stop_",
        "__preinit_array_", "cwj_bss_", "cwj_data_", "__init_array_", "__fini_array_"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(name, names[i], strlen(names[i])))
            return true;
    return false;
}

/* Keeps a symbol if its address is in the state's own pages, so that the unit defines it. */
static void keep_symbol(void *context, const char *name, const void *address)
{
    attempt *this = context;
    const tj_code *code = tj_region_code_at(tj_state_region(this->state), address);
    if (!code)
        return;
    this->code = code;
    if (!is_linkers_own(name) && !tj_map_set(&this->symbols, name, address, false))
        this->diagnosis.messages.failed = true;
}

static void relocate(attempt *this)
{
    if (!tj_state_relocate(this->state))
        return;
    this->has_state = !this->object && has_state(this);
    tj_state_each(this->state, keep_symbol, this);
    this->relocated = true;
}

/* Runs on the big stack. */
static void run_attempt(void *argument)
{
    attempt *this = argument;
    if (this->object) {
        if (set_up(this) && tj_state_add_object(this->state, this->object->fd) && bind_object(this))
            relocate(this);
        return;
    }
    if (!set_up(this) || !compile_text(this) || tj_messages_have_error(&this->diagnosis.messages))
        return;
    if (this->checks) {
        this->relocated = true; /* nothing more is needed */
        return;
    }
    if (this->writes) {
        this->relocated = tj_state_write(this->state, this->fd);
        return;
    }
    bind(this);
    /* Data without an initial value takes no memory until relocation, which computes sizes with 32 bits. The last
     * marker's offset in its section is the size of the data. */
    size_t size = (size_t)tj_state_symbol(this->state, "cwj_bss_last");
    if (tj_region_has_room(tj_state_region(this->state), size))
        relocate(this);
}

/* Frees the results of the attempt, before another attempt or at the end. */
static void undo_attempt(attempt *this)
{
    tj_state_free(this->state);
    this->state = NULL;
    this->relocated = false;
    this->code = NULL;
    tj_map_clear(&this->symbols);
    tj_diagnosis_clear(&this->diagnosis);
}

static void clear_attempt(attempt *this)
{
    undo_attempt(this);
    tj_map_clear(&this->missed);
}

/* ---- two attempts --------------------------------------------------------- */

static tj_status try_once(attempt *this, tj_error *error)
{
    this->state = tj_state_new();
    static const tj_task task = {run_attempt, tj_state_on_abort};
    if (!this->state || !tj_run_on_big_stack(&task, this))
        return tj_fail_no_memory(error);
    tj_status status = tj_state_judge(this->state, error);
    const tj_messages *said = &this->diagnosis.messages;
    const tj_message *last = said->count ? &said->items[said->count - 1] : NULL;
    if (!status)
        return tj_diagnosis_judge(&this->diagnosis, this->relocated, error);
    if (status == TJ_TOO_LARGE && error && last && last->line) /* where the limit was reached */
        tj_fail(error, TJ_TOO_LARGE, "%s, at %s line %d", error->text ? error->text : error->brief,
                last->file, last->line);
    return status;
}

/* Returns true if a file that the text includes names one of gcc's builtins. */
static bool lacks_builtins(const attempt *this)
{
    const tj_messages *messages = &this->diagnosis.messages;
    for (size_t i = 0; !this->builtins && i < messages->count; i++)
        if (messages->items[i].is_error && strstr(messages->items[i].text, builtin_prefix))
            return true;
    return false;
}

/* Tries again with builtins if they are missing. */
static tj_status try_with_builtins(attempt *this, tj_error *error)
{
    tj_status status = try_once(this, error);
    if (status != TJ_COMPILE_FAILED || !lacks_builtins(this))
        return status;
    undo_attempt(this);
    this->builtins = true;
    return try_once(this, error);
}

/* Compile lock held. */
static tj_status try_twice(attempt *this, tj_error *error)
{
    tj_status status = try_with_builtins(this, error);
    if (status != TJ_NO_SYMBOL || this->object)
        return status;
    this->missed = this->diagnosis.undefined;
    this->diagnosis.undefined = (tj_map){0};
    undo_attempt(this);
    this->retry = true;
    status = try_once(this, error);
    if (status == TJ_OK)
        tj_error_clear(error);
    return status;
}

/* Moves the result of the attempt to made. */
static tj_status take_code(attempt *this, tj_unit *made, tj_error *error)
{
    const tj_unit *sources = this->environment->sources_unit;
    made->uses_host = this->uses_host || (sources && sources->uses_host);
    made->speaks = this->speaks || made->uses_host || (sources && sources->speaks);
    made->has_state = this->has_state || (sources && sources->has_state);
    if (!this->code)
        return tj_fail(error, TJ_NO_BACKEND,
                       "this build of libtcc places code in memory of its own");
    made->code = *this->code;
    tj_status status = tj_state_take_code(this->state, &made->code, error);
    if (!status) {
        made->symbols = this->symbols;
        this->symbols = (tj_map){0};
    }
    return status;
}

/* Compile lock held. Moves messages and, on success, the code out of this. */
static tj_status make_unit(attempt *this, tj_unit **unit, tj_messages *messages, tj_error *error)
{
    *unit = NULL;
    tj_status status = tj_backend_check(error);
    if (status)
        return status;
    tj_unit *made = tj_alloc_zeroed(1, sizeof *made);
    if (!made)
        return tj_fail_no_memory(error);
    status = try_twice(this, error);
    tj_messages_move(messages, &this->diagnosis.messages);
    if (!status)
        status = take_code(this, made, error);
    if (!status)
        *unit = made;
    else
        tj_free(made);
    tj_live_add(TJ_LIVE_UNITS, !status);
    return status;
}

/* ---- units ------------------------------------------------------------------- */

static const tj_environment no_environment;

/* Appends the text in the form that libtcc needs on this machine. In this form libtcc refuses those of the
 * first `count` stored values that are not numbers. */
static void put_text(const char *text, const tj_stores *stores, size_t count, tj_text *out)
{
#if defined(__aarch64__)
    tj_text guarded = {0}, negated = {0};
    tj_stores_write(stores, text, count, &guarded);
    if (!guarded.failed)
        tj_negations_write(guarded.data, &negated);
    if (guarded.failed || negated.failed)
        out->failed = true;
    else
        tj_truths_write(negated.data, out);
    tj_text_clear(&guarded);
    tj_text_clear(&negated);
#else
    tj_stores_write(stores, text, count, out);
#endif
}

/* A text that is compiled to a unit. */
typedef struct unit_text {
    const tj_environment *environment;
    const char *text;
    const tj_names *names;
    bool checks, writes; /* these and all members above are like those of an attempt */
    int fd;
    bool blames; /* the text was refused because a stored value is not a number */
    tj_stores stores; /* owned: the stored values of the text */
} unit_text;

/* Compiles with the first `count` values guarded. Fills *unit if code in memory is wanted. Compile lock held. */
static tj_status compile_with(const unit_text *this, size_t count, tj_unit **unit,
                              tj_messages *messages, tj_error *error)
{
    tj_text whole = {0};
    if (this->text && !this->checks) {
        tj_text_puts(&whole, FIRST_MARKERS);
        tj_text_puts(&whole, tj_prelude()); /* printf() is slow for a text of this length */
        tj_text_puts(&whole, "\n");
    }
    if (this->text)
        put_text(this->text, &this->stores, count, &whole);
    if (this->text && !this->checks)
        tj_text_puts(&whole, LAST_MARKERS);
    attempt once = {.environment = this->environment,
                    .text = whole.data,
                    .names = this->names,
                    .checks = this->checks,
                    .writes = this->writes,
                    .fd = this->fd,
                    .builtins = this->checks || !this->text || strstr(this->text, builtin_prefix),
                    .libm = tj_uses_libm(this->environment, this->text)};
    tj_status status = TJ_NO_MEMORY;
    if (whole.failed)
        tj_fail_no_memory(error);
    else if (this->checks || this->writes)
        status = try_with_builtins(&once, error);
    else
        status = make_unit(&once, unit, messages, error);
    tj_messages_move(messages, &once.diagnosis.messages);
    clear_attempt(&once);
    tj_text_clear(&whole);
    return status;
}

/* Called if the text compiles, but not with its values guarded. Returns the number of the first value that
 * does not compile, with its messages. Compile lock held. */
static size_t find_refused_store(const unit_text *this, tj_messages *messages)
{
    size_t good = 0, bad = this->stores.count;
    while (bad - good > 1) {
        size_t middle = good + (bad - good) / 2;
        tj_messages said = {0};
        tj_unit *unit = NULL;
        tj_status status = compile_with(this, middle, &unit, &said, NULL);
        if (unit)
            tj_unit_free_locked(unit);
        if (status != TJ_COMPILE_FAILED) {
            good = middle;
        } else {
            bad = middle;
            tj_messages_clear(messages);
            tj_messages_move(messages, &said);
        }
        tj_messages_clear(&said);
    }
    return bad - 1;
}

/* Turns libtcc's messages into an error about a value. Returns false if the value is not the reason, because
 * a macro hides more than the value. */
static bool explain(const unit_text *this, tj_messages *said, tj_messages *messages)
{
    const tj_store *store = &this->stores.items[find_refused_store(this, said)];
    char *text = NULL;
    for (size_t i = 0; i < said->count && !text; i++) {
        const tj_message *one = &said->items[i];
        text = one->is_error ? tj_store_explain(store, this->text, one->text) : NULL;
        if (text)
            tj_messages_add(messages, true, one->file, tj_store_line(store, this->text), text);
    }
    tj_free(text);
    return text != NULL;
}

/* First compiles with all values guarded. If that fails, compiles the text itself, to learn whether a value
 * is the reason. Compile lock held. */
static tj_status compile_guarded(unit_text *this, tj_unit **unit, tj_messages *messages,
                                 tj_error *error)
{
    tj_messages said = {0};
    tj_status status = compile_with(this, this->stores.count, unit, &said, error);
    if (status != TJ_COMPILE_FAILED || !this->stores.count) {
        tj_messages_move(messages, &said);
        return status;
    }
    tj_error_clear(error);
    status = compile_with(this, 0, unit, messages, error);
    this->blames = status == TJ_OK && explain(this, &said, messages);
    if (this->blames) {
        if (*unit)
            tj_unit_free_locked(*unit);
        *unit = NULL;
        status = tj_fail(error, TJ_COMPILE_FAILED, "the C text does not compile");
    }
    tj_messages_clear(&said);
    return status;
}

tj_status tj_compile(tj_environment *environment, const char *text, const tj_names *names,
                     tj_unit **unit, tj_messages *messages, tj_error *error)
{
    *unit = NULL;
    unit_text this = {
        .environment = environment ? environment : &no_environment, .text = text, .names = names};
    tj_status status = TJ_NO_MEMORY;
    if (tj_stores_find(&this.stores, text)) {
        tj_compile_lock();
        status = compile_guarded(&this, unit, messages, error);
        tj_compile_unlock();
    } else {
        tj_fail_no_memory(error);
    }
    tj_stores_clear(&this.stores);
    return status;
}

tj_status tj_compile_to_file(const tj_environment *environment, const char *text, int fd,
                             tj_error *error)
{
    unit_text this = {.environment = environment ? environment : &no_environment,
                      .text = text,
                      .writes = true,
                      .fd = fd};
    tj_messages said = {0};
    bool found = !text || tj_stores_find(&this.stores, text);
    tj_compile_lock();
    tj_status status = found ? tj_backend_check(error) : tj_fail_no_memory(error);
    if (!status)
        status = compile_with(&this, this.stores.count, NULL, &said, error);
    if (status == TJ_COMPILE_FAILED && this.stores.count) {
        tj_error_clear(error);
        status = compile_with(&this, 0, NULL, &said, error);
    }
    tj_compile_unlock();
    tj_messages_clear(&said);
    tj_stores_clear(&this.stores);
    return status;
}

tj_status tj_load_object(const tj_environment *environment, const tj_object *object, tj_unit **unit,
                         tj_error *error)
{
    attempt this = {.environment = environment ? environment : &no_environment,
                    .object = object,
                    .libm = object->libm};
    tj_messages messages = {0};
    tj_compile_lock();
    tj_status status = make_unit(&this, unit, &messages, error);
    /* libtcc's messages about an object are not meant for the user. */
    if (status == TJ_COMPILE_FAILED)
        tj_fail(error, status, "libtcc cannot load the compiler's object: %s",
                messages.count ? messages.items[0].text : "no reason given");
    clear_attempt(&this);
    tj_compile_unlock();
    tj_messages_clear(&messages);
    return status;
}

tj_status tj_compile_sources(tj_environment *environment, const tj_names *names, tj_unit **unit,
                             tj_messages *messages, tj_error *error)
{
    attempt this = {.environment = environment,
                    .builtins = true,
                    .names = names,
                    .libm = tj_uses_libm(environment, NULL)};
    tj_compile_lock();
    tj_status status = make_unit(&this, unit, messages, error);
    clear_attempt(&this);
    tj_compile_unlock();
    return status;
}

/* Compiles the file again, without code: its values cannot be guarded while libtcc reads the file itself. */
tj_status tj_check_values(const tj_environment *environment, const tj_piece *source,
                          tj_messages *messages, tj_error *error)
{
    tj_environment own = *environment;
    unit_text this = {.environment = &own, .checks = true};
    tj_unit *none = NULL;
    tj_text text = {0};
    tj_words dirs = {0};
    tj_messages said = {0};
    tj_status status = TJ_NO_MEMORY;
    tj_text_line(&text, 1, source->file);
    tj_text_add(&text, source->text, source->length);
    const char *slash = strrchr(source->file, '/'); /* #include "..." is searched there first */
    tj_words_add(&dirs, slash ? source->file : ".", slash ? (size_t)(slash - source->file) + 1 : 1);
    tj_words_add_list(&dirs, (const char *const *)environment->include_dirs.items);
    if (text.failed || dirs.failed || !tj_stores_find(&this.stores, text.data)) {
        tj_fail_no_memory(error);
        goto done;
    }
    this.text = text.data;
    own.include_dirs = dirs;
    tj_compile_lock();
    status = this.stores.count ? compile_guarded(&this, &none, &said, error) : TJ_OK;
    tj_compile_unlock();
    if (this.blames) {
        tj_messages_move(messages, &said);
    } else if (status != TJ_NO_MEMORY) { /* the file itself compiles */
        tj_error_clear(error);
        status = TJ_OK;
    }
done:
    tj_messages_clear(&said);
    tj_stores_clear(&this.stores);
    tj_words_clear(&dirs);
    tj_text_clear(&text);
    return status;
}

/* ---- libtcc's version ------------------------------------------------------ */

char *tj_backend_ask(const char *text)
{
    attempt this = {.environment = &no_environment, .text = text};
    tj_messages messages = {0};
    tj_unit *unit;
    char *answer = NULL;
    if (make_unit(&this, &unit, &messages, NULL) == TJ_OK) {
        const char *found = tj_unit_symbol(unit, "answer");
        answer = found ? tj_copy_string(found) : NULL;
        tj_unit_free_locked(unit);
    }
    clear_attempt(&this);
    tj_messages_clear(&messages);
    return answer;
}

const char *tj_backend_version(void)
{
    static char version[32];
    tj_compile_lock();
    char *answer = version[0]
                       ? NULL
                       : tj_backend_ask("#define SPELLED(x) #x\n#define SPELL(x) SPELLED(x)\n"
                                        "const char answer[] = SPELL(__TINYC__);\n");
    int known = answer ? atoi(answer) : 0; /* __TINYC__ is 928 for 0.9.28 */
    if (known)
        snprintf(version, sizeof version, "%d.%d.%d", known / 10000, known / 100 % 100,
                 known % 100);
    tj_free(answer);
    tj_compile_unlock();
    return version[0] ? version : NULL;
}
