/* fuzz_declare.c: declarations keep their places, and every name is in the text, unless it continues on a new line. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    tj_piece piece = {"<declare>", text, size};
    tj_declarations found;
    tj_messages messages = {0};
    tj_error error;
    tj_error_init(&error);
    /* As in graph_check.c, texts that the scanner rejects are not read. */
    if (tj_scan_check(NULL, &piece, false, &messages) != TJ_OK) {
        tj_messages_clear(&messages);
        free(text);
        return 0;
    }
    tj_status status =
        tj_declarations_read(&piece, size % 2 ? "x" : NULL, &found, &messages, &error);
    bool continues = strstr(text, "\\\n") || strstr(text, "\\\r\n");
    if (status == TJ_OK) {
        PROMISE(strlen(found.typedefs) == size && strlen(found.members) == size);
        for (size_t i = 0; i < found.nnames; i++)
            PROMISE(continues || strstr(text, found.names[i]));
        PROMISE((found.names != NULL) == (found.nnames > 0));
    } else {
        PROMISE(messages.count > 0);
    }
    tj_messages_locate(&messages, &piece);
    tj_declarations_clear(&found);
    tj_messages_clear(&messages);
    tj_error_clear(&error);
    free(text);
    return 0;
}
