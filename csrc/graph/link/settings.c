/* settings.c: see settings.h. Everything is kept once, by its text: a hundred variables of
 * one type want one support code. Arguments are those of a compiler's command line; what
 * says how to optimize or to warn means nothing here and is accepted. */
#include "graph/link/settings.h"

#include "base/errors.h"
#include "graph/link/labels.h"

static int
make_sets(cwj_settings *settings)
{
    for (int i = 0; i < CWJ_NSETTINGS; i++) {
        settings->sets[i] = PyDict_New();
        if (settings->sets[i] == NULL) {
            return -1;
        }
    }
    settings->versions = PyList_New(0);
    return settings->versions == NULL ? -1 : 0;
}

/* ---- words ------------------------------------------------------------- */

/* Methods that return lists of words. */
typedef struct {
    const char *method;
    cwj_setting setting;
    bool with_compiler; /* they may want to know it */
} word_method;

static const word_method word_methods[] = {
    {"c_headers", CWJ_HEADERS, true},        {"c_header_dirs", CWJ_INCLUDE_DIRS, true},
    {"c_libraries", CWJ_LIBRARIES, true},    {"c_lib_dirs", CWJ_LIBRARY_DIRS, true},
    {"c_support_code", CWJ_SUPPORTS, false}, {"c_init_code", CWJ_INITS, false},
};
static const word_method removing_method = {"c_no_compile_args", CWJ_REMOVED, true};

/* A new tuple of words, which is empty where there is no such method. */
static PyObject *
ask_words(cwj_linking *link, const cwj_settings *settings, const cwj_party *party,
          const char *method, bool with_compiler)
{
    PyObject *answer = NULL;
    PyObject *compiler =
        settings->compiler != NULL ? Py_NewRef(settings->compiler) : PyUnicode_FromString("tcc");
    cwj_question question = {.method = method,
                             .kind = with_compiler ? CWJ_ASK_COMPILER : CWJ_ASK_PLAIN,
                             .extra = compiler};
    if (compiler != NULL && cwj_ask_list(link, party, &question, &answer) == 0) {
        answer = PyTuple_New(0);
    }
    Py_XDECREF(compiler);
    return answer;
}

static int
collect_words(cwj_linking *link, cwj_settings *settings, const cwj_party *party,
              const word_method *asked)
{
    PyObject *words = ask_words(link, settings, party, asked->method, asked->with_compiler);
    int status = words == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; status == 0 && i < PyTuple_GET_SIZE(words); i++) {
        status = cwj_settings_add(settings, asked->setting, party, asked->method,
                                  PyTuple_GET_ITEM(words, i));
    }
    Py_XDECREF(words);
    return status;
}

static int
collect_arguments(cwj_linking *link, cwj_settings *settings, const cwj_party *party)
{
    PyObject *words = ask_words(link, settings, party, "c_compile_args", true);
    PyObject *left = words == NULL ? NULL : PyList_New(0);
    int status = left == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; status == 0 && i < PyTuple_GET_SIZE(words); i++) {
        PyObject *word = PyTuple_GET_ITEM(words, i);
        int removed = PyDict_Contains(settings->sets[CWJ_REMOVED], word);
        status = removed == 0 ? PyList_Append(left, word) : removed < 0 ? -1 : 0;
    }
    if (status == 0) {
        status = cwj_settings_add_arguments(settings, party, left);
    }
    Py_XDECREF(words);
    Py_XDECREF(left);
    return status;
}

/* ---- the compiler ------------------------------------------------------ */

/* None, "" and "tcc" have no wish: libtcc is what there is anyway. */
static int
has_wish(PyObject *answer)
{
    return answer != Py_None && PyUnicode_GET_LENGTH(answer) > 0 &&
           PyUnicode_CompareWithASCIIString(answer, "tcc") != 0;
}

static int
keep_wish(cwj_settings *settings, const cwj_party *party, PyObject *answer)
{
    PyObject *name = cwj_class_of(party->object);
    int status = name == NULL ? -1 : 0;
    if (name != NULL && settings->compiler == NULL) {
        settings->compiler = Py_NewRef(answer);
        settings->compiler_party = Py_NewRef(name);
    } else if (name != NULL && PyUnicode_Compare(answer, settings->compiler) != 0) {
        status = cwj_refuse("link()", PyExc_ValueError,
                            "one graph has one compiler, but %U wants %R and %U wants %R",
                            settings->compiler_party, settings->compiler, name, answer);
    }
    Py_XDECREF(name);
    return status;
}

static int
collect_compiler(cwj_linking *link, cwj_settings *settings, const cwj_party *party)
{
    cwj_question question = {.method = "c_compiler"};
    PyObject *answer = NULL;
    int status = cwj_ask(link, party, &question, &answer);
    if (status <= 0) {
        return status;
    }
    status = 0;
    if (answer != Py_None && !PyUnicode_Check(answer)) {
        status =
            cwj_refuse_answer(party, question.method, PyExc_TypeError,
                              "must return None, 'tcc' or a command like 'cc', not %R", answer);
    } else if (has_wish(answer)) {
        status = keep_wish(settings, party, answer);
    }
    Py_DECREF(answer);
    return status;
}

/* ---- all of them ------------------------------------------------------- */

static int
collect_party(cwj_linking *link, cwj_settings *settings, const cwj_party *party)
{
    for (size_t i = 0; i < sizeof word_methods / sizeof *word_methods; i++) {
        if (collect_words(link, settings, party, &word_methods[i]) < 0) {
            return -1;
        }
    }
    return collect_arguments(link, settings, party);
}

/* As for any extension module: an assert() that fails would end the interpreter, and
 * other people's ops are written for builds without. -UNDEBUG, or -DNDEBUG among what
 * c_no_compile_args() names, brings assert() back. */
static int
define_release(cwj_settings *settings)
{
    PyObject *word = PyUnicode_FromString("-DNDEBUG"), *name = PyUnicode_FromString("NDEBUG");
    int status = -1;
    if (word != NULL && name != NULL) {
        int removed = PyDict_Contains(settings->sets[CWJ_REMOVED], word);
        status = removed != 0 ? removed : PyDict_SetItem(settings->sets[CWJ_MACROS], name, name);
    }
    Py_XDECREF(word);
    Py_XDECREF(name);
    return status < 0 ? -1 : 0;
}

int
cwj_settings_collect(cwj_linking *link, cwj_settings *settings, const cwj_party *parties,
                     size_t nparties)
{
    if (make_sets(settings) < 0) {
        return -1;
    }
    for (size_t i = 0; i < nparties; i++) {
        if (collect_compiler(link, settings, &parties[i]) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < nparties; i++) { /* one party removes what another one adds */
        if (collect_words(link, settings, &parties[i], &removing_method) < 0) {
            return -1;
        }
    }
    if (define_release(settings) < 0) {
        return -1;
    }
    for (size_t i = 0; i < nparties; i++) {
        if (collect_party(link, settings, &parties[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- versions ---------------------------------------------------------- */

int
cwj_settings_add_version(cwj_linking *link, cwj_settings *settings, const cwj_party *party,
                         PyObject *node)
{
    if (settings->versions == NULL) {
        return 0; /* somebody has none: the others do not matter */
    }
    cwj_question question = {.method = "c_code_cache_version_apply", .arguments = &node};
    question.narguments = 1;
    PyObject *version = NULL;
    int status = node == NULL ? 0 : cwj_ask(link, party, &question, &version);
    if (status == 0) {
        question = (cwj_question){.method = "c_code_cache_version"};
        status = cwj_ask(link, party, &question, &version);
    }
    if (status < 0) {
        return -1;
    }
    if (version == NULL || version == Py_None) {
        Py_CLEAR(settings->versions);
    } else if (!PyTuple_Check(version)) {
        status = cwj_refuse_answer(party, question.method, PyExc_TypeError,
                                   "must return a tuple, not %s", Py_TYPE(version)->tp_name);
    } else if (PyTuple_GET_SIZE(version) == 0) {
        Py_CLEAR(settings->versions);
    } else if (PyObject_Hash(version) == -1) {
        cwj_note_party(party, question.method);
        status = -1;
    } else {
        status = PyList_Append(settings->versions, version);
    }
    Py_XDECREF(version);
    return status < 0 ? -1 : 0;
}

PyObject *
cwj_settings_versions(const cwj_settings *settings)
{
    return settings->versions == NULL ? Py_NewRef(Py_None) : PyList_AsTuple(settings->versions);
}

/* ---- for tinyjit ------------------------------------------------------- */

/* A NULL-terminated array of the texts in a dict: its keys, or its values. */
static const char *const *
list_texts(cwj_linking *link, PyObject *set, bool values, bool paths)
{
    const char **list = cwj_arena_alloc(&link->arena, (size_t)PyDict_Size(set) + 1, sizeof(*list));
    PyObject *key, *value;
    Py_ssize_t position = 0, i = 0;
    while (list != NULL && PyDict_Next(set, &position, &key, &value)) {
        PyObject *text = values ? value : key;
        if (paths) {
            PyObject *bytes = PyUnicode_EncodeFSDefault(text);
            int status = bytes == NULL ? -1 : PyList_Append(link->kept, bytes);
            list[i] = status < 0 ? NULL : PyBytes_AS_STRING(bytes);
            Py_XDECREF(bytes);
        } else {
            list[i] = cwj_linking_utf8(link, text, NULL);
        }
        if (list[i++] == NULL) {
            return NULL;
        }
    }
    return list;
}

static const tj_piece *
list_pieces(cwj_linking *link, PyObject *set, int *count)
{
    tj_piece *list = cwj_arena_alloc(&link->arena, (size_t)PyDict_Size(set) + 1, sizeof(*list));
    PyObject *text, *file;
    Py_ssize_t position = 0;
    *count = 0;
    while (list != NULL && PyDict_Next(set, &position, &text, &file)) {
        tj_piece *piece = &list[(*count)++];
        piece->text = cwj_linking_utf8(link, text, &piece->length);
        piece->file = cwj_linking_utf8(link, file, NULL);
        if (piece->text == NULL || piece->file == NULL) {
            return NULL;
        }
    }
    return list;
}

int
cwj_settings_fill(cwj_linking *link, const cwj_settings *settings, tj_graph *graph,
                  tj_environment_options *options)
{
    graph->headers = list_texts(link, settings->sets[CWJ_HEADERS], false, false);
    graph->nheaders = (int)PyDict_Size(settings->sets[CWJ_HEADERS]);
    graph->supports = list_pieces(link, settings->sets[CWJ_SUPPORTS], &graph->nsupports);
    graph->inits = list_pieces(link, settings->sets[CWJ_INITS], &graph->ninits);
    options->include_dirs = list_texts(link, settings->sets[CWJ_INCLUDE_DIRS], false, true);
    options->define_macros = list_texts(link, settings->sets[CWJ_MACROS], true, false);
    bool complete = graph->headers != NULL && graph->supports != NULL && graph->inits != NULL &&
                    options->include_dirs != NULL && options->define_macros != NULL;
    return complete ? 0 : -1;
}

void
cwj_settings_clear(cwj_settings *settings)
{
    for (int i = 0; i < CWJ_NSETTINGS; i++) {
        Py_CLEAR(settings->sets[i]);
    }
    Py_CLEAR(settings->compiler);
    Py_CLEAR(settings->compiler_party);
    Py_CLEAR(settings->versions);
}
