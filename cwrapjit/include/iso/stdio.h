/* iso/stdio.h: ISO C's <stdio.h>. printf() and all other functions that write to stdout and stderr are bound to
 * functions that write through Python's sys. */
#ifndef CWJ_ISO_STDIO_H
#define CWJ_ISO_STDIO_H

#include "stddef.h"

#define EOF (-1)
#define BUFSIZ 8192
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define _IOFBF 0
#define _IOLBF 1
#define _IONBF 2
#define FILENAME_MAX 4096
#define FOPEN_MAX 16
#define L_tmpnam 20
#define TMP_MAX 238328

typedef struct _IO_FILE FILE;
typedef struct _G_fpos_t fpos_t;
extern FILE *stdin, *stdout, *stderr;

int printf(const char *, ...), fprintf(FILE *, const char *, ...),
    sprintf(char *, const char *, ...), snprintf(char *, size_t, const char *, ...),
    scanf(const char *, ...), fscanf(FILE *, const char *, ...),
    sscanf(const char *, const char *, ...), vprintf(const char *, __builtin_va_list),
    vfprintf(FILE *, const char *, __builtin_va_list),
    vsprintf(char *, const char *, __builtin_va_list),
    vsnprintf(char *, size_t, const char *, __builtin_va_list),
    vscanf(const char *, __builtin_va_list), vfscanf(FILE *, const char *, __builtin_va_list),
    vsscanf(const char *, const char *, __builtin_va_list);
int puts(const char *), putchar(int), getchar(void), fputs(const char *, FILE *),
    fputc(int, FILE *), putc(int, FILE *), fgetc(FILE *), getc(FILE *), ungetc(int, FILE *),
    fflush(FILE *), fclose(FILE *), feof(FILE *), ferror(FILE *), fseek(FILE *, long, int),
    fgetpos(FILE *, fpos_t *), fsetpos(FILE *, const fpos_t *),
    setvbuf(FILE *, char *, int, size_t), remove(const char *), rename(const char *, const char *);
size_t fread(void *, size_t, size_t, FILE *), fwrite(const void *, size_t, size_t, FILE *);
FILE *fopen(const char *, const char *), *freopen(const char *, const char *, FILE *),
    *tmpfile(void);
char *fgets(char *, int, FILE *), *tmpnam(char *);
long ftell(FILE *);
void rewind(FILE *), clearerr(FILE *), perror(const char *), setbuf(FILE *, char *);

#endif
