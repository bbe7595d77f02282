/* settings.c: see settings.h. Everything is kept once, by its text: a hundred variables of
 * one type want one support code. Arguments are those of a compiler's command line; what
 * says how to optimize or to warn means nothing here and is accepted. */
#include "settings.h"

#include "../errors.h"
#include "labels.h"

/* ---- sets with an order ------------------------------------------------ */

static int
make_sets(cwj_settings *settings)
{
    PyObject **sets[] = {&settings->headers,   &settings->supports,     &settings->inits,
                         &settings->libraries, &settings->library_dirs, &settings->include_dirs,
                         &settings->macros,    &settings->removed};
    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
        *sets[i] = PyDict_New();
        if (*sets[i] == NULL) {
            return -1;
        }
    }
    settings->versions = PyList_New(0);
    return settings->versions == NULL ? -1 : 0;
}

int
cwj_settings_add_once(PyObject *set, PyObject *text, PyObject *value)
{
    return PyUnicode_GET_LENGTH(text) == 0 || PyDict_SetDefault(set, text, value) != NULL ? 0 : -1;
}

typedef int add_word(cwj_settings *settings, const cwj_party *party, const char *method,
                     PyObject *word);

/* Asks for a list and adds each of its items. */
static int
ask_each(cwj_link *link, cwj_settings *settings, const cwj_party *party, const char *method,
         bool with_compiler, add_word *add)
{
    cwj_question question = {.method = method};
    PyObject *answer = NULL, *tcc = NULL;
    int status = 0;
    if (with_compiler) {
        tcc = settings->compiler != NULL ? Py_NewRef(settings->compiler)
                                         : PyUnicode_FromString("tcc");
        if (tcc == NULL) {
            return -1;
        }
        question.kind = CWJ_COMPILER;
        question.extra = tcc;
    }
    if (cwj_ask_list(link, party, &question, &answer) < 0) {
        status = -1;
    }
    for (Py_ssize_t i = 0; answer != NULL && i < PyTuple_GET_SIZE(answer) && status == 0; i++) {
        status = add(settings, party, method, PyTuple_GET_ITEM(answer, i));
    }
    Py_XDECREF(answer);
    Py_XDECREF(tcc);
    return status;
}

/* ---- one kind of setting each ------------------------------------------ */

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
add_header(cwj_settings *settings, const cwj_party *party, const char *method, PyObject *word)
{
    PyObject *header = cwj_is_one_line(word) ? header_of(word) : NULL;
    if (header == NULL) {
        if (PyErr_Occurred()) {
            return -1;
        }
        return cwj_refuse_answer(party, method, PyExc_ValueError,
                                 "must return headers like 'math.h', '<math.h>' or '\"my.h\"', "
                                 "not %R",
                                 word);
    }
    int status = cwj_settings_add_once(settings->headers, header, Py_None);
    Py_DECREF(header);
    return status;
}

/* Support code and init code: the name of the piece is the value. */
static int
add_code(PyObject *set, const cwj_party *party, const char *method, PyObject *text)
{
    PyObject *name = cwj_class_of(party->object);
    PyObject *file = name == NULL ? NULL : PyUnicode_FromFormat("<cwrapjit %U.%s>", name, method);
    int status = file == NULL ? -1 : cwj_settings_add_once(set, text, file);
    Py_XDECREF(name);
    Py_XDECREF(file);
    return status;
}

static int
add_support(cwj_settings *settings, const cwj_party *party, const char *method, PyObject *word)
{
    return add_code(settings->supports, party, method, word);
}

static int
add_init(cwj_settings *settings, const cwj_party *party, const char *method, PyObject *word)
{
    return add_code(settings->inits, party, method, word);
}

static int
add_path(PyObject *set, const cwj_party *party, const char *method, PyObject *word)
{
    if (PyUnicode_FindChar(word, 0, 0, PyUnicode_GET_LENGTH(word), 1) >= 0) {
        return cwj_refuse_answer(party, method, PyExc_ValueError, "must not return %R", word);
    }
    return cwj_settings_add_once(set, word, Py_None);
}

static int
add_include_dir(cwj_settings *settings, const cwj_party *party, const char *method, PyObject *word)
{
    return add_path(settings->include_dirs, party, method, word);
}

static int
add_library(cwj_settings *settings, const cwj_party *party, const char *method, PyObject *word)
{
    return add_path(settings->libraries, party, method, word);
}

static int
add_library_dir(cwj_settings *settings, const cwj_party *party, const char *method, PyObject *word)
{
    return add_path(settings->library_dirs, party, method, word);
}

static int
add_removed(cwj_settings *settings, const cwj_party *Py_UNUSED(party),
            const char *Py_UNUSED(method), PyObject *word)
{
    return cwj_settings_add_once(settings->removed, word, Py_None);
}

/* ---- arguments of a compiler ------------------------------------------- */

static int
collect_arguments(cwj_link *link, cwj_settings *settings, const cwj_party *party)
{
    PyObject *tcc =
        settings->compiler != NULL ? Py_NewRef(settings->compiler) : PyUnicode_FromString("tcc");
    cwj_question question = {.method = "c_compile_args", .kind = CWJ_COMPILER, .extra = tcc};
    PyObject *answer = NULL, *words = PyList_New(0);
    int status = -1;
    if (tcc == NULL || words == NULL || cwj_ask_list(link, party, &question, &answer) < 0) {
        goto done;
    }
    for (Py_ssize_t i = 0; answer != NULL && i < PyTuple_GET_SIZE(answer); i++) {
        int removed = PyDict_Contains(settings->removed, PyTuple_GET_ITEM(answer, i));
        if (removed < 0 || (!removed && PyList_Append(words, PyTuple_GET_ITEM(answer, i)) < 0)) {
            goto done;
        }
    }
    status = cwj_settings_apply(settings, party, words);
done:
    Py_XDECREF(tcc);
    Py_XDECREF(words);
    Py_XDECREF(answer);
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
collect_compiler(cwj_link *link, cwj_settings *settings, const cwj_party *party)
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
collect_party(cwj_link *link, cwj_settings *settings, const cwj_party *party)
{
    if (ask_each(link, settings, party, "c_headers", true, add_header) < 0 ||
        ask_each(link, settings, party, "c_header_dirs", true, add_include_dir) < 0 ||
        ask_each(link, settings, party, "c_libraries", true, add_library) < 0 ||
        ask_each(link, settings, party, "c_lib_dirs", true, add_library_dir) < 0 ||
        ask_each(link, settings, party, "c_support_code", false, add_support) < 0 ||
        ask_each(link, settings, party, "c_init_code", false, add_init) < 0 ||
        collect_arguments(link, settings, party) < 0) {
        return -1;
    }
    return 0;
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
        int removed = PyDict_Contains(settings->removed, word);
        status = removed != 0 ? removed : PyDict_SetItem(settings->macros, name, name);
    }
    Py_XDECREF(word);
    Py_XDECREF(name);
    return status < 0 ? -1 : 0;
}

int
cwj_settings_collect(cwj_link *link, cwj_settings *settings, const cwj_party *parties,
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
        if (ask_each(link, settings, &parties[i], "c_no_compile_args", true, add_removed) < 0) {
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

int
cwj_settings_add_init(cwj_settings *settings, const tj_piece *piece)
{
    if (piece->length == 0) {
        return 0;
    }
    PyObject *text = PyUnicode_FromStringAndSize(piece->text, (Py_ssize_t)piece->length);
    PyObject *file = PyUnicode_FromString(piece->file);
    int status =
        text == NULL || file == NULL ? -1 : cwj_settings_add_once(settings->inits, text, file);
    Py_XDECREF(text);
    Py_XDECREF(file);
    return status;
}

/* ---- versions ---------------------------------------------------------- */

int
cwj_settings_add_version(cwj_link *link, cwj_settings *settings, const cwj_party *party,
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
list_texts(cwj_link *link, PyObject *set, bool values, bool paths)
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
            list[i] = cwj_link_utf8(link, text, NULL);
        }
        if (list[i++] == NULL) {
            return NULL;
        }
    }
    return list;
}

static const tj_piece *
list_pieces(cwj_link *link, PyObject *set, int *count)
{
    tj_piece *list = cwj_arena_alloc(&link->arena, (size_t)PyDict_Size(set) + 1, sizeof(*list));
    PyObject *text, *file;
    Py_ssize_t position = 0;
    *count = 0;
    while (list != NULL && PyDict_Next(set, &position, &text, &file)) {
        tj_piece *piece = &list[(*count)++];
        piece->text = cwj_link_utf8(link, text, &piece->length);
        piece->file = cwj_link_utf8(link, file, NULL);
        if (piece->text == NULL || piece->file == NULL) {
            return NULL;
        }
    }
    return list;
}

int
cwj_settings_fill(cwj_link *link, const cwj_settings *settings, tj_graph *graph,
                  tj_environment_options *options)
{
    graph->headers = list_texts(link, settings->headers, false, false);
    graph->nheaders = (int)PyDict_Size(settings->headers);
    graph->supports = list_pieces(link, settings->supports, &graph->nsupports);
    graph->inits = list_pieces(link, settings->inits, &graph->ninits);
    options->include_dirs = list_texts(link, settings->include_dirs, false, true);
    options->libraries = list_texts(link, settings->libraries, false, true);
    options->library_dirs = list_texts(link, settings->library_dirs, false, true);
    options->define_macros = list_texts(link, settings->macros, true, false);
    bool complete = graph->headers != NULL && graph->supports != NULL && graph->inits != NULL &&
                    options->include_dirs != NULL && options->libraries != NULL &&
                    options->library_dirs != NULL && options->define_macros != NULL;
    return complete ? 0 : -1;
}

void
cwj_settings_clear(cwj_settings *settings)
{
    Py_CLEAR(settings->headers);
    Py_CLEAR(settings->supports);
    Py_CLEAR(settings->inits);
    Py_CLEAR(settings->include_dirs);
    Py_CLEAR(settings->libraries);
    Py_CLEAR(settings->library_dirs);
    Py_CLEAR(settings->macros);
    Py_CLEAR(settings->removed);
    Py_CLEAR(settings->compiler);
    Py_CLEAR(settings->compiler_party);
    Py_CLEAR(settings->versions);
}
