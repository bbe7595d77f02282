/* fault.c: runs code that may fault (fault.h).
 *
 * The code and the signal handler run on separate stacks (room.c), because the code may destroy or exhaust its own. The
 * handler reads thread locals and the stack, fills a cwj_fault, and jumps. Everything that needs memory or a lock
 * happens after the jump (fault_raise.c). */
#define _GNU_SOURCE 1   /* names of registers */
#undef _FORTIFY_SOURCE /* its longjmp() aborts on a change of stack */
#include "base/debug/fault.h"

#include "base/compat.h"
#include "base/leave.h"
#include "base/debug/room.h"
#include "os/exits.h"
#include "os/signals.h"

#include <execinfo.h>
#include <fenv.h>
#include <link.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

/* A running call of cwj_guard(). It is not on the stack, so an array overrun there cannot reach it (room.c). */
typedef struct guard {
    cwj_room *room;
    sigjmp_buf place;
    struct guard *outer;
    bool hosted;
    cwj_fault *fault;
    const int *entered; /* how deep the thread is inside Python's entry points */
    int entered_before;
    bool scanning;         /* the handler reads the stack, which may be unmapped */
    PyThreadState *thread; /* this and all members below: the state before the call */
    bool held;             /* the GIL */
    bool switched;         /* the handler's stack */
    stack_t stack;
    tj_exits exits;
    fenv_t numbers;
    sigset_t mask;
} guard;

/* In static thread-local storage: reading it allocates nothing. */
#define IN_HANDLERS _Thread_local __attribute__((tls_model("initial-exec")))
static IN_HANDLERS guard *inside;

/* ---- where the fault was --------------------------------------------------------------- */

/* Reads the stack and the frame pointer from the machine's registers. */
#if defined(__x86_64__)
#define SP(context) ((const void *)(context)->uc_mcontext.gregs[REG_RSP])
#define FP(context) ((const void *)(context)->uc_mcontext.gregs[REG_RBP])
#else
#define SP(context) ((const void *)(context)->uc_mcontext.sp)
#define FP(context) ((const void *)(context)->uc_mcontext.regs[29])
#endif

/* The loaded segments with the code of Python and of NumPy. */
enum {
    NHOSTS = 2
};
static struct host {
    uintptr_t known; /* an address in the segment */
    uintptr_t first, behind;
} hosts[NHOSTS];

static int
find_hosts(struct dl_phdr_info *info, size_t Py_UNUSED(size), void *Py_UNUSED(context))
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t first = info->dlpi_addr + part->p_vaddr, behind = first + part->p_memsz;
        for (int h = 0; h < NHOSTS && part->p_type == PT_LOAD; h++) {
            if (hosts[h].known >= first && hosts[h].known < behind) {
                hosts[h].first = first;
                hosts[h].behind = behind;
            }
        }
    }
    return 0;
}

/* Collects the return addresses of the calls that led to the fault. *foreign becomes true if Python's code is among
 * them. libc's backtrace() finds the frames of libraries, but not those of libtcc's code. Two words of the stack are
 * therefore added: its top, the return address of a call to an address without code; and the word next to the saved
 * frame pointer, the return address of a function that libtcc compiled. */
static void
find_returns(cwj_fault *fault, const ucontext_t *context, bool *foreign)
{
    const void *const *sp = SP(context);
    const void *const *fp = FP(context);
    void *frames[CWJ_MOST_RETURNS - 2];
    bool is_wild = fault->at == fault->address && !fault->raised && fault->signal != SIGFPE &&
                   fault->signal != SIGILL; /* there is no frame to find */
    int count = is_wild ? 0 : backtrace(frames, CWJ_MOST_RETURNS - 2), i = 0;
    while (i < count && frames[i] != fault->at) {
        i++; /* skip the handler's own frames */
    }
    for (; i < count; i++) {
        fault->returns[fault->nreturns++] = frames[i];
        uintptr_t frame = (uintptr_t)frames[i];
        for (int h = 0; h < NHOSTS; h++) {
            *foreign |= frame >= hosts[h].first && frame < hosts[h].behind;
        }
    }
    if (!fault->deep) {
        fault->returns[fault->nreturns++] = *sp;
    }
    if (!fault->deep && fp >= sp && (const char *)fp < inside->room->behind) {
        fault->returns[fault->nreturns++] = fp[1];
    }
}

/* Fills the fault. Returns false if the code cannot be left by a jump. */
static bool
take_fault(guard *this, int number, const siginfo_t *info, const ucontext_t *context)
{
    const char *sp = SP(context);
    bool foreign = false;
    cwj_fault *fault = this->fault;
    if (*this->entered != this->entered_before) {
        return false;
    }
    if (this->scanning) { /* the end of the stack was reached */
        this->scanning = false;
        return !this->hosted;
    }
    *fault = (cwj_fault){.signal = number,
                         .aborted = number == SIGABRT,
                         .divided = info->si_code == FPE_INTDIV,
                         .nowhere = info->si_code == SI_KERNEL,
                         .raised = tj_signal_is_ours(info),
                         .at = tj_interrupted_at(context)};
    fault->address = fault->raised ? fault->at : info->si_addr;
    fault->deep = (number == SIGSEGV || number == SIGBUS) && !fault->raised &&
                  (const char *)fault->address + 4096 > sp &&
                  (const char *)fault->address < this->room->first;
    fault->over = (const char *)fault->address >= this->room->behind &&
                  (const char *)fault->address < (const char *)this;
    this->scanning = true;
    find_returns(fault, context, &foreign);
    this->scanning = false;
    return !this->hosted || !foreign;
}

/* ---- handlers --------------------------------------------------------------------------- */

static const int guarded_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum {
    NSIGNALS = sizeof(guarded_signals) / sizeof(*guarded_signals)
};

static bool
on_fault(int number, siginfo_t *info, void *context)
{
    /* This thread's code caused the signal, or another thread of the process sends it. */
    bool own = tj_signal_is_ours(info) || (number != SIGABRT && info->si_code > 0);
    if (inside != NULL && own && take_fault(inside, number, info, context)) {
        siglongjmp(inside->place, 1);
    }
    return false;
}

void
cwj_guard_install(void)
{
    if (hosts[0].known == 0) {
        void *frame;
        backtrace(&frame, 1); /* the first call allocates */
        hosts[0].known = (uintptr_t)&PyErr_Occurred;
        hosts[1].known = (uintptr_t)PyArray_API[0];
        dl_iterate_phdr(find_hosts, NULL);
    }
    for (int i = 0; i < NSIGNALS; i++) {
        tj_signal_take(guarded_signals[i], on_fault);
    }
}

/* ---- guarding --------------------------------------------------------------------------- */

static const int *(*depth_in_python)(void);

void
cwj_guard_set_depth(const int *(*depth)(void))
{
    depth_in_python = depth;
}

static void
begin(guard *this)
{
    this->thread = PyGILState_GetThisThreadState();
    this->held = this->thread != NULL && cwj_current_state() == this->thread;
    stack_t own = {.ss_sp = this->room->of_handlers, .ss_size = this->room->handlers};
    this->switched =
        inside == NULL && this->room->map != NULL && sigaltstack(&own, &this->stack) == 0;
    this->outer = inside;
    this->entered = depth_in_python();
    this->entered_before = *this->entered;
    pthread_sigmask(SIG_SETMASK, NULL, &this->mask);
    fegetenv(&this->numbers);
    if (cwj_this_thread != NULL) {
        this->exits = cwj_this_thread->exits;
    }
}

/* Reads nothing from the stack, which the code may have overwritten. From here on, a fault belongs to the outer
 * guard, or ends the process. */
static void
end(bool finished)
{
    guard *this = inside;
    inside = this->outer;
    if (!finished) { /* the code may have changed these before it was left */
        pthread_sigmask(SIG_SETMASK, &this->mask, NULL);
        fesetenv(&this->numbers);
        if (cwj_this_thread != NULL) {
            cwj_this_thread->exits.frame = this->exits.frame;
            cwj_this_thread->exits.serial = this->exits.serial;
        }
    }
    if (this->switched) {
        sigaltstack(&this->stack, NULL);
    }
    if (!finished) {
        cwj_restore_gil(this->thread, this->held);
    }
    cwj_room_leave(this->room, !finished);
}

bool
cwj_guard(bool hosted, void (*run)(void *), void *argument, cwj_fault *fault)
{
    guard reserve; /* used if there is no memory; the code may overwrite it */
    cwj_room none = {.record = &reserve}, *found = cwj_room_enter(sizeof(guard));
    cwj_room *room = found != NULL ? found : &none;
    guard *this = room->record;
    this->room = room;
    this->hosted = hosted;
    this->fault = fault;
    this->scanning = false;
    begin(this);
    bool finished = sigsetjmp(this->place, 0) == 0;
    if (finished) {
        inside = this;
        cwj_room_run(this->room, run, argument);
    }
    end(finished);
    return finished;
}

_Noreturn void
cwj_guard_leave(void)
{
    if (inside == NULL) {
        fputs("cwrapjit: an error in a thread that the C code has started itself\n", stderr);
        abort();
    }
    inside->fault->signal = 0;
    siglongjmp(inside->place, 1);
}
