/* references.h: makes the owners of pointers keep alive what C points to. */
#pragma once

#include "library/objects/instance.h"

/* Running calls of C are in two generations: the old ones, and the young ones, which began later. */
extern Py_ssize_t cwj_calls_running[2];
extern int cwj_calls_young;
extern bool cwj_any_parked;
void cwj_generation_ended(void);

/* An object that is replaced during a call lives until the call ends, because C may have read its pointer and may
 * return it. A call therefore ends when its results have found their owners. Returns the argument of
 * cwj_call_ends(). */
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

/* Keeps `object` for C, which reads it through memory at `address`, reached through an instance. object NULL: nothing
 * that Python knows. which: NULL for a pointer, which has one object at a time; else a number that tells several
 * objects apart. Returns 0, or -1 with an exception set. */
int cwj_references_put(cwj_instance *through, const void *address, const void *which,
                       PyObject *object);
/* Has a struct that C filled keep what its pointers lead to, among all objects that were replaced while calls run: C may
 * have copied the old pointers. Returns 0, or -1 with an exception set. */
int cwj_references_put_parked(cwj_instance *made);
/* Does the same as cwj_references_put() for a pointer at `address`, and writes the pointer. */
int cwj_references_point(cwj_instance *through, void *address, const void *pointer,
                         PyObject *object);
/* Returns the object kept for the pointer at `address`: a new reference, or NULL, with an exception only on failure. */
PyObject *cwj_references_get(cwj_instance *through, const void *address);
/* How the struct at `to` shares memory that source owns. */
typedef enum cwj_sharing {
    CWJ_SHARES_NOTHING,
    CWJ_LEADS_THERE, /* its pointers may lead there, so arrays found through it may lie there */
    CWJ_IS_A_COPY /* both may free or move the memory */
} cwj_sharing;

/* Also keeps for the struct at `to` what the one at `from`, in source's memory, points to: for each pointer in a
 * copy or, by_object, for the struct as a whole, like objects that a method keeps. Returns 0, or -1 with an
 * exception set. */
int cwj_references_copy(cwj_instance *through, const char *to, PyObject *source, const char *from,
                        size_t size, bool by_object, cwj_sharing sharing);
/* True if the instance is a copy of another struct or has a copy, so that pointers of both lead to the same memory. */
bool cwj_is_shared(cwj_instance *self);
void cwj_references_clear(cwj_instance *owner);
/* Appends an object to a list unless it is there already. Returns 0, or -1 with an exception set. */
int cwj_append_once(PyObject *list, PyObject *object);
/* The getter of `referenced_objects`: a new list of all objects that an instance keeps. */
PyObject *cwj_references_list(PyObject *op, void *closure);
