/* fuzz_blocks.c: the texts of a graph, separated by form feeds, are rejected or assembled to a unit's text. */
#include "fuzz.h"

enum {
    PARTS = 8
};

/* Splits the text at form feeds; missing parts are empty. */
static void cut(char *text, size_t size, tj_piece parts[PARTS])
{
    char *at = text, *end = text + size;
    for (int i = 0; i < PARTS; i++) {
        char *stop = memchr(at, '\f', (size_t)(end - at));
        stop = stop && i < PARTS - 1 ? stop : end;
        parts[i] = (tj_piece){"<part>", at, (size_t)(stop - at)};
        at = stop < end ? stop + 1 : end;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    tj_piece p[PARTS];
    cut(text, size, p);
    tj_piece plain = {"<declare>", "double V1_x;", 12}, result = {"<declare>", "double V2_z;", 12};
    tj_graph_variable variables[] = {
        {.name = "V1_x", .label = "x", .declare = plain, .extract = p[0], .cleanup = p[1]},
        {.name = "V2_z", .label = "z", .declare = result, .init = p[2], .sync = p[3]}};
    tj_graph_node node = {.name = "node_1",
                          .label = "op",
                          .validate_block = 3,
                          .code_block = 4,
                          .validate = p[4],
                          .code = p[5],
                          .code_cleanup = p[6]};
    tj_graph_use uses[] = {{0, TJ_GRAPH_INPUT}, {1, TJ_GRAPH_OUTPUT}};
    int nodes[] = {0};
    tj_graph_step step = {.nuses = 2, .uses = uses, .nnodes = 1, .nodes = nodes};
    tj_graph graph = {.name = "graph",
                      .struct_form = size % 2,
                      .nvariables = 2,
                      .variables = variables,
                      .nnodes = 1,
                      .nodes = &node,
                      .nsteps = 1,
                      .steps = &step,
                      .nsupports = 1,
                      .supports = &p[7]};
    tj_messages messages = {0};
    tj_text emitted = {0};
    tj_error error;
    tj_error_init(&error);
    tj_status status = tj_graph_check(NULL, &graph, &messages, &error);
    if (status == TJ_OK)
        PROMISE(tj_emit_graph(&graph, &emitted) == TJ_OK && emitted.length > size);
    else
        PROMISE(messages.count > 0 || error.text);
    tj_text_clear(&emitted);
    tj_messages_clear(&messages);
    tj_error_clear(&error);
    free(text);
    return 0;
}
