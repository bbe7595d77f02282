/* ufunc.c: see ufunc.h.
 *
 * NumPy never frees the parts of a ufunc, except the block in its member ptr. All parts are therefore in that block:
 * tables, the data of loops, texts. The member obj is the function, which owns the code. Function and ufunc hold each
 * other. The garbage collector frees both, because the ufunc is tracked.
 */
#include "function/ufunc.h"

#include "base/errors.h"
#include "function/function.h"
#include "function/ufunc_loop.h"

#include <numpy/ufuncobject.h>

/* True for two inputs and one output without core dims. */
static bool
is_binary(const tj_spec *spec)
{
    bool binary = spec->noperands == 3 && spec->noutputs == 1;
    for (int k = 0; k < spec->noperands; k++) {
        binary = binary && spec->operands[k].ndims == 0;
    }
    return binary;
}

/* ---- functions that cannot be ufuncs ---------------------------------------- */

static int
refuse(const cwj_function_object *self, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    PyObject *why = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    if (why != NULL) {
        cwj_refuse(self->spec->who, PyExc_AttributeError, "it has no .ufunc: %U", why);
        Py_DECREF(why);
    }
    return -1;
}

/* Refuses what the definition alone rules out. */
static int
check_definition(const cwj_function_object *self)
{
    const tj_spec *spec = &self->spec->tj;
    PyObject *done =
        cwj_ask_python("cwrapjit._ufunc", "refuse", "(sOiiii)", self->spec->who, self->spec->read,
                       self->checked != NULL, spec->cookie.length > 0, spec->validate.text != NULL,
                       spec->cleanup.text != NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* *found: the prefix of the name, or NULL. Returns 0, or -1 without an exception if there is no memory. */
static int
find_in_names(const tj_spec *spec, const tj_names *names, const char **found, int *operand)
{
    static const char *const prefixes[] = {"Ndims_full__", "dims_full__", "strides_full__"};
    tj_text name = {0};
    *found = NULL;
    for (int k = 0; k < spec->noperands && *found == NULL; k++) {
        for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes) && *found == NULL; i++) {
            name.length = 0;
            tj_text_printf(&name, "%s%s", prefixes[i], spec->operands[k].name);
            if (!name.failed && tj_names_have(names, name.data)) {
                *found = prefixes[i];
                *operand = k;
            }
        }
    }
    int status = name.failed ? -1 : 0;
    tj_text_clear(&name);
    return status;
}

int
cwj_find_full_geometry(const cwj_function_object *self, const char **found, int *operand,
                       bool *hidden)
{
    const tj_spec *spec = &self->spec->tj;
    int status = -1;
    tj_names *names = tj_names_new();
    bool complete =
        names != NULL && tj_names_collect(names, spec->header.text, spec->header.length);
    for (int t = 0; t < spec->ntypesets && complete; t++) {
        const tj_piece *body = &spec->typesets[t].body;
        complete = tj_names_collect(names, body->text, body->length);
    }
    if (!complete || find_in_names(spec, names, found, operand) < 0) {
        PyErr_NoMemory();
    } else {
        *hidden = self->code.all_names || tj_names_may_paste(names);
        status = 0;
    }
    tj_names_free(names);
    return status;
}

/* Refuses texts that may read the geometry of whole arrays, which NumPy's loops do not know. */
static int
check_geometry(const cwj_function_object *self)
{
    const char *found;
    int operand;
    bool hidden;
    if (cwj_find_full_geometry(self, &found, &operand, &hidden) < 0) {
        return -1;
    }
    return found != NULL
               ? refuse(self,
                        "its text reads %s%s, and NumPy's loops have slices, not whole arrays",
                        found, self->spec->tj.operands[operand].name)
           : hidden
               ? refuse(self, "macros of its text may hide that it reads the geometry of whole "
                              "arrays, which NumPy's loops do not have")
               : 0;
}

static int
check_interpreter(const cwj_function_object *self)
{
    return PyInterpreterState_Get() == PyInterpreterState_Main()
               ? 0
               : refuse(self, "NumPy's ufuncs belong to the main interpreter");
}

/* ---- the order of loops --------------------------------------------------------- */

/* True if inputs of type set `other` cast safely to those of t. NumPy takes the first loop that accepts its
 * inputs. */
static bool
takes_inputs_of(const cwj_function_decl *decl, int t, int other)
{
    for (int k = 0; k < decl->ninputs; k++) {
        if (!PyArray_CanCastSafely(decl->typesets[other].types[k].type_num,
                                   decl->typesets[t].types[k].type_num)) {
            return false;
        }
    }
    return true;
}

/* True if the inputs of `other` cast to those of t, but not the reverse. */
static bool
is_narrower(const cwj_function_decl *decl, int other, int t)
{
    return takes_inputs_of(decl, t, other) && !takes_inputs_of(decl, other, t);
}

/* Puts narrower type sets before wider ones. Inputs then get the type set of exactly their types, or else the
 * narrowest one that holds them. Otherwise the function's order counts. A type set's rank is the number of sets that
 * are narrower; a wider set therefore has a higher rank. ranks: room for one int per type set. */
static void
sort_typesets(const cwj_function_decl *decl, int *order, int *ranks)
{
    int n = 0;
    for (int t = 0; t < decl->ntypesets; t++) {
        ranks[t] = 0;
        for (int other = 0; other < decl->ntypesets; other++) {
            ranks[t] += is_narrower(decl, other, t);
        }
    }
    for (int rank = 0; n < decl->ntypesets; rank++) {
        for (int t = 0; t < decl->ntypesets; t++) {
            if (ranks[t] == rank) {
                order[n++] = t;
            }
        }
    }
}

/* ---- the block that the ufunc owns ---------------------------------------------- */

/* Pointers to the parts of the block, which follow each other by descending alignment. */
typedef struct parts {
    PyUFuncGenericFunction *functions; /* [ntypes], all the same */
    void **data;                       /* [ntypes]: the data of each loop */
    cwj_ufunc_loop *loops;             /* [ntypes] */
    cwj_operand *operands;             /* [ntypes][noperands] */
    npy_intp *seen;                    /* [core dims] */
    int *order, *ranks;                /* [ntypes] */
    int *sizes;                        /* [core dims] */
    char *types;                       /* [ntypes][noperands] */
    char *name, *doc;
} parts;

/* Returns a pointer to the next `bytes` of memory. If memory is NULL, only counts them. */
static void *
cut(char *memory, size_t *used, size_t bytes)
{
    void *part = memory == NULL ? NULL : memory + *used;
    *used += bytes;
    return part;
}

/* Sets the pointers to the parts. Returns the size of the block in bytes; only that if memory is NULL. */
static size_t
lay_out(parts *block, char *memory, const cwj_function_decl *decl, size_t name, size_t doc)
{
    size_t ntypes = (size_t)decl->ntypesets;
    size_t noperands = (size_t)(decl->ninputs + decl->noutputs);
    size_t ndims = cwj_profile_strides(decl) - noperands, used = 0;
    block->functions = cut(memory, &used, ntypes * sizeof(*block->functions));
    block->data = cut(memory, &used, ntypes * sizeof(*block->data));
    block->loops = cut(memory, &used, ntypes * sizeof(*block->loops));
    block->operands = cut(memory, &used, ntypes * noperands * sizeof(*block->operands));
    block->seen = cut(memory, &used, ndims * sizeof(*block->seen));
    block->order = cut(memory, &used, ntypes * sizeof(*block->order));
    block->ranks = cut(memory, &used, ntypes * sizeof(*block->ranks));
    block->sizes = cut(memory, &used, ndims * sizeof(*block->sizes));
    block->types = cut(memory, &used, ntypes * noperands);
    block->name = cut(memory, &used, name + 1);
    block->doc = cut(memory, &used, doc + 1);
    return used;
}

/* Partial results have the output's type and become inputs again, so all three types must be the same. */
static bool
has_one_type(const cwj_typeset *set)
{
    return set->types[0].type_num == set->types[1].type_num &&
           set->types[0].type_num == set->types[2].type_num;
}

static void
fill_loops(cwj_function_object *self, const parts *block)
{
    const cwj_function_decl *decl = self->runtime.decl;
    int noperands = decl->ninputs + decl->noutputs;
    bool binary = is_binary(&self->spec->tj);
    cwj_number_core_dims(decl, block->seen, block->sizes);
    sort_typesets(decl, block->order, block->ranks);
    for (int n = 0; n < decl->ntypesets; n++) {
        const cwj_typeset *set = &decl->typesets[block->order[n]];
        block->loops[n] = (cwj_ufunc_loop){
            .runtime = &self->runtime,
            .typeset = block->order[n],
            .is_binary = binary,
            .is_associative = binary && self->spec->associative && has_one_type(set),
            .operands = self->runtime.has_core ? NULL : block->operands + n * noperands,
            .sizes = block->sizes,
            .until_sample = 1,
            .report_at = CWJ_UFUNC_REPORT_TIME,
        };
        block->functions[n] = cwj_ufunc_run;
        block->data[n] = &block->loops[n];
        for (int k = 0; k < noperands; k++) {
            block->types[n * noperands + k] = (char)set->types[k].type_num;
            block->operands[n * noperands + k] =
                (cwj_operand){.sizeof_element = set->types[k].itemsize};
        }
    }
}

/* Returns the memory of a block, filled; NULL with MemoryError set. texts: the name and the docstring, as bytes. */
static char *
make_block(cwj_function_object *self, parts *block, PyObject *texts)
{
    const cwj_function_decl *decl = self->runtime.decl;
    PyObject *name = PyTuple_GET_ITEM(texts, 0), *doc = PyTuple_GET_ITEM(texts, 1);
    size_t name_length = (size_t)PyBytes_GET_SIZE(name), doc_length = (size_t)PyBytes_GET_SIZE(doc);
    char *memory = PyArray_malloc(lay_out(block, NULL, decl, name_length, doc_length));
    if (memory == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    lay_out(block, memory, decl, name_length, doc_length);
    fill_loops(self, block);
    memcpy(block->name, PyBytes_AS_STRING(name), name_length + 1);
    memcpy(block->doc, PyBytes_AS_STRING(doc), doc_length + 1);
    return memory;
}

/* ---- creating the ufunc ----------------------------------------------------------- */

static int
identity_of(const cwj_spec *spec)
{
    return spec->identity != Py_None ? PyUFunc_IdentityValue
           : spec->associative       ? PyUFunc_ReorderableNone
                                     : PyUFunc_None;
}

/* Takes over the block's memory, also on failure. */
static PyObject *
make_ufunc(cwj_function_object *self, const parts *block, char *memory, const char *signature)
{
    const cwj_function_decl *decl = self->runtime.decl;
    PyObject *ufunc = PyUFunc_FromFuncAndDataAndSignatureAndIdentity(
        block->functions, block->data, block->types, decl->ntypesets, decl->ninputs, decl->noutputs,
        identity_of(self->spec), block->name, block->doc, 0, signature, self->spec->identity);
    if (ufunc == NULL) {
        PyArray_free(memory);
        return NULL;
    }
    ((PyUFuncObject *)ufunc)->ptr = memory;
    ((PyUFuncObject *)ufunc)->obj = Py_NewRef(self);
    if (!PyObject_GC_IsTracked(ufunc)) {
        PyObject_GC_Track(ufunc);
    }
    return ufunc;
}

static PyObject *
build(cwj_function_object *self)
{
    PyObject *ufunc = NULL, *signature = NULL;
    PyObject *texts =
        cwj_ask_python("cwrapjit._foreign", "ufunc_texts", "(Os)", self, self->runtime.decl->name);
    parts block;
    if (texts != NULL && self->runtime.has_core) {
        signature = cwj_ask_python("cwrapjit._ufunc", "signature", "(O)",
                                   PyTuple_GET_ITEM(self->spec->read, 1));
    }
    if (texts != NULL && (signature != NULL || !self->runtime.has_core)) {
        const char *text = signature == NULL ? NULL : PyBytes_AS_STRING(signature);
        char *memory = make_block(self, &block, texts);
        ufunc = memory == NULL ? NULL : make_ufunc(self, &block, memory, text);
    }
    Py_XDECREF(signature);
    Py_XDECREF(texts);
    return ufunc;
}

PyObject *
cwj_function_ufunc(cwj_function_object *self)
{
    if (self->ufunc != NULL) {
        return Py_NewRef(self->ufunc);
    }
    if (check_interpreter(self) < 0 || check_definition(self) < 0 || check_geometry(self) < 0) {
        return NULL;
    }
    PyObject *ufunc = build(self);
    if (ufunc != NULL && self->ufunc == NULL) {
        self->ufunc = Py_NewRef(ufunc);
    }
    return ufunc;
}

int
cwj_import_ufuncs(void)
{
    return _import_umath();
}
