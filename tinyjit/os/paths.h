/* paths.h: inspects the files that paths name. */
#pragma once

#include <stdbool.h>

bool tj_path_exists(const char *path);
/* Returns true if path exists, but reading it may never end: a device, a FIFO. */
bool tj_path_is_endless(const char *path);
/* Returns true if path is a file that this process may execute. */
bool tj_path_is_program(const char *path);
/* Returns the current folder; NULL on failure. Free it by free(). */
char *tj_path_here(void);
/* Returns the absolute path with all links resolved; NULL if the file does not exist. Free it by free(). */
char *tj_path_real(const char *path);
