/* backend.c: loads libtcc at run time and wraps its functions. The only file that includes libtcc.h.
 *
 * It is loaded with local visibility, so that its symbols never mix with others. A state is used once: create
 * it, compile or add, bind, relocate. Nothing is linked (-nostdlib): a unit finds its symbols because they
 * are bound by name before it is relocated. */
#define _GNU_SOURCE 1 /* memmem */
#include "internal.h"

#include "os/anonymous_file.h"
#include "os/paths.h"
#include "os/shared_object.h"
#include "os/system.h"

#include <errno.h>
#include <libtcc.h>
#include <stdlib.h>
#include <string.h>

/* ---- the library ---------------------------------------------------------- */

/* clang-format off */
#define LIBTCC_FUNCTIONS(X) \
    X(tcc_new) X(tcc_delete) X(tcc_set_lib_path) \
    X(tcc_set_error_func) X(tcc_set_options) X(tcc_add_include_path) \
    X(tcc_add_sysinclude_path) X(tcc_define_symbol) X(tcc_undefine_symbol) \
    X(tcc_add_file) X(tcc_compile_string) X(tcc_set_output_type) \
    X(tcc_add_symbol) X(tcc_relocate) X(tcc_get_symbol) \
    X(tcc_list_symbols) X(tcc_output_file) X(tcc_set_realloc)
/* clang-format on */

enum {
    MOST_DIRS = 8
};

/* Set once under the compile lock, then constant. */
static struct {
    void *handle; /* NULL: not open yet. Never closed. */
#define MEMBER(name) __typeof__(name) *name;
    LIBTCC_FUNCTIONS(MEMBER)
#undef MEMBER
    /* Some builds do not export these. tcc_state is set while libtcc compiles a text; then _tcc_error() jumps
     * to libtcc's error exit. */
    void (*_tcc_error)(const char *format, ...);
    TCCState **tcc_state;
    bool lost; /* libtcc was left while it held its lock */
    char *lib_dir; /* owned */
    char *archive; /* owned: libtcc1.a */
    char *dirs[MOST_DIRS]; /* owned: system folders, referenced below */
    const char *snippet_dirs[MOST_DIRS]; /* the small headers come first */
    const char *source_dirs[MOST_DIRS]; /* the system's own headers come first */
} tcc;

static bool load_functions(void *handle)
{
    void *address;
#define LOAD(name)                                    \
    address = tj_shared_object_symbol(handle, #name); \
    if (!address)                                     \
        return false;                                 \
    memcpy(&tcc.name, &address, sizeof address);
    LIBTCC_FUNCTIONS(LOAD)
#undef LOAD
    address = tj_shared_object_symbol(handle, "_tcc_error");
    memcpy(&tcc._tcc_error, &address, sizeof address);
    tcc.tcc_state = tj_shared_object_symbol(handle, "tcc_state");
    /* Before this function was added, tcc_relocate had a second parameter. */
    return tj_shared_object_symbol(handle, "_tcc_setjmp") != NULL;
}

static char *join(const char *dir, const char *rest)
{
    tj_text path = {0};
    tj_text_printf(&path, "%s/%s", dir, rest);
    if (path.failed)
        tj_text_clear(&path);
    return path.data;
}

/* Sets the two search orders of the folders with system headers. */
static bool set_dirs(const char *lib_dir, const char *include_dir)
{
    char *own = tj_copy_string(include_dir), *compiler = join(lib_dir, "include");
    char *whole = join(include_dir, "whole"); /* corrects the system's headers */
    tcc.dirs[0] = own;
    tcc.dirs[1] = compiler;
    tcc.dirs[2] = whole;
    tcc.lib_dir = tj_copy_string(lib_dir);
    tcc.archive = join(lib_dir, "libtcc1.a");
    const char *snippet[] = {
        own, whole, compiler, TJ_LOCAL_HEADERS, TJ_MACHINE_HEADERS, TJ_SYSTEM_HEADERS};
    const char *source[] = {
        whole, TJ_LOCAL_HEADERS, compiler, TJ_MACHINE_HEADERS, TJ_SYSTEM_HEADERS, own};
    for (size_t i = 0, n = 0, m = 0; i < sizeof snippet / sizeof *snippet; i++) {
        if (snippet[i] && tj_path_exists(snippet[i]))
            tcc.snippet_dirs[n++] = snippet[i];
        if (source[i] && tj_path_exists(source[i]))
            tcc.source_dirs[m++] = source[i];
    }
    return own && compiler && whole && tcc.lib_dir && tcc.archive;
}

static void forget_dirs(void)
{
    tj_free(tcc.dirs[0]);
    tj_free(tcc.dirs[1]);
    tj_free(tcc.dirs[2]);
    tj_free(tcc.lib_dir);
    tj_free(tcc.archive);
    memset(&tcc, 0, sizeof tcc);
}

#if defined(__aarch64__)
#define KNOWN "; on arm64 that is known of -x for a floating x in code that never runs"
#else
#define KNOWN ""
#endif
#define ABORTED "libtcc gave up on this text (it called abort()): write it in another way" KNOWN

/* ---- libtcc's memory ------------------------------------------------------ */

/* One use of libtcc. */
struct tj_state {
    TCCState *tcc; /* owned; NULL: none, or lost with its memory */
    tj_region region;
    int file; /* borrowed: a file in memory that libtcc has also opened, or -1 */
    bool compiles; /* libtcc is compiling a text */
    bool allocates; /* libtcc is calling our allocation functions */
    bool erring; /* libtcc's error exit has been called */
    bool left; /* libtcc was left in the middle */
    bool aborted; /* libtcc has called abort() */
};

static size_t compile_memory = TJ_COMPILE_MEMORY;

void tj_set_compile_memory(size_t bytes)
{
    __atomic_store_n(&compile_memory, bytes, __ATOMIC_RELAXED);
}

/* The use of libtcc that runs in this thread. NULL: other code has loaded the same library and calls it. */
static _Thread_local tj_state *current;

/* Ends the compilation by libtcc's own error exit, which closes files and releases its lock. If no text is
 * being compiled, that would exit the process; then this returns. */
static void err(tj_state *state, const char *reason)
{
    if (state->erring || !tcc._tcc_error || !tcc.tcc_state || !*tcc.tcc_state)
        return;
    state->erring = true;
    tcc._tcc_error("%s", reason);
}

static _Noreturn void leave_in_the_middle(tj_state *state)
{
    state->left = true;
    tcc.lost = tcc.tcc_state ? *tcc.tcc_state != NULL : state->compiles; /* it holds its lock */
    tj_leave_big_stack();
}

/* Makes libtcc stop after memory was refused. libtcc cannot stop while it sets up a text, and forgets a file that it
 * has just opened. So it continues with the reserve until it returns or the reserve is used up. Growing blocks are
 * refused first, since a new block can belong to such a file. The last part of the reserve is for the error message. */
static void *stop(tj_state *state, void *memory, size_t size)
{
    enum {
        FOR_MESSAGE = 256 << 10,
        FOR_FILES = 256 << 10
    };
    size_t kept = state->erring ? 0 : FOR_MESSAGE + (memory ? FOR_FILES : 0);
    void *block = tj_region_reserve(&state->region, memory, size, kept);
    if (block)
        return block;
    err(state, "out of memory");
    leave_in_the_middle(state);
}

/* An abort() of the system's allocator is not caught, because its heap is broken. */
void tj_state_on_abort(void)
{
    tj_state *state = current;
    if (!state || state->allocates)
        return;
    state->aborted = true;
    err(state, ABORTED);
    leave_in_the_middle(state);
}

static void *reallocate(void *memory, unsigned long size)
{
    tj_state *state = current;
    if (!state)
        return size ? realloc(memory, size) : (free(memory), NULL);
    void *block = NULL;
    state->allocates = true;
    if (size)
        block = tj_region_resize(&state->region, memory, size);
    else
        tj_region_free(&state->region, memory);
    state->allocates = false;
    return block || !size ? block : stop(state, memory, size);
}

/* ---- opening it ------------------------------------------------------------- */

static tj_status open_locked(const char *libtcc, const char *lib_dir, const char *include_dir,
                             tj_error *error)
{
    if (tcc.handle)
        return TJ_OK;
    if (!set_dirs(lib_dir, include_dir)) {
        forget_dirs();
        return tj_fail_no_memory(error);
    }
    void *handle = tj_shared_object_open(libtcc);
    if (handle && load_functions(handle)) {
        tcc.handle = handle;
        tcc.tcc_set_realloc(reallocate);
        return TJ_OK;
    }
    const char *reason = handle ? "it is too old, or not libtcc" : tj_shared_object_error();
    tj_status status =
        tj_fail(error, TJ_NO_BACKEND, "libtcc cannot be loaded from '%s': %s", libtcc, reason);
    if (handle)
        tj_shared_object_close(handle);
    forget_dirs();
    return status;
}

tj_status tj_backend_open(const char *libtcc, const char *lib_dir, const char *include_dir,
                          tj_error *error)
{
    tj_status status = tj_maths_choose(error);
    if (status)
        return status;
    tj_compile_lock();
    status = open_locked(libtcc, lib_dir, include_dir, error);
    tj_compile_unlock();
    return status;
}

const char *const *tj_backend_include_dirs(void)
{
    tj_compile_lock(); /* the members are constant once set */
    tj_compile_unlock();
    return tcc.snippet_dirs;
}

tj_status tj_backend_check(tj_error *error)
{
    if (!tcc.handle)
        return tj_fail(error, TJ_NO_BACKEND, "libtcc has not been loaded");
    if (tcc.lost)
        return tj_fail(
            error, TJ_NO_BACKEND,
            "libtcc had to be left while it compiled and cannot be used again by this process: "
            "this build of it does not export _tcc_error and tcc_state");
    return TJ_OK;
}

/* ---- a state ----------------------------------------------------------------- */

/* Enters libtcc; call leave() afterwards. */
static TCCState *enter(tj_state *state)
{
    current = state;
    state->erring = false;
    return state->tcc;
}

/* Returns `fine`, or false if libtcc was refused memory, since its result is then invalid. */
static bool leave(tj_state *state, bool fine)
{
    current = NULL;
    return fine && !state->region.refusal && !state->aborted;
}

tj_state *tj_state_new(void)
{
    tj_state *state = tj_alloc_zeroed(1, sizeof *state);
    if (state) {
        state->region.limit = __atomic_load_n(&compile_memory, __ATOMIC_RELAXED);
        state->file = -1;
    }
    return state;
}

/* Returns more bytes than libtcc copies before it compiles: the text once, and the macros twice. */
static size_t size_to_set_up(const tj_environment *environment, size_t length)
{
    size_t size = length;
    for (char **macro = environment->define_macros.items; macro && *macro; macro++)
        size += 4 * (strlen(*macro) + sizeof "#define  1\n");
    for (size_t i = 0; environment->source_texts && i < environment->sources.count; i++)
        size += environment->source_texts[i].given ? environment->source_texts[i].text.length : 0;
    return size;
}

/* Adds the folders of source texts, for #include "...". libtcc itself searches the folder of a source file. */
static void add_folders_of_texts(TCCState *state, const tj_environment *environment)
{
    for (size_t i = 0; environment->source_texts && i < environment->sources.count; i++) {
        const char *path = environment->sources.items[i], *slash = strrchr(path, '/');
        char *folder = NULL;
        if (environment->source_texts[i].given && slash && !strstr(path, TJ_BETWEEN_FOLDERS))
            folder = tj_copy_bytes(path, (size_t)(slash - path) + 1);
        if (folder)
            tcc.tcc_add_include_path(state, folder);
        tj_free(folder);
    }
}

static void set_options(TCCState *state, const tj_environment *environment, bool whole_files,
                        int output, tj_diagnosis *diagnosis)
{
    const char *const *dirs = whole_files ? tcc.source_dirs : tcc.snippet_dirs;
    diagnosis->quiet_dirs = dirs;
    diagnosis->lenient = whole_files;
    tcc.tcc_set_lib_path(state, tcc.lib_dir);
    tcc.tcc_set_error_func(state, diagnosis, tj_diagnose);
    /* These come before the output type, which selects what is linked. -Wall enables the warning about
     * functions that end without return. */
    tcc.tcc_set_options(state, "-nostdlib -nostdinc -std=c11 -Wall "
                               "-Werror=implicit-function-declaration");
    if (output == TCC_OUTPUT_OBJ)
        tcc.tcc_set_options(state, "-gdwarf-4");
    tcc.tcc_set_output_type(state, output);
    if (whole_files)
        add_folders_of_texts(state, environment);
    for (char **dir = environment->include_dirs.items; dir && *dir; dir++)
        tcc.tcc_add_include_path(state, *dir);
    for (; *dirs; dirs++)
        tcc.tcc_add_sysinclude_path(state, *dirs);
    /* libtcc has <stdatomic.h>, which the headers of Python 3.13 need. */
    if (whole_files)
        tcc.tcc_undefine_symbol(state, "__STDC_NO_ATOMICS__");
    for (char **macro = environment->define_macros.items; macro && *macro; macro++)
        tcc.tcc_define_symbol(state, *macro, NULL); /* NAME or NAME=VALUE */
    /* libtcc does not support _Pragma. For optimizing compilers it changes no result. */
    tcc.tcc_define_symbol(state, "_Pragma(x)", "");
}

bool tj_state_set_up(tj_state *state, const tj_environment *environment, const char *text,
                     bool for_file, tj_diagnosis *diagnosis)
{
    size_t length = text ? strlen(text) : 0;
    if (!tj_region_prepare(&state->region, size_to_set_up(environment, length)))
        return false;
    enter(state);
    state->tcc = tcc.tcc_new();
    if (state->tcc)
        set_options(state->tcc, environment, !text, for_file ? TCC_OUTPUT_OBJ : TCC_OUTPUT_MEMORY,
                    diagnosis);
    return leave(state, state->tcc != NULL);
}

bool tj_state_compile(tj_state *state, const char *text)
{
    enter(state);
    state->compiles = true;
    int failed = tcc.tcc_compile_string(state->tcc, text);
    state->compiles = false;
    return leave(state, !failed);
}

/* Adds a file, of the type `kind` whatever its extension is. */
static bool add_file(tj_state *state, const char *path, const char *kind)
{
    enter(state);
    tcc.tcc_set_options(state->tcc, kind);
    state->compiles = true;
    int failed = tcc.tcc_add_file(state->tcc, path);
    state->compiles = false;
    return leave(state, !failed);
}

bool tj_state_add_source(tj_state *state, const char *path)
{
    return add_file(state, path, "-xc");
}

void tj_state_include_builtins(tj_state *state)
{
    tcc.tcc_set_options(enter(state), "-include cwj_builtins.h");
    leave(state, true);
}

bool tj_state_add_object(tj_state *state, int fd)
{
    char path[TJ_FILE_PATH];
    tj_file_path(fd, path);
    state->file = fd;
    bool fine = add_file(state, path, "-xb");
    state->file = -1;
    return fine;
}

void tj_state_add_archive(tj_state *state)
{
    add_file(state, tcc.archive, "-xn");
}

void tj_state_bind(tj_state *state, const char *name, const void *address)
{
    tcc.tcc_add_symbol(enter(state), name, address);
    leave(state, true);
}

bool tj_state_write(tj_state *state, int fd)
{
    char path[TJ_FILE_PATH];
    tj_file_path(fd, path);
    state->file = fd;
    int failed = tcc.tcc_output_file(enter(state), path);
    state->file = -1;
    return leave(state, !failed);
}

bool tj_state_relocate(tj_state *state)
{
    if (state->region.refusal)
        return false;
    enter(state);
    state->region.places_code = true;
    int failed = tcc.tcc_relocate(state->tcc);
    state->region.places_code = false;
    return leave(state, !failed);
}

void *tj_state_symbol(tj_state *state, const char *name)
{
    void *address = tcc.tcc_get_symbol(enter(state), name);
    leave(state, true);
    return address;
}

void tj_state_each(tj_state *state,
                   void (*see)(void *context, const char *name, const void *address), void *context)
{
    tcc.tcc_list_symbols(enter(state), context, see);
    leave(state, true);
}

tj_region *tj_state_region(tj_state *state)
{
    return &state->region;
}

/* ---- the end of a state --------------------------------------------------- */

static void end_libtcc(tj_state *state)
{
    if (state->tcc && !state->left)
        tcc.tcc_delete(enter(state));
    state->tcc = NULL;
    leave(state, true);
}

/* Corrects code that passes a long double argument. On x86-64, libtcc uses an instruction that stores and pops it, and
 * then pops again. The second pop removes the next argument, or a forgotten value, or reads an empty x87 stack, which
 * raises FE_INVALID. No other compiler encodes the first two instructions this way, and they are too long to be a
 * constant in code. */
static void mend_arguments(char *code, size_t size)
{
#if defined(__x86_64__)
    static const char pass[] = "\x48\x81\xec\x10\0\0\0" /* sub $16, %rsp */
                               "\xdb\x7c\x24\0" /* fstpt 0(%rsp) */
                               "\xdd\xd8"; /* fstp %st(0) */
    const size_t length = sizeof pass - 1, end = size > 2 * length ? size - 2 * length : 0;
    char *at = code;
    while ((at = memmem(at, (size_t)(code + end - at), pass, length)) != NULL) {
        at += length;
        bool again = !memcmp(at, pass, length);
        memcpy(at - 2, again ? "\x66\x90" : "\xdd\xc0", 2); /* a nop, or ffree %st(0) */
    }
#else
    (void)code, (void)size;
#endif
}

tj_status tj_state_take_code(tj_state *state, tj_code *code, tj_error *error)
{
    state->region.taken = tj_region_code_at(&state->region, code->memory);
    end_libtcc(state); /* libtcc then removes the execute permission */
    code->size = tj_pages_trim(code->memory, code->size);
    mend_arguments(code->memory, code->size);
    if (tj_pages_make_code(code->memory, code->size))
        return TJ_OK;
    tj_status status = tj_pages_fail(errno, error);
    tj_pages_free(code->memory, code->size);
    *code = (tj_code){0};
    return status;
}

void tj_state_free(tj_state *state)
{
    if (!state)
        return;
    end_libtcc(state);
    tj_region_clear(&state->region);
    if (state->left && state->file >= 0)
        tj_file_close_others(state->file);
    tj_free(state);
}

tj_status tj_state_judge(const tj_state *state, tj_error *error)
{
    if (state->aborted && state->left)
        return tj_fail(error, TJ_COMPILE_FAILED, ABORTED);
    switch (state->region.refusal) {
    case TJ_REFUSED_MEMORY:
        return tj_fail_no_memory(error);
    case TJ_REFUSED_BY_LIMIT:
        return tj_fail(error, TJ_TOO_LARGE, "compiling takes more memory than the limit of %zu MiB",
                       state->region.limit >> 20);
    case TJ_REFUSED_PAGES:
        return tj_pages_fail(state->region.reason, error);
    case TJ_NOT_REFUSED:
        break;
    }
    return TJ_OK;
}
