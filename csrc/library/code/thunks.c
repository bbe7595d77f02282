/* thunks.c: compiles C text for a library: thunks, and C text that is a callback. libtcc compiles it or, if libtcc's
 * calls would be wrong, the system's compiler. The code, in a capsule, keeps the environment, whose code it calls. */
#include "base/choices.h"
#include "base/compiler.h"
#include "base/config.h"
#include "base/debug/fault.h"
#include "base/errors.h"
#include "base/tuples.h"
#include "base/jobs.h"
#include "library/code/unit.h"

typedef struct {
    cwj_environment *environment; /* owned: must outlive the code */
    tj_unit *unit; /* owned, or NULL */
    tj_lines *lines; /* owned: of a user's text, with debug=True; or NULL */
    tj_job *job; /* owned: the system compiler's code, or NULL */
    const void *const *table; /* inside the job's code */
} library_code;

static const char CODE[] = "cwrapjit.code";
static const char ANCHOR[] = "cwj_anchor"; /* a function in the text, to find its lines by */

/* optimize= */
enum {
    NOW = 1,
    LATER = 2
};

/* All borrowed. */
typedef struct {
    cwj_module_state *state;
    cwj_environment *environment;
    const char *who;
    tj_piece pieces[2]; /* the header and the thunks */
    PyObject *names; /* tuple of str */
    int optimize;
    const char *before, *after; /* our text around the second piece */
    const char *opening; /* of the function whose body the second piece is; "": none */
    int line; /* the opening follows this line of the second piece */
    bool traced; /* faults in it have lines */
    int quiet; /* flag: do not issue warnings */
} thunk_request;

static size_t
behind_lines(const tj_piece *piece, int lines)
{
    const char *at = piece->text, *end = piece->text + piece->length;
    for (; lines > 0 && at < end; lines--) {
        const char *found = memchr(at, '\n', (size_t)(end - at));
        at = found == NULL ? end : found + 1;
    }
    return (size_t)(at - piece->text);
}

/* The opening counts as the user's text, so that what the body returns and assigns to parameters is checked as in any
 * text (stores.h). */
static void
put_user_text(const thunk_request *request, const tj_piece *piece, tj_text *text)
{
    size_t at = behind_lines(piece, request->line);
    tj_text_line(text, 1, piece->file);
    tj_text_add(text, piece->text, at);
    if (*request->opening != '\0') {
        tj_text_line(text, (size_t)request->line, piece->file);
        tj_text_puts(text, request->opening);
        tj_text_puts(text, "\n");
    }
    tj_text_add(text, piece->text + at, piece->length - at);
    tj_text_puts(text, "\n");
}

/* Checks both pieces and joins them. Needs no GIL. */
static tj_status
join_pieces(const thunk_request *request, tj_names *names, tj_text *text, tj_messages *messages,
            tj_error *error)
{
    for (int i = 0; i < 2; i++) {
        const tj_piece *piece = &request->pieces[i];
        if (piece->length == 0) {
            continue;
        }
        if (tj_scan_check(request->environment->tj, piece, true, messages) != TJ_OK) {
            return tj_fail(error, TJ_COMPILE_FAILED, "the C text cannot be compiled");
        }
        if (!tj_names_collect(names, piece->text, piece->length)) {
            return tj_fail(error, TJ_NO_MEMORY, "out of memory");
        }
        if (i == 0) {
            tj_text_line(text, 1, piece->file);
            tj_text_add(text, piece->text, piece->length);
            tj_text_puts(text, "\n");
            continue;
        }
        tj_text_puts(text, request->before);
        put_user_text(request, piece, text);
        tj_text_puts(text, request->after);
        if (request->traced) {
            tj_text_printf(text, "void %s(void) {}\n", ANCHOR);
        }
    }
    return text->failed ? tj_fail(error, TJ_NO_MEMORY, "out of memory") : TJ_OK;
}

/* Raises tinyjit's error, or issues its warnings. Needs the GIL. Returns 0, or -1 with an exception set. */
static int
report(const thunk_request *request, tj_status status, tj_messages *messages, const tj_error *error)
{
    if (status != TJ_OK) {
        for (size_t i = 0; i < 2; i++) {
            tj_messages_locate(messages, &request->pieces[i]);
        }
        cwj_raise(request->who, error, messages);
        return -1;
    }
    return request->quiet ? 0 : cwj_warn(messages);
}

static int
compile_here(const thunk_request *request, library_code *code, const char *text,
             const tj_names *names)
{
    tj_messages messages = {0};
    tj_error error;
    tj_status status;
    if (cwj_config_limit(request->state->config) < 0) {
        return -1;
    }
    tj_error_init(&error);
    Py_BEGIN_ALLOW_THREADS
    status = tj_compile(request->environment->tj, text, names, &code->unit, &messages, &error);
    Py_END_ALLOW_THREADS
    int result = report(request, status, &messages, &error);
    tj_messages_clear(&messages);
    tj_error_clear(&error);
    if (result < 0 || !request->traced) {
        return result;
    }
    const tj_anchor anchors[] = {{ANCHOR, tj_unit_symbol(code->unit, ANCHOR)}, {0}};
    return cwj_guarded_lines(&code->lines, request->environment->tj, text, anchors);
}

/* Runs on the background thread; others read the table under the job's lock. */
static void
take_table(void *context, const void *address)
{
    ((library_code *)context)->table = address;
}

/* A job returns one address, that of a table of all thunks and a final NULL. Text compiled in the background already
 * runs as libtcc's code, so it must not have writable data (keeps_state), of which there would be two copies. */
static int
compile_there(const thunk_request *request, library_code *code, tj_text *text)
{
    const tj_compiler *compiler = cwj_compiler_find(request->state);
    if (compiler == NULL) {
        return PyErr_Occurred()
                   ? -1
                   : cwj_raise_object(cwj_compiler_error(request->state, request->who));
    }
    tj_text_puts(text, "const void *const cwj_thunk_table[] = {\n");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(request->names); i++) {
        const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(request->names, i));
        if (name == NULL) {
            return -1;
        }
        tj_text_printf(text, "    (const void *)%s,\n", name);
    }
    tj_text_puts(text, "    0};\n");
    tj_job_options options = {.compiler = compiler,
                              .keeps_state = request->optimize == NOW,
                              .symbol = "cwj_thunk_table",
                              .ready = take_table,
                              .context = code};
    code->job = text->failed ? NULL : tj_job_new(request->environment->tj, text->data, &options);
    if (code->job == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (request->optimize == LATER) {
        cwj_job_start(request->state, code->job); /* the job keeps the error if it cannot start */
        return 0;
    }
    return cwj_job_run(request->state, code->job, request->who);
}

static int
compile_code(const thunk_request *request, library_code *code)
{
    tj_text text = {0};
    tj_messages messages = {0};
    tj_error error;
    tj_status status = TJ_NO_MEMORY;
    tj_error_init(&error);
    tj_names *names = tj_names_new();
    if (names != NULL) {
        Py_BEGIN_ALLOW_THREADS
        status = join_pieces(request, names, &text, &messages, &error);
        Py_END_ALLOW_THREADS
    } else {
        tj_fail(&error, TJ_NO_MEMORY, "out of memory");
    }
    int result = report(request, status, &messages, &error);
    if (result == 0) {
        result = request->optimize
                     ? compile_there(request, code, &text)
                     : compile_here(request, code, text.data == NULL ? "" : text.data, names);
    }
    tj_names_free(names);
    tj_text_clear(&text);
    tj_messages_clear(&messages);
    tj_error_clear(&error);
    return result;
}

/* A list of the names' addresses, empty if they are compiled later; NULL with an exception set. */
static PyObject *
list_addresses(const thunk_request *request, const library_code *code)
{
    Py_ssize_t count = request->optimize == LATER ? 0 : PyTuple_GET_SIZE(request->names);
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(request->names, i));
        const void *address = name == NULL          ? NULL
                              : code->table != NULL ? code->table[i]
                                                    : tj_unit_symbol(code->unit, name);
        if (name != NULL && address == NULL) {
            cwj_refuse(request->who, PyExc_ValueError, "the text does not define %s", name);
        }
        cwj_list_add(&list, address == NULL ? NULL : PyLong_FromVoidPtr((void *)address));
    }
    return list;
}

static void
code_free(library_code *code)
{
    tj_job_free(code->job);
    tj_lines_free(code->lines);
    tj_unit_free(code->unit);
    cwj_environment_unref(code->environment); /* must outlive its units */
    PyMem_Free(code);
}

static void
end_code(PyObject *capsule)
{
    code_free(PyCapsule_GetPointer(capsule, CODE));
}

/* (owner, addresses), or NULL with an exception set. */
static PyObject *
make_code(const thunk_request *request)
{
    library_code *code = cwj_allocate(1, sizeof(*code));
    if (code == NULL) {
        return NULL;
    }
    code->environment = cwj_environment_ref(request->environment);
    PyObject *capsule =
        compile_code(request, code) < 0 ? NULL : PyCapsule_New(code, CODE, end_code);
    if (capsule == NULL) {
        code_free(code);
        return NULL;
    }
    return Py_BuildValue("(NN)", capsule, list_addresses(request, code));
}

static PyObject *
later_thunks(PyObject *Py_UNUSED(extension), PyObject *owner)
{
    library_code *code = PyCapsule_GetPointer(owner, CODE);
    if (code == NULL || code->job == NULL) {
        return code == NULL ? NULL : PyErr_Format(PyExc_ValueError, "nothing is compiled later");
    }
    tj_job_state state = tj_job_look(code->job);
    if (state == TJ_JOB_FAILED) {
        return cwj_job_warn(code->job) < 0 ? NULL : Py_NewRef(Py_False);
    }
    if (state != TJ_JOB_READY) {
        tj_job_start(code->job); /* again if a fork has lost it; otherwise does nothing */
        Py_RETURN_NONE;
    }
    PyObject *list = PyList_New(0);
    for (const void *const *at = code->table; list != NULL && *at != NULL; at++) {
        cwj_list_add(&list, PyLong_FromVoidPtr((void *)(uintptr_t)*at));
    }
    return list;
}

static int
set_piece(tj_piece *piece, PyObject *file, PyObject *text)
{
    Py_ssize_t length = 0;
    piece->file = file == NULL ? NULL : PyUnicode_AsUTF8(file);
    piece->text = PyUnicode_AsUTF8AndSize(text, &length);
    piece->length = (size_t)length;
    return piece->file == NULL || piece->text == NULL ? -1 : 0;
}

static PyObject *
compile_thunks(PyObject *extension, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"environment", "text",    "names", "optimize", "file", "before",
                               "after",       "opening", "line",  "quiet",    NULL};
    thunk_request request = {
        .state = PyModule_GetState(extension), .before = "", .after = "", .opening = ""};
    PyObject *text, *names, *given = Py_None, *file = NULL, *result = NULL;
    const cwj_library_unit *unit;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&UO|iOsssip:compile_thunks", keywords,
                                     cwj_to_unit, &unit, &text, &names, &request.optimize, &given,
                                     &request.before, &request.after, &request.opening,
                                     &request.line, &request.quiet)) {
        return NULL;
    }
    request.environment = unit->environment;
    request.traced = unit->debug != CWJ_DEBUG_OFF && given != Py_None;
    request.who = PyUnicode_AsUTF8(unit->who);
    request.names = PySequence_Tuple(names);
    file = given != Py_None ? Py_NewRef(given) : PyUnicode_FromFormat("<cwrapjit %U>", unit->name);
    if (request.who != NULL && request.names != NULL &&
        set_piece(&request.pieces[0], unit->environment->header_file, unit->environment->header) ==
            0 &&
        set_piece(&request.pieces[1], file, text) == 0) {
        result = make_code(&request);
    }
    Py_XDECREF(request.names);
    Py_XDECREF(file);
    return result;
}

cwj_environment *
cwj_owner_environment(PyObject *owner)
{
    bool several = owner != NULL && PyTuple_Check(owner) && PyTuple_GET_SIZE(owner) > 0;
    PyObject *code = several ? PyTuple_GET_ITEM(owner, 0) : owner;
    return PyCapsule_IsValid(code, CODE)
               ? ((library_code *)PyCapsule_GetPointer(code, CODE))->environment
               : NULL;
}

/* ---- functions of the extension module --------------------------------------------- */

PyMethodDef cwj_thunk_functions[] = {
    {"compile_thunks", (PyCFunction)(void (*)(void))compile_thunks, METH_VARARGS | METH_KEYWORDS,
     "compile_thunks(environment, text, names, optimize=0, file=None, before='', after='',\n"
     "               opening='', line=0, quiet=False)\n--\n\n"
     "Compile the library's header followed by text: (owner, [addresses of names]). By libtcc,\n"
     "where optimize is 1 by the system's compiler, where it is 2 by that in the background: then\n"
     "there are no addresses yet, but those of later_thunks(owner). A user's text has a file's "
     "name\n"
     "for messages, ours around it, and behind so many of its lines the opening of the function\n"
     "whose body the others are. quiet: nobody hears of warnings."},
    {"later_thunks", later_thunks, METH_O,
     "later_thunks(owner, /)\n--\n\n"
     "[addresses of names] of what compile_thunks() compiles in the background; None as\n"
     "long as it does, False where it has failed."},
    {NULL, NULL, 0, NULL},
};
