/* pool.c: keeps threads that help calls with their slices.
 *
 * There is one pool per process (for each copy of this text). It starts when a call first needs it, and grows on
 * demand. It serves one call at a time; other calls run their slices alone. A waiting thread holds nothing of Python's,
 * so the process may exit at any time. A forked child starts with an empty pool. */

/* Work that all threads of the pool do at once. Each has its own `seat`. */
typedef struct cwj_task {
    void (*work)(struct cwj_task *task, int seat);
} cwj_task;

static struct {
    pthread_mutex_t lock; /* guards the following members; held only briefly */
    pthread_cond_t wake;  /* a seat is free */
    pthread_cond_t idle;  /* no thread works */
    int registered;       /* the fork handlers are installed */
    int nthreads;
    int working;
    int seats; /* how many threads may still join the task */
    cwj_task *task;
    unsigned long forks; /* incremented in each forked child, which has a new pool */
} cwj_pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void
pool_init_conditions(void)
{
    tj_condition_init(&cwj_pool.wake);
    tj_condition_init(&cwj_pool.idle);
}

static void
pool_before_fork(void)
{
    pthread_mutex_lock(&cwj_pool.lock);
}

static void
pool_in_parent(void)
{
    pthread_mutex_unlock(&cwj_pool.lock);
}

/* Only the thread that forked exists here. Conditions are initialised anew: they may have had waiters. */
static void
pool_in_child(void)
{
    pthread_mutex_init(&cwj_pool.lock, NULL);
    pool_init_conditions();
    cwj_pool.nthreads = cwj_pool.working = cwj_pool.seats = 0;
    cwj_pool.task = NULL;
    cwj_pool.forks++;
}

static void *
pool_thread(void *Py_UNUSED(nothing))
{
    pthread_mutex_lock(&cwj_pool.lock);
    unsigned long forks = cwj_pool.forks;
    for (;;) {
        while (cwj_pool.seats == 0) {
            pthread_cond_wait(&cwj_pool.wake, &cwj_pool.lock);
        }
        cwj_task *task = cwj_pool.task;
        int seat = --cwj_pool.seats;
        cwj_pool.working++;
        pthread_mutex_unlock(&cwj_pool.lock);
        task->work(task, seat);
        pthread_mutex_lock(&cwj_pool.lock);
        if (cwj_pool.forks != forks) { /* a snippet forked here: not a thread of this pool */
            pthread_mutex_unlock(&cwj_pool.lock);
            return NULL;
        }
        if (--cwj_pool.working == 0) {
            pthread_cond_signal(&cwj_pool.idle);
        }
    }
}

/* Starts threads until there are `wanted`, or no more can be started. */
static void
pool_grow(int wanted)
{
    pthread_t thread;
    while (cwj_pool.nthreads < wanted &&
           tj_thread_start(&thread, 0, false, pool_thread, NULL) == 0) {
        cwj_pool.nthreads++;
    }
}

/* Lets up to `wanted` threads work on the task beside the caller, who must then call pool_finish(). Returns 0 if the
 * pool is busy or has no threads. */
static int
pool_start(cwj_task *task, int wanted)
{
    pthread_mutex_lock(&cwj_pool.lock);
    int free = cwj_pool.task == NULL;
    if (free && !cwj_pool.registered) {
        pool_init_conditions();
        cwj_pool.registered = tj_on_fork(pool_before_fork, pool_in_parent, pool_in_child);
    }
    if (free && cwj_pool.registered) {
        pool_grow(wanted);
        cwj_pool.seats = cwj_pool.nthreads < wanted ? cwj_pool.nthreads : wanted;
        cwj_pool.task = cwj_pool.seats > 0 ? task : NULL;
        for (int i = 0; i < cwj_pool.seats; i++) {
            pthread_cond_signal(&cwj_pool.wake);
        }
    }
    int started = free && cwj_pool.task != NULL;
    pthread_mutex_unlock(&cwj_pool.lock);
    return started;
}

/* Called when the task has no work left. No more threads join it. Waits at most 0.1 s for threads that still work.
 * Returns 0 if some still do. */
static int
pool_finish(void)
{
    struct timespec until = tj_time_in(0.1);
    pthread_mutex_lock(&cwj_pool.lock);
    cwj_pool.seats = 0;
    while (cwj_pool.working > 0 && tj_condition_wait(&cwj_pool.idle, &cwj_pool.lock, &until)) {
    }
    int finished = cwj_pool.working == 0;
    if (finished) {
        cwj_pool.task = NULL;
    }
    pthread_mutex_unlock(&cwj_pool.lock);
    return finished;
}
