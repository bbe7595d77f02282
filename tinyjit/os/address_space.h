/* address_space.h: allocates whole pages of memory and sets their permissions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

size_t tj_page_size(void);

/* Returns zeroed address space for data, which takes memory only when it is touched. NULL with errno set on failure. */
void *tj_space_new(size_t size);
void tj_space_free(void *memory, size_t size);
/* Says that few of the pages will be used: they become no large pages and are left out of core dumps. */
void tj_space_sparse(void *memory, size_t size);

typedef enum tj_space_use {
    TJ_SPACE_NONE, /* every access faults */
    TJ_SPACE_DATA,
    TJ_SPACE_CODE /* code and data */
} tj_space_use;
/* Sets the permission of whole pages. Returns false, with errno EACCES or EPERM if the system refuses code. */
bool tj_space_set(void *memory, size_t size, tj_space_use use);
/* Gives back the memory of these pages until they are touched again; their contents are lost. */
void tj_space_discard(void *memory, size_t size);

/* Returns the limit of mappings if this process has reached it, else 0: memory ran out for another reason. */
size_t tj_mappings_used_up(void);
