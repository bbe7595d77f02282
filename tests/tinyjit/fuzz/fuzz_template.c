/* Templates: filled, or refused with a place inside of the text. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const tj_binding bindings[] = {{"name", "V1_x"}, {"fail", "{goto label_1;}"}};
    char *text = fuzz_text(data, size);
    tj_text out = {0};
    tj_error error;
    tj_error_init(&error);
    tj_text_puts(&out, "");
    if (tj_template_fill(text, size, bindings, 2, &out, &error) != TJ_OK)
        PROMISE(error.position >= 0 && (size_t)error.position < size &&
                text[error.position] == '%');
    tj_text_clear(&out);
    tj_error_clear(&error);
    free(text);
    return 0;
}
