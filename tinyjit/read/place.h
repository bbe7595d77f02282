/* place.h: where in a text something is. Internal to tinyjit. */
#ifndef TJ_READ_PLACE_H
#define TJ_READ_PLACE_H

#include "internal.h"

/* The place of an offset: both 1-based, columns in bytes. */
void tj_text_place(const char *text, size_t length, size_t offset, int *line, int *column);
/* Appends an error about the bytes [start, end) of a piece. */
void tj_messages_add_at(tj_messages *messages, const tj_piece *piece, size_t start, size_t end,
                        const char *text);

#endif
