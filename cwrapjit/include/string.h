/* string.h: ISO C's, with POSIX's and BSD's additions. */
#ifndef _STRING_H
#define _STRING_H 1

#ifndef CWJ_ISO_STRING_H
#include "iso/string.h"
#endif

char *strdup(const char *), *strndup(const char *, size_t),
    *strtok_r(char *, const char *, char **), *strsep(char **, const char *),
    *stpcpy(char *, const char *), *stpncpy(char *, const char *, size_t), *strsignal(int);
size_t strnlen(const char *, size_t);
void *memccpy(void *, const void *, int, size_t), explicit_bzero(void *, size_t);
int strcasecmp(const char *, const char *), strncasecmp(const char *, const char *, size_t);
int bcmp(const void *, const void *, size_t), ffs(int), ffsl(long), ffsll(long long);
void bcopy(const void *, void *, size_t), bzero(void *, size_t);
char *index(const char *, int), *rindex(const char *, int);

#ifdef _GNU_SOURCE
void *memmem(const void *, size_t, const void *, size_t), *memrchr(const void *, int, size_t),
    *rawmemchr(const void *, int), *mempcpy(void *, const void *, size_t);
char *strchrnul(const char *, int), *strcasestr(const char *, const char *);
#ifndef basename /* <libgen.h> has another one */
char *basename(const char *);
#endif
int strverscmp(const char *, const char *);
char *strerror_r(int, char *, size_t);
#else
int strerror_r(int, char *, size_t) __asm__("__xpg_strerror_r");
#endif

#endif
