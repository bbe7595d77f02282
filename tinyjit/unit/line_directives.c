/* line_directives.c: finds lines of texts by the numbers of their #line directives. */
#include "internal.h"

#include <string.h>

static bool is_blank(tj_stretch line)
{
    for (size_t i = 0; i < line.length; i++)
        if (!strchr(" \t\r\f\v", line.start[i]))
            return false;
    return true;
}

bool tj_read_line_directive(tj_stretch line, int *number, tj_stretch *file)
{
    static const char word[] = "#line ";
    const size_t length = sizeof word - 1;
    const char *end = line.start + line.length;
    const char *at = line.start + length;
    if (line.length <= length || memcmp(line.start, word, length) != 0)
        return false;
    int value = 0;
    for (; at < end && *at >= '0' && *at <= '9' && value < 100000000; at++)
        value = 10 * value + (*at - '0');
    const char *quote = memchr(at, '"', (size_t)(end - at));
    if (!quote)
        return false;
    *number = value;
    *file = (tj_stretch){quote, (size_t)(end - quote)};
    return true;
}

bool tj_is_file_of_line(const char *name, tj_stretch file)
{
    size_t length = strlen(name);
    if (file.length == length + 2 && !memcmp(file.start + 1, name, length))
        return true;
    tj_text quoted = {0};
    tj_text_quote(&quoted, name, length);
    bool same = !quoted.failed && quoted.length == file.length &&
                !memcmp(quoted.data, file.start, file.length);
    tj_text_clear(&quoted);
    return same;
}

tj_stretch tj_piece_line(const tj_piece *piece, int *number)
{
    const char *at = piece->text, *end = piece->text + piece->length;
    tj_stretch last = {at, 0}, found = {NULL, 0}, file;
    int last_number = 1, told;
    bool directed = false;
    for (int n = 1; at <= end && (!found.start || !directed); n++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        tj_stretch line = {at, (size_t)((newline ? newline : end) - at)};
        if (tj_read_line_directive(line, &told, &file) && tj_is_file_of_line(piece->file, file)) {
            found = told <= *number ? (tj_stretch){NULL, 0} : found;
            directed = true;
            n = told - 1;
        } else if (!found.start && n == *number && (newline || !is_blank(line))) {
            found = line;
        } else if (!is_blank(line)) {
            last = line;
            last_number = n;
        }
        if (!newline)
            break;
        at = newline + 1;
    }
    *number = found.start ? *number : last_number;
    return found.start ? found : last;
}
