/* process.h: a program as a process that is ended as a whole, with all that it started.
 */
#pragma once

#include <stdbool.h>

/* The files of a running compiler, see anonymous_file.h. */
typedef struct tj_pipework {
    int text;   /* what the process reads: its standard input */
    int object; /* what it writes */
    int said;   /* its standard error */
    int number; /* the process knows the object by this descriptor: 1 or 3 */
} tj_pipework;

typedef struct tj_process {
    long id;
    int watch;          /* what tells that it ends, or -1 */
    unsigned long long begin; /* ns, of tj_clock_ns() */
} tj_process;

/* Starts the program words[0], a path, with these arguments and an environment (NULL: none). It reads and
 * writes those files; its standard output goes nowhere unless that is the object. It gets no other descriptor of
 * this process, no blocked and no ignored signal; a Ctrl-C at the terminal is not for it. Returns 0, or an errno
 * value; then there is nothing to be ended. */
int tj_process_start(tj_process *process, char *const *words, char *const *variables,
                     const tj_pipework *files);

/* Seconds since its start. */
double tj_process_age(const tj_process *process);
/* Waits until it ends, `seconds` at most. */
void tj_process_nap(const tj_process *process, double seconds);

typedef enum tj_process_state {
    TJ_PROCESS_RUNS,
    TJ_PROCESS_ENDED,
    TJ_PROCESS_UNKNOWN /* the embedding program has waited for it itself: nobody knows how it ended */
} tj_process_state;
tj_process_state tj_process_look(const tj_process *process);

/* How it ended. Both 0: well, or nobody knows. */
typedef struct tj_process_end {
    int signal;
    int status;
} tj_process_end;
/* Ends it, and what it has started; to be called once, after the last look that said `state`. */
tj_process_end tj_process_finish(tj_process *process, tj_process_state state);

/* This thread, and the processes that it starts from now on, take the processor from nobody who waits for it. */
void tj_process_stand_back(void);

/* The path by which a program opens what it has under that descriptor, 2 or 3. Static. */
const char *tj_process_path(int number);
/* The environment of this process, NULL-terminated, "NAME=VALUE"; may be NULL. Borrowed until somebody changes it. */
char **tj_process_variables(void);
