/* text.c: implements a growing string, for generated C and for messages.
 *
 * After an allocation has failed, appends do nothing, so that code that writes a hundred pieces checks
 * `failed` only once. */
#include "internal.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

void tj_text_clear(tj_text *text)
{
    if (!text)
        return;
    tj_free(text->data);
    *text = (tj_text){0};
}

char *tj_text_take(tj_text *text)
{
    char *data = text->data, *fitting = NULL;
    if (data)
        fitting = tj_realloc(data, text->capacity, text->length + 1);
    *text = (tj_text){0};
    return fitting ? fitting : data;
}

/* Makes room for `more` bytes and a NUL. */
static bool reserve(tj_text *text, size_t more)
{
    if (text->failed)
        return false;
    if (more > SIZE_MAX / 4 || text->length > SIZE_MAX / 4) {
        text->failed = true;
        return false;
    }
    size_t needed = text->length + more + 1;
    if (needed <= text->capacity)
        return true;
    size_t capacity = text->capacity ? text->capacity * 2 : 64;
    if (capacity < needed)
        capacity = needed;
    char *data = tj_realloc(text->data, text->capacity, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void tj_text_add(tj_text *text, const char *bytes, size_t length)
{
    if (!reserve(text, length))
        return;
    if (length)
        memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void tj_text_puts(tj_text *text, const char *string)
{
    tj_text_add(text, string, strlen(string));
}

/* Appends formatted text. Usually the available room is enough, so that one pass is sufficient. */
void tj_text_vprintf(tj_text *text, const char *format, va_list arguments)
{
    va_list again;
    size_t room = text->failed ? 0 : text->capacity - text->length;
    va_copy(again, arguments);
    int length = vsnprintf(room ? text->data + text->length : NULL, room, format, arguments);
    if (length < 0)
        text->failed = true;
    else if ((size_t)length < room)
        text->length += (size_t)length;
    else if (reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    } else if (room) {
        text->data[text->length] = '\0'; /* removes what the first pass wrote after the end */
    }
    va_end(again);
}

void tj_text_printf(tj_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tj_text_vprintf(text, format, arguments);
    va_end(arguments);
}

static void quote_byte(tj_text *text, char byte)
{
    static const char special[] = "\n\t\"\\?", escapes[] = "nt\"\\?"; /* ?: no trigraphs */
    const char *found = byte ? strchr(special, byte) : NULL;
    if (found)
        tj_text_printf(text, "\\%c", escapes[found - special]);
    else if ((unsigned char)byte < 0x20 || byte == 0x7f)
        tj_text_printf(text, "\\%03o", (unsigned char)byte); /* three digits need no terminator */
    else
        tj_text_add(text, &byte, 1);
}

void tj_text_quote(tj_text *text, const char *bytes, size_t length)
{
    tj_text_puts(text, "\"");
    for (size_t i = 0; i < length; i++)
        quote_byte(text, bytes[i]);
    tj_text_puts(text, "\"");
}

void tj_text_line(tj_text *text, size_t number, const char *file)
{
    file = file ? file : "";
    tj_text_printf(text, "#line %zu ", number);
    tj_text_quote(text, file, strlen(file));
    tj_text_puts(text, "\n");
}
