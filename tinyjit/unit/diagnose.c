/* diagnose.c: turns the compiler's output lines into messages.
 *
 * libtcc reports texts such as
 *
 *     In file included from <cwrapjit m header>:3:
 *     /usr/include/zlib.h:17: warning: something
 *     <cwrapjit m.f float64>:2: error: 'x' undeclared
 *     tcc: error: undefined symbol 'y'
 *
 * This file parses them. It turns some warnings into errors, because ignoring them gives wrong numbers. It drops
 * warnings that do not help the user, and adds hints to a few. It runs inside libtcc, so it only appends. */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The parts of one line of the compiler. They point into that line. */
typedef struct parts {
    const char *including; /* "A:3" of the last "In file included from A:3:", or NULL */
    size_t including_length;
    const char *file; /* NULL: none */
    size_t file_length;
    int line;
    bool is_error;
    const char *text;
} parts;

static const char *skip_includes(const char *line, parts *found)
{
    static const char prefix[] = "In file included from ";
    const size_t length = sizeof prefix - 1;
    while (!strncmp(line, prefix, length)) {
        const char *newline = strchr(line, '\n');
        if (!newline)
            break;
        found->including = line + length;
        found->including_length = (size_t)(newline - line) - length;
        if (found->including_length && newline[-1] == ':')
            found->including_length--;
        line = newline + 1;
    }
    return line;
}

int tj_number_before(const char *begin, const char *end, const char **start)
{
    const char *at = end;
    while (at > begin && at[-1] >= '0' && at[-1] <= '9')
        at--;
    *start = at;
    long number = strtol(at, NULL, 10); /* it stops at end, which is not a digit */
    return number > INT_MAX ? INT_MAX : (int)number;
}

/* Fills file and line from "FILE:LINE", which ends at `end`. */
static bool read_place(const char *begin, const char *end, parts *found)
{
    const char *digits;
    int line = tj_number_before(begin, end, &digits);
    if (digits == end || digits == begin || digits[-1] != ':')
        return false;
    found->file = begin;
    found->file_length = (size_t)(digits - 1 - begin);
    found->line = line;
    return true;
}

/* Splits a line into its parts. The kind follows the first "FILE:LINE" (file names may contain colons and "error:"), or
 * "tcc" if there is no place. */
static bool split(const char *line, parts *found)
{
    static const char *const kinds[] = {": error: ", ": warning: "};
    *found = (parts){0};
    line = skip_includes(line, found);
    for (const char *at = strchr(line, ':'); at; at = strchr(at + 1, ':')) {
        for (int k = 0; k < 2; k++) {
            if (strncmp(at, kinds[k], strlen(kinds[k])) != 0)
                continue;
            found->is_error = k == 0;
            found->text = at + strlen(kinds[k]);
            if (read_place(line, at, found) || at == line + 3)
                return true;
        }
    }
    return found->text != NULL; /* a kind, but no place */
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* ---- kinds of messages --------------------------------------------------- */

/* Recognises "pow redefined". Only our <math.h> defines pow as a macro, so a user may define it. */
static bool redefines_function(const char *text)
{
    static const char wording[] = " redefined";
    size_t length = strcspn(text, " ");
    if (strcmp(text + length, wording) != 0)
        return false;
    const char *name;
    for (size_t i = 0; (name = tj_mathematical_name(i)); i++)
        if (!strncmp(name, text, length) && !name[length])
            return true;
    return false;
}

static bool says_nothing(const char *text)
{
    /* The system's compiler itself reports pragmas for it that it does not know. */
    return redefines_function(text) || !strcmp(text, "#pragma GCC ignored") ||
           !strcmp(text, "#pragma clang ignored") ||
           has(text, "static storage ignored for redefinition") ||
           has(text, "implicit-function-declaration");
}

static bool gives_wrong_numbers(const char *text)
{
    return has(text, "function might return no value") || has(text, "read-only location") ||
           has(text, "incompatible pointer type") || has(text, "makes pointer from integer") ||
           has(text, "makes integer from pointer");
}

static bool is_quiet(const tj_diagnosis *diagnosis, const parts *found)
{
    if (!found->file || !diagnosis->quiet_dirs)
        return false;
    for (const char *const *dir = diagnosis->quiet_dirs; *dir; dir++) {
        size_t length = strlen(*dir);
        if (found->file_length > length && !strncmp(found->file, *dir, length) &&
            found->file[length] == '/')
            return true;
    }
    return false;
}

/* ---- texts of messages --------------------------------------------------- */

static bool starts_like_host(const char *name)
{
    return !strncmp(name, "Py", 2) || !strncmp(name, "_Py", 3) || !strncmp(name, "NPY", 3) ||
           !strncmp(name, "NpyIter", 7);
}

/* Returns true for names of CPython and NumPy that the small headers lack. */
static bool is_about_host(const char *text)
{
    static const char *const wordings[] = {"implicit declaration of function '",
                                           "dereferencing incomplete type '"};
    for (size_t i = 0; i < sizeof wordings / sizeof *wordings; i++) {
        const char *at = strstr(text, wordings[i]);
        if (!at)
            continue;
        const char *name = at + strlen(wordings[i]);
        if (!strncmp(name, "struct ", 7))
            name += 7;
        return starts_like_host(name) || !strncmp(name, "tagPyArray", 10) ||
               !strncmp(name, "_object'", 8) || !strncmp(name, "_typeobject'", 12);
    }
    return text[0] == '\'' && has(text, "' undeclared") && starts_like_host(text + 1);
}

/* Restores the usual names of functions that the package's <math.h> renames. */
static void put_usual_names(tj_text *out, const char *text)
{
    static const char prefix[] = "'cwj_";
    const size_t length = sizeof prefix - 1;
    for (const char *at; (at = strstr(text, prefix)); text = at + length) {
        bool renamed = tj_mathematical_function(at + 1, strcspn(at + 1, "'"));
        tj_text_add(out, text, (size_t)(at - text) + (renamed ? 1 : length));
    }
    tj_text_puts(out, text);
}

static void write_text(tj_text *out, const parts *found)
{
    static const char missing_return[] = "function might return no value: 'cwj_";
    if (!strncmp(found->text, missing_return, sizeof missing_return - 1))
        tj_text_puts(out, "this code can end without a return statement");
    else
        put_usual_names(out, found->text);
    if (found->including) {
        tj_text_puts(out, " (in a file included from ");
        tj_text_add(out, found->including, found->including_length);
        tj_text_puts(out, ")");
    }
    if (found->is_error && is_about_host(found->text))
        tj_text_puts(out, " (beyond raising exceptions, the text must include <Python.h> or "
                          "<numpy/arrayobject.h>; the small ones of cwrapjit offer less than the "
                          "real ones, which can be used in a file given as sources=, from "
                          "include_dirs)");
}

/* Handles messages that only relocation produces. */
static bool take_relocation(tj_diagnosis *diagnosis, const parts *found)
{
    static const char prefix[] = "undefined symbol '";
    if (has(found->text, "mprotect failed") || has(found->text, "mmap failed")) {
        diagnosis->denied = errno ? errno : EACCES; /* libtcc has just made the system call */
        return true;
    }
    if (strncmp(found->text, prefix, sizeof prefix - 1) != 0)
        return false;
    const char *start = found->text + sizeof prefix - 1, *end = strrchr(start, '\'');
    char *name = end ? tj_copy_bytes(start, (size_t)(end - start)) : NULL;
    if (!name || !tj_map_set(&diagnosis->undefined, name, NULL, false))
        diagnosis->messages.failed = true;
    tj_free(name);
    return true;
}

void tj_diagnose(void *context, const char *line)
{
    tj_diagnosis *diagnosis = context;
    parts found;
    if (diagnosis->ignore)
        return;
    if (!split(line, &found)) {
        found = (parts){.is_error = true, .text = line}; /* an unknown line is shown unchanged */
    }
    if (!found.file && take_relocation(diagnosis, &found))
        return;
    if (!found.is_error) {
        if (says_nothing(found.text) || is_quiet(diagnosis, &found))
            return;
        /* Snippets have names like "<cwrapjit m.f float64>". All others are files, whose code is accepted as it is,
         * unless it is no C. */
        bool snippet = !diagnosis->lenient && found.file && found.file[0] == '<';
        found.is_error = has(found.text, "'return' with no value") ||
                         has(found.text, "type defaults to int") ||
                         (snippet && gives_wrong_numbers(found.text));
    }
    tj_text text = {0};
    write_text(&text, &found);
    char *file = found.file ? tj_copy_bytes(found.file, found.file_length) : NULL;
    if (text.failed || (found.file && !file))
        diagnosis->messages.failed = true;
    else
        tj_messages_add(&diagnosis->messages, found.is_error, file, found.line, text.data);
    tj_text_clear(&text);
    tj_free(file);
}

void tj_diagnosis_clear(tj_diagnosis *diagnosis)
{
    tj_messages_clear(&diagnosis->messages);
    tj_map_clear(&diagnosis->undefined);
}

/* ---- the result ---------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names every undefined symbol, sorted, because the order of a hash table changes. */
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

tj_status tj_diagnosis_judge(const tj_diagnosis *diagnosis, bool relocated, tj_error *error)
{
    if (diagnosis->messages.failed)
        return tj_fail_no_memory(error);
    if (relocated)
        return TJ_OK;
    if (diagnosis->denied)
        return tj_pages_fail(diagnosis->denied, error);
    if (tj_messages_have_error(&diagnosis->messages))
        return tj_fail(error, TJ_COMPILE_FAILED, "the C text does not compile");
    if (diagnosis->undefined.count)
        return fail_undefined(&diagnosis->undefined, error);
    return tj_fail(error, TJ_COMPILE_FAILED, "libtcc failed and gave no reason");
}
