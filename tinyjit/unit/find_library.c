/* find_library.c: finding a shared library by the name that -l would take.
 *
 * dlopen("libm.so") fails where that file is a linker script, or only comes
 * with a development package; Python's finder starts a compiler. So this file
 * does what the linker and the loader do: folders, then the loader's own cache
 * (read in place, every offset checked), then the default folders. Among
 * lib<name>.so.<versions> the highest version wins when lib<name>.so itself is
 * not there. Files of another machine's are passed over, scripts are followed.
 */
#define _GNU_SOURCE 1 /* opendir under -std=c11 */
#include "internal.h"

#include <dirent.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const default_dirs[] = {
#if defined(__x86_64__)
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
#endif
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/lib64",
    NULL,
};

/* A search in progress. */
typedef struct search {
    const char *name;   /* "m" */
    const char *const *dirs; /* the caller's */
    int script_depth;   /* how many linker scripts deep */
    bool out_of_memory;
} search;

static char *find(search *state, const char *name);

/* ---- files --------------------------------------------------------------- */

/* The first bytes of a file, at most `most`, owned; NULL: unreadable. */
static char *read_head(search *state, const char *path, size_t most, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *bytes = tj_realloc(NULL, 0, most + 1);
    if (bytes) {
        *length = fread(bytes, 1, most, file);
        bytes[*length] = '\0';
    } else {
        state->out_of_memory = true;
    }
    fclose(file);
    return bytes;
}

static bool is_elf(const char *head, size_t length)
{
    return length >= 20 && !memcmp(head, ELFMAG, SELFMAG);
}

/* A shared object that this process could load? */
static bool is_our_elf(const char *head)
{
    uint16_t type, machine; /* at the same place for both classes */
    memcpy(&type, head + 16, sizeof type);
    memcpy(&machine, head + 18, sizeof machine);
    if (type != ET_DYN || head[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
        return false;
#if defined(__x86_64__)
    return machine == EM_X86_64;
#elif defined(__aarch64__)
    return machine == EM_AARCH64;
#else
    return true;
#endif
}

/* ---- linker scripts ------------------------------------------------------ */

enum {
    MOST_SCRIPT_BYTES = 65536,
    MOST_SCRIPT_DEPTH = 4
};

static bool is_script_delimiter(char c)
{
    return c == '\0' || strchr(" \t\r\n(),;", c) != NULL;
}

/* Overwrites comments with blanks. */
static void blank_comments(char *text)
{
    char *open;
    while ((open = strstr(text, "/*"))) {
        char *close = strstr(open + 2, "*/");
        size_t length = close ? (size_t)(close + 2 - open) : strlen(open);
        memset(open, ' ', length);
    }
}

static char *check_candidate(search *state, const char *path);

/* What one word inside GROUP(...) or INPUT(...) leads to. */
static char *follow_word(search *state, const char *word)
{
    if (!strncmp(word, "-l", 2))
        return find(state, word + 2);
    if (strchr(word, '/'))
        return check_candidate(state, word);
    return NULL; /* AS_NEEDED, or a bare file name, which needs the linker's -L */
}

/* The first shared object that the script's GROUP or INPUT leads to. */
static char *follow_script(search *state, char *text)
{
    blank_comments(text);
    char *at = strstr(text, "GROUP");
    if (!at)
        at = strstr(text, "INPUT");
    if (!at || !(at = strchr(at, '(')))
        return NULL;
    char *found = NULL;
    while (!found && *at) {
        while (*at && is_script_delimiter(*at))
            at++;
        char *end = at;
        while (!is_script_delimiter(*end))
            end++;
        if (end == at)
            break;
        char *word = tj_copy_bytes(at, (size_t)(end - at));
        if (!word)
            state->out_of_memory = true;
        else
            found = follow_word(state, word);
        tj_free(word);
        at = end;
    }
    return found;
}

/* The path itself when it is a shared object, what a script leads to, or NULL. */
static char *check_candidate(search *state, const char *path)
{
    size_t length = 0;
    char *found = NULL;
    char *head = read_head(state, path, MOST_SCRIPT_BYTES, &length);
    if (!head)
        return NULL;
    if (is_elf(head, length)) {
        if (is_our_elf(head) && !(found = tj_copy_string(path)))
            state->out_of_memory = true;
    } else if (state->script_depth < MOST_SCRIPT_DEPTH && !memchr(head, '\0', length)) {
        state->script_depth++;
        found = follow_script(state, head);
        state->script_depth--;
    }
    tj_free(head);
    return found;
}

/* ---- names with versions ------------------------------------------------- */

/* The part behind "lib<name>.so": "" or ".1.2"; NULL: another library. */
static const char *version_of(const char *file, const char *name)
{
    size_t length = strlen(name);
    if (strncmp(file, "lib", 3) != 0 || strncmp(file + 3, name, length) != 0 ||
        strncmp(file + 3 + length, ".so", 3) != 0)
        return NULL;
    const char *version = file + 3 + length + 3;
    if (version[0] == '\0')
        return version;
    if (version[0] != '.' || version[1] == '\0' || version[strspn(version, ".0123456789")] != '\0')
        return NULL;
    return version;
}

/* > 0 when a is to be preferred: no version at all, else the higher one. */
static int compare_versions(const char *a, const char *b)
{
    if (*a == '\0' || *b == '\0')
        return (*a == '\0') - (*b == '\0');
    while (*a == '.' && *b == '.') {
        char *a_end, *b_end;
        unsigned long x = strtoul(a + 1, &a_end, 10), y = strtoul(b + 1, &b_end, 10);
        if (x != y)
            return x > y ? 1 : -1;
        a = a_end;
        b = b_end;
    }
    return (*a != '\0') - (*b != '\0');
}

static char *join(search *state, const char *dir, const char *file)
{
    tj_text path = {0};
    tj_text_printf(&path, "%s/%s", dir, file);
    if (path.failed) {
        state->out_of_memory = true;
        tj_text_clear(&path);
    }
    return path.data;
}

/* Replaces *best when path is usable and preferred. Versions point behind the
 * names in *best and path. Takes over path. */
static void prefer(search *state, char **best, char *path, const char *name)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *version = slash ? version_of(slash + 1, name) : NULL;
    bool better = version != NULL;
    if (better && *best)
        better = compare_versions(version, version_of(strrchr(*best, '/') + 1, name)) > 0;
    char *usable = better ? check_candidate(state, path) : NULL;
    if (usable) {
        tj_free(*best);
        *best = path;
        path = NULL;
    }
    tj_free(usable);
    tj_free(path);
}

/* What the chosen file stands for: itself, or what its script leads to. */
static char *settle(search *state, char *best)
{
    char *found = best ? check_candidate(state, best) : NULL;
    tj_free(best);
    return found;
}

/* ---- folders ------------------------------------------------------------- */

static char *find_in_dir(search *state, const char *dir, const char *name)
{
    tj_text file = {0};
    tj_text_printf(&file, "lib%s.so", name);
    char *plain = file.failed ? NULL : join(state, dir, file.data);
    state->out_of_memory = state->out_of_memory || file.failed;
    tj_text_clear(&file);
    char *best = NULL;
    prefer(state, &best, plain, name);
    DIR *folder = best ? NULL : opendir(dir);
    if (folder) {
        for (struct dirent *entry; (entry = readdir(folder));)
            if (version_of(entry->d_name, name))
                prefer(state, &best, join(state, dir, entry->d_name), name);
        closedir(folder);
    }
    return settle(state, best);
}

static char *find_in_dirs(search *state, const char *const *dirs, const char *name)
{
    char *found = NULL;
    for (; dirs && *dirs && !found; dirs++)
        found = find_in_dir(state, *dirs, name);
    return found;
}

/* LD_LIBRARY_PATH and such: folders between colons or semicolons. */
static char *find_in_path(search *state, const char *path, const char *name)
{
    char *found = NULL;
    while (path && *path && !found) {
        size_t length = strcspn(path, ":;");
        char *dir = length ? tj_copy_bytes(path, length) : NULL;
        if (dir)
            found = find_in_dir(state, dir, name);
        tj_free(dir);
        path += length;
        path += *path != '\0';
    }
    return found;
}

/* ---- the loader's cache -------------------------------------------------- */

/* /etc/ld.so.cache, as glibc writes it. An old table may come first:
 *
 *   old   "ld.so-1.7.0" pad | count | count * { flags key value }
 *   new   "glibc-ld.so.cache1.1" | count | string bytes | ... | entries | strings
 *
 * Offsets of strings count from the start of the new part. */
enum {
    OLD_HEADER = 16,
    OLD_ENTRY = 12,
    NEW_HEADER = 48,
    NEW_ENTRY = 24,
    MOST_CACHE_BYTES = 64 << 20
};

typedef struct cache {
    const char *bytes; /* the new part, NUL-terminated */
    size_t length;
    size_t count;
} cache;

static uint32_t u32_at(const char *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static bool open_cache(const char *bytes, size_t length, cache *table)
{
    size_t start = 0;
    if (length >= OLD_HEADER && !memcmp(bytes, "ld.so-1.7.0", 11)) {
        size_t count = u32_at(bytes + 12);
        if (count > (length - OLD_HEADER) / OLD_ENTRY)
            return false;
        start = (OLD_HEADER + count * OLD_ENTRY + 7) & ~(size_t)7;
    }
    if (start > length || length - start < NEW_HEADER ||
        memcmp(bytes + start, "glibc-ld.so.cache1.1", 20) != 0)
        return false;
    table->bytes = bytes + start;
    table->length = length - start;
    table->count = u32_at(table->bytes + 20);
    return table->count <= (table->length - NEW_HEADER) / NEW_ENTRY;
}

static const char *string_at(const cache *table, uint32_t offset)
{
    return offset < table->length ? table->bytes + offset : "";
}

static char *find_in_table(search *state, const cache *table, const char *name)
{
    char *best = NULL;
    for (size_t i = 0; i < table->count; i++) {
        const char *entry = table->bytes + NEW_HEADER + i * NEW_ENTRY;
        uint64_t hwcap; /* not 0: for certain processors only */
        memcpy(&hwcap, entry + 16, sizeof hwcap);
        const char *path = string_at(table, u32_at(entry + 8));
        if (hwcap || path[0] != '/' || !version_of(string_at(table, u32_at(entry + 4)), name))
            continue;
        char *copy = tj_copy_string(path);
        state->out_of_memory = state->out_of_memory || !copy;
        prefer(state, &best, copy, name);
    }
    return settle(state, best);
}

static char *find_in_cache(search *state, const char *name)
{
    /* A megabyte holds some 10,000 libraries. */
    size_t length = 0, most = (size_t)1 << 20;
    char *bytes = read_head(state, "/etc/ld.so.cache", most, &length);
    while (bytes && length == most && most < MOST_CACHE_BYTES) {
        tj_free(bytes);
        most *= 8;
        bytes = read_head(state, "/etc/ld.so.cache", most, &length);
    }
    cache table;
    char *found = NULL;
    if (bytes && open_cache(bytes, length, &table))
        found = find_in_table(state, &table, name);
    tj_free(bytes);
    return found;
}

/* ---- all of it ----------------------------------------------------------- */

static char *find(search *state, const char *name)
{
    char *found = find_in_dirs(state, state->dirs, name);
    if (!found)
        found = find_in_path(state, getenv("LD_LIBRARY_PATH"), name);
    if (!found)
        found = find_in_cache(state, name);
    if (!found)
        found = find_in_dirs(state, default_dirs, name);
    return found;
}

/* A path, or a file name, which the loader itself can look up. */
static char *find_file(search *state, const char *file)
{
    for (const char *const *dir = state->dirs; !strchr(file, '/') && dir && *dir; dir++) {
        char *path = join(state, *dir, file);
        char *found = path ? check_candidate(state, path) : NULL;
        tj_free(path);
        if (found)
            return found;
    }
    char *copy = tj_copy_string(file);
    state->out_of_memory = state->out_of_memory || !copy;
    return copy;
}

static void report_missing(const search *state, tj_error *error)
{
    tj_text dirs = {0};
    for (const char *const *dir = state->dirs; dir && *dir; dir++)
        tj_text_printf(&dirs, "%s, ", *dir);
    if (getenv("LD_LIBRARY_PATH"))
        tj_text_puts(&dirs, "LD_LIBRARY_PATH, ");
    tj_text_puts(&dirs, "/etc/ld.so.cache");
    for (const char *const *dir = default_dirs; *dir; dir++)
        tj_text_printf(&dirs, ", %s", *dir);
    if (dirs.failed)
        tj_fail_no_memory(error);
    else
        tj_fail(error, TJ_NO_LIBRARY, "library '%s' not found: no usable lib%s.so in %s",
                state->name, state->name, dirs.data);
    tj_text_clear(&dirs);
}

char *tj_library_find(const char *name, const char *const *dirs, tj_error *error)
{
    search state = {.name = name, .dirs = dirs};
    if (name[0] == '\0') {
        tj_fail(error, TJ_NO_LIBRARY, "a library's name is empty");
        return NULL;
    }
    bool is_file = strchr(name, '/') || strstr(name, ".so");
    char *found = is_file ? find_file(&state, name) : find(&state, name);
    if (!found && state.out_of_memory)
        tj_fail_no_memory(error);
    else if (!found)
        report_missing(&state, error);
    return found;
}
