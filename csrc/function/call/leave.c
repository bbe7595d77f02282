/* leave.c: runs the compiled code of a function so that Ctrl-C and deadlines can end it, see base/leave.h. Code that is
 * left answers 0. Emitted modules only run the code. */

#ifdef CWJ_STANDALONE

static inline int
run_loop(cwj_loop *loop, char **data, const npy_intp *dims, const npy_intp *steps, void *ctx)
{
    return loop(data, dims, steps, ctx);
}

static inline int
run_snippet(void (*code)(void), cwj_call *call)
{
    return ((int (*)(cwj_call *))code)(call);
}

static inline int
has_left(void)
{
    return 0;
}

static inline void
settle_left(int Py_UNUSED(held))
{
}

static inline void
take_deadline(void)
{
}

static inline void *
shut_exits(void)
{
    return NULL;
}

static inline void
open_exits(void *Py_UNUSED(frame))
{
}

#else

static inline int
run_loop(cwj_loop *loop, char **data, const npy_intp *dims, const npy_intp *steps, void *ctx)
{
    return cwj_run_code((void (*)(void))loop, data, dims, steps, ctx);
}

static inline int
run_snippet(void (*code)(void), cwj_call *call)
{
    return cwj_run_code(code, call, NULL, NULL, NULL);
}

static inline int
has_left(void)
{
    return cwj_has_left();
}

static inline void
settle_left(int held)
{
    cwj_left_settle(held);
}

static inline void
take_deadline(void)
{
    cwj_deadline_look();
}

static inline void *
shut_exits(void)
{
    return cwj_exits_shut();
}

static inline void
open_exits(void *frame)
{
    cwj_exits_open(frame);
}

#endif
