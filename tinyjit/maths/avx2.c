/* avx2.c: the functions for AVX2 and FMA3. */
#if defined(__x86_64__) /* compiled with: -mavx2 -mfma */
#define TJV_LANES 4
#define TJV_SET avx2
#include "unit.h"
#endif
