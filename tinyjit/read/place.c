/* place.c: where in a text something is (tokens.h). */
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
        tj_messages_add(messages, true, piece->file, line, text.data);
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
