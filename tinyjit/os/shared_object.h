/* shared_object.h: libraries that are loaded at run time, and what this process has loaded.
 */
#pragma once

#include <stdbool.h>

/* Loads a library by its path or by a name that the system's loader knows, with all that it needs. Its
 * symbols are seen by those who ask for them here, by no other library. NULL: see the next. */
void *tj_shared_object_open(const char *name);
/* Why this thread's last call failed; a constant text or one that lasts until its next call. */
const char *tj_shared_object_error(void);
void tj_shared_object_close(void *object);

/* What a library, or one that it needs, calls so. NULL: none does. */
void *tj_shared_object_symbol(void *object, const char *name);
/* Is the address in that library itself, not in one that it needs? */
bool tj_shared_object_has(void *object, const void *address);

/* What the loader gives to code of the program itself for a name, or NULL. */
void *tj_program_symbol(const char *name);
/* Is the address in the program itself? There, one that is linked without PIE has places that stand for
 * functions of libraries, and the loader gives those for the functions' names. */
bool tj_in_program(const void *address);
/* Does a loaded file have a variable there, as far as its table of symbols says? */
bool tj_is_variable(const void *address);
/* The path of the file that an address was loaded from; NULL: none. Borrowed while that is loaded. */
const char *tj_loaded_from(const void *address);
