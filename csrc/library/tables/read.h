/* read.h: attributes of a description, checked. Each raises, with WHO in front. */
#ifndef CWJ_LIBRARY_TABLES_READ_H
#define CWJ_LIBRARY_TABLES_READ_H

#include "library/tables/tables.h"

typedef enum cwj_attribute_kind {
    CWJ_READ_TEXT,    /* PyObject *: a new str */
    CWJ_READ_OBJECT,  /* PyObject *: new */
    CWJ_READ_FLAG,    /* bool */
    CWJ_READ_INT,     /* int, not below -1 */
    CWJ_READ_ADDRESS, /* of data or of a function */
    CWJ_READ_WORD     /* an enum: the index among words, which NULL ends */
} cwj_attribute_kind;

/* Where an attribute of this name goes; a name of NULL ends a list. */
typedef struct cwj_attribute {
    const char *name;
    cwj_attribute_kind kind;
    size_t offset;
    const char *const *words;
} cwj_attribute;

/* An attribute of the member's name; does not compile unless the member has the size of ctype. */
#define CWJ_ATTRIBUTE(record, member, kind, ctype, words)                           \
    {#member, kind,                                                                 \
     offsetof(record, member) +                                                     \
         0 * sizeof(char[sizeof(((record *)0)->member) == sizeof(ctype) ? 1 : -1]), \
     words}
#define CWJ_TEXT(record, member) CWJ_ATTRIBUTE(record, member, CWJ_READ_TEXT, PyObject *, NULL)
#define CWJ_OBJECT(record, member) CWJ_ATTRIBUTE(record, member, CWJ_READ_OBJECT, PyObject *, NULL)
#define CWJ_FLAG(record, member) CWJ_ATTRIBUTE(record, member, CWJ_READ_FLAG, bool, NULL)
#define CWJ_INT(record, member) CWJ_ATTRIBUTE(record, member, CWJ_READ_INT, int, NULL)
#define CWJ_ADDRESS(record, member) CWJ_ATTRIBUTE(record, member, CWJ_READ_ADDRESS, void *, NULL)
#define CWJ_CHOICE(record, member, words) CWJ_ATTRIBUTE(record, member, CWJ_READ_WORD, int, words)

/* Fills members of a record. Returns 0, or -1. */
int cwj_read(void *record, const cwj_attribute *attributes, PyObject *given, const char *who);
PyObject *cwj_read_text(PyObject *given, const char *name, const char *who); /* new str, or NULL */
PyObject *cwj_read_list(PyObject *given, const char *name, const char *who); /* new list, or NULL */
int cwj_read_type(const cwj_library_type **type, PyObject *given, const char *who); /* "": NULL */
int cwj_read_dims(cwj_dim **dims, int *ndim, PyObject *given, PyObject *symbols, const char *who);

#endif
