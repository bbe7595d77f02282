/* graph.c: runs the pipeline of a graph: check, emit, compile. */
#include <string.h>

#include "unit/graph.h"
#include "read/scan.h"
#include "read/tokens.h"

/* Symbols of generated text, and of the macros of the small <Python.h> and <numpy/arrayobject.h>. */
static const char implied[] =
    "PyType_IsSubtype PyType_GetFlags PyObject_TypeCheck PyFloat_Type PyComplex_Type "
    "PyFloat_AsDouble PyBool_Type PyLong_Type PyUnicode_Type PyCapsule_Type PyArray_cwj_type "
    "PyArray_cwj_scalar_type PyType_GenericAlloc "
    "Py_INCREF Py_DECREF Py_XINCREF Py_XDECREF Py_DecRef Py_IncRef Py_NewRef Py_XNewRef Py_TYPE "
    "Py_REFCNT PyList_Size PyList_GetItem PyList_SetItem PyTuple_Size PyTuple_GetItem "
    "PyErr_Occurred PyObject_CallFunctionObjArgs PyObject_CallMethodObjArgs PySequence_Size "
    "_Py_NoneStruct _Py_TrueStruct _Py_FalseStruct cwj_storage_get cwj_storage_put";

/* ---- C++ ------------------------------------------------------------------------------- */

/* Returns true for "#include <vector>": a header without .h, after the word include at i. */
static bool includes_foreign(const tj_tokens *tokens, size_t i)
{
    size_t end = i + 1;
    if (!tj_token_at(tokens, i, "include") || !tj_token_at(tokens, i + 1, "<"))
        return false;
    for (; end < tokens->count && !tokens->items[end].first; end++)
        if (tj_token_at(tokens, end, "."))
            return false;
    return end > i + 2;
}

static bool is_foreign(const tj_tokens *tokens, size_t i)
{
    bool colons = tj_token_at(tokens, i, ":") && tj_token_at(tokens, i + 1, ":") &&
                  !tokens->items[i + 1].spaced && !tokens->items[i + 1].first;
    return colons ||
           tj_token_among(tokens, i,
                          "namespace nullptr static_cast dynamic_cast reinterpret_cast const_cast "
                          "constexpr noexcept") ||
           includes_foreign(tokens, i) ||
           (tj_token_among(tokens, i, "class new delete typename throw using") &&
            tj_token_is_name(tokens, i + 1)) ||
           (tj_token_at(tokens, i, "template") && tj_token_at(tokens, i + 1, "<")) ||
           (tj_token_at(tokens, i, "extern") && i + 1 < tokens->count &&
            tokens->items[i + 1].kind == TJ_TOKEN_STRING) ||
           (tj_token_at(tokens, i, "operator") && !tj_token_is_name(tokens, i + 1));
}

/* Returns the end of the operands of an asm, whose colons may be adjacent. */
static size_t skip_asm(const tj_tokens *tokens, size_t i)
{
    if (!tj_token_among(tokens, i, "asm __asm __asm__"))
        return i;
    size_t open = i + 1;
    while (tj_token_among(tokens, open, "volatile __volatile__ goto inline"))
        open++;
    return tj_token_at(tokens, open, "(") ? tokens->mates[open] : i;
}

static bool look_for_foreign(void *context, const tj_graph_text *text)
{
    tj_messages *messages = context;
    tj_tokens tokens;
    bool found = false;
    if (!tj_tokens_read(&tokens, text->piece->text, text->piece->length))
        messages->failed = true;
    for (size_t i = 0; !found && i < tokens.count && !messages->failed; i++) {
        i = skip_asm(&tokens, i);
        found = i < tokens.count && is_foreign(&tokens, i);
        if (found)
            tj_messages_add_at(messages, text->piece, tokens.items[i].start, tokens.items[i].end,
                               "this is C++; cwrapjit compiles C11");
    }
    tj_tokens_clear(&tokens);
    return !messages->failed;
}

static void look_at_headers(const tj_graph *graph, tj_messages *messages)
{
    for (int i = 0; i < graph->nheaders; i++) {
        const char *header = graph->headers[i];
        if (header[0] != '<' || strchr(header, '.'))
            continue;
        tj_text text = {0};
        tj_text_printf(&text, "#include %s: this is C++; cwrapjit compiles C11", header);
        if (text.failed)
            messages->failed = true;
        else
            tj_messages_add(messages, true, "", 0, text.data);
        tj_text_clear(&text);
    }
}

/* Puts these messages first, because the C compiler's messages about C++ explain nothing. */
static void look_for_foreign_texts(const tj_graph *graph, tj_messages *messages)
{
    tj_messages all = {0};
    tj_graph_each_text(graph, look_for_foreign, &all);
    look_at_headers(graph, &all);
    tj_messages_move(&all, messages);
    *messages = all;
}

/* ---- the pipeline ---------------------------------------------------------------------- */

static bool collect_names(void *context, const tj_graph_text *text)
{
    return tj_names_collect(context, text->piece->text, text->piece->length);
}

static bool locate(void *context, const tj_graph_text *text)
{
    tj_messages_locate(context, text->piece);
    return true;
}

tj_status tj_graph_define(tj_environment *environment, const tj_graph *graph, tj_unit **unit,
                          char **source, tj_messages *messages, tj_error *error)
{
    tj_text text = {0}, file = {0};
    tj_names *names = NULL;
    if (unit)
        *unit = NULL;
    if (source)
        *source = NULL;
    tj_status status = tj_graph_check(environment, graph, messages, error);
    if (status) {
        if (status == TJ_COMPILE_FAILED)
            look_for_foreign_texts(graph, messages);
        return status;
    }
    tj_text_printf(&file, "<cwrapjit %s generated>", graph->name);
    names = tj_names_new();
    if (file.failed || tj_emit_graph(graph, &text) || !names ||
        !tj_graph_each_text(graph, collect_names, names) ||
        !tj_names_collect(names, implied, sizeof implied - 1)) {
        status = tj_fail_no_memory(error);
        goto done;
    }
    if (unit) {
        status = tj_compile(environment, text.data, names, unit, messages, error);
        tj_graph_each_text(graph, locate, messages);
        tj_messages_locate(messages, &(tj_piece){file.data, text.data, text.length});
        tj_messages_locate_lines(messages, text.data, text.length); /* texts may contain texts */
    }
    if (status == TJ_COMPILE_FAILED)
        look_for_foreign_texts(graph, messages);
    if (status == TJ_OK && source) {
        *source = text.data;
        text = (tj_text){0};
    }
done:
    tj_names_free(names);
    tj_text_clear(&text);
    tj_text_clear(&file);
    return status;
}
