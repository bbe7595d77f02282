/* spec.c: converts Python objects to a description that needs no Python.
 *
 * Here and in Python are only the checks that need Python: the types of objects, and whether names are valid in it.
 * tj_spec_check() makes the others.
 */
#include "function/spec_parts.h"

#include "base/errors.h"

/* ---- pieces of C ------------------------------------------------------- */

static int
take_piece(cwj_spec *spec, tj_piece *piece, PyObject *text, const char *argument, const char *label)
{
    if (text == NULL || text == Py_None) {
        return 0;
    }
    if (!PyUnicode_Check(text)) {
        return cwj_refuse_type(spec->who, argument, "a str", text);
    }
    return cwj_take_piece(spec, piece, text, label);
}

/* Treats a text of blanks as missing. */
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

/* Names the header's file: by its first #line if only directives precede that, else by the module, if any. */
static int
name_header(cwj_spec *spec)
{
    static const char begin[] = "#line 1 \"";
    tj_piece *header = &spec->tj.header;
    const char *at = header->text, *end;
    while (at[0] == '#' && strncmp(at, begin, sizeof(begin) - 1) != 0 &&
           (end = strchr(at, '\n')) != NULL) {
        at = end + 1;
    }
    const char *name = at + sizeof(begin) - 1;
    if (strncmp(at, begin, sizeof(begin) - 1) == 0 && (end = strchr(name, '"')) != NULL) {
        header->file = cwj_arena_format(&spec->arena, "%.*s", (int)(end - name), name);
    } else if (spec->tj.module != NULL) {
        header->file = cwj_arena_format(&spec->arena, "<cwrapjit %s header>", spec->tj.module);
    }
    return header->file == NULL ? -1 : 0;
}

static int
take_pieces(cwj_spec *spec, PyObject *header, const cwj_arguments *arguments)
{
    tj_spec *tj = &spec->tj;
    const struct {
        tj_piece *piece;
        PyObject *text;
        const char *argument, *label;
    } all[] = {
        {&tj->header, header, "header", "header"},
        {&tj->cookie, arguments->Ccode_cookie_struct, "Ccode_cookie_struct", "cookie"},
        {&tj->validate, arguments->Ccode_validate, "Ccode_validate", "validate"},
        {&tj->cleanup, arguments->Ccode_cookie_cleanup, "Ccode_cookie_cleanup", "cleanup"},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (take_piece(spec, all[i].piece, all[i].text, all[i].argument, all[i].label) < 0) {
            return -1;
        }
        drop_if_blank(all[i].piece);
    }
    return tj->header.text == NULL ? 0 : name_header(spec);
}

/* ---- the description --------------------------------------------------- */

static int
take_names(cwj_spec *spec, PyObject *module, PyObject *name)
{
    if (module != NULL && (spec->tj.module = cwj_take_text(spec, module, NULL)) == NULL) {
        return -1;
    }
    const char *prefix = module != NULL ? spec->tj.module : "", *dot = module != NULL ? "." : "";
    spec->who = cwj_arena_format(&spec->arena, "%s%sfunction()", prefix, dot);
    spec->tj.name = spec->who == NULL ? NULL : cwj_take_name(spec, name, "name");
    if (spec->tj.name == NULL) {
        return -1;
    }
    bool is_one = strcmp(prefix, spec->tj.name) == 0; /* "climb", not "climb.climb" */
    spec->qualname = is_one ? spec->tj.name
                            : cwj_arena_format(&spec->arena, "%s%s%s", prefix, dot, spec->tj.name);
    if (spec->qualname == NULL) {
        return -1;
    }
    spec->who = cwj_arena_format(&spec->arena, "%s()", spec->qualname);
    spec->tj.generated = cwj_arena_format(&spec->arena, "<cwrapjit %s generated>", spec->qualname);
    return spec->who != NULL && spec->tj.generated != NULL ? 0 : -1;
}

/* Copies what cwrapjit/_arguments.py reads. */
static int
take_arguments(cwj_spec *spec, const cwj_arguments *arguments)
{
    PyObject *operands, *dims, *extras, *records;
    int is_one;
    spec->read = cwj_ask_python("cwrapjit._arguments", "read", "(sssN)", spec->who, spec->tj.name,
                                TJ_PARSE_CODES, cwj_arguments_given(arguments));
    if (spec->read == NULL ||
        !PyArg_ParseTuple(spec->read, "pO!O!O!OO!OO(Op):read", &is_one, &PyTuple_Type, &operands,
                          &PyList_Type, &dims, &PyTuple_Type, &extras, &records, &PyList_Type,
                          &spec->sets, &spec->windows, &spec->c_function, &spec->identity,
                          &spec->associative)) {
        return -1;
    }
    spec->tj.flags |= is_one ? CWJ_ONE_OUTPUT : 0;
    if (records != Py_None && (spec->tj.records = PyUnicode_AsUTF8(records)) == NULL) {
        return -1;
    }
    return cwj_read_operands(spec, operands) < 0 || cwj_read_output_dims(spec, dims) < 0 ||
                   cwj_read_extras(spec, extras) < 0 || cwj_read_typesets(spec, spec->sets) < 0 ||
                   (spec->windows != Py_None && cwj_read_windows(spec, spec->windows) < 0)
               ? -1
               : 0;
}

static int
fill_spec(cwj_spec *spec, PyObject *module, PyObject *header, const cwj_arguments *arguments)
{
    return take_names(spec, module, arguments->name) < 0 || take_arguments(spec, arguments) < 0 ||
                   take_pieces(spec, header, arguments) < 0
               ? -1
               : 0;
}

cwj_spec *
cwj_spec_new(PyObject *module, PyObject *header, const cwj_arguments *arguments)
{
    cwj_spec *spec = cwj_allocate(1, sizeof(*spec));
    if (spec == NULL) {
        return NULL;
    }
    spec->texts = PyList_New(0);
    if (spec->texts == NULL || fill_spec(spec, module, header, arguments) < 0) {
        cwj_spec_free(spec);
        return NULL;
    }
    return spec;
}

void
cwj_spec_free(cwj_spec *spec)
{
    if (spec != NULL) {
        cwj_arena_clear(&spec->arena);
        Py_XDECREF(spec->texts);
        Py_XDECREF(spec->read);
        PyMem_Free(spec);
    }
}
