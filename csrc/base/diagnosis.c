/* diagnosis.c: checks C text with the system's compiler (diagnosis.h).
 *
 * A check is a job that makes no code. Each text has its own job, because a compiler stops at an error. */
#include "base/diagnosis.h"

#include "base/compiler.h"
#include "base/config.h"
#include "base/errors.h"
#include "base/jobs.h"

/* ---- lists of jobs --------------------------------------------------------- */

static void
free_jobs(tj_job **jobs, int count)
{
    for (int i = 0; i < count; i++) {
        tj_job_free(jobs[i]);
    }
    PyMem_Free(jobs);
}

/* Creates jobs: for text (NULL: none), and for each source of environment. Returns 0, or -1 with MemoryError. */
static int
make_jobs(tj_job ***jobs, int *count, tj_environment *environment, const char *text,
          tj_job_options options)
{
    const char *const *sources = tj_environment_sources(environment);
    const char *texts[] = {text, tj_environment_text(environment)};
    size_t wanted = (texts[0] != NULL) + (texts[1] != NULL), of_text = wanted;
    for (const char *const *path = sources; *path != NULL; path++) {
        wanted++;
    }
    tj_job **list = cwj_allocate(wanted + 1, sizeof(*list));
    if (list == NULL) {
        return -1;
    }
    for (size_t i = 0; i < wanted; i++) {
        const char *next = i >= of_text ? "" : texts[i == 0 && texts[0] == NULL ? 1 : i];
        options.file = i < of_text ? NULL : *sources++;
        list[i] = tj_job_new(environment, next, &options);
        if (list[i] == NULL) {
            free_jobs(list, (int)i);
            PyErr_NoMemory();
            return -1;
        }
    }
    *jobs = list;
    *count = (int)wanted;
    return 0;
}

/* Appends the header if it is the environment's own. Returns 0, or -1 with an exception set. */
static int
own_header(const cwj_environment *environment, tj_text *text)
{
    if (environment->header_file == NULL || PyUnicode_GET_LENGTH(environment->header) == 0) {
        return 0;
    }
    const char *file = PyUnicode_AsUTF8(environment->header_file);
    const char *header = PyUnicode_AsUTF8(environment->header);
    if (file == NULL || header == NULL) {
        return -1;
    }
    tj_text_puts(text, "#line 1 ");
    tj_text_quote(text, file, strlen(file));
    tj_text_printf(text, "\n%s\n", header);
    if (text->failed) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

/* ---- diagnose() ---------------------------------------------------------------- */

/* Runs one job to its end. */
static int
take_job(PyObject *list, cwj_module_state *state, tj_job *job, const char *who)
{
    tj_messages messages = {0};
    int status = -1;
    int good = cwj_job_finish(state, job);
    if (good < 0) {
        return -1;
    }
    if (!tj_job_messages(job, &messages)) {
        PyErr_NoMemory();
    } else if (good || tj_messages_have_error(&messages)) {
        PyObject *warnings = cwj_compile_warnings(&messages);
        Py_ssize_t end = PyList_GET_SIZE(list);
        status = warnings == NULL ? -1 : PyList_SetSlice(list, end, end, warnings);
        Py_XDECREF(warnings);
    } else {
        cwj_job_raise(job, who);
    }
    tj_messages_clear(&messages);
    return status;
}

PyObject *
cwj_diagnose(cwj_module_state *state, const tj_compiler *compiler, tj_environment *environment,
             const char *text, const char *who)
{
    tj_job_options options = {.kind = TJ_JOB_CHECK,
                              .compiler = compiler != NULL ? compiler : cwj_compiler_find(state)};
    tj_job **jobs;
    int count;
    if (options.compiler == NULL) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    if (make_jobs(&jobs, &count, environment, text, options) < 0) {
        return NULL;
    }
    PyObject *list = PyList_New(0);
    for (int i = 0; i < count && list != NULL; i++) {
        if (take_job(list, state, jobs[i], who) < 0) {
            Py_CLEAR(list);
        }
    }
    free_jobs(jobs, count);
    return list;
}

PyObject *
cwj_diagnose_own(cwj_module_state *state, const cwj_environment *environment, const char *who)
{
    tj_text header = {0};
    PyObject *list = NULL;
    if (own_header(environment, &header) == 0) {
        list = cwj_diagnose(state, NULL, environment->tj, header.data, who);
    }
    tj_text_clear(&header);
    return list;
}

/* ---- in the background ------------------------------------------------------------ */

bool
cwj_diagnosis_apply(const cwj_environment *environment)
{
    return *tj_environment_sources(environment->tj) != NULL ||
           tj_environment_text(environment->tj) != NULL ||
           (environment->header_file != NULL && PyUnicode_GET_LENGTH(environment->header) > 0);
}

/* Does nothing without a compiler or text. Returns 0, or -1 with an exception set. */
static int
begin(cwj_module_state *state, cwj_environment *environment)
{
    tj_text header = {0};
    tj_job_options options = {.kind = TJ_JOB_SYNTAX};
    int optimize = cwj_config_number(state->config, CWJ_SETTING_OPTIMIZE);
    if (optimize >= 0 && optimize != CWJ_OPTIMIZE_OFF) {
        options.compiler = cwj_compiler_find(state);
    }
    if (options.compiler != NULL && environment->checks == NULL &&
        own_header(environment, &header) == 0 &&
        make_jobs(&environment->checks, &environment->nchecks, environment->tj, header.data,
                  options) == 0) {
        for (int i = 0; i < environment->nchecks; i++) {
            cwj_job_start(state, environment->checks[i]);
        }
    }
    tj_text_clear(&header);
    cwj_clear_expected(PyExc_ValueError, NULL); /* invalid environment variables */
    return PyErr_Occurred() ? -1 : 0;
}

static int
begin_once(cwj_module_state *state, cwj_environment *environment)
{
    int status = 0;
    if (!environment->checks_begun) {
        environment->checks_begun = true; /* set this before Python code may run */
        status = begin(state, environment);
    }
    if (status < 0) {
        environment->checks_begun = environment->checks != NULL; /* nothing started: try again */
    }
    return status;
}

int
cwj_diagnosis_look(cwj_module_state *state, cwj_environment *environment)
{
    if (begin_once(state, environment) < 0) {
        return -1;
    }
    for (int i = 0; i < environment->nchecks; i++) {
        tj_job *job = environment->checks[i];
        tj_job_state job_state = tj_job_look(job);
        bool ended = job_state == TJ_JOB_READY || job_state == TJ_JOB_FAILED;
        if (!ended && tj_job_start(job)) { /* again, if a fork has lost it */
            return 1;
        }
    }
    if (environment->checks_told) {
        return 0;
    }
    environment->checks_told = true;
    int status = 0;
    for (int i = 0; i < environment->nchecks && status == 0; i++) {
        status = cwj_job_warn(environment->checks[i]);
    }
    return status;
}

int
cwj_diagnosis_wait(cwj_module_state *state, cwj_environment *environment, double seconds)
{
    int status = begin_once(state, environment);
    for (int i = 0; i < environment->nchecks && status >= 0; i++) {
        status = cwj_job_wait(environment->checks[i], seconds);
    }
    return status < 0 ? -1 : 0;
}

PyObject *
cwj_diagnosis_error(cwj_module_state *state, cwj_environment *environment, const char *who)
{
    int optimize = cwj_config_number(state->config, CWJ_SETTING_OPTIMIZE);
    if (optimize < 0) {
        return NULL;
    }
    if (!cwj_diagnosis_apply(environment) || optimize == CWJ_OPTIMIZE_OFF) {
        Py_RETURN_NONE;
    }
    for (int i = 0; i < environment->nchecks; i++) {
        PyObject *error = cwj_job_error(environment->checks[i], who);
        if (error != Py_None) {
            return error;
        }
        Py_DECREF(error);
    }
    return environment->nchecks > 0 ? Py_NewRef(Py_None) : cwj_compiler_error(state, who);
}

void
cwj_diagnosis_clear(cwj_environment *environment)
{
    free_jobs(environment->checks, environment->nchecks);
    environment->checks = NULL;
    environment->nchecks = 0;
}
