/* environment.c: from the C side of module()'s arguments to a tj_environment.
 *
 * Paths become bytes in the file system's encoding and lists become arrays of
 * C strings; the bytes objects live in one Python list until the sources are
 * compiled, after which the tj_environment has copies of what it needs.
 */
#include "base/environment.h"

#include "base/checks.h"
#include "base/config.h"
#include "base/errors.h"
#include "base/symbols.h"

/* ---- arguments --------------------------------------------------------- */

static int
pop_argument(PyObject **member, PyObject *kwargs, const char *name)
{
    PyObject *key = PyUnicode_FromString(name);
    if (key == NULL) {
        return -1;
    }
    PyObject *value = PyDict_GetItemWithError(kwargs, key); /* borrowed */
    int status = 0;
    if (value != NULL) {
        *member = Py_NewRef(value);
        status = PyDict_DelItem(kwargs, key);
    } else if (PyErr_Occurred()) {
        status = -1;
    }
    Py_DECREF(key);
    return status;
}

int
cwj_build_pop(cwj_build *build, PyObject *kwargs)
{
#define POP(name)                                        \
    if (pop_argument(&build->name, kwargs, #name) < 0) { \
        return -1;                                       \
    }
    POP(header)
    CWJ_BUILD_LISTS(POP)
#undef POP
    return 0;
}

void
cwj_build_clear(cwj_build *build)
{
#define CLEAR(name) Py_CLEAR(build->name);
    CLEAR(header)
    CWJ_BUILD_LISTS(CLEAR)
#undef CLEAR
}

/* ---- lists of C strings ------------------------------------------------ */

/* A NULL-terminated array of C strings and the bytes objects behind it. */
typedef struct {
    PyObject *owner; /* owned tuple of bytes */
    const char **items;
} string_list;

static void
clear_strings(string_list *strings)
{
    Py_CLEAR(strings->owner);
    PyMem_Free(strings->items);
    strings->items = NULL;
}

/* Makes bytes of one item; NULL with an exception set. */
typedef PyObject *encode_item(PyObject *item, const char *who, const char *argument, Py_ssize_t i);

static PyObject *
encode_path(PyObject *item, const char *who, const char *argument, Py_ssize_t i)
{
    PyObject *bytes = NULL;
    if (PyUnicode_FSConverter(item, &bytes)) {
        return bytes;
    }
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
        cwj_refuse(who, PyExc_TypeError, "%s[%zd] must be a str or a path, not %s", argument, i,
                   Py_TYPE(item)->tp_name);
    } else if (PyErr_ExceptionMatches(PyExc_ValueError)) {
        cwj_refuse(who, PyExc_ValueError, "%s[%zd] is not a possible path: %R", argument, i, item);
    }
    return NULL;
}

/* "NAME" or "NAME=VALUE" as a str, from that or from setuptools' (name, value). */
static PyObject *
macro_text(PyObject *item)
{
    if (PyUnicode_Check(item)) {
        return Py_NewRef(item);
    }
    if (!(PyTuple_Check(item) || PyList_Check(item)) || PySequence_Fast_GET_SIZE(item) != 2) {
        return NULL;
    }
    PyObject *name = PySequence_Fast_GET_ITEM(item, 0);
    PyObject *value = PySequence_Fast_GET_ITEM(item, 1);
    if (!PyUnicode_Check(name) || !(value == Py_None || PyUnicode_Check(value))) {
        return NULL;
    }
    return value == Py_None ? Py_NewRef(name) : PyUnicode_FromFormat("%U=%U", name, value);
}

/* True when what stands before any '=' is an identifier. */
static int
macro_is_sound(PyObject *text)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    Py_ssize_t equals = PyUnicode_FindChar(text, '=', 0, length, 1);
    PyObject *name = PyUnicode_Substring(text, 0, equals < 0 ? length : equals);
    int sound = name != NULL && PyUnicode_IsIdentifier(name) &&
                PyUnicode_FindChar(text, 0, 0, length, 1) < 0 &&
                PyUnicode_FindChar(text, '\n', 0, length, 1) < 0 &&
                PyUnicode_FindChar(text, '\r', 0, length, 1) < 0;
    Py_XDECREF(name);
    return sound;
}

static PyObject *
encode_macro(PyObject *item, const char *who, const char *argument, Py_ssize_t i)
{
    PyObject *bytes = NULL;
    PyObject *text = macro_text(item);
    if (text == NULL) {
        if (!PyErr_Occurred()) {
            cwj_refuse(who, PyExc_TypeError,
                       "%s[%zd] must be (name, value or None), 'NAME' or 'NAME=VALUE', not %R",
                       argument, i, item);
        }
    } else if (!macro_is_sound(text)) {
        cwj_refuse(who, PyExc_ValueError, "%s[%zd] does not define a macro: %R", argument, i, item);
    } else {
        bytes = PyUnicode_AsUTF8String(text);
    }
    Py_XDECREF(text);
    return bytes;
}

static int
fill_strings(string_list *strings, PyObject *given, const char *who, const char *argument,
             encode_item *encode)
{
    if (given == NULL || given == Py_None) {
        return 0;
    }
    if (!PyTuple_Check(given) && !PyList_Check(given)) {
        return cwj_refuse_type(who, argument, "a list or tuple", given);
    }
    PyObject *copy = PySequence_Tuple(given);
    if (copy == NULL) {
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(copy);
    int status = -1;
    strings->owner = PyTuple_New(count);
    strings->items = PyMem_Calloc((size_t)count + 1, sizeof(char *));
    if (strings->owner == NULL || strings->items == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *bytes = encode(PyTuple_GET_ITEM(copy, i), who, argument, i);
        if (bytes == NULL) {
            goto done;
        }
        PyTuple_SET_ITEM(strings->owner, i, bytes);
        strings->items[i] = PyBytes_AS_STRING(bytes);
        if (strings->items[i][0] == '\0') {
            cwj_refuse(who, PyExc_ValueError, "%s[%zd] is empty", argument, i);
            goto done;
        }
    }
    status = 0;
done:
    Py_DECREF(copy);
    return status;
}

/* ---- the environment --------------------------------------------------- */

enum {
#define INDEX(name) LIST_##name,
    CWJ_BUILD_LISTS(INDEX)
#undef INDEX
    NLISTS
};

static int
fill_lists(string_list *lists, const cwj_build *build, const char *who)
{
#define FILL(name)                                                                          \
    if (fill_strings(&lists[LIST_##name], build->name, who, #name,                          \
                     LIST_##name == LIST_define_macros ? encode_macro : encode_path) < 0) { \
        return -1;                                                                          \
    }
    CWJ_BUILD_LISTS(FILL)
#undef FILL
    return 0;
}

/* What a build of the emitted module needs, for its comment. */
static PyObject *
remember_lists(const string_list *lists)
{
    PyObject *result = PyTuple_New(NLISTS);
    for (int k = 0; k < NLISTS && result != NULL; k++) {
        PyObject *owner = lists[k].owner;
        Py_ssize_t count = owner == NULL ? 0 : PyTuple_GET_SIZE(owner);
        PyObject *texts = PyTuple_New(count);
        for (Py_ssize_t i = 0; i < count && texts != NULL; i++) {
            PyObject *text =
                PyUnicode_DecodeFSDefault(PyBytes_AS_STRING(PyTuple_GET_ITEM(owner, i)));
            if (text == NULL) {
                Py_CLEAR(texts);
            } else {
                PyTuple_SET_ITEM(texts, i, text);
            }
        }
        if (texts == NULL) {
            Py_CLEAR(result);
        } else {
            PyTuple_SET_ITEM(result, k, texts);
        }
    }
    return result;
}

/* Compiles and loads, without the GIL. Returns 0, or -1 with an exception. */
static int
build_environment(cwj_environment *self, const cwj_module_state *state, const string_list *lists,
                  const char *who)
{
    tj_environment_options options = {
#define OPTION(name) .name = lists[LIST_##name].items,
        CWJ_BUILD_LISTS(OPTION)
#undef OPTION
    };
    if (cwj_symbols_offer(&options) < 0 || cwj_config_limit(state->config) < 0) {
        return -1;
    }
    tj_messages messages = {0};
    tj_error error;
    tj_status status;
    int result = -1;
    tj_error_init(&error);

    Py_BEGIN_ALLOW_THREADS
    status = tj_environment_new(&options, &self->tj, &messages, &error);
    Py_END_ALLOW_THREADS

    if (status != TJ_OK) {
        cwj_raise(state, who, &error, &messages);
    } else {
        result = cwj_warn(state, &messages);
    }
    tj_messages_clear(&messages);
    tj_error_clear(&error);
    return result;
}

cwj_environment *
cwj_environment_new(cwj_module_state *state, const cwj_build *build, const char *who)
{
    string_list lists[NLISTS] = {{0}};
    cwj_environment *self = PyMem_Calloc(1, sizeof(*self));
    int status = -1;
    if (self == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    self->references = 1;
    if (build->header != NULL && build->header != Py_None && !PyUnicode_Check(build->header)) {
        cwj_refuse_type(who, "header", "a str", build->header);
        goto done;
    }
    self->header = build->header == NULL || build->header == Py_None ? PyUnicode_FromString("")
                                                                     : Py_NewRef(build->header);
    if (self->header == NULL || fill_lists(lists, build, who) < 0 || cwj_backend_open(state) < 0 ||
        build_environment(self, state, lists, who) < 0) {
        goto done;
    }
    self->build_args = remember_lists(lists);
    status = self->build_args != NULL ? 0 : -1;
done:
    for (int k = 0; k < NLISTS; k++) {
        clear_strings(&lists[k]);
    }
    if (status < 0) {
        cwj_environment_unref(self);
        return NULL;
    }
    return self;
}

cwj_environment *
cwj_environment_ref(cwj_environment *environment)
{
    environment->references++;
    return environment;
}

void
cwj_environment_unref(cwj_environment *environment)
{
    if (environment == NULL || --environment->references > 0) {
        return;
    }
    cwj_checks_clear(environment);
    tj_environment_free(environment->tj);
    Py_XDECREF(environment->header);
    Py_XDECREF(environment->header_file);
    Py_XDECREF(environment->build_args);
    PyMem_Free(environment);
}

/* ---- libtcc ------------------------------------------------------------ */

int
cwj_backend_open(cwj_module_state *state)
{
    if (state->backend_open) {
        return 0;
    }
    PyObject *paths = NULL;
    const char *libtcc, *lib_dir, *include_dir;
    tj_error error;
    int result = -1;
    tj_error_init(&error);
    PyObject *finder = cwj_import("cwrapjit._paths");
    if (finder == NULL) {
        goto done;
    }
    paths = PyObject_CallMethod(finder, "backend", NULL);
    if (paths == NULL || !PyArg_ParseTuple(paths, "yyy", &libtcc, &lib_dir, &include_dir)) {
        goto done;
    }
    tj_status status;
    Py_BEGIN_ALLOW_THREADS
    status = tj_backend_open(libtcc, lib_dir, include_dir, &error);
    Py_END_ALLOW_THREADS
    if (status != TJ_OK) {
        cwj_raise(state, "cwrapjit", &error, NULL);
        goto done;
    }
    state->backend_open = true;
    result = 0;
done:
    Py_XDECREF(finder);
    Py_XDECREF(paths);
    tj_error_clear(&error);
    return result;
}
