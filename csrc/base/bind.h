/* bind.h: assigns positional and keyword arguments to parameters. Functions (m.write() embeds this text), graphs and
 * functions of libraries share this rule and its messages. */
#pragma once

/* Python.h comes before this file. */

/* The parameters of a call: positional-only ones come first, keyword-only ones last. Outputs may follow the positional
 * ones; then the name after these stands for all outputs. */
typedef struct cwj_signature_names {
    PyObject *const *first; /* interned str; None: positional-only */
    size_t step; /* bytes between two names, which may be members of structs */
    int count, nonly_positional, npositional;
    void (*refuse)(const void *owner, PyObject *text); /* raises TypeError; the message names the
                                                          owner */
    const void *owner;
    int noutputs; /* that may be positional */
} cwj_signature_names;

static inline PyObject *
cwj_name_at(const cwj_signature_names *names, int i)
{
    return *(PyObject *const *)((const char *)names->first + (size_t)i * names->step);
}

/* Steals text; if it is NULL, an exception is set. Returns -1. */
static inline int
cwj_refuse_call(const cwj_signature_names *names, PyObject *text)
{
    if (text != NULL) {
        names->refuse(names->owner, text);
        Py_DECREF(text);
    }
    return -1;
}

/* Returns the number of names that stand for positional arguments. */
static inline int
cwj_positional_names(const cwj_signature_names *names)
{
    return names->npositional + (names->noutputs > 0);
}

/* Returns " (keyword-only: a, b)" or an empty str. */
static inline PyObject *
cwj_keyword_only_text(const cwj_signature_names *names)
{
    PyObject *text = PyUnicode_FromString("");
    int first = cwj_positional_names(names);
    for (int i = first; i < names->count && text != NULL; i++) {
        const char *joint = i == first ? " (keyword-only: " : ", ";
        Py_SETREF(text, PyUnicode_FromFormat("%U%s%U%s", text, joint, cwj_name_at(names, i),
                                             i + 1 == names->count ? ")" : ""));
    }
    return text;
}

static inline int
cwj_refuse_count(const cwj_signature_names *names, Py_ssize_t given)
{
    int most = names->npositional + names->noutputs;
    PyObject *others = cwj_keyword_only_text(names), *text = NULL;
    if (others != NULL) {
        text =
            PyUnicode_FromFormat("takes %d positional argument%s but %zd %s given%U", most,
                                 most == 1 ? "" : "s", given, given == 1 ? "was" : "were", others);
        Py_DECREF(others);
    }
    return cwj_refuse_call(names, text);
}

static inline int
cwj_refuse_missing(const cwj_signature_names *names, int i, PyObject *name)
{
    return cwj_refuse_call(
        names,
        i < names->npositional
            ? PyUnicode_FromFormat("missing required argument '%S' (position %d)", name, i + 1)
            : PyUnicode_FromFormat("missing required keyword-only argument '%S'", name));
}

/* Returns the index of a name (identity is tested first), -1 if there is none, or -2 with an exception set. */
static inline int
cwj_find_name(const cwj_signature_names *names, PyObject *name)
{
    const char *at = (const char *)names->first;
    for (int i = 0; i < names->count; i++, at += names->step) {
        if (*(PyObject *const *)at == name) {
            return i;
        }
    }
    for (int i = 0; i < names->count; i++) {
        int equal = PyObject_RichCompareBool(cwj_name_at(names, i), name, Py_EQ);
        if (equal != 0) {
            return equal > 0 ? i : -2;
        }
    }
    return -1;
}

static inline int
cwj_refuse_keyword(const cwj_signature_names *names, PyObject *name, int i)
{
    const char *fault = i == -1 ? "got an unexpected keyword argument '%U'"
                        : i < names->nonly_positional
                            ? "got positional-only argument '%U' by keyword"
                            : "got multiple values for argument '%U'";
    return i == -2 ? -1 : cwj_refuse_call(names, PyUnicode_FromFormat(fault, name));
}

static inline int
cwj_bind_keyword(const cwj_signature_names *names, PyObject *name, PyObject *value,
                 PyObject **values)
{
    int i = cwj_find_name(names, name);
    if (i < names->nonly_positional || values[i] != NULL) {
        return cwj_refuse_keyword(names, name, i);
    }
    values[i] = value;
    return 0;
}

/* Stores the arguments of a vectorcall in values, which must all be NULL before. They are borrowed;
 * missing ones stay NULL. Of positional outputs it stores the first. Returns 0, or -1 with an exception set. */
static inline int
cwj_bind(const cwj_signature_names *names, PyObject *const *args, Py_ssize_t npositional,
         PyObject *kwnames, PyObject **values)
{
    Py_ssize_t nkeywords = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    int nnames = cwj_positional_names(names);
    if (npositional > names->npositional + names->noutputs) {
        return cwj_refuse_count(names, npositional);
    }
    for (Py_ssize_t i = 0; i < npositional && i < nnames; i++) {
        values[i] = args[i];
    }
    for (Py_ssize_t i = 0; i < nkeywords; i++) {
        if (cwj_bind_keyword(names, PyTuple_GET_ITEM(kwnames, i), args[npositional + i], values) <
            0) {
            return -1;
        }
    }
    return 0;
}
