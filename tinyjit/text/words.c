/* words.c: implements growing lists of strings. */
#include "internal.h"

#include <string.h>

static bool make_room(tj_words *words)
{
    return !words->failed &&
           tj_grow(&words->items, words->count, &words->capacity, sizeof *words->items);
}

void tj_words_add(tj_words *words, const char *bytes, size_t length)
{
    char *copy = make_room(words) ? tj_copy_bytes(bytes, length) : NULL;
    if (!copy) {
        words->failed = true;
        return;
    }
    words->items[words->count++] = copy;
    if (make_room(words))
        words->items[words->count] = NULL;
    else
        words->failed = true;
}

void tj_words_add_list(tj_words *words, const char *const *list)
{
    for (; list && *list; list++)
        tj_words_add(words, *list, strlen(*list));
}

void tj_words_clear(tj_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        tj_free(words->items[i]);
    tj_free(words->items);
    *words = (tj_words){0};
}
