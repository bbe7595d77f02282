/* paths.h: what the files are that paths lead to.
 */
#pragma once

#include <stdbool.h>

bool tj_path_exists(const char *path);
/* A file that this process may run. */
bool tj_path_is_program(const char *path);
/* The current folder; NULL: it has none. For free(). */
char *tj_path_here(void);
/* Absolute, behind all links; NULL: there is nothing. For free(). */
char *tj_path_real(const char *path);
