/* template.c: "%(x)s" becomes what x is bound to, "%%" a percent sign.
 *
 * The form is that of Python's % operator with a dict, and no more of it: a
 * percent sign that begins anything else is refused with its place, since in C
 * text it is a slip.
 */
#include <string.h>

#include "read/tokens.h"

static const tj_binding *find_binding(const tj_binding *bindings, size_t nbindings,
                                      const char *name, size_t length)
{
    for (size_t i = 0; i < nbindings; i++)
        if (strlen(bindings[i].name) == length && !memcmp(bindings[i].name, name, length))
            return &bindings[i];
    return NULL;
}

/* The place is that of the percent sign at `offset`. */
static tj_status refuse(const char *text, size_t length, size_t offset, const char *what,
                        tj_error *error)
{
    int line, column;
    tj_text_place(text, length, offset, &line, &column);
    tj_status status = tj_fail(error, TJ_BAD_SPEC, "line %d, column %d: %s", line, column, what);
    if (error)
        error->position = (ptrdiff_t)offset;
    return status;
}

static tj_status refuse_name(const char *text, size_t length, size_t offset, size_t name_length,
                             const tj_binding *bindings, size_t nbindings, tj_error *error)
{
    tj_text what = {0};
    tj_text_printf(&what, "%%(%.*s)s is not known here, only", (int)name_length, text + offset + 2);
    for (size_t i = 0; i < nbindings; i++)
        tj_text_printf(&what, "%s %%(%s)s", i ? "," : "", bindings[i].name);
    tj_status status =
        what.failed ? tj_fail_no_memory(error) : refuse(text, length, offset, what.data, error);
    tj_text_clear(&what);
    return status;
}

/* Handles the percent sign at *at and moves behind what it begins. */
static tj_status fill_one(const char *text, size_t length, size_t *at, const tj_binding *bindings,
                          size_t nbindings, tj_text *out, tj_error *error)
{
    size_t offset = *at, left = length - offset;
    const char *here = text + offset;
    if (left > 1 && here[1] == '%') {
        tj_text_puts(out, "%");
        *at += 2;
        return TJ_OK;
    }
    const char *close = left > 1 && here[1] == '(' ? memchr(here, ')', left) : NULL;
    if (!close || close + 1 == text + length || close[1] != 's')
        return refuse(text, length, offset,
                      "a '%' that begins neither \"%(name)s\" nor \"%%\" (in a template, \"%%\" "
                      "stands for one percent sign)",
                      error);
    size_t name_length = (size_t)(close - here) - 2;
    const tj_binding *binding = find_binding(bindings, nbindings, here + 2, name_length);
    if (!binding)
        return refuse_name(text, length, offset, name_length, bindings, nbindings, error);
    tj_text_puts(out, binding->text);
    *at += name_length + 4;
    return TJ_OK;
}

tj_status tj_template_fill(const char *text, size_t length, const tj_binding *bindings,
                           size_t nbindings, tj_text *out, tj_error *error)
{
    tj_status status = TJ_OK;
    for (size_t at = 0; at < length && !status;) {
        const char *percent = memchr(text + at, '%', length - at);
        size_t end = percent ? (size_t)(percent - text) : length;
        tj_text_add(out, text + at, end - at);
        at = end;
        if (percent)
            status = fill_one(text, length, &at, bindings, nbindings, out, error);
    }
    return !status && out->failed ? tj_fail_no_memory(error) : status;
}
