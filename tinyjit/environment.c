/* environment.c: what the functions of a module share: folders, macros, the
 * code of the module's own C files, libraries.
 *
 * The C files are one unit, compiled when the environment is made, so that
 * their globals exist once per module. A name that a function leaves undefined
 * is looked for in this order: symbols of the embedding program, the C files,
 * the libraries in the order given, what the process has loaded.
 */
#define _GNU_SOURCE 1 /* dladdr1 */
#include "internal.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/* ---- lists of strings ---------------------------------------------------- */

static void free_list(char **list)
{
    for (char **string = list; string && *string; string++)
        tj_free(*string);
    tj_free(list);
}

/* Copies a NULL-terminated list. NULL stays NULL. Returns false without memory. */
static bool copy_list(char ***copy, const char *const *list)
{
    if (!list)
        return true;
    size_t count = 0;
    while (list[count])
        count++;
    *copy = tj_alloc_zeroed(count + 1, sizeof **copy);
    for (size_t i = 0; *copy && i < count; i++)
        if (!((*copy)[i] = tj_copy_string(list[i])))
            return false;
    return *copy != NULL;
}

/* ---- checking what was given --------------------------------------------- */

static tj_status check_folders(char **dirs, tj_error *error)
{
    for (; dirs && *dirs; dirs++)
        if (strpbrk(*dirs, ":\n"))
            return tj_fail(error, TJ_BAD_SPEC,
                           "include_dirs: the name of folder '%s' holds a colon or a line break, "
                           "which libtcc cannot take",
                           *dirs);
    return TJ_OK;
}

/* Bytes of the identifier at the start of text. */
static size_t identifier_length(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return text[0] >= '0' && text[0] <= '9' ? 0 : length;
}

/* A macro is user text, too: what it expands to passes the scanner. */
static tj_status check_macro(const char *macro, tj_messages *messages, tj_error *error)
{
    size_t length = identifier_length(macro);
    if (length == 0 || (macro[length] != '\0' && macro[length] != '='))
        return tj_fail(error, TJ_BAD_SPEC, "define_macros: '%s' is not NAME or NAME=VALUE", macro);
    if (strchr(macro, '\n'))
        return tj_fail(error, TJ_BAD_SPEC, "define_macros: the value of %.*s holds a line break",
                       (int)(length < 1000 ? length : 1000), macro);
    tj_text line = {0};
    const char *value = macro[length] ? macro + length + 1 : "1";
    tj_text_puts(&line, "#define ");
    tj_text_add(&line, macro, length);
    tj_text_printf(&line, " %s\n", value);
    tj_status status = TJ_NO_MEMORY;
    if (!line.failed)
        status = tj_scan_check(&(tj_piece){"<define_macros>", line.data, line.length}, messages);
    tj_text_clear(&line);
    if (status == TJ_NO_MEMORY)
        return tj_fail_no_memory(error);
    return status ? tj_fail(error, status, "define_macros: see the messages") : TJ_OK;
}

static tj_status check_macros(char **macros, tj_messages *messages, tj_error *error)
{
    tj_status status = TJ_OK;
    for (; macros && *macros && !status; macros++)
        status = check_macro(*macros, messages, error);
    return status;
}

/* ---- libraries ----------------------------------------------------------- */

static tj_status open_library(tj_environment *environment, const char *name,
                              const char *const *dirs, tj_error *error)
{
    char *path = tj_library_find(name, dirs, error);
    if (!path)
        return error ? error->status : TJ_NO_LIBRARY;
    tj_status status = TJ_OK;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle) {
        environment->libraries[environment->nlibraries++] = handle;
    } else {
        const char *reason = dlerror();
        status = tj_fail(error, TJ_NO_LIBRARY, "library '%s' cannot be loaded: %s", name,
                         reason ? reason : path);
    }
    tj_free(path);
    return status;
}

static tj_status open_libraries(tj_environment *environment, const char *const *names,
                                const char *const *dirs, tj_error *error)
{
    size_t count = 0;
    while (names && names[count])
        count++;
    environment->libraries = tj_alloc_zeroed(count, sizeof *environment->libraries);
    if (!environment->libraries)
        return tj_fail_no_memory(error);
    tj_status status = TJ_OK;
    for (size_t i = 0; i < count && !status; i++)
        status = open_library(environment, names[i], dirs, error);
    return status;
}

/* ---- the module's C files ------------------------------------------------ */

/* Reads a whole file into text. */
static tj_status read_file(const char *path, tj_text *text, tj_error *error)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return tj_fail(error, TJ_NO_LIBRARY, "source file '%s' cannot be opened", path);
    char part[8192];
    size_t length;
    tj_text_puts(text, ""); /* data is not NULL, even for an empty file */
    while (!text->failed && text->length <= TJ_MAX_TEXT &&
           (length = fread(part, 1, sizeof part, file)) > 0)
        tj_text_add(text, part, length);
    bool unreadable = ferror(file) != 0; /* a folder, for one */
    fclose(file);
    if (text->failed)
        return tj_fail_no_memory(error);
    if (unreadable)
        return tj_fail(error, TJ_NO_LIBRARY, "source file '%s' cannot be read", path);
    return TJ_OK;
}

static tj_status scan_source(tj_text *text, tj_piece *piece, const char *path, tj_names *names,
                             tj_messages *messages, tj_error *error)
{
    tj_status status = read_file(path, text, error);
    if (status)
        return status;
    *piece = (tj_piece){path, text->data, text->length};
    status = tj_scan_check(piece, messages);
    if (!status && !tj_names_collect(names, text->data, text->length))
        status = TJ_NO_MEMORY;
    return status ? tj_fail(error, status, "source file '%s': see the messages", path) : TJ_OK;
}

/* Reads, checks and compiles sources, which is not empty. */
static tj_status add_sources(tj_environment *environment, tj_messages *messages, tj_error *error)
{
    tj_status status = TJ_OK;
    size_t count = 0;
    while (environment->sources[count])
        count++;
    tj_text *texts = tj_alloc_zeroed(count, sizeof *texts);
    tj_piece *pieces = tj_alloc_zeroed(count, sizeof *pieces);
    tj_names *names = tj_names_new();
    if (!texts || !pieces || !names) {
        status = tj_fail_no_memory(error);
        goto done;
    }
    for (size_t i = 0; i < count && !status; i++)
        status =
            scan_source(&texts[i], &pieces[i], environment->sources[i], names, messages, error);
    if (!status)
        status =
            tj_compile_sources(environment, names, &environment->sources_unit, messages, error);
    tj_messages_locate(messages, pieces, count);
done:
    for (size_t i = 0; texts && i < count; i++)
        tj_text_clear(&texts[i]);
    tj_free(texts);
    tj_free(pieces);
    tj_names_free(names);
    return status;
}

/* ---- making one ---------------------------------------------------------- */

static tj_status copy_options(tj_environment *environment, const tj_environment_options *options,
                              tj_error *error)
{
    if (!copy_list(&environment->include_dirs, options->include_dirs) ||
        !copy_list(&environment->define_macros, options->define_macros) ||
        !copy_list(&environment->sources, options->sources))
        return tj_fail_no_memory(error);
    environment->host_prefixes = options->host_prefixes;
    for (size_t i = 0; i < options->nsymbols; i++) {
        const tj_symbol *symbol = &options->symbols[i];
        if (!tj_map_set(&environment->symbols, symbol->name, symbol->address, symbol->neutral))
            return tj_fail_no_memory(error);
    }
    return TJ_OK;
}

static tj_status fill(tj_environment *environment, const tj_environment_options *options,
                      tj_messages *messages, tj_error *error)
{
    tj_status status = copy_options(environment, options, error);
    if (!status)
        status = check_folders(environment->include_dirs, error);
    if (!status)
        status = check_macros(environment->define_macros, messages, error);
    if (!status)
        status = open_libraries(environment, options->libraries, options->library_dirs, error);
    if (!status && environment->sources && environment->sources[0])
        status = add_sources(environment, messages, error);
    return status;
}

tj_status tj_environment_new(const tj_environment_options *options, tj_environment **environment,
                             tj_messages *messages, tj_error *error)
{
    *environment = NULL;
    tj_environment *made = tj_alloc_zeroed(1, sizeof *made);
    if (!made)
        return tj_fail_no_memory(error);
    made->shares = 1;
    tj_status status = fill(made, options, messages, error);
    if (status)
        tj_environment_free(made);
    else
        *environment = made;
    return status;
}

tj_environment *tj_environment_ref(tj_environment *environment)
{
    if (environment)
        __atomic_add_fetch(&environment->shares, 1, __ATOMIC_RELAXED);
    return environment;
}

void tj_environment_free(tj_environment *environment)
{
    if (!environment || __atomic_sub_fetch(&environment->shares, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    tj_unit_free(environment->sources_unit);
    for (size_t i = 0; i < environment->nlibraries; i++)
        dlclose(environment->libraries[i]);
    tj_free(environment->libraries);
    free_list(environment->include_dirs);
    free_list(environment->define_macros);
    free_list(environment->sources);
    tj_map_clear(&environment->symbols);
    tj_map_clear(&environment->exports);
    tj_free(environment);
}

/* ---- looking up ---------------------------------------------------------- */

/* Is the address in that library itself, not in one that it needs? */
static bool is_own(void *library, const void *address)
{
    struct link_map *wanted = NULL, *found = NULL;
    Dl_info info;
    return !dlinfo(library, RTLD_DI_LINKMAP, &wanted) &&
           dladdr1(address, &info, (void **)&found, RTLD_DL_LINKMAP) && found == wanted;
}

/* What the libraries mean by name. What they only need from others, the process' own
 * comes before, as the loader has it: with another malloc preloaded, free() is that one's. */
static const void *library_symbol(const tj_environment *environment, const char *name)
{
    const void *needed = NULL;
    for (size_t i = 0; i < environment->nlibraries; i++) {
        const void *address = dlsym(environment->libraries[i], name);
        if (address && is_own(environment->libraries[i], address))
            return address;
        if (!needed)
            needed = address;
    }
    const void *global = needed ? tj_process_symbol(name, false) : NULL;
    return global ? global : needed;
}

bool tj_environment_find(const tj_environment *environment, const char *name, bool again,
                         tj_symbol *found)
{
    const tj_map_item *item = tj_map_get(&environment->symbols, name);
    if (!item)
        item = tj_map_get(&environment->exports, name);
    if (item) {
        *found = (tj_symbol){item->name, item->address, item->neutral};
        return true;
    }
    const void *address = library_symbol(environment, name);
    if (!address)
        address = tj_process_symbol(name, again);
    *found = (tj_symbol){name, address, false};
    return address != NULL;
}

const void *tj_environment_symbol(tj_environment *environment, const char *name)
{
    tj_compile_lock(); /* guards what is known of the process */
    const tj_map_item *item = tj_map_get(&environment->exports, name);
    const void *address = item ? item->address : library_symbol(environment, name);
    if (!address)
        address = tj_process_symbol(name, true);
    tj_compile_unlock();
    return address;
}

bool tj_environment_compiled(const tj_environment *environment, const char *name)
{
    return tj_map_get(&environment->exports, name) != NULL; /* constant after new */
}

bool tj_environment_is_host(const tj_environment *environment, const tj_symbol *symbol)
{
    if (symbol->neutral || !environment->host_prefixes)
        return false;
    for (const char *const *prefix = environment->host_prefixes; *prefix; prefix++)
        if (!strncmp(symbol->name, *prefix, strlen(*prefix)))
            return true;
    return false;
}

static bool is_library_address(const tj_environment *environment, const tj_symbol *symbol)
{
    for (size_t i = 0; i < environment->nlibraries; i++)
        if (dlsym(environment->libraries[i], symbol->name) == symbol->address)
            return tj_process_symbol(symbol->name, false) != symbol->address; /* libm's, say */
    return false;
}

bool tj_environment_speaks(const tj_environment *environment, const tj_symbol *symbol)
{
    if (tj_map_get(&environment->symbols, symbol->name))
        return strncmp(symbol->name, "cwj_contiguous", strlen("cwj_contiguous")) != 0;
    if (tj_map_get(&environment->exports, symbol->name))
        return false; /* the sources' unit has been judged */
    for (const char *const *name = tj_remembering_names; *name; name++)
        if (!strcmp(symbol->name, *name))
            return true;
    return is_library_address(environment, symbol);
}
