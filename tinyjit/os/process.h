/* process.h: runs a program as a process, and ends it with all processes that it started. */
#pragma once

#include <stdbool.h>

/* The files of a running compiler, see anonymous_file.h. */
typedef struct tj_pipework {
    int text;   /* its standard input */
    int object; /* its output, an object */
    int said;   /* its standard error */
    int number; /* the descriptor of the object in the process: 1 or 3 */
} tj_pipework;

typedef struct tj_process {
    long id;
    int watch;          /* a descriptor that reports its end, or -1 */
    unsigned long long begin; /* in ns, from tj_clock_ns() */
} tj_process;

/* Starts the program words[0], a path, with these arguments and an environment (NULL: none). It reads and
 * writes these files; its standard output is discarded unless it is the object. It inherits no other
 * descriptor, and no blocked or ignored signal; a Ctrl-C at the terminal does not reach it. Returns 0, or an
 * errno value; then no process was started. */
int tj_process_start(tj_process *process, char *const *words, char *const *variables,
                     const tj_pipework *files);

/* Returns the seconds since the start of a process. */
double tj_process_age(const tj_process *process);
/* Waits until a process ends, for `seconds` at most. */
void tj_process_nap(const tj_process *process, double seconds);

typedef enum tj_process_state {
    TJ_PROCESS_RUNS,
    TJ_PROCESS_ENDED,
    TJ_PROCESS_UNKNOWN /* the embedding program has waited for it, so its exit status is unknown */
} tj_process_state;
tj_process_state tj_process_look(const tj_process *process);

/* The way a process ended. Both 0: it succeeded, or the result is unknown. */
typedef struct tj_process_end {
    int signal;
    int status;
} tj_process_end;
/* Ends a process and those that it started. Call it once, after the last tj_process_look(), which returned `state`. */
tj_process_end tj_process_finish(tj_process *process, tj_process_state state);

/* Makes this thread, and the processes that it starts later, never preempt threads of others. */
void tj_process_stand_back(void);

/* Returns the path by which a program opens its own descriptor 2 or 3. Static. */
const char *tj_process_path(int number);
/* Returns this process' environment: "NAME=VALUE", NULL-terminated, or NULL. Borrowed until the environment changes. */
char **tj_process_variables(void);
