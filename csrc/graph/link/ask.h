/* ask.h: asking a type or an op for what it says of itself.
 *
 * Methods take what they like to take: `check_input`, keywords and `c_compiler` are passed
 * where the signature has room for them, never by trying. An exception raised inside goes
 * on as it is, with a note that says whose method it was and where it stands.
 */
#ifndef CWJ_GRAPH_LINK_ASK_H
#define CWJ_GRAPH_LINK_ASK_H

#include "graph/link/linking.h"

/* Whom to ask, and what messages call it. */
typedef struct cwj_party {
    PyObject *object; /* borrowed: a type or an op */
    PyObject *about;  /* borrowed str: the variable "x" or the node "Add(x, y)" */
    PyObject *piece;  /* borrowed str: what a text is for, in its name: "x", "z" */
    bool is_op;
} cwj_party;

/* How to ask. */
typedef enum cwj_question_kind {
    CWJ_ASK_PLAIN,
    CWJ_ASK_CHECK_INPUT, /* extra: True or False, as the last argument */
    CWJ_ASK_COMPILER     /* extra: str, where the signature names it */
} cwj_question_kind;

typedef struct cwj_question {
    const char *method;
    PyObject *const *arguments; /* borrowed */
    int narguments;             /* at most CWJ_MOST_ARGUMENTS */
    cwj_question_kind kind;
    PyObject *extra; /* borrowed */
    bool required;   /* else a missing method is no error */
} cwj_question;

enum {
    CWJ_MOST_ARGUMENTS = 5
};

/* A new reference: 1. No such method, or it raised NotImplementedError: 0 and NULL, or
 * NotImplementedError where it is required. Other exceptions: -1. */
int cwj_ask(cwj_linking *link, const cwj_party *party, const cwj_question *question,
            PyObject **answer);
/* The answer must be a str; None counts as "" where nothing is required. The piece points
 * into memory of link, its file says who said it. Results as cwj_ask(). */
int cwj_ask_text(cwj_linking *link, const cwj_party *party, const cwj_question *question,
                 tj_piece *piece);
/* "Double": the class, also where the variable is its own type. A new reference, or NULL. */
PyObject *cwj_class_of(PyObject *object);
/* True where the attribute is a callable without parameters. -1 with an exception. */
int cwj_takes_nothing(cwj_linking *link, PyObject *object, const char *method);

/* Raises type with "link(): METHOD of PARTY " in front and the method's place behind.
 * Returns -1. */
int cwj_refuse_answer(const cwj_party *party, const char *method, PyObject *type,
                      const char *format, ...);
/* The same for the halves in Python: refuse_answer(object, about, is_op, method, type, text). */
PyObject *cwj_refuse_answer_of(PyObject *extension, PyObject *args);
/* And of cwj_ask(), without what link caches: ask_party(object, about, is_op, method, arguments=(),
 * compiler=), where no such method is None, an answer a tuple of one. */
PyObject *cwj_ask_of(PyObject *extension, PyObject *args);
/* Adds the note to the exception that is set. */
void cwj_note_party(const cwj_party *party, const char *method);

#endif
