/* address_space.h: whole pages of memory, and what may be done there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

size_t tj_page_size(void);

/* Addresses for data: zeros, which take memory when they are touched. NULL, and errno. */
void *tj_space_new(size_t size);
void tj_space_free(void *memory, size_t size);
/* Few of its pages will be used: no large ones are to be made of them, nor is all of it to be written to core dumps. */
void tj_space_sparse(void *memory, size_t size);

typedef enum tj_space_use {
    TJ_SPACE_NONE, /* whoever touches it faults */
    TJ_SPACE_DATA,
    TJ_SPACE_CODE /* and data */
} tj_space_use;
/* For whole pages. Returns false, with errno EACCES or EPERM where the system refuses code. */
bool tj_space_set(void *memory, size_t size, tj_space_use use);
/* What is there is not needed any more: it takes no memory until it is touched again. */
void tj_space_discard(void *memory, size_t size);

/* How many mappings a process may have, where this one has used them up; else 0: memory was not to be had
 * for another reason. */
size_t tj_mappings_used_up(void);
