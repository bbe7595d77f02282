/* emit_graph.c: writes the C text of a graph's unit: includes, support and init code, the state
 * (emit_graph_state.c), the steps (emit_graph_step.c), and the descriptor.
 *
 * Generated names begin with cwj_, except `failure`, the labels, and names that contain a variable's name. */
#include <string.h>

#include "emit/emit_graph.h"

/* ---- the unit ------------------------------------------------------------------------- */

static void emit_legend(tj_graph_emitter *this)
{
    const tj_graph *graph = this->graph;
    tj_text_puts(this->out, "/* ");
    tj_graph_words(this->out, graph->name);
    tj_text_puts(this->out, ", linked\n *\n");
    for (int i = 0; i < graph->nvariables; i++) {
        tj_text_printf(this->out, " *   %-8s  block %d: ", graph->variables[i].name, i + 1);
        tj_graph_words(this->out, graph->variables[i].label);
        tj_text_puts(this->out, "\n");
    }
    for (int i = 0; i < graph->nnodes; i++) {
        const tj_graph_node *node = &graph->nodes[i];
        tj_text_printf(this->out, " *   %-8s  block ", node->name);
        if (node->validate_block)
            tj_text_printf(this->out, "%d, validated in %d: ", node->code_block,
                           node->validate_block);
        else
            tj_text_printf(this->out, "%d: ", node->code_block);
        tj_graph_words(this->out, node->label);
        tj_text_puts(this->out, "\n");
    }
    tj_text_puts(
        this->out,
        " *\n"
        " * For a variable X: storage_X is the list of one object where Python has its\n"
        " * value, py_X that object. What fails sets `failure` to the number of its block\n"
        " * and jumps to the block's label: what was entered is cleaned up, nothing else.\n"
        " */\n\n");
}

/* Returns true for a name of NumPy that the prelude does not declare. */
static bool needs_numpy(const char *name)
{
    static const char *const prefixes[] = {"PyArray",      "NPY_",     "npy_",
                                           "PyDataType_",  "PyUFunc_", "NpyIter",
                                           "import_array", "PyDescr",  NULL};
    size_t length = strlen(name);
    bool known = true;
    for (size_t i = 0; prefixes[i] && known; i++)
        known = strncmp(name, prefixes[i], strlen(prefixes[i])) != 0;
    for (const char *at = tj_prelude(); !known && (at = strstr(at, name)) != NULL; at++)
        known = !strchr("abcdefghijklmnopqrstuvwxyz0123456789_", at[length]) || !at[length];
    return !known;
}

static void emit_includes(tj_graph_emitter *this)
{
    bool numpy = tj_names_may_paste(this->names);
    const char *name;
    for (size_t at = 0; !numpy && (name = tj_names_next(this->names, &at));)
        numpy = needs_numpy(name);
    tj_text_puts(this->out, "#include <Python.h>\n");
    if (numpy)
        tj_text_puts(this->out, "#include <numpy/arrayobject.h>\n");
    tj_text_puts(this->out, "#include <cwj_graph.h>\n");
    for (int i = 0; i < this->graph->nheaders; i++)
        tj_text_printf(this->out, "#include %s\n", this->graph->headers[i]);
    tj_text_puts(this->out, "\n");
}

static void emit_support(tj_graph_emitter *this)
{
    for (int i = 0; i < this->graph->nsupports; i++)
        tj_graph_piece(this, &this->graph->supports[i]);
    for (int i = 0; i < this->graph->nnodes; i++)
        tj_graph_piece(this, &this->graph->nodes[i].support);
    tj_text_puts(this->out,
                 "/* The object in a storage, unless something failed already. */\n"
                 "static PyObject *cwj_fetch(PyObject *storage, int block, int *failure)\n{\n"
                 "    PyObject *object = *failure ? 0 : cwj_storage_get(storage);\n"
                 "    if (!object && !*failure)\n"
                 "        *failure = block;\n"
                 "    return object;\n}\n\n");
}

static void emit_load(tj_graph_emitter *this)
{
    if (!this->graph->ninits)
        return;
    tj_text_puts(this->out, "static int cwj_load(void)\n{\n");
    this->depth++;
    tj_graph_hide_return(this, true);
    for (int i = 0; i < this->graph->ninits; i++)
        tj_graph_braced(this,
                        &(tj_graph_text){.piece = &this->graph->inits[i], .place = TJ_IN_LOAD});
    tj_graph_hide_return(this, false);
    tj_graph_line(this, "return PyErr_Occurred() ? -1 : 0;");
    this->depth--;
    tj_text_puts(this->out, "}\n\n");
}

/* Emits the descriptor. It names only functions that have something to do. */
static void emit_descriptor(tj_graph_emitter *this)
{
    tj_text_puts(this->out, "static cwj_graph_step *const cwj_steps[] = {");
    for (int i = 0; i < this->graph->nsteps; i++)
        tj_text_printf(this->out, "%scwj_enter_%d", i ? ", " : "", i);
    tj_text_printf(this->out, "%s};\n\nconst cwj_graph_decl cwj_graph = {\n",
                   this->graph->nsteps ? "" : "0");
    if (this->graph->ninits)
        tj_text_puts(this->out, "    .load = cwj_load,\n");
    if (this->has_state)
        tj_text_puts(this->out, "    .state_size = sizeof(cwj_graph_state),\n");
    if (this->begins)
        tj_text_puts(this->out, "    .begin = cwj_begin,\n");
    if (this->ends)
        tj_text_puts(this->out, "    .end = cwj_end,\n");
    if (this->renews)
        tj_text_puts(this->out, "    .renew = cwj_renew,\n");
    tj_text_printf(this->out, "    .nsteps = %d,\n    .steps = cwj_steps,\n};\n",
                   this->graph->nsteps);
}

/* ---- reading the texts ---------------------------------------------------------------- */

static bool collect_text(void *context, const tj_graph_text *text)
{
    tj_graph_emitter *this = context;
    this->raises |= text->place == TJ_AT_FILE_LEVEL && tj_piece_may_raise(text->piece);
    if (text->place == TJ_AT_FILE_LEVEL)
        tj_graph_read(this, text, NULL);
    return tj_names_collect(this->names, text->piece->text, text->piece->length);
}

static bool begin(tj_graph_emitter *this)
{
    this->names = tj_names_new();
    this->expander = tj_expander_new();
    bool fine = this->names && this->expander && tj_graph_look(this) &&
                tj_graph_each_text(this->graph, collect_text, this);
    this->has_state = this->graph->struct_form;
    for (int i = 0; i < this->graph->nnodes; i++)
        this->has_state |= !tj_piece_is_empty(&this->graph->nodes[i].struct_declare) ||
                           !tj_piece_is_empty(&this->graph->nodes[i].struct_init) ||
                           !tj_piece_is_empty(&this->graph->nodes[i].struct_cleanup);
    return fine;
}

static void emit_unit(tj_graph_emitter *this)
{
    tj_emit_own_line(&this->lines);
    emit_legend(this);
    emit_includes(this);
    emit_support(this);
    emit_load(this);
    tj_emit_graph_state(this);
    tj_emit_graph_lives(this);
    for (int i = 0; i < this->graph->nsteps; i++)
        tj_emit_graph_step(this, i);
    emit_descriptor(this);
}

tj_status tj_emit_graph(const tj_graph *graph, tj_text *text)
{
    tj_text file = {0};
    tj_graph_emitter this = {.graph = graph, .out = text};
    tj_text_printf(&file, "<cwrapjit %s generated>", graph->name);
    this.lines = (tj_emitter){.out = text, .file = file.data};
    if (!file.failed && begin(&this))
        emit_unit(&this);
    else
        text->failed = true;
    tj_text_clear(&file);
    tj_names_free(this.names);
    tj_expander_free(this.expander);
    tj_messages_clear(&this.unsaid);
    tj_free(this.stored);
    tj_free(this.kept);
    return text->failed ? TJ_NO_MEMORY : TJ_OK;
}
