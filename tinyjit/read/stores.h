/* stores.h: finds values that a text stores into floating point numbers and bools. Internal to tinyjit.
 *
 * If a struct is assigned to a number, libtcc copies the whole struct over the memory after the number; it
 * also takes addresses for numbers. It refuses both if the value is combined with a number, as in `1 ? value
 * : (double)0`, which leaves every number unchanged. */
#pragma once

#include "internal.h"

/* One value: an initialiser, or a value that is assigned, returned or passed. */
typedef struct tj_store {
    size_t start, end; /* offsets of the value in the text */
    size_t name; /* offset of the name of the variable that takes the value */
    size_t name_length;
    const char *type; /* static: "double", "float", "long double", "bool" */
} tj_store;

typedef struct tj_stores {
    tj_store *items; /* owned, in order; later items may lie inside earlier ones */
    size_t count;
    size_t capacity;
} tj_stores;

/* Finds the values in the user's parts of a generated text, as its #line directives mark them. Leaves out values that a
 * macro hides or could change. Returns false if out of memory. The caller must always clear stores. */
bool tj_stores_find(tj_stores *stores, const char *text);
void tj_stores_clear(tj_stores *stores);
/* Appends the text on the same lines. libtcc refuses those of the first `count` values that are not numbers. */
void tj_stores_write(const tj_stores *stores, const char *text, size_t count, tj_text *out);
/* Returns the line of the user's text in which the value begins. */
int tj_store_line(const tj_store *store, const char *text);
/* Rewords libtcc's message about such a value for the user; owned. Returns NULL if the message is about
 * something else, or if out of memory. */
char *tj_store_explain(const tj_store *store, const char *text, const char *message);
