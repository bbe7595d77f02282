/* messages.c: holds a list of compiler messages and finds their places in the text.
 *
 * libtcc reports a file and a line but no column. This file looks in that line for the token that the message
 * quotes, and marks it. If that would be a guess, it marks the whole line. */
#include "internal.h"
#include "read/lexer.h"

#include <string.h>

/* libtcc truncates file names to this many bytes. */
enum {
    LONGEST_FILE = 1023
};

static void clear_message(tj_message *message)
{
    tj_free(message->file);
    tj_free(message->text);
    tj_free(message->source);
    *message = (tj_message){0};
}

void tj_messages_clear(tj_messages *messages)
{
    if (!messages)
        return;
    for (size_t i = 0; i < messages->count; i++)
        clear_message(&messages->items[i]);
    tj_free(messages->items);
    *messages = (tj_messages){0};
}

void tj_messages_add(tj_messages *messages, bool is_error, const char *file, int line,
                     const char *text)
{
    tj_message message = {.is_error = is_error, .line = line};
    message.file = tj_copy_string(file ? file : "");
    message.text = tj_copy_string(text);
    if (!message.file || !message.text ||
        !tj_grow(&messages->items, messages->count, &messages->capacity, sizeof message)) {
        clear_message(&message);
        messages->failed = true;
        return;
    }
    messages->items[messages->count++] = message;
}

void tj_messages_move(tj_messages *to, tj_messages *from)
{
    to->failed = to->failed || from->failed;
    for (size_t i = 0; i < from->count; i++) {
        if (tj_grow(&to->items, to->count, &to->capacity, sizeof *to->items)) {
            to->items[to->count++] = from->items[i];
        } else {
            clear_message(&from->items[i]);
            to->failed = true;
        }
    }
    from->count = 0;
    tj_messages_clear(from);
}

bool tj_messages_copy(tj_messages *to, const tj_messages *from)
{
    to->failed |= from->failed;
    for (size_t i = 0; i < from->count && !to->failed; i++) {
        const tj_message *one = &from->items[i];
        tj_messages_add(to, one->is_error, one->file, one->line, one->text);
        if (to->failed)
            break;
        tj_message *copy = &to->items[to->count - 1];
        copy->column = one->column;
        copy->end_column = one->end_column;
        copy->source = tj_copy_string(one->source);
        to->failed = one->source && !copy->source;
    }
    return !to->failed;
}

tj_status tj_messages_judge(const tj_messages *messages, size_t before, const char *text,
                            tj_error *error)
{
    if (messages->failed)
        return tj_fail_no_memory(error);
    return messages->count == before ? TJ_OK : tj_fail(error, TJ_COMPILE_FAILED, "%s", text);
}

bool tj_messages_have_error(const tj_messages *messages)
{
    for (size_t i = 0; i < messages->count; i++)
        if (messages->items[i].is_error)
            return true;
    return false;
}

bool tj_messages_have(const tj_messages *messages, const tj_message *one)
{
    for (size_t i = 0; i < messages->count; i++) {
        const tj_message *other = &messages->items[i];
        if (other->is_error == one->is_error && other->line == one->line &&
            other->column == one->column && !strcmp(other->file, one->file) &&
            !strcmp(other->text, one->text))
            return true;
    }
    return false;
}

/* ---- locating ---------------------------------------------------------- */

/* Returns the token that a message is about: the one it "got", else the first that it quotes. */
static tj_stretch quoted_token(const char *text)
{
    tj_stretch none = {NULL, 0};
    if (text[0] == '#') /* #error and #warning may quote anything */
        return none;
    const char *open = strstr(text, "(got '");
    open = open ? open + 5 : strchr(text, '\'');
    if (!open)
        return none;
    const char *close = strchr(open + 1, '\'');
    if (close == open + 1 && close[1] == '\'')
        close++; /* the token is itself a quote */
    if (!close || close == open + 1)
        return none;
    return (tj_stretch){open + 1, (size_t)(close - open - 1)};
}

/* The number of occurrences of a token, and the first and the last place. */
typedef struct hits {
    size_t count, first, last;
} hits;

/* Finds the places in the line where this token begins, or several that are quoted together. */
static hits find_token(tj_stretch line, tj_stretch wanted)
{
    hits found = {0, 0, 0};
    bool word = tj_is_name_byte(wanted.start[0]);
    tj_token token;
    tj_lexer lexer;
    tj_lexer_init(&lexer, line.start, line.length);
    do {
        token = tj_lexer_next(&lexer);
        size_t behind = token.start + wanted.length;
        if (behind > line.length || memcmp(line.start + token.start, wanted.start, wanted.length) ||
            (word && behind < line.length && tj_is_name_byte(line.start[behind])))
            continue;
        found.first = found.count++ ? found.first : token.start;
        found.last = token.start;
    } while (token.kind != TJ_TOKEN_END);
    tj_lexer_clear(&lexer);
    return found;
}

static void set_columns(tj_message *message, tj_stretch line)
{
    tj_stretch token = quoted_token(message->text);
    if (!token.start)
        return;
    hits found = find_token(line, token);
    if (found.count == 0 || (found.count > 1 && !tj_is_name_byte(token.start[0])))
        return;
    bool again = strstr(message->text, "redeclaration") || strstr(message->text, "redefinition");
    size_t at = again ? found.last : found.first;
    message->column = (int)at + 1;
    message->end_column = (int)(at + token.length) + 1;
}

/* Marks the word or the operator at a column that the compiler gave. */
static void set_end_column(tj_message *message, tj_stretch line)
{
    size_t at = (size_t)message->column - 1, end = at;
    if (at >= line.length) {
        message->column = 0;
        return;
    }
    while (end < line.length && tj_is_name_byte(line.start[end]))
        end++;
    message->end_column = (int)(end > at ? end : at + 1) + 1;
}

static void give_line(tj_message *message, tj_stretch line, tj_messages *messages)
{
    message->source = tj_copy_bytes(line.start, line.length);
    if (!message->source)
        messages->failed = true;
    else if (message->column > 0)
        set_end_column(message, line);
    else
        set_columns(message, line);
}

static void locate(tj_message *message, const tj_piece *piece, tj_messages *messages)
{
    if (message->line <= 0 || message->source)
        return;
    tj_stretch line = tj_piece_line(piece, &message->line);
    char *file = tj_copy_string(piece->file);
    if (!file) {
        messages->failed = true;
        return;
    }
    tj_free(message->file); /* it may have been truncated */
    message->file = file;
    give_line(message, line, messages);
    if (message->is_error)
        tj_message_hint(message, piece);
}

void tj_messages_locate(tj_messages *messages, const tj_piece *piece)
{
    for (size_t i = 0; i < messages->count && piece->file && piece->text; i++) {
        const char *file = messages->items[i].file;
        if (!strcmp(file, piece->file) ||
            (strlen(file) == LONGEST_FILE && !strncmp(file, piece->file, LONGEST_FILE)))
            locate(&messages->items[i], piece, messages);
    }
}

/* ---- locating in generated text -------------------------------------------- */

void tj_messages_locate_lines(tj_messages *messages, const char *text, size_t length)
{
    const char *at = text, *end = text + length;
    tj_stretch file = {NULL, 0};
    for (int number = 0; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        tj_stretch line = {at, (size_t)((newline ? newline : end) - at)};
        if (tj_read_line_directive(line, &number, &file))
            number--;
        else
            for (size_t i = 0; i < messages->count && file.start; i++) {
                tj_message *message = &messages->items[i];
                if (message->line == number && !message->source &&
                    tj_is_file_of_line(message->file, file))
                    give_line(message, line, messages);
            }
        at += line.length + 1;
    }
}
