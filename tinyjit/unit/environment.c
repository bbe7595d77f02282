/* environment.c: holds what the functions of a module share: folders, macros, the code of the module's own C files,
 * libraries.
 *
 * The C files are compiled to one unit when the environment is created, so that their globals exist once per module. */
#include "os/paths.h"
#include "os/shared_object.h"
#include "os/system.h"
#include "read/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- checks of the input ------------------------------------------------- */

static tj_status check_folders(char *const *dirs, tj_error *error)
{
    for (; dirs && *dirs; dirs++)
        if (strpbrk(*dirs, TJ_BETWEEN_FOLDERS "\n"))
            return tj_fail(error, TJ_BAD_SPEC,
                           "include_dirs: the name of folder '%s' holds a colon or a line break, "
                           "which libtcc cannot take",
                           *dirs);
    return TJ_OK;
}

static tj_status check_macro_name(const char *macro, tj_error *error)
{
    size_t length =
        strspn(macro, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    if (length == 0 || (macro[0] >= '0' && macro[0] <= '9') ||
        (macro[length] != '\0' && macro[length] != '='))
        return tj_fail(error, TJ_BAD_SPEC, "define_macros: '%s' is not NAME or NAME=VALUE", macro);
    if (strchr(macro, '\n'))
        return tj_fail(error, TJ_BAD_SPEC, "define_macros: the value of %.*s holds a line break",
                       (int)(length < 1000 ? length : 1000), macro);
    return TJ_OK;
}

/* Checks macros like other text of the user. */
static tj_status check_macros(const tj_environment *environment, tj_messages *messages,
                              tj_error *error)
{
    tj_status status = TJ_OK;
    for (char **macro = environment->define_macros.items; macro && *macro && !status; macro++)
        status = check_macro_name(*macro, error);
    if (status)
        return status;
    tj_scanner_free(tj_scanner_new(environment, false, NULL, messages));
    return tj_messages_judge(messages, 0, "define_macros: see the messages", error);
}

/* ---- libraries ----------------------------------------------------------- */

static void let_leave(void *library, bool leave)
{
    const void *first, *behind;
    if (tj_shared_object_code(library, &first, &behind))
        tj_code_let_leave(first, behind, leave);
}

static tj_status open_libraries(tj_environment *environment, const char *const *files,
                                bool interruptible, tj_error *error)
{
    size_t capacity = 0;
    environment->interruptible = interruptible;
    for (; files && *files; files++) {
        if (!tj_grow(&environment->libraries, environment->nlibraries, &capacity,
                     sizeof *environment->libraries))
            return tj_fail_no_memory(error);
        void *handle = tj_shared_object_open(*files);
        if (!handle)
            return tj_fail(error, TJ_NO_LIBRARY, "library '%s' cannot be loaded: %s", *files,
                           tj_shared_object_error());
        if (interruptible)
            let_leave(handle, true);
        environment->libraries[environment->nlibraries++] = handle;
        tj_live_add(TJ_LIVE_SHARED_OBJECTS, 1);
    }
    return TJ_OK;
}

/* ---- the module's C files ------------------------------------------------ */

tj_status tj_read_file(const char *path, tj_text *text, tj_error *error)
{
    if (tj_path_is_endless(path))
        return tj_fail(error, TJ_NO_LIBRARY, "source file '%s' is no regular file", path);
    FILE *file = fopen(path, "rb");
    if (!file)
        return tj_fail(error, TJ_NO_LIBRARY, "source file '%s' cannot be opened", path);
    char part[8192];
    size_t length;
    tj_text_puts(text, ""); /* so that data is not NULL for an empty file */
    while (!text->failed && text->length <= TJ_MAX_TEXT &&
           (length = fread(part, 1, sizeof part, file)) > 0)
        tj_text_add(text, part, length);
    bool unreadable = ferror(file) != 0; /* for example a folder */
    fclose(file);
    if (text->failed)
        return tj_fail_no_memory(error);
    if (unreadable)
        return tj_fail(error, TJ_NO_LIBRARY, "source file '%s' cannot be read", path);
    return TJ_OK;
}

/* Stores the text of a source file: `given`, or the contents of the file if that is absent. */
static tj_status take_source(tj_source_text *source, const char *path, const tj_piece *given,
                             tj_error *error)
{
    tj_status status = TJ_OK;
    tj_text_line(&source->text, 1, path);
    source->start = source->text.length;
    source->given = given && given->text;
    if (source->given)
        tj_text_add(&source->text, given->text, given->length);
    else
        status = tj_read_file(path, &source->text, error);
    return source->text.failed ? tj_fail_no_memory(error) : status;
}

/* Returns the i-th source, after it was read. */
static tj_piece piece_of(const tj_environment *environment, size_t i)
{
    const tj_source_text *source = &environment->source_texts[i];
    return (tj_piece){environment->sources.items[i], source->text.data + source->start,
                      source->text.length - source->start};
}

/* Stores absolute paths of the C files, in case the process changes its folder. */
static bool keep_paths(tj_environment *environment)
{
    for (size_t i = 0; i < environment->sources.count; i++) {
        const char *given = environment->sources.items[i];
        if (environment->source_texts[i].given)
            continue;
        char *real = tj_path_real(given);
        const char *path = real ? real : given;
        tj_words_add(&environment->source_paths, path, strlen(path));
        free(real);
    }
    return !environment->source_paths.failed;
}

const char *const *tj_environment_sources(const tj_environment *environment)
{
    static const char *const none[] = {NULL};
    char **paths = environment->source_paths.items;
    return paths ? (const char *const *)paths : none;
}

const char *tj_environment_source(const tj_environment *environment, size_t i, size_t *length)
{
    if (!environment->source_texts || i >= environment->sources.count)
        return NULL;
    tj_piece piece = piece_of(environment, i);
    *length = piece.length;
    return piece.text;
}

/* Reads, checks and compiles the sources; there is at least one. */
static tj_status add_sources(tj_environment *environment, const tj_piece *given,
                             tj_messages *messages, tj_error *error)
{
    tj_status status = TJ_OK;
    size_t count = environment->sources.count;
    tj_source_text *texts = tj_alloc_zeroed(count, sizeof *texts);
    tj_names *names = tj_names_new();
    environment->source_texts = texts;
    if (!texts || !names) {
        status = tj_fail_no_memory(error);
        goto done;
    }
    for (size_t i = 0; i < count && !status; i++) {
        status =
            take_source(&texts[i], environment->sources.items[i], given ? &given[i] : NULL, error);
        if (status)
            break;
        tj_piece piece = piece_of(environment, i);
        status = tj_scan_check(environment, &piece, false, messages);
        if (!status && !tj_names_collect(names, piece.text, piece.length))
            status = TJ_NO_MEMORY;
        if (status)
            tj_fail(error, status, "source file '%s': see the messages", piece.file);
    }
    if (!status)
        status =
            tj_compile_sources(environment, names, &environment->sources_unit, messages, error);
    for (size_t i = 0; i < count && !status; i++) {
        tj_piece piece = piece_of(environment, i);
        status = tj_check_values(environment, &piece, messages, error);
    }
    for (size_t i = 0; i < count && texts[i].text.data; i++) {
        tj_piece piece = piece_of(environment, i);
        tj_messages_locate(messages, &piece);
    }
    if (!status && !keep_paths(environment))
        status = tj_fail_no_memory(error);
done:
    tj_names_free(names);
    return status;
}

/* ---- a text instead of files --------------------------------------------- */

static tj_status add_text(tj_environment *environment, const tj_piece *piece, tj_messages *messages,
                          tj_error *error)
{
    tj_names *names = tj_names_new();
    tj_text whole = {0};
    tj_status status = tj_scan_check(environment, piece, false, messages);
    tj_text_line(&whole, 1, piece->file);
    tj_text_add(&whole, piece->text, piece->length);
    tj_text_puts(&whole, "\n");
    if (status) {
        tj_fail(error, status, "the C text cannot be compiled");
        tj_text_clear(&whole);
    } else if (!names || whole.failed || !tj_names_collect(names, piece->text, piece->length)) {
        status = tj_fail_no_memory(error);
        tj_text_clear(&whole);
    } else {
        environment->text = whole.data;
        status =
            tj_compile(environment, whole.data, names, &environment->sources_unit, messages, error);
    }
    tj_messages_locate(messages, piece);
    tj_names_free(names);
    return status;
}

const char *tj_environment_text(const tj_environment *environment)
{
    return environment->text;
}

bool tj_environment_uses_libm(const tj_environment *environment)
{
    return environment->libm;
}

bool tj_environment_has_state(const tj_environment *environment)
{
    return environment->sources_unit && tj_unit_has_state(environment->sources_unit);
}

bool tj_environment_may_keep(const tj_environment *environment)
{
    return environment->nlibraries > 0 || tj_environment_has_state(environment);
}

/* ---- making one ---------------------------------------------------------- */

static tj_status copy_options(tj_environment *environment, const tj_environment_options *options,
                              tj_error *error)
{
    tj_words_add_list(&environment->include_dirs, options->include_dirs);
    tj_words_add_list(&environment->define_macros, options->host_macros);
    tj_words_add_list(&environment->define_macros, options->define_macros);
    tj_words_add_list(&environment->sources, options->sources);
    if (environment->include_dirs.failed || environment->define_macros.failed ||
        environment->sources.failed)
        return tj_fail_no_memory(error);
    environment->libm = options->libm;
    environment->host_prefixes = options->host_prefixes;
    environment->host_data = options->host_data;
    environment->offer = tj_offer_share(options->symbols, options->nsymbols);
    return environment->offer ? TJ_OK : tj_fail_no_memory(error);
}

static tj_status fill(tj_environment *environment, const tj_environment_options *options,
                      tj_messages *messages, tj_error *error)
{
    tj_status status = copy_options(environment, options, error);
    if (!status)
        status = check_folders(environment->include_dirs.items, error);
    if (!status)
        status = check_macros(environment, messages, error);
    if (!status)
        status = open_libraries(environment, options->libraries, options->interruptible, error);
    environment->own_mathematics = tj_environment_has_mathematics(environment);
    if (!status && environment->sources.count)
        status = add_sources(environment, options->source_texts, messages, error);
    if (!status && options->text)
        status = add_text(environment, options->text, messages, error);
    environment->own_mathematics = tj_environment_has_mathematics(environment);
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
    tj_live_add(TJ_LIVE_ENVIRONMENTS, 1);
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
    tj_lines_free(environment->lines);
    tj_unit_free(environment->sources_unit);
    for (size_t i = 0; i < environment->nlibraries; i++) {
        if (environment->interruptible)
            let_leave(environment->libraries[i], false);
        tj_shared_object_close(environment->libraries[i]);
    }
    tj_live_add(TJ_LIVE_SHARED_OBJECTS, -(ptrdiff_t)environment->nlibraries);
    tj_free(environment->libraries);
    for (size_t i = 0; environment->source_texts && i < environment->sources.count; i++)
        tj_text_clear(&environment->source_texts[i].text);
    tj_free(environment->source_texts);
    tj_words_clear(&environment->include_dirs);
    tj_words_clear(&environment->define_macros);
    tj_words_clear(&environment->sources);
    tj_words_clear(&environment->source_paths);
    tj_free(environment->text);
    tj_offer_free(environment->offer);
    tj_free(environment);
    tj_live_add(TJ_LIVE_ENVIRONMENTS, -1);
}

/* ---- the lines of the sources -------------------------------------------- */

void tj_environment_lines(tj_environment *environment, const char *shown)
{
    tj_error error;
    if (environment->lines_known || !environment->sources_unit)
        return;
    const tj_map *exports = &environment->sources_unit->symbols;
    tj_anchor *anchors = tj_alloc_zeroed(exports->count + 1, sizeof *anchors);
    if (!anchors)
        return;
    for (size_t i = 0, n = 0; i < exports->capacity; i++)
        if (exports->items[i].name)
            anchors[n++] = (tj_anchor){exports->items[i].name, exports->items[i].address};
    tj_error_init(&error);
    tj_lines_new(environment, environment->text, shown, anchors, &environment->lines, &error);
    environment->lines_known = error.status != TJ_NO_MEMORY;
    tj_error_clear(&error);
    tj_free(anchors);
}
