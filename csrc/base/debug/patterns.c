/* patterns.c: fills new outputs with patterns and finds them again (patterns.h). */
#include "base/debug/patterns.h"

#include <float.h>
#include <stdint.h>

/* The pattern of a number (complex values have two). Conversions between floating types also convert the patterns. */
typedef struct pattern {
    size_t size;  /* bytes of a number; 0: the type has no pattern */
    size_t used;  /* significant bytes: a long double has padding */
    unsigned char fresh[16];
    unsigned char quiet[16]; /* the result of arithmetic on fresh, except for the sign */
    bool floating;
} pattern;

static void
set_bits(pattern *this, uint64_t fresh, uint64_t quiet)
{
    memcpy(this->fresh, &fresh, this->size);
    memcpy(this->quiet, &quiet, this->size);
}

static pattern
pattern_of(int type_num, size_t itemsize)
{
    pattern this = {.floating = PyTypeNum_ISFLOAT(type_num) || PyTypeNum_ISCOMPLEX(type_num)};
    bool integer = PyTypeNum_ISINTEGER(type_num) || PyTypeNum_ISDATETIME(type_num);
    this.size = PyTypeNum_ISCOMPLEX(type_num) ? itemsize / 2 : itemsize;
    this.used = this.size;
    if (this.floating && this.size == 4) {
        set_bits(&this, 0x7FA5C3E1u, 0x7FE5C3E1u);
    } else if (this.floating && this.size == 8) {
        set_bits(&this, 0x7FF4B87C20000000u, 0x7FFCB87C20000000u);
#if LDBL_MANT_DIG == 64
    } else if (this.floating && this.size == 16) {
        const uint64_t fresh[2] = {0xA5C3E10000000000u, 0x7FFF};
        const uint64_t quiet[2] = {0xE5C3E10000000000u, 0x7FFF};
        memcpy(this.fresh, fresh, 16);
        memcpy(this.quiet, quiet, 16);
        this.used = 10;
#endif
    } else if (integer && (this.size == 4 || this.size == 8)) {
        set_bits(&this, 0xA5C3E1B7A5C3E1B7u, 0xA5C3E1B7A5C3E1B7u);
    } else {
        this.size = 0;
    }
    return this;
}

void
cwj_pattern_fill(char *memory, size_t count, int type_num, size_t itemsize)
{
    pattern this = pattern_of(type_num, itemsize);
    for (size_t at = 0; this.size != 0 && at < count * itemsize; at += this.size) {
        memcpy(memory + at, this.fresh, this.size);
    }
}

static cwj_trace
look_at(const pattern *this, const char *number)
{
    unsigned char bytes[16];
    if (memcmp(number, this->fresh, this->used) == 0) {
        return CWJ_UNWRITTEN;
    }
    if (!this->floating) {
        return CWJ_WRITTEN;
    }
    memcpy(bytes, number, this->size);
    bytes[this->used - 1] &= 0x7F; /* -x changes the sign only; the NaN may stay signalling */
    return memcmp(bytes, this->quiet, this->used) == 0 ||
                   memcmp(bytes, this->fresh, this->used) == 0
               ? CWJ_READ
               : CWJ_WRITTEN;
}

cwj_trace
cwj_pattern_find(const char *memory, size_t count, int type_num, size_t itemsize, size_t *index)
{
    pattern this = pattern_of(type_num, itemsize);
    for (size_t at = 0; this.size != 0 && at < count * itemsize; at += this.size) {
        cwj_trace trace = look_at(&this, memory + at);
        if (trace != CWJ_WRITTEN) {
            *index = at / itemsize;
            return trace;
        }
    }
    return CWJ_WRITTEN;
}
