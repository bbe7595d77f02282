/* test_memory.c: tests memory that runs out while libtcc works. Each allocation of tinyjit and libtcc fails in turn,
 * alone or with all later ones. Nothing may leak: no block, no descriptor, no executable page. Needs a compiler "cc". */
#define _GNU_SOURCE 1
#include "program.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define DESCRIPTORS count_files("/proc/self/fd")

/* Counts the lines of /proc/self/maps with these permissions. */
static int count_mappings(const char *permissions)
{
    char line[4096];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        count += strstr(line, permissions) != NULL;
    if (maps)
        fclose(maps);
    return count;
}

/* ---- tasks ------------------------------------------------------------------ */

/* A task's status, and the value of its f(3). */
typedef struct outcome {
    tj_status status;
    int value;
} outcome;

static int call(const tj_unit *unit)
{
    int (*f)(int) = NULL;
    FIND(unit, "f", f);
    return f ? f(3) : -1;
}

/* Compiles a text in an environment with include folders, macros and sources. */
static outcome compile_all(const char *text, const char *const *sources)
{
    const char *dirs[] = {getenv("TJ_TEST_TMP"), NULL}, *macros[] = {"A=1", NULL};
    tj_environment_options options = {
        .include_dirs = dirs, .define_macros = macros, .sources = sources};
    tj_environment *environment = NULL;
    compiled r = {0};
    tj_error_init(&r.error);
    r.status = tj_environment_new(&options, &environment, &r.messages, &r.error);
    if (r.status == TJ_OK) {
        drop_compiled(&r);
        r = compile_in(environment, text);
    }
    outcome result = {r.messages.failed ? TJ_NO_MEMORY : r.status, call(r.unit)};
    drop_compiled(&r);
    tj_environment_free(environment);
    return result;
}

static outcome plain(void)
{
    return compile_all(
        "static int table[500] = {1, 2};\nint f(int x) { return abs(-x) + table[1] + A; }\n", NULL);
}

/* Files are open when memory runs out. */
static outcome include(void)
{
    return compile_all("#include \"one.h\"\nint f(int x) { return x + ONE + TWO + THREE; }\n",
                       NULL);
}

static outcome sources(void)
{
    const char *paths[] = {path_of("own.c"), NULL};
    return compile_all("int own(int); int f(int x) { return own(x); }\n", paths);
}

/* Needs a second attempt, with libtcc1.a. */
static outcome archive(void)
{
    return compile_all("void *alloca(unsigned long);\n"
                       "int f(int x) { char *p = alloca(100); p[99] = x; return p[99]; }\n",
                       NULL);
}

static outcome faulty(void)
{
    return compile_all("#include \"one.h\"\nint f(int x) { return x + y; }\n", NULL);
}

static int object_fd = -1;

static outcome object(void)
{
    outcome result = {TJ_NO_MEMORY, -1};
    tj_object found = {.fd = object_fd};
    tj_unit *unit = NULL;
    tj_error error;
    tj_error_init(&error);
    result.status = tj_object_look(&found, &error);
    if (!result.status)
        result.status = tj_load_object(NULL, &found, &unit, &error);
    if (!result.status)
        result.value = call(unit);
    tj_unit_free(unit);
    tj_object_clear(&found);
    tj_error_clear(&error);
    return result;
}

/* Makes an object with so much data that the reserve is too small, and libtcc must be abandoned. */
static void make_object(void)
{
    char command[8192], part[65536];
    write_file("object.c", "const int table[3000000] = {5, 6, 7, 8};\n"
                           "extern int abs(int); int f(int x) { return abs(table[x]); }\n");
    snprintf(command, sizeof command, "cc -O1 -fPIC -c %s -o %s", path_of("object.c"),
             path_of("object.o"));
    CHECK(system(command) == 0);
    int file = open(path_of("object.o"), O_RDONLY);
    object_fd = memfd_create("object", MFD_ALLOW_SEALING);
    for (ssize_t length; (length = read(file, part, sizeof part)) > 0;)
        CHECK(write(object_fd, part, (size_t)length) == length);
    close(file);
}

/* ---- every allocation fails -------------------------------------------------- */

/* Returns how many allocations failed. */
static long sweep_from_first(outcome (*task)(void), outcome wanted)
{
    outcome done = task(); /* allocates what stays forever */
    int descriptors = DESCRIPTORS;
    long k = 0;
    for (done.status = TJ_NO_MEMORY; done.status == TJ_NO_MEMORY && k < 20000; k++) {
        allow(k);
        done = task();
        tj_set_allocator(NULL);
        CHECK(blocks == 0);
    }
    CHECK(DESCRIPTORS == descriptors);
    CHECK(done.status == wanted.status && done.value == wanted.value);
    CHECK(count_mappings("rwxp") == 0);
    done = task();
    CHECK(done.status == wanted.status && done.value == wanted.value);
    return k;
}

static long sweep(outcome (*task)(void), tj_status status, int value)
{
    outcome wanted = {status, value};
    goes_on = false;
    long failed = sweep_from_first(task, wanted);
    goes_on = true;
    return failed + sweep_from_first(task, wanted);
}

static void test_every_allocation_fails(void)
{
    write_file("one.h", "#define ONE 1\n#include \"two.h\"\n");
    write_file("two.h", "#define TWO 2\n#include \"three.h\"\n");
    write_file("three.h", "#define THREE 3\nstatic inline int more(int x) { return x; }\n");
    write_file("own.c",
               "#include \"one.h\"\nint kept;\nint own(int x) { return x + THREE + A; }\n");
    long failed = sweep(plain, TJ_OK, 6);
    failed += sweep(include, TJ_OK, 9);
    failed += sweep(sources, TJ_OK, 7);
    failed += sweep(archive, TJ_OK, 3);
    failed += sweep(faulty, TJ_COMPILE_FAILED, -1);
    make_object();
    failed += sweep(object, TJ_OK, 8);
    printf("%ld allocations failed\n", failed);
}

/* ---- the limit ---------------------------------------------------------------- */

static tj_status compile_small(const char *text)
{
    return compile_all(text, NULL).status;
}

static void test_what_libtcc_holds_is_counted(void)
{
    tj_region region = {.limit = SIZE_MAX};
    void *block = tj_region_resize(&region, NULL, 16);
    CHECK(block && tj_live_count(TJ_LIVE_LIBTCC_BLOCKS) == 1);
    CHECK(tj_live_count(TJ_LIVE_LIBTCC_BYTES) == 16);
    CHECK(tj_region_resize(&region, block, 50) && tj_live_count(TJ_LIVE_LIBTCC_BYTES) == 50);
    tj_region_clear(&region);
    CHECK(!tj_live_count(TJ_LIVE_LIBTCC_BLOCKS) && !tj_live_count(TJ_LIVE_LIBTCC_BYTES));
}

static void test_limit(void)
{
    int descriptors = DESCRIPTORS;
    tj_set_compile_memory((size_t)32 << 20);
    CHECK(compile_small("static char big[30000000]; int f(int x) { return big[x]; }\n") == TJ_OK);
    CHECK(compile_small("static char big[40000000]; int f(int x) { return big[x]; }\n") ==
          TJ_TOO_LARGE);
    CHECK(compile_small(
              "static char big[4000000000][1000]; int f(int x) { return big[x][0]; }\n") != TJ_OK);
    CHECK(compile_small("int big[] = {[0 ... 9999999] = 1}; int f(int x) { return big[x]; }\n") ==
          TJ_TOO_LARGE);
    CHECK(compile_small("int big[100000000] = {1}; int f(int x) { return big[x]; }\n") ==
          TJ_TOO_LARGE);
    CHECK(compile_small("int f(int x) { return x; }\n") == TJ_OK);
    tj_set_compile_memory(TJ_COMPILE_MEMORY);
    CHECK(DESCRIPTORS == descriptors);
    CHECK(count_mappings("rwxp") == 0);
}

/* ---- pages -------------------------------------------------------------------- */

/* Blocks of all sizes side by side must keep their contents. */
static void test_pages(void)
{
    enum {
        COUNT = 300
    };
    static struct {
        unsigned char *memory;
        size_t size;
    } all[COUNT];
    unsigned state = 7;
    tj_compile_lock();
    for (int round = 0; round < 20000; round++) {
        state = state * 1103515245u + 12345u;
        unsigned i = state / 65536 % COUNT;
        if (all[i].memory) {
            CHECK(all[i].memory[0] == i % 251 && all[i].memory[all[i].size - 1] == i % 251);
            tj_pages_free(all[i].memory, all[i].size);
            all[i].memory = NULL;
            continue;
        }
        all[i].size = 1 + state % (round % 50 ? 20000 : 2000000);
        all[i].memory = tj_pages_alloc(all[i].size);
        CHECK(all[i].memory && (uintptr_t)all[i].memory % 4096 == 0);
        tj_pages_mark_end(all[i].memory, all[i].size);
        all[i].memory[0] = (unsigned char)(i % 251);
        if (round % 3 == 0)
            all[i].size = tj_pages_trim(all[i].memory, all[i].size);
        all[i].memory[all[i].size - 1] = (unsigned char)(i % 251);
        CHECK(tj_pages_make_code(all[i].memory, all[i].size));
    }
    for (int i = 0; i < COUNT; i++)
        if (all[i].memory)
            tj_pages_free(all[i].memory, all[i].size);
    tj_compile_unlock();
    CHECK(count_mappings("rwxp") == 0);
}

int main(void)
{
    open_backend();
    RUN(test_pages);
    RUN(test_what_libtcc_holds_is_counted);
    RUN(test_limit);
    RUN(test_every_allocation_fails);
    return check_report();
}
