/* settings.h: what the types and ops of a graph want for the unit as a whole: headers,
 * support code, init code, folders, libraries, arguments, a compiler, versions. */
#ifndef CWJ_GRAPH_LINK_SETTINGS_H
#define CWJ_GRAPH_LINK_SETTINGS_H

#include "graph/link/ask.h"

/* What is collected: a dict each, which is a set in the order of the first mention. */
typedef enum cwj_setting {
    CWJ_HEADERS,      /* what stands behind #include */
    CWJ_SUPPORTS,     /* support code -> name of the piece */
    CWJ_INITS,        /* init code -> name of the piece */
    CWJ_INCLUDE_DIRS, /* paths */
    CWJ_LIBRARIES,
    CWJ_LIBRARY_DIRS,
    CWJ_MACROS,  /* NAME -> "NAME" or "NAME=VALUE" */
    CWJ_REMOVED, /* the words that c_no_compile_args() names */
    CWJ_NSETTINGS
} cwj_setting;

/* Zero it to begin. */
typedef struct cwj_settings {
    PyObject *sets[CWJ_NSETTINGS]; /* owned, as all of these */
    PyObject *compiler;            /* a command, or NULL: libtcc */
    PyObject *compiler_party;      /* str: who wants it */
    PyObject *versions; /* a list, or NULL: somebody has none, so that nothing is reused */
} cwj_settings;

/* Asks each party once, in this order. Returns 0, or -1. */
int cwj_settings_collect(cwj_linking *link, cwj_settings *settings, const cwj_party *parties,
                         size_t nparties);
/* Adds what a type or, node not NULL, an op says its version is. */
int cwj_settings_add_version(cwj_linking *link, cwj_settings *settings, const cwj_party *party,
                             PyObject *node);
/* Writes all that but the libraries into graph and options; the arrays live as long as link. */
int cwj_settings_fill(cwj_linking *link, const cwj_settings *settings, tj_graph *graph,
                      tj_environment_options *options);
/* A new tuple of all versions, or Py_None. */
PyObject *cwj_settings_versions(const cwj_settings *settings);
void cwj_settings_clear(cwj_settings *settings);

/* words.c. Adds a word that this method of a party's has returned. Returns 0, or -1. */
int cwj_settings_add(cwj_settings *settings, cwj_setting setting, const cwj_party *party,
                     const char *method, PyObject *word);
/* The words that a party's c_compile_args() names, a list of str. */
int cwj_settings_add_arguments(cwj_settings *settings, const cwj_party *party, PyObject *words);
/* Adds init code that a node wants for itself. */
int cwj_settings_add_init(cwj_settings *settings, const tj_piece *piece);

#endif
