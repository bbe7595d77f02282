/* stdio.h: ISO C's, with POSIX's and BSD's additions. */
#ifndef _STDIO_H
#define _STDIO_H 1

#ifndef CWJ_ISO_STDIO_H
#include "iso/stdio.h"
#endif

typedef __builtin_va_list va_list;
typedef __builtin_va_list __gnuc_va_list;
#define __GNUC_VA_LIST 1
typedef long off_t, ssize_t;
#define __FILE_defined 1

#ifndef ____mbstate_t_defined
#define ____mbstate_t_defined 1
typedef struct {
    int __count;
    union {
        __WINT_TYPE__ __wch;
        char __wchb[4];
    } __value;
} __mbstate_t;
#endif
#ifndef _____fpos_t_defined
#define _____fpos_t_defined 1
typedef struct _G_fpos_t {
    long __pos;
    __mbstate_t __state;
} __fpos_t;
#endif

#define stdin stdin
#define stdout stdout
#define stderr stderr
#define P_tmpdir "/tmp"
#define L_ctermid 9

int fileno(FILE *), pclose(FILE *), fseeko(FILE *, off_t, int), dprintf(int, const char *, ...),
    vdprintf(int, const char *, __builtin_va_list), getc_unlocked(FILE *), getchar_unlocked(void),
    putc_unlocked(int, FILE *), putchar_unlocked(int), fgetc_unlocked(FILE *),
    fputc_unlocked(int, FILE *), feof_unlocked(FILE *), ferror_unlocked(FILE *),
    fflush_unlocked(FILE *), ftrylockfile(FILE *), getw(FILE *), putw(int, FILE *),
    renameat(int, const char *, int, const char *);
FILE *fdopen(int, const char *), *popen(const char *, const char *),
    *fmemopen(void *, size_t, const char *), *open_memstream(char **, size_t *);
off_t ftello(FILE *);
ssize_t getline(char **, size_t *, FILE *), getdelim(char **, size_t *, int, FILE *);
size_t fread_unlocked(void *, size_t, size_t, FILE *),
    fwrite_unlocked(const void *, size_t, size_t, FILE *);
void flockfile(FILE *), funlockfile(FILE *), clearerr_unlocked(FILE *),
    setbuffer(FILE *, char *, size_t), setlinebuf(FILE *);
char *tempnam(const char *, const char *), *ctermid(char *);

#ifdef _GNU_SOURCE
int asprintf(char **, const char *, ...), vasprintf(char **, const char *, __builtin_va_list),
    fputs_unlocked(const char *, FILE *), fcloseall(void);
char *fgets_unlocked(char *, int, FILE *);
#endif

#endif
