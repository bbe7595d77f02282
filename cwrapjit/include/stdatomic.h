/* stdatomic.h: libtcc's, in both tiers. clang's builtins for it take no atomic types. */
#if defined CWJ_CLANG && defined __TINYC__
#define _Atomic(type) type
#define __atomic_is_lock_free cwj_is_lock_free
#endif
#include_next <stdatomic.h>
#if defined CWJ_CLANG && defined __TINYC__
#undef _Atomic
#undef __atomic_is_lock_free
#endif
