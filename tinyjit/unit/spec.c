/* spec.c: makes the checks of a definition that need no compiler. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"
#include "read/scan.h"

/* ---- names --------------------------------------------------------------- */

static tj_status check_name(const char *what, const char *name, bool may_be_output, tj_error *error)
{
    if (!strncmp(name, "cwj_", 4))
        return tj_fail(error, TJ_BAD_SPEC, "%s '%s': names that begin with cwj_ are reserved", what,
                       name);
    bool output = !strncmp(name, "output", 6) && !name[6 + strspn(name + 6, "0123456789")];
    if (!strcmp(name, "cookie") || (!may_be_output && (!strcmp(name, "out") || output)))
        return tj_fail(error, TJ_BAD_SPEC, "%s '%s': this name is reserved", what, name);
    return TJ_OK;
}

/* Checks the name of an extra argument. Generated parameters end with two underscores and the operand's name; an extra
 * argument with such a name would hide one. */
static tj_status check_extra_name(const tj_spec *spec, const char *name, tj_error *error)
{
    tj_status status = check_name("extra argument", name, false, error);
    if (status != TJ_OK)
        return status;
    size_t length = strlen(name);
    if (tj_word_of(name, length) || tj_word_among(name, length, "true false NULL"))
        return tj_fail(error, TJ_BAD_SPEC, "extra argument '%s': this is a word of C", name);
    const char *tail = strstr(name, "__");
    for (int k = 0; tail && k < spec->noperands; k++)
        if (!strcmp(tail + 2, spec->operands[k].name))
            return tj_fail(error, TJ_BAD_SPEC,
                           "extra argument '%s': this name is generated for '%s'", name, tail + 2);
    return TJ_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static tj_status check_unique(const tj_spec *spec, tj_error *error)
{
    size_t count = 0;
    const char **names =
        tj_alloc_zeroed((size_t)spec->noperands + (size_t)spec->nextras, sizeof *names);
    if (!names)
        return tj_fail_no_memory(error);
    for (int k = 0; k < spec->noperands; k++)
        names[count++] = spec->operands[k].name;
    for (int i = 0; i < spec->nextras; i++)
        names[count++] = spec->extras[i].name;
    if (count > 0)
        qsort(names, count, sizeof *names, compare_names);
    tj_status status = TJ_OK;
    for (size_t i = 1; i < count && !status; i++)
        if (!strcmp(names[i - 1], names[i]))
            status = tj_fail(error, TJ_BAD_SPEC, "argument '%s' is named twice", names[i]);
    tj_free(names);
    return status;
}

static tj_status check_names(const tj_spec *spec, tj_error *error)
{
    tj_status status = TJ_OK;
    for (int k = 0; k < spec->noperands && !status; k++) {
        bool is_output = k >= spec->noperands - spec->noutputs;
        status =
            check_name(is_output ? "output" : "argument", spec->operands[k].name, is_output, error);
    }
    for (int i = 0; i < spec->nextras && !status; i++)
        status = check_extra_name(spec, spec->extras[i].name, error);
    return status ? status : check_unique(spec, error);
}

/* ---- extras --------------------------------------------------- */

/* Accepts only plain type names, which cannot end the declaration that contains them. */
static bool is_type_name(const char *text)
{
    bool any = false, stars = false;
    for (; *text; text++) {
        bool word = isalnum((unsigned char)*text) || *text == '_' || (unsigned char)*text >= 0x80;
        if (*text == '*')
            stars = true;
        else if (word && stars)
            return false;
        else if (word)
            any = true;
        else if (*text != ' ')
            return false;
    }
    return any;
}

static tj_status check_extras(const tj_spec *spec, tj_error *error)
{
    for (int i = 0; i < spec->nextras; i++) {
        const tj_extra *extra = &spec->extras[i];
        if (!is_type_name(extra->c_type))
            return tj_fail(error, TJ_BAD_SPEC,
                           "extra argument '%s': '%s' is not a plain type name such as double or "
                           "const char*",
                           extra->name, extra->c_type);
        if (!extra->default_value.text[strspn(extra->default_value.text, " \t\n")])
            return tj_fail(error, TJ_BAD_SPEC,
                           "extra argument '%s': the default is empty; wanted a C expression",
                           extra->name);
    }
    return TJ_OK;
}

/* ---- snippets that use names of another kind --------------------------------- */

/* Names that are not available in a kind of snippet; each is a prefix of an operand's name. */
typedef struct absence {
    const char *prefix;
    const char *reason; /* "%s" stands for the operand */
} absence;

static const absence not_in_validate[] = {
    {"data_slice__", "is for Ccode_slice_eval; Ccode_validate has data__%s"},
    {"item__", "is for Ccode_slice_eval; Ccode_validate has data__%s"},
    {"ctype__", "is for Ccode_slice_eval; Ccode_validate has data__%s"},
    {NULL, NULL}};
static const absence not_in_slice[] = {
    {"data__", "is for Ccode_validate; Ccode_slice_eval has data_slice__%s"}, {NULL, NULL}};
/* For operands whose type is not a C type. */
static const absence not_in_raw_slice[] = {
    {"data__", "is for Ccode_validate; Ccode_slice_eval has data_slice__%s"},
    {"item__", "needs a type that C can index; use data_slice__%s and the strides"},
    {"ctype__", "needs a type that C has; use data_slice__%s and the strides"},
    {NULL, NULL}};
#define RUNS_ALWAYS "is not for Ccode_cookie_cleanup, which runs even without '%s'"
static const absence not_in_cleanup[] = {
    {"data__", RUNS_ALWAYS},           {"data_slice__", RUNS_ALWAYS},
    {"item__", RUNS_ALWAYS},           {"ctype__", RUNS_ALWAYS},
    {"Ndims_full__", RUNS_ALWAYS},     {"dims_full__", RUNS_ALWAYS},
    {"strides_full__", RUNS_ALWAYS},   {"Ndims_slice__", RUNS_ALWAYS},
    {"dims_slice__", RUNS_ALWAYS},     {"strides_slice__", RUNS_ALWAYS},
    {"sizeof_element__", RUNS_ALWAYS}, {NULL, NULL}};

/* Returns the absence whose prefix, joined with the operand's name, is the token. */
static const absence *find_absence(const absence *absences, const tj_token *token,
                                   const char *operand)
{
    size_t length = strlen(operand);
    if (token->length < length || memcmp(token->text + token->length - length, operand, length))
        return NULL;
    for (; absences->prefix; absences++)
        if (strlen(absences->prefix) == token->length - length &&
            !memcmp(absences->prefix, token->text, token->length - length))
            return absences;
    return NULL;
}

/* Returns true if C sees the numbers of an operand or of a field, but cannot recognise NaT. */
static bool has_times(const tj_spec *spec, const tj_type *types)
{
    static const char *const labels[] = {"datetime64", "timedelta64", "M8[", "m8["};
    bool found = false;
    for (int k = 0; types && k < spec->noperands; k++)
        for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
            found |= strstr(types[k].label, labels[i]) != NULL;
    return found;
}

/* Refuses the first absent name. types is NULL, or the operands' types. */
static bool has_absent_name(const tj_spec *spec, const tj_piece *piece, const absence *absences,
                            const tj_type *types, tj_messages *messages)
{
    bool found = false, times = has_times(spec, types);
    tj_lexer lexer;
    tj_lexer_init(&lexer, piece->text, piece->length);
    while (!found) {
        tj_token token = tj_lexer_next(&lexer);
        if (token.kind == TJ_TOKEN_END)
            break;
        for (int k = 0; token.kind == TJ_TOKEN_NAME && !found && k < spec->noperands; k++) {
            const char *operand = spec->operands[k].name;
            bool raw = types && !types[k].ctype;
            const absence *absent =
                find_absence(raw ? not_in_raw_slice : absences, &token, operand);
            found = absent != NULL;
            if (!found)
                continue;
            tj_text reason = {0};
            tj_text_printf(&reason, absent->reason, operand);
            if (!reason.failed)
                tj_messages_add_at(messages, piece, token.start, token.end, "'%.*s' %s",
                                   (int)token.length, token.text, reason.data);
            messages->failed |= reason.failed;
            tj_text_clear(&reason);
        }
        if (times && token.kind == TJ_TOKEN_NAME && !found &&
            tj_word_among(token.text, token.length, "npy_maximum npy_minimum npy_amax npy_amin")) {
            tj_messages_add_at(messages, piece, token.start, token.end,
                               "'%.*s' takes \"not a time\" for a number: look for "
                               "NPY_DATETIME_NAT, and compare with < and >",
                               (int)token.length, token.text);
            found = true;
        }
    }
    messages->failed |= lexer.spelling.failed;
    tj_lexer_clear(&lexer);
    return found;
}

/* ---- indices that are constants ---------------------------------------------- */

/* Checks the index of an axis, the tokens [first, behind): a constant index must be less than a fixed length. */
static void check_index(const tj_operand *operand, int axis, const tj_tokens *tokens, size_t first,
                        size_t behind, const tj_piece *piece, tj_messages *messages)
{
    bool negative = tj_token_at(tokens, first, "-");
    size_t i = first + negative;
    if (axis >= operand->ndims || operand->dims[axis].name || i + 1 != behind ||
        tokens->items[i].kind != TJ_TOKEN_NUMBER || tokens->items[i].doubtful)
        return;
    const tj_token *token = &tokens->items[i];
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(token->text, &end, 0);
    bool whole = end + strspn(end, "uUlL") == token->text + token->length;
    bool above = errno || (!negative && value >= (unsigned long long)operand->dims[axis].size);
    if (whole && (above || (negative && value > 0)))
        tj_messages_add_at(messages, piece, tokens->items[first].start, token->end,
                           "the index %s%.*s is outside of axis %d of a slice of '%s', which has "
                           "%td element%s",
                           negative ? "-" : "", (int)token->length, token->text, axis,
                           operand->name, operand->dims[axis].size,
                           operand->dims[axis].size == 1 ? "" : "s");
}

/* Checks the indices of "item__x(", which begins at i - 1. */
static void check_item(const tj_operand *operand, const tj_tokens *tokens, size_t i,
                       const tj_piece *piece, tj_messages *messages)
{
    size_t close = tokens->mates[i], first = i + 1;
    int axis = 0;
    for (size_t at = first; at <= close && close < tokens->count; at++) {
        if (at == close || tj_token_at(tokens, at, ",")) {
            check_index(operand, axis++, tokens, first, at, piece, messages);
            first = at + 1;
        } else if (tj_token_in(tokens, at, "([{")) {
            at = tokens->mates[at];
        }
    }
}

void tj_spec_check_indices(const tj_spec *spec, const tj_tokens *tokens, const tj_piece *piece,
                           tj_messages *messages)
{
    int conditions = 0; /* it is not known which lines an #if removes */
    for (size_t i = 0; i + 1 < tokens->count; i++) {
        conditions += tokens->items[i].kind == TJ_TOKEN_IF;
        conditions -= tokens->items[i].kind == TJ_TOKEN_ENDIF;
        for (int k = 0; k < spec->noperands && !conditions && tj_token_at(tokens, i + 1, "("); k++)
            if (tj_token_is_joined(&tokens->items[i], "item__", spec->operands[k].name))
                check_item(&spec->operands[k], tokens, i + 1, piece, messages);
    }
}

static tj_status check_snippets(const tj_spec *spec, tj_messages *messages, tj_error *error)
{
    bool found = has_absent_name(spec, &spec->validate, not_in_validate, NULL, messages);
    found |= has_absent_name(spec, &spec->cleanup, not_in_cleanup, NULL, messages);
    for (int t = 0; t < spec->ntypesets; t++)
        found |= has_absent_name(spec, &spec->typesets[t].body, not_in_slice,
                                 spec->typesets[t].types, messages);
    return tj_messages_judge(messages, messages->count - found,
                             "a snippet uses what another kind has", error);
}

tj_status tj_spec_check(const tj_spec *spec, tj_messages *messages, tj_error *error)
{
    tj_status status = check_names(spec, error);
    if (status == TJ_OK)
        status = check_extras(spec, error);
    return status ? status : check_snippets(spec, messages, error);
}

/* ---- the signature as text --------------------------------------------------- */

static void add_operand(const tj_operand *operand, tj_text *text)
{
    const char *role = operand->role == TJ_INOUT    ? "inout "
                       : operand->role == TJ_SHARED ? "shared "
                                                    : "";
    tj_text_printf(text, "%s%s(", role, operand->name);
    for (int i = 0; i < operand->ndims; i++) {
        if (operand->dims[i].name)
            tj_text_printf(text, "%s%s", i ? ", " : "", operand->dims[i].name);
        else
            tj_text_printf(text, "%s%td", i ? ", " : "", operand->dims[i].size);
    }
    tj_text_puts(text, ")");
}

char *tj_spec_signature(const tj_spec *spec)
{
    tj_text text = {0};
    int ninputs = spec->noperands - spec->noutputs;
    bool tuple = spec->noutputs == 1 && !(spec->flags & CWJ_ONE_OUTPUT);
    for (int k = 0; k < spec->noperands; k++) {
        if (k == ninputs)
            tj_text_puts(&text, k ? " -> " : "-> ");
        else if (k)
            tj_text_puts(&text, ", ");
        if (k == ninputs && tuple)
            tj_text_puts(&text, "(");
        add_operand(&spec->operands[k], &text);
    }
    tj_text_puts(&text, spec->noutputs == 0 ? " ->" : tuple ? ",)" : "");
    if (text.failed)
        tj_text_clear(&text);
    return text.data;
}
