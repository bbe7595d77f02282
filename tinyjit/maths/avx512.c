/* avx512.c: the functions for AVX-512. */
#if defined(__x86_64__) /* compiled with: -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl */
#define TJV_LANES 8
#define TJV_SET avx512
#include "unit.h"
#endif
