/* copy.c: copies elements of one size between rows. */

/* Passes common sizes as constants, so that compilers make each copy one instruction. */
#define CWJ_OF_SIZE(size, copy, ...)       \
    switch (size) {                        \
    case 1:                                \
        copy(__VA_ARGS__, 1);              \
        break;                             \
    case 2:                                \
        copy(__VA_ARGS__, 2);              \
        break;                             \
    case 4:                                \
        copy(__VA_ARGS__, 4);              \
        break;                             \
    case 8:                                \
        copy(__VA_ARGS__, 8);              \
        break;                             \
    case 16:                               \
        copy(__VA_ARGS__, 16);             \
        break;                             \
    default:                               \
        copy(__VA_ARGS__, (size_t)(size)); \
    }

/* Defines a function with the body NAME_body(), on x86-64 also for AVX2, which makes copies inside the cache twice as
 * fast. */
#if defined(__x86_64__) && !defined(__AVX2__)
#define CWJ_TWICE(name, parameters, arguments)                         \
    __attribute__((target("avx2"))) static void name##_avx2 parameters \
    {                                                                  \
        name##_body arguments;                                         \
    }                                                                  \
    static void name parameters                                        \
    {                                                                  \
        if (__builtin_cpu_supports("avx2")) {                          \
            name##_avx2 arguments;                                     \
        } else {                                                       \
            name##_body arguments;                                     \
        }                                                              \
    }
#else
#define CWJ_TWICE(name, parameters, arguments) \
    static void name parameters                \
    {                                          \
        name##_body arguments;                 \
    }
#endif

enum {
    CWJ_TILE_ROWS = 4,
    CWJ_TILE_COLUMNS = 8 /* doubles of a cache line */
};

/* Bytes between rows and between their elements. */
typedef struct cwj_rows_step {
    npy_intp row, item;
} cwj_rows_step;

typedef struct cwj_rows {
    cwj_rows_step to, from;
    npy_intp rows, count; /* elements of a row */
} cwj_rows;

#define CWJ_BODY static inline __attribute__((always_inline)) void

/* Copies an element. If it `swaps`, its bytes are reversed. */
CWJ_BODY
copy_element(char *to, const char *from, int swaps, size_t size)
{
    npy_uint16 two;
    npy_uint32 four;
    npy_uint64 eight;
    switch (swaps ? size : 0) {
    case 0:
        memcpy(to, from, size);
        break;
    case 2:
        memcpy(&two, from, 2);
        two = __builtin_bswap16(two);
        memcpy(to, &two, 2);
        break;
    case 4:
        memcpy(&four, from, 4);
        four = __builtin_bswap32(four);
        memcpy(to, &four, 4);
        break;
    case 8:
        memcpy(&eight, from, 8);
        eight = __builtin_bswap64(eight);
        memcpy(to, &eight, 8);
        break;
    default:
        for (size_t i = 0; i < size; i++) {
            to[i] = from[size - 1 - i];
        }
    }
}

CWJ_BODY
copy_evenly(char *restrict to, npy_intp stride, const char *restrict from, npy_intp step,
            npy_intp count, int swaps, size_t size)
{
    for (npy_intp i = 0; i < count; i++) {
        copy_element(to + i * stride, from + i * step, swaps, size);
    }
}

/* Copies a row. Usual steps are constants, so that compilers can use vectors. */
CWJ_BODY
copy_row(char *to, npy_intp stride, const char *from, npy_intp step, npy_intp count, int swaps,
         size_t size)
{
    npy_intp one = (npy_intp)size;
    int skips = !swaps && stride == one && (size == 2 || size == 4 || size == 8);
    if (stride == one && step == one) {
        copy_evenly(to, one, from, one, count, swaps, size);
    } else if (skips && step == 2 * one) {
        copy_evenly(to, one, from, 2 * one, count, swaps, size);
    } else if (skips && step == -one) {
        copy_evenly(to, one, from, -one, count, swaps, size);
    } else {
        copy_evenly(to, stride, from, step, count, swaps, size);
    }
}

/* Copies a transposition: `to` has no gaps along rows, `from` has none along columns. In tiles, each cache line is read
 * and written at once. */
CWJ_BODY
copy_transposed(char *restrict to, npy_intp to_column, const char *restrict from, npy_intp from_row,
                npy_intp rows, npy_intp columns, size_t size)
{
    npy_intp one = (npy_intp)size;
    npy_intp row = 0, column = 0;
    for (; column + CWJ_TILE_COLUMNS <= columns; column += CWJ_TILE_COLUMNS) {
        for (row = 0; row + CWJ_TILE_ROWS <= rows; row += CWJ_TILE_ROWS) {
            for (npy_intp i = column; i < column + CWJ_TILE_COLUMNS; i++) {
                for (npy_intp j = row; j < row + CWJ_TILE_ROWS; j++) {
                    memcpy(to + i * to_column + j * one, from + j * from_row + i * one, size);
                }
            }
        }
    }
    for (; row < rows; row++) {
        copy_evenly(to + row * one, to_column, from + row * from_row, one, column, 0, size);
    }
    for (; column < columns; column++) {
        copy_evenly(to + column * to_column, one, from + column * one, from_row, rows, 0, size);
    }
}

CWJ_BODY
copy_rows_of(const cwj_rows *rows, char *to, const char *from, int swaps, size_t size)
{
    const cwj_rows_step *a = &rows->to, *b = &rows->from;
    npy_intp one = (npy_intp)size, n = rows->rows, m = rows->count;
    int tiles = !swaps && (size == 4 || size == 8 || size == 16);
    if (tiles && n >= CWJ_TILE_ROWS && m >= CWJ_TILE_COLUMNS && a->row == one && b->item == one) {
        copy_transposed(to, a->item, from, b->row, n, m, size);
    } else if (tiles && n >= CWJ_TILE_COLUMNS && m >= CWJ_TILE_ROWS && a->item == one &&
               b->row == one) {
        copy_transposed(to, a->row, from, b->item, m, n, size);
    } else {
        for (npy_intp i = 0; i < n; i++) {
            copy_row(to + i * a->row, a->item, from + i * b->row, b->item, m, swaps, size);
        }
    }
}

CWJ_BODY
copy_rows_body(const cwj_rows *rows, char *to, const char *from, int swaps, size_t size)
{
    if (swaps) {
        CWJ_OF_SIZE(size, copy_rows_of, rows, to, from, 1)
    } else {
        CWJ_OF_SIZE(size, copy_rows_of, rows, to, from, 0)
    }
}

/* Copies rows of elements of `size` bytes. */
CWJ_TWICE(copy_rows, (const cwj_rows *rows, char *to, const char *from, int swaps, size_t size),
          (rows, to, from, swaps, size))

/* Copies one row; stride and step are the bytes between elements in `to` and in `from`. */
static void
copy_run(char *to, npy_intp stride, const char *from, npy_intp step, npy_intp count, size_t size)
{
    copy_rows(&(cwj_rows){{0, stride}, {0, step}, 1, count}, to, from, 0, size);
}
