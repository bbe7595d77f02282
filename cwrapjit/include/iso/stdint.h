/* iso/stdint.h: ISO C's <stdint.h>. The types are glibc's own (64 bits is `long`), so that its headers may repeat them.
 * */
#ifndef CWJ_ISO_STDINT_H
#define CWJ_ISO_STDINT_H

typedef signed char int8_t, int_least8_t, int_fast8_t;
typedef short int16_t, int_least16_t;
typedef int int32_t, int_least32_t;
typedef long int64_t, int_least64_t, int_fast16_t, int_fast32_t, int_fast64_t, intptr_t, intmax_t;
typedef unsigned char uint8_t, uint_least8_t, uint_fast8_t;
typedef unsigned short uint16_t, uint_least16_t;
typedef unsigned int uint32_t, uint_least32_t;
typedef unsigned long uint64_t, uint_least64_t, uint_fast16_t, uint_fast32_t, uint_fast64_t,
    uintptr_t, uintmax_t;

#define INT8_MIN (-128)
#define INT16_MIN (-32767 - 1)
#define INT32_MIN (-2147483647 - 1)
#define INT64_MIN (-9223372036854775807L - 1)
#define INT8_MAX 127
#define INT16_MAX 32767
#define INT32_MAX 2147483647
#define INT64_MAX 9223372036854775807L
#define UINT8_MAX 255
#define UINT16_MAX 65535
#define UINT32_MAX 4294967295U
#define UINT64_MAX 18446744073709551615UL
#define INTPTR_MIN INT64_MIN
#define INTPTR_MAX INT64_MAX
#define UINTPTR_MAX UINT64_MAX
#define INTMAX_MIN INT64_MIN
#define INTMAX_MAX INT64_MAX
#define UINTMAX_MAX UINT64_MAX
#define PTRDIFF_MIN INT64_MIN
#define PTRDIFF_MAX INT64_MAX
#define SIZE_MAX UINT64_MAX
#define INT64_C(c) c##L
#define UINT64_C(c) c##UL

#endif
