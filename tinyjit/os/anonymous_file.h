/* anonymous_file.h: files without a name, which no other process can find and which disappear when they are closed.
 *
 * A file is known by its descriptor, 10 or greater. A process that is started (process.h) gets it as a smaller
 * descriptor; no other process has it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Creates an empty file. name is shown to tools that inspect the process. Returns -1 with errno set on failure. */
int tj_file_new(const char *name);
void tj_file_close(int file); /* accepts -1 */

/* Appends all bytes, or returns false with errno set. The next reader starts at the first byte. */
bool tj_file_write(int file, const char *bytes, size_t length);
/* Reads from offset `at`, independent of other readers. Returns the number of bytes; 0 at the end or on failure. */
size_t tj_file_read(int file, size_t at, char *bytes, size_t size);
size_t tj_file_size(int file); /* 0: empty or unknown */

/* Writes a path by which fopen() and libtcc open the file while it is open. */
enum {
    TJ_FILE_PATH = 64
};
void tj_file_path(int file, char path[TJ_FILE_PATH]);
/* Closes the descriptors that this process has opened by that path and not closed. */
void tj_file_close_others(int file);

/* Maps the first bytes of the file; the caller must unmap them. NULL with errno set on failure. */
const void *tj_file_map(int file, size_t size);
/* The same, but changes are written to the file. Fails with EPERM after tj_file_fix_bytes(). */
void *tj_file_map_to_write(int file, size_t size);
void tj_file_unmap(const void *bytes, size_t size);

/* Makes the size, or also the contents, unchangeable for every process. Returns false if that failed. */
bool tj_file_fix_size(int file);
bool tj_file_fix_bytes(int file);
