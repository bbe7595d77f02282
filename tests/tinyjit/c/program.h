/* program.h: helpers of the test programs: they open libtcc, write files, compile one text, and let memory run out.
 * The environment must have TJ_TEST_LIBTCC, TJ_TEST_LIB_DIR, TJ_TEST_INCLUDE_DIR and TJ_TEST_TMP, an empty folder. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "internal.h"
#include "check.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static inline void open_backend(void)
{
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_backend_open(getenv("TJ_TEST_LIBTCC"), getenv("TJ_TEST_LIB_DIR"),
                          getenv("TJ_TEST_INCLUDE_DIR"), &error) == TJ_OK);
    CHECK_STR(error.text, NULL);
    tj_error_clear(&error);
}

static inline tj_piece piece(const char *file, const char *text)
{
    return (tj_piece){file, text, text ? strlen(text) : 0};
}

/* ---- files --------------------------------------------------------------------- */

/* The path is valid until eight more have been returned. */
static inline char *path_of(const char *name)
{
    static char paths[8][4096];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", getenv("TJ_TEST_TMP"), name);
    return path;
}

/* If the name has a folder, creates that, too. */
static inline char *write_file(const char *name, const char *text)
{
    char *path = path_of(name), *slash = strchr(name, '/') ? strrchr(path, '/') : NULL;
    if (slash) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "we"); /* children must not inherit it */
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
    return path;
}

static inline int count_files(const char *folder)
{
    int count = 0;
    DIR *dir = opendir(folder);
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

/* ---- one compilation ----------------------------------------------------------- */

typedef struct compiled {
    tj_status status;
    tj_unit *unit;
    tj_messages messages;
    tj_error error;
} compiled;

static inline compiled compile_in(tj_environment *environment, const char *text)
{
    compiled result = {.status = TJ_NO_MEMORY};
    tj_error_init(&result.error);
    tj_names *names = tj_names_new();
    if (names && tj_names_collect(names, text, strlen(text)))
        result.status =
            tj_compile(environment, text, names, &result.unit, &result.messages, &result.error);
    tj_names_free(names);
    return result;
}

static inline compiled compile(const char *text)
{
    return compile_in(NULL, text);
}

static inline void drop_compiled(compiled *result)
{
    tj_unit_free(result->unit);
    tj_messages_clear(&result->messages);
    tj_error_clear(&result->error);
}

/* Stores the address of a unit's function in a variable; NULL if there is none. */
#define FIND(unit, name, function)                                     \
    do {                                                               \
        void *found_ = (unit) ? tj_unit_symbol((unit), (name)) : NULL; \
        memcpy(&(function), &found_, sizeof(function));                \
    } while (0)

static inline tj_environment *new_environment(const tj_environment_options *options)
{
    tj_environment *environment = NULL;
    tj_messages messages = {0};
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_environment_new(options, &environment, &messages, &error) == TJ_OK);
    CHECK_STR(error.text, NULL);
    tj_messages_clear(&messages);
    tj_error_clear(&error);
    return environment;
}

/* ---- memory that runs out ------------------------------------------------------- */

static long allocations_left, blocks;
static bool goes_on; /* true: only one allocation fails */

static inline void *stingy(void *block, size_t old_size, size_t new_size)
{
    if (new_size == 0) {
        __atomic_fetch_sub(&blocks, block != NULL, __ATOMIC_RELAXED);
        return tj_allocate(block, old_size, 0);
    }
    long left = __atomic_fetch_sub(&allocations_left, 1, __ATOMIC_RELAXED);
    if (left == 0 || (left < 0 && !goes_on))
        return NULL;
    __atomic_fetch_add(&blocks, block == NULL, __ATOMIC_RELAXED);
    return tj_allocate(block, old_size, new_size);
}

static inline void allow(long count)
{
    __atomic_store_n(&allocations_left, count, __ATOMIC_RELAXED);
    blocks = 0;
    tj_set_allocator(stingy);
}

/* Runs a task with one more allocation each time, until it returns true. No block may leak. Returns the number of
 * runs. */
static inline long starve(bool (*task)(void *), void *context)
{
    bool enough = false;
    long count = 0;
    for (; !enough && count < 20000; count++) {
        allow(count);
        enough = task(context);
        tj_set_allocator(NULL);
        CHECK(blocks == 0);
    }
    CHECK(enough);
    return count;
}

#endif
