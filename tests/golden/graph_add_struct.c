#line 2 "<cwrapjit graph generated>"
/* graph, linked
 *
 *   V1_x      block 1: x (Double)
 *   V2_y      block 2: y (Double)
 *   V3_z      block 3: z (Double)
 *   node_1    block 5, validated in 4: z = Add(x, y)
 *
 * For a variable X: storage_X is the list of one object where Python has its
 * value, py_X that object. What fails sets `failure` to the number of its block
 * and jumps to the block's label: what was entered is cleaned up, nothing else.
 */

#include <Python.h>
#include <cwj_graph.h>

/* The object in a storage, unless something failed already. */
static PyObject *cwj_fetch(PyObject *storage, int block, int *failure)
{
    PyObject *object = *failure ? 0 : cwj_storage_get(storage);
    if (!object && !*failure)
        *failure = block;
    return object;
}

/* ---- what is kept between runs ---- */

typedef struct cwj_graph_state {
    PyObject *storage_V1_x;
    PyObject *storage_V2_y;
    PyObject *storage_V3_z;
#line 1 "<cwrapjit Double.c_declare of z>"
    double V3_z;
#line 35 "<cwrapjit graph generated>"
} cwj_graph_state;

#define V3_z (cwj_state->V3_z)

/* block 3, z (Double): c_init */
static int cwj_begin_V3_z(cwj_graph_state *cwj_state)
{
    int failure = 0;
/* A macro of some header may hide a return: here none compiles. */
#define return ({ _Static_assert(0, "a return here would skip the cleanup"); })
    {
#line 1 "<cwrapjit Double.c_init of z>"
        V3_z = 0.0;
    }
#line 50 "<cwrapjit graph generated>"
#undef return
label_3:;
    return failure;
}

/* What is kept, in the order in which it begins. */
static const struct {
    int output; /* its number as a variable, or -1 */
    int (*begin)(cwj_graph_state *);
    void (*end)(cwj_graph_state *);
} cwj_kept[] = {
    {2, cwj_begin_V3_z, 0},
};
enum { CWJ_NKEPT = 1 };

static int cwj_begin_one(cwj_graph_state *state, int i)
{
    return cwj_kept[i].begin ? cwj_kept[i].begin(state) : 0;
}

static void cwj_end_one(cwj_graph_state *state, int i)
{
    if (cwj_kept[i].end)
        cwj_kept[i].end(state);
}

static void cwj_end(void *state)
{
    for (int i = CWJ_NKEPT; i-- > 0;)
        cwj_end_one(state, i);
}

static int cwj_renew(void *state, int variable)
{
    int failure = 0, which = 0;
    while (which < CWJ_NKEPT && cwj_kept[which].output != variable)
        which++;
    if (which == CWJ_NKEPT)
        return 0;
    cwj_end_one(state, which);
    failure = cwj_begin_one(state, which);
    for (int i = CWJ_NKEPT; failure && i-- > 0;)
        if (i != which)
            cwj_end_one(state, i);
    return failure;
}

static int cwj_begin(void *state, PyObject *const *storages)
{
    cwj_graph_state *cwj_state = state;
    cwj_state->storage_V1_x = storages[0];
    cwj_state->storage_V2_y = storages[1];
    cwj_state->storage_V3_z = storages[2];
    int failure = 0, begun = 0;
    while (begun < CWJ_NKEPT && !(failure = cwj_begin_one(state, begun)))
        begun++;
    while (failure && begun-- > 0)
        cwj_end_one(state, begun);
    return failure;
}

/* ---- z = Add(x, y) ---- */

static int cwj_step_0(cwj_graph_state *cwj_state)
{
    int failure = 0;
    PyObject *py_V1_x = cwj_fetch(cwj_state->storage_V1_x, 1, &failure);
    PyObject *py_V2_y = cwj_fetch(cwj_state->storage_V2_y, 2, &failure);
    PyObject *py_V3_z = Py_NewRef(Py_None); /* whatever is in its storage */
#line 1 "<cwrapjit Double.c_declare of x>"
    double V1_x;
#line 1 "<cwrapjit Double.c_declare of y>"
    double V2_y;
#line 124 "<cwrapjit graph generated>"
    if (failure) goto cwj_done;
/* A macro of some header may hide a return: here none compiles. */
#define return ({ _Static_assert(0, "a return here would skip the cleanup"); })
    { /* block 1, x (Double): c_extract */
        {
#line 1 "<cwrapjit Double.c_extract of x>"
            V1_x = PyFloat_AsDouble(py_V1_x);
        }
#line 133 "<cwrapjit graph generated>"
        if (PyErr_Occurred()) {failure = 1; goto label_1;}
        { /* block 2, y (Double): c_extract */
            {
#line 1 "<cwrapjit Double.c_extract of y>"
                V2_y = PyFloat_AsDouble(py_V2_y);
            }
#line 140 "<cwrapjit graph generated>"
            if (PyErr_Occurred()) {failure = 2; goto label_2;}
            { /* block 3, z (Double): kept in the state */
                { /* block 4, z = Add(x, y): c_validate_update */
#line 1 "<cwrapjit Add.c_validate_update of z>"
                    if (V1_x < 0 || V2_y < 0) {failure = 4; goto label_4;}
#line 146 "<cwrapjit graph generated>"
                    { /* block 5, z = Add(x, y): c_code */
#line 1 "<cwrapjit Add.c_code of z>"
                        V3_z = V1_x + V2_y;
#line 150 "<cwrapjit graph generated>"
                    label_5:;
                    }
                label_4:;
                }
            label_3:;
                if (!failure && PyErr_Occurred()) failure = 3;
                if (!failure) { /* c_sync */
                    {
#line 1 "<cwrapjit Double.c_sync of z>"
                        Py_XDECREF(py_V3_z); py_V3_z = PyFloat_FromDouble(V3_z);
                    }
#line 162 "<cwrapjit graph generated>"
                    if (PyErr_Occurred() || cwj_storage_put(cwj_state->storage_V3_z, py_V3_z)) failure = 3;
                }
            }
        label_2:;
        }
    label_1:;
    }
#undef return
cwj_done:;
    Py_XDECREF(py_V3_z);
    Py_XDECREF(py_V2_y);
    Py_XDECREF(py_V1_x);
    return failure;
}

static int cwj_enter_0(void *state, PyObject *const *storages)
{
    return cwj_step_0(state);
}

static cwj_graph_step *const cwj_steps[] = {cwj_enter_0};

const cwj_graph_decl cwj_graph = {
    .state_size = sizeof(cwj_graph_state),
    .begin = cwj_begin,
    .end = cwj_end,
    .renew = cwj_renew,
    .nsteps = 1,
    .steps = cwj_steps,
};
