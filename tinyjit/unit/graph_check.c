/* graph_check.c: finds faults in the texts of a graph without compiling.
 *
 * One scanner (scan.c) reads all texts in the order of the unit and keeps their macros. Then confine.c checks
 * that texts in a block do nothing that is not allowed there. */
#include <string.h>

#include "unit/graph.h"
#include "read/scan.h"

/* ---- all texts ---------------------------------------------------------------- */

typedef struct visitor {
    bool (*visit)(void *context, const tj_graph_text *text);
    void *context;
} visitor;

static bool show(const visitor *to, const tj_piece *piece, tj_place place, int block)
{
    return !piece->text ||
           to->visit(to->context, &(tj_graph_text){.piece = piece, .place = place, .block = block});
}

static bool show_variable(const visitor *to, const tj_graph_variable *variable, int block)
{
    const tj_graph_text declare = {
        .piece = &variable->declare, .place = TJ_DECLARES, .block = block, .name = variable->name};
    const tj_graph_text sync = {.piece = &variable->sync,
                                .place = TJ_SYNCS,
                                .block = block,
                                .sync_fails = variable->sync_fails};
    return (!declare.piece->text || to->visit(to->context, &declare)) &&
           show(to, &variable->extract, TJ_BEGINS, block) &&
           show(to, &variable->init, TJ_BEGINS, block) &&
           (!sync.piece->text || to->visit(to->context, &sync)) &&
           show(to, &variable->cleanup, TJ_CLEANS, block);
}

static bool show_node(const visitor *to, const tj_graph_node *node)
{
    return show(to, &node->struct_declare, TJ_DECLARES_ANY, node->code_block) &&
           show(to, &node->struct_init, TJ_BEGINS, node->code_block) &&
           show(to, &node->struct_cleanup, TJ_CLEANS, node->code_block) &&
           show(to, &node->validate, TJ_SHARES, node->validate_block) &&
           show(to, &node->code, TJ_SHARES, node->code_block) &&
           show(to, &node->code_cleanup, TJ_CLEANS, node->code_block) &&
           show(to, &node->validate_cleanup, TJ_CLEANS, node->validate_block);
}

bool tj_graph_each_text(const tj_graph *graph,
                        bool (*visit)(void *context, const tj_graph_text *text), void *context)
{
    visitor to = {visit, context};
    bool more = true;
    for (int i = 0; more && i < graph->nsupports; i++)
        more = show(&to, &graph->supports[i], TJ_AT_FILE_LEVEL, 0);
    for (int i = 0; more && i < graph->nnodes; i++)
        more = show(&to, &graph->nodes[i].support, TJ_AT_FILE_LEVEL, 0) &&
               show(&to, &graph->nodes[i].element, TJ_REPEATS, 0);
    for (int i = 0; more && i < graph->ninits; i++)
        more = show(&to, &graph->inits[i], TJ_IN_LOAD, 0);
    for (int i = 0; more && i < graph->nvariables; i++)
        more = show_variable(&to, &graph->variables[i], i + 1);
    for (int i = 0; more && i < graph->nnodes; i++)
        more = show_node(&to, &graph->nodes[i]);
    return more;
}

/* ---- checks -------------------------------------------------------------------- */

typedef struct checker {
    tj_scanner *scanner; /* owned */
    tj_messages *messages;
    bool refused; /* the scanner refused it, so later texts might be misread */
} checker;

static bool check_text(void *context, const tj_graph_text *text)
{
    checker *this = context;
    tj_scope scope = text->place == TJ_AT_FILE_LEVEL ? TJ_FILE_SCOPE : TJ_BLOCK_SCOPE;
    tj_status status = tj_scanner_check(this->scanner, text->piece, scope, this->messages);
    this->refused |= status != TJ_OK;
    if (status == TJ_OK && (text->place == TJ_DECLARES || text->place == TJ_DECLARES_ANY)) {
        tj_declarations found = {0};
        tj_declarations_read(text->piece, text->name, &found, this->messages, NULL);
        tj_declarations_clear(&found);
    }
    if (status == TJ_OK && !tj_confine(tj_scanner_text(this->scanner), text, NULL, this->messages))
        this->messages->failed = true;
    return !this->messages->failed;
}

/* Most nested blocks. libtcc was seen to handle 160,000, and texts may nest more blocks in the innermost. */
enum {
    MOST_BLOCKS = 50000
};

static tj_status check_size(const tj_graph *graph, const tj_graph_step *step, tj_error *error)
{
    size_t blocks = (size_t)step->nuses;
    for (int i = 0; i < step->nnodes; i++)
        blocks += graph->nodes[step->nodes[i]].validate_block ? 2 : 1;
    return blocks <= MOST_BLOCKS
               ? TJ_OK
               : tj_fail(error, TJ_BAD_SPEC,
                         "%zu values and operations in one function are too many to nest, %d at "
                         "most: per_op=True makes a function of each operation",
                         blocks, MOST_BLOCKS);
}

/* Checks "<math.h>" or "\"my.h\"", the operand of #include: nothing may follow it. */
static tj_status check_header(const char *header, tj_error *error)
{
    size_t length = strlen(header);
    char close = header[0] == '<' ? '>' : '"';
    bool fine = length > 2 && (header[0] == '<' || header[0] == '"') &&
                header[length - 1] == close && strcspn(header + 1, "<>\"\n\r") == length - 2;
    return fine ? TJ_OK
                : tj_fail(error, TJ_BAD_SPEC,
                          "the header '%s' is neither a name in <> nor one in \"\"", header);
}

/* Tells the scanner that there are headers, whose contents are unknown. */
static bool include_headers(checker *this, const tj_graph *graph)
{
    tj_text text = {0};
    for (int i = 0; i < graph->nheaders; i++)
        tj_text_printf(&text, "#include %s\n", graph->headers[i]);
    if (text.length && !text.failed)
        tj_scanner_check(this->scanner, &(tj_piece){"", text.data, text.length}, TJ_FILE_SCOPE,
                         this->messages);
    bool fine = !text.failed;
    tj_text_clear(&text);
    return fine;
}

tj_status tj_graph_check(const tj_environment *environment, const tj_graph *graph,
                         tj_messages *messages, tj_error *error)
{
    checker this = {.messages = messages};
    size_t before = messages->count;
    tj_status status = TJ_OK;
    for (int i = 0; i < graph->nheaders && !status; i++)
        status = check_header(graph->headers[i], error);
    for (int i = 0; i < graph->nsteps && !status; i++)
        status = check_size(graph, &graph->steps[i], error);
    if (status)
        return status;
    this.scanner = tj_scanner_new(environment, true, NULL, messages);
    if (this.scanner && include_headers(&this, graph))
        tj_graph_each_text(graph, check_text, &this);
    else
        messages->failed = true;
    tj_scanner_free(this.scanner);
    return tj_messages_judge(messages, before, "the C text cannot be compiled", error);
}
