/* fuzz_scan.c: the scanner rejects a text with a message or accepts it, and finds the names in it. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    tj_piece piece = {"<text>", text, size};
    tj_messages messages = {0};
    tj_status status = tj_scan_check(NULL, &piece, false, &messages);
    PROMISE(status == TJ_OK || status == TJ_COMPILE_FAILED);
    PROMISE((status == TJ_OK) == (messages.count == 0));
    tj_messages_locate(&messages, &piece);
    for (size_t i = 0; i < messages.count; i++)
        PROMISE(messages.items[i].text && messages.items[i].line > 0);
    tj_names *names = tj_names_new();
    if (names)
        tj_names_collect(names, text, size);
    tj_names_free(names);
    tj_messages_clear(&messages);
    free(text);
    return 0;
}
