/* check.h: the framework of the C tests. A program has functions `static void test_...(void)` that use CHECK, and a
 * main() that calls RUN for each and ends with `return check_report();`. A failed CHECK prints its place, and the
 * test goes on. The exit status is 1 if any failed. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <string.h>

static int check_count;
static int check_failures;
static const char *check_running = "";

#define CHECK(condition)   \
    ((void)(check_count++, \
            (condition) ? 1 : check_failed(__FILE__, __LINE__, #condition, NULL, NULL)))

/* The strings must be equal; NULL equals only NULL. */
#define CHECK_STR(got, wanted) check_str(__FILE__, __LINE__, #got, (got), (wanted))

/* `text` must contain `part`. */
#define CHECK_HAS(text, part) check_has(__FILE__, __LINE__, #text, (text), (part))

#define RUN(test) (check_running = #test, (test)())

static inline int check_failed(const char *file, int line, const char *what, const char *got,
                               const char *wanted)
{
    check_failures++;
    fprintf(stderr, "%s:%d: in %s: CHECK failed: %s\n", file, line, check_running, what);
    if (wanted)
        fprintf(stderr, "    got    %s\n    wanted %s\n", got ? got : "(null)", wanted);
    return 0;
}

static inline void check_str(const char *file, int line, const char *what, const char *got,
                             const char *wanted)
{
    check_count++;
    if (got == wanted || (got && wanted && !strcmp(got, wanted)))
        return;
    check_failed(file, line, what, got, wanted ? wanted : "(null)");
}

static inline void check_has(const char *file, int line, const char *what, const char *text,
                             const char *part)
{
    check_count++;
    if (!text || !strstr(text, part))
        check_failed(file, line, what, text, part);
}

/* Prints the counts and returns the exit status. */
static inline int check_report(void)
{
    printf("%d checks, %d failed\n", check_count, check_failures);
    return check_failures != 0;
}

#endif
