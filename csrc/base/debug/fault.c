/* fault.c: runs code that may fault (fault.h).
 *
 * The code and the signal handler run on separate stacks (room.c), because the code may destroy or exhaust its own. The
 * handler reads thread locals and the stack, fills a cwj_fault, and jumps. Everything that needs memory or a lock
 * happens after the jump (fault_raise.c). */
#define _GNU_SOURCE 1   /* names of registers */
#undef _FORTIFY_SOURCE /* its longjmp() aborts on a change of stack */
#include "base/debug/fault.h"

#include "base/compat.h"
#include "base/debug/room.h"

#include <errno.h>
#include <execinfo.h>
#include <fenv.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
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
    fenv_t numbers;
    sigset_t mask;
} guard;

/* In static thread-local storage: reading it allocates nothing. */
#define IN_HANDLERS _Thread_local __attribute__((tls_model("initial-exec")))
static IN_HANDLERS guard *inside;
static IN_HANDLERS int chained; /* running handlers of other code */

/* ---- where the fault was --------------------------------------------------------------- */

/* Reads the instruction, the stack and the frame pointer from the machine's registers. */
#if defined(__x86_64__)
#define PC(context) ((const void *)(context)->uc_mcontext.gregs[REG_RIP])
#define SP(context) ((const void *)(context)->uc_mcontext.gregs[REG_RSP])
#define FP(context) ((const void *)(context)->uc_mcontext.gregs[REG_RBP])
#else
#define PC(context) ((const void *)(context)->uc_mcontext.pc)
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

static bool
is_hosts(const void *address)
{
    for (int h = 0; h < NHOSTS; h++) {
        if ((uintptr_t)address >= hosts[h].first && (uintptr_t)address < hosts[h].behind) {
            return true;
        }
    }
    return false;
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
        *foreign |= is_hosts(frames[i]);
    }
    if (!fault->deep) {
        fault->returns[fault->nreturns++] = *sp;
    }
    if (!fault->deep && fp >= sp && (const char *)fp < inside->room->behind) {
        fault->returns[fault->nreturns++] = fp[1];
    }
}

/* Returns true for signals from raise() or abort(), or from another thread of this process. */
static bool
is_raised(const siginfo_t *info)
{
    return info->si_code == SI_TKILL && info->si_pid == getpid();
}

/* Returns true for signals that this thread's code caused, or that another thread of the process sends. */
static bool
is_own(int number, const siginfo_t *info)
{
    return is_raised(info) || (number != SIGABRT && info->si_code > 0);
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
                         .raised = is_raised(info),
                         .at = PC(context)};
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

/* Other handlers, which ours calls: the one installed before the first guarded call, and the latest
 * one that replaced ours, which may call ours in turn. */
static struct others {
    bool known;
    bool replaced;
    struct sigaction first;
    struct sigaction latest;
} others[NSIGNALS];

static int
index_of(int number)
{
    int i = 0;
    while (i < NSIGNALS - 1 && guarded_signals[i] != number) {
        i++;
    }
    return i;
}

/* Does what the system does without a handler. If an instruction caused the signal, the signal occurs again. */
static void
do_default(int number, const siginfo_t *info)
{
    struct sigaction none = {.sa_handler = SIG_DFL};
    sigaction(number, &none, NULL);
    if (info->si_code <= 0) {
        raise(number);
    }
}

static void
chain(int number, siginfo_t *info, void *context)
{
    const struct others *known = &others[index_of(number)];
    int turn = chained + !known->replaced; /* 0: the latest, 1: the first */
    const struct sigaction *next = turn == 0 ? &known->latest : &known->first;
    if (turn > 1 || next->sa_handler == SIG_DFL ||
        (next->sa_handler == SIG_IGN && info->si_code > 0)) {
        do_default(number, info);
        return;
    }
    if (next->sa_handler == SIG_IGN) {
        return;
    }
    chained++;
    if (next->sa_flags & SA_SIGINFO) {
        next->sa_sigaction(number, info, context);
    } else {
        next->sa_handler(number);
    }
    chained--;
}

static void
on_signal(int number, siginfo_t *info, void *context)
{
    int kept = errno;
    if (inside != NULL && is_own(number, info) && take_fault(inside, number, info, context)) {
        siglongjmp(inside->place, 1);
    }
    chain(number, info, context);
    errno = kept;
}

void
cwj_guard_install(void)
{
    struct sigaction own = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    own.sa_sigaction = on_signal;
    sigemptyset(&own.sa_mask);
    if (hosts[0].known == 0) {
        void *frame;
        backtrace(&frame, 1); /* the first call allocates */
        hosts[0].known = (uintptr_t)&PyErr_Occurred;
        hosts[1].known = (uintptr_t)PyArray_API[0];
        dl_iterate_phdr(find_hosts, NULL);
    }
    for (int i = 0; i < NSIGNALS; i++) {
        struct sigaction now;
        struct others *known = &others[i];
        if (sigaction(guarded_signals[i], NULL, &now) != 0 ||
            ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal)) {
            continue;
        }
        if (known->known) {
            known->latest = now;
            known->replaced = true;
        } else {
            known->first = now;
            known->known = true;
        }
        sigaction(guarded_signals[i], &own, NULL);
    }
}

/* ---- guarding --------------------------------------------------------------------------- */

static const int *(*depth_in_python)(void);

void
cwj_guard_set_depth(const int *(*depth)(void))
{
    depth_in_python = depth;
}

/* Restores the GIL and the thread state as they were before the call. The code may have been left
 * between releasing the GIL and taking it back, or the reverse. */
static void
restore_gil(PyThreadState *thread, bool held)
{
    bool holds = thread != NULL && cwj_current_state() == thread;
    if (held && !holds) {
        PyEval_RestoreThread(thread);
    } else if (!held && holds) {
        PyEval_SaveThread();
    }
}

/* Installs the stack for signal handlers. Returns false if handlers stay on the normal stack. */
static bool
use_handlers_stack(const cwj_room *room, stack_t *before)
{
    stack_t own = {.ss_sp = room->of_handlers, .ss_size = room->handlers};
    return room->map != NULL && sigaltstack(&own, before) == 0;
}

static void
begin(guard *this)
{
    this->thread = PyGILState_GetThisThreadState();
    this->held = this->thread != NULL && cwj_current_state() == this->thread;
    this->switched = inside == NULL && use_handlers_stack(this->room, &this->stack);
    this->outer = inside;
    this->entered = depth_in_python();
    this->entered_before = *this->entered;
    pthread_sigmask(SIG_SETMASK, NULL, &this->mask);
    fegetenv(&this->numbers);
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
    }
    if (this->switched) {
        sigaltstack(&this->stack, NULL);
    }
    if (!finished) {
        restore_gil(this->thread, this->held);
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
