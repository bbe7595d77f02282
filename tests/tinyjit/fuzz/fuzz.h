/* fuzz.h: helpers of the fuzz targets. A target is LLVMFuzzerTestOneInput of libFuzzer; tools/fuzz.sh runs it on new
 * inputs, test_tinyjit_c.py on those in corpus/. */
#ifndef CWJ_TEST_FUZZ_H
#define CWJ_TEST_FUZZ_H

#include "internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process if a promise is broken, as a memory fault does. */
#define PROMISE(condition) ((condition) ? (void)0 : abort())

/* Returns the input as a text in a block of exactly its size, so that reading behind it is a fault. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    PROMISE(text != NULL);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

#endif
