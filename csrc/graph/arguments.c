/* arguments.c: see settings.h. The words of a compiler's command line that mean something
 * to a unit in memory: macros, folders, libraries. */
#include "settings.h"

bool
cwj_is_one_line(PyObject *text)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    return PyUnicode_FindChar(text, '\n', 0, length, 1) < 0 &&
           PyUnicode_FindChar(text, '\r', 0, length, 1) < 0 &&
           PyUnicode_FindChar(text, 0, 0, length, 1) < 0;
}

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
    if (name != NULL && PyDict_GetItemWithError(settings->macros, name) != NULL) {
        status = PyDict_DelItem(settings->macros, name);
    } else if (name != NULL && !PyErr_Occurred()) {
        status = 0;
    }
    if (status == 0 && !remove) {
        status = PyDict_SetItem(settings->macros, name, text);
    }
    Py_XDECREF(name);
    return status;
}

/* One of -D -U -I -L -l with its text. */
static int
apply_argument(cwj_settings *settings, const cwj_party *party, Py_UCS4 letter, PyObject *text)
{
    static const char method[] = "c_compile_args";
    if (PyUnicode_GET_LENGTH(text) == 0 || !cwj_is_one_line(text)) {
        return cwj_refuse_answer(party, method, PyExc_ValueError, "must not return -%c with %R",
                                 (int)letter, text);
    }
    switch (letter) {
    case 'D':
    case 'U':
        return define_macro(settings, text, letter == 'U');
    case 'I':
        return cwj_settings_add_once(settings->include_dirs, text, Py_None);
    case 'L':
        return cwj_settings_add_once(settings->library_dirs, text, Py_None);
    default:
        return cwj_settings_add_once(settings->libraries, text, Py_None);
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
cwj_settings_apply(cwj_settings *settings, const cwj_party *party, PyObject *words)
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
