/* words.c: see settings.h. What the words mean that types and ops name: headers, folders, texts of
 * C, and those of a compiler's command line that mean something to a unit in memory: macros,
 * folders, libraries. */
#include "graph/link/settings.h"

#include "graph/link/labels.h"

/* True when no letter of text ends a line, or a string in C. */
static bool
is_one_line(PyObject *text)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    return PyUnicode_FindChar(text, '\n', 0, length, 1) < 0 &&
           PyUnicode_FindChar(text, '\r', 0, length, 1) < 0 &&
           PyUnicode_FindChar(text, 0, 0, length, 1) < 0;
}

/* Adds text to one of the sets unless it is there or empty. */
static int
add_once(PyObject *set, PyObject *text, PyObject *value)
{
    return PyUnicode_GET_LENGTH(text) == 0 || PyDict_SetDefault(set, text, value) != NULL ? 0 : -1;
}

/* ---- a word of each kind ------------------------------------------------ */

/* "math.h", "<math.h>" or "\"my.h\"": what stands behind #include. */
static PyObject *
header_of(PyObject *word)
{
    PyObject *header = PyObject_CallMethod(word, "strip", NULL);
    Py_ssize_t length = header == NULL ? 0 : PyUnicode_GET_LENGTH(header);
    if (length == 0) {
        return header;
    }
    Py_UCS4 first = PyUnicode_READ_CHAR(header, 0);
    Py_UCS4 last = PyUnicode_READ_CHAR(header, length - 1);
    Py_UCS4 wanted = first == '<' ? '>' : first == '"' ? '"' : 0;
    if (wanted == 0) {
        bool clean = PyUnicode_FindChar(header, '>', 0, length, 1) < 0 && first != '#';
        Py_SETREF(header, clean ? PyUnicode_FromFormat("<%U>", header) : NULL);
    } else if (length < 3 || last != wanted) {
        Py_CLEAR(header);
    }
    return header;
}

static int
add_header(PyObject *set, const cwj_party *party, const char *method, PyObject *word)
{
    PyObject *header = is_one_line(word) ? header_of(word) : NULL;
    if (header == NULL) {
        if (PyErr_Occurred()) {
            return -1;
        }
        return cwj_refuse_answer(party, method, PyExc_ValueError,
                                 "must return headers like 'math.h', '<math.h>' or '\"my.h\"', "
                                 "not %R",
                                 word);
    }
    int status = add_once(set, header, Py_None);
    Py_DECREF(header);
    return status;
}

/* Support code and init code: the name of the piece is the value. */
static int
add_code(PyObject *set, const cwj_party *party, const char *method, PyObject *text)
{
    PyObject *name = cwj_class_of(party->object);
    PyObject *file = name == NULL ? NULL : PyUnicode_FromFormat("<cwrapjit %U.%s>", name, method);
    int status = file == NULL ? -1 : add_once(set, text, file);
    Py_XDECREF(name);
    Py_XDECREF(file);
    return status;
}

static int
add_path(PyObject *set, const cwj_party *party, const char *method, PyObject *word)
{
    if (PyUnicode_FindChar(word, 0, 0, PyUnicode_GET_LENGTH(word), 1) >= 0) {
        return cwj_refuse_answer(party, method, PyExc_ValueError, "must not return %R", word);
    }
    return add_once(set, word, Py_None);
}

int
cwj_settings_add(cwj_settings *settings, cwj_setting setting, const cwj_party *party,
                 const char *method, PyObject *word)
{
    PyObject *set = settings->sets[setting];
    switch (setting) {
    case CWJ_HEADERS:
        return add_header(set, party, method, word);
    case CWJ_SUPPORTS:
    case CWJ_INITS:
        return add_code(set, party, method, word);
    case CWJ_REMOVED:
        return add_once(set, word, Py_None);
    default:
        return add_path(set, party, method, word);
    }
}

int
cwj_settings_add_init(cwj_settings *settings, const tj_piece *piece)
{
    if (piece->length == 0) {
        return 0;
    }
    PyObject *text = PyUnicode_FromStringAndSize(piece->text, (Py_ssize_t)piece->length);
    PyObject *file = PyUnicode_FromString(piece->file);
    int status =
        text == NULL || file == NULL ? -1 : add_once(settings->sets[CWJ_INITS], text, file);
    Py_XDECREF(text);
    Py_XDECREF(file);
    return status;
}

/* ---- arguments of a compiler ------------------------------------------- */

static bool
is_ignored(const char *word)
{
    static const char *const starts[] = {"-O", "-W", "-f", "-m", "-g", "-std="};
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
        if (strncmp(word, starts[i], strlen(starts[i])) == 0) {
            return true;
        }
    }
    return strcmp(word, "-pthread") == 0 || strcmp(word, "-w") == 0 || strcmp(word, "-pipe") == 0;
}

/* "NAME=VALUE" or "NAME"; the last of one name counts, as on a command line. */
static int
define_macro(cwj_settings *settings, PyObject *text, bool remove)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    Py_ssize_t equals = PyUnicode_FindChar(text, '=', 0, length, 1);
    PyObject *name = PyUnicode_Substring(text, 0, equals < 0 ? length : equals);
    int status = -1;
    if (name != NULL && PyDict_GetItemWithError(settings->sets[CWJ_MACROS], name) != NULL) {
        status = PyDict_DelItem(settings->sets[CWJ_MACROS], name);
    } else if (name != NULL && !PyErr_Occurred()) {
        status = 0;
    }
    if (status == 0 && !remove) {
        status = PyDict_SetItem(settings->sets[CWJ_MACROS], name, text);
    }
    Py_XDECREF(name);
    return status;
}

/* One of -D -U -I -L -l with its text. */
static int
apply_argument(cwj_settings *settings, const cwj_party *party, Py_UCS4 letter, PyObject *text)
{
    static const char method[] = "c_compile_args";
    if (PyUnicode_GET_LENGTH(text) == 0 || !is_one_line(text)) {
        return cwj_refuse_answer(party, method, PyExc_ValueError, "must not return -%c with %R",
                                 (int)letter, text);
    }
    switch (letter) {
    case 'D':
    case 'U':
        return define_macro(settings, text, letter == 'U');
    case 'I':
        return add_once(settings->sets[CWJ_INCLUDE_DIRS], text, Py_None);
    case 'L':
        return add_once(settings->sets[CWJ_LIBRARY_DIRS], text, Py_None);
    default:
        return add_once(settings->sets[CWJ_LIBRARIES], text, Py_None);
    }
}

/* Looks at words[i]; its text may be the next word. Returns how many words were read, or
 * -1. */
static Py_ssize_t
read_argument(cwj_settings *settings, const cwj_party *party, PyObject *words, Py_ssize_t i)
{
    PyObject *word = PyList_GET_ITEM(words, i);
    const char *utf8 = PyUnicode_AsUTF8(word);
    PyObject *text = NULL;
    Py_ssize_t used = 1;
    if (utf8 == NULL) {
        return -1;
    }
    if (utf8[0] == '-' && utf8[1] != '\0' && strchr("DUILl", utf8[1]) != NULL) {
        if (utf8[2] == '\0' && i + 1 < PyList_GET_SIZE(words)) {
            text = Py_NewRef(PyList_GET_ITEM(words, i + 1));
            used = 2;
        } else {
            text = PyUnicode_Substring(word, 2, PY_SSIZE_T_MAX);
        }
        if (text != NULL) {
            Py_SETREF(text, PyObject_CallMethod(text, "strip", NULL));
        }
        if (text == NULL || apply_argument(settings, party, (Py_UCS4)utf8[1], text) < 0) {
            used = -1;
        }
        Py_XDECREF(text);
    } else if (!is_ignored(utf8) && utf8[0] != '\0') {
        used = cwj_refuse_answer(party, "c_compile_args", PyExc_ValueError,
                                 "returns %R, which means nothing here: -D, -U, -I, -L, -l do, "
                                 "and -O, -W, -f, -m, -g, -std= are ignored",
                                 word);
    }
    return used;
}

int
cwj_settings_add_arguments(cwj_settings *settings, const cwj_party *party, PyObject *words)
{
    Py_ssize_t used;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(words); i += used) {
        used = read_argument(settings, party, words, i);
        if (used < 0) {
            return -1;
        }
    }
    return 0;
}
