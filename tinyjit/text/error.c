/* error.c: fills and clears a tj_error.
 *
 * `brief` is a static text for each status, so that an out-of-memory error needs no allocation; `text` is the
 * whole message if there is memory for it. */
#include "internal.h"

static const char *const briefs[] = {
    [TJ_OK] = "no error",
    [TJ_NO_MEMORY] = "out of memory",
    [TJ_TOO_LARGE] = "compiling takes more memory than the limit",
    [TJ_BAD_SPEC] = "the definition makes no sense",
    [TJ_COMPILE_FAILED] = "the C text does not compile",
    [TJ_NO_SYMBOL] = "a symbol is not defined anywhere",
    [TJ_NO_LIBRARY] = "a library or a source file cannot be opened",
    [TJ_NO_EXEC] = "the system refuses executable memory",
    [TJ_NO_BACKEND] = "libtcc cannot be loaded",
};

void tj_error_init(tj_error *error)
{
    *error = (tj_error){.status = TJ_OK};
}

void tj_error_clear(tj_error *error)
{
    if (!error)
        return;
    tj_free(error->text);
    tj_error_init(error);
}

tj_status tj_fail_no_memory(tj_error *error)
{
    if (error) {
        tj_error_clear(error);
        error->status = TJ_NO_MEMORY;
        error->brief = briefs[TJ_NO_MEMORY];
    }
    return TJ_NO_MEMORY;
}

tj_status tj_fail(tj_error *error, tj_status status, const char *format, ...)
{
    if (!error)
        return status;
    if (status == TJ_NO_MEMORY)
        return tj_fail_no_memory(error);
    tj_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    tj_text_vprintf(&text, format, arguments);
    va_end(arguments);
    if (text.failed) {
        tj_text_clear(&text);
        return tj_fail_no_memory(error);
    }
    /* Clear it only now: the arguments may point into the old text. */
    tj_error_clear(error);
    error->status = status;
    error->brief = briefs[status];
    error->text = text.data;
    return status;
}
