/* fuzz_signature.c: a signature that was read and written again must read the same. */
#include "fuzz.h"

static char *written(const tj_signature *signature)
{
    tj_spec spec = {.name = "f",
                    .noperands = signature->noperands,
                    .noutputs = signature->noutputs,
                    .operands = signature->operands,
                    .flags = signature->one_output ? 1 : 0};
    return tj_spec_signature(&spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *once = NULL, *twice = NULL;
    tj_signature signature, again;
    tj_error error;
    tj_error_init(&error);
    tj_status status = tj_signature_parse(text, size, &signature, &error);
    if (status == TJ_OK) {
        once = written(&signature);
        PROMISE(once != NULL);
        PROMISE(tj_signature_parse(once, strlen(once), &again, &error) == TJ_OK);
        twice = written(&again);
        PROMISE(twice != NULL && !strcmp(once, twice));
        tj_signature_clear(&again);
    } else {
        PROMISE(error.text != NULL && error.position <= (ptrdiff_t)size);
    }
    tj_signature_clear(&signature);
    tj_error_clear(&error);
    tj_free(once);
    tj_free(twice);
    free(text);
    return 0;
}
