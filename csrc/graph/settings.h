/* settings.h: what the types and ops of a graph want for the unit as a whole: headers,
 * support code, init code, folders, libraries, arguments, a compiler, versions. */
#ifndef CWJ_GRAPH_SETTINGS_H
#define CWJ_GRAPH_SETTINGS_H

#include "methods.h"

/* Zero it to begin. The dicts are sets in the order of the first mention; the values say
 * who mentioned it. */
typedef struct cwj_settings {
    PyObject *headers;      /* owned, as all of these: what stands behind #include */
    PyObject *supports;     /* support code -> name of the piece */
    PyObject *inits;        /* init code -> name of the piece */
    PyObject *include_dirs; /* paths */
    PyObject *libraries;
    PyObject *library_dirs;
    PyObject *macros;   /* NAME -> "NAME" or "NAME=VALUE" */
    PyObject *removed;  /* the words that c_no_compile_args() names */
    PyObject *compiler; /* a command, or NULL: libtcc */
    PyObject *compiler_party; /* str: who wants it */
    PyObject *versions; /* a list, or NULL: somebody has none, so that nothing is reused */
} cwj_settings;

/* Asks each party once, in this order. Returns 0, or -1. */
int cwj_settings_collect(cwj_link *link, cwj_settings *settings, const cwj_party *parties,
                         size_t nparties);
/* Adds what a type or, node not NULL, an op says its version is. */
int cwj_settings_add_version(cwj_link *link, cwj_settings *settings, const cwj_party *party,
                             PyObject *node);
/* Adds init code that a node wants for itself. */
int cwj_settings_add_init(cwj_settings *settings, const tj_piece *piece);
/* Writes all that into graph and options; the arrays live as long as link. */
int cwj_settings_fill(cwj_link *link, const cwj_settings *settings, tj_graph *graph,
                      tj_environment_options *options);
/* A new tuple of all versions, or Py_None. */
PyObject *cwj_settings_versions(const cwj_settings *settings);
void cwj_settings_clear(cwj_settings *settings);

/* arguments.c: the words that a party's c_compile_args() names, a list of str. */
int cwj_settings_apply(cwj_settings *settings, const cwj_party *party, PyObject *words);
/* True when no letter of text ends a line, or a string in C. */
bool cwj_is_one_line(PyObject *text);
/* Adds text to one of the sets unless it is there or empty. */
int cwj_settings_add_once(PyObject *set, PyObject *text, PyObject *value);

#endif
