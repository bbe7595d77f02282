/* stdlib.h: ISO C's, with POSIX's and BSD's additions. */
#ifndef _STDLIB_H
#define _STDLIB_H 1

#ifndef CWJ_ISO_STDLIB_H
#include "iso/stdlib.h"
#endif

/* Programs expect these types from <stdlib.h>, as glibc's includes <sys/types.h>. */
typedef unsigned char u_char;
typedef unsigned short u_short, ushort;
typedef unsigned int u_int, uint;
typedef unsigned long u_long, ulong;
typedef long ssize_t, off_t;

size_t __ctype_get_mb_cur_max(void);
#define MB_CUR_MAX (__ctype_get_mb_cur_max())
int mblen(const char *, size_t), mbtowc(wchar_t *, const char *, size_t), wctomb(char *, wchar_t);
size_t mbstowcs(wchar_t *, const char *, size_t), wcstombs(char *, const wchar_t *, size_t);
int at_quick_exit(void (*)(void)), on_exit(void (*)(int, void *), void *);
void quick_exit(int);

long random(void);
void srandom(unsigned);
char *initstate(unsigned, char *, size_t), *setstate(char *);
int rand_r(unsigned *);
double drand48(void), erand48(unsigned short[3]);
long lrand48(void), nrand48(unsigned short[3]), mrand48(void), jrand48(unsigned short[3]);
void srand48(long), lcong48(unsigned short[7]);
unsigned short *seed48(unsigned short[3]);

int posix_memalign(void **, size_t, size_t);
void *valloc(size_t), *alloca(size_t), *reallocarray(void *, size_t, size_t);
int setenv(const char *, const char *, int), unsetenv(const char *), putenv(char *), clearenv(void);
int mkstemp(char *), getsubopt(char **, char *const *, char **), getloadavg(double[], int);
char *mkdtemp(char *), *mktemp(char *), *realpath(const char *, char *), *l64a(long);
long a64l(const char *);
char *ecvt(double, int, int *, int *), *fcvt(double, int, int *, int *), *gcvt(double, int, char *);

#if defined __GNUC__ || defined CWJ_CC
#define alloca(size) __builtin_alloca(size)
#endif

#ifdef _GNU_SOURCE
void qsort_r(void *, size_t, size_t, int (*)(const void *, const void *, void *), void *);
char *secure_getenv(const char *);
#endif

#endif
