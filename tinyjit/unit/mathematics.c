/* mathematics.c: gives the tcc tier the addresses of the functions in mathematics.h. */
#include <math.h>

#include "mathematics.h"

#include "internal.h"
#include "maths/maths.h"

#include <string.h>

#define CALLABLE(type, name)                \
    static type call_##name(type x, type y) \
    {                                       \
        return name(x, y);                  \
    }
CALLABLE(double, cwj_fmin)
CALLABLE(double, cwj_fmax)
CALLABLE(double, cwj_fdim)
CALLABLE(float, cwj_fminf)
CALLABLE(float, cwj_fmaxf)
CALLABLE(float, cwj_fdimf)

double tj_whole_power(double x, double y)
{
    return cwj_quick_pow(x, y);
}

float tj_whole_powerf(float x, float y)
{
    return cwj_quick_powf(x, y);
}

static const tj_symbol functions[] = {
    {"cwj_pow", (const void *)cwj_any_pow, true},
    {"cwj_powf", (const void *)cwj_any_powf, true},
    {"cwj_fmin", (const void *)call_cwj_fmin, true},
    {"cwj_fminf", (const void *)call_cwj_fminf, true},
    {"cwj_fmax", (const void *)call_cwj_fmax, true},
    {"cwj_fmaxf", (const void *)call_cwj_fmaxf, true},
    {"cwj_fdim", (const void *)call_cwj_fdim, true},
    {"cwj_fdimf", (const void *)call_cwj_fdimf, true},
};

enum {
    COUNT = sizeof functions / sizeof *functions
};

const void *tj_mathematical_function(const char *name, size_t length)
{
    for (size_t i = 0; i < COUNT; i++)
        if (!strncmp(functions[i].name, name, length) && !functions[i].name[length])
            return functions[i].address;
    return NULL;
}

const char *tj_mathematical_name(size_t i)
{
    return i < COUNT ? functions[i].name + strlen("cwj_") : NULL;
}
