/* linking.h: what one link() shares: what it was given, and what lives as long as it does. */
#ifndef CWJ_GRAPH_LINK_LINKING_H
#define CWJ_GRAPH_LINK_LINKING_H

#include "base/arena.h"
#include "base/state.h"

/* What link() was given; borrowed. */
typedef struct cwj_link_options {
    PyObject *inputs; /* any sequence of variables */
    PyObject *outputs; /* a variable, or a sequence of them */
    PyObject *updates; /* a dict, or NULL */
    PyObject *name; /* str */
    bool struct_form, per_op, validate, check;
    bool python; /* nodes without C code run their perform() */
    bool optimize; /* else libtcc's code for good */
    bool eager, fastmath;
    bool debug; /* see guarded.h */
    bool checks; /* the system's compiler only looks at the text */
} cwj_link_options;

/* What one link() shares. */
typedef struct cwj_linking {
    cwj_module_state *state;
    const cwj_link_options *options;
    cwj_arena arena;      /* all arrays and texts of the time of linking */
    PyObject *kept;       /* owned list: the objects that texts point into */
    PyObject *signatures; /* owned dict: what functions take, by function */
} cwj_linking;

/* The UTF-8 of a str, alive as long as link. NULL with an exception. */
const char *cwj_linking_utf8(cwj_linking *link, PyObject *text, size_t *length);
/* A copy of bytes with a NUL behind them, alive as long as link. */
const char *cwj_linking_copy(cwj_linking *link, const char *bytes, size_t length);
/* Keeps a new reference alive as long as link; NULL in, NULL out. */
PyObject *cwj_linking_keep(cwj_linking *link, PyObject *object);

#endif
