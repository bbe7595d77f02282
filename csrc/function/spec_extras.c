/* spec_extras.c: reads extra arguments, each a tuple (c_type, name, default, parse code).
 *
 * PyArg_Parse() stores a value whose size depends on the parse code. A code that does not fit the C type would
 * overwrite neighbouring memory. Only the compiler knows the C type, so cwj_check_extras() compares the two after
 * compiling.
 */
#include "function/spec_parts.h"

#include "base/errors.h"

/* ---- before compiling -------------------------------------------------- */

static int
take_extra(cwj_spec *spec, tj_extra *extra, PyObject *item)
{
    PyObject *ctype, *name, *text, *code;
    tj_piece *piece = &extra->default_value;
    if (!PyArg_ParseTuple(item, "UUUU:extra", &ctype, &name, &text, &code)) {
        return -1;
    }
    extra->c_type = PyUnicode_AsUTF8(ctype);
    extra->name = extra->c_type == NULL ? NULL : PyUnicode_AsUTF8(name);
    const char *label =
        extra->name == NULL ? NULL : cwj_arena_format(&spec->arena, "default of %s", extra->name);
    if (label == NULL || cwj_take_piece(spec, piece, text, label) < 0) {
        return -1;
    }
    if (strlen(piece->text) != piece->length) {
        cwj_raise_text(piece->file, "the C text holds a NUL character");
        return -1;
    }
    extra->code = (char)PyUnicode_READ_CHAR(code, 0);
    return 0;
}

int
cwj_read_extras(cwj_spec *spec, PyObject *items)
{
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    tj_extra *extras = cwj_arena_alloc(&spec->arena, (size_t)count, sizeof(tj_extra));
    for (Py_ssize_t i = 0; i < count; i++) {
        if (extras == NULL || take_extra(spec, &extras[i], PyTuple_GET_ITEM(items, i)) < 0) {
            return -1;
        }
    }
    spec->tj.extras = extras;
    spec->tj.nextras = (int)count;
    return 0;
}

/* ---- after compiling --------------------------------------------------- */

/* A parse code and the C types that it fits. kinds: values of cwj_extra.kind. */
typedef struct {
    char code;
    const char *kinds;
    size_t size; /* 0: any */
    const char *stores;
} code_rule;

static const code_rule code_rules[] = {
    {'b', "iu", sizeof(unsigned char), "an unsigned char"},
    {'B', "iu", sizeof(unsigned char), "an unsigned char"},
    {'h', "iu", sizeof(short), "a short"},
    {'H', "iu", sizeof(unsigned short), "an unsigned short"},
    {'i', "iu", sizeof(int), "an int"},
    {'I', "iu", sizeof(unsigned int), "an unsigned int"},
    {'l', "iu", sizeof(long), "a long"},
    {'k', "iu", sizeof(unsigned long), "an unsigned long"},
    {'L', "iu", sizeof(long long), "a long long"},
    {'K', "iu", sizeof(unsigned long long), "an unsigned long long"},
    {'n', "iu", sizeof(Py_ssize_t), "a Py_ssize_t"},
    {'c', "iu", sizeof(char), "a char"},
    {'p', "iub", 0, "a truth value"},
    {'d', "f", sizeof(double), "a double"},
    {'f', "f", sizeof(float), "a float"},
    {'s', "s", sizeof(char *), "a const char*"},
    {'z', "s", sizeof(char *), "a const char*"},
    {'y', "s", sizeof(char *), "a const char*"},
    {'O', "O", sizeof(PyObject *), "a PyObject*"},
};

_Static_assert(sizeof code_rules / sizeof *code_rules == sizeof TJ_PARSE_CODES - 1,
               "a rule for each code");

static const char *
kind_name(char kind)
{
    return kind == 'i'   ? "a signed integer"
           : kind == 'u' ? "an unsigned integer"
           : kind == 'b' ? "a bool"
           : kind == 'f' ? "a floating-point number"
           : kind == 's' ? "a pointer to char"
           : kind == 'O' ? "a PyObject*"
                         : "something else";
}

static int
check_extra(const cwj_spec *spec, const cwj_extra *extra)
{
    const code_rule *rule = code_rules;
    while (rule->code != extra->code) { /* take_parse_code() accepts only these codes */
        rule++;
    }
    if (strchr(rule->kinds, extra->kind) != NULL && extra->kind != '\0' &&
        (rule->size == 0 || rule->size == extra->size)) {
        return 0;
    }
    return cwj_refuse(
        spec->who, PyExc_ValueError,
        "extra argument '%s': the parse code '%c' stores %s, but the C type '%s' is %s "
        "of %zu bytes",
        extra->name, extra->code, rule->stores, extra->c_type, kind_name(extra->kind), extra->size);
}

int
cwj_check_extras(const cwj_spec *spec, const cwj_function_decl *decl)
{
    for (int i = 0; i < decl->nextras; i++) {
        if (check_extra(spec, &decl->extras[i]) < 0) {
            return -1;
        }
    }
    return 0;
}
