/* references.c: makes the owners of pointers keep alive what C points to.
 *
 * An owner's references are a dict: (address, which) -> (object, its owners, copy). The address is that of a pointer
 * member, with `which` 0, so that another assignment replaces the entry; or that of a struct, with a number for each
 * object that a method keeps. copy is True if the struct is a copy of the object, None if only C knows whether its
 * pointers lead to the object's memory.
 *
 * Copying a struct copies the entries of its memory. If another owner ends the original, the copy has that owner as an
 * entry, because both point to the same memory.
 *
 * The cycle collector must not empty the dict or an entry, whose owners are counted, before the owner has ended. It
 * therefore does not see the dict, and the owners are a tuple.
 */
#include "library/objects/references.h"

#include "library/objects/owners.h"
#include "library/objects/pointer.h"

/* ---- replaced objects ------------------------------------------------------------------- */

Py_ssize_t cwj_calls_running[2];
int cwj_calls_young;
bool cwj_any_parked;
static PyObject *parked[2]; /* by generation: an owned list, or NULL */

static bool
is_copy(PyObject *entry)
{
    return PyTuple_GET_ITEM(entry, 2) == Py_True;
}

static void
count_holders(PyObject *entry, Py_ssize_t change)
{
    PyObject *owners = PyTuple_GET_ITEM(entry, 1);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(owners); k++) {
        cwj_instance *owner = (cwj_instance *)PyTuple_GET_ITEM(owners, k);
        owner->holders += change;
        owner->copied += is_copy(entry) ? change : 0;
    }
}

/* Steals a list of entries, or NULL. May run Python code. */
static void
free_parked(PyObject *entries)
{
    for (Py_ssize_t k = 0; entries != NULL && k < PyList_GET_SIZE(entries); k++) {
        count_holders(PyList_GET_ITEM(entries, k), -1);
    }
    Py_XDECREF(entries);
}

/* Calls of the generation in which an object was parked, and older calls, may read it. When the old calls have ended,
 * frees what was parked while they were young; the young calls then become the old ones. */
void
cwj_generation_ended(void)
{
    while (cwj_any_parked && cwj_calls_running[!cwj_calls_young] == 0) {
        int old = !cwj_calls_young;
        PyObject *unread = parked[old];
        parked[old] = NULL;
        cwj_any_parked = parked[!old] != NULL;
        cwj_calls_young = old;
        free_parked(unread);
    }
}

/* An owner that is parked cannot be closed. */
static int
park(PyObject *entry)
{
    PyObject *made =
        parked[cwj_calls_young] == NULL ? PyList_New(0) : NULL; /* may run Python code */
    PyObject **list = &parked[cwj_calls_young];
    if (*list == NULL) {
        *list = made;
        made = NULL;
    }
    Py_XDECREF(made);
    if (*list == NULL || PyList_Append(*list, entry) < 0) {
        return -1;
    }
    count_holders(entry, 1);
    return 0;
}

/* Steals an entry, and frees it when no call in another thread can still have its pointer. */
static void
drop(PyObject *entry)
{
    if (cwj_calls_running[0] + cwj_calls_running[1] == 0) {
        Py_DECREF(entry);
        return;
    }
    if (park(entry) < 0) {
        PyErr_Clear(); /* no memory: never freeing the entry is better than too early */
        return;
    }
    Py_DECREF(entry);
    cwj_any_parked = true;
    cwj_generation_ended();
}

/* ---- entries ------------------------------------------------------------------------------- */

static PyObject *
make_key(const void *address, const void *which)
{
    return Py_BuildValue("(NN)", PyLong_FromVoidPtr((void *)(uintptr_t)address),
                         PyLong_FromVoidPtr((void *)(uintptr_t)which));
}

static PyObject *
make_entry(PyObject *object, PyObject *copy)
{
    bool is_instance = cwj_is_instance(object);
    cwj_instance *instance = (cwj_instance *)object;
    PyObject *list = is_instance ? cwj_owners_of(instance, instance->pointer) : PyList_New(0);
    PyObject *owners = list == NULL ? NULL : PyList_AsTuple(list);
    Py_XDECREF(list);
    return Py_BuildValue("(ONO)", object, owners, copy);
}

/* Removes an entry and returns it: a new reference, or NULL without an exception. */
static PyObject *
take_out(cwj_instance *owner, PyObject *key)
{
    PyObject *entry =
        owner->references == NULL ? NULL : PyDict_GetItemWithError(owner->references, key);
    Py_XINCREF(entry);
    if (entry != NULL) {
        count_holders(entry, -1);
        PyDict_DelItem(owner->references, key);
    }
    PyErr_Clear(); /* the key is two ints: no Python code runs, nothing fails */
    return entry;
}

/* Sets or, if entry is NULL, removes an entry. Returns 0, or -1 with an exception set. */
static int
put_entry(cwj_instance *owner, PyObject *key, PyObject *entry)
{
    if (entry != NULL && owner->references == NULL && (owner->references = PyDict_New()) == NULL) {
        return -1;
    }
    PyObject *old = take_out(owner, key);
    int status = entry == NULL ? 0 : PyDict_SetItem(owner->references, key, entry);
    if (entry != NULL && status == 0) {
        count_holders(entry, 1);
        PyObject_GC_UnTrack(owner->references);
    }
    if (old != NULL) {
        drop(old);
    }
    return status;
}

/* An owner needs no reference to itself, which would also prevent closing it. */
static bool
is_only_owner(const cwj_instance *owner, PyObject *entry)
{
    PyObject *owners = PyTuple_GET_ITEM(entry, 1);
    return PyTuple_GET_SIZE(owners) == 1 && PyTuple_GET_ITEM(owners, 0) == (PyObject *)owner;
}

int
cwj_references_put(cwj_instance *through, const void *address, const void *which, PyObject *object)
{
    PyObject *owners = cwj_owners_of(through, address), *key = make_key(address, which);
    PyObject *entry = object == NULL ? NULL : make_entry(object, Py_False);
    int status = owners == NULL || key == NULL || (object != NULL && entry == NULL) ? -1 : 0;
    for (Py_ssize_t k = 0; status == 0 && k < PyList_GET_SIZE(owners); k++) {
        cwj_instance *owner = (cwj_instance *)PyList_GET_ITEM(owners, k);
        bool itself = entry != NULL && is_only_owner(owner, entry);
        status = put_entry(owner, key, itself ? NULL : entry);
    }
    CWJ_RELEASE(entry, key, owners);
    return status;
}

/* Has a new struct keep the object, once. Returns 0, or -1 with an exception set. */
static int
keep_once(cwj_instance *made, PyObject *object)
{
    PyObject *key = make_key(made->pointer, object);
    bool is_new =
        made->references == NULL || key == NULL || !PyDict_Contains(made->references, key);
    Py_XDECREF(key);
    return is_new ? cwj_references_put(made, made->pointer, object, object) : 0;
}

/* True for objects that are found by any address in their memory. */
static bool
has_listed_memory(PyObject *object)
{
    return cwj_is_instance(object) && ((cwj_instance *)object)->root->listed;
}

/* Others cannot be told from the struct's bytes, and keep few objects: a struct that kept all, stored in another and
 * replaced there, would have the next one keep all of them again. */
static int
keep_parked(cwj_instance *made, int generation)
{
    PyObject *list = Py_XNewRef(parked[generation]);
    Py_ssize_t count = list == NULL ? 0 : PyList_GET_SIZE(list); /* what this adds is known */
    int status = 0;
    for (Py_ssize_t k = 0; status == 0 && k < count; k++) {
        PyObject *object = PyTuple_GET_ITEM(PyList_GET_ITEM(list, k), 0);
        status = has_listed_memory(object) ? 0 : keep_once(made, object);
    }
    Py_XDECREF(list);
    return status;
}

int
cwj_references_put_parked(cwj_instance *made)
{
    int status = 0;
    for (size_t at = 0; status == 0 && cwj_any_parked && at + sizeof(void *) <= made->layout->size;
         at++) { /* packed structs, too */
        const void *address;
        memcpy(&address, (char *)made->pointer + at, sizeof(address));
        cwj_instance *owner = cwj_owner_at(address);
        status = owner == NULL || owner == made->root ? 0 : keep_once(made, (PyObject *)owner);
    }
    for (int generation = 0; status == 0 && generation < 2; generation++) {
        status = keep_parked(made, generation);
    }
    return status;
}

/* Until the pointer is written, C in other threads, and code that runs when objects are freed, may read the old one. */
int
cwj_references_point(cwj_instance *through, void *address, const void *pointer, PyObject *object)
{
    int generation = cwj_call_begins();
    int status = cwj_references_put(through, address, NULL, object);
    if (status == 0) {
        memcpy(address, &pointer, sizeof(pointer));
    }
    cwj_call_ends(generation);
    return status;
}

PyObject *
cwj_references_get(cwj_instance *through, const void *address)
{
    cwj_instance *owner = cwj_owner_at(address);
    owner = owner == NULL ? through->root : owner;
    PyObject *key = owner->references == NULL ? NULL : make_key(address, NULL);
    PyObject *entry = key == NULL ? NULL : PyDict_GetItemWithError(owner->references, key);
    Py_XDECREF(key);
    return entry == NULL ? NULL : Py_NewRef(PyTuple_GET_ITEM(entry, 0));
}

void
cwj_references_clear(cwj_instance *owner)
{
    PyObject *references = owner->references, *key, *entry;
    Py_ssize_t position = 0;
    owner->references = NULL;
    while (references != NULL && PyDict_Next(references, &position, &key, &entry)) {
        count_holders(entry, -1);
    }
    Py_XDECREF(references);
}

/* ---- copies of structs ------------------------------------------------------------------------ */

/* Returns a new list of (key, entry), which does not change with the dict. */
static PyObject *
list_entries(const cwj_instance *owner)
{
    bool empty = owner == NULL || owner->references == NULL;
    return empty ? PyList_New(0) : PyDict_Items(owner->references);
}

static bool
is_within(const char *address, const char *at, size_t size)
{
    return address >= at && address < at + size;
}

/* Removes the entries of pointers in [at, at + size). Returns 0 or -1. */
static int
forget(cwj_instance *owner, const char *at, size_t size)
{
    PyObject *entries = list_entries(owner);
    for (Py_ssize_t k = 0; entries != NULL && k < PyList_GET_SIZE(entries); k++) {
        PyObject *key = PyTuple_GET_ITEM(PyList_GET_ITEM(entries, k), 0);
        if (is_within(PyLong_AsVoidPtr(PyTuple_GET_ITEM(key, 0)), at, size)) {
            put_entry(owner, key, NULL);
        }
    }
    Py_XDECREF(entries);
    return entries == NULL ? -1 : 0;
}

/* Gives the owner the entries of addresses in [from, from + size). The keys get the address in the copy at `to`; with
 * by_object they are those of objects that a method keeps for the struct at `to`. */
static int
put_entries(cwj_instance *owner, const char *to, PyObject *entries, const char *from, size_t size,
            bool by_object)
{
    int status = 0;
    for (Py_ssize_t k = 0; status == 0 && k < PyList_GET_SIZE(entries); k++) {
        PyObject *key = PyTuple_GET_ITEM(PyList_GET_ITEM(entries, k), 0);
        PyObject *entry = PyTuple_GET_ITEM(PyList_GET_ITEM(entries, k), 1);
        const char *address = PyLong_AsVoidPtr(PyTuple_GET_ITEM(key, 0));
        if (!is_within(address, from, size) || is_only_owner(owner, entry)) {
            continue;
        }
        PyObject *moved =
            by_object ? make_key(to, PyTuple_GET_ITEM(entry, 0))
                      : make_key(to + (address - from), PyLong_AsVoidPtr(PyTuple_GET_ITEM(key, 1)));
        status = moved == NULL ? -1 : put_entry(owner, moved, entry);
        Py_XDECREF(moved);
    }
    return status;
}

static int
copy_into(cwj_instance *owner, const char *to, PyObject *source, const char *from, size_t size,
          bool by_object, cwj_sharing sharing)
{
    bool is_instance = cwj_is_instance(source);
    cwj_instance *giver = cwj_owner_at(from);
    giver = giver == NULL && is_instance ? ((cwj_instance *)source)->root : giver;
    PyObject *entries = list_entries(giver), *key = NULL, *entry = NULL;
    int status = entries == NULL || (!by_object && forget(owner, to, size) < 0)
                     ? -1
                     : put_entries(owner, to, entries, from, size, by_object);
    /* Its pointers may lead to memory that is freed with it, or that has no entry. */
    bool owns_more = giver == NULL || giver->memory == NULL || giver->layout->free != NULL;
    if (status == 0 && sharing != CWJ_SHARES_NOTHING && giver != owner && owns_more) {
        key = make_key(to, source);
        entry = make_entry(source, sharing == CWJ_IS_A_COPY ? Py_True : Py_None);
        status = key == NULL || entry == NULL ? -1 : put_entry(owner, key, entry);
    }
    CWJ_RELEASE(entries, key, entry);
    return status;
}

int
cwj_references_copy(cwj_instance *through, const char *to, PyObject *source, const char *from,
                    size_t size, bool by_object, cwj_sharing sharing)
{
    PyObject *owners = cwj_owners_of(through, to);
    int status = owners == NULL ? -1 : 0;
    for (Py_ssize_t k = 0; status == 0 && k < PyList_GET_SIZE(owners); k++) {
        status = copy_into((cwj_instance *)PyList_GET_ITEM(owners, k), to, source, from, size,
                           by_object, sharing);
    }
    Py_XDECREF(owners);
    return status;
}

static bool
has_copies(const cwj_instance *owner, const char *at, size_t size)
{
    PyObject *key, *entry;
    Py_ssize_t position = 0;
    while (owner->references != NULL && PyDict_Next(owner->references, &position, &key, &entry)) {
        if (is_copy(entry) && is_within(PyLong_AsVoidPtr(PyTuple_GET_ITEM(key, 0)), at, size)) {
            return true;
        }
    }
    return false;
}

bool
cwj_is_shared(cwj_instance *self)
{
    const cwj_instance *owner = self->listed ? self : cwj_owner_at(self->pointer);
    owner = owner == NULL ? self->root : owner;
    size_t size = self->layout->size > 0 ? self->layout->size : 1;
    return owner->copied > 0 || has_copies(owner, self->pointer, size);
}

/* ---- for Python ---------------------------------------------------------------------------------- */

int
cwj_append_once(PyObject *list, PyObject *object)
{
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(list); k++) {
        if (PyList_GET_ITEM(list, k) == object) {
            return 0;
        }
    }
    return PyList_Append(list, object);
}

PyObject *
cwj_references_list(PyObject *op, void *Py_UNUSED(closure))
{
    const cwj_instance *self = (cwj_instance *)op;
    PyObject *list = PyList_New(0), *key, *entry;
    Py_ssize_t position = 0, count;
    PyObject *const *bases = cwj_bases_of(self, &count);
    int status = list == NULL ? -1 : 0;
    for (Py_ssize_t k = 0; status == 0 && k < count; k++) {
        status = cwj_append_once(list, bases[k]);
    }
    while (status == 0 && self->references != NULL &&
           PyDict_Next(self->references, &position, &key, &entry)) {
        PyObject *object = PyTuple_GET_ITEM(entry, 0); /* or (the object, a Pointer to it) */
        status = cwj_append_once(list, cwj_is_given(object) ? PyTuple_GET_ITEM(object, 0) : object);
    }
    if (status < 0) {
        Py_CLEAR(list);
    }
    return list;
}
