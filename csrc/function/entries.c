/* entries.c: the table of call-path functions that compiled code calls, also that of graphs and
 * libraries.
 *
 * Most replace functions of CPython and libc: they take the GIL and print through sys.stdout. All are neutral: a
 * snippet that calls no other functions of Python may run without the GIL.
 */
#include "function/entries.h"

#include "function/call/call.h"
#include "function/debug.h"

#define ENTRY(name) {#name, (const void *)name, true}
#define STAND_IN(name) {#name, (const void *)cwj_##name, true}

static const tj_symbol symbols[] = {
    ENTRY(cwj_contiguous),     ENTRY(cwj_contiguous_or_error),
    ENTRY(cwj_contiguous_all), ENTRY(cwj_contiguous_all_or_error),
    ENTRY(cwj_debugged_index), ENTRY(cwj_debugged_number),

    STAND_IN(PyErr_SetString), STAND_IN(PyErr_Format),
    STAND_IN(PyErr_Occurred),  STAND_IN(PyErr_NoMemory),
    STAND_IN(PyErr_Clear),     STAND_IN(PyErr_SetNone),
    STAND_IN(PyErr_SetObject), STAND_IN(printf),
    STAND_IN(vprintf),         STAND_IN(puts),
    STAND_IN(putchar),         STAND_IN(fprintf),
    STAND_IN(vfprintf),        STAND_IN(fputs),
    STAND_IN(fputc),           {"putc", (const void *)cwj_fputc, true},
    STAND_IN(fwrite),          STAND_IN(fflush),
};

const cwj_symbols cwj_function_symbols = {symbols, sizeof symbols / sizeof *symbols};
