/* system.h: what this system calls its libraries, folders and hidden symbols. A port adds its own.
 */
#pragma once

/* For tj_shared_object_open(): functions of <math.h>, those for vectors, the compilers' helpers. */
#define TJ_LIBM "libm.so.6"
#define TJ_LIBMVEC "libmvec.so.1"
#define TJ_LIBGCC "libgcc_s.so.1"

/* Folders of headers. The machine's own may not be there. */
#define TJ_LOCAL_HEADERS "/usr/local/include"
#if defined(__aarch64__)
#define TJ_MACHINE_HEADERS "/usr/include/aarch64-linux-gnu"
#else
#define TJ_MACHINE_HEADERS "/usr/include/x86_64-linux-gnu"
#endif
#define TJ_SYSTEM_HEADERS "/usr/include"

/* What compilers may predefine here. */
#define TJ_SYSTEM_MACROS \
    "__linux__", "__linux", "linux", "__unix__", "__unix", "unix", "__gnu_linux__", "__ELF__"

/* What stands between folders in PATH, and in lists of folders that libtcc is given: no folder's name may have it. */
#define TJ_BETWEEN_FOLDERS ":"

/* What is read from nowhere, and written to nowhere. */
#define TJ_NULL_FILE "/dev/null"

/* Functions of libc that macros of standard headers expand to: a list of texts. */
#define TJ_HIDDEN_NAMES "__errno_location", "__assert_fail"
