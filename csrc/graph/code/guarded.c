/* guarded.c: see guarded.h. References that the code held when it was left are lost: nobody
 * knows them. */
#include "graph/code/guarded.h"

/* ---- where it was ---------------------------------------------------------------------- */

/* The number and the name of a #line directive. */
static bool
read_directive(const char *line, long *number, const char **name, size_t *length)
{
    char *end;
    if (strncmp(line, "#line ", 6) != 0) {
        return false;
    }
    *number = strtol(line + 6, &end, 10);
    *name = strchr(end, '"');
    const char *close = *name == NULL ? NULL : strchr(*name + 1, '"');
    if (close == NULL) {
        return false;
    }
    ++*name;
    *length = (size_t)(close - *name);
    return true;
}

/* The line in the generated text, which holds all texts of types and ops. */
static PyObject *
line_text(void *owner, const char *file, int line)
{
    const char *at = PyUnicode_AsUTF8(((const cwj_graph_code *)owner)->source), *name = "";
    long number = 0;
    size_t length = 0;
    while (at != NULL && *at != '\0') {
        const char *end = at + strcspn(at, "\n");
        if (read_directive(at, &number, &name, &length)) {
            number--; /* it is the number of the next line */
        } else if (number == line && length == strlen(file) && strncmp(name, file, length) == 0) {
            return PyUnicode_DecodeUTF8(at, end - at, "replace");
        }
        number++;
        at = *end == '\0' ? end : end + 1;
    }
    return at == NULL ? NULL : Py_NewRef(Py_None);
}

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
    if (cwj_guard(&guard->guarded, run, &this, &fault)) {
        return this.result;
    }
    PyErr_Clear(); /* what the code may have set before */
    cwj_fault_raise(guard->who, &guard->guarded, &fault, line_text, (void *)code);
    return CWJ_GRAPH_FAULT;
}

/* ---- the life of a guard ------------------------------------------------------------------------ */

int
cwj_graph_guard_init(const cwj_module_state *state, cwj_graph_code *code, const char *name)
{
    struct cwj_graph_guard *guard = PyMem_Calloc(1, sizeof(*guard));
    const char *text = PyUnicode_AsUTF8(code->source);
    if (guard == NULL || text == NULL) {
        PyMem_Free(guard);
        PyErr_NoMemory();
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
    guard->guarded = (cwj_guarded){guard->lines, tj_environment_lines(code->environment), true};
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
