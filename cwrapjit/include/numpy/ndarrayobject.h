/* numpy/ndarrayobject.h: what NumPy splits over two files. */
#include "arrayobject.h"
