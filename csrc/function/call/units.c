/* units.c: finds the unit of a call's datetime64 and timedelta64 arrays.
 *
 * A type set with "M8" or "m8" takes any unit, but the same one for all arrays: C adds and compares the integers, which
 * mean nothing beside those of another unit. New outputs have that unit. With cast= it is the one to which NumPy
 * promotes the arrays' units. */

static int
is_any_unit(const cwj_type *type)
{
    return PyTypeNum_ISDATETIME(type->type_num) && type->dtype == NULL;
}

#if NPY_ABI_VERSION < 0x02000000
#define PyDataType_C_METADATA(descr) ((descr)->c_metadata)
#endif

static PyArray_DatetimeMetaData *
unit_of(const PyArray_Descr *descr)
{
    return &((PyArray_DatetimeDTypeMetaData *)PyDataType_C_METADATA(descr))->meta;
}

static int
same_unit(const PyArray_DatetimeMetaData *a, const PyArray_DatetimeMetaData *b)
{
    return a->base == b->base && a->num == b->num;
}

/* Returns the dtype with this number and unit, a new reference. */
static PyArray_Descr *
descr_with_unit(int type_num, const PyArray_DatetimeMetaData *unit)
{
    PyArray_Descr *descr = PyArray_DescrNewFromType(type_num);
    if (descr != NULL) {
        *unit_of(descr) = *unit;
    }
    return descr;
}

/* Returns the dtype of type_num to which both units convert, a new reference; NULL without an exception if none. */
static PyArray_Descr *
promoted_unit(int type_num, const PyArray_DatetimeMetaData *a, const PyArray_DatetimeMetaData *b)
{
    PyArray_Descr *one = descr_with_unit(type_num, a), *other = descr_with_unit(type_num, b);
    PyArray_Descr *both = one == NULL || other == NULL ? NULL : PyArray_PromoteTypes(one, other);
    if (one != NULL && other != NULL && both == NULL &&
        (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_OverflowError))) {
        PyErr_Clear();
    }
    Py_XDECREF(one);
    Py_XDECREF(other);
    return both;
}

/* Finds the unit of all arrays that have one. If some are timedelta64, units are promoted as for those, because they
 * convert to fewer units: months have no fixed length. Returns 0, or -1 with an exception set. */
static int
find_unit(const cwj_frame *frame, cwj_unit *unit)
{
    int known = 0, type_num = NPY_DATETIME;
    for (int k = 0; k < frame->noperands; k++) {
        PyArrayObject *array = frame->states[k].array;
        if (array != NULL && PyArray_TYPE(array) == NPY_TIMEDELTA) {
            type_num = NPY_TIMEDELTA;
        }
    }
    for (int k = 0; k < frame->noperands && !unit->none; k++) {
        PyArrayObject *array = frame->states[k].array;
        if (array == NULL || !PyTypeNum_ISDATETIME(PyArray_TYPE(array))) {
            continue;
        }
        const PyArray_DatetimeMetaData *own = unit_of(PyArray_DESCR(array));
        if (known && !same_unit(own, &unit->meta)) {
            PyArray_Descr *both = promoted_unit(type_num, own, &unit->meta);
            if (both == NULL && PyErr_Occurred()) {
                return -1;
            }
            unit->mixed = 1;
            unit->none = both == NULL;
            unit->meta = both == NULL ? unit->meta : *unit_of(both);
            Py_XDECREF(both);
        } else {
            unit->meta = *own;
            known = 1;
        }
    }
    unit->none |= !known;
    return 0;
}

/* Takes the dtypes of the last call if that had the same unit. Returns 0 if not. */
static int
take_last_descrs(const cwj_runtime *runtime, cwj_unit *unit)
{
    PyArray_Descr *const *last = runtime->unit_descrs;
    if (last[1] == NULL || !same_unit(unit_of(last[1]), &unit->meta)) {
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        Py_INCREF(last[i]);
        unit->descrs[i] = last[i];
    }
    return 1;
}

static void
keep_descrs(cwj_runtime *runtime, const cwj_unit *unit)
{
    for (int i = 0; i < 2; i++) {
        Py_INCREF(unit->descrs[i]);
        Py_XSETREF(runtime->unit_descrs[i], unit->descrs[i]);
    }
}

/* Called before the type set is chosen, if some type set takes any unit. Returns 0, or -1 with an exception set. */
static CWJ_APART int
settle_unit(cwj_frame *frame)
{
    cwj_unit *unit = &frame->unit;
    if (find_unit(frame, unit) < 0) {
        return -1;
    }
    if (unit->none || take_last_descrs(frame->runtime, unit)) {
        return 0;
    }
    unit->descrs[0] = descr_with_unit(NPY_DATETIME, &unit->meta);
    unit->descrs[1] = unit->descrs[0] == NULL ? NULL : descr_with_unit(NPY_TIMEDELTA, &unit->meta);
    if (unit->descrs[1] == NULL) {
        return -1;
    }
    keep_descrs(frame->runtime, unit);
    return 0;
}

/* Returns the dtype of operand k in a type set; NULL if any itemsize fits or no unit is known. */
static PyArray_Descr *
descr_in_set(const cwj_frame *frame, int index, int k)
{
    const cwj_type *type = &frame->decl->typesets[index].types[k];
    if (is_any_unit(type)) {
        return frame->unit.descrs[type->type_num == NPY_TIMEDELTA];
    }
    return descrs_of(frame->runtime, index)[k];
}
