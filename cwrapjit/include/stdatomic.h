/* stdatomic.h: libtcc's, in both tiers. clang's builtins for it do not take atomic types. */
#if defined CWJ_CLANG && defined __TINYC__
#define _Atomic(type) type
#define __atomic_is_lock_free cwj_is_lock_free
#endif
#include_next <stdatomic.h>
#if defined CWJ_CLANG && defined __TINYC__
#undef _Atomic
#undef __atomic_is_lock_free
#endif

/* These are functions in libtcc, which code of the cc tier does not have. */
#ifdef CWJ_CC
#undef __atomic_thread_fence
#undef __atomic_signal_fence
#undef atomic_signal_fence
#define atomic_thread_fence(order) __atomic_thread_fence(order)
#define atomic_signal_fence(order) __atomic_signal_fence(order)
#define atomic_flag_test_and_set(flag) __atomic_test_and_set(flag, __ATOMIC_SEQ_CST)
#define atomic_flag_test_and_set_explicit(flag, order) __atomic_test_and_set(flag, order)
#define atomic_flag_clear(flag) __atomic_clear((_Bool *)(flag), __ATOMIC_SEQ_CST)
#define atomic_flag_clear_explicit(flag, order) __atomic_clear((_Bool *)(flag), order)
#endif
