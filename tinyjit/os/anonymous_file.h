/* anonymous_file.h: files without a name, which nobody finds and which are gone when they are closed.
 *
 * A file is known by its descriptor, 10 or greater: a process that is started (process.h) gets it under a
 * smaller one, and no other process has it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Empty. name: for who looks at the process from outside. -1, and errno, where there is none to be had. */
int tj_file_new(const char *name);
void tj_file_close(int file); /* accepts -1 */

/* Appends all bytes, or returns false with errno; who reads next begins at the first. */
bool tj_file_write(int file, const char *bytes, size_t length);
/* Reads from `at` on, wherever others are. Returns how many bytes, 0 at the end or after a failure. */
size_t tj_file_read(int file, size_t at, char *bytes, size_t size);
size_t tj_file_size(int file); /* 0: empty or unknown */

/* Writes a path by which fopen() and libtcc get to the file while it is open. */
enum {
    TJ_FILE_PATH = 64
};
void tj_file_path(int file, char path[TJ_FILE_PATH]);
/* Closes what this process has opened by that path and not closed. */
void tj_file_close_others(int file);

/* The first bytes of the file as memory, to be given back; NULL, and errno. */
const void *tj_file_map(int file, size_t size);
/* What is written there is in the file. EPERM: tj_file_fix_bytes() was called. */
void *tj_file_map_to_write(int file, size_t size);
void tj_file_unmap(const void *bytes, size_t size);

/* From now on nobody changes the file's size, or anything of it, whoever has it. False: somebody may still. */
bool tj_file_fix_size(int file);
bool tj_file_fix_bytes(int file);
