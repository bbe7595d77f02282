/* attributes.h: what other people's types, ops and variables have, and what their methods take. */
#ifndef CWJ_GRAPH_ATTRIBUTES_H
#define CWJ_GRAPH_ATTRIBUTES_H

#include "base/api.h"

/* The attribute as a new reference: 1; it has none: 0 and NULL; another exception: -1. */
int cwj_graph_attribute(PyObject *object, const char *name, PyObject **value);
/* Whether the attribute, or what it returns where it is a method, is true; fallback where
 * there is none. -1 with an exception. */
int cwj_flag(PyObject *object, const char *name, int fallback);

/* What a callable takes, as bits: these, and the number of positional parameters above them. */
enum {
    CWJ_TAKES_CHECK_INPUT = 1, /* by that name */
    CWJ_TAKES_COMPILER = 2,    /* c_compiler */
    CWJ_TAKES_KEYWORDS = 4,    /* **kwargs */
    CWJ_TAKES_ANY = 8,         /* *args */
    CWJ_POSITIONAL_SHIFT = 4
};

/* -1 with an exception. */
int cwj_takes(PyObject *callable);

static inline int
cwj_positional(int bits)
{
    return bits >> CWJ_POSITIONAL_SHIFT;
}

#endif
