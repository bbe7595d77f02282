/* compile.c: from C text to code in memory. The only user of libtcc.
 *
 * libtcc is loaded at run time, locally, so that none of its symbols mixes with
 * anybody's. Each unit is a compiler state of its own that is used once:
 *
 *     new state -> options, folders, macros -> compile -> bind -> relocate
 *
 * Nothing is linked (-nostdlib): a unit finds its symbols because they are bound
 * by name before it is relocated. libtcc does not tell which names a text leaves
 * undefined until relocation fails, and a state that failed is lost. So every
 * identifier of the text that is somebody's symbol is bound at once; binding what
 * is not used does no harm, and what the unit defines itself stays its own. Should
 * relocation still miss names (reached through macros of a header), they are
 * bound in a second attempt, which also offers libtcc1.a.
 */
#define _GNU_SOURCE 1 /* access under -std=c11 */
#include "internal.h"

#include <dlfcn.h>
#include <libtcc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the library ---------------------------------------------------------- */

/* clang-format off */
#define LIBTCC_FUNCTIONS(X) \
    X(tcc_new) X(tcc_delete) X(tcc_set_lib_path) \
    X(tcc_set_error_func) X(tcc_set_options) X(tcc_add_include_path) \
    X(tcc_add_sysinclude_path) X(tcc_define_symbol) X(tcc_undefine_symbol) \
    X(tcc_add_file) X(tcc_compile_string) X(tcc_set_output_type) \
    X(tcc_add_symbol) X(tcc_relocate) X(tcc_get_symbol) \
    X(tcc_list_symbols)
/* clang-format on */

enum {
    MOST_DIRS = 8
};

/* Set once under the compile lock, constant from then on. */
static struct {
    void *handle; /* of dlopen; NULL: not open yet. Never closed. */
#define MEMBER(name) __typeof__(name) *name;
    LIBTCC_FUNCTIONS(MEMBER)
#undef MEMBER
    char *lib_dir;  /* owned */
    char *archive;  /* owned: libtcc1.a */
    char *dirs[MOST_DIRS];              /* owned: system folders, in use below */
    const char *snippet_dirs[MOST_DIRS]; /* the small headers first */
    const char *source_dirs[MOST_DIRS];  /* the system's own first */
} tcc;

static bool load_functions(void *handle)
{
    void *address;
#define LOAD(name)                  \
    address = dlsym(handle, #name); \
    if (!address)                   \
        return false;               \
    memcpy(&tcc.name, &address, sizeof address);
    LIBTCC_FUNCTIONS(LOAD)
#undef LOAD
    /* tcc_relocate had a second parameter before this function came. */
    return dlsym(handle, "_tcc_setjmp") != NULL;
}

static char *join(const char *dir, const char *rest)
{
    tj_text path = {0};
    tj_text_printf(&path, "%s/%s", dir, rest);
    if (path.failed)
        tj_text_clear(&path);
    return path.data;
}

/* The two orders of the folders that hold system headers. */
static bool set_dirs(const char *lib_dir, const char *include_dir)
{
    static const char *const local = "/usr/local/include";
#if defined(__aarch64__)
    static const char *const multiarch = "/usr/include/aarch64-linux-gnu";
#else
    static const char *const multiarch = "/usr/include/x86_64-linux-gnu";
#endif
    char *own = tj_copy_string(include_dir), *compiler = join(lib_dir, "include");
    tcc.dirs[0] = own;
    tcc.dirs[1] = compiler;
    tcc.lib_dir = tj_copy_string(lib_dir);
    tcc.archive = join(lib_dir, "libtcc1.a");
    const char *snippet[] = {own, compiler, local, multiarch, "/usr/include"};
    const char *source[] = {local, compiler, multiarch, "/usr/include", own};
    for (size_t i = 0, n = 0, m = 0; i < sizeof snippet / sizeof *snippet; i++) {
        if (snippet[i] && !access(snippet[i], F_OK))
            tcc.snippet_dirs[n++] = snippet[i];
        if (source[i] && !access(source[i], F_OK))
            tcc.source_dirs[m++] = source[i];
    }
    return own && compiler && tcc.lib_dir && tcc.archive;
}

static void forget_dirs(void)
{
    tj_free(tcc.dirs[0]);
    tj_free(tcc.dirs[1]);
    tj_free(tcc.lib_dir);
    tj_free(tcc.archive);
    memset(&tcc, 0, sizeof tcc);
}

static tj_status open_locked(const char *libtcc, const char *lib_dir, const char *include_dir,
                             tj_error *error)
{
    if (tcc.handle)
        return TJ_OK;
    if (!set_dirs(lib_dir, include_dir)) {
        forget_dirs();
        return tj_fail_no_memory(error);
    }
    void *handle = dlopen(libtcc, RTLD_NOW | RTLD_LOCAL);
    if (handle && load_functions(handle)) {
        tcc.handle = handle;
        return TJ_OK;
    }
    const char *reason = handle ? "it is too old, or not libtcc" : dlerror();
    tj_status status = tj_fail(error, TJ_NO_BACKEND, "libtcc cannot be loaded from '%s': %s",
                               libtcc, reason ? reason : "no reason given");
    if (handle)
        dlclose(handle);
    forget_dirs();
    return status;
}

tj_status tj_backend_open(const char *libtcc, const char *lib_dir, const char *include_dir,
                          tj_error *error)
{
    tj_compile_lock();
    tj_status status = open_locked(libtcc, lib_dir, include_dir, error);
    tj_compile_unlock();
    return status;
}

/* ---- one attempt ----------------------------------------------------------- */

struct tj_unit {
    TCCState *state; /* owned; holds the code */
    bool uses_host;
};

/* What an attempt at a unit needs and gives. */
typedef struct attempt {
    const tj_environment *environment;
    const char *text;      /* NULL: the environment's sources */
    const tj_names *names; /* identifiers of the text; NULL: unknown */
    tj_map missed;         /* owned: what an earlier attempt left undefined */
    bool retry;
    TCCState *state; /* owned; code when `relocated` */
    bool relocated;
    bool uses_host;
    tj_map bound; /* owned: what was bound, filled for sources only */
    tj_diagnosis diagnosis;
} attempt;

static void on_message(void *opaque, const char *line)
{
    tj_diagnose(opaque, line);
}

static void define_macro(TCCState *state, const char *macro, tj_diagnosis *diagnosis)
{
    const char *equals = strchr(macro, '=');
    if (!equals) {
        tcc.tcc_define_symbol(state, macro, NULL);
        return;
    }
    char *name = tj_copy_bytes(macro, (size_t)(equals - macro));
    if (name)
        tcc.tcc_define_symbol(state, name, equals + 1);
    else
        diagnosis->messages.failed = true;
    tj_free(name);
}

static bool set_up(attempt *this)
{
    this->state = tcc.tcc_new();
    if (!this->state) {
        this->diagnosis.messages.failed = true;
        return false;
    }
    const char *const *dirs = this->text ? tcc.snippet_dirs : tcc.source_dirs;
    this->diagnosis.quiet_dirs = dirs;
    this->diagnosis.lenient = !this->text;
    tcc.tcc_set_lib_path(this->state, tcc.lib_dir);
    tcc.tcc_set_error_func(this->state, &this->diagnosis, on_message);
    /* Before the output type, which decides on what is linked. -Wall is what
     * tells of functions that end without return. */
    tcc.tcc_set_options(this->state, "-nostdlib -nostdinc -std=c11 -Wall "
                                     "-Werror=implicit-function-declaration");
    tcc.tcc_set_output_type(this->state, TCC_OUTPUT_MEMORY);
    for (char **dir = this->environment->include_dirs; dir && *dir; dir++)
        tcc.tcc_add_include_path(this->state, *dir);
    for (; *dirs; dirs++)
        tcc.tcc_add_sysinclude_path(this->state, *dirs);
    /* It has <stdatomic.h>, which the headers of Python 3.13 need. */
    if (!this->text)
        tcc.tcc_undefine_symbol(this->state, "__STDC_NO_ATOMICS__");
    for (char **macro = this->environment->define_macros; macro && *macro; macro++)
        define_macro(this->state, *macro, &this->diagnosis);
    return !this->diagnosis.messages.failed;
}

static bool compile_text(attempt *this)
{
    if (this->text)
        return !tcc.tcc_compile_string(this->state, this->text);
    tcc.tcc_set_options(this->state, "-xc"); /* C, whatever the file's name ends with */
    for (char **source = this->environment->sources; *source; source++)
        if (tcc.tcc_add_file(this->state, *source))
            return false;
    return true;
}

static void bind_name(void *context, const char *name)
{
    attempt *this = context;
    tj_symbol symbol;
    if (!tj_environment_find(this->environment, name, this->retry, &symbol))
        return;
    tcc.tcc_add_symbol(this->state, name, symbol.address);
    if (tj_environment_is_host(this->environment, &symbol))
        this->uses_host = true;
    if (!this->text && !tj_map_set(&this->bound, name, symbol.address, false))
        this->diagnosis.messages.failed = true;
}

static void bind_helpers(attempt *this)
{
    for (size_t i = 0; i < tj_helper_count; i++)
        tcc.tcc_add_symbol(this->state, tj_helper_symbols[i].name, tj_helper_symbols[i].address);
    /* Entry points that generated text reaches by macros. */
    const tj_map *symbols = &this->environment->symbols;
    for (size_t i = 0; i < symbols->capacity; i++)
        if (symbols->items[i].name && !strncmp(symbols->items[i].name, "cwj_", 4))
            tcc.tcc_add_symbol(this->state, symbols->items[i].name, symbols->items[i].address);
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
        tcc.tcc_set_options(this->state, "-xn"); /* the file's kind is in the file */
        tcc.tcc_add_file(this->state, tcc.archive);
    }
    this->diagnosis.ignore = false;
}

/* Runs on the big stack. */
static void run_attempt(void *argument)
{
    attempt *this = argument;
    if (!set_up(this) || !compile_text(this) || tj_messages_have_error(&this->diagnosis.messages))
        return;
    bind(this);
    this->relocated = !tcc.tcc_relocate(this->state);
}

/* Frees what the attempt made, to try again or for good. */
static void undo_attempt(attempt *this)
{
    if (this->state)
        tcc.tcc_delete(this->state);
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

/* ---- what came of it --------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names every undefined symbol, sorted: a hash table's order would change. */
static tj_status fail_undefined(const tj_map *undefined, tj_error *error)
{
    const char **names = tj_alloc_zeroed(undefined->count, sizeof *names);
    if (!names)
        return tj_fail_no_memory(error);
    size_t count = 0;
    for (size_t i = 0; i < undefined->capacity; i++)
        if (undefined->items[i].name)
            names[count++] = undefined->items[i].name;
    qsort(names, count, sizeof *names, compare_names);
    tj_text text = {0};
    for (size_t i = 0; i < count; i++)
        tj_text_printf(&text, "%s'%s'", i ? ", " : "", names[i]);
    tj_free(names);
    tj_status status = TJ_NO_MEMORY;
    if (text.failed)
        tj_fail_no_memory(error);
    else
        status = tj_fail(error, TJ_NO_SYMBOL,
                         "undefined symbol%s %s: used, but defined neither in the C text nor in "
                         "sources= nor in libraries= nor in the libraries of this process",
                         count > 1 ? "s" : "", text.data);
    tj_text_clear(&text);
    return status;
}

static tj_status judge(const attempt *this, tj_error *error)
{
    const tj_diagnosis *diagnosis = &this->diagnosis;
    if (diagnosis->messages.failed)
        return tj_fail_no_memory(error);
    if (this->relocated)
        return TJ_OK;
    if (diagnosis->exec_denied)
        return tj_fail(error, TJ_NO_EXEC,
                       "the system refuses executable memory to this process: SELinux, "
                       "MemoryDenyWriteExecute= of systemd or prctl(PR_SET_MDWE) can be the cause");
    if (tj_messages_have_error(&diagnosis->messages))
        return tj_fail(error, TJ_COMPILE_FAILED, "the C text does not compile");
    if (diagnosis->undefined.count)
        return fail_undefined(&diagnosis->undefined, error);
    return tj_fail(error, TJ_COMPILE_FAILED, "libtcc failed and gave no reason");
}

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
    if (!tcc.handle)
        return tj_fail(error, TJ_NO_BACKEND, "libtcc has not been loaded");
    if (!run_on_big_stack(this, error))
        return TJ_NO_MEMORY;
    tj_status status = judge(this, error);
    if (status != TJ_NO_SYMBOL)
        return status;
    this->missed = this->diagnosis.undefined;
    this->diagnosis.undefined = (tj_map){0};
    undo_attempt(this);
    this->retry = true;
    if (!run_on_big_stack(this, error))
        return TJ_NO_MEMORY;
    status = judge(this, error);
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
    tj_text_puts(&whole, tj_prelude());
    tj_text_puts(&whole, "\n");
    tj_text_puts(&whole, text);
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
        tcc.tcc_list_symbols((*unit)->state, &list, add_export);
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
    void *address = tcc.tcc_get_symbol(unit->state, name);
    tj_compile_unlock();
    return address;
}

bool tj_unit_uses_host(const tj_unit *unit)
{
    return unit->uses_host;
}

void tj_unit_free(tj_unit *unit)
{
    if (!unit)
        return;
    tj_compile_lock();
    tcc.tcc_delete(unit->state);
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
        const int *version = tcc.tcc_get_symbol(unit->state, "version");
        if (version)
            snprintf(text, size, "%d.%d.%d", *version / 10000, *version / 100 % 100,
                     *version % 100);
        tcc.tcc_delete(unit->state);
        tj_free(unit);
    }
    clear_attempt(&this);
    tj_messages_clear(&messages);
}

const char *tj_backend_version(void)
{
    static char version[32];
    tj_compile_lock();
    if (tcc.handle && !version[0])
        read_version(version, sizeof version);
    tj_compile_unlock();
    return version[0] ? version : NULL;
}
