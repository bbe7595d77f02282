/* ctype.h: ISO C's, with POSIX's additions. */
#ifndef _CTYPE_H
#define _CTYPE_H 1

int isalnum(int), isalpha(int), isblank(int), iscntrl(int), isdigit(int), isgraph(int),
    islower(int), isprint(int), ispunct(int), isspace(int), isupper(int), isxdigit(int),
    tolower(int), toupper(int);
int isascii(int), toascii(int);

#endif
