/* pipework.c: runs a compiler as a process that leaves no file on disk.
 *
 * It reads the text from a file without a name, as standard input. It writes its object to another such file,
 * and its messages to a third.
 *
 * The embedding program may ignore SIGCHLD or wait for any child. The exit status is then unknown, and the
 * object shows whether the compiler succeeded. */
#include "internal.h"

#include "os/anonymous_file.h"

#include <errno.h>
#include <string.h>

enum {
    MOST_SAID = 16 << 20,    /* bytes of standard error */
    MOST_OBJECT = 256 << 20, /* bytes of an object */
    MOST_TOLD = 2000,        /* bytes of a failure's text */
    MOST_LINES = 6
};

/* ---- the files -------------------------------------------------------------- */

tj_status tj_pipework_open(tj_pipework *files, const char *text, size_t length, tj_error *error)
{
    *files = (tj_pipework){-1, -1, -1, 3};
    files->text = tj_file_new("cwrapjit-text");
    files->object = tj_file_new("cwrapjit-object");
    files->said = tj_file_new("cwrapjit-messages");
    if (files->text >= 0 && files->object >= 0 && files->said >= 0 &&
        tj_file_write(files->text, text, length))
        return TJ_OK;
    tj_status status =
        tj_fail(error, TJ_NO_BACKEND, "no file in memory for the compiler: %s", strerror(errno));
    tj_pipework_close(files);
    return status;
}

void tj_pipework_close(tj_pipework *files)
{
    tj_file_close(files->text);
    tj_file_close(files->object);
    tj_file_close(files->said);
    *files = (tj_pipework){-1, -1, -1, 3};
}

/* ---- waiting ---------------------------------------------------------------- */

/* Returns the reason why the process must be ended now, or NULL. */
static const char *find_reason(const tj_pipework *files, double waited, double seconds,
                               bool (*given_up)(void *context), void *context)
{
    if (given_up(context))
        return "it was given up";
    if (waited > seconds)
        return "it took too long";
    if (tj_file_size(files->said) > MOST_SAID || tj_file_size(files->object) > MOST_OBJECT)
        return "it writes too much";
    return NULL;
}

/* ---- the compiler's output -------------------------------------------------- */

/* Returns the character that a message shows for the bytes at `text`: gcc's typographic quotes become plain
 * ones, other bytes that are not ASCII become '?'. *used is the number of bytes read. */
static char show(const char *text, size_t length, size_t *used)
{
    unsigned char byte = (unsigned char)text[0];
    bool quote =
        length > 2 && (!memcmp(text, "\xe2\x80\x98", 3) || !memcmp(text, "\xe2\x80\x99", 3));
    *used = quote ? 3 : 1;
    if (quote)
        return '\'';
    return byte == '\t' ? ' ' : byte < 0x20 || byte >= 0x7f ? '?' : text[0];
}

/* Appends the first lines of the output. */
static void add_said(int fd, tj_text *text)
{
    char part[MOST_TOLD];
    size_t end = tj_file_read(fd, 0, part, sizeof part), used = 1;
    int lines = 0;
    for (size_t i = 0; i < end && lines < MOST_LINES; i += used) {
        bool line_break = part[i] == '\n';
        char shown = line_break ? '\n' : show(part + i, end - i, &used);
        used = line_break ? 1 : used;
        lines += line_break;
        if (lines < MOST_LINES)
            tj_text_add(text, &shown, 1);
    }
    while (text->length && text->data[text->length - 1] == '\n')
        text->data[--text->length] = '\0';
}

static tj_status fail(char *const *words, const tj_pipework *files, const char *what, int number,
                      tj_error *error)
{
    tj_text said = {0};
    add_said(files->said, &said);
    tj_status status = TJ_NO_MEMORY;
    if (said.failed)
        tj_fail_no_memory(error);
    else
        status = tj_fail(error, TJ_COMPILE_FAILED, "%s: %s%.0d%s%s", words[0], what, number,
                         said.length ? ": " : "", said.length ? said.data : "");
    tj_text_clear(&said);
    return status;
}

tj_status tj_process_run(char *const *words, char *const *variables, const tj_pipework *files,
                         double seconds, bool (*given_up)(void *context), void *context,
                         tj_error *error)
{
    tj_process process;
    int failed = tj_process_start(&process, words, variables, files);
    if (failed)
        return tj_fail(error, TJ_NO_BACKEND, "%s cannot be started: %s", words[0],
                       strerror(failed));
    const char *reason = NULL;
    tj_process_state state;
    while ((state = tj_process_look(&process)) == TJ_PROCESS_RUNS) {
        double waited = tj_process_age(&process);
        reason = find_reason(files, waited, seconds, given_up, context);
        if (reason)
            break;
        double nap = waited * 0.1; /* a tenth: at least half a millisecond, at most 20 */
        tj_process_nap(&process, nap < 0.0005 ? 0.0005 : nap > 0.02 ? 0.02 : nap);
    }
    tj_process_end end = tj_process_finish(&process, state);
    if (reason)
        return fail(words, files, reason, 0, error);
    if (end.signal)
        return fail(words, files, "it was ended by signal ", end.signal, error);
    if (end.status)
        return fail(words, files, "it failed with status ", end.status, error);
    return TJ_OK;
}
