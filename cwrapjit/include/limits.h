/* limits.h: ISO C's, and POSIX's additions that Linux has fixed. */
#if !defined CWJ_LIMITS_H && !defined _LIBC_LIMITS_H_
#define CWJ_LIMITS_H

#ifndef CWJ_ISO_LIMITS_H
#include "iso/limits.h"
#endif

#define SSIZE_MAX LONG_MAX
#define WORD_BIT 32
#define LONG_BIT 64
#define NAME_MAX 255
#define PATH_MAX 4096
#define PIPE_BUF 4096
#define IOV_MAX 1024
#define NGROUPS_MAX 65536
#define HOST_NAME_MAX 64
#define LOGIN_NAME_MAX 256
#define LINE_MAX 2048
#define _POSIX_PATH_MAX 256
#define _POSIX_NAME_MAX 14
#define _POSIX_HOST_NAME_MAX 255

#endif
