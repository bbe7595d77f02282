/* float.h: ISO C's. */
#ifndef CWJ_ISO_FLOAT_H
#include "iso/float.h"
#endif
