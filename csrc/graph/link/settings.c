/* settings.c: see settings.h. Parties are asked here; what their words mean is the business of
 * cwrapjit/graph/words.py. */
#include "graph/link/settings.h"

#include "base/errors.h"

/* ---- words ------------------------------------------------------------- */

static int
begin(cwj_settings *settings)
{
    settings->said = PyList_New(0);
    settings->versions = PyList_New(0);
    return settings->said == NULL || settings->versions == NULL ? -1 : 0;
}

/* Steals the entry, which may be NULL. */
static int
append(cwj_settings *settings, PyObject *entry)
{
    int status = entry == NULL ? -1 : PyList_Append(settings->said, entry);
    Py_XDECREF(entry);
    return status;
}

/* Says "" or nothing: the usual answer. */
static bool
is_silent(PyObject *words)
{
    Py_ssize_t count = PyTuple_GET_SIZE(words);
    return count == 0 || (count == 1 && PyUnicode_GET_LENGTH(PyTuple_GET_ITEM(words, 0)) == 0);
}

static int
ask_words(cwj_linking *link, cwj_settings *settings, const cwj_party *party, const char *method,
          bool with_compiler)
{
    PyObject *words = NULL;
    PyObject *compiler =
        settings->compiler != NULL ? Py_NewRef(settings->compiler) : PyUnicode_FromString("tcc");
    cwj_question question = {.method = method,
                             .kind = with_compiler ? CWJ_ASK_COMPILER : CWJ_ASK_PLAIN,
                             .extra = compiler};
    int status = compiler == NULL ? -1 : cwj_ask_list(link, party, &question, &words);
    if (status > 0 && !is_silent(words)) {
        const char *file = cwj_piece_file(link, party, method);
        status = file == NULL
                     ? -1
                     : append(settings, Py_BuildValue("((OOis)sO)", party->object, party->about,
                                                      (int)party->is_op, method, file, words));
    }
    Py_XDECREF(compiler);
    Py_XDECREF(words);
    return status < 0 ? -1 : 0;
}

int
cwj_settings_add_init(cwj_settings *settings, const cwj_party *party, const tj_piece *piece)
{
    return piece->length == 0
               ? 0
               : append(settings, Py_BuildValue("((OOis)s(s#))", party->object, party->about,
                                                (int)party->is_op, "c_init_code_apply", piece->file,
                                                piece->text, (Py_ssize_t)piece->length));
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

/* Asks for all words of one party. Most methods may want to know the compiler. */
static int
collect_party(cwj_linking *link, cwj_settings *settings, const cwj_party *party)
{
    static const char *const told[] = {"c_headers",  "c_header_dirs",  "c_libraries",
                                       "c_lib_dirs", "c_compile_args", "c_no_compile_args"};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        if (ask_words(link, settings, party, told[i], true) < 0) {
            return -1;
        }
    }
    return ask_words(link, settings, party, "c_support_code", false) < 0
               ? -1
               : ask_words(link, settings, party, "c_init_code", false);
}

int
cwj_settings_collect(cwj_linking *link, cwj_settings *settings, const cwj_party *parties,
                     size_t nparties)
{
    int status = begin(settings);
    for (size_t i = 0; i < nparties && status == 0; i++) {
        status = collect_compiler(link, settings, &parties[i]);
    }
    for (size_t i = 0; i < nparties && status == 0; i++) {
        status = collect_party(link, settings, &parties[i]);
    }
    return status;
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

/* ---- for tinyjit ------------------------------------------------------- */

/* A NULL-terminated array of the texts in a tuple of bytes. */
static const char *const *
list_texts(cwj_linking *link, PyObject *tuple)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    const char **list = cwj_arena_alloc(&link->arena, (size_t)count + 1, sizeof(*list));
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        list[i] = PyBytes_AsString(PyTuple_GET_ITEM(tuple, i));
        if (list[i] == NULL) {
            return NULL;
        }
    }
    return list;
}

/* Of pairs of a text and its name. */
static const tj_piece *
list_pieces(cwj_linking *link, PyObject *tuple, int *count)
{
    *count = (int)PyTuple_GET_SIZE(tuple);
    tj_piece *list = cwj_arena_alloc(&link->arena, (size_t)*count + 1, sizeof(*list));
    for (int i = 0; list != NULL && i < *count; i++) {
        Py_ssize_t length;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, i), "y#y", &list[i].text, &length,
                              &list[i].file)) {
            return NULL;
        }
        list[i].length = (size_t)length;
    }
    return list;
}

/* What the words mean, in all: seven tuples, alive as long as link; borrowed. */
static PyObject *
read_words(cwj_linking *link, const cwj_settings *settings)
{
    return cwj_linking_keep(
        link, cwj_ask_python("cwrapjit.graph.words", "read_words", "(O)", settings->said));
}

PyObject *
cwj_settings_fill(cwj_linking *link, cwj_settings *settings, tj_graph *graph,
                  tj_environment_options *options)
{
    PyObject *headers, *supports, *inits, *dirs, *macros, *tuple;
    PyTypeObject *t = &PyTuple_Type;
    PyObject *found = read_words(link, settings);
    if (found == NULL ||
        !PyArg_ParseTuple(found, "O!O!O!O!O!O!O!", t, &headers, t, &supports, t, &inits, t, &dirs,
                          t, &settings->libraries, t, &settings->library_dirs, t, &macros)) {
        return NULL;
    }
    graph->headers = list_texts(link, headers);
    graph->nheaders = (int)PyTuple_GET_SIZE(headers);
    graph->supports = list_pieces(link, supports, &graph->nsupports);
    graph->inits = list_pieces(link, inits, &graph->ninits);
    options->include_dirs = list_texts(link, dirs);
    options->define_macros = list_texts(link, macros);
    if (graph->headers == NULL || graph->supports == NULL || graph->inits == NULL ||
        options->include_dirs == NULL || options->define_macros == NULL) {
        return NULL;
    }
    if (settings->versions == NULL) {
        return Py_NewRef(Py_None);
    }
    tuple = PyList_AsTuple(settings->versions);
    return tuple == NULL ? NULL : Py_BuildValue("(NO)", tuple, found);
}

void
cwj_settings_clear(cwj_settings *settings)
{
    Py_CLEAR(settings->said);
    Py_CLEAR(settings->compiler);
    Py_CLEAR(settings->compiler_party);
    Py_CLEAR(settings->versions);
}
