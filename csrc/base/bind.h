/* bind.h: positional and keyword arguments to one object each: one rule, and one wording, for
 * functions, whose call path m.write() embeds, for graphs and for functions of libraries.
 */
#pragma once

/* Python.h comes before this file. */

/* What a call may be given: first those by position alone, last those by keyword alone. */
typedef struct cwj_signature_names {
    PyObject *const *first; /* interned str; None: can be given by position alone */
    size_t step;            /* bytes from one to the next: they may lie in structs */
    int count, nonly_positional, npositional;
    void (*refuse)(const void *owner, PyObject *text); /* raises TypeError, with who is called */
    const void *owner;
} cwj_signature_names;

static inline PyObject *
cwj_name_at(const cwj_signature_names *names, int i)
{
    return *(PyObject *const *)((const char *)names->first + (size_t)i * names->step);
}

/* text: owned here; NULL: an exception is set. Returns -1. */
static inline int
cwj_refuse_call(const cwj_signature_names *names, PyObject *text)
{
    if (text != NULL) {
        names->refuse(names->owner, text);
        Py_DECREF(text);
    }
    return -1;
}

/* " (keyword-only: out, b)", or nothing. */
static inline PyObject *
cwj_keyword_only_text(const cwj_signature_names *names)
{
    PyObject *text = PyUnicode_FromString("");
    for (int i = names->npositional; i < names->count && text != NULL; i++) {
        const char *joint = i == names->npositional ? " (keyword-only: " : ", ";
        Py_SETREF(text, PyUnicode_FromFormat("%U%s%U%s", text, joint, cwj_name_at(names, i),
                                             i + 1 == names->count ? ")" : ""));
    }
    return text;
}

static inline int
cwj_refuse_count(const cwj_signature_names *names, Py_ssize_t given)
{
    int most = names->npositional;
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

/* The place of a name, by identity first; -1: there is none, -2: an exception is set. */
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

/* Vectorcall's arguments to values, all NULL before: borrowed, and NULL where nothing was given.
 * Returns 0, or -1 with an exception set. */
static inline int
cwj_bind(const cwj_signature_names *names, PyObject *const *args, Py_ssize_t npositional,
         PyObject *kwnames, PyObject **values)
{
    Py_ssize_t nkeywords = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    if (npositional > names->npositional) {
        return cwj_refuse_count(names, npositional);
    }
    for (Py_ssize_t i = 0; i < npositional; i++) {
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
