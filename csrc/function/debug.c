/* debug.c: see debug.h. */
#include "function/debug.h"
#include "function/tiers.h"

#include "function/place.h"
#include "base/debug/fence.h"
#include "base/debug/patterns.h"
#include "base/debug/zones.h"
#include "base/errors.h"
#include "base/leave.h"
#include "base/raised.h"

/* A running call of a checked function. Calls nest, because snippets may print, and printing may
 * run any Python code. */
typedef struct call {
    struct call *outer;
    cwj_function_object *function;
    const cwj_call *cwj; /* NULL: the arguments are not bound yet */
    bool makes_outputs;  /* the caller passed none */
    npy_intp slices;    /* completed slices */
    int accepted;       /* result of the validate snippet */
    cwj_fences fences;  /* of the operands */
    char **at;          /* owned, with fences: the slice of each operand */
    PyObject *raised;   /* owned: raised by defaults of extra arguments, which cannot fail
                           themselves */
} call;

static _Thread_local call *running;

/* ---- reporting faults ---------------------------------------------------------------------- */

static void
raise_fault(void *argument)
{
    cwj_fault *fault = argument;
    cwj_function_object *function = running->function;
    cwj_debugged *checked = function->checked;
    checked->faults++;
    int k = cwj_fences_find(&running->fences, fault->address);
    fault->fence = k >= 0 ? &running->fences.items[k] : cwj_zones_find(fault->address);
    int count = running->cwj == NULL || fault->fence == NULL
                    ? 0
                    : checked->own->ninputs + checked->own->noutputs;
    for (int i = 0; k < 0 && i < count; i++) {
        k = running->cwj->operands[i].data == fault->fence->data ? i : -1;
    }
    if (k >= 0) {
        fault->kind = k < checked->own->ninputs ? "argument" : "output";
        fault->name = checked->own->operands[k].name;
    }
    cwj_fault_raise(checked->who, fault, cwj_function_as_user(function));
}

/* Returns true if run() completed; false with an exception set if a fault ended it. */
static bool
run_guarded(void (*run)(void *), void *argument)
{
    cwj_fault fault;
    bool hosted = running->function->checked->hosted;
    bool done = cwj_guard(hosted, run, argument, &fault);
    if (!done && cwj_fences_give_up(&running->fences)) {
        done = cwj_guard(hosted, run, argument, &fault);
    }
    if (!done && fault.signal != 0) {
        cwj_in_python(raise_fault, &fault);
    }
    return done;
}

/* ---- indices ------------------------------------------------------------------------------ */

typedef struct bad_index {
    const cwj_operand *operand; /* NULL: use a format with index and limit */
    const char *format;
    int number, axis; /* of the operand */
    npy_intp index, limit;
    bool is_unsigned; /* 64 bits: a negative index became a large number */
    const void *caller;
} bad_index;

static PyObject *
text_with(const bad_index *bad, PyObject *index)
{
    const cwj_operand *operand = bad->operand;
    if (operand == NULL) {
        return PyUnicode_FromFormat(bad->format, index, (Py_ssize_t)bad->limit);
    }
    const cwj_function_decl *own = running->function->checked->own;
    const char *name = own->operands[bad->number].name;
    PyObject *shape = PyArray_IntTupleFromIntp((int)operand->ndims_slice, operand->dims_slice);
    PyObject *text =
        shape == NULL
            ? NULL
            : PyUnicode_FromFormat("item__%s(): index %S is out of range for axis %d of %s '%s', "
                                   "whose slices have the shape %S",
                                   name, index, bad->axis,
                                   bad->number < own->ninputs ? "argument" : "output", name, shape);
    Py_XDECREF(shape);
    return text;
}

static PyObject *
text_of(const bad_index *bad)
{
    PyObject *index = bad->is_unsigned ? PyLong_FromUnsignedLongLong((npy_uint64)bad->index)
                                       : PyLong_FromLongLong(bad->index);
    PyObject *text = index == NULL ? NULL : text_with(bad, index);
    Py_XDECREF(index);
    return text;
}

static void
raise_bad_index(void *argument)
{
    const bad_index *bad = argument;
    const cwj_function_object *function = running->function;
    const cwj_fault called = {.returns = {bad->caller}, .nreturns = 1};
    PyObject *place = NULL, *text = text_of(bad);
    PyObject *where =
        text == NULL ? NULL : cwj_place_text(&called, cwj_function_as_user(function), &place);
    if (where != NULL) {
        cwj_refuse_by(function->checked->who, PyExc_IndexError, "%U%U", text, where);
    }
    Py_XDECREF(place);
    Py_XDECREF(where);
    Py_XDECREF(text);
}

static npy_intp
within(bad_index bad)
{
    if (bad.index >= 0 && bad.index < bad.limit) {
        return bad.index;
    }
    if (running != NULL) {
        cwj_in_python(raise_bad_index, &bad);
    }
    cwj_guard_leave();
}

npy_intp
cwj_debugged_index(const cwj_call *cwj, int operand, int axis, int is_unsigned, const char *index)
{
    const cwj_operand *own = &cwj->operands[operand];
    return within((bad_index){own, NULL, operand, axis, (npy_intp)index, own->dims_slice[axis],
                              is_unsigned != 0, __builtin_return_address(0)});
}

npy_intp
cwj_debugged_number(const char *format, npy_intp limit, int is_unsigned, const char *index)
{
    return within((bad_index){NULL, format, 0, 0, (npy_intp)index, limit, is_unsigned != 0,
                              __builtin_return_address(0)});
}

/* ---- outputs ------------------------------------------------------------------------------- */

static size_t
count_elements(const cwj_operand *operand)
{
    return (size_t)PyArray_MultiplyList(operand->dims_full, (int)operand->ndims_full);
}

static const cwj_type *
types_of(const cwj_call *cwj)
{
    return running->function->checked->own->typesets[cwj_typeset_index(cwj)].types;
}

static void
fill_outputs(const cwj_call *cwj)
{
    const cwj_function_decl *decl = running->function->checked->own;
    for (int k = decl->ninputs; k < decl->ninputs + decl->noutputs; k++) {
        const cwj_operand *operand = &cwj->operands[k];
        cwj_pattern_fill(operand->data, count_elements(operand), types_of(cwj)[k].type_num,
                         (size_t)operand->sizeof_element);
    }
}

/* Returns the indices, as a tuple, of the element at offset in a contiguous array. */
static PyObject *
indices_of(const cwj_operand *operand, npy_intp offset)
{
    npy_intp indices[NPY_MAXDIMS] = {0};
    for (npy_intp i = 0; i < operand->ndims_full; i++) {
        npy_intp dim = operand->dims_full[i];
        indices[i] = dim > 1 ? offset / operand->strides_full[i] % dim : 0;
    }
    return PyArray_IntTupleFromIntp((int)operand->ndims_full, indices);
}

/* Raises Fault for bytes around an operand or one of its slices. Returns -1. */
static int
raise_around(const char *kind, const char *name, npy_intp ndim, const npy_intp *dims,
             npy_intp itemsize, ptrdiff_t offset)
{
    cwj_function_object *function = running->function;
    size_t bytes = (size_t)(PyArray_MultiplyList(dims, (int)ndim) * itemsize);
    PyObject *shape = PyArray_IntTupleFromIntp((int)ndim, dims);
    PyObject *what =
        shape == NULL ? NULL : PyUnicode_FromFormat("%s '%s' of shape %S", kind, name, shape);
    Py_XDECREF(shape);
    function->checked->faults++;
    return cwj_damage_around(cwj_state_of((PyObject *)function), function->checked->who, what,
                             offset, bytes);
}

static int
check_around(const cwj_operand *operand, const char *name)
{
    ptrdiff_t offset;
    return cwj_zones_damaged(operand->data, &offset)
               ? raise_around("output", name, operand->ndims_full, operand->dims_full,
                              operand->sizeof_element, offset)
               : 0;
}

static int
check_elements(const cwj_operand *operand, const char *name, int type_num)
{
    size_t size = (size_t)operand->sizeof_element, index = 0;
    cwj_trace trace =
        cwj_pattern_find(operand->data, count_elements(operand), type_num, size, &index);
    if (trace == CWJ_WRITTEN) {
        return 0;
    }
    cwj_function_object *function = running->function;
    PyObject *indices = indices_of(operand, (npy_intp)(index * size));
    PyObject *text = indices == NULL
                         ? NULL
                         : PyUnicode_FromFormat("element %S of output '%s' %s", indices, name,
                                                trace == CWJ_UNWRITTEN
                                                    ? "was never written"
                                                    : "comes from a value that was read before "
                                                      "it was written");
    Py_XDECREF(indices);
    function->checked->faults++;
    return cwj_damage_raise(cwj_state_of((PyObject *)function), function->checked->who, text);
}

/* Stops at the first faulty output, with an exception set. */
static void
check_outputs(void *cwj)
{
    const cwj_function_decl *decl = running->function->checked->own;
    bool raised = PyErr_Occurred() != NULL; /* raised by a slice that returned true */
    for (int k = decl->ninputs; k < decl->ninputs + decl->noutputs && !raised; k++) {
        const cwj_operand *operand = &((cwj_call *)cwj)->operands[k];
        const char *name = decl->operands[k].name;
        if (check_around(operand, name) < 0 ||
            check_elements(operand, name, types_of(cwj)[k].type_num) < 0) {
            return;
        }
    }
}

/* Returns the number of slices of the call: new outputs have all broadcast dims. */
static npy_intp
count_slices(const cwj_operand *output)
{
    return PyArray_MultiplyList(output->dims_full, (int)(output->ndims_full - output->ndims_slice));
}

/* ---- replacements of the function's own code ------------------------------------------------- */

typedef struct slices {
    cwj_loop *loop;
    char **data;
    const npy_intp *dims, *steps;
    void *ctx;
    int accepted;
    npy_intp done; /* with fences: completed slices */
    int damaged; /* the copy around which the code has written, or -1 */
    ptrdiff_t offset;
} slices;

/* True if C can use a copy that ends where the slice ends. The index operand of elementwise kernels has no memory:
 * see kernel/adapt.c. */
static bool
is_fenced(const cwj_call *cwj, int k)
{
    return running->function->checked->own->operands[k].ncore > 0 &&
           (npy_intp)cwj->operands[k].data > 0 && cwj_contiguous(cwj, k);
}

static void
copy_slice(const slices *this)
{
    const cwj_call *cwj = this->ctx;
    const cwj_function_decl *own = running->function->checked->own;
    for (int k = 0; k < own->ninputs + own->noutputs; k++) {
        const cwj_operand *operand = &cwj->operands[k];
        running->at[k] = this->data[k] + this->done * this->steps[k];
        if (is_fenced(cwj, k)) {
            npy_intp count = PyArray_MultiplyList(operand->dims_slice, (int)operand->ndims_slice);
            size_t itemsize = (size_t)operand->sizeof_element;
            running->at[k] =
                cwj_fences_copy(&running->fences, k, running->at[k], (size_t)count * itemsize,
                                types_of(cwj)[k].type_num, itemsize);
        }
    }
}

/* Copies the present slice back to the operands that C may write to. */
static void
write_back(const slices *this)
{
    const cwj_function_decl *own = running->function->checked->own;
    for (int k = 0; k < running->fences.count; k++) {
        if (own->operands[k].role != CWJ_IN) {
            cwj_fences_write_back(&running->fences, k, this->data[k] + this->done * this->steps[k]);
        }
    }
}

static void
run_loop(void *argument)
{
    slices *this = argument;
    const npy_intp one = 1;
    if (running->fences.items == NULL) {
        this->accepted = cwj_run_code((void (*)(void))this->loop, this->data, this->dims,
                                      this->steps, this->ctx);
        return;
    }
    for (this->accepted = 1; this->accepted && this->done < this->dims[0]; this->done++) {
        copy_slice(this);
        this->accepted =
            cwj_run_code((void (*)(void))this->loop, running->at, &one, this->steps, this->ctx);
        write_back(this);
        this->damaged = this->accepted ? cwj_fences_damaged(&running->fences, &this->offset) : -1;
        this->accepted &= this->damaged < 0;
    }
}

static void
raise_damage(void *argument)
{
    const slices *this = argument;
    const cwj_function_decl *own = running->function->checked->own;
    const cwj_operand *operand = &((cwj_call *)this->ctx)->operands[this->damaged];
    if (PyErr_Occurred()) {
        return; /* raised by a slice that returned true */
    }
    raise_around(this->damaged < own->ninputs ? "a slice of argument" : "a slice of output",
                 own->operands[this->damaged].name, operand->ndims_slice, operand->dims_slice,
                 operand->sizeof_element, this->offset);
}

static int
loop_guarded(char **data, const npy_intp *dims, const npy_intp *steps, void *ctx)
{
    const cwj_function_decl *own = running->function->checked->own;
    slices this = {own->typesets[cwj_typeset_index(ctx)].loop, data, dims, steps, ctx, 0, 0, -1, 0};
    for (int k = 0; k < running->fences.count; k++) {
        running->fences.items[k].of = NULL; /* copy anew: border windows reuse this memory */
    }
    if (!run_guarded(run_loop, &this)) {
        write_back(&this);
        return 0;
    }
    if (this.damaged >= 0) {
        cwj_in_python(raise_damage, &this);
    }
    if (!this.accepted) {
        return 0;
    }
    running->slices += dims[0];
    if (running->makes_outputs && own->noutputs > 0 &&
        running->slices == count_slices(&((cwj_call *)ctx)->operands[own->ninputs])) {
        cwj_in_python(check_outputs, ctx);
    }
    return 1;
}

static int
run_snippet(void (*code)(void), const void *argument)
{
    return cwj_run_code(code, argument, NULL, NULL, NULL);
}

static void
run_validate(void *cwj)
{
    running->accepted = run_snippet((void (*)(void))running->function->checked->own->validate, cwj);
}

/* Runs after the arguments are bound and before the slices, even if there is no such snippet. */
static int
validate_guarded(cwj_call *cwj)
{
    if (running->raised != NULL) {
        cwj_raised_set(running->raised);
        running->raised = NULL;
        return 0;
    }
    running->cwj = cwj;
    if (running->makes_outputs) {
        fill_outputs(cwj);
    }
    if (running->function->checked->own->validate == NULL) {
        return 1;
    }
    return run_guarded(run_validate, cwj) && running->accepted;
}

static void
run_cleanup(void *argument)
{
    run_snippet((void (*)(void))running->function->checked->own->cleanup, argument);
}

static void
cleanup_guarded(cwj_call *cwj)
{
    run_guarded(run_cleanup, cwj);
}

static void
run_defaults(void *argument)
{
    running->function->checked->own->defaults(argument);
}

static void
defaults_guarded(void *extras)
{
    if (!run_guarded(run_defaults, extras)) {
        running->raised = cwj_raised_take();
    }
}

/* ---- calls -------------------------------------------------------------------------------- */

/* True if the caller passed no outputs. */
static bool
makes_outputs(PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Py_ssize_t count = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "out") == 0) {
            return args[PyVectorcall_NARGS(nargsf) + i] == Py_None;
        }
    }
    return true;
}

/* Creates the fences, unless C may keep an address. Returns 0, or -1 with an exception set. */
static int
make_fences(call *this)
{
    const cwj_debugged *checked = this->function->checked;
    int count = checked->own->ninputs + checked->own->noutputs;
    PyObject *dict = this->function->dict; /* Python code has stored its data there */
    if (!checked->fences || (dict != NULL && PyDict_GetItemString(dict, "_keeps") == Py_True)) {
        return 0;
    }
    this->at = cwj_allocate((size_t)count, sizeof(*this->at));
    if (this->at == NULL) {
        return -1;
    }
    return cwj_fences_new(&this->fences, count, checked->left);
}

static PyObject *
call_checked(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    cwj_function_object *self = (cwj_function_object *)op;
    PyObject *before = cwj_zones_enter(self->checked->beyond);
    if (before == NULL) {
        return NULL;
    }
    call this = {
        .outer = running, .function = self, .makes_outputs = makes_outputs(args, nargsf, kwnames)};
    Py_INCREF(self);
    cwj_guard_install();
    running = &this;
    PyObject *result = make_fences(&this) < 0 ? NULL : cwj_function_call(op, args, nargsf, kwnames);
    running = this.outer;
    cwj_fences_free(&this.fences);
    PyMem_Free(this.at);
    Py_XDECREF(this.raised);
    cwj_zones_leave(before);
    Py_DECREF(self);
    return result;
}

/* ---- creating and freeing checked functions -------------------------------------------------- */

/* Copies the unit's descriptor and replaces its functions by those of this file. */
static int
replace_snippets(cwj_debugged *this)
{
    size_t count = (size_t)this->own->ntypesets;
    cwj_typeset *typesets = cwj_allocate(count + 1, sizeof(*typesets));
    if (typesets == NULL) {
        return -1;
    }
    memcpy(typesets, this->own->typesets, count * sizeof(*typesets));
    for (size_t t = 0; t < count; t++) {
        typesets[t].loop = loop_guarded;
    }
    this->decl = *this->own;
    this->decl.flags |= CWJ_ARRAYS_ONLY;
    this->decl.typesets = typesets;
    this->decl.validate = validate_guarded;
    this->decl.cleanup = this->own->cleanup == NULL ? NULL : cleanup_guarded;
    this->decl.defaults = this->own->defaults == NULL ? NULL : defaults_guarded;
    return 0;
}

/* Decides if C gets copies of slices: not if the code may read beyond its slice or keep an address, or if outputs may
 * be inputs. Returns 0, or -1 with an exception set. */
static int
look_for_memory(cwj_debugged *this, const cwj_function_object *function)
{
    const char *found;
    bool hidden;
    int operand;
    if (cwj_find_full_geometry(function, &found, &operand, &hidden) < 0) {
        return -1;
    }
    this->fences = found == NULL && !hidden && this->own->cookie_size == 0 &&
                   !(this->own->flags & CWJ_INPLACE) && !tj_unit_has_state(function->code.unit) &&
                   !tj_unit_uses_host(function->code.unit) &&
                   !tj_environment_may_keep(function->environment->tj);
    bool has_arrays = false;
    for (int k = 0; k < this->own->ninputs + this->own->noutputs; k++) {
        has_arrays |= this->own->operands[k].ncore > 0;
        for (int t = 0; t < this->own->ntypesets; t++) {
            const cwj_type *type = &this->own->typesets[t].types[k];
            this->beyond |= cwj_bytes_read_beyond(type->type_num, (size_t)type->itemsize) > 0;
        }
    }
    for (int i = 0; i < this->own->nextras; i++) { /* 'O' and '?' may keep an address */
        has_arrays &= strchr("O?", this->own->extras[i].kind) == NULL;
    }
    this->fences &= has_arrays;
    return 0;
}

int
cwj_debugged_init(cwj_function_object *function, bool left)
{
    cwj_debugged *this = cwj_allocate(1, sizeof(*this));
    if (this == NULL) {
        return -1;
    }
    function->checked = this;
    this->left = left;
    this->own = function->code.decl;
    this->hosted = tj_unit_uses_host(function->code.unit);
    this->who = PyUnicode_FromString(function->spec->who);
    return this->who == NULL || replace_snippets(this) < 0 || look_for_memory(this, function) < 0
               ? -1
               : cwj_function_lines(function, &this->lines);
}

void
cwj_debugged_start(cwj_function_object *function)
{
    function->runtime.may_be_quick = 0;
    function->runtime.threads = 1; /* there is one stack, and one place to jump back to */
    function->vectorcall = call_checked;
}

void
cwj_debugged_free(cwj_debugged *this)
{
    if (this != NULL) {
        PyMem_Free((void *)this->decl.typesets);
        tj_lines_free(this->lines);
        Py_XDECREF(this->who);
        PyMem_Free(this);
    }
}
