/* guarded.c: calls the code of a graph under a guard. References that the code holds at a fault are leaked. */
#include "graph/code/guarded.h"

/* ---- running ------------------------------------------------------------------------------ */

typedef struct task {
    cwj_graph_call call;
    int result;
} task;

static void
run(void *argument)
{
    task *this = argument;
    this->result = cwj_graph_call_plainly(this->call);
}

int
cwj_graph_call_guarded(const cwj_graph_code *code, cwj_graph_call call)
{
    task this = {.call = call};
    cwj_fault fault;
    cwj_guard_install();
    if (cwj_guard(true, run, &this, &fault)) {
        return this.result;
    }
    PyErr_Clear(); /* the code may have set one before the fault */
    cwj_fault_raise(code->who, &fault, NULL);
    return CWJ_GRAPH_FAULT;
}

/* ---- lines and leaving --------------------------------------------------------------------------- */

/* Creates the lines of the code; *lines stays NULL if they are unknown. Returns 0, or -1 with MemoryError. */
static int
read_lines(const cwj_graph_code *code, tj_lines **lines)
{
    const char *text = PyUnicode_AsUTF8(code->source);
    if (text == NULL) {
        return -1;
    }
    if (code->unit != NULL && code->decl->nsteps > 0) {
        const tj_anchor anchors[] = {
            {strstr(text, "cwj_enter_0(") != NULL ? "cwj_enter_0" : "cwj_step_0",
             (const void *)code->decl->steps[0]},
            {0}};
        if (cwj_guarded_lines(lines, code->environment, text, anchors) < 0) {
            return -1;
        }
    }
    tj_environment_lines(code->environment, NULL);
    return 0;
}

int
cwj_graph_raise_left(const cwj_graph_code *code)
{
    tj_lines *lines = NULL;
    cwj_left left;
    cwj_left_settle(true);
    if (!cwj_left_begin(&left)) {
        return CWJ_GRAPH_FAULT;
    }
    if (code->guard == NULL && read_lines(code, &lines) < 0) {
        PyErr_Clear(); /* no memory: the line is not told */
    }
    const char *who = PyUnicode_AsUTF8(code->who);
    cwj_left_raise(who != NULL ? who : "", left, NULL);
    tj_lines_free(lines);
    return CWJ_GRAPH_FAULT;
}

/* ---- the life of a guard ------------------------------------------------------------------------ */

int
cwj_graph_guard_init(const cwj_module_state *state, cwj_graph_code *code)
{
    struct cwj_graph_guard *guard = cwj_allocate(1, sizeof(*guard));
    if (guard == NULL) {
        return -1;
    }
    code->guard = guard;
    guard->module = state;
    return read_lines(code, &guard->lines);
}

void
cwj_graph_guard_free(struct cwj_graph_guard *guard)
{
    if (guard != NULL) {
        tj_lines_free(guard->lines);
        PyMem_Free(guard);
    }
}
