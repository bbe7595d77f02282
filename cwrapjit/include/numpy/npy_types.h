/* numpy/npy_types.h: NumPy's C types and type numbers, for the prelude and this package's small NumPy headers. Complex
 * numbers are structs, as libtcc has no types for them. */
#ifndef CWJ_NPY_TYPES_H
#define CWJ_NPY_TYPES_H

typedef unsigned char npy_bool, npy_ubyte, npy_uint8;
typedef signed char npy_byte, npy_int8;
typedef char npy_char;
typedef short npy_short, npy_int16;
typedef unsigned short npy_ushort, npy_uint16, npy_half, npy_float16;
typedef int npy_int, npy_int32;
typedef unsigned int npy_uint, npy_uint32, npy_ucs4;
typedef long npy_long, npy_int64, npy_intp, npy_hash_t, npy_datetime, npy_timedelta;
typedef unsigned long npy_ulong, npy_uint64, npy_uintp;
typedef long long npy_longlong;
typedef unsigned long long npy_ulonglong;
typedef float npy_float, npy_float32;
typedef double npy_double, npy_float64;
typedef long double npy_longdouble;
typedef struct {
    float real, imag;
} npy_cfloat, npy_complex64;
typedef struct {
    double real, imag;
} npy_cdouble, npy_complex128;
typedef struct {
    long double real, imag;
} npy_clongdouble;
typedef struct {
    npy_half bits;
} cwj_half; /* C would compute with a npy_half as if its bits were a number */

#define NPY_FALSE 0
#define NPY_TRUE 1

enum NPY_TYPES {
    NPY_BOOL,
    NPY_BYTE,
    NPY_UBYTE,
    NPY_SHORT,
    NPY_USHORT,
    NPY_INT,
    NPY_UINT,
    NPY_LONG,
    NPY_ULONG,
    NPY_LONGLONG,
    NPY_ULONGLONG,
    NPY_FLOAT,
    NPY_DOUBLE,
    NPY_LONGDOUBLE,
    NPY_CFLOAT,
    NPY_CDOUBLE,
    NPY_CLONGDOUBLE,
    NPY_OBJECT,
    NPY_STRING,
    NPY_UNICODE,
    NPY_VOID,
    NPY_DATETIME,
    NPY_TIMEDELTA,
    NPY_HALF,
    NPY_INT8 = NPY_BYTE,
    NPY_UINT8 = NPY_UBYTE,
    NPY_INT16 = NPY_SHORT,
    NPY_UINT16 = NPY_USHORT,
    NPY_INT32 = NPY_INT,
    NPY_UINT32 = NPY_UINT,
    NPY_INT64 = NPY_LONG,
    NPY_UINT64 = NPY_ULONG,
    NPY_INTP = NPY_LONG,
    NPY_UINTP = NPY_ULONG,
    NPY_FLOAT16 = NPY_HALF,
    NPY_FLOAT32 = NPY_FLOAT,
    NPY_FLOAT64 = NPY_DOUBLE,
    NPY_COMPLEX64 = NPY_CFLOAT,
    NPY_COMPLEX128 = NPY_CDOUBLE
};

/* "Not a time", for datetime64 and timedelta64 as C integers. */
#define NPY_DATETIME_NAT (-0x7fffffffffffffffL - 1)

#endif
