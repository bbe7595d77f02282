/* spec_extras.c: reads extra arguments, each a tuple (c_type, name, default, parse code).
 *
 * PyArg_Parse() stores a value whose size depends on the parse code. A code that does not fit the C type would
 * overwrite neighbouring memory. Only the compiler knows the C type, so cwj_check_extras() compares the two after
 * compiling.
 */
#include "function/spec_parts.h"

#include "base/errors.h"

/* ---- before compiling -------------------------------------------------- */

static const char *
take_string(cwj_spec *spec, PyObject *object, const char *what)
{
    size_t length = 0;
    if (!PyUnicode_Check(object)) {
        cwj_refuse_type(spec->who, what, "a str", object);
        return NULL;
    }
    const char *text = cwj_take_text(spec, object, &length);
    if (text != NULL && strlen(text) != length) {
        cwj_refuse(spec->who, PyExc_ValueError, "%s holds a NUL character: %R", what, object);
        return NULL;
    }
    return text;
}

static int
take_default(cwj_spec *spec, tj_extra *extra, PyObject *object)
{
    tj_piece *piece = &extra->default_value;
    if (!PyUnicode_Check(object)) {
        return cwj_refuse(spec->who, PyExc_TypeError,
                          "extra argument '%s': the default is C text and must be a str, such as "
                          "\"%s\", not %s",
                          extra->name, PyLong_Check(object) ? "0" : "NULL",
                          Py_TYPE(object)->tp_name);
    }
    const char *label = cwj_arena_format(&spec->arena, "default of %s", extra->name);
    if (label == NULL || cwj_take_piece(spec, piece, object, label) < 0) {
        return -1;
    }
    if (strlen(piece->text) != piece->length) {
        cwj_raise_text(piece->file, "the C text holds a NUL character");
        return -1;
    }
    return 0;
}

static int
take_parse_code(cwj_spec *spec, tj_extra *extra, PyObject *object)
{
    if (!PyUnicode_Check(object)) {
        return cwj_refuse(spec->who, PyExc_TypeError,
                          "extra argument '%s': the parse code must be a str, not %s", extra->name,
                          Py_TYPE(object)->tp_name);
    }
    Py_UCS4 code = PyUnicode_GET_LENGTH(object) == 1 ? PyUnicode_READ_CHAR(object, 0) : 0;
    if (code != 0 && code < 128 && strchr(TJ_PARSE_CODES, (int)code) != NULL) {
        extra->code = (char)code;
        return 0;
    }
    const char *reason = PyUnicode_GET_LENGTH(object) > 1
                             ? "stands for several C values or none, and an extra argument is one"
                             : "is not known";
    return cwj_refuse(spec->who, PyExc_ValueError,
                      "extra argument '%s': the parse code %R %s; wanted one of %s", extra->name,
                      object, reason, TJ_PARSE_CODES);
}

/* parts: a tuple of four. */
static int
take_parts(cwj_spec *spec, tj_extra *extra, PyObject *parts, const char *what)
{
    const char *name_what = cwj_arena_format(&spec->arena, "%s: the name", what);
    const char *type_what = cwj_arena_format(&spec->arena, "%s: the C type", what);
    if (name_what == NULL || type_what == NULL) {
        return -1;
    }
    extra->name = cwj_take_name(spec, PyTuple_GET_ITEM(parts, 1), name_what);
    extra->c_type =
        extra->name == NULL ? NULL : take_string(spec, PyTuple_GET_ITEM(parts, 0), type_what);
    if (extra->c_type == NULL || take_default(spec, extra, PyTuple_GET_ITEM(parts, 2)) < 0) {
        return -1;
    }
    return take_parse_code(spec, extra, PyTuple_GET_ITEM(parts, 3));
}

static int
take_extra(cwj_spec *spec, tj_extra *extra, PyObject *item, Py_ssize_t index)
{
    const char *what = cwj_arena_format(&spec->arena, "extra_args[%zd]", index);
    if (what == NULL) {
        return -1;
    }
    if (!cwj_is_sequence(item)) {
        return cwj_refuse_type(spec->who, what, "a tuple (c_type, name, default, parse code)",
                               item);
    }
    PyObject *parts = cwj_take_tuple(spec, item, what);
    if (parts == NULL) {
        return -1;
    }
    if (PyTuple_GET_SIZE(parts) != 4) {
        return cwj_refuse(spec->who, PyExc_ValueError,
                          "%s must have 4 items (c_type, name, default, parse code), not %zd", what,
                          PyTuple_GET_SIZE(parts));
    }
    return take_parts(spec, extra, parts, what);
}

int
cwj_take_extras(cwj_spec *spec, PyObject *extra_args)
{
    if (!cwj_given(extra_args)) {
        return 0;
    }
    PyObject *list = cwj_take_tuple(spec, extra_args, "extra_args");
    Py_ssize_t count = list == NULL ? 0 : PyTuple_GET_SIZE(list);
    tj_extra *extras =
        list == NULL ? NULL : cwj_arena_alloc(&spec->arena, (size_t)count, sizeof(tj_extra));
    if (extras == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (take_extra(spec, &extras[i], PyTuple_GET_ITEM(list, i), i) < 0) {
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
