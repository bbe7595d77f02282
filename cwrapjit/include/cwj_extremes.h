/* cwj_extremes.h: the larger and the smaller of two numbers, NaN if one is, as np.maximum and np.minimum; and the
 * largest and the smallest of many.
 *
 * Compilers vectorise neither `most = x > most || x != x ? x : most` along a row, whose order is fixed, nor, with
 * fastmath, the condition alone. Here values are compared in lanes, in an order that is the same everywhere; so are the
 * bits. */
#ifndef CWJ_EXTREMES_H
#define CWJ_EXTREMES_H

/* b is compared with itself, which detects NaN whatever is known of a: gcc then makes one instruction of both choices,
 * and no branches of what it knows of an earlier choice, such as the a of a long row. */
#define CWJ_PICK(a, sign, or_same, b)                                     \
    ({                                                                    \
        const __typeof__((a) + (b)) cwj_a = (a), cwj_b = (b);             \
        const __typeof__(cwj_a) cwj_c = cwj_b sign cwj_a ? cwj_b : cwj_a; \
        cwj_b or_same cwj_b ? cwj_c : cwj_b;                              \
    })
#define npy_maximum(a, b) CWJ_PICK(a, >, >=, b)
#define npy_minimum(a, b) CWJ_PICK(a, <, <=, b)

/* The extreme of the values for i = 0 to n - 1; 0 if there are none. */
#define CWJ_PICK_OF(i, n, value, pick)                                               \
    ({                                                                               \
        enum {                                                                       \
            cwj_lanes = 32                                                           \
        }; /* gcc vectorises no loop over less */                                    \
        const npy_intp cwj_n = (n);                                                  \
        npy_intp i = 0, cwj_at = 0;                                                  \
        __typeof__((value) + 0) cwj_lane[cwj_lanes], cwj_first = 0;                  \
        if (cwj_n > 0)                                                               \
            cwj_first = (value);                                                     \
        for (int cwj_k = 0; cwj_k < cwj_lanes; cwj_k++)                              \
            cwj_lane[cwj_k] = cwj_first;                                             \
        for (; cwj_at + cwj_lanes <= cwj_n; cwj_at += cwj_lanes)                     \
            for (int cwj_k = 0; cwj_k < cwj_lanes; cwj_k++) {                        \
                i = cwj_at + cwj_k;                                                  \
                cwj_lane[cwj_k] = pick(cwj_lane[cwj_k], (value));                    \
            }                                                                        \
        for (npy_intp cwj_k = 0; cwj_k < cwj_n - cwj_at; cwj_k++) {                  \
            i = cwj_at + cwj_k;                                                      \
            cwj_lane[cwj_k] = pick(cwj_lane[cwj_k], (value));                        \
        }                                                                            \
        for (int cwj_half = cwj_lanes / 2; cwj_half; cwj_half /= 2)                  \
            for (int cwj_k = 0; cwj_k < cwj_half; cwj_k++)                           \
                cwj_lane[cwj_k] = pick(cwj_lane[cwj_k], cwj_lane[cwj_k + cwj_half]); \
        cwj_lane[0];                                                                 \
    })
#define npy_amax(i, n, value) CWJ_PICK_OF(i, n, value, npy_maximum)
#define npy_amin(i, n, value) CWJ_PICK_OF(i, n, value, npy_minimum)

#endif
