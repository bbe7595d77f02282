/* place.c: converts offsets in a text to lines and columns (tokens.h). */
#include <limits.h>
#include <string.h>

#include "read/tokens.h"

void tj_text_place(const char *text, size_t length, size_t offset, int *line, int *column)
{
    size_t start = 0;
    size_t lines = 1;
    if (offset > length)
        offset = length;
    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n') {
            lines++;
            start = i + 1;
        }
    }
    *line = lines > INT_MAX ? INT_MAX : (int)lines;
    *column = offset - start >= INT_MAX ? INT_MAX : (int)(offset - start + 1);
}

/* Returns the number that the directive #line NUMBER "FILE" gives to the next line. Returns 0 if the line is
 * not such a directive, or names another file. */
static int line_said(const char *line, const char *end, const char *file)
{
    static const char word[] = "#line ";
    size_t length = strlen(file), number = 0;
    if ((size_t)(end - line) < sizeof word + length || memcmp(line, word, sizeof word - 1))
        return 0;
    for (line += sizeof word - 1; *line >= '0' && *line <= '9' && number < INT_MAX / 16; line++)
        number = 10 * number + (size_t)(*line - '0');
    bool ours = (size_t)(end - line) == length + 3 && !memcmp(line, " \"", 2) &&
                !memcmp(line + 2, file, length) && line[length + 2] == '"';
    return ours ? (int)number : 0;
}

/* Returns the line as messages count it. Text before a directive that names the piece's own file is generated. */
static int line_told(const tj_piece *piece, size_t start, int line)
{
    const char *at = piece->text, *stop;
    int told = line;
    for (int passed = 1; passed < line; passed++, at = stop + 1) {
        stop = memchr(at, '\n', start - (size_t)(at - piece->text));
        int said = line_said(at, stop, piece->file);
        told = said ? said + line - passed - 1 : told;
    }
    return told;
}

void tj_messages_add_at(tj_messages *messages, const tj_piece *piece, size_t start, size_t end,
                        const char *format, ...)
{
    int line, column;
    size_t count = messages->count;
    tj_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    tj_text_vprintf(&text, format, arguments);
    va_end(arguments);
    tj_text_place(piece->text, piece->length, start, &line, &column);
    if (text.failed)
        messages->failed = true;
    else
        tj_messages_add(messages, true, piece->file, line_told(piece, start, line), text.data);
    tj_text_clear(&text);
    if (messages->failed || messages->count == count)
        return;
    tj_message *message = &messages->items[count];
    size_t first = start - (size_t)(column - 1), last = start;
    while (last < piece->length && piece->text[last] != '\n')
        last++;
    message->source = tj_copy_bytes(piece->text + first, last - first);
    messages->failed |= !message->source;
    message->column = column;
    message->end_column = end > start && end <= last ? column + (int)(end - start) : column + 1;
}
