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

#define cwj_deadline_look() ((void)0)
#define cwj_has_left() 0
#define cwj_left_settle(held) ((void)(held))
#define cwj_exits_shut() NULL
#define cwj_exits_open(frame) ((void)(frame))

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

#endif
