/* references.h: what C points to, kept alive by the owners of the memory with the pointers. */
#pragma once

#include "library/objects/instance.h"

/* Calls of C are of two generations: the old, and the young, which have begun since. */
extern Py_ssize_t cwj_calls_running[2];
extern int cwj_calls_young;
extern bool cwj_any_parked;
void cwj_generation_ended(void);

/* What is replaced during a call lives until the call ends: C may have read the pointer, and return it. So a call ends
 * when its results have found their owners. Returns what cwj_call_ends() needs. */
static inline int
cwj_call_begins(void)
{
    cwj_calls_running[cwj_calls_young]++;
    return cwj_calls_young;
}

static inline void
cwj_call_ends(int generation)
{
    if (--cwj_calls_running[generation] == 0 && cwj_any_parked) {
        cwj_generation_ended();
    }
}

/* C may read object through what is at `address`, which is reached through an instance (NULL: nothing that Python
 * knows). which: NULL for a pointer, which has one such object at a time; else a number that tells several apart.
 * Returns 0, or -1. */
int cwj_references_put(cwj_instance *through, const void *address, const void *which,
                       PyObject *object);
/* The same of a pointer at `address`, which is written. */
int cwj_references_point(cwj_instance *through, void *address, const void *pointer,
                         PyObject *object);
/* What cwj_references_put() said of a member: a new reference, or NULL without exception. */
PyObject *cwj_references_get(cwj_instance *through, const void *address);
/* What the struct at `to` has of memory that source owns. */
typedef enum cwj_sharing {
    CWJ_SHARES_NOTHING,
    CWJ_LEADS_THERE, /* perhaps: arrays that are found through it may lie there */
    CWJ_IS_A_COPY /* both may end or move it */
} cwj_sharing;

/* A struct was copied from source's memory at `from`; what it points to is pointed to from
 * `to`, too. by_object: into something that C keeps for the struct at `to`. */
int cwj_references_copy(cwj_instance *through, const char *to, PyObject *source, const char *from,
                        size_t size, bool by_object, cwj_sharing sharing);
/* True when pointers of the instance lead to memory that those of another struct lead to, too:
 * one of them is a copy. */
bool cwj_is_shared(cwj_instance *self);
void cwj_references_clear(cwj_instance *owner);
/* Unless the very object is in the list already. */
int cwj_append_once(PyObject *list, PyObject *object);
/* A new list of all objects. */
PyObject *cwj_references_list(const cwj_instance *self);
