/* fuzz_output_dim.c: a computed length that was read runs without checks of its stack. */
#include "fuzz.h"

typedef ptrdiff_t npy_intp; /* NumPy's; abi.h needs it */
#include "abi.h"

static const tj_dim n = {"n", 0}, k = {"k", 0};
static const tj_operand operands[] = {
    {"a", TJ_IN, 1, &n}, {"b", TJ_IN, 1, &k}, {"output", TJ_OUT, 0, NULL}};
static const tj_spec spec = {.noperands = 3, .noutputs = 1, .operands = operands};

/* Each step must find its operands on the stack, and one number must be left. */
static void check(const tj_output_dim *dim)
{
    int depth = 0;
    for (int i = 0; i < dim->nsteps; i++) {
        const tj_dim_step *step = &dim->steps[i];
        int op = step->op;
        int takes = op <= CWJ_DIM_SYMBOL ? 0 : op <= CWJ_DIM_NOT ? 1 : op == CWJ_DIM_CHOOSE ? 3 : 2;
        PROMISE(op >= 0 && op <= CWJ_DIM_CHOOSE && depth >= takes);
        PROMISE((op == CWJ_DIM_SYMBOL) == (step->name == n.name || step->name == k.name));
        depth += 1 - takes;
        PROMISE(depth <= CWJ_DIM_STACK);
    }
    PROMISE(depth == 1);
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
