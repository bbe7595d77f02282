/* backend.c: libtcc, loaded at run time, behind functions of our own. The only file
 * that knows libtcc.h.
 *
 * It is loaded locally, so that none of its symbols mixes with anybody's. A state
 * is used once: new, what is compiled or added, what is bound, relocate. Nothing
 * is linked (-nostdlib): a unit finds its symbols because they are bound by name
 * before it is relocated.
 */
#define _GNU_SOURCE 1 /* access under -std=c11 */
#include "internal.h"

#include <dlfcn.h>
#include <libtcc.h>
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

const char *tj_backend_include_dir(void)
{
    tj_compile_lock();
    const char *dir = tcc.dirs[0]; /* constant once it is there */
    tj_compile_unlock();
    return dir;
}

bool tj_backend_is_open(void)
{
    return tcc.handle != NULL;
}

/* ---- a state ----------------------------------------------------------------- */

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

static void set_options(TCCState *state, const tj_environment *environment, bool whole_files,
                        tj_diagnosis *diagnosis)
{
    const char *const *dirs = whole_files ? tcc.source_dirs : tcc.snippet_dirs;
    diagnosis->quiet_dirs = dirs;
    diagnosis->lenient = whole_files;
    tcc.tcc_set_lib_path(state, tcc.lib_dir);
    tcc.tcc_set_error_func(state, diagnosis, on_message);
    /* Before the output type, which decides on what is linked. -Wall is what
     * tells of functions that end without return. */
    tcc.tcc_set_options(state, "-nostdlib -nostdinc -std=c11 -Wall "
                               "-Werror=implicit-function-declaration");
    tcc.tcc_set_output_type(state, TCC_OUTPUT_MEMORY);
    for (char **dir = environment->include_dirs; dir && *dir; dir++)
        tcc.tcc_add_include_path(state, *dir);
    for (; *dirs; dirs++)
        tcc.tcc_add_sysinclude_path(state, *dirs);
    /* It has <stdatomic.h>, which the headers of Python 3.13 need. */
    if (whole_files)
        tcc.tcc_undefine_symbol(state, "__STDC_NO_ATOMICS__");
    for (char **macro = environment->define_macros; macro && *macro; macro++)
        define_macro(state, *macro, diagnosis);
}

TCCState *tj_state_new(const tj_environment *environment, bool whole_files, tj_diagnosis *diagnosis)
{
    TCCState *state = tcc.tcc_new();
    if (state)
        set_options(state, environment, whole_files, diagnosis);
    else
        diagnosis->messages.failed = true;
    return state;
}

void tj_state_free(TCCState *state)
{
    if (state)
        tcc.tcc_delete(state);
}

bool tj_state_compile(TCCState *state, const char *text)
{
    return !tcc.tcc_compile_string(state, text);
}

bool tj_state_add_file(TCCState *state, const char *path, tj_file_kind kind)
{
    static const char *const options[] = {
        [TJ_FILE_C] = "-xc", [TJ_FILE_OBJECT] = "-xb", [TJ_FILE_ANY] = "-xn"};
    tcc.tcc_set_options(state, options[kind]);
    return !tcc.tcc_add_file(state, path);
}

void tj_state_add_archive(TCCState *state)
{
    tj_state_add_file(state, tcc.archive, TJ_FILE_ANY);
}

void tj_state_bind(TCCState *state, const char *name, const void *address)
{
    tcc.tcc_add_symbol(state, name, address);
}

bool tj_state_relocate(TCCState *state)
{
    return !tcc.tcc_relocate(state);
}

void *tj_state_symbol(TCCState *state, const char *name)
{
    return tcc.tcc_get_symbol(state, name);
}

void tj_state_each(TCCState *state,
                   void (*see)(void *context, const char *name, const void *address), void *context)
{
    tcc.tcc_list_symbols(state, context, see);
}
