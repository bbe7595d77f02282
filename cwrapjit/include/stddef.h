/* stddef.h: ISO C's, and the __need_... names that glibc's headers use. */
#ifndef _STDDEF_H
#define _STDDEF_H 1

#ifndef CWJ_ISO_STDDEF_H
#include "iso/stddef.h"
#endif

#ifndef _GCC_MAX_ALIGN_T
#define _GCC_MAX_ALIGN_T
typedef struct {
    long long whole;
    long double real;
} max_align_t;
#endif

#endif

#if defined __need_wint_t && !defined _WINT_T
#define _WINT_T
typedef __WINT_TYPE__ wint_t;
#endif
#undef __need_wint_t
#undef __need_size_t
#undef __need_ptrdiff_t
#undef __need_wchar_t
#undef __need_NULL
