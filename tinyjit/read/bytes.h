/* bytes.h: reads the text of a small language byte by byte. Internal to tinyjit. */
#pragma once

#include <string.h>

#include "tinyjit.h"

typedef struct tj_bytes {
    const char *text;
    size_t length;
    size_t at;
    tj_error *error;
} tj_bytes;

static inline bool tj_is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static inline bool tj_is_name_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           tj_is_digit(byte) || (unsigned char)byte >= 0x80;
}

static inline void tj_skip_blanks(tj_bytes *bytes)
{
    while (bytes->at < bytes->length && memchr(" \t\r\n", bytes->text[bytes->at], 4))
        bytes->at++;
}

static inline bool tj_is_next(tj_bytes *bytes, const char *word)
{
    size_t length = strlen(word);
    tj_skip_blanks(bytes);
    return bytes->length - bytes->at >= length && !memcmp(bytes->text + bytes->at, word, length);
}

/* Skips `word` and returns true if it comes next. */
static inline bool tj_take(tj_bytes *bytes, const char *word)
{
    bool taken = tj_is_next(bytes, word);
    if (taken)
        bytes->at += strlen(word);
    return taken;
}

/* Returns the length of the name or number that comes next; 0 if there is none. */
static inline size_t tj_word_ahead(tj_bytes *bytes)
{
    tj_skip_blanks(bytes);
    size_t end = bytes->at;
    while (end < bytes->length && tj_is_name_byte(bytes->text[end]))
        end++;
    return end - bytes->at;
}

/* Sets the position of a failure to `at` and returns status. */
static inline tj_status tj_place_at(tj_bytes *bytes, size_t at, tj_status status)
{
    if (bytes->error && status == TJ_BAD_SIGNATURE)
        bytes->error->position = (ptrdiff_t)at;
    return status;
}

static inline tj_status tj_fail_at(tj_bytes *bytes, size_t at, const char *reason)
{
    return tj_place_at(bytes, at, tj_fail(bytes->error, TJ_BAD_SIGNATURE, "%s", reason));
}

static inline tj_status tj_fail_here(tj_bytes *bytes, const char *reason)
{
    return tj_fail_at(bytes, bytes->at, reason);
}
