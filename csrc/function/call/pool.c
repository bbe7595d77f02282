/* pool.c: threads that help calls with their slices.
 *
 * One pool for the process (for each copy of this text), started when a call
 * first wants it and grown on demand. It serves one call at a time: others run
 * their slices alone. A thread that waits here holds nothing of Python's, so the
 * process may exit at any time. A forked child starts with an empty pool.
 */

/* What the pool's threads do, all at once; `seat` tells them apart. */
typedef struct cwj_task {
    void (*work)(struct cwj_task *task, int seat);
} cwj_task;

static struct {
    pthread_mutex_t lock; /* guards what follows, held for moments only */
    pthread_cond_t wake;  /* there is a seat */
    pthread_cond_t idle;  /* nobody works */
    int registered;       /* fork handlers */
    int nthreads;
    int working;
    int seats; /* so many threads may still join the task */
    cwj_task *task;
    unsigned long forks; /* pools of parents before this one */
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

/* Only the thread that forked is here. The conditions may have had waiters in
 * the parent: new ones take their place. */
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
        if (cwj_pool.forks != forks) { /* a snippet forked on this thread: no pool's */
            pthread_mutex_unlock(&cwj_pool.lock);
            return NULL;
        }
        if (--cwj_pool.working == 0) {
            pthread_cond_signal(&cwj_pool.idle);
        }
    }
}

/* Starts threads until there are `wanted`, or no more can be had. */
static void
pool_grow(int wanted)
{
    pthread_t thread;
    while (cwj_pool.nthreads < wanted &&
           tj_thread_start(&thread, 0, false, pool_thread, NULL) == 0) {
        cwj_pool.nthreads++;
    }
}

/* Lets up to `wanted` threads work on the task beside the caller, who then has
 * to call pool_finish(). Returns 0 when the pool is busy or has no thread. */
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

/* The task has no work left: nobody joins it any more. Waits for those who work,
 * for 0.1 s at most. Returns 0 when some still do. */
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
