/* stdbool.h: ISO C's. */
#ifndef CWJ_ISO_STDBOOL_H
#include "iso/stdbool.h"
#endif
