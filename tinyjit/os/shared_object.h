/* shared_object.h: loads libraries at run time and looks up symbols of this process. */
#pragma once

#include <stdbool.h>

/* Loads a library, and all libraries that it needs, by its path or by a name that the system's loader knows.
 * Its symbols are found only through the functions below, not by other libraries. Returns NULL on failure;
 * see tj_shared_object_error(). */
void *tj_shared_object_open(const char *name);
/* Returns the reason why this thread's last call failed: a constant text, or one that is valid until its next call. */
const char *tj_shared_object_error(void);
void tj_shared_object_close(void *object);

/* Returns the address of a symbol in a library or in one that it needs, or NULL. */
void *tj_shared_object_symbol(void *object, const char *name);
/* Returns true if the address is in that library itself, not in one that it needs. */
bool tj_shared_object_has(void *object, const void *address);

/* Finds the code of that library itself. Returns false if there is none, and for libraries that own the memory of the
 * process: they define malloc(). */
bool tj_shared_object_code(void *object, const void **first, const void **behind);

/* Returns the address that the loader gives to the program's own code for a name, or NULL. */
void *tj_program_symbol(const char *name);
/* Returns true if the address is in the program itself. A program linked without PIE contains stubs for
 * functions of libraries, and the loader returns the stubs for the functions' names. */
bool tj_in_program(const void *address);
/* Returns true if the symbol table of a loaded file has a variable at the address. */
bool tj_is_variable(const void *address);
/* Returns the path of the loaded file that contains an address; NULL: none. Borrowed while the file is loaded. */
const char *tj_loaded_from(const void *address);
