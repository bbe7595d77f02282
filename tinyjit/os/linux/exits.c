/* exits.c: implements os/exits.h. */
#define _GNU_SOURCE 1 /* names of registers */
#include "os/exits.h"

#include <stddef.h>
#include <ucontext.h>

_Static_assert(offsetof(tj_exits, frame) == 0 && offsetof(tj_exits, serial) == 8 &&
                   offsetof(tj_exits, count) == 16,
               "the code below knows these offsets");

/* Where a call that is left goes on, with the stack pointer at its frame. */
void tj_exits_left(void) __attribute__((visibility("hidden")));

#if defined(__x86_64__)
/* The frame, from its start: the outer call's serial and frame, the exits, registers. */
__asm__(".pushsection .text\n"
        ".globl tj_exits_call\n.hidden tj_exits_call\n.type tj_exits_call, %function\n"
        "tj_exits_call:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "pushq %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset rbp, -16\n"
        "movq %rsp, %rbp\n"
        ".cfi_def_cfa_register rbp\n"
        "pushq %rbx\n"
        "pushq %r12\n"
        "pushq %r13\n"
        "pushq %r14\n"
        "pushq %r15\n"
        ".cfi_offset rbx, -24\n"
        ".cfi_offset r12, -32\n"
        ".cfi_offset r13, -40\n"
        ".cfi_offset r14, -48\n"
        ".cfi_offset r15, -56\n"
        "pushq %rdi\n"
        "pushq (%rdi)\n"
        "pushq 8(%rdi)\n"
        "subq $16, %rsp\n" /* aligns */
        "movq 16(%rdi), %rax\n"
        "incq %rax\n"
        "movq %rax, 16(%rdi)\n"
        "movq %rax, 8(%rdi)\n"
        "movq %rsp, (%rdi)\n"
        "movq %rsi, %rax\n"
        "movq %rdx, %rdi\n"
        "movq %rcx, %rsi\n"
        "movq %r8, %rdx\n"
        "movq %r9, %rcx\n"
        "callq *%rax\n"
        "1:\n"
        "movq 32(%rsp), %rdi\n"
        "movq 24(%rsp), %rcx\n"
        "movq 16(%rsp), %rdx\n"
        "movq %rcx, (%rdi)\n"
        "movq %rdx, 8(%rdi)\n"
        "addq $40, %rsp\n"
        "popq %r15\n"
        "popq %r14\n"
        "popq %r13\n"
        "popq %r12\n"
        "popq %rbx\n"
        "popq %rbp\n"
        ".cfi_def_cfa rsp, 8\n"
        "retq\n"
        ".cfi_endproc\n"
        ".size tj_exits_call, . - tj_exits_call\n"
        ".globl tj_exits_left\n.hidden tj_exits_left\n.type tj_exits_left, %function\n"
        "tj_exits_left:\n"
        "endbr64\n"
        "cld\n"
        "fninit\n"
        "leaq 80(%rsp), %rbp\n"
        "xorl %eax, %eax\n"
        "jmp 1b\n"
        ".size tj_exits_left, . - tj_exits_left\n"
        ".globl tj_exits_leave\n.hidden tj_exits_leave\n.type tj_exits_leave, %function\n"
        "tj_exits_leave:\n"
        "endbr64\n"
        "movq (%rdi), %rsp\n"
        "jmp tj_exits_left\n"
        ".size tj_exits_leave, . - "
        "tj_exits_leave\n"
        ".popsection\n");
#elif defined(__aarch64__)
/* The frame, from its start: registers, the outer call's frame and serial, the exits. */
__asm__(".pushsection .text\n"
        ".globl tj_exits_call\n.hidden tj_exits_call\n.type tj_exits_call, %function\n"
        "tj_exits_call:\n"
        ".cfi_startproc\n"
        "stp x29, x30, [sp, #-192]!\n"
        ".cfi_def_cfa_offset 192\n"
        ".cfi_offset x29, -192\n"
        ".cfi_offset x30, -184\n"
        "mov x29, sp\n"
        ".cfi_def_cfa_register x29\n"
        "stp x19, x20, [sp, #16]\n"
        "stp x21, x22, [sp, #32]\n"
        "stp x23, x24, [sp, #48]\n"
        "stp x25, x26, [sp, #64]\n"
        "stp x27, x28, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\n"
        "stp d10, d11, [sp, #112]\n"
        "stp d12, d13, [sp, #128]\n"
        "stp d14, d15, [sp, #144]\n"
        "ldp x9, x10, [x0]\n"
        "stp x9, x10, [sp, #160]\n"
        "str x0, [sp, #176]\n"
        "ldr x10, [x0, #16]\n"
        "add x10, x10, #1\n"
        "str x10, [x0, #16]\n"
        "str x10, [x0, #8]\n"
        "mov x9, sp\n"
        "str x9, [x0]\n"
        "mov x9, x1\n"
        "mov x0, x2\n"
        "mov x1, x3\n"
        "mov x2, x4\n"
        "mov x3, x5\n"
        "blr x9\n"
        "1:\n"
        "ldp x9, x10, [sp, #160]\n"
        "ldr x11, [sp, #176]\n"
        "stp x9, x10, [x11]\n"
        "ldp x19, x20, [sp, #16]\n"
        "ldp x21, x22, [sp, #32]\n"
        "ldp x23, x24, [sp, #48]\n"
        "ldp x25, x26, [sp, #64]\n"
        "ldp x27, x28, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]\n"
        "ldp d10, d11, [sp, #112]\n"
        "ldp d12, d13, [sp, #128]\n"
        "ldp d14, d15, [sp, #144]\n"
        "ldp x29, x30, [sp], #192\n"
        ".cfi_def_cfa sp, 0\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size tj_exits_call, . - tj_exits_call\n"
        ".globl tj_exits_left\n.hidden tj_exits_left\n.type tj_exits_left, %function\n"
        "tj_exits_left:\n"
        "mov w0, #0\n"
        "b 1b\n"
        ".size tj_exits_left, . - tj_exits_left\n"
        ".globl tj_exits_leave\n.hidden tj_exits_leave\n.type tj_exits_leave, %function\n"
        "tj_exits_leave:\n"
        "ldr x9, [x0]\n"
        "mov sp, x9\n"
        "b tj_exits_left\n"
        ".size tj_exits_leave, . - "
        "tj_exits_leave\n"
        ".popsection\n");
#else
#error "calls that can be left are written for x86-64 and arm64"
#endif

#if defined(__x86_64__)
#define PC(context) ((context)->uc_mcontext.gregs[REG_RIP])
#define SP(context) ((context)->uc_mcontext.gregs[REG_RSP])
typedef greg_t word;
#else
#define PC(context) ((context)->uc_mcontext.pc)
#define SP(context) ((context)->uc_mcontext.sp)
typedef unsigned long long word;
#endif

#ifdef __SANITIZE_ADDRESS__
void __asan_unpoison_memory_region(const volatile void *begin, size_t size);
#endif

void tj_exits_leave_interrupted(const tj_exits *exits, void *context)
{
    ucontext_t *interrupted = context;
#ifdef __SANITIZE_ADDRESS__ /* frames that are dropped have marked the bytes beside their variables */
    const char *dropped = (const char *)(size_t)SP(interrupted);
    size_t size = (size_t)((const char *)exits->frame - dropped);
    __asan_unpoison_memory_region(dropped, size);
#endif
    PC(interrupted) = (word)(size_t)&tj_exits_left;
    SP(interrupted) = (word)(size_t)exits->frame;
}

const void *tj_interrupted_at(const void *context)
{
    const ucontext_t *interrupted = context;
    return (const void *)(size_t)PC(interrupted);
}
