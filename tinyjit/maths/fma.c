/* fma.c: the functions for vectors of 16 bytes on processors with FMA3. */
#if defined(__x86_64__) /* compiled with: -mavx2 -mfma -mtune=amdfam10 */
#define TJV_LANES 2
#define TJV_SET fma
#include "unit.h"
#endif
