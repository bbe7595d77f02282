/* numpy/ndarraytypes.h: part of arrayobject.h here. */
#include "arrayobject.h"
