/* one.c: the functions of one number, on processors with fused products. */
/* compiled with: -mavx2 -mfma -fno-math-errno */
#define TJV_LANES 1
#define TJV_ALONE one
#include "unit.h"
