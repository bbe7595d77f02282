/* pages.c: allocates memory for compiled code.
 *
 * Code gets whole pages, since libtcc sets their permissions. The pages come from large chunks, so that they
 * are adjacent: neighbours with the same permissions are one mapping, and the system limits the number of
 * mappings. Pages without code are not executable. */
#include "internal.h"

#include "os/address_space.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum {
    CHUNK_PAGES = 256
};

typedef struct chunk {
    struct chunk *next; /* owned */
    char *memory;       /* mapped */
    size_t pages;       /* CHUNK_PAGES, or the pages of one large block */
    size_t used;
    bool in_use[CHUNK_PAGES];
} chunk;

static chunk *chunks; /* owned; guarded by the compile lock */

/* The chunks' memory, and code of libraries, for signal handlers: ranges, of which those with first == 0 are free. If
 * there are more, the rest counts as no code of ours. */
enum {
    MOST_RANGES = 4096
};
static struct range {
    uintptr_t first, behind; /* atomic */
} ranges[MOST_RANGES];
static size_t nranges; /* atomic: those ever used */

static size_t count_pages(size_t size)
{
    return size / tj_page_size() + (size % tj_page_size() != 0);
}

/* ---- ranges ----------------------------------------------------------------- */

/* Replaces a range that begins at `from` (0: a free one) by another. */
static void set_range(uintptr_t from, uintptr_t first, uintptr_t behind)
{
    size_t i = 0;
    while (i < nranges && ranges[i].first != from)
        i++;
    if (i == MOST_RANGES || (i == nranges && from))
        return;
    __atomic_store_n(&ranges[i].first, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&ranges[i].behind, behind, __ATOMIC_RELEASE);
    __atomic_store_n(&ranges[i].first, first, __ATOMIC_RELEASE);
    if (i == nranges)
        __atomic_store_n(&nranges, i + 1, __ATOMIC_RELEASE);
}

void tj_code_let_leave(const void *first, const void *behind, bool leave)
{
    tj_compile_lock();
    set_range(leave ? 0 : (uintptr_t)first, leave ? (uintptr_t)first : 0, (uintptr_t)behind);
    tj_compile_unlock();
}

bool tj_is_code(const void *address)
{
    size_t count = __atomic_load_n(&nranges, __ATOMIC_ACQUIRE);
    for (size_t i = 0; i < count; i++) {
        uintptr_t first = __atomic_load_n(&ranges[i].first, __ATOMIC_ACQUIRE);
        if (first && (uintptr_t)address >= first &&
            (uintptr_t)address < __atomic_load_n(&ranges[i].behind, __ATOMIC_ACQUIRE))
            return true;
    }
    return false;
}

/* ---- chunks ----------------------------------------------------------------- */

static chunk *add_chunk(size_t pages)
{
    chunk *made = tj_alloc_zeroed(1, sizeof *made);
    errno = ENOMEM;
    if (!made)
        return NULL;
    made->pages = pages;
    made->memory = tj_space_new(pages * tj_page_size());
    if (!made->memory) {
        tj_free(made); /* free() keeps errno, but a test's allocator may not */
        return NULL;
    }
    tj_live_add(TJ_LIVE_MAPPINGS, 1);
    set_range(0, (uintptr_t)made->memory, (uintptr_t)made->memory + pages * tj_page_size());
    made->next = chunks;
    chunks = made;
    return made;
}

static void mark(chunk *one, size_t first, size_t pages, bool used)
{
    memset(one->in_use + first, used, pages);
    one->used += used ? pages : -pages;
}

/* Returns the first run of `pages` free pages, or NULL. */
static char *take(chunk *one, size_t pages)
{
    size_t row = 0;
    if (one->pages != CHUNK_PAGES || one->pages - one->used < pages)
        return NULL;
    for (size_t page = 0; page < CHUNK_PAGES; page++) {
        row = one->in_use[page] ? 0 : row + 1;
        if (row == pages) {
            mark(one, page + 1 - pages, pages, true);
            return one->memory + (page + 1 - pages) * tj_page_size();
        }
    }
    return NULL;
}

/* ---- blocks ----------------------------------------------------------------- */

static void *find_pages(size_t pages)
{
    if (pages >= CHUNK_PAGES) {
        chunk *own = add_chunk(pages + 1); /* a chunk for this block only */
        return own ? own->memory : NULL;
    }
    for (chunk *each = chunks; each; each = each->next) {
        char *memory = take(each, pages);
        if (memory)
            return memory;
    }
    chunk *fresh = add_chunk(CHUNK_PAGES);
    return fresh ? take(fresh, pages) : NULL;
}

void *tj_pages_alloc(size_t size)
{
    void *memory = find_pages(count_pages(size));
    tj_live_add(TJ_LIVE_CODE_PAGES, memory ? (ptrdiff_t)count_pages(size) : 0);
    return memory;
}

bool tj_pages_make_code(void *memory, size_t size)
{
    return tj_space_set(memory, count_pages(size) * tj_page_size(), TJ_SPACE_CODE);
}

/* Returns the link to the chunk that contains memory. */
static chunk **find_chunk(const char *memory)
{
    chunk **link = &chunks;
    while (memory < (*link)->memory || memory >= (*link)->memory + (*link)->pages * tj_page_size())
        link = &(*link)->next;
    return link;
}

void tj_pages_free(void *memory, size_t size)
{
    chunk **link = find_chunk(memory), *old = *link;
    tj_live_add(TJ_LIVE_CODE_PAGES, -(ptrdiff_t)count_pages(size));
    if (old->pages == CHUNK_PAGES) {
        tj_space_set(memory, count_pages(size) * tj_page_size(), TJ_SPACE_DATA);
        mark(old, (size_t)((char *)memory - old->memory) / tj_page_size(), count_pages(size),
             false);
        if (old->used || !chunks->next)
            return; /* one chunk stays, for the next function */
    }
    *link = old->next;
    set_range((uintptr_t)old->memory, 0, 0);
    tj_space_free(old->memory, old->pages * tj_page_size());
    tj_live_add(TJ_LIVE_MAPPINGS, -1);
    tj_free(old);
}

/* ---- the unused end --------------------------------------------------------- */

/* Returns the next number of the pattern. libtcc asks for one page more than it uses, so that it can choose the start.
 * A pattern that cannot be data shows whether the last page stayed unused. */
static uint64_t next_of(uint64_t value)
{
    return value * 6364136223846793005u + 1442695040888963407u;
}

static uint64_t *last_page(void *memory, size_t size)
{
    return (uint64_t *)((char *)memory + (count_pages(size) - 1) * tj_page_size());
}

void tj_pages_mark_end(void *memory, size_t size)
{
    uint64_t *last = last_page(memory, size), value = (uintptr_t)last;
    for (size_t i = 0; i < tj_page_size() / sizeof *last; i++)
        last[i] = value = next_of(value);
}

static bool is_marked(const uint64_t *page)
{
    uint64_t value = (uintptr_t)page;
    for (size_t i = 0; i < tj_page_size() / sizeof *page; i++)
        if (page[i] != (value = next_of(value)))
            return false;
    return true;
}

size_t tj_pages_trim(void *memory, size_t size)
{
    uint64_t *last = last_page(memory, size);
    if (count_pages(size) < 2 || !is_marked(last))
        return size;
    chunk *owner = *find_chunk(memory);
    tj_live_add(TJ_LIVE_CODE_PAGES, -1);
    if (owner->pages == CHUNK_PAGES)
        mark(owner, (size_t)((char *)last - owner->memory) / tj_page_size(), 1, false);
    return (size_t)((char *)last - (char *)memory);
}

/* ---- reasons of failures ---------------------------------------------------- */

tj_status tj_pages_fail(int reason, tj_error *error)
{
    if (reason == EACCES || reason == EPERM)
        return tj_fail(error, TJ_NO_EXEC,
                       "the system refuses executable memory to this process: SELinux, "
                       "MemoryDenyWriteExecute= of systemd or prctl(PR_SET_MDWE) can be the cause");
    return tj_fail_no_memory(error);
}
