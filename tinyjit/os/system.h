/* system.h: names of libraries, folders and hidden symbols on this system. A port adds its own. */
#pragma once

/* For tj_shared_object_open(): <math.h>'s functions, their vector forms, and the compilers' helpers. */
#define TJ_LIBM "libm.so.6"
#define TJ_LIBMVEC "libmvec.so.1"
#define TJ_LIBGCC "libgcc_s.so.1"

/* Folders of headers. The folder for this machine may not exist. */
#define TJ_LOCAL_HEADERS "/usr/local/include"
#if defined(__aarch64__)
#define TJ_MACHINE_HEADERS "/usr/include/aarch64-linux-gnu"
#else
#define TJ_MACHINE_HEADERS "/usr/include/x86_64-linux-gnu"
#endif
#define TJ_SYSTEM_HEADERS "/usr/include"

/* True if the processor has vectors whose width is known at run time only. */
#if defined(__aarch64__)
#include <sys/auxv.h>
#define TJ_HAS_SVE \
    ((getauxval(AT_HWCAP) & (1ul << 22)) != 0) /* HWCAP_SVE, which old headers lack */
#else
#define TJ_HAS_SVE false
#endif

/* Macros that compilers may predefine on this system. */
#define TJ_SYSTEM_MACROS \
    "__linux__", "__linux", "linux", "__unix__", "__unix", "unix", "__gnu_linux__", "__ELF__"

/* The separator of folders in PATH and in libtcc's lists of folders. No folder's name may contain it. */
#define TJ_BETWEEN_FOLDERS ":"

/* The file that is always empty and discards all output. */
#define TJ_NULL_FILE "/dev/null"

/* Functions of libc in the expansions of standard macros, as a list of strings. */
#define TJ_HIDDEN_NAMES "__errno_location", "__assert_fail"
