/* stores.h: where a text gives a value to what is a floating point number or a truth.
 * Internal to tinyjit.
 *
 * libtcc copies a struct that is assigned to one of these whole, over whatever lies
 * behind it, and takes addresses for numbers. It refuses both where such a value meets a
 * number in `1 ? value : (double)0`, which leaves every number as it is.
 */
#pragma once

#include "internal.h"

/* One value: an initialiser, what is assigned, returned or passed. */
typedef struct tj_store {
    size_t start, end; /* of the value, offsets in the text */
    size_t name;       /* where the text names what takes it */
    size_t name_length;
    const char *type; /* static: "double", "float", "long double", "bool" */
} tj_store;

typedef struct tj_stores {
    tj_store *items; /* owned, in order; the later may lie inside the earlier */
    size_t count;
    size_t capacity;
} tj_stores;

/* Finds the values in a generated text, in what its #line directives say is the user's.
 * Those that a macro hides, or that it could change, are left out. Returns false without
 * memory; to be cleared in any case. */
bool tj_stores_find(tj_stores *stores, const char *text);
void tj_stores_clear(tj_stores *stores);
/* Appends the text on the same lines, with the first `count` values written so that libtcc
 * refuses them if they are no numbers. */
void tj_stores_write(const tj_stores *stores, const char *text, size_t count, tj_text *out);
/* The line of the user's in which the value begins. */
int tj_store_line(const tj_store *store, const char *text);
/* Rewords what libtcc says of such a value for the user; owned. NULL where its message is
 * about something else, and without memory. */
char *tj_store_explain(const tj_store *store, const char *text, const char *message);
