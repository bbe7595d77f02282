/* objections.c: turns the output of the system's compiler into messages.
 *
 * gcc and clang write lines such as
 *
 *     <cwrapjit m.f float64>:2:16: error: incompatible types when ...
 *     <cwrapjit m.f generated>:12:31: warning: 'w' is used uninitialized [-Wuninitialized]
 *     <cwrapjit m.f float64>:3:5: note: in expansion of macro 'item__x'
 *
 * among other lines without a place, which are ignored. A place inside a macro of the generated text moves to the use
 * of the macro in the user's text. The source lines are in the compiled text, found by its #line directives. */
#include "internal.h"

#include "os/anonymous_file.h"

#include <string.h>

enum {
    MOST_READ = 1 << 20, /* bytes */
    MOST_MESSAGES = 1000
};

typedef enum kind {
    ERROR,
    WARNING,
    NOTE
} kind;

/* One parsed line. The file name ends at `behind_file`. */
typedef struct objection {
    kind kind;
    const char *file, *behind_file;
    int line, column;
    const char *text, *end;
} objection;

/* Parses "FILE:LINE:COLUMN" or "FILE:LINE", which ends at `end`. */
static bool read_place(const char *begin, const char *end, objection *found)
{
    const char *digits;
    int number = tj_number_before(begin, end, &digits);
    if (digits == end || digits - 1 <= begin || digits[-1] != ':')
        return false;
    const char *behind = digits - 1;
    int line = tj_number_before(begin, behind, &digits);
    bool both = digits < behind && digits - 1 > begin && digits[-1] == ':';
    found->line = both ? line : number;
    found->column = both ? number : 0;
    found->file = begin;
    found->behind_file = both ? digits - 1 : behind;
    return true;
}

/* Parses a line. Returns false if it has no place or is not a message. */
static bool take_apart(const char *line, const char *end, objection *found)
{
    static const struct {
        const char *words;
        kind kind;
    } kinds[] = {{": error: ", ERROR},
                 {": fatal error: ", ERROR},
                 {": warning: ", WARNING},
                 {": note: ", NOTE}};
    for (const char *at = line; (at = memchr(at, ':', (size_t)(end - at))); at++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            size_t length = strlen(kinds[k].words);
            if ((size_t)(end - at) <= length || memcmp(at, kinds[k].words, length) != 0 ||
                !read_place(line, at, found))
                continue;
            found->kind = kinds[k].kind;
            found->text = at + length;
            found->end = end;
            return true;
        }
    return false;
}

/* ---- kinds of text ---------------------------------------------------------------- */

/* Returns true for generated text, the prelude before it, and names that compilers use for their own text. */
static bool is_generated(const char *file)
{
    const char *tail = strrchr(file, ' ');
    return file[0] == '<' && (strncmp(file, "<cwrapjit ", 10) != 0 ||
                              !strcmp(tail, " generated>") || !strcmp(file, "<cwrapjit prelude>"));
}

/* Moves the message before this note, if it is about a macro of the generated text, to the use of the macro. */
static void move_to_use(tj_messages *messages, const objection *note)
{
    tj_message *last = messages->count ? &messages->items[messages->count - 1] : NULL;
    if (!last || !is_generated(last->file))
        return;
    char *file = tj_copy_bytes(note->file, (size_t)(note->behind_file - note->file));
    if (!file) {
        messages->failed = true;
    } else if (is_generated(file)) {
        tj_free(file);
    } else {
        tj_free(last->file);
        last->file = file;
        last->line = note->line;
        last->column = note->column;
    }
}

static void add(tj_messages *messages, const objection *found)
{
    char *file = tj_copy_bytes(found->file, (size_t)(found->behind_file - found->file));
    char *text = tj_copy_bytes(found->text, (size_t)(found->end - found->text));
    size_t before = messages->count;
    if (!file || !text)
        messages->failed = true;
    else
        tj_messages_add(messages, found->kind == ERROR, file, found->line, text);
    if (messages->count > before)
        messages->items[before].column = found->column;
    tj_free(file);
    tj_free(text);
}

/* Moves the wanted messages of `all`, without duplicates. */
static void choose(tj_messages *all, tj_job_kind job, tj_messages *messages)
{
    for (size_t i = 0; i < all->count; i++) {
        tj_message *one = &all->items[i];
        bool checks = job == TJ_JOB_SYNTAX || job == TJ_JOB_CHECK;
        /* a function of a header that the unit does not use */
        bool unused = !one->is_error && strstr(one->text, "defined but not used");
        bool foreign = checks && (is_generated(one->file) || unused);
        if (foreign || (!one->is_error && job != TJ_JOB_CHECK) || tj_messages_have(messages, one))
            continue;
        tj_messages_add(messages, one->is_error, one->file, one->line, one->text);
        if (!messages->failed)
            messages->items[messages->count - 1].column = one->column;
    }
    messages->failed |= all->failed;
}

/* ---- reading ---------------------------------------------------------------------- */

void tj_said_read(int fd, tj_text *said)
{
    char part[4096];
    size_t length;
    while (said->length < MOST_READ && !said->failed &&
           (length = tj_file_read(fd, said->length, part, sizeof part)) > 0)
        tj_text_add(said, part, length);
}

/* Adds source lines to messages about files. */
static void locate_in_files(tj_messages *messages)
{
    for (size_t i = 0; i < messages->count; i++) {
        const char *path = messages->items[i].file;
        tj_text text = {0};
        if (messages->items[i].source || path[0] == '<')
            continue;
        if (tj_read_file(path, &text, NULL) == TJ_OK)
            tj_messages_locate(messages, &(tj_piece){path, text.data, text.length});
        tj_text_clear(&text);
    }
}

void tj_objections_read(int fd, const tj_text *compiled, tj_job_kind job, tj_messages *messages)
{
    tj_text said = {0};
    tj_messages all = {0};
    tj_text_puts(&said, "");
    tj_said_read(fd, &said);
    const char *line = said.data, *end = said.failed ? NULL : line + said.length;
    while (end && line < end && all.count < MOST_MESSAGES) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *behind = newline ? newline : end;
        objection found;
        if (take_apart(line, behind, &found)) {
            if (found.kind != NOTE)
                add(&all, &found);
            else if (!strncmp(found.text, "in expansion of macro ", 22))
                move_to_use(&all, &found);
        }
        line = behind + 1;
    }
    choose(&all, job, messages);
    messages->failed |= said.failed;
    tj_messages_clear(&all);
    tj_text_clear(&said);
    if (!compiled->failed && compiled->data)
        tj_messages_locate_lines(messages, compiled->data, compiled->length);
    locate_in_files(messages);
}
