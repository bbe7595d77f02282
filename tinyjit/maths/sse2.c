/* sse2.c: the functions for SSE2, with a software fma. */
#if defined(__x86_64__) /* compiled with: -mtune=amdfam10 */
#define TJV_LANES 2
#define TJV_SET sse2
#define TJV_ALONE sse2_one
#include "unit.h"
#endif
