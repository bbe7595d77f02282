/* assert.h: ISO C's. A failing assert ends the process, as always; snippets can raise an exception and return false
 * instead. May be included again with another NDEBUG. */
#ifndef _ASSERT_H
#define _ASSERT_H 1

void __assert_fail(const char *, const char *, unsigned, const char *);
#define static_assert _Static_assert

#endif

#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) \
    ((condition) ? (void)0 : __assert_fail(#condition, __FILE__, __LINE__, __func__))
#endif
