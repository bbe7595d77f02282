/* test_optimize.c: tests jobs for the system's compiler, and compilers that misbehave. Needs a C compiler "cc" in
 * PATH. */
#define _GNU_SOURCE 1
#include "program.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- one job --------------------------------------------------------------- */

typedef struct outcome {
    tj_job *job;
    tj_job_state state;
    char *failure;
    const void *address;
    int calls; /* number of calls of ready() */
} outcome;

static void on_ready(void *context, const void *address)
{
    outcome *this = context;
    this->address = address;
    this->calls++;
}

static tj_compiler find(const char *wanted)
{
    tj_compiler compiler;
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_compiler_find(wanted, getenv("PATH"), &compiler, &error) == TJ_OK);
    CHECK_STR(error.text, NULL);
    tj_error_clear(&error);
    return compiler;
}

/* `this` must stay where it is, as ready() writes to it. */
static void start(outcome *this, tj_environment *environment, const char *wanted, const char *text)
{
    tj_compiler compiler = find(wanted);
    *this = (outcome){0};
    tj_job_options options = {
        .compiler = &compiler, .symbol = "f", .ready = on_ready, .context = this};
    this->job = tj_job_new(environment, text, &options);
    tj_compiler_clear(&compiler);
    CHECK(this->job != NULL);
    CHECK(tj_job_look(this->job) == TJ_JOB_NEW);
    CHECK(tj_job_start(this->job) && tj_job_start(this->job));
}

static void finish(outcome *this)
{
    this->state = tj_job_wait(this->job, 300);
    this->failure = tj_job_failure(this->job);
    CHECK(this->calls == (this->state == TJ_JOB_READY));
    CHECK((this->address != NULL) == (this->state == TJ_JOB_READY));
    CHECK((this->failure != NULL) == (this->state == TJ_JOB_FAILED));
}

static void drop(outcome *this)
{
    tj_job_free(this->job);
    tj_free(this->failure);
}

static void run(outcome *this, const char *wanted, const char *text)
{
    start(this, NULL, wanted, text);
    finish(this);
}

typedef int int_of_int(int);

static int call(const outcome *this, int argument)
{
    int_of_int *function;
    memcpy(&function, &this->address, sizeof function);
    CHECK(function != NULL);
    return function ? function(argument) : 0;
}

/* The code writes to its data; the object may have that, as no other tier has a copy. */
static void check_state(const char *wanted, const char *text)
{
    tj_compiler compiler = find(wanted);
    outcome r = {0};
    tj_job_options options = {.compiler = &compiler,
                              .keeps_state = true,
                              .symbol = "f",
                              .ready = on_ready,
                              .context = &r};
    r.job = tj_job_new(NULL, text, &options);
    tj_compiler_clear(&compiler);
    CHECK(r.job != NULL);
    finish(&r);
    CHECK_STR(r.failure, NULL);
    if (r.address) {
        CHECK(call(&r, 3) == 7);
        CHECK(call(&r, 5) == 12);
    }
    drop(&r);
}

static void check_failure(const char *wanted, const char *text, const char *part)
{
    outcome r;
    run(&r, wanted, text);
    CHECK(r.state == TJ_JOB_FAILED);
    CHECK_HAS(r.failure, part);
    char *last = tj_optimizer_last_failure();
    CHECK_STR(last, r.failure);
    tj_free(last);
    drop(&r);
}

#define PLAIN "int f(int x) { return x + 1; }"

/* ---- nothing is left over ----------------------------------------------------- */

static void check_no_children(void)
{
    errno = 0;
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

/* ---- a fake compiler ------------------------------------------------------------ */

/* Writes a shell script and returns its path. */
static const char *script(const char *name, const char *body)
{
    char text[4096];
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", body);
    const char *path = write_file(name, text);
    chmod(path, 0755);
    return path;
}

/* ---- finding -------------------------------------------------------------------- */

static void check_not_found(const char *wanted, const char *path, const char *part)
{
    tj_compiler compiler;
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_compiler_find(wanted, path, &compiler, &error) == TJ_NO_BACKEND);
    CHECK(compiler.words == NULL);
    CHECK_HAS(error.text, part);
    tj_error_clear(&error);
    tj_compiler_clear(&compiler);
}

static void test_find(void)
{
    check_not_found(NULL, "/nonexistent:relative::", "none of cc, gcc, clang");
    check_not_found(NULL, NULL, "none of cc, gcc, clang");
    check_not_found("no-such-compiler -O1", getenv("PATH"), "'no-such-compiler' is not a program");
    check_not_found("/tmp", getenv("PATH"), "'/tmp' is not a program");
    check_not_found("", getenv("PATH"), "empty");
    check_not_found(" \t ", getenv("PATH"), "empty");
    check_not_found("'' x", getenv("PATH"), "empty");
    check_not_found("cc 'x", getenv("PATH"), "quote");
    check_not_found("\"cc", getenv("PATH"), "quote");

    tj_compiler compiler = find("  cc '-DA=\"b c\"' -D\"x y\"=1 ''\n");
    CHECK(compiler.words && compiler.words[0][0] == '/');
    CHECK_STR(compiler.words[1], "-DA=\"b c\"");
    CHECK_STR(compiler.words[2], "-Dx y=1");
    CHECK_STR(compiler.words[3], "");
    CHECK_STR(compiler.words[4], NULL);
    tj_compiler_clear(&compiler);
    compiler = find(NULL);
    CHECK(compiler.words && compiler.words[0][0] == '/' && !compiler.words[1]);
    tj_compiler_clear(&compiler);
    tj_compiler_clear(NULL);
}

/* ---- correct texts ---------------------------------------------------------------- */

static void test_plain(void)
{
    outcome r;
    run(&r, NULL, PLAIN);
    CHECK_STR(r.failure, NULL);
    CHECK(r.state == TJ_JOB_READY && call(&r, 41) == 42);
    CHECK(tj_job_wait(r.job, 0) == TJ_JOB_READY && r.calls == 1);
    drop(&r);
    tj_job_free(NULL);
    check_no_children();
}

/* The text has constants and tables of addresses, and calls libm and the embedding program. */
static int offered(int x)
{
    return 3 * x;
}

static void test_environment(void)
{
    static const tj_symbol symbols[] = {{"offered", (const void *)offered, true}};
    const char *const macros[] = {"TEN=10", "FLAG", "TEXT=\"a b\"", NULL};
    tj_environment_options options = {.define_macros = macros, .symbols = symbols, .nsymbols = 1};
    tj_environment *environment = new_environment(&options);
    outcome r;
    start(&r, environment, NULL,
          "int offered(int);\n"
          "static const char *const words[] = {\"zero\", \"one\", \"two\"};\n"
          "int f(int x) { return offered(x) + TEN + FLAG + (int)strlen(words[x % 3]) +\n"
          "  (int)(1000 * sin((double)x)) + (int)sizeof TEXT; }");
    tj_environment_free(environment); /* the job holds a reference */
    finish(&r);
    CHECK_STR(r.failure, NULL);
    CHECK(r.state == TJ_JOB_READY && call(&r, 1) == 3 + 10 + 1 + 3 + 841 + 4);
    drop(&r);
}

/* ---- bad texts ---------------------------------------------------------------------- */

static void test_states(void)
{
    check_state(NULL, "int n = 4; int f(int x) { return n += x; }");
    check_state(NULL, "int n; int f(int x) { if (!n) n = 4; return n += x; }");
    check_state(NULL, "int f(int x) { static int n = 4; return n += x; }");
    check_state(NULL,
                "static int n = 4, *at[2] = {&n, &n}; int f(int x) { return *at[x & 1] += x; }");
    check_state("cc -O0", "static char rest[5000]; static int n = 4;\n"
                          "int f(int x) { rest[x] = 1; return n += x; }");
}

static void test_bad_texts(void)
{
    check_failure(NULL, "int f(int x) { return y; }", "'y' undeclared");
    check_failure(NULL, "int g(int x) { return x; }", "does not define 'f'");
    check_failure(NULL, "int nobody(int); int f(int x) { return nobody(x); }", "'nobody'");
    check_failure(NULL, "int n; int f(int x) { return n += x; }", "may write");
    check_failure(NULL, "int n = 4; int f(int x) { return n += x; }", "may write");
    check_failure(NULL, "int f(int x) { static int n; return n += x; }", "may write");
    check_failure(NULL, "int f(int x) { static _Thread_local int n; return n += x; }", "may write");
    check_failure("cc -fcommon", "int n; int f(int x) { return n += x; }", "cannot be taken");
    check_failure(NULL,
                  "__attribute__((constructor)) static void g(void) { srand(1); }\n"
                  "int f(int x) { return x; }",
                  "when it is loaded");
    check_failure(NULL,
                  "static const char t[256] __attribute__((aligned(4096))) = {1};\n"
                  "const char *f(int x) { return t + x; }",
                  "64 bytes");
    check_no_children();
}

/* ---- bad compilers -------------------------------------------------------------------- */

static void test_bad_compilers(void)
{
    check_failure(script("fails", "echo first >&2; echo second >&2; exit 3"), PLAIN,
                  "status 3: first\nsecond");
    check_failure(script("silent", "exit 0"), PLAIN, "wrote no object");
    check_failure(script("garbage", "yes garbage | head -c 5000 | tee /proc/self/fd/3; exit 0"),
                  PLAIN, "no ELF file");
    check_failure(script("binary", "printf '\\001\\377\\033[31m' >&2; exit 1"), PLAIN,
                  "status 1: ???[31m");
    check_failure(script("killed", "kill -9 $$"), PLAIN, "signal 9");
    check_failure(script("shared", "exec cc -shared -nostdlib -fPIC -xc - -o /proc/self/fd/3"),
                  PLAIN, "not relocatable");
    check_failure(script("cut", "cc -c \"$@\" && head -c 900 /proc/self/fd/3 > $0.o;"
                                "cat $0.o > /proc/self/fd/3; rm -f $0.o"),
                  PLAIN, "cannot be taken");
    check_failure(script("loud", "exec yes too much >&2"), PLAIN, "writes too much");
    const char *empty = write_file("empty", "");
    chmod(empty, 0755);
    check_failure(empty, PLAIN, "");
    check_no_children();
}

/* Processes of zig know only standard output; what gcc prints there is dropped. */
static void test_standard_output(void)
{
    outcome r;
    run(&r,
        script("zig", "test \"$*\" != \"${*% -o -}\" &&"
                      "exec cc -c -O1 -fPIC -xc - -o /proc/self/fd/1"),
        PLAIN);
    CHECK_STR(r.failure, NULL);
    CHECK(r.state == TJ_JOB_READY && call(&r, 1) == 2);
    drop(&r);
    run(&r, script("prints", "echo printed; exec cc \"$@\""), PLAIN);
    CHECK(r.state == TJ_JOB_READY && call(&r, 1) == 2);
    drop(&r);
}

/* Processes that the compiler left behind must be gone, too. */
static void test_hanging(void)
{
    tj_optimizer_set_limits(1, 0.2);
    check_failure(script("hangs", "sleep 100 & sleep 100"), PLAIN, "took too long");
    check_failure(script("stubborn", "trap '' TERM INT HUP; while :; do sleep 1; done"), PLAIN,
                  "took too long");
    tj_optimizer_set_limits(1, 0);
    check_no_children();
}

/* The process must have its own files, no other ones, and no blocked signal. */
static void test_surroundings(void)
{
    int open_one = dup2(1, 77); /* exec does not close it */
    sigset_t blocked, old;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &blocked, &old);
    signal(SIGINT, SIG_IGN);
    check_failure(script("tells",
                         "test -e /proc/$$/fd/3 && ! test -e /proc/$$/fd/77 && echo closed >&2\n"
                         "while read -r name mask; do case $name in Sig[BI][lg]?:)\n"
                         "echo $name ${mask#?????????} >&2;; esac; done </proc/$$/status\n"
                         "exit 1"),
                  PLAIN, "SigBlk: 0000000\nSigIgn: 0000000");
    char *failure = tj_optimizer_last_failure();
    CHECK_HAS(failure, "status 1: closed");
    tj_free(failure);
    signal(SIGINT, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    close(open_one);
}

/* ---- the embedding program's children ------------------------------------------------- */

static void test_ignored_children(void)
{
    outcome r;
    signal(SIGCHLD, SIG_IGN);
    run(&r, NULL, PLAIN);
    CHECK(r.state == TJ_JOB_READY && call(&r, 1) == 2);
    drop(&r);
    check_failure(script("fails", "exit 1"), PLAIN, "wrote no object");
    signal(SIGCHLD, SIG_DFL);
}

static bool waiting = true;

static void *wait_for_all(void *nothing)
{
    while (__atomic_load_n(&waiting, __ATOMIC_ACQUIRE))
        waitpid(-1, NULL, WNOHANG);
    return nothing;
}

static void test_stolen_children(void)
{
    pthread_t thief;
    CHECK(pthread_create(&thief, NULL, wait_for_all, NULL) == 0);
    for (int i = 0; i < 3; i++) {
        outcome r;
        run(&r, NULL, PLAIN);
        CHECK(r.state == TJ_JOB_READY && call(&r, i) == i + 1);
        drop(&r);
    }
    __atomic_store_n(&waiting, false, __ATOMIC_RELEASE);
    pthread_join(thief, NULL);
}

/* ---- giving up, many jobs ---------------------------------------------------------------- */

static void nap(double seconds)
{
    nanosleep(&(struct timespec){(time_t)seconds, (long)((seconds - (int)seconds) * 1e9)}, NULL);
}

static void test_give_up(void)
{
    outcome running, queued, last;
    start(&running, NULL, script("slow", "exec sleep 100"), PLAIN);
    start(&queued, NULL, NULL, PLAIN);
    start(&last, NULL, NULL, "int f(int x) { return x + 2; }");
    nap(0.05);
    CHECK(tj_job_look(running.job) == TJ_JOB_STARTED);
    CHECK(tj_job_wait(running.job, 0.01) == TJ_JOB_STARTED);
    tj_job_free(queued.job);
    tj_job_free(running.job);
    finish(&last);
    CHECK(call(&last, 1) == 3);
    drop(&last);
    CHECK(running.calls == 0 && queued.calls == 0);
    check_no_children();
}

static void test_many(void)
{
    enum {
        COUNT = 12
    };
    static outcome all[COUNT];
    tj_optimizer_set_limits(3, 300);
    for (int i = 0; i < COUNT; i++) {
        char text[64];
        snprintf(text, sizeof text, "int f(int x) { return x * %d; }", i);
        start(&all[i], NULL, i % 4 == 3 ? script("fails", "exit 1") : NULL, text);
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        if (i % 5 == 4) {
            tj_job_free(all[i].job);
            continue;
        }
        finish(&all[i]);
        CHECK(all[i].state == (i % 4 == 3 ? TJ_JOB_FAILED : TJ_JOB_READY));
        if (all[i].state == TJ_JOB_READY)
            CHECK(call(&all[i], 7) == 7 * i);
        drop(&all[i]);
    }
    tj_optimizer_set_limits(1, 0);
}

/* ---- fork ------------------------------------------------------------------------------ */

/* Runs check in a forked child, which must end by itself. */
static void in_child(void (*check)(outcome *), outcome *argument)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(300);
        check_failures = 0;
        check(argument);
        _exit(check_failures != 0);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void use_in_child(outcome *jobs)
{
    CHECK(tj_job_look(jobs[0].job) == TJ_JOB_NEW); /* the script would hang again */
    CHECK(tj_job_look(jobs[1].job) == TJ_JOB_NEW);
    CHECK(tj_job_wait(jobs[1].job, 300) == TJ_JOB_READY);
    CHECK(jobs[1].calls == 1 && call(&jobs[1], 4) == 6);
    tj_job_free(jobs[1].job);
    tj_job_free(jobs[0].job);
    outcome own;
    run(&own, NULL, PLAIN);
    CHECK(own.state == TJ_JOB_READY && call(&own, 1) == 2);
    drop(&own);
    tj_optimizer_stop();
    check_no_children();
}

static void test_fork(void)
{
    const char *sanitizer = getenv("CWRAPJIT_SANITIZED");
    if (sanitizer && !strcmp(sanitizer, "thread")) /* it allows no threads in a forked child */
        return;
    outcome jobs[2];
    start(&jobs[0], NULL, script("slow", "exec sleep 100"), PLAIN);
    start(&jobs[1], NULL, NULL, "int f(int x) { return x + 2; }");
    nap(0.05);
    in_child(use_in_child, jobs);
    CHECK(tj_job_look(jobs[0].job) == TJ_JOB_STARTED && jobs[1].calls == 0);
    tj_job_free(jobs[0].job);
    finish(&jobs[1]);
    CHECK(call(&jobs[1], 5) == 7);
    drop(&jobs[1]);
}

/* ---- without memory ----------------------------------------------------------------------- */

/* The script copies a finished object, so that each round is fast. */
static void test_no_memory(void)
{
    char command[8192];
    const char *kept = path_of("kept.o");
    snprintf(command, sizeof command, "cc \"$@\" 3>%s; cat %s >&3", kept, kept);
    outcome first;
    run(&first, script("keeps", command), PLAIN);
    CHECK(first.state == TJ_JOB_READY);
    drop(&first);
    snprintf(command, sizeof command, "cat %s >&3", kept);
    const char *quick = script("quick", command);
    bool done = false;
    for (long k = 0; k < 2000 && !done; k++) {
        tj_compiler compiler;
        tj_error error;
        tj_error_init(&error);
        outcome r = {0};
        tj_job_options options = {.symbol = "f", .ready = on_ready, .context = &r};
        allow(k);
        tj_status status = tj_compiler_find(quick, NULL, &compiler, &error);
        if (!status) {
            options.compiler = &compiler;
            r.job = tj_job_new(NULL, PLAIN, &options);
            done = r.job && tj_job_wait(r.job, 300) == TJ_JOB_READY;
            CHECK(!r.job || done || tj_job_look(r.job) == TJ_JOB_FAILED);
            tj_job_free(r.job);
        }
        CHECK(!status || status == TJ_NO_MEMORY);
        tj_compiler_clear(&compiler);
        tj_error_clear(&error);
        tj_set_allocator(NULL);
        CHECK(r.calls == done);
    }
    CHECK(done);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void test_stop(void)
{
    outcome running, queued, late;
    start(&running, NULL, script("slow", "exec sleep 100"), PLAIN);
    start(&queued, NULL, NULL, PLAIN);
    nap(0.03);
    tj_optimizer_stop();
    finish(&running);
    finish(&queued);
    CHECK_STR(running.failure, "stopping");
    CHECK_STR(queued.failure, "stopping");
    check_no_children();
    tj_compiler compiler = find(NULL);
    late = (outcome){0};
    late.job = tj_job_new(NULL, PLAIN, &(tj_job_options){.compiler = &compiler, .symbol = "f"});
    tj_compiler_clear(&compiler);
    CHECK(!tj_job_start(late.job));
    CHECK(tj_job_wait(late.job, -1) == TJ_JOB_FAILED);
    late.failure = tj_job_failure(late.job);
    CHECK_STR(late.failure, "stopping");
    drop(&late);
    drop(&running);
    drop(&queued);
    tj_optimizer_stop();
}

int main(void)
{
    open_backend();
    int files = 0;
    RUN(test_find);
    RUN(test_plain);
    files = count_files("/proc/self/fd");
    RUN(test_environment);
    RUN(test_states);
    RUN(test_bad_texts);
    RUN(test_bad_compilers);
    RUN(test_standard_output);
    RUN(test_hanging);
    RUN(test_surroundings);
    RUN(test_ignored_children);
    RUN(test_stolen_children);
    RUN(test_give_up);
    RUN(test_many);
    RUN(test_fork);
    RUN(test_no_memory);
    CHECK(count_files("/proc/self/fd") == files);
    RUN(test_stop);
    return check_report();
}
