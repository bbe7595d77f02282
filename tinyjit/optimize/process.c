/* process.c: a compiler as a process that reads, writes and leaves no file.
 *
 * Its text comes from a file in memory as standard input, its object goes to
 * another one, what it says to a third. The process leads a group of its own,
 * and the group is ended with it, so that nothing it started is left over. It
 * gets no descriptor but those, no blocked and no ignored signal.
 *
 * The embedding program may ignore SIGCHLD or wait for any child; then nobody
 * can tell how the process ended, and the object decides.
 */
#define _GNU_SOURCE 1 /* memfd_create */
#include "internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LAST_FD = 3,             /* of those that the process gets */
    FIRST_FD = 10,           /* above those that the process gets */
    MOST_SAID = 16 << 20,    /* bytes of standard error */
    MOST_OBJECT = 256 << 20, /* bytes of an object */
    MOST_TOLD = 2000,        /* bytes of a failure's text */
    MOST_LINES = 6
};

/* ---- files in memory -------------------------------------------------------- */

static int make_file(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || fd >= FIRST_FD)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
    close(fd);
    return moved;
}

static bool write_all(int fd, const char *bytes, size_t length)
{
    while (length) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0) {
            bytes += written;
            length -= (size_t)written;
        }
    }
    return lseek(fd, 0, SEEK_SET) == 0;
}

tj_status tj_pipework_open(tj_pipework *files, const char *text, size_t length, tj_error *error)
{
    *files = (tj_pipework){-1, -1, -1, LAST_FD};
    files->text = make_file("cwrapjit-text");
    files->object = make_file("cwrapjit-object");
    files->said = make_file("cwrapjit-messages");
    if (files->text >= 0 && files->object >= 0 && files->said >= 0 &&
        write_all(files->text, text, length))
        return TJ_OK;
    tj_status status =
        tj_fail(error, TJ_NO_BACKEND, "no file in memory for the compiler: %s", strerror(errno));
    tj_pipework_close(files);
    return status;
}

void tj_pipework_close(tj_pipework *files)
{
    int fds[] = {files->text, files->object, files->said};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    *files = (tj_pipework){-1, -1, -1, LAST_FD};
}

/* ---- starting --------------------------------------------------------------- */

/* The embedding program may have descriptors that are not closed by exec. */
static int close_others(posix_spawn_file_actions_t *actions)
{
    /* glibc 2.34 has it; the function does not hinder older ones. */
    int (*close_from)(posix_spawn_file_actions_t *, int);
    void *address = dlsym(RTLD_DEFAULT, "posix_spawn_file_actions_addclosefrom_np");
    memcpy(&close_from, &address, sizeof close_from);
    return close_from ? close_from(actions, LAST_FD + 1) : 0;
}

static int set_actions(posix_spawn_file_actions_t *actions, const tj_pipework *files)
{
    int failed = posix_spawn_file_actions_adddup2(actions, files->text, 0);
    if (!failed)
        failed = posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
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

/* Returns an errno value. */
static int start(char *const *words, char *const *variables, const tj_pipework *files, pid_t *pid)
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

/* ---- waiting ---------------------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static off_t file_size(int fd)
{
    struct stat about;
    return fstat(fd, &about) ? 0 : about.st_size;
}

typedef enum fate {
    RUNS,
    ENDED,  /* a zombie still: its number and its group's cannot become another's */
    UNKNOWN /* somebody else waited for it */
} fate;

static fate look(pid_t pid)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT))
        return errno == EINTR ? RUNS : UNKNOWN;
    return info.si_pid == pid ? ENDED : RUNS;
}

/* Ends what is left of the group. Returns the status, or -1: nobody knows. */
static int end_group(pid_t pid)
{
    int status;
    kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

/* Why the process must end now, or NULL. */
static const char *find_reason(const tj_pipework *files, double waited, double seconds,
                               bool (*given_up)(void *context), void *context)
{
    if (given_up(context))
        return "it was given up";
    if (waited > seconds)
        return "it took too long";
    if (file_size(files->said) > MOST_SAID || file_size(files->object) > MOST_OBJECT)
        return "it writes too much";
    return NULL;
}

/* A descriptor that tells when the process ends; -1: the system has none (Linux 5.3 has). */
static int open_process(pid_t pid)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    (void)pid;
    return -1;
#endif
}

/* Sleeps a tenth of the time waited so far: half a millisecond at least, 20 at most; or until
 * the process ends. */
static void nap(int process, double waited)
{
    double time = waited * 0.1;
    time = time < 0.0005 ? 0.0005 : time > 0.02 ? 0.02 : time;
    struct timespec most = {0, (long)(time * 1e9)};
    ppoll(&(struct pollfd){.fd = process, .events = POLLIN}, process >= 0, &most, NULL);
}

/* ---- what it said ------------------------------------------------------------ */

/* The character that a message shows for the bytes at `text`: gcc's typographic quotes become
 * simple ones, other bytes that are not ASCII become '?'. Sets the number of bytes used. */
static char show(const char *text, size_t length, size_t *used)
{
    unsigned char byte = (unsigned char)text[0];
    bool quote =
        length > 2 && (!memcmp(text, "\xe2\x80\x98", 3) || !memcmp(text, "\xe2\x80\x99", 3));
    *used = quote ? 3 : 1;
    if (quote)
        return '\'';
    return byte == '\t' ? ' ' : byte < 0x20 || byte >= 0x7f ? '?' : text[0];
}

/* The first lines. */
static void add_said(int fd, tj_text *text)
{
    char part[MOST_TOLD];
    ssize_t length = pread(fd, part, sizeof part, 0);
    size_t end = length > 0 ? (size_t)length : 0, used = 1;
    int lines = 0;
    for (size_t i = 0; i < end && lines < MOST_LINES; i += used) {
        bool line_break = part[i] == '\n';
        char shown = line_break ? '\n' : show(part + i, end - i, &used);
        used = line_break ? 1 : used;
        lines += line_break;
        if (lines < MOST_LINES)
            tj_text_add(text, &shown, 1);
    }
    while (text->length && text->data[text->length - 1] == '\n')
        text->data[--text->length] = '\0';
}

static tj_status fail(char *const *words, const tj_pipework *files, const char *what, int number,
                      tj_error *error)
{
    tj_text said = {0};
    add_said(files->said, &said);
    tj_status status = TJ_NO_MEMORY;
    if (said.failed)
        tj_fail_no_memory(error);
    else
        status = tj_fail(error, TJ_COMPILE_FAILED, "%s: %s%.0d%s%s", words[0], what, number,
                         said.length ? ": " : "", said.length ? said.data : "");
    tj_text_clear(&said);
    return status;
}

tj_status tj_process_run(char *const *words, char *const *variables, const tj_pipework *files,
                         double seconds, bool (*given_up)(void *context), void *context,
                         tj_error *error)
{
    pid_t pid;
    int failed = start(words, variables, files, &pid);
    if (failed)
        return tj_fail(error, TJ_NO_BACKEND, "%s cannot be started: %s", words[0],
                       strerror(failed));
    double begin = now();
    int process = open_process(pid);
    const char *reason = NULL;
    fate state;
    while ((state = look(pid)) == RUNS) {
        double waited = now() - begin;
        reason = find_reason(files, waited, seconds, given_up, context);
        if (reason)
            break;
        nap(process, waited);
    }
    if (process >= 0)
        close(process);
    int status = state == UNKNOWN ? -1 : end_group(pid);
    if (reason)
        return fail(words, files, reason, 0, error);
    if (status == -1 || status == 0)
        return TJ_OK;
    if (WIFSIGNALED(status))
        return fail(words, files, "it was ended by signal ", WTERMSIG(status), error);
    return fail(words, files, "it failed with status ", WEXITSTATUS(status), error);
}
