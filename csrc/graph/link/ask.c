/* ask.c: see ask.h. */
#include "graph/link/ask.h"

#include "base/errors.h"
#include "graph/attributes.h"
#include "base/raised.h"

/* ---- what a method takes ------------------------------------------------ */

/* The bits of a callable, looked up for methods of Python classes; -1 with an exception. */
static int
signature_of(cwj_linking *link, PyObject *callable)
{
    PyObject *key = PyMethod_Check(callable) ? PyMethod_GET_FUNCTION(callable) : NULL;
    if (key == NULL || !PyFunction_Check(key) || link == NULL) {
        return cwj_takes(callable);
    }
    PyObject *known = PyDict_GetItemWithError(link->signatures, key); /* borrowed */
    if (known != NULL || PyErr_Occurred()) {
        return known == NULL ? -1 : (int)PyLong_AsLong(known);
    }
    int bits = cwj_takes(callable);
    PyObject *number = bits < 0 ? NULL : PyLong_FromLong(bits);
    if (number == NULL || PyDict_SetItem(link->signatures, key, number) < 0) {
        bits = -1;
    }
    Py_XDECREF(number);
    return bits;
}

int
cwj_takes_nothing(cwj_linking *link, PyObject *object, const char *method)
{
    PyObject *callable = NULL;
    int result = cwj_graph_attribute(object, method, &callable);
    if (result > 0 && PyCallable_Check(callable)) {
        int bits = signature_of(link, callable);
        result = bits < 0 ? -1 : cwj_positional(bits) == 0 && (bits & CWJ_TAKES_ANY) == 0;
    } else if (result > 0) {
        result = 0;
    }
    Py_XDECREF(callable);
    return result;
}

/* ---- messages ---------------------------------------------------------- */

PyObject *
cwj_class_of(PyObject *object)
{
    PyTypeObject *type = PyType_Check(object) ? (PyTypeObject *)object : Py_TYPE(object);
    const char *dot = strrchr(type->tp_name, '.'); /* of types written in C */
    return PyUnicode_FromString(dot == NULL ? type->tp_name : dot + 1);
}

/* " (types.py, line 12)", or "" for what is not written in Python. */
static PyObject *
place_of(const cwj_party *party, const char *method)
{
    PyObject *callable = NULL, *place = NULL, *file = NULL;
    if (cwj_graph_attribute(party->object, method, &callable) < 0) {
        return NULL;
    }
    PyObject *function =
        callable != NULL && PyMethod_Check(callable) ? PyMethod_GET_FUNCTION(callable) : callable;
    if (function != NULL && PyFunction_Check(function)) {
        PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
        file = PyObject_GetAttrString((PyObject *)code, "co_filename");
        place = file == NULL ? NULL
                             : PyUnicode_FromFormat(" (%S, line %d)", file, code->co_firstlineno);
    } else {
        place = PyUnicode_FromString("");
    }
    Py_XDECREF(file);
    Py_XDECREF(callable);
    return place;
}

/* "c_code of Add(x, y)", "c_extract of Double, variable x" */
static PyObject *
subject_of(const cwj_party *party, const char *method)
{
    if (party->is_op) {
        return PyUnicode_FromFormat("%s of %U", method, party->about);
    }
    PyObject *name = cwj_class_of(party->object);
    PyObject *subject =
        name == NULL || party->about == NULL
            ? NULL
            : PyUnicode_FromFormat("%s of %U, variable %U", method, name, party->about);
    Py_XDECREF(name);
    return subject;
}

int
cwj_refuse_answer(const cwj_party *party, const char *method, PyObject *type, const char *format,
                  ...)
{
    PyObject *subject = NULL, *place = NULL;
    va_list arguments;
    va_start(arguments, format);
    PyObject *text = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    subject = text == NULL ? NULL : subject_of(party, method);
    place = subject == NULL ? NULL : place_of(party, method);
    if (place != NULL) {
        cwj_refuse("link()", type, "%U %U%U", subject, text, place);
    }
    Py_XDECREF(text);
    Py_XDECREF(subject);
    Py_XDECREF(place);
    return -1;
}

void
cwj_note_party(const cwj_party *party, const char *method)
{
    PyObject *exception = cwj_raised_take();
    PyObject *subject = subject_of(party, method);
    PyObject *place = subject == NULL ? NULL : place_of(party, method);
    cwj_raised_again(exception,
                     place == NULL ? NULL : PyUnicode_FromFormat("in %U%U", subject, place));
    Py_XDECREF(subject);
    Py_XDECREF(place);
}

PyObject *
cwj_refuse_answer_of(PyObject *Py_UNUSED(extension), PyObject *args)
{
    cwj_party party = {0};
    const char *method;
    PyObject *type, *text;
    int is_op;
    if (PyArg_ParseTuple(args, "OUpsOU:refuse_answer", &party.object, &party.about, &is_op, &method,
                         &type, &text)) {
        party.is_op = is_op != 0;
        cwj_refuse_answer(&party, method, type, "%U", text);
    }
    return NULL;
}

/* ---- asking ------------------------------------------------------------ */

/* True when the exception that is set says that there is no such method: NotImplementedError
 * or what the living successors of Theano raise. */
static int
says_not_there(void)
{
    PyObject *type = PyErr_Occurred();
    return PyErr_ExceptionMatches(PyExc_NotImplementedError) ||
           (PyType_Check(type) && strcmp(((PyTypeObject *)type)->tp_name, "MethodNotDefined") == 0);
}

static PyObject *
call(cwj_linking *link, PyObject *method, const cwj_question *question)
{
    PyObject *arguments[CWJ_MOST_ARGUMENTS + 2]; /* a free place in front, the extra one behind */
    PyObject *names = NULL;
    int count = question->narguments, bits = 0;
    for (int i = 0; i < count; i++) {
        arguments[1 + i] = question->arguments[i];
    }
    if (question->kind != CWJ_ASK_PLAIN) {
        bits = signature_of(link, method);
        if (bits < 0) {
            return NULL;
        }
        arguments[1 + count] = question->extra;
    }
    int by_name =
        question->kind == CWJ_ASK_CHECK_INPUT ? CWJ_TAKES_CHECK_INPUT : CWJ_TAKES_COMPILER;
    size_t positional = (size_t)count;
    if (question->kind != CWJ_ASK_PLAIN && (bits & (by_name | CWJ_TAKES_KEYWORDS))) {
        names = Py_BuildValue("(s)", by_name == CWJ_TAKES_COMPILER ? "c_compiler" : "check_input");
        if (names == NULL) {
            return NULL;
        }
    } else if (question->kind == CWJ_ASK_CHECK_INPUT && cwj_positional(bits) > count) {
        positional++; /* whatever it is called */
    }
    PyObject *answer = PyObject_Vectorcall(method, arguments + 1,
                                           positional | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
    Py_XDECREF(names);
    return answer;
}

/* For a method that is not there: 0, or -1 with NotImplementedError where it is required. */
static int
refuse_missing(const cwj_party *party, const cwj_question *question)
{
    if (!question->required) {
        return 0;
    }
    PyObject *name = cwj_class_of(party->object);
    if (name != NULL) {
        cwj_refuse("link()", PyExc_NotImplementedError,
                   party->is_op ? "op %U has no %s, which %U needs"
                                : "type %U has no %s, which variable %U needs",
                   name, question->method, party->about);
        Py_DECREF(name);
    }
    return -1;
}

/* After an exception inside the method. */
static int
end_badly(const cwj_party *party, const cwj_question *question)
{
    if (!says_not_there()) {
        cwj_note_party(party, question->method);
        return -1;
    }
    if (!question->required) {
        PyErr_Clear(); /* it says no more than that the method is not there */
        return 0;
    }
    if (!PyErr_ExceptionMatches(PyExc_NotImplementedError)) {
        PyErr_Clear(); /* a class of another library: ours is raised in its place */
        return refuse_missing(party, question);
    }
    cwj_note_party(party, question->method);
    return -1;
}

int
cwj_ask(cwj_linking *link, const cwj_party *party, const cwj_question *question, PyObject **answer)
{
    PyObject *method = NULL;
    *answer = NULL;
    int found = cwj_graph_attribute(party->object, question->method, &method);
    if (found < 0) {
        return end_badly(party, question);
    }
    if (found == 0 || method == Py_None) {
        Py_XDECREF(method);
        return refuse_missing(party, question);
    }
    if (PyCallable_Check(method)) {
        *answer = call(link, method, question);
        found = *answer != NULL ? 1 : end_badly(party, question);
    } else {
        found = cwj_refuse_answer(party, question->method, PyExc_TypeError,
                                  "must be a method, not %s", Py_TYPE(method)->tp_name);
    }
    Py_DECREF(method);
    return found;
}

PyObject *
cwj_ask_of(PyObject *Py_UNUSED(extension), PyObject *args)
{
    cwj_party party = {0};
    cwj_question question = {0};
    PyObject *arguments = NULL, *answer = NULL;
    int is_op;
    if (!PyArg_ParseTuple(args, "OUps|O!U:ask_party", &party.object, &party.about, &is_op,
                          &question.method, &PyTuple_Type, &arguments, &question.extra)) {
        return NULL;
    }
    party.is_op = is_op != 0;
    question.kind = question.extra == NULL ? CWJ_ASK_PLAIN : CWJ_ASK_COMPILER;
    if (arguments != NULL) {
        question.arguments = &PyTuple_GET_ITEM(arguments, 0);
        question.narguments = (int)Py_MIN(PyTuple_GET_SIZE(arguments), CWJ_MOST_ARGUMENTS);
    }
    int found = cwj_ask(NULL, &party, &question, &answer);
    return found < 0 ? NULL : found == 0 ? Py_NewRef(Py_None) : Py_BuildValue("(N)", answer);
}

/* What a text is called: "<cwrapjit Add.c_code of z>"; alive as long as link. NULL with an exception. */
static const char *
piece_file(cwj_linking *link, const cwj_party *party, const char *method)
{
    PyObject *name = cwj_class_of(party->object);
    PyObject *file = NULL;
    const char *utf8 = NULL;
    if (name != NULL) {
        file = party->piece == NULL
                   ? PyUnicode_FromFormat("<cwrapjit %U.%s>", name, method)
                   : PyUnicode_FromFormat("<cwrapjit %U.%s of %U>", name, method, party->piece);
    }
    if (file != NULL) {
        utf8 = cwj_linking_utf8(link, file, NULL);
    }
    Py_XDECREF(name);
    Py_XDECREF(file);
    return utf8;
}

int
cwj_ask_text(cwj_linking *link, const cwj_party *party, const cwj_question *question,
             tj_piece *piece)
{
    PyObject *answer = NULL;
    int found = cwj_ask(link, party, question, &answer);
    *piece = (tj_piece){0};
    if (found <= 0) {
        return found;
    }
    if (answer == Py_None && !question->required) {
        found = 0;
    } else if (!PyUnicode_Check(answer)) {
        found = cwj_refuse_answer(party, question->method, PyExc_TypeError,
                                  "must return a str, not %s", Py_TYPE(answer)->tp_name);
    } else {
        piece->text = cwj_linking_utf8(link, answer, &piece->length);
        if (piece->text == NULL) {
            cwj_note_party(party, question->method);
            found = -1;
        } else {
            piece->file = piece_file(link, party, question->method);
            found = piece->file == NULL ? -1 : 1;
        }
    }
    Py_DECREF(answer);
    return found;
}
