/* convert.c: takes inputs as arrays or as weak scalars.
 *
 * Arrays are taken as they are, never copied. Other objects are converted like np.asarray() does, and their dtypes
 * count like those of arrays. Only Python's own numbers stay weak, as in NumPy, until the type set is known. */

static void
adopt_array(cwj_state *state, PyArrayObject *array)
{
    state->array = array;
    state->ndim = PyArray_NDIM(array);
    state->dims = PyArray_DIMS(array);
    state->strides = PyArray_STRIDES(array);
    state->itemsize = PyArray_ITEMSIZE(array);
    state->data = PyArray_BYTES(array);
}

/* Copies an array's dims and strides: its owner may change them at any time, even while slices run without the GIL. */
static inline int
copy_axes(cwj_frame *frame, cwj_state *state, PyArrayObject *array)
{
    const npy_intp *dims = PyArray_DIMS(array);
    const npy_intp *strides = PyArray_STRIDES(array);
    int ndim = PyArray_NDIM(array);
    npy_intp *copy = frame_alloc(frame, 2 * (size_t)ndim, sizeof(npy_intp));
    if (CWJ_UNLIKELY(copy == NULL)) {
        return -1;
    }
    state->ndim = ndim;
    state->dims = copy;
    state->strides = copy + ndim;
    for (int i = 0; i < ndim; i++) {
        CWJ_SHORT_LOOP();
        copy[i] = dims[i];
        copy[ndim + i] = strides[i];
    }
    return 0;
}

/* Returns object.name, a new reference. Returns NULL without an exception if there is no such attribute. Other
 * exceptions stay set: Ctrl-C, and those of a property or a signal handler. */
static PyObject *
attribute_of(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
    }
    return value;
}

/* Refuses objects that set __array_ufunc__ to None, or that override it, unless they are inputs and runtime->foreign
 * can make the call. Returns 0 for objects that may pass; -1 with an exception or frame->is_foreign set. */
static int
refuse_override(cwj_frame *frame, int k, PyObject *object)
{
    PyObject *override = attribute_of((PyObject *)Py_TYPE(object), "__array_ufunc__");
    if (override == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    PyObject *ours = PyObject_GetAttrString((PyObject *)&PyArray_Type, "__array_ufunc__");
    if (ours != NULL && override == Py_None) {
        raise_about(frame, k, PyExc_TypeError,
                    ": %s sets __array_ufunc__ = None and takes no part in calls on arrays; wanted "
                    "a NumPy array",
                    Py_TYPE(object)->tp_name);
    } else if (ours != NULL && override != ours && frame->runtime->foreign != NULL &&
               k < frame->decl->ninputs) {
        frame->is_foreign = 1;
    } else if (ours != NULL && override != ours) {
        raise_about(
            frame, k, PyExc_TypeError,
            ": %s has its own __array_ufunc__, which this function would bypass; wanted a "
            "NumPy array, for instance np.asarray(%s); .ufunc, where there is one, takes it",
            Py_TYPE(object)->tp_name, name_of(frame, k));
    }
    Py_DECREF(override);
    Py_XDECREF(ours);
    return frame->is_foreign || PyErr_Occurred() ? -1 : 0;
}

static int
refuse_subclass(cwj_frame *frame, int k, PyObject *array)
{
    int masked = cwj_is_masked(array);
    if (masked > 0) {
        raise_about(frame, k, PyExc_TypeError,
                    " has masked elements, which would be lost; wanted an array without them, for "
                    "instance %s.filled(...); .ufunc, where there is one, keeps masks",
                    name_of(frame, k));
    }
    return masked != 0 ? -1 : refuse_override(frame, k, array);
}

static int
take_array(cwj_frame *frame, int k, PyObject *array)
{
    if (!PyArray_CheckExact(array) && refuse_subclass(frame, k, array) < 0) {
        return -1;
    }
    adopt_array(&frame->states[k], (PyArrayObject *)array);
    return 0;
}

/* Refuses DLPack objects in memory that the CPU cannot read. dlpack.h: 1 CPU, 3 and 11 pinned, 13 managed memory. */
static int
refuse_device(const cwj_frame *frame, int k, PyObject *object)
{
    PyObject *method = attribute_of((PyObject *)Py_TYPE(object), "__dlpack_device__");
    if (method == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    PyObject *device = PyObject_CallFunctionObjArgs(method, object, NULL);
    PyObject *number = device == NULL ? NULL : PySequence_GetItem(device, 0);
    long type = number == NULL ? -1 : PyLong_AsLong(number);
    if (!PyErr_Occurred() && type != 1 && type != 3 && type != 11 && type != 13) {
        raise_about(frame, k, PyExc_TypeError,
                    ": %s lives on DLPack device %S; wanted memory of the CPU, copy it there first",
                    Py_TYPE(object)->tp_name, device);
    }
    Py_DECREF(method);
    Py_XDECREF(device);
    Py_XDECREF(number);
    return PyErr_Occurred() ? -1 : 0;
}

/* True for objects that NumPy converts without any protocol. */
static bool
is_plain(PyObject *object)
{
    return PyList_CheckExact(object) || PyTuple_CheckExact(object) || PyArray_CheckScalar(object);
}

/* Returns 1 if object offers DLPack but no protocol of np.asarray(), 0 if not, -1 with an exception set. */
static int
offers_only_dlpack(PyObject *object)
{
    static const char *const ways[] = {"__array__", "__array_interface__", "__array_struct__",
                                       "__dlpack__"};
    const size_t count = sizeof(ways) / sizeof(ways[0]);
    size_t i = 0;
    bool has = PyObject_CheckBuffer(object);
    while (!has && i < count) {
        PyObject *value = attribute_of(object, ways[i++]);
        has = value != NULL;
        Py_XDECREF(value);
        if (!has && PyErr_Occurred()) {
            return -1;
        }
    }
    return has && i == count;
}

/* Returns a new reference to an array for an object that is not one; NULL with an exception set. */
static PyObject *
array_of(PyObject *object)
{
    int by_dlpack = is_plain(object) ? 0 : offers_only_dlpack(object);
    if (by_dlpack < 0) {
        return NULL;
    }
    if (!by_dlpack) {
        return PyArray_FromAny(object, NULL, 0, 0, 0, NULL);
    }
    PyObject *array = NULL;
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (numpy != NULL) {
        array = PyObject_CallMethod(numpy, "from_dlpack", "O", object);
        Py_DECREF(numpy);
    }
    return array;
}

static int
convert_object(cwj_frame *frame, int k, PyObject *object)
{
    cwj_state *state = &frame->states[k];
    if (!is_plain(object) &&
        (refuse_override(frame, k, object) < 0 || refuse_device(frame, k, object) < 0)) {
        return -1;
    }
    if (cwj_is_python_number(object)) {
        state->weak = object;
        return 0;
    }
    PyObject *array = array_of(object);
    if (array == NULL) {
        return name_operand(frame, k);
    }
    state->owned = array;
    if (!PyArray_Check(array)) {
        return raise_about(frame, k, PyExc_TypeError, ": wanted an array, got %s",
                           Py_TYPE(object)->tp_name);
    }
    return take_array(frame, k, array); /* __array__() may return a masked array */
}

/* Refuses an argument that is updated in place if it is not a writable array. */
static int
refuse_unwritable(const cwj_frame *frame, int k, PyObject *object)
{
    if (!PyArray_Check(object)) {
        return raise_about(frame, k, PyExc_TypeError,
                           " is updated in place: wanted a NumPy array, got %s",
                           Py_TYPE(object)->tp_name);
    }
    if (!PyArray_ISWRITEABLE((PyArrayObject *)object)) {
        return raise_about(frame, k, PyExc_ValueError,
                           " is written to: wanted a writable array, got a read-only one");
    }
    return 0;
}

/* Returns NumPy's number of the one-byte integer type that slices of operand k consist of, from the first type set that
 * has such a type or strings there; -1: none. */
static int
type_of_bytes(const cwj_frame *frame, int k)
{
    for (int t = 0; frame->decl->operands[k].ncore > 0 && t < frame->decl->ntypesets; t++) {
        int num = frame->decl->typesets[t].types[k].type_num;
        if (num == NPY_BYTE || num == NPY_UBYTE || num == NPY_STRING) {
            return num == NPY_STRING ? -1 : num;
        }
    }
    return -1;
}

/* Returns the array that C sees for bytes, and for a str (in UTF-8) if C has char there; the call owns it. Returns
 * other objects as they are. A borrowed reference, or NULL with an exception set. */
static PyObject *
array_of_bytes(cwj_frame *frame, int k, PyObject *object)
{
    bool is_text = PyUnicode_Check(object);
    int num = is_text || PyBytes_Check(object) || PyByteArray_Check(object)
                  ? type_of_bytes(frame, k)
                  : -1;
    if (num < 0 || (is_text && num != NPY_BYTE)) {
        return object;
    }
    PyObject *bytes = is_text ? PyUnicode_AsUTF8String(object) : Py_NewRef(object), *array = NULL;
    if (bytes != NULL) {
        array = PyArray_FromBuffer(bytes, PyArray_DescrFromType(num), -1, 0);
        Py_DECREF(bytes);
    }
    frame->states[k].owned = array;
    return array;
}

static int
convert_input(cwj_frame *frame, int k, PyObject *object)
{
    if (CWJ_UNLIKELY(!PyArray_Check(object))) {
        object = array_of_bytes(frame, k, object);
    }
    if (object == NULL) {
        return name_operand(frame, k);
    }
    if (frame->decl->operands[k].role != CWJ_IN && refuse_unwritable(frame, k, object) < 0) {
        return -1;
    }
    if (PyArray_Check(object)) {
        return take_array(frame, k, object);
    }
    if (cwj_is_exactly_python_number(object)) {
        frame->states[k].weak = object;
        return 0;
    }
    return convert_object(frame, k, object);
}

static int
convert_inputs(cwj_frame *frame)
{
    for (int k = 0; k < frame->decl->ninputs; k++) {
        if (convert_input(frame, k, frame->inputs[k]) < 0) {
            return -1;
        }
    }
    return 0;
}
