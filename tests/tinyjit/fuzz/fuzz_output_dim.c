/* Lengths that are computed: what is read runs without a look at the stack. */
#include "fuzz.h"

typedef ptrdiff_t npy_intp; /* as NumPy's; abi.h wants it declared */
#include "abi.h"

static const tj_dim n = {"n", 0}, k = {"k", 0};
static const tj_operand operands[] = {
    {"a", TJ_IN, 1, &n}, {"b", TJ_IN, 1, &k}, {"output", TJ_OUT, 0, NULL}};
static const tj_spec spec = {.noperands = 3, .noutputs = 1, .operands = operands};

/* The numbers on the stack before each step are the same on all ways there, and some are there
 * when they are wanted. */
static void check(const tj_output_dim *dim)
{
    int *before = calloc((size_t)dim->nsteps + 1, sizeof *before); /* + 1; 0: no way leads there */
    PROMISE(before != NULL);
    before[0] = 1;
    for (int i = 0; i < dim->nsteps; i++) {
        const tj_dim_step *step = &dim->steps[i];
        int op = step->op, depth = before[i] - 1;
        int takes = op <= CWJ_DIM_JUMP ? 0 : op < CWJ_DIM_MULTIPLY ? 1 : 2;
        int gives = op == CWJ_DIM_JUMP || op == CWJ_DIM_JUMP_IF_ZERO ? 0 : 1;
        PROMISE(op >= 0 && op <= CWJ_DIM_MAX && depth >= takes);
        PROMISE((op == CWJ_DIM_NAMED) == (step->name == n.name || step->name == k.name));
        depth += gives - takes;
        PROMISE(depth <= CWJ_DIM_STACK);
        if (!gives) {
            PROMISE(step->value > i && step->value <= dim->nsteps);
            PROMISE(before[step->value] == 0 || before[step->value] == depth + 1);
            before[step->value] = depth + 1;
        }
        if (op != CWJ_DIM_JUMP) {
            PROMISE(before[i + 1] == 0 || before[i + 1] == depth + 1);
            before[i + 1] = depth + 1;
        }
    }
    PROMISE(before[dim->nsteps] == 2);
    free(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    tj_output_dim dim = {.name = "m", .text = text};
    tj_error error;
    tj_error_init(&error);
    if (tj_output_dim_parse(&spec, text, size, &dim, &error) == TJ_OK)
        check(&dim);
    else
        PROMISE(error.text != NULL && error.position <= (ptrdiff_t)size && !dim.steps);
    tj_output_dim_clear(&dim);
    tj_error_clear(&error);
    free(text);
    return 0;
}
