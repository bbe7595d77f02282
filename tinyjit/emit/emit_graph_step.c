/* emit_graph_step.c: writes the C function of a step (emit_graph.h).
 *
 * The function gets the objects from their storages, declares all variables, and enters block after block.
 * The first text of a variable has its own braces. The text of an operation shares its block with all inner
 * blocks and with its cleanup. A failure jumps to the label at the end of its own block; from there the code
 * runs through all the cleanups around it. On the way it stores the outputs, unless something failed. */
#include "emit/emit_graph.h"

/* ---- variables in a step ----------------------------------------------------------- */

static const tj_graph_variable *variable_of(const tj_graph_emitter *this, const tj_graph_use *use)
{
    return &this->graph->variables[use->variable];
}

static bool is_kept(const tj_graph_emitter *this, const tj_graph_use *use)
{
    return tj_graph_keeps(this->graph, use->variable, use->role);
}

/* Returns true if the object comes from its storage in each run. */
static bool is_fetched(const tj_graph_emitter *this, const tj_graph_use *use)
{
    return use->role == TJ_GRAPH_INPUT || (use->role == TJ_GRAPH_CONSTANT && !is_kept(this, use)) ||
           (use->role == TJ_GRAPH_OUTPUT && variable_of(this, use)->fetched);
}

/* Returns true if the step has an object for the variable. The objects of kept constants are in the state,
 * and few texts need those of temporaries. */
static bool has_object(const tj_graph_emitter *this, const tj_graph_use *use)
{
    return is_fetched(this, use) || use->role == TJ_GRAPH_OUTPUT ||
           (use->role == TJ_GRAPH_TEMPORARY &&
            tj_graph_names(this, "py_", variable_of(this, use)->name));
}

/* Returns true if the variable needs a block. Kept variables need one only if they have a sync. */
static bool is_block(const tj_graph_emitter *this, const tj_graph_use *use)
{
    return !is_kept(this, use) || use->role == TJ_GRAPH_OUTPUT;
}

static void emit_object(tj_graph_emitter *this, const tj_graph_use *use)
{
    const char *name = variable_of(this, use)->name;
    const char *where = this->graph->struct_form ? "cwj_state->" : "";
    if (is_fetched(this, use))
        tj_graph_line(this, "PyObject *py_%s = cwj_fetch(%sstorage_%s, %d, &failure);", name, where,
                      name, use->variable + 1);
    else if (has_object(this, use))
        tj_graph_line(
            this, "PyObject *py_%s = Py_NewRef(Py_None); /* whatever is in its storage */", name);
}

static void open_variable(tj_graph_emitter *this, const tj_graph_use *use)
{
    const tj_graph_variable *variable = variable_of(this, use);
    int block = use->variable + 1;
    bool extracts = use->role == TJ_GRAPH_INPUT || use->role == TJ_GRAPH_CONSTANT;
    const tj_graph_text begin = {.piece = extracts ? &variable->extract : &variable->init,
                                 .place = TJ_BEGINS,
                                 .block = block};
    tj_graph_indent(this);
    tj_text_puts(this->out, "{ ");
    this->depth++;
    if (is_kept(this, use)) {
        tj_graph_comment(this, block, variable->label, "kept in the state");
        return;
    }
    tj_graph_comment(this, block, variable->label,
                     extracts            ? "c_extract"
                     : variable->fetched ? "c_extract_out"
                                         : "c_init");
    tj_graph_braced(this, &begin);
    tj_graph_test(this, begin.piece, block);
}

/* Emits the code of an output after success. *synced: an earlier output has already checked for exceptions
 * that earlier texts raised without failing. */
static void emit_sync(tj_graph_emitter *this, const tj_graph_use *use, bool *synced)
{
    const tj_graph_variable *variable = variable_of(this, use);
    int block = use->variable + 1;
    const tj_graph_text sync = {.piece = &variable->sync,
                                .place = TJ_SYNCS,
                                .block = block,
                                .sync_fails = variable->sync_fails};
    const char *where = this->graph->struct_form ? "cwj_state->" : "";
    bool raises =
        !tj_piece_is_empty(sync.piece) && (this->raises || tj_piece_may_raise(sync.piece));
    if (!*synced)
        tj_graph_line(this, "if (!failure && PyErr_Occurred()) failure = %d;", block);
    *synced = true;
    tj_graph_line(this, "if (!failure) { /* c_sync */");
    this->depth++;
    tj_graph_braced(this, &sync);
    tj_graph_line(this, "if (%scwj_storage_put(%sstorage_%s, py_%s)) failure = %d;",
                  raises ? "PyErr_Occurred() || " : "", where, variable->name, variable->name,
                  block);
    this->depth--;
    tj_graph_line(this, "}");
    if (variable->sync_fails)
        tj_graph_line(this, "label_%d_cleanup:;", block);
}

static void emit_cleanup(tj_graph_emitter *this, const tj_piece *piece, int block)
{
    tj_graph_braced(this, &(tj_graph_text){.piece = piece, .place = TJ_CLEANS, .block = block});
}

static void emit_label(tj_graph_emitter *this, int block)
{
    this->depth--;
    tj_graph_line(this, "label_%d:;", block);
    this->depth++;
}

static void close_variable(tj_graph_emitter *this, const tj_graph_use *use, bool *synced)
{
    const tj_graph_variable *variable = variable_of(this, use);
    emit_label(this, use->variable + 1);
    if (use->role == TJ_GRAPH_OUTPUT)
        emit_sync(this, use, synced);
    if (!is_kept(this, use))
        emit_cleanup(this, &variable->cleanup, use->variable + 1);
    this->depth--;
    tj_graph_line(this, "}");
}

/* ---- operations in a step ------------------------------------------------------------ */

/* Emits one of the two blocks of an operation: c_validate_update encloses c_code. */
static void open_node(tj_graph_emitter *this, int node, bool validates)
{
    const tj_graph_node *of = &this->graph->nodes[node];
    int block = validates ? of->validate_block : of->code_block;
    const tj_piece *piece = validates ? &of->validate : &of->code;
    if (validates && !block)
        return;
    tj_graph_indent(this);
    tj_text_puts(this->out, "{ ");
    tj_graph_comment(this, block, of->label, validates ? "c_validate_update" : "c_code");
    this->depth++;
    tj_graph_members(this, node, true);
    tj_graph_shared(this, &(tj_graph_text){.piece = piece, .place = TJ_SHARES, .block = block});
    tj_graph_test(this, piece, block);
    tj_graph_members(this, node, false);
}

static void close_node(tj_graph_emitter *this, int node, bool validates)
{
    const tj_graph_node *of = &this->graph->nodes[node];
    int block = validates ? of->validate_block : of->code_block;
    if (validates && !block)
        return;
    emit_label(this, block);
    tj_graph_members(this, node, true);
    emit_cleanup(this, validates ? &of->validate_cleanup : &of->code_cleanup, block);
    tj_graph_members(this, node, false);
    this->depth--;
    tj_graph_line(this, "}");
}

/* ---- a step ------------------------------------------------------------------------- */

static void emit_step_head(tj_graph_emitter *this, const tj_graph_step *step, int number)
{
    const char *between = "";
    tj_text_printf(this->out, "static int cwj_step_%d(", number);
    if (this->has_state) {
        tj_text_puts(this->out, "cwj_graph_state *cwj_state");
        between = ", ";
    }
    for (int i = 0; i < step->nuses && !this->graph->struct_form; i++) {
        if (step->uses[i].role == TJ_GRAPH_TEMPORARY)
            continue;
        tj_text_printf(this->out, "%sPyObject *storage_%s", between,
                       variable_of(this, &step->uses[i])->name);
        between = ", ";
    }
    tj_text_puts(this->out, *between ? ")\n{\n" : "void)\n{\n");
}

/* Hides the members of variables that are kept in the state elsewhere and are locals of this step. */
static void shadow_kept(tj_graph_emitter *this, const tj_graph_step *step, bool shadow)
{
    for (int i = 0; i < step->nuses; i++)
        if (variable_of(this, &step->uses[i])->kept && !is_kept(this, &step->uses[i]))
            tj_graph_kept_names(this, step->uses[i].variable, !shadow);
}

static void emit_blocks(tj_graph_emitter *this, const tj_graph_step *step)
{
    bool synced = false;
    for (int i = 0; i < step->nuses; i++)
        if (is_block(this, &step->uses[i]))
            open_variable(this, &step->uses[i]);
    for (int i = 0; i < step->nnodes; i++) {
        open_node(this, step->nodes[i], true);
        open_node(this, step->nodes[i], false);
    }
    for (int i = step->nnodes; i-- > 0;) {
        close_node(this, step->nodes[i], false);
        close_node(this, step->nodes[i], true);
    }
    for (int i = step->nuses; i-- > 0;)
        if (is_block(this, &step->uses[i]))
            close_variable(this, &step->uses[i], &synced);
}

static void emit_step(tj_graph_emitter *this, const tj_graph_step *step, int number)
{
    tj_text_puts(this->out, "/* ---- ");
    for (int i = 0; i < step->nnodes && i < 4; i++) {
        tj_text_puts(this->out, i ? "; " : "");
        tj_graph_words(this->out, this->graph->nodes[step->nodes[i]].label);
    }
    tj_text_puts(this->out, step->nnodes > 4 ? "; ... ---- */\n\n" : " ---- */\n\n");
    shadow_kept(this, step, true);
    emit_step_head(this, step, number);
    this->depth++;
    tj_graph_line(this, "int failure = 0;");
    for (int i = 0; i < step->nuses && this->graph->struct_form; i++) {
        const char *name = variable_of(this, &step->uses[i])->name;
        if (step->uses[i].role != TJ_GRAPH_TEMPORARY && tj_graph_names(this, "storage_", name))
            tj_graph_line(this, "PyObject *const storage_%s = cwj_state->storage_%s;", name, name);
    }
    for (int i = 0; i < step->nuses; i++)
        emit_object(this, &step->uses[i]);
    for (int i = 0; i < step->nuses; i++)
        if (!is_kept(this, &step->uses[i]))
            tj_graph_numbered(this, &variable_of(this, &step->uses[i])->declare);
    tj_emit_own_line(&this->lines);
    tj_graph_line(this, "if (failure) goto cwj_done;");
    tj_graph_hide_return(this, true);
    emit_blocks(this, step);
    tj_graph_hide_return(this, false);
    tj_text_puts(this->out, "cwj_done:;\n");
    for (int i = step->nuses; i-- > 0;)
        if (has_object(this, &step->uses[i]))
            tj_graph_line(this, "Py_XDECREF(py_%s);", variable_of(this, &step->uses[i])->name);
    tj_graph_line(this, "return failure;");
    this->depth--;
    tj_text_puts(this->out, "}\n");
    shadow_kept(this, step, false);
    tj_text_puts(this->out, "\n");
}

/* Emits the function that the descriptor names. */
static void emit_entry(tj_graph_emitter *this, const tj_graph_step *step, int number)
{
    const char *between = this->has_state ? "state" : "";
    tj_text_printf(this->out,
                   "static int cwj_enter_%d(void *state, PyObject *const *storages)\n{\n"
                   "    return cwj_step_%d(%s",
                   number, number, between);
    for (int i = 0; i < step->nuses && !this->graph->struct_form; i++) {
        if (step->uses[i].role == TJ_GRAPH_TEMPORARY)
            continue;
        tj_text_printf(this->out, "%sstorages[%d]", *between ? ", " : "", step->uses[i].variable);
        between = ",";
    }
    tj_text_puts(this->out, ");\n}\n\n");
}

void tj_emit_graph_step(tj_graph_emitter *this, int number)
{
    emit_step(this, &this->graph->steps[number], number);
    emit_entry(this, &this->graph->steps[number], number);
}
