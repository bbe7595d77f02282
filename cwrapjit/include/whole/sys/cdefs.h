/* sys/cdefs.h: the system's, which takes attributes away from compilers that are not GNU's. libtcc has them, and a packed
 * struct of a file that includes <stdlib.h> must lie as the same struct in other files. */
#pragma push_macro("__attribute__")
#include_next <sys/cdefs.h>
#undef __attribute__
#pragma pop_macro("__attribute__")
