/* runtime.c: derives from a descriptor, once, the keyword names, the dtypes and the current loops. */

static int may_be_quick(const cwj_runtime *runtime); /* quick.c */

/* True if core dim `dim` of an output is computed. */
static int
is_output_dim(const cwj_function_decl *decl, npy_intp dim)
{
    for (int i = 0; i < decl->noutput_dims; i++) {
        if (decl->output_dims[i].named == -1 - dim) {
            return 1;
        }
    }
    return 0;
}

/* Fills in what each call would otherwise look up in the descriptor. */
static void
fill_facts(cwj_runtime *runtime)
{
    const cwj_function_decl *decl = runtime->decl;
    npy_intp last = 0; /* the last named dim of inputs; they are -1, -2, ... as they appear */
    runtime->has_user_data = decl->cookie_size > 0 || decl->extras_size > 0;
    for (int k = 0; k < decl->ninputs + decl->noutputs; k++) {
        const cwj_operand_decl *operand = &decl->operands[k];
        runtime->has_core |= operand->ncore > 0;
        runtime->has_inout |= operand->role == CWJ_INOUT || operand->role == CWJ_SHARED;
        for (int i = 0; i < operand->ncore; i++) {
            runtime->has_output_dims |= k >= decl->ninputs && operand->core[i] < last &&
                                        !is_output_dim(decl, operand->core[i]);
            last = k < decl->ninputs && operand->core[i] < last ? operand->core[i] : last;
        }
    }
}

static int
fill_names(cwj_runtime *runtime)
{
    const cwj_function_decl *decl = runtime->decl;
    runtime->nnames = decl->ninputs + 1 + decl->nextras;
    runtime->names = PyMem_Calloc((size_t)runtime->nnames, sizeof(PyObject *));
    if (runtime->names == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < runtime->nnames; i++) {
        const char *name = i < decl->ninputs    ? decl->operands[i].name
                           : i == decl->ninputs ? "out"
                                                : decl->extras[i - decl->ninputs - 1].name;
        runtime->names[i] = PyUnicode_InternFromString(name);
        if (runtime->names[i] == NULL) {
            return -1;
        }
    }
    return 0;
}

/* Returns a flexible dtype by its name, "S5": other ways need struct members that differ between NumPy 1 and 2. */
static PyArray_Descr *
flexible_descr(const cwj_type *type)
{
    char kind = type->type_num == NPY_STRING ? 'S' : type->type_num == NPY_UNICODE ? 'U' : 'V';
    npy_intp length = kind == 'U' ? type->itemsize / 4 : type->itemsize;
    PyArray_Descr *descr = NULL;
    PyObject *name = PyUnicode_FromFormat("%c%zd", kind, (Py_ssize_t)length);
    if (name != NULL && !PyArray_DescrConverter(name, &descr)) {
        descr = NULL;
    }
    Py_XDECREF(name);
    return descr;
}

static const char call_of_dtype[] = "dtype(";

/* Evaluates an expression like "dtype({'names': ['x'], ...})". Returns a new reference. */
static PyObject *
evaluate(const char *expression)
{
    PyObject *names =
        Py_BuildValue("{ss,sO}", "__name__", "dtypes", "dtype", (PyObject *)&PyArrayDescr_Type);
    PyObject *value = names == NULL ? NULL : PyRun_String(expression, Py_eval_input, names, names);
    Py_XDECREF(names);
    return value;
}

/* Returns the dtype that cwj_type.dtype describes, a new reference. */
static PyArray_Descr *
named_descr(const char *dtype)
{
    PyArray_Descr *descr = NULL;
    int is_call = strncmp(dtype, call_of_dtype, sizeof(call_of_dtype) - 1) == 0;
    PyObject *name = is_call ? evaluate(dtype) : PyUnicode_FromString(dtype);
    if (name != NULL && !PyArray_DescrConverter(name, &descr)) {
        descr = NULL;
    }
    Py_XDECREF(name);
    return descr;
}

static PyArray_Descr *
descr_of_type(const cwj_type *type)
{
    return type->dtype != NULL                    ? named_descr(type->dtype)
           : PyTypeNum_ISFLEXIBLE(type->type_num) ? flexible_descr(type)
                                                  : PyArray_DescrFromType(type->type_num);
}

static int
fill_types(cwj_runtime *runtime)
{
    const cwj_function_decl *decl = runtime->decl;
    size_t noperands = (size_t)(decl->ninputs + decl->noutputs);
    size_t ntypesets = (size_t)decl->ntypesets;
    runtime->descrs = PyMem_Calloc(ntypesets * noperands + 1, sizeof(PyArray_Descr *));
    runtime->loops = PyMem_Calloc(ntypesets + 1, sizeof(cwj_loop *));
    runtime->copied = PyMem_Calloc(noperands + 1, sizeof(*runtime->copied));
    if (runtime->descrs == NULL || runtime->loops == NULL || runtime->copied == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    runtime->has_plain_types = 1;
    for (size_t t = 0; t < ntypesets; t++) {
        runtime->loops[t] = decl->typesets[t].loop;
        for (size_t k = 0; k < noperands; k++) {
            const cwj_type *type = &decl->typesets[t].types[k];
            if (PyTypeNum_ISFLEXIBLE(type->type_num) || PyTypeNum_ISDATETIME(type->type_num)) {
                runtime->has_plain_types = 0;
            }
            if (PyTypeNum_ISDATETIME(type->type_num) && type->dtype == NULL) {
                runtime->has_units = 1;
            }
            if (type->itemsize == 0) {
                continue; /* any itemsize: there is no dtype */
            }
            PyArray_Descr *descr = descr_of_type(type);
            if (descr == NULL) {
                return -1;
            }
            runtime->descrs[t * noperands + k] = descr;
        }
    }
    return 0;
}

size_t
cwj_profile_strides(const cwj_function_decl *decl)
{
    size_t count = 0;
    for (int k = 0; k < decl->ninputs + decl->noutputs; k++) {
        count += 1 + (size_t)decl->operands[k].ncore;
    }
    return count;
}

cwj_profile *
cwj_profiles_new(const cwj_function_decl *decl)
{
    size_t ntypesets = (size_t)decl->ntypesets, nnamed = (size_t)decl->nnamed;
    size_t ndims = nnamed + cwj_profile_strides(decl);
    cwj_profile *profiles =
        PyMem_Calloc(ntypesets + 1, sizeof(cwj_profile) + ndims * sizeof(npy_intp));
    if (profiles == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    npy_intp *dims = (npy_intp *)(profiles + ntypesets);
    for (size_t t = 0; t < ntypesets; t++) {
        profiles[t].named = dims + t * ndims;
        profiles[t].strides = dims + t * ndims + nnamed;
    }
    return profiles;
}

int
cwj_runtime_init(cwj_runtime *runtime, const cwj_function_decl *decl)
{
    memset(runtime, 0, sizeof(*runtime));
    runtime->decl = decl;
    runtime->flags = decl->flags;
    runtime->threads = decl->threads;
    fill_facts(runtime);
    runtime->until_sample = 1;
    if (fill_names(runtime) < 0 || fill_types(runtime) < 0 ||
        (runtime->profiles = cwj_profiles_new(decl)) == NULL) {
        cwj_runtime_clear(runtime);
        return -1;
    }
    runtime->may_be_quick = may_be_quick(runtime);
    return 0;
}

void
cwj_runtime_clear(cwj_runtime *runtime)
{
    if (runtime->names != NULL) {
        for (int i = 0; i < runtime->nnames; i++) {
            Py_XDECREF(runtime->names[i]);
        }
    }
    if (runtime->descrs != NULL) {
        const cwj_function_decl *decl = runtime->decl;
        size_t ndescrs = (size_t)decl->ntypesets * (size_t)(decl->ninputs + decl->noutputs);
        for (size_t i = 0; i < ndescrs; i++) {
            Py_XDECREF(runtime->descrs[i]);
        }
    }
    Py_XDECREF(runtime->unit_descrs[0]);
    Py_XDECREF(runtime->unit_descrs[1]);
    PyMem_Free(runtime->names);
    PyMem_Free(runtime->descrs);
    PyMem_Free(runtime->loops);
    PyMem_Free(runtime->profiles);
    PyMem_Free(runtime->copied);
    memset(runtime, 0, sizeof(*runtime));
}
