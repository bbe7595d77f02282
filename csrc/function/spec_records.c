/* spec_records.c: reads structured dtypes in the keys of type sets. C gets them as structs, whose
 * text cwrapjit/_records.py writes; that module runs only if there are such dtypes. */
#include "function/spec_parts.h"

static PyObject *
new_records(const cwj_spec *spec)
{
    return cwj_ask_python("cwrapjit._records", "Records", "(ss)", spec->who, spec->tj.name);
}

int
cwj_take_record(cwj_spec *spec, tj_type *type, PyArray_Descr *descr, PyObject *key)
{
    PyObject *literal, *label, *ctype, *answer;
    int status = -1;
    if (spec->records == NULL && (spec->records = new_records(spec)) == NULL) {
        return -1;
    }
    answer = PyObject_CallMethod(spec->records, "take", "OO", descr, key);
    if (answer != NULL && PyArg_ParseTuple(answer, "UUU:take", &literal, &label, &ctype)) {
        type->type_num = NPY_VOID;
        type->itemsize = (size_t)PyDataType_ELSIZE(descr);
        type->dtype = cwj_take_text(spec, literal, NULL);
        type->label = type->dtype == NULL ? NULL : cwj_take_text(spec, label, NULL);
        type->ctype = type->label == NULL ? NULL : cwj_take_text(spec, ctype, NULL);
        status = type->ctype != NULL ? 0 : -1;
    }
    Py_XDECREF(answer);
    return status;
}

int
cwj_finish_records(cwj_spec *spec)
{
    if (spec->records == NULL) {
        return 0;
    }
    PyObject *text = PyObject_GetAttrString(spec->records, "text");
    spec->tj.records = text == NULL ? NULL : cwj_take_text(spec, text, NULL);
    Py_XDECREF(text);
    Py_CLEAR(spec->records);
    return spec->tj.records != NULL ? 0 : -1;
}
