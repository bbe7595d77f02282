/* address_space.c: implements os/address_space.h. */
#define _GNU_SOURCE 1 /* flags of mmap, madvise */
#include "os/address_space.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

size_t tj_page_size(void)
{
    static size_t size;
    if (!size)
        size = (size_t)sysconf(_SC_PAGESIZE);
    return size;
}

void *tj_space_new(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void tj_space_free(void *memory, size_t size)
{
    munmap(memory, size);
}

void tj_space_sparse(void *memory, size_t size)
{
    madvise(memory, size, MADV_NOHUGEPAGE);
    madvise(memory, size, MADV_DONTDUMP);
}

bool tj_space_set(void *memory, size_t size, tj_space_use use)
{
    static const int protections[] = {[TJ_SPACE_NONE] = PROT_NONE,
                                      [TJ_SPACE_DATA] = PROT_READ | PROT_WRITE,
                                      [TJ_SPACE_CODE] = PROT_READ | PROT_WRITE | PROT_EXEC};
    return !mprotect(memory, size, protections[use]);
}

void tj_space_discard(void *memory, size_t size)
{
    madvise(memory, size, MADV_DONTNEED);
}

/* ---- the limit of mappings -------------------------------------------------------- */

/* Returns the number at the start of a file; 0: unknown. */
static size_t read_number(const char *path)
{
    char text[32];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = '\0';
    return strtoul(text, NULL, 10);
}

/* Returns the number of lines of /proc/self/maps, one per mapping. */
static size_t count_mappings(void)
{
    char part[4096];
    size_t count = 0;
    ssize_t length;
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    while ((length = read(file, part, sizeof part)) > 0)
        for (ssize_t i = 0; i < length; i++)
            count += part[i] == '\n';
    close(file);
    return count;
}

size_t tj_mappings_used_up(void)
{
    size_t most = read_number("/proc/sys/vm/max_map_count");
    return most && count_mappings() + 2 >= most ? most : 0; /* some count but are not listed */
}
