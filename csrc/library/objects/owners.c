/* owners.c: finds the instance that owns the memory at an address.
 *
 * An instance with memory of its own, or with a C object that it will free, is an owner. All owners are in one tree by
 * address, so that a pointer that C stored anywhere is recognised when it comes back. Other instances lie in an owner,
 * or in C's memory.
 */
#include "library/objects/owners.h"

#include "base/live.h"

#include <search.h>

/* ---- the tree: guarded by the GIL ---------------------------------------------------- */

static void *tree;
/* The latest owner with memory of its own is not in the tree yet: most end before there is another. */
static cwj_instance *newest;

/* Ranges that share a byte are equal. */
static int
compare(const void *one, const void *other)
{
    const cwj_range *a = one, *b = other;
    return a->high <= b->low ? -1 : b->high <= a->low ? 1 : 0;
}

/* Returns false if there is another owner already, or no memory. */
static bool
put(cwj_instance *self)
{
    cwj_range **found = tsearch(&self->range, &tree, compare);
    return found != NULL && *found == &self->range;
}

static void
put_newest(void)
{
    if (newest != NULL && !put(newest)) {
        newest->listed = false;
        cwj_live_counts[CWJ_LIVE_OWNERS]--;
    }
    newest = NULL;
}

void
cwj_owners_add(cwj_instance *self)
{
    size_t size = self->layout->size > 0 ? self->layout->size : 1;
    self->range = (cwj_range){self->pointer, (char *)self->pointer + size};
    if (self->listed) {
        return;
    }
    put_newest();
    newest = self->memory != NULL ? self : NULL;
    self->listed = newest != NULL || put(self);
    cwj_live_counts[CWJ_LIVE_OWNERS] += self->listed;
}

void
cwj_owners_remove(cwj_instance *self)
{
    if (self->listed) {
        if (self != newest) {
            tdelete(&self->range, &tree, compare);
        }
        newest = self == newest ? NULL : newest;
        cwj_live_counts[CWJ_LIVE_OWNERS]--;
        self->listed = false;
    }
}

void
cwj_owners_move(cwj_instance *from, cwj_instance *to)
{
    put_newest();
    cwj_range **found = tfind(&from->range, &tree, compare);
    if (found != NULL) {
        to->range = from->range;
        *found = &to->range;
        from->listed = false;
        to->listed = true;
    }
}

cwj_instance *
cwj_owner_at(const void *address)
{
    char *low = (char *)(uintptr_t)address;
    cwj_range wanted = {low, low + 1}, *last = newest == NULL ? NULL : &newest->range;
    cwj_range **found = last != NULL && compare(&wanted, last) == 0
                            ? &last
                            : (cwj_range **)tfind(&wanted, &tree, compare);
    char *owner = found == NULL ? NULL : (char *)*found - offsetof(cwj_instance, range);
    /* An instance that is being deallocated owns nothing any more. */
    return owner == NULL || Py_REFCNT(owner) == 0 ? NULL : (cwj_instance *)owner;
}

/* ---- along the bases ------------------------------------------------------------------- */

PyObject *
cwj_anchor_of(PyObject *instance)
{
    PyObject *base = ((cwj_instance *)instance)->base;
    return base != NULL && cwj_is_instance(base) ? base : instance;
}

bool
cwj_is_alive(cwj_instance *self)
{
    const cwj_instance *root = self->root;
    Py_ssize_t count;
    PyObject *const *bases = cwj_bases_of(root, &count);
    bool alive = self->pointer != NULL && root->stage != CWJ_INSTANCE_CLOSED;
    for (Py_ssize_t k = 0; k < count && alive; k++) {
        alive = !cwj_is_instance(bases[k]) ||
                ((cwj_instance *)bases[k])->root->stage != CWJ_INSTANCE_CLOSED;
    }
    return alive;
}

PyObject *
cwj_owners_of(cwj_instance *self, const void *address)
{
    cwj_instance *owner = cwj_owner_at(address), *root = self->root;
    Py_ssize_t count;
    PyObject *const *bases = cwj_bases_of(root, &count);
    PyObject *all = PyList_New(0);
    int status = all == NULL ? -1 : 0;
    for (Py_ssize_t k = 0; owner == NULL && k < count && status == 0; k++) {
        if (cwj_is_instance(bases[k])) {
            status = PyList_Append(all, (PyObject *)((cwj_instance *)bases[k])->root);
        }
    }
    if (status == 0 && PyList_GET_SIZE(all) == 0) {
        status = PyList_Append(all, (PyObject *)(owner != NULL ? owner : root));
    }
    if (status < 0) {
        Py_CLEAR(all);
    }
    return all;
}
