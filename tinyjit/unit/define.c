/* define.c: runs the pipeline of a definition: check, emit, compile, bind.
 *
 * A compiler stops at its first error. To report every faulty snippet at once, each piece is compiled alone
 * after the header when the definition has failed. */
#include <stddef.h>
#include <string.h>

#include "emit/emit.h"
#include "read/scan.h"

/* The pieces of a spec, for steps that treat all alike: the offset in the spec, and the part of tj_emit_function().
 * Bodies follow these, then the defaults of extra arguments, which belong to the cookie's part. */
static const struct {
    size_t piece;
    int part;
} fixed[] = {
    {offsetof(tj_spec, header), TJ_HEADER},
    {offsetof(tj_spec, cookie), TJ_COOKIE},
    {offsetof(tj_spec, validate), TJ_VALIDATE},
    {offsetof(tj_spec, cleanup), TJ_CLEANUP},
};
enum {
    FIRST_BODY = sizeof fixed / sizeof *fixed
};

static int count_parts(const tj_spec *spec)
{
    return FIRST_BODY + spec->ntypesets;
}

static int count_pieces(const tj_spec *spec)
{
    return count_parts(spec) + spec->nextras;
}

static const tj_piece *piece_at(const tj_spec *spec, int i)
{
    return i < FIRST_BODY          ? (const tj_piece *)((const char *)spec + fixed[i].piece)
           : i < count_parts(spec) ? &spec->typesets[i - FIRST_BODY].body
                                   : &spec->extras[i - count_parts(spec)].default_value;
}

static int part_at(int i)
{
    return i < FIRST_BODY ? fixed[i].part : TJ_BODY + i - FIRST_BODY;
}

/* Scans the pieces in the order of the unit: macros of earlier pieces apply to later ones. */
static tj_status scan_pieces(const tj_environment *environment, const tj_spec *spec,
                             tj_messages *messages, tj_error *error)
{
    size_t before = messages->count;
    tj_scanner *scanner = tj_scanner_new(environment, true, spec, messages);
    for (int i = 0; scanner && i < count_pieces(spec); i++)
        if (piece_at(spec, i)->text &&
            tj_scanner_check(scanner, piece_at(spec, i), i ? TJ_BLOCK_SCOPE : TJ_FILE_SCOPE,
                             messages) == TJ_OK &&
            i >= FIRST_BODY && i < count_parts(spec))
            tj_spec_check_indices(spec, &tj_scanner_text(scanner)->tokens, piece_at(spec, i),
                                  messages);
    tj_scanner_free(scanner);
    return tj_messages_judge(messages, before, "the C text cannot be compiled", error);
}

static tj_names *collect_names(const tj_spec *spec)
{
    tj_names *names = tj_names_new();
    bool fine = names != NULL;
    for (int i = 0; fine && i < count_pieces(spec); i++)
        if (piece_at(spec, i)->text)
            fine = tj_names_collect(names, piece_at(spec, i)->text, piece_at(spec, i)->length);
    if (!fine) {
        tj_names_free(names);
        names = NULL;
    }
    return names;
}

/* Emits and compiles one part. The caller clears text. */
static tj_status compile_part(tj_environment *environment, const tj_spec *spec, int part, int form,
                              const tj_names *names, tj_text *text, tj_unit **unit,
                              tj_messages *messages, tj_error *error)
{
    *unit = NULL;
    tj_status status = tj_emit_function(spec, part, form, text);
    if (status)
        return tj_fail_no_memory(error);
    status = tj_compile(environment, text->data, names, unit, messages, error);
    tj_messages_locate(messages, &(tj_piece){spec->generated, text->data, text->length});
    return status;
}

/* Compiles a part only for the compiler's messages. */
static bool try_part(tj_environment *environment, const tj_spec *spec, int part,
                     const tj_names *names, tj_messages *messages)
{
    tj_text text = {0};
    tj_unit *unit = NULL;
    tj_error error;
    tj_error_init(&error);
    tj_status status = compile_part(environment, spec, part, TJ_ALL_NAMES | TJ_APART, names, &text,
                                    &unit, messages, &error);
    tj_unit_free(unit);
    tj_text_clear(&text);
    tj_error_clear(&error);
    return status != TJ_COMPILE_FAILED;
}

/* Adds the faults of all pieces to the known ones. */
static void look_at_each(tj_environment *environment, const tj_spec *spec, const tj_names *names,
                         tj_messages *messages)
{
    for (int i = 0; i < count_parts(spec); i++) {
        if (part_at(i) != TJ_COOKIE && !piece_at(spec, i)->text)
            continue;
        tj_messages more = {0};
        bool fine = try_part(environment, spec, part_at(i), names, &more);
        for (size_t k = 0; k < more.count; k++)
            if (more.items[k].is_error && !tj_messages_have(messages, &more.items[k]))
                tj_messages_add(messages, true, more.items[k].file, more.items[k].line,
                                more.items[k].text);
        messages->failed |= more.failed;
        tj_messages_clear(&more);
        if (!fine && i < 2)
            return; /* a fault in the text that precedes all pieces is reported once */
    }
}

static tj_status find_descriptor(const tj_spec *spec, tj_function *function, tj_error *error)
{
    tj_text symbol = {0};
    tj_text_printf(&symbol, "cwj_function__%s", spec->name);
    if (symbol.failed)
        return tj_fail_no_memory(error);
    function->decl = tj_unit_symbol(function->unit, symbol.data);
    tj_text_clear(&symbol);
    return function->decl
               ? TJ_OK
               : tj_fail(error, TJ_COMPILE_FAILED, "the compiled unit has no descriptor");
}

static tj_status compile_whole(tj_environment *environment, const tj_spec *spec, int form,
                               const tj_names *names, tj_function *function, tj_messages *messages,
                               tj_error *error)
{
    tj_text text = {0};
    tj_status status = compile_part(environment, spec, TJ_ALL, form, names, &text, &function->unit,
                                    messages, error);
    if (status == TJ_OK) {
        function->source = tj_text_take(&text);
        function->all_names = (form & TJ_ALL_NAMES) != 0;
        status = find_descriptor(spec, function, error);
    }
    tj_text_clear(&text);
    return status;
}

/* Compiles in the first form that works. If a loop cannot contain its slice, the slice becomes a function; if
 * a macro of an included file may hide names, all names are passed. Errors of the last form are faults of the
 * user's text. */
static tj_status compile_forms(tj_environment *environment, const tj_spec *spec,
                               const tj_names *names, tj_function *function, int *form,
                               tj_messages *messages, tj_error *error)
{
    static const int forms[] = {0, TJ_ALL_NAMES, TJ_APART, TJ_ALL_NAMES | TJ_APART};
    tj_status status = TJ_COMPILE_FAILED;
    for (size_t i = 0; status == TJ_COMPILE_FAILED && i < sizeof(forms) / sizeof(*forms); i++) {
        if (i > 0) {
            tj_messages_clear(messages);
            tj_error_clear(error);
        }
        *form = forms[i];
        status = compile_whole(environment, spec, *form, names, function, messages, error);
    }
    /* The text takes stack that is freed only when its function returns, and a macro of an included file hid that when
     * the slice was put into its loop. */
    if (status == TJ_OK && tj_unit_symbol(function->unit, "alloca")) {
        tj_function_clear(function);
        tj_messages_clear(messages);
        *form |= TJ_APART;
        status = compile_whole(environment, spec, *form, names, function, messages, error);
        function->apart = true;
    }
    return status;
}

/* Returns true if the order of slices does not matter: they have no effects but on their outputs, keep no
 * state, and never end the call early. Returns false for slices that are separate functions (TJ_APART): a
 * macro of an included file could hide a `return` there. In a loop, such a hidden return does not compile. */
static bool is_orderless(const tj_spec *spec, const tj_function *function, int form)
{
    bool total = !(form & TJ_APART) && (!spec->cookie.length || spec->cookie_readonly);
    for (int k = 0; k < spec->noperands; k++)
        total = total && spec->operands[k].role != TJ_SHARED;
    for (int t = 0; total && t < spec->ntypesets; t++) {
        const tj_piece *piece = &spec->typesets[t].body;
        tj_tokens tokens;
        tj_body body = {0};
        total = tj_tokens_list(&tokens, piece->text, piece->length) &&
                tj_body_read(&tokens, &body) && body.total;
        tj_body_clear(&body);
        tj_tokens_clear(&tokens);
    }
    /* Only CHECK_CONTIGUOUS_AND_SETERROR__X() and similar macros, in the generated text, call that. */
    bool raises = strstr(function->source, "_or_error(cwj");
    return total && !raises && !tj_unit_has_state(function->unit) &&
           !tj_unit_speaks(function->unit);
}

tj_status tj_define(tj_environment *environment, const tj_spec *spec, tj_function *function,
                    tj_messages *messages, tj_error *error)
{
    memset(function, 0, sizeof *function);
    tj_names *names = NULL;
    int form = 0;
    tj_status status = tj_spec_check(spec, messages, error);
    if (status == TJ_OK)
        status = scan_pieces(environment, spec, messages, error);
    if (status != TJ_OK)
        goto done;
    names = collect_names(spec);
    if (!names) {
        status = tj_fail_no_memory(error);
        goto done;
    }
    status = compile_forms(environment, spec, names, function, &form, messages, error);
    if (status == TJ_COMPILE_FAILED)
        look_at_each(environment, spec, names, messages);
    else if (status == TJ_OK)
        function->orderless = is_orderless(spec, function, form);
done:
    for (int i = 0; i < count_pieces(spec); i++)
        tj_messages_locate(messages, piece_at(spec, i));
    tj_names_free(names);
    if (status != TJ_OK)
        tj_function_clear(function);
    return status;
}

void tj_function_clear(tj_function *function)
{
    tj_unit_free(function->unit);
    tj_free(function->source);
    memset(function, 0, sizeof *function);
}
