/* elf.h: includes the names of ELF structures. libtcc writes and reads ELF on every system. A port to a
 * system without <elf.h> must provide these names. */
#pragma once

#include <elf.h>
