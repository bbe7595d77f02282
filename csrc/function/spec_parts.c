/* spec_parts.c: takes texts and names from arguments of a definition: see spec_parts.h. */
#include "function/spec_parts.h"

#include "base/errors.h"
#include "base/tuples.h"

const char *
cwj_take_text(cwj_spec *spec, PyObject *text, size_t *length)
{
    Py_ssize_t bytes = 0;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &bytes);
    if (utf8 == NULL || PyList_Append(spec->texts, text) < 0) {
        return NULL;
    }
    if (length != NULL) {
        *length = (size_t)bytes;
    }
    return utf8;
}

int
cwj_take_piece(cwj_spec *spec, tj_piece *piece, PyObject *text, const char *label)
{
    piece->file = cwj_arena_format(&spec->arena, "<cwrapjit %s %s>", spec->qualname, label);
    if (piece->file == NULL) {
        return -1;
    }
    piece->text = cwj_take_text(spec, text, &piece->length);
    if (piece->text == NULL && cwj_clear_expected(PyExc_UnicodeEncodeError, NULL)) {
        cwj_raise_text(piece->file,
                       "the C text holds a lone surrogate, which UTF-8 cannot express");
    }
    return piece->text != NULL ? 0 : -1;
}

static const char *const keywords[] = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",
};

static int
is_keyword(PyObject *text)
{
    for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
        if (PyUnicode_CompareWithASCIIString(text, keywords[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

int
cwj_is_name(PyObject *text)
{
    return PyUnicode_Check(text) && PyUnicode_IsIdentifier(text) && !is_keyword(text);
}

const char *
cwj_take_name(cwj_spec *spec, PyObject *name, const char *what)
{
    if (!PyUnicode_Check(name)) {
        cwj_refuse_type(spec->who, what, "a str", name);
        return NULL;
    }
    if (!cwj_is_name(name)) {
        cwj_refuse(spec->who, PyExc_ValueError, "%s %s: %R", what,
                   is_keyword(name) ? "is a keyword of Python" : "is not an identifier", name);
        return NULL;
    }
    return cwj_take_text(spec, name, NULL);
}

PyObject *
cwj_arguments_given(const cwj_arguments *arguments)
{
    PyObject *dict = PyDict_New();
#define ADD(name)                                               \
    if (arguments->name != NULL) {                              \
        cwj_dict_put(&dict, #name, Py_NewRef(arguments->name)); \
    }
    CWJ_POSITIONAL(ADD)
    CWJ_BY_KEYWORD(ADD)
#undef ADD
    return dict;
}
