/* guarded.c: calls the code of a graph under a guard. References that the code holds at a fault are leaked. */
#include "graph/code/guarded.h"

/* ---- running ------------------------------------------------------------------------------ */

typedef struct task {
    const cwj_graph_code *code;
    cwj_graph_call call;
    int result;
} task;

static void
run(void *argument)
{
    task *this = argument;
    this->result = cwj_graph_call_plainly(this->code, this->call);
}

int
cwj_graph_call_guarded(const cwj_graph_code *code, cwj_graph_call call)
{
    const struct cwj_graph_guard *guard = code->guard;
    task this = {.code = code, .call = call};
    cwj_fault fault;
    cwj_guard_install();
    if (cwj_guard(true, run, &this, &fault)) {
        return this.result;
    }
    PyErr_Clear(); /* the code may have set one before the fault */
    cwj_fault_raise(guard->who, &fault, NULL);
    return CWJ_GRAPH_FAULT;
}

/* ---- the life of a guard ------------------------------------------------------------------------ */

int
cwj_graph_guard_init(const cwj_module_state *state, cwj_graph_code *code, const char *name)
{
    struct cwj_graph_guard *guard = cwj_allocate(1, sizeof(*guard));
    const char *text = PyUnicode_AsUTF8(code->source);
    if (guard == NULL || text == NULL) {
        PyMem_Free(guard);
        return -1;
    }
    code->guard = guard;
    guard->module = state;
    guard->who = PyUnicode_FromString(name);
    if (guard->who == NULL) {
        return -1;
    }
    if (code->unit != NULL && code->decl->nsteps > 0) {
        const tj_anchor anchors[] = {
            {strstr(text, "cwj_enter_0(") != NULL ? "cwj_enter_0" : "cwj_step_0",
             (const void *)code->decl->steps[0]},
            {0}};
        if (cwj_guarded_lines(&guard->lines, code->environment, text, anchors) < 0) {
            return -1;
        }
    }
    tj_environment_lines(code->environment, NULL);
    return 0;
}

void
cwj_graph_guard_free(struct cwj_graph_guard *guard)
{
    if (guard != NULL) {
        tj_lines_free(guard->lines);
        Py_XDECREF(guard->who);
        PyMem_Free(guard);
    }
}
