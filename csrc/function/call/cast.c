/* cast.c: converts rows of numbers from one type to another, by the rules of C.
 *
 * NumPy offers its own conversions only to code that holds the GIL. Each type has a carrier, a type
 * that holds all its values: a row is read into the carrier and written from it. Conversions that
 * NumPy's "same_kind" does not allow are missing. */

/* With the usual flags, gcc makes a branch of `?:` if one side comes from an addition of floats. */
#define CWJ_HALF_PICK(condition, yes, no) \
    (((yes) & (0u - (npy_uint32)(condition))) | ((no) & ((npy_uint32)(condition) - 1u)))
#include "../../../cwrapjit/include/cwj_half_bits.h"

enum { /* carriers */
    CWJ_AS_INT32, /* most processors convert several of these at once */
    CWJ_AS_INT,
    CWJ_AS_UINT,
    CWJ_AS_DOUBLE,
    CWJ_AS_LONGDOUBLE,
    CWJ_AS_CDOUBLE,
    CWJ_AS_CLONGDOUBLE,
    CWJ_CARRIERS,
    CWJ_CAST_ROW = 256 /* elements at a time, which stay in the cache */
};

typedef void cwj_cast_step(char *to, const char *from, npy_intp count);

typedef struct cwj_number_type {
    int type_num, carrier;
    npy_intp size;
    cwj_cast_step *read; /* into the carrier */
    cwj_cast_step *write[CWJ_CARRIERS];
} cwj_number_type;

/* A conversion. If `read` or `write` is NULL, the other one does it in one step. */
typedef struct cwj_cast {
    cwj_cast_step *read, *write;
    npy_intp from_size, to_size; /* bytes */
} cwj_cast;

#define CWJ_CONVERT_ROW(TO, FROM, converted)                             \
    for (npy_intp i = 0; i < count; i++) {                               \
        FROM value;                                                      \
        memcpy(&value, from + i * (npy_intp)sizeof(FROM), sizeof(FROM)); \
        TO made = converted;                                             \
        memcpy(to + i * (npy_intp)sizeof(TO), &made, sizeof(TO));        \
    }
#define CWJ_CAST_STEP(name, TO, FROM)                            \
    static void name(char *to, const char *from, npy_intp count) \
    {                                                            \
        CWJ_CONVERT_ROW(TO, FROM, (TO)value)                     \
    }
#define CWJ_HALF_STEP(name, TO, FROM, converted)                                               \
    CWJ_BODY                                                                                   \
    name##_body(char *restrict to, const char *restrict from, npy_intp count){CWJ_CONVERT_ROW( \
        TO, FROM, converted)} CWJ_TWICE(name, (char *to, const char *from, npy_intp count),    \
                                        (to, from, count))

#define CWJ_INTEGERS(X)                       \
    X(BYTE, npy_byte, INT32, npy_int32)       \
    X(UBYTE, npy_ubyte, INT32, npy_int32)     \
    X(SHORT, npy_short, INT32, npy_int32)     \
    X(USHORT, npy_ushort, INT32, npy_int32)   \
    X(INT, npy_int, INT32, npy_int32)         \
    X(UINT, npy_uint, INT, npy_int64)         \
    X(LONG, npy_long, INT, npy_int64)         \
    X(ULONG, npy_ulong, UINT, npy_uint64)     \
    X(LONGLONG, npy_longlong, INT, npy_int64) \
    X(ULONGLONG, npy_ulonglong, UINT, npy_uint64)
#define CWJ_REALS(X)                  \
    X(FLOAT, float, DOUBLE, double)   \
    X(DOUBLE, double, DOUBLE, double) \
    X(LONGDOUBLE, long double, LONGDOUBLE, long double)
#define CWJ_COMPLEXES(X)                                  \
    X(CFLOAT, float _Complex, CDOUBLE, double _Complex)   \
    X(CDOUBLE, double _Complex, CDOUBLE, double _Complex) \
    X(CLONGDOUBLE, long double _Complex, CLONGDOUBLE, long double _Complex)

#define CWJ_STEPS_OF_INTEGER(NAME, T, CARRIER, C)        \
    CWJ_CAST_STEP(read_##NAME, C, T)                     \
    CWJ_CAST_STEP(write_##NAME##_of_int32, T, npy_int32) \
    CWJ_CAST_STEP(write_##NAME##_of_int, T, npy_int64)   \
    CWJ_CAST_STEP(write_##NAME##_of_uint, T, npy_uint64)
#define CWJ_STEPS_OF_REAL(NAME, T, CARRIER, C)         \
    CWJ_STEPS_OF_INTEGER(NAME, T, CARRIER, C)          \
    CWJ_CAST_STEP(write_##NAME##_of_double, T, double) \
    CWJ_CAST_STEP(write_##NAME##_of_longdouble, T, long double)
#define CWJ_STEPS_OF_COMPLEX(NAME, T, CARRIER, C)                \
    CWJ_STEPS_OF_REAL(NAME, T, CARRIER, C)                       \
    CWJ_CAST_STEP(write_##NAME##_of_cdouble, T, double _Complex) \
    CWJ_CAST_STEP(write_##NAME##_of_clongdouble, T, long double _Complex)

CWJ_INTEGERS(CWJ_STEPS_OF_INTEGER)
CWJ_REALS(CWJ_STEPS_OF_REAL)
CWJ_COMPLEXES(CWJ_STEPS_OF_COMPLEX)

/* Every byte but 0 is true. */
static void
read_BOOL(char *to, const char *from, npy_intp count)
{
    CWJ_CONVERT_ROW(npy_int32, char, value != 0)
}

/* Converts a half without arithmetic on NaNs, so that signalling ones stay as they are, as in NumPy. The value of a
 * subnormal is its mantissa times 2^-24. */
static inline double
double_of_half(npy_half half)
{
    cwj_double_bits subnormal, made;
    npy_uint32 exponent = half & 0x7c00u, is_normal = 0u - (npy_uint32)(exponent != 0);
    npy_uint32 top =
        ((half & 0x7fffu) << 10) + CWJ_HALF_PICK(exponent == 0x7c00u, 0x7e000000u, 0x3f000000u);
    subnormal.value = (double)(npy_int32)(half & 0x3ffu) * 0x1p-24;
    made.bits = (npy_uint64)((top & is_normal) | (half & 0x8000u) << 16) << 32;
    made.bits |= subnormal.bits & ~(npy_uint64)(npy_int64)(npy_int32)is_normal;
    return made.value;
}

CWJ_HALF_STEP(read_HALF, double, npy_half, double_of_half(value))
CWJ_HALF_STEP(float_of_half, float, npy_half, cwj_half_bits_to_float(value))
CWJ_HALF_STEP(half_of_float, npy_half, float, cwj_float_to_half_bits(value))
CWJ_HALF_STEP(write_HALF_of_double, npy_half, double, cwj_double_to_half_bits(value))
CWJ_HALF_STEP(write_HALF_of_int32, npy_half, npy_int32, cwj_float_to_half_bits((float)value))
CWJ_HALF_STEP(write_HALF_of_int, npy_half, npy_int64, cwj_float_to_half_bits((float)value))
CWJ_HALF_STEP(write_HALF_of_uint, npy_half, npy_uint64, cwj_float_to_half_bits((float)value))
/* NumPy rounds twice, too. */
CWJ_HALF_STEP(write_HALF_of_longdouble, npy_half, long double, cwj_float_to_half_bits((float)value))

#define CWJ_ROW_OF_INTEGER(NAME, T, CARRIER, C) \
    {NPY_##NAME,                                \
     CWJ_AS_##CARRIER,                          \
     sizeof(T),                                 \
     read_##NAME,                               \
     {write_##NAME##_of_int32, write_##NAME##_of_int, write_##NAME##_of_uint}},
#define CWJ_ROW_OF_REAL(NAME, T, CARRIER, C)                                  \
    {NPY_##NAME,                                                              \
     CWJ_AS_##CARRIER,                                                        \
     sizeof(T),                                                               \
     read_##NAME,                                                             \
     {write_##NAME##_of_int32, write_##NAME##_of_int, write_##NAME##_of_uint, \
      write_##NAME##_of_double, write_##NAME##_of_longdouble}},
#define CWJ_ROW_OF_COMPLEX(NAME, T, CARRIER, C)                                          \
    {NPY_##NAME,                                                                         \
     CWJ_AS_##CARRIER,                                                                   \
     sizeof(T),                                                                          \
     read_##NAME,                                                                        \
     {write_##NAME##_of_int32, write_##NAME##_of_int, write_##NAME##_of_uint,            \
      write_##NAME##_of_double, write_##NAME##_of_longdouble, write_##NAME##_of_cdouble, \
      write_##NAME##_of_clongdouble}},

static const cwj_number_type number_types[] = {
    {NPY_BOOL, CWJ_AS_INT32, 1, read_BOOL, {NULL}},
    CWJ_ROW_OF_REAL(HALF, npy_half, DOUBLE, double) CWJ_INTEGERS(CWJ_ROW_OF_INTEGER)
        CWJ_REALS(CWJ_ROW_OF_REAL) CWJ_COMPLEXES(CWJ_ROW_OF_COMPLEX)};

/* Returns the same number for types that are the same in memory and in C. */
static int
canonical_type(int type_num)
{
#if NPY_SIZEOF_LONG == NPY_SIZEOF_LONGLONG
    if (type_num == NPY_LONGLONG) {
        return NPY_LONG;
    }
    if (type_num == NPY_ULONGLONG) {
        return NPY_ULONG;
    }
#endif
    return type_num;
}

/* Returns the row of a type, or NULL. */
static const cwj_number_type *
number_type(int type_num)
{
    for (size_t i = 0; i < sizeof(number_types) / sizeof(*number_types); i++) {
        if (number_types[i].type_num == type_num) {
            return &number_types[i];
        }
    }
    return NULL;
}

/* Finds the conversion between two types, given by NumPy's numbers. Returns 0 if this file has none. */
static int
find_cast(int from, int to, cwj_cast *cast)
{
    static const int carriers[] = {NPY_INT32,      NPY_INT64,   NPY_UINT64,     NPY_DOUBLE,
                                   NPY_LONGDOUBLE, NPY_CDOUBLE, NPY_CLONGDOUBLE};
    const cwj_number_type *one = number_type(from), *other = number_type(to);
    if (one == NULL || other == NULL) {
        return 0;
    }
    int carrier = carriers[one->carrier];
    *cast = (cwj_cast){.from_size = one->size, .to_size = other->size};
    if ((from == NPY_HALF && to == NPY_FLOAT) || (from == NPY_FLOAT && to == NPY_HALF)) {
        cast->read = from == NPY_HALF ? float_of_half : half_of_float;
        return 1;
    }
    cast->read = from == canonical_type(carrier) ? NULL : one->read;
    cast->write = to == canonical_type(carrier) ? NULL : other->write[one->carrier];
    return cast->write != NULL || (cast->read != NULL && to == canonical_type(carrier));
}

static void
convert_row(const cwj_cast *cast, char *to, const char *from, npy_intp count)
{
    _Alignas(long double) char carried[CWJ_CAST_ROW * sizeof(long double _Complex)];
    if (cast->read == NULL || cast->write == NULL) {
        (cast->read != NULL ? cast->read : cast->write)(to, from, count);
        return;
    }
    for (npy_intp length; count > 0; count -= length) {
        length = count < CWJ_CAST_ROW ? count : CWJ_CAST_ROW;
        cast->read(carried, from, length);
        cast->write(to, carried, length);
        from += length * cast->from_size;
        to += length * cast->to_size;
    }
}
