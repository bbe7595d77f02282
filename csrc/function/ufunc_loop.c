/* ufunc_loop.c: see ufunc_loop.h.
 *
 * NumPy passes the number of slices in dims[0], followed by the sizes of the distinct core dims. steps has one step
 * per operand, followed by the core strides of all operands. In reductions, the output and the first input are the
 * same element, with step 0. Loops of the cc tier assume that an output overlaps an input only if it is exactly the
 * same view. For other overlaps, as in accumulate(), the tcc tier's loops run, which read and write slice by slice.
 *
 * Reductions of associative operations run in rows: a block of partial results takes a row of elements at a time,
 * with the loop for contiguous arrays. After CWJ_ROWS rows, the block is folded in halves to one result. The results
 * of blocks are joined in a tree, so that rounding errors stay as small as those of np.sum(). All of this depends
 * only on the number of elements, so both tiers give the same bits.
 */
#include "function/ufunc_loop.h"

#include "base/leave.h"

#include "base/extent.h"

enum {
    CWJ_LEAST_FOLD = 24, /* elements: fewer are faster one by one */
    CWJ_LANES = 256,     /* partial results of a block, at most */
    CWJ_ROWS = 16,
    CWJ_LARGEST_NUMBER = 32, /* bytes: complex long double */
    CWJ_MANY_SLICES = 4096   /* these take longer than reading a clock */
};

/* A call of a loop by NumPy. */
typedef struct run {
    cwj_ufunc_loop *loop;
    char **data;
    const npy_intp *dims, *steps;
} run;

/* ---- associative reductions --------------------------------------------- */

typedef struct fold {
    cwj_loop *loop;
    const cwj_call *call;
    npy_intp size; /* bytes of a number */
    npy_intp step; /* bytes from one number of the array to the next */
} fold;

/* Computes target[i] = one[i] op other[i]. Returns false if a slice returned false. */
static bool
combine(const fold *this, char *target, char *one, npy_intp one_step, char *other,
        npy_intp other_step, npy_intp count)
{
    char *data[] = {one, other, target};
    npy_intp steps[] = {one_step, other_step, this->size};
    return cwj_run_code((void (*)(void))this->loop, data, &count, steps, this->call);
}

/* Does the same with target and one = sums. */
static bool
add(const fold *this, char *sums, char *other, npy_intp other_step, npy_intp count)
{
    return combine(this, sums, sums, this->size, other, other_step, count);
}

/* Returns the largest power of two, at most CWJ_LANES, such that count elements are at least two rows. */
static npy_intp
lanes_for(npy_intp count)
{
    npy_intp lanes = CWJ_LANES;
    while (2 * lanes > count) {
        lanes /= 2;
    }
    return lanes;
}

/* Folds 2 <= count <= CWJ_LANES * CWJ_ROWS elements. */
static bool
fold_rows(const fold *this, char *from, npy_intp count, char *result)
{
    _Alignas(64) char sums[CWJ_LANES * CWJ_LARGEST_NUMBER];
    npy_intp lanes = lanes_for(count), row = lanes * this->step, left = count - 2 * lanes;
    if (!combine(this, sums, from, this->step, from + row, this->step, lanes)) {
        return false;
    }
    for (from += 2 * row; left > 0; from += row, left -= lanes) {
        if (!add(this, sums, from, this->step, left < lanes ? left : lanes)) {
            return false;
        }
    }
    for (lanes /= 2; lanes > 0; lanes /= 2) {
        if (!add(this, sums, sums + lanes * this->size, this->size, lanes)) {
            return false;
        }
    }
    memcpy(result, sums, (size_t)this->size);
    return true;
}

static bool
fold_tree(const fold *this, char *from, npy_intp count, char *result)
{
    const npy_intp leaf = CWJ_LANES * CWJ_ROWS;
    _Alignas(16) char right[CWJ_LARGEST_NUMBER];
    if (count <= leaf) {
        if (count > 1) {
            return fold_rows(this, from, count, result);
        }
        memcpy(result, from, (size_t)this->size);
        return true;
    }
    npy_intp left = (count / leaf + 1) / 2 * leaf;
    return fold_tree(this, from, left, result) &&
           fold_tree(this, from + left * this->step, count - left, right) &&
           add(this, result, right, this->size, 1);
}

static int
run_fold(const run *this, cwj_loop *loop, const cwj_call *call)
{
    _Alignas(16) char result[CWJ_LARGEST_NUMBER];
    fold whole = {loop, call, call->operands[2].sizeof_element, this->steps[1]};
    return fold_tree(&whole, this->data[1], this->dims[0], result) &&
           combine(&whole, this->data[2], this->data[0], 0, result, 0, 1);
}

/* ---- slices --------------------------------------------------------------- */

/* True for calls by reduce() and reduceat(): the output takes one element after the other. */
static bool
is_reduction(const run *this)
{
    return this->loop->is_binary && this->steps[0] == 0 && this->steps[2] == 0 &&
           this->data[0] == this->data[2];
}

static bool
is_fold(const run *this)
{
    return this->loop->is_associative && this->dims[0] >= CWJ_LEAST_FOLD && is_reduction(this);
}

static cwj_extent
extent_of(const run *this, int k)
{
    return extent_of_memory(this->data[k], 1, this->dims, this->steps + k,
                            this->loop->operands[k].sizeof_element);
}

/* True if the output overlaps an input that begins at another address, as in accumulate() and u(x[1:], out=x[:-1]):
 * NumPy does not copy an input whose slices are all read before the output reaches them. With several outputs or core
 * dims it does. Loops themselves handle operands that begin at the same address. */
static bool
is_shifted(const run *this)
{
    const cwj_function_decl *decl = this->loop->runtime->decl;
    int out = decl->ninputs;
    if (this->loop->operands == NULL || decl->noutputs != 1) {
        return false;
    }
    cwj_extent written = extent_of(this, out);
    for (int k = 0; k < out; k++) {
        cwj_extent read = extent_of(this, k);
        if (read.low < written.high && written.low < read.high &&
            this->data[k] != this->data[out]) {
            return true;
        }
    }
    return false;
}

static int
run_slices(const run *this, const cwj_call *call)
{
    const cwj_ufunc_loop *own = this->loop;
    cwj_runtime *runtime = own->runtime;
    cwj_loop *loop = __atomic_load_n(&runtime->loops[own->typeset], __ATOMIC_ACQUIRE);
    if (is_fold(this)) {
        return run_fold(this, loop, call);
    }
    if (is_shifted(this)) {
        loop = runtime->decl->typesets[own->typeset].loop;
    }
    return cwj_run_code((void (*)(void))loop, this->data, this->dims, this->steps, call);
}

/* ---- heat ------------------------------------------------------------------- */

typedef struct report {
    const run *run;
    const cwj_call *call;
} report;

/* Stores the strides of a call for profiles. In a fold, the partial results are contiguous. */
static void
fill_strides(const run *this, const cwj_call *call, npy_intp *strides)
{
    const cwj_function_decl *decl = this->loop->runtime->decl;
    memcpy(strides, this->steps, cwj_profile_strides(decl) * sizeof(*strides));
    if (is_fold(this)) {
        strides[0] = strides[2] = call->operands[2].sizeof_element;
    }
}

/* Reports the time to the runtime. The GIL is held. */
static void
tell_runtime(void *argument)
{
    const report *this = argument;
    cwj_ufunc_loop *loop = this->run->loop;
    const cwj_function_decl *decl = loop->runtime->decl;
    npy_intp named[CWJ_UFUNC_DIMS], strides[CWJ_UFUNC_OPERANDS + CWJ_UFUNC_DIMS];
    if (PyErr_Occurred()) {
        return;
    }
    for (int k = 0; k < decl->ninputs + decl->noutputs; k++) {
        for (int i = 0; i < decl->operands[k].ncore; i++) {
            npy_intp core = decl->operands[k].core[i];
            if (core < 0) {
                named[-1 - core] = this->call->operands[k].dims_slice[i];
            }
        }
    }
    fill_strides(this->run, this->call, strides);
    unsigned long long spent = __atomic_exchange_n(&loop->spent, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&loop->report_at, 2 * loop->report_at, __ATOMIC_RELAXED);
    cwj_note_numpy_loop(this->call, named, strides, spent);
}

/* Times each long call, and one in CWJ_SAMPLE short calls, which counts for the others. */
static __attribute__((noinline)) int
run_timed(const run *this, const cwj_call *call)
{
    cwj_ufunc_loop *loop = this->loop;
    unsigned long long before = tj_clock_ns();
    int accepted = run_slices(this, call);
    unsigned long long ns = tj_clock_ns() - before;
    bool is_short = ns < CWJ_SHORT_NS;
    __atomic_store_n(&loop->until_sample, is_short ? CWJ_SAMPLE : 1, __ATOMIC_RELAXED);
    ns *= is_short ? CWJ_SAMPLE : 1;
    unsigned long long spent = __atomic_add_fetch(&loop->spent, ns, __ATOMIC_RELAXED);
    if (accepted && spent >= __atomic_load_n(&loop->report_at, __ATOMIC_RELAXED)) {
        cwj_numpy_loop_in_python(tell_runtime, &(report){this, call});
    }
    return accepted;
}

static bool
is_timed(const run *this)
{
    cwj_ufunc_loop *loop = this->loop;
    int left = __atomic_load_n(&loop->until_sample, __ATOMIC_RELAXED) - 1;
    __atomic_store_n(&loop->until_sample, left, __ATOMIC_RELAXED);
    return (left <= 0 || this->dims[0] >= CWJ_MANY_SLICES) && loop->runtime->hot != NULL;
}

static void
take_deadline(void *Py_UNUSED(nothing))
{
    cwj_deadline_take();
}

static int
run_task(void *argument, const cwj_call *call)
{
    const run *this = argument;
    if (__atomic_load_n(&cwj_deadlines, __ATOMIC_RELAXED)) { /* NumPy has released the GIL */
        cwj_numpy_loop_in_python(take_deadline, NULL);
    }
    return is_timed(this) ? run_timed(this, call) : run_slices(this, call);
}

/* ---- NumPy's call ------------------------------------------------------------ */

/* Describes the slices of operand k; NumPy's loops know nothing else of its array. */
static void
describe_slices(const run *this, int k, int at, cwj_operand *operand, npy_intp *dims)
{
    const cwj_runtime *runtime = this->loop->runtime;
    const cwj_function_decl *decl = runtime->decl;
    int ncore = decl->operands[k].ncore;
    const npy_intp *strides = this->steps + decl->ninputs + decl->noutputs + at;
    for (int i = 0; i < ncore; i++) {
        dims[i] = this->dims[1 + this->loop->sizes[at + i]];
    }
    *operand = (cwj_operand){
        .ndims_full = ncore,
        .dims_full = dims,
        .strides_full = strides,
        .ndims_slice = ncore,
        .dims_slice = dims,
        .strides_slice = strides,
        .sizeof_element = decl->typesets[this->loop->typeset].types[k].itemsize,
    };
}

static void
run_with_core_dims(run *this)
{
    const cwj_function_decl *decl = this->loop->runtime->decl;
    cwj_operand operands[CWJ_UFUNC_OPERANDS];
    npy_intp sizes[CWJ_UFUNC_DIMS];
    for (int k = 0, at = 0; k < decl->ninputs + decl->noutputs; at += decl->operands[k++].ncore) {
        describe_slices(this, k, at, &operands[k], sizes + at);
    }
    cwj_numpy_loop_run(this->loop->runtime, this->loop->typeset, operands, run_task, this);
}

void
cwj_ufunc_run(char **data, const npy_intp *dims, const npy_intp *steps, void *loop)
{
    run this = {loop, data, dims, steps};
    if (this.loop->operands == NULL) {
        run_with_core_dims(&this);
    } else {
        cwj_numpy_loop_run(this.loop->runtime, this.loop->typeset, this.loop->operands, run_task,
                           &this);
    }
}
