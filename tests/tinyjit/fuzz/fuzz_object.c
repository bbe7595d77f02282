/* fuzz_object.c: reads any bytes as an object, without reading outside of them. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1);
    PROMISE(exact != NULL);
    if (size)
        memcpy(exact, data, size);
    if (size % 3 == 0)
        tj_object_settle(exact, size);
    tj_object object = {.fd = -1, .keeps_state = size % 2};
    tj_error error;
    tj_error_init(&error);
    if (tj_object_check(exact, size, &object, &error) != TJ_OK)
        PROMISE(error.text != NULL);
    tj_object_clear(&object);
    tj_error_clear(&error);
    free(exact);
    return 0;
}
