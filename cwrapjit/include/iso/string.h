/* iso/string.h: ISO C's <string.h>. */
#ifndef CWJ_ISO_STRING_H
#define CWJ_ISO_STRING_H

#include "stddef.h"

void *memcpy(void *, const void *, size_t), *memmove(void *, const void *, size_t),
    *memset(void *, int, size_t), *memchr(const void *, int, size_t);
int memcmp(const void *, const void *, size_t);
char *strcpy(char *, const char *), *strncpy(char *, const char *, size_t),
    *strcat(char *, const char *), *strncat(char *, const char *, size_t),
    *strchr(const char *, int), *strrchr(const char *, int), *strstr(const char *, const char *),
    *strpbrk(const char *, const char *), *strtok(char *, const char *), *strerror(int);
int strcmp(const char *, const char *), strncmp(const char *, const char *, size_t),
    strcoll(const char *, const char *);
size_t strlen(const char *), strspn(const char *, const char *),
    strcspn(const char *, const char *), strxfrm(char *, const char *, size_t);

#endif
