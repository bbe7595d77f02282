/* test_process.c: tests the promises of os/process.h, with libc's way to start a process, and with the one for a libc
 * that cannot close all descriptors (glibc before 2.34). */
#define _GNU_SOURCE 1
#include "check.h"

#include "os/anonymous_file.h"
#include "os/process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* rows X04 */

/* The same text again, for a libc in which dlsym() finds nothing. */
#define dlsym(handle, name) ((void)(handle), (void)(name), NULL)
#define tj_process_start start_by_list
#define tj_process_age age_again
#define tj_process_nap nap_again
#define tj_process_look look_again
#define tj_process_finish finish_again
#define tj_process_stand_back stand_back_again
#define tj_process_path path_again
#define tj_process_variables variables_again
#include "os/linux/process.c"
#undef tj_process_start
#undef tj_process_nap
#undef tj_process_look
#undef tj_process_finish

typedef int starter(tj_process *, char *const *, char *const *, const tj_pipework *);

/* Runs a shell script. Returns how it ended, and stores its output in `said`. */
static tj_process_end run(starter *start, const char *script, char *said, size_t size)
{
    tj_pipework files = {tj_file_new("text"), tj_file_new("object"), tj_file_new("said"), 3};
    char *words[] = {"/bin/sh", "-c", (char *)script, NULL};
    tj_process process;
    tj_process_end end = {0};
    CHECK(files.text >= 10 && files.object >= 10 && files.said >= 10);
    CHECK(tj_file_write(files.text, "a line\n", 7));
    int failed = start(&process, words, NULL, &files);
    CHECK(failed == 0);
    if (!failed) {
        tj_process_state state;
        while ((state = tj_process_look(&process)) == TJ_PROCESS_RUNS)
            tj_process_nap(&process, 0.01);
        end = tj_process_finish(&process, state);
    }
    said[tj_file_read(files.said, 0, said, size - 1)] = '\0';
    tj_file_close(files.text);
    tj_file_close(files.object);
    tj_file_close(files.said);
    return end;
}

static void check_files(starter *start)
{
    char said[200] = "";
    int inherited = dup2(1, 77), kept = fcntl(1, F_DUPFD_CLOEXEC, 78);
    CHECK(inherited == 77 && kept >= 78);
    tj_process_end end = run(start, "read line; echo \"$line\" >&2; cd /proc/$$/fd && echo * >&2",
                             said, sizeof said);
    CHECK(end.status == 0 && end.signal == 0);
    CHECK_STR(said, "a line\n0 1 2 3 4\n"); /* 4 is the folder that the shell reads */
    close(inherited);
    close(kept);
}

static void test_files(void)
{
    check_files(tj_process_start);
    check_files(start_by_list);
}

static void test_ends(void)
{
    char said[20];
    CHECK(run(tj_process_start, "exit 7", said, sizeof said).status == 7);
    CHECK(run(tj_process_start, "kill -9 $$", said, sizeof said).signal == SIGKILL);
    tj_pipework files = {-1, -1, -1, 3};
    tj_process process;
    CHECK(tj_process_start(&process, (char *[]){"/bin/sh", NULL}, NULL, &files) != 0);
}

int main(void)
{
    RUN(test_files);
    RUN(test_ends);
    return check_report();
}
