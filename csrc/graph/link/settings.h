/* settings.h: what the types and ops of a graph want for the unit as a whole: headers,
 * support code, init code, folders, libraries, arguments, a compiler, versions. */
#ifndef CWJ_GRAPH_LINK_SETTINGS_H
#define CWJ_GRAPH_LINK_SETTINGS_H

#include "graph/link/ask.h"

/* Zero it to begin. */
typedef struct cwj_settings {
    PyObject *said;           /* owned list, as all of these: what read_words() takes */
    PyObject *compiler;       /* a command, or NULL: libtcc */
    PyObject *compiler_party; /* str: who wants it */
    PyObject *versions; /* a list, or NULL: somebody has none, so that nothing is reused */
    PyObject *libraries, *library_dirs; /* tuples of str, borrowed from link, once filled */
} cwj_settings;

/* Asks each party once, in this order. Returns 0, or -1. */
int cwj_settings_collect(cwj_linking *link, cwj_settings *settings, const cwj_party *parties,
                         size_t nparties);
/* Adds init code that a node wants for itself. */
int cwj_settings_add_init(cwj_settings *settings, const cwj_party *party, const tj_piece *piece);
/* Adds what a type or, node not NULL, an op says its version is. */
int cwj_settings_add_version(cwj_linking *link, cwj_settings *settings, const cwj_party *party,
                             PyObject *node);
/* Writes all that into graph, options and settings; the arrays live as long as link. Returns a new tuple
 * of all versions and all words, or Py_None where some version is missing; NULL with an
 * exception. */
PyObject *cwj_settings_fill(cwj_linking *link, cwj_settings *settings, tj_graph *graph,
                            tj_environment_options *options);
void cwj_settings_clear(cwj_settings *settings);

#endif
