/* spec.c: from Python objects to a description that needs no Python.
 *
 * What is checked here is what takes Python to know: that things are of the
 * right kind and names are Python names. tj_spec_check() does the rest.
 */
#include "spec_parts.h"

#include "../tinyjit/abi.h"
#include "errors.h"

/* ---- texts ------------------------------------------------------------- */

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

const char *
cwj_take_code(cwj_spec *spec, const cwj_module_state *state, PyObject *text, const char *file,
              size_t *length)
{
    const char *utf8 = cwj_take_text(spec, text, length);
    if (utf8 == NULL && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
        PyErr_Clear();
        cwj_raise_text(state, file,
                       "the C text holds a lone surrogate, which UTF-8 cannot express");
    }
    return utf8;
}

/* Sorted by nothing but use: one comparison each, once per definition. */
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
        cwj_refuse(spec->who, PyExc_TypeError, "%s must be a str, not %s", what,
                   Py_TYPE(name)->tp_name);
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
cwj_take_tuple(cwj_spec *spec, PyObject *object, const char *what)
{
    if (!cwj_is_sequence(object)) {
        cwj_refuse(spec->who, PyExc_TypeError, "%s must be a tuple or list, not %s", what,
                   Py_TYPE(object)->tp_name);
        return NULL;
    }
    return PySequence_Tuple(object);
}

/* ---- pieces of C ------------------------------------------------------- */

/* "<cwrapjit innerlib.inner validate>" */
static int
take_piece(cwj_spec *spec, const cwj_module_state *state, tj_piece *piece, PyObject *text,
           const char *argument, const char *label)
{
    if (text == NULL || text == Py_None) {
        return 0;
    }
    if (!PyUnicode_Check(text)) {
        return cwj_refuse(spec->who, PyExc_TypeError, "%s must be a str, not %s", argument,
                          Py_TYPE(text)->tp_name);
    }
    piece->file = cwj_arena_format(&spec->arena, "<cwrapjit %s %s>", spec->qualname, label);
    if (piece->file == NULL) {
        return -1;
    }
    piece->text = cwj_take_code(spec, state, text, piece->file, &piece->length);
    return piece->text != NULL ? 0 : -1;
}

/* A text of nothing but blanks is as good as none. */
static void
drop_if_blank(tj_piece *piece)
{
    for (size_t i = 0; i < piece->length; i++) {
        if (strchr(" \t\r\n\f\v", piece->text[i]) == NULL || piece->text[i] == '\0') {
            return;
        }
    }
    *piece = (tj_piece){0};
}

static int
take_pieces(cwj_spec *spec, const cwj_module_state *state, PyObject *header,
            const cwj_arguments *arguments)
{
    tj_spec *tj = &spec->tj;
    if (take_piece(spec, state, &tj->header, header, "header", "header") < 0 ||
        take_piece(spec, state, &tj->cookie, arguments->cookie_struct, "Ccode_cookie_struct",
                   "cookie") < 0 ||
        take_piece(spec, state, &tj->validate, arguments->validate, "Ccode_validate", "validate") <
            0 ||
        take_piece(spec, state, &tj->cleanup, arguments->cookie_cleanup, "Ccode_cookie_cleanup",
                   "cleanup") < 0) {
        return -1;
    }
    if (tj->header.text != NULL && tj->module != NULL) { /* one for all of a module's functions */
        tj->header.file = cwj_arena_format(&spec->arena, "<cwrapjit %s header>", tj->module);
        if (tj->header.file == NULL) {
            return -1;
        }
    }
    drop_if_blank(&tj->header);
    drop_if_blank(&tj->cookie);
    drop_if_blank(&tj->validate);
    drop_if_blank(&tj->cleanup);
    return 0;
}

/* ---- the whole --------------------------------------------------------- */

static int
take_names(cwj_spec *spec, PyObject *module, PyObject *name)
{
    if (module != NULL) {
        spec->tj.module = cwj_take_text(spec, module, NULL);
        if (spec->tj.module == NULL) {
            return -1;
        }
    }
    const char *dot = module != NULL ? "." : "";
    const char *prefix = module != NULL ? spec->tj.module : "";
    spec->who = cwj_arena_format(&spec->arena, "%s%sfunction()", prefix, dot);
    if (spec->who == NULL) {
        return -1;
    }
    spec->tj.name = cwj_take_name(spec, name, "name");
    if (spec->tj.name == NULL) {
        return -1;
    }
    spec->qualname = cwj_arena_format(&spec->arena, "%s%s%s", prefix, dot, spec->tj.name);
    if (spec->qualname == NULL) {
        return -1;
    }
    spec->who = cwj_arena_format(&spec->arena, "%s()", spec->qualname);
    return spec->who != NULL ? 0 : -1;
}

static void
take_flags(cwj_spec *spec, const cwj_options *options)
{
    spec->tj.flags |= (options->inplace == 1 ? CWJ_INPLACE : 0) |
                      (options->cast_safe == 1 ? CWJ_CAST_SAFE : 0) |
                      (options->gil == 0 ? CWJ_RELEASE_GIL | CWJ_GIL_ALWAYS : 0) |
                      (options->unordered == 1 ? CWJ_UNORDERED : 0);
    spec->tj.threads = options->threads;
    spec->tj.cookie_readonly = options->cookie_readonly == 1;
}

static int
fill_spec(cwj_spec *spec, const cwj_module_state *state, PyObject *module, PyObject *header,
          const cwj_arguments *arguments, const cwj_options *options)
{
    if (take_names(spec, module, arguments->name) < 0 || cwj_take_operands(spec, arguments) < 0 ||
        cwj_take_extras(spec, state, arguments->extra_args) < 0 ||
        cwj_take_typesets(spec, state, arguments->slice_eval) < 0 ||
        take_pieces(spec, state, header, arguments) < 0) {
        return -1;
    }
    take_flags(spec, options);
    return 0;
}

cwj_spec *
cwj_spec_new(const cwj_module_state *state, PyObject *module, PyObject *header,
             const cwj_arguments *arguments, const cwj_options *options)
{
    cwj_spec *spec = PyMem_Calloc(1, sizeof(*spec));
    if (spec == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    spec->texts = PyList_New(0);
    if (spec->texts == NULL || fill_spec(spec, state, module, header, arguments, options) < 0) {
        cwj_spec_free(spec);
        return NULL;
    }
    return spec;
}

void
cwj_spec_free(cwj_spec *spec)
{
    if (spec != NULL) {
        tj_signature_clear(&spec->signature);
        cwj_arena_clear(&spec->arena);
        Py_XDECREF(spec->texts);
        PyMem_Free(spec);
    }
}
