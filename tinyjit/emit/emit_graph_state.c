/* emit_graph_state.c: writes the state that a linked graph keeps between runs (see emit_graph.c). The state
 * is a struct with the storages, the declarations of kept variables and the declarations of operations.
 *
 * Texts reach the members by macros with the members' names. Operations may choose any names, so their macros
 * are defined only around their own texts. Each kept object has its own functions to begin and end it; a
 * table holds their order. */
#include "emit/emit_graph.h"

/* ---- survey -------------------------------------------------------------------- */

bool tj_graph_keeps(const tj_graph *graph, int variable, tj_graph_role role)
{
    return graph->struct_form && graph->variables[variable].kept && role != TJ_GRAPH_INPUT &&
           !graph->variables[variable].fetched;
}

bool tj_graph_look(tj_graph_emitter *this)
{
    const tj_graph *graph = this->graph;
    size_t count = (size_t)graph->nvariables + 1;
    this->stored = tj_alloc_zeroed(count, sizeof *this->stored);
    this->kept = tj_alloc_zeroed(count, sizeof *this->kept);
    if (!this->stored || !this->kept)
        return false;
    for (int s = 0; s < graph->nsteps; s++)
        for (int i = 0; i < graph->steps[s].nuses; i++) {
            const tj_graph_use *use = &graph->steps[s].uses[i];
            this->stored[use->variable] |= use->role != TJ_GRAPH_TEMPORARY;
            if (tj_graph_keeps(graph, use->variable, use->role) &&
                use->role > this->kept[use->variable])
                this->kept[use->variable] = use->role;
        }
    return true;
}

/* ---- declarations ---------------------------------------------------------------- */

/* Returns the declarations of a piece; none if the piece was refused. The caller clears them. */
static tj_declarations read_piece(tj_graph_emitter *this, const tj_piece *piece)
{
    tj_declarations found = {0};
    if (!tj_piece_is_empty(piece) &&
        tj_declarations_read(piece, NULL, &found, &this->unsaid, NULL) == TJ_NO_MEMORY)
        this->out->failed = true;
    return found;
}

/* Emits the typedefs of a piece, or the members that it declares. */
static void emit_declared(tj_graph_emitter *this, const tj_piece *piece, bool typedefs)
{
    tj_declarations found = read_piece(this, piece);
    const char *half = typedefs ? found.typedefs : found.members;
    if (half)
        tj_graph_piece(this, &(tj_piece){piece->file, half, piece->length});
    tj_declarations_clear(&found);
}

/* ---- the struct -------------------------------------------------------------------- */

static void emit_struct(tj_graph_emitter *this)
{
    const tj_graph *graph = this->graph;
    tj_text_puts(this->out, "typedef struct cwj_graph_state {\n");
    this->depth++;
    for (int i = 0; i < graph->nvariables; i++)
        if (graph->struct_form && this->stored[i])
            tj_graph_line(this, "PyObject *storage_%s;", graph->variables[i].name);
    for (int i = 0; i < graph->nvariables; i++) {
        if (this->kept[i] == TJ_GRAPH_CONSTANT)
            tj_graph_line(this, "PyObject *py_%s;", graph->variables[i].name);
        if (this->kept[i] != TJ_GRAPH_INPUT)
            emit_declared(this, &graph->variables[i].declare, false);
    }
    for (int i = 0; i < graph->nnodes; i++) {
        if (tj_piece_is_empty(&graph->nodes[i].struct_declare))
            continue;
        tj_graph_line(this, "struct {");
        this->depth++;
        emit_declared(this, &graph->nodes[i].struct_declare, false);
        this->depth--;
        tj_graph_line(this, "} %s;", graph->nodes[i].name);
    }
    if (!graph->struct_form) /* C has no empty structs, and a node may declare only types */
        tj_graph_line(this, "char cwj_last;");
    this->depth--;
    tj_text_puts(this->out, "} cwj_graph_state;\n\n");
}

void tj_emit_graph_state(tj_graph_emitter *this)
{
    const tj_graph *graph = this->graph;
    if (!this->has_state)
        return;
    tj_text_puts(this->out, "/* ---- what is kept between runs ---- */\n\n");
    for (int i = 0; i < graph->nvariables; i++)
        if (this->kept[i] != TJ_GRAPH_INPUT)
            emit_declared(this, &graph->variables[i].declare, true);
    for (int i = 0; i < graph->nnodes; i++)
        emit_declared(this, &graph->nodes[i].struct_declare, true);
    emit_struct(this);
    bool any = false;
    for (int i = 0; i < graph->nvariables; i++) {
        any |= this->kept[i] != TJ_GRAPH_INPUT;
        if (this->kept[i] != TJ_GRAPH_INPUT)
            tj_graph_kept_names(this, i, true);
        if (this->kept[i] == TJ_GRAPH_CONSTANT)
            tj_text_printf(this->out, "#define py_%s (cwj_state->py_%s)\n",
                           graph->variables[i].name, graph->variables[i].name);
    }
    if (any)
        tj_text_puts(this->out, "\n");
}

/* Emits #define or #undef for names that a piece declares as members of the state, or of a part of it. */
static void emit_names(tj_graph_emitter *this, const tj_piece *piece, const char *part, bool define)
{
    tj_declarations found = read_piece(this, piece);
    for (size_t i = 0; i < found.nnames; i++) {
        const char *name = found.names[i];
        if (define)
            tj_text_printf(this->out, "#define %s (cwj_state->%s%s%s)\n", name, part,
                           *part ? "." : "", name);
        else
            tj_text_printf(this->out, "#undef %s\n", name);
    }
    tj_declarations_clear(&found);
}

void tj_graph_kept_names(tj_graph_emitter *this, int variable, bool define)
{
    emit_names(this, &this->graph->variables[variable].declare, "", define);
}

void tj_graph_members(tj_graph_emitter *this, int node, bool define)
{
    const tj_graph_node *of = &this->graph->nodes[node];
    emit_names(this, &of->struct_declare, of->name, define);
}

/* ---- beginning and ending ------------------------------------------------------------ */

/* A kept object: a variable, or the data of an operation. */
typedef struct keeper {
    const char *name, *label;
    const char *begins, *ends; /* the names of its functions; NULL: none is needed */
    int block;
    int node; /* -1: a variable */
    int output; /* the number of the variable, or -1 */
    bool fetches; /* a constant: its Python object is kept, too */
    bool object; /* the texts need a Python object, which is None */
    const tj_piece *begin, *end;
} keeper;

static keeper life_of_variable(const tj_graph_emitter *this, int i)
{
    const tj_graph_variable *variable = &this->graph->variables[i];
    bool constant = this->kept[i] == TJ_GRAPH_CONSTANT;
    const tj_piece *begin = constant ? &variable->extract : &variable->init;
    bool begins = constant || !tj_piece_is_empty(begin);
    bool ends = constant || !tj_piece_is_empty(&variable->cleanup);
    return (keeper){.name = variable->name,
                    .label = variable->label,
                    .begins = !begins    ? NULL
                              : constant ? "c_extract"
                                         : "c_init",
                    .ends = ends ? "c_cleanup" : NULL,
                    .block = i + 1,
                    .node = -1,
                    .output = this->kept[i] == TJ_GRAPH_OUTPUT ? i : -1,
                    .fetches = constant,
                    .object =
                        !constant && (tj_names_may_paste(this->names) ||
                                      tj_piece_names(begin, "py_", variable->name) ||
                                      tj_piece_names(&variable->cleanup, "py_", variable->name)),
                    .begin = begin,
                    .end = &variable->cleanup};
}

static keeper life_of_node(const tj_graph_emitter *this, int i)
{
    const tj_graph_node *node = &this->graph->nodes[i];
    return (keeper){.name = node->name,
                    .label = node->label,
                    .begins = tj_piece_is_empty(&node->struct_init) ? NULL : "c_init_code_struct",
                    .ends =
                        tj_piece_is_empty(&node->struct_cleanup) ? NULL : "c_cleanup_code_struct",
                    .block = node->code_block,
                    .node = i,
                    .output = -1,
                    .begin = &node->struct_init,
                    .end = &node->struct_cleanup};
}

static void emit_text(tj_graph_emitter *this, const keeper *life, const tj_graph_text *text)
{
    if (life->node >= 0)
        tj_graph_members(this, life->node, true);
    tj_graph_hide_return(this, true);
    tj_graph_braced(this, text);
    if (text->place == TJ_BEGINS)
        tj_graph_test(this, text->piece, text->block);
    tj_graph_hide_return(this, false);
    if (life->node >= 0)
        tj_graph_members(this, life->node, false);
}

static void emit_end(tj_graph_emitter *this, const keeper *life)
{
    if (!life->ends)
        return;
    tj_graph_comment(this, life->block, life->label, life->ends);
    tj_text_printf(this->out, "static void cwj_end_%s(cwj_graph_state *cwj_state)\n{\n",
                   life->name);
    this->depth++;
    if (life->object)
        tj_graph_line(this, "PyObject *py_%s = Py_NewRef(Py_None);", life->name);
    emit_text(this, life,
              &(tj_graph_text){.piece = life->end, .place = TJ_CLEANS, .block = life->block});
    if (life->object)
        tj_graph_line(this, "Py_XDECREF(py_%s);", life->name);
    if (life->fetches)
        tj_graph_line(this, "Py_CLEAR(py_%s);", life->name);
    this->depth--;
    tj_text_puts(this->out, "}\n\n");
}

static void emit_begin(tj_graph_emitter *this, const keeper *life)
{
    if (!life->begins)
        return;
    tj_graph_comment(this, life->block, life->label, life->begins);
    tj_text_printf(this->out, "static int cwj_begin_%s(cwj_graph_state *cwj_state)\n{\n",
                   life->name);
    this->depth++;
    tj_graph_line(this, "int failure = 0;");
    if (life->object)
        tj_graph_line(this, "PyObject *py_%s = Py_NewRef(Py_None);", life->name);
    if (life->fetches) {
        tj_graph_line(this, "py_%s = cwj_fetch(cwj_state->storage_%s, %d, &failure);", life->name,
                      life->name, life->block);
        tj_graph_line(this, "if (failure) return failure;");
    }
    emit_text(this, life,
              &(tj_graph_text){.piece = life->begin, .place = TJ_BEGINS, .block = life->block});
    tj_text_printf(this->out, "label_%d:;\n", life->block);
    if (life->object)
        tj_graph_line(this, "Py_XDECREF(py_%s);", life->name);
    if (life->ends)
        tj_graph_line(this, "if (failure) cwj_end_%s(cwj_state);", life->name);
    tj_graph_line(this, "return failure;");
    this->depth--;
    tj_text_puts(this->out, "}\n\n");
}

/* ---- all of them ------------------------------------------------------------------------ */

typedef void life_visit(tj_graph_emitter *this, const keeper *life);

/* Returns the number of kept objects. */
static int each_life(tj_graph_emitter *this, life_visit *visit)
{
    int count = 0, nvariables = this->graph->nvariables;
    for (int i = 0; i < nvariables + this->graph->nnodes; i++) {
        if (i < nvariables && this->kept[i] == TJ_GRAPH_INPUT)
            continue;
        keeper life =
            i < nvariables ? life_of_variable(this, i) : life_of_node(this, i - nvariables);
        if (!life.begins && !life.ends)
            continue;
        visit(this, &life);
        count++;
    }
    return count;
}

static void emit_functions(tj_graph_emitter *this, const keeper *life)
{
    emit_end(this, life);
    emit_begin(this, life);
}

static void emit_row(tj_graph_emitter *this, const keeper *life)
{
    tj_text_printf(this->out, "    {%d, %s%s, ", life->output, life->begins ? "cwj_begin_" : "0",
                   life->begins ? life->name : "");
    tj_text_printf(this->out, "%s%s},\n", life->ends ? "cwj_end_" : "0",
                   life->ends ? life->name : "");
}

/* The table of functions that begin and end the kept objects; the same text for all graphs. */
static const char table_head[] = "/* What is kept, in the order in which it begins. */\n"
                                 "static const struct {\n"
                                 "    int output; /* its number as a variable, or -1 */\n"
                                 "    int (*begin)(cwj_graph_state *);\n"
                                 "    void (*end)(cwj_graph_state *);\n"
                                 "} cwj_kept[] = {\n";
static const char table_functions[] =
    "static int cwj_begin_one(cwj_graph_state *state, int i)\n{\n"
    "    return cwj_kept[i].begin ? cwj_kept[i].begin(state) : 0;\n}\n\n"
    "static void cwj_end_one(cwj_graph_state *state, int i)\n{\n"
    "    if (cwj_kept[i].end)\n"
    "        cwj_kept[i].end(state);\n}\n\n"
    "static void cwj_end(void *state)\n{\n"
    "    for (int i = CWJ_NKEPT; i-- > 0;)\n"
    "        cwj_end_one(state, i);\n}\n\n";
static const char table_renew[] =
    "static int cwj_renew(void *state, int variable)\n{\n"
    "    int failure = 0, which = 0;\n"
    "    while (which < CWJ_NKEPT && cwj_kept[which].output != variable)\n"
    "        which++;\n"
    "    if (which == CWJ_NKEPT)\n"
    "        return 0;\n"
    "    cwj_end_one(state, which);\n"
    "    failure = cwj_begin_one(state, which);\n"
    "    for (int i = CWJ_NKEPT; failure && i-- > 0;)\n"
    "        if (i != which)\n"
    "            cwj_end_one(state, i);\n"
    "    return failure;\n}\n\n";

static const char table_begin[] =
    "    int failure = 0, begun = 0;\n"
    "    while (begun < CWJ_NKEPT && !(failure = cwj_begin_one(state, begun)))\n"
    "        begun++;\n"
    "    while (failure && begun-- > 0)\n"
    "        cwj_end_one(state, begun);\n"
    "    return failure;\n";

static void emit_table(tj_graph_emitter *this)
{
    tj_text_puts(this->out, table_head);
    int count = each_life(this, emit_row);
    tj_text_printf(this->out, "};\nenum { CWJ_NKEPT = %d };\n\n", count);
    tj_text_puts(this->out, table_functions);
    if (this->renews)
        tj_text_puts(this->out, table_renew);
}

static void emit_begin_of_state(tj_graph_emitter *this)
{
    const tj_graph *graph = this->graph;
    tj_text_puts(this->out, "static int cwj_begin(void *state, PyObject *const *storages)\n{\n");
    if (graph->struct_form)
        tj_text_puts(this->out, "    cwj_graph_state *cwj_state = state;\n");
    for (int i = 0; i < graph->nvariables && graph->struct_form; i++)
        if (this->stored[i])
            tj_text_printf(this->out, "    cwj_state->storage_%s = storages[%d];\n",
                           graph->variables[i].name, i);
    tj_text_puts(this->out, this->ends ? table_begin : "    return 0;\n");
    tj_text_puts(this->out, "}\n\n");
}

static void note_life(tj_graph_emitter *this, const keeper *life)
{
    this->ends = true;
    this->renews |= life->output >= 0;
}

void tj_emit_graph_lives(tj_graph_emitter *this)
{
    if (!this->has_state)
        return;
    each_life(this, note_life);
    this->begins = this->ends || this->graph->struct_form;
    if (this->ends) {
        each_life(this, emit_functions);
        emit_table(this);
    }
    if (this->begins)
        emit_begin_of_state(this);
}
