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

static inline __attribute__((always_inline)) void
copy_evenly(char *to, npy_intp stride, const char *from, npy_intp step, npy_intp count, size_t size)
{
    for (npy_intp i = 0; i < count; i++) {
        memcpy(to + i * stride, from + i * step, size);
    }
}

static inline __attribute__((always_inline)) void
copy_rows(char *to, npy_intp to_row, npy_intp to_item, const char *from, npy_intp from_row,
          npy_intp from_item, npy_intp rows, npy_intp count, size_t size)
{
    for (npy_intp i = 0; i < rows; i++) {
        if (to_item == (npy_intp)size && from_item == to_item) {
            memcpy(to, from, (size_t)count * size);
        } else {
            copy_evenly(to, to_item, from, from_item, count, size);
        }
        to += to_row;
        from += from_row;
    }
}

static void
copy_run(char *to, npy_intp stride, const char *from, npy_intp step, npy_intp count, size_t size)
{
    if (step == (npy_intp)size && stride == step) {
        memcpy(to, from, (size_t)count * size);
        return;
    }
    CWJ_OF_SIZE(size, copy_evenly, to, stride, from, step, count)
}
