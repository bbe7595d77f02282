/* process.c: implements os/process.h. The process leads its own process group, and ends with it. */
#define _GNU_SOURCE 1 /* environ, ppoll, SCHED_BATCH */
#include "os/process.h"

#include "os/clock.h"
#include "os/system.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LAST_FD = 3 /* of the descriptors that the process gets */
};

/* ---- starting --------------------------------------------------------------- */

/* Closes the descriptors that are open now, if libc cannot close all. */
static int close_listed(posix_spawn_file_actions_t *actions)
{
    DIR *dir = opendir("/proc/self/fd");
    int failed = dir ? 0 : errno;
    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry && !failed; entry = readdir(dir)) {
        int each = atoi(entry->d_name), flags = fcntl(each, F_GETFD);
        if (each > LAST_FD && flags >= 0 && !(flags & FD_CLOEXEC))
            failed = posix_spawn_file_actions_addclose(actions, each);
    }
    if (dir)
        closedir(dir);
    return failed;
}

/* Closes the embedding program's descriptors, since exec may not close all of them. */
static int close_others(posix_spawn_file_actions_t *actions)
{
    /* exists since glibc 2.34 */
    int (*close_from)(posix_spawn_file_actions_t *, int);
    void *address = dlsym(RTLD_DEFAULT, "posix_spawn_file_actions_addclosefrom_np");
    memcpy(&close_from, &address, sizeof close_from);
    return close_from ? close_from(actions, LAST_FD + 1) : close_listed(actions);
}

static int set_actions(posix_spawn_file_actions_t *actions, const tj_pipework *files)
{
    int failed = posix_spawn_file_actions_adddup2(actions, files->text, 0);
    if (!failed)
        failed = posix_spawn_file_actions_addopen(actions, 1, TJ_NULL_FILE, O_WRONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(actions, files->said, 2);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(actions, files->object, files->number);
    return failed ? failed : close_others(actions);
}

static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int failed = posix_spawnattr_setpgroup(attributes, 0);
    if (!failed)
        failed = posix_spawnattr_setsigmask(attributes, &none);
    if (!failed)
        failed = posix_spawnattr_setsigdefault(attributes, &all);
    if (!failed)
        failed = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return failed;
}

static int spawn(char *const *words, char *const *variables, const tj_pipework *files, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (!failed) {
        failed = set_actions(&actions, files);
        if (!failed)
            failed = set_attributes(&attributes);
        if (!failed)
            failed = posix_spawn(pid, words[0], &actions, &attributes, words, variables);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* Returns a descriptor that reports the end of the process; -1: not supported (Linux before 5.3). */
static int open_process(pid_t pid)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    (void)pid;
    return -1;
#endif
}

int tj_process_start(tj_process *process, char *const *words, char *const *variables,
                     const tj_pipework *files)
{
    pid_t pid;
    int failed = spawn(words, variables, files, &pid);
    if (!failed)
        *process = (tj_process){pid, open_process(pid), tj_clock_ns()};
    return failed;
}

/* ---- waiting ---------------------------------------------------------------- */

double tj_process_age(const tj_process *process)
{
    return (double)(tj_clock_ns() - process->begin) * 1e-9;
}

void tj_process_nap(const tj_process *process, double seconds)
{
    struct timespec most = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    ppoll(&(struct pollfd){.fd = process->watch, .events = POLLIN}, process->watch >= 0, &most,
          NULL);
}

/* Looks without waiting. A process that has ended stays a zombie, so its number and its group's cannot be reused. */
tj_process_state tj_process_look(const tj_process *process)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)process->id, &info, WEXITED | WNOHANG | WNOWAIT))
        return errno == EINTR ? TJ_PROCESS_RUNS : TJ_PROCESS_UNKNOWN;
    return info.si_pid == (pid_t)process->id ? TJ_PROCESS_ENDED : TJ_PROCESS_RUNS;
}

/* ---- the end ------------------------------------------------------------------ */

/* Ends the rest of the group. Returns the status, or -1 if it is unknown. */
static int end_group(pid_t pid)
{
    int status;
    kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

tj_process_end tj_process_finish(tj_process *process, tj_process_state state)
{
    if (process->watch >= 0)
        close(process->watch);
    process->watch = -1;
    int status = state == TJ_PROCESS_UNKNOWN ? -1 : end_group((pid_t)process->id);
    if (status == -1)
        return (tj_process_end){0};
    return WIFSIGNALED(status) ? (tj_process_end){.signal = WTERMSIG(status)}
                               : (tj_process_end){.status = WEXITSTATUS(status)};
}

/* ---- priority and environment ----------------------------------------------- */

void tj_process_stand_back(void)
{
    sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
}

const char *tj_process_path(int number)
{
    return number == 2 ? "/proc/self/fd/2" : "/proc/self/fd/3";
}

char **tj_process_variables(void)
{
    return environ;
}
