/* identity.h: a table from objects to numbers, by identity.
 *
 * Variables may be equal, compare as arrays do or have no hash, so that a dict is of no
 * use. The keys are borrowed: their owner keeps them alive for as long as the table lives.
 */
#ifndef CWJ_GRAPH_LINK_IDENTITY_H
#define CWJ_GRAPH_LINK_IDENTITY_H

#include "base/api.h"

typedef struct cwj_identity_slot {
    const void *key; /* NULL: free */
    int value;
} cwj_identity_slot;

/* Zero it to begin. */
typedef struct cwj_identity {
    size_t capacity; /* 0, or a power of two */
    size_t count;
    cwj_identity_slot *slots; /* owned */
} cwj_identity;

enum {
    CWJ_ABSENT = -1
};

int cwj_identity_get(const cwj_identity *table, const void *key); /* CWJ_ABSENT: not there */
/* Adds or replaces. Returns 0, or -1 with MemoryError set. */
int cwj_identity_put(cwj_identity *table, const void *key, int value);
void cwj_identity_clear(cwj_identity *table);

#endif
