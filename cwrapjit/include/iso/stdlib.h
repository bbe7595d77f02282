/* iso/stdlib.h: ISO C's <stdlib.h>, without multibyte strings. */
#ifndef CWJ_ISO_STDLIB_H
#define CWJ_ISO_STDLIB_H

#include "stddef.h"

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647

typedef struct {
    int quot, rem;
} div_t;
typedef struct {
    long quot, rem;
} ldiv_t;
typedef struct {
    long long quot, rem;
} lldiv_t;

void *malloc(size_t), *calloc(size_t, size_t), *realloc(void *, size_t),
    *aligned_alloc(size_t, size_t), free(void *);
int abs(int), atoi(const char *), rand(void);
void srand(unsigned), abort(void), exit(int), _Exit(int);
long labs(long), atol(const char *), strtol(const char *, char **, int);
long long llabs(long long), atoll(const char *), strtoll(const char *, char **, int);
unsigned long strtoul(const char *, char **, int);
unsigned long long strtoull(const char *, char **, int);
double atof(const char *), strtod(const char *, char **);
float strtof(const char *, char **);
long double strtold(const char *, char **);
div_t div(int, int);
ldiv_t ldiv(long, long);
lldiv_t lldiv(long long, long long);
char *getenv(const char *);
void qsort(void *, size_t, size_t, int (*)(const void *, const void *)),
    *bsearch(const void *, const void *, size_t, size_t, int (*)(const void *, const void *));
int atexit(void (*)(void)), system(const char *);

#endif
