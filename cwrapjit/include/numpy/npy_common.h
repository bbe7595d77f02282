/* numpy/npy_common.h: NumPy's C types with their limits and formats. */
#ifndef CWJ_NPY_COMMON_H
#define CWJ_NPY_COMMON_H

#ifndef CWJ_NPY_TYPES_H
#include "npy_types.h"
#endif
#include "../limits.h"

#define NPY_INLINE inline
#define NPY_UNUSED(x) cwj_unused_##x __attribute__((unused))
#define NPY_LIKELY(x) (x)
#define NPY_UNLIKELY(x) (x)

#define NPY_SIZEOF_SHORT 2
#define NPY_SIZEOF_INT 4
#define NPY_SIZEOF_LONG 8
#define NPY_SIZEOF_LONGLONG 8
#define NPY_SIZEOF_INTP 8
#define NPY_SIZEOF_FLOAT 4
#define NPY_SIZEOF_DOUBLE 8
#define NPY_SIZEOF_LONGDOUBLE 16

#define NPY_BYTE_FMT "hhd"
#define NPY_UBYTE_FMT "hhu"
#define NPY_SHORT_FMT "hd"
#define NPY_USHORT_FMT "hu"
#define NPY_INT_FMT "d"
#define NPY_UINT_FMT "u"
#define NPY_LONG_FMT "ld"
#define NPY_ULONG_FMT "lu"
#define NPY_LONGLONG_FMT "lld"
#define NPY_ULONGLONG_FMT "llu"
#define NPY_INTP_FMT "ld"
#define NPY_UINTP_FMT "lu"
#define NPY_INT64_FMT "ld"
#define NPY_UINT64_FMT "lu"
#define NPY_FLOAT_FMT "g"
#define NPY_DOUBLE_FMT "g"
#define NPY_LONGDOUBLE_FMT "Lg"

#define NPY_MIN_INT8 (-128)
#define NPY_MAX_INT8 127
#define NPY_MAX_UINT8 255
#define NPY_MIN_INT16 (-32768)
#define NPY_MAX_INT16 32767
#define NPY_MAX_UINT16 65535
#define NPY_MIN_INT32 INT_MIN
#define NPY_MAX_INT32 INT_MAX
#define NPY_MAX_UINT32 UINT_MAX
#define NPY_MIN_INT64 LONG_MIN
#define NPY_MAX_INT64 LONG_MAX
#define NPY_MAX_UINT64 ULONG_MAX
#define NPY_MIN_INTP LONG_MIN
#define NPY_MAX_INTP LONG_MAX
#define NPY_MAX_UINTP ULONG_MAX
#define NPY_MIN_BYTE SCHAR_MIN
#define NPY_MAX_BYTE SCHAR_MAX
#define NPY_MAX_UBYTE UCHAR_MAX
#define NPY_MIN_SHORT SHRT_MIN
#define NPY_MAX_SHORT SHRT_MAX
#define NPY_MAX_USHORT USHRT_MAX
#define NPY_MIN_INT INT_MIN
#define NPY_MAX_INT INT_MAX
#define NPY_MAX_UINT UINT_MAX
#define NPY_MIN_LONG LONG_MIN
#define NPY_MAX_LONG LONG_MAX
#define NPY_MAX_ULONG ULONG_MAX
#define NPY_MIN_LONGLONG LLONG_MIN
#define NPY_MAX_LONGLONG LLONG_MAX
#define NPY_MAX_ULONGLONG ULLONG_MAX

#endif
