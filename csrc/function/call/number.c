/* number.c: converts single numbers between Python and C: inputs that need no array, and results of shape (). */

/* Stores a Python number that the type can hold, or a NumPy scalar of that type. Returns 1; 0 without an exception for
 * any other object, which is left to the steps. */
static int
store_number(char *target, PyObject *number, const cwj_type *type, const PyArray_Descr *descr)
{
    if (cwj_is_exactly_python_number(number)) {
        return cwj_store_weak(number, type->type_num, target) == CWJ_FITS;
    }
    if (Py_TYPE(number) != descr->typeobj || !PyTypeNum_ISNUMBER(type->type_num)) {
        return 0;
    }
    memcpy(target, (char *)number + CWJ_VALUE_OFFSET, (size_t)type->itemsize);
    return 1;
}

/* Returns a NumPy scalar with these bytes. PyArray_Scalar() would check for other kinds of types first. */
static PyObject *
new_scalar(const char *bytes, PyArray_Descr *descr, npy_intp itemsize)
{
    if (descr->type_num == NPY_BOOL) {
        return Py_NewRef(PyArrayScalar_FromLong(*bytes != 0));
    }
    PyObject *scalar = descr->typeobj->tp_alloc(descr->typeobj, 0);
    if (scalar != NULL) {
        memcpy((char *)scalar + CWJ_VALUE_OFFSET, bytes, (size_t)itemsize);
    }
    return scalar;
}
