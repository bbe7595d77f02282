/* sys/cdefs.h: the system's, which removes attributes for compilers that are not GNU's. libtcc has them, and a packed
 * struct in a file that includes <stdlib.h> must have the same layout in other files. */
#pragma push_macro("__attribute__")
#include_next <sys/cdefs.h>
#undef __attribute__
#pragma pop_macro("__attribute__")
