/* elf.h: the names of what is in ELF files. libtcc writes and reads these on every system; the headers of
 * this one have the names, a port to one without <elf.h> brings them.
 */
#pragma once

#include <elf.h>
