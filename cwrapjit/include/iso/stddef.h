/* iso/stddef.h: ISO C's <stddef.h>. */
#ifndef CWJ_ISO_STDDEF_H
#define CWJ_ISO_STDDEF_H

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __WCHAR_TYPE__ wchar_t;

#undef NULL
#define NULL ((void *)0)
#undef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)

#endif
