/* room.c: allocates the memory that guarded code runs in (room.h). A room is one mapping:
 *
 *     protected, large enough that an overrun by the largest arrays ends there
 *     the stack
 *     protected: an overrun of the stack's upper end faults
 *     cwj_room, the record, the stack of handlers
 *
 * Python 3.14 compares the stack pointer with the bounds of its thread's stack when C code calls it, and sanitizers
 * know each thread's stack. In these builds the code stays on its thread's stack. */
#define _GNU_SOURCE 1 /* mmap flags */
#include "base/debug/room.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#if PY_VERSION_HEX < 0x030E0000 && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && (defined(__x86_64__) || defined(__aarch64__))
#define HAS_STACK 1
#else
#define HAS_STACK 0
#endif

/* ---- sizes --------------------------------------------------------------------------------- */

static const size_t megabyte = (size_t)1 << 20;

static size_t
round_up(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

/* Returns the size of the stack of the process' first thread, between 8 and 256 MiB; 0: no stack is used. */
static size_t
stack_size(void)
{
    struct rlimit limit;
    size_t size = 8 * megabyte, most = 256 * megabyte;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur > size) {
        size = limit.rlim_cur < most ? (size_t)limit.rlim_cur : most;
    }
    return HAS_STACK ? round_up(size) : 0;
}

/* ---- mapping ------------------------------------------------------------------------------- */

/* The size before the record, which is aligned like the room. */
enum {
    ALIGNMENT = 64,
    HEAD = (sizeof(cwj_room) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT
};

static void
unmap(void *map, size_t size)
{
    munmap(map, size);
    tj_live_add(TJ_LIVE_MAPPINGS, -1);
}

static cwj_room *
map_room(size_t record, size_t below, size_t above)
{
    const size_t ours = 65536; /* other handlers, such as faulthandler's, may run on it */
    size_t handlers = round_up(ours + (size_t)getauxval(AT_MINSIGSTKSZ));
    size_t stack = stack_size(), head = round_up(HEAD + record);
    size_t whole = below + stack + above + head + handlers;
    char *map = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        return NULL;
    }
    tj_live_add(TJ_LIVE_MAPPINGS, 1);
    char *first = map + below, *place = first + stack + above;
    if ((stack > 0 && mprotect(first, stack, PROT_READ | PROT_WRITE) != 0) ||
        mprotect(place, head + handlers, PROT_READ | PROT_WRITE) != 0) {
        unmap(map, whole);
        return NULL;
    }
    if (stack > 0) {
        madvise(first, stack, MADV_NOHUGEPAGE); /* most calls touch one page */
    }
    cwj_room *room = (cwj_room *)(void *)place;
    *room = (cwj_room){.record = place + HEAD,
                       .first = first,
                       .behind = first + stack,
                       .map = map,
                       .mapped = whole,
                       .stack = stack,
                       .of_handlers = place + head,
                       .handlers = handlers};
    return room;
}

static void
unmap_room(void *room)
{
    unmap(((cwj_room *)room)->map, ((cwj_room *)room)->mapped);
}

/* ---- rooms of threads ------------------------------------------------------------------------ */

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key;

static void
make_key(void)
{
    has_key = pthread_key_create(&key, unmap_room) == 0;
}

cwj_room *
cwj_room_enter(size_t record)
{
    pthread_once(&once, make_key);
    cwj_room *room = has_key ? pthread_getspecific(key) : NULL;
    bool first = room == NULL;
    if (first || room->taken) {
        const size_t below = 4096 * megabyte, above = 16 * megabyte; /* address space only */
        room = HAS_STACK ? map_room(record, below, above) : NULL;
        room = room != NULL ? room : map_room(record, round_up(1), round_up(1));
    }
    if (room != NULL) {
        room->keeps |= first && has_key && pthread_setspecific(key, room) == 0;
        room->taken = true;
    }
    return room;
}

void
cwj_room_leave(cwj_room *room, bool cleans)
{
    const size_t kept = megabyte / 4;
    room->taken = false;
    if (room->map == NULL) {
        return;
    }
    if (!room->keeps) {
        unmap_room(room);
    } else if (cleans && room->stack > kept) {
        madvise((char *)room->first, room->stack - kept, MADV_DONTNEED);
    }
}

/* ---- running there --------------------------------------------------------------------------- */

#if HAS_STACK

/* Calls run(argument) with the stack pointer at top. Stack unwinders stop there. */
void cwj_call_on_stack(const char *top, void (*run)(void *), void *argument)
    __attribute__((visibility("hidden")));

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".globl cwj_call_on_stack\n"
        ".hidden cwj_call_on_stack\n"
        ".type cwj_call_on_stack, @function\n"
        "cwj_call_on_stack:\n"
        ".cfi_startproc\n"
        ".cfi_undefined rip\n"
        "endbr64\n"
        "pushq %rbp\n"
        "movq %rsp, %rbp\n"
        "movq %rdi, %rsp\n"
        "movq %rdx, %rdi\n"
        "pushq %rbp\n"
        "pushq $0\n"
        "callq *%rsi\n"
        "popq %rcx\n"
        "popq %rsp\n"
        "popq %rbp\n"
        "retq\n"
        ".cfi_endproc\n"
        ".size cwj_call_on_stack, . - cwj_call_on_stack\n"
        ".popsection\n");
#else
__asm__(".pushsection .text\n"
        ".globl cwj_call_on_stack\n"
        ".hidden cwj_call_on_stack\n"
        ".type cwj_call_on_stack, %function\n"
        "cwj_call_on_stack:\n"
        ".cfi_startproc\n"
        ".cfi_undefined x30\n"
        "stp x29, x30, [sp, #-32]!\n"
        "str x19, [sp, #16]\n"
        "mov x19, sp\n"
        "mov sp, x0\n"
        "mov x0, x2\n"
        "blr x1\n"
        "mov sp, x19\n"
        "ldr x19, [sp, #16]\n"
        "ldp x29, x30, [sp], #32\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size cwj_call_on_stack, . - cwj_call_on_stack\n"
        ".popsection\n");
#endif

#endif

void
cwj_room_run(cwj_room *room, void (*run)(void *), void *argument)
{
#if HAS_STACK
    if (room->stack > 0) {
        cwj_call_on_stack(room->behind, run, argument);
        return;
    }
#endif
    room->first = room->behind = __builtin_frame_address(0);
    run(argument);
}
