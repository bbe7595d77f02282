/* test_object.c: the reader of objects against what gcc writes, and against real
 * objects with bytes changed: whatever comes, it stays inside the bytes.
 */
#define _GNU_SOURCE 1
#include "internal.h"
#include "check.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *scratch;

typedef struct bytes {
    unsigned char *data;
    size_t size;
} bytes;

/* What the system's compiler makes of a text. */
static bytes compile(const char *text, const char *flags)
{
    char path[4096], command[8192];
    bytes object = {0};
    snprintf(path, sizeof path, "%s/text.c", scratch);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
    snprintf(command, sizeof command, "cc -O2 -fPIC %s -c %s -o %s/text.o", flags, path, scratch);
    CHECK(system(command) == 0);
    snprintf(path, sizeof path, "%s/text.o", scratch);
    file = fopen(path, "rb");
    CHECK(file && fseek(file, 0, SEEK_END) == 0);
    if (file) {
        object.size = (size_t)ftell(file);
        object.data = malloc(object.size);
        rewind(file);
        CHECK(fread(object.data, 1, object.size, file) == object.size);
        fclose(file);
    }
    return object;
}

static const char rich[] =
    "#include <math.h>\n"
    "static const char *const words[] = {\"a\", \"b\"};\n"
    "extern int other; int another(int);\n"
    "static const double table[] __attribute__((aligned(64))) = {1, 2, 3};\n"
    "double f(int x) { return sin(table[x]) + words[x & 1][0] + other + another(x); }\n"
    "int g(int x) { switch (x) { case 0: return 5; case 1: return another(3); case 2: return 8;\n"
    "  case 3: return 77; case 4: return another(9); case 5: return 3; default: return 0; } }\n";

static void check_refused(const char *text, const char *flags, const char *part)
{
    bytes object = compile(text, flags);
    tj_object found = {0};
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_object_check(object.data, object.size, &found, &error) == TJ_COMPILE_FAILED);
    CHECK_HAS(error.text, part);
    tj_error_clear(&error);
    tj_object_clear(&found);
    free(object.data);
}

static bool has(const tj_object *object, const char *name)
{
    for (size_t i = 0; i < object->nundefined; i++)
        if (!strcmp(object->undefined[i], name))
            return true;
    return false;
}

static void test_good(void)
{
    static const char *const flags[] = {"", "-g", "-O0", "-funwind-tables", "-ffunction-sections"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        bytes object = compile(rich, flags[i]);
        tj_object found = {0};
        tj_error error;
        tj_error_init(&error);
        tj_status status = tj_object_check(object.data, object.size, &found, &error);
        CHECK(status == TJ_OK || !strcmp(flags[i], "-g")); /* what debug data holds varies */
        if (status == TJ_OK) {
            CHECK(has(&found, "sin") && has(&found, "other") && has(&found, "another"));
            CHECK(found.nundefined == 3);
        }
        tj_error_clear(&error);
        tj_object_clear(&found);
        free(object.data);
    }
}

static void test_refused(void)
{
    check_refused("int x = 4;", "", "may write");
    check_refused("int x;", "-fno-common", "may write");
    check_refused("int x;", "-fcommon", "may write");
    check_refused("int f(void) { static int n; return ++n; }", "", "may write");
    check_refused("_Thread_local int n; int f(void) { return ++n; }", "", "may write");
    check_refused("int x __attribute__((section(\".mine\"))) = 4;", "", "may write");
    check_refused("const int x __attribute__((section(\".mine\"))) = 4;", "", "unknown section");
    check_refused("const int x __attribute__((aligned(128))) = 4;", "", "64 bytes");
    check_refused("void g(void); __attribute__((constructor)) void f(void) { g(); }", "",
                  "when it is loaded");
    check_refused("void g(void); __attribute__((destructor)) void f(void) { g(); }", "",
                  "when it is loaded");
    check_refused("static int f(int x) { return x; }\n"
                  "static void *find(void) { return f; }\n"
                  "int h(int) __attribute__((ifunc(\"find\")));",
                  "", "unknown type");
#if defined(__x86_64__)
    check_refused("int f(void); extern int x[]; int *g(int i) { return &x[i]; }",
                  "-fno-pic -mcmodel=kernel", "relocation of unknown type");
#endif
}

static void test_other_machine(void)
{
    bytes object = compile("int f(void) { return 1; }", "");
    object.data[offsetof(Elf64_Ehdr, e_machine)] = EM_SPARC;
    tj_object found = {0};
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_object_check(object.data, object.size, &found, &error) == TJ_COMPILE_FAILED);
    CHECK_HAS(error.text, "another machine");
    tj_error_clear(&error);
    free(object.data);
}

/* ---- relocations --------------------------------------------------------------- */

static tj_status look(const unsigned char *data, size_t size)
{
    tj_object found = {0};
    tj_error error;
    tj_error_init(&error);
    tj_status status = tj_object_check(data, size, &found, &error);
    CHECK(status == TJ_OK || (status == TJ_COMPILE_FAILED && error.text));
    tj_error_clear(&error);
    tj_object_clear(&found);
    return status;
}

#if defined(__x86_64__)

/* Constants of one and of four bytes behind an address from the table, as in the loads of two
 * addresses into one vector; and an address behind another. */
static const char addends[] =
    "extern int abs(int); extern long labs(long);\n"
    "int f(int x)\n"
    "{\n"
    "    unsigned long one, small, large, plain = (unsigned long)abs;\n"
    "    __asm__(\"movq abs@GOTPCREL(%%rip), %0\" : \"=r\"(one));\n"
    "    __asm__(\"imulq $77, abs@GOTPCREL(%%rip), %0\" : \"=r\"(small));\n"
    "    __asm__(\"imulq $7777, abs@GOTPCREL(%%rip), %0\" : \"=r\"(large));\n"
    "    return one == plain && small == 77 * plain && large == 7777 * plain ? abs(x) : 0;\n"
    "}\n";

static int call_loaded(tj_object *object)
{
    tj_unit *unit = NULL;
    tj_error error;
    tj_error_init(&error);
    int result = -1;
    if (tj_object_look(object, &error) == TJ_OK &&
        tj_load_object(NULL, object, &unit, &error) == TJ_OK) {
        int (*function)(int);
        void *address = tj_unit_symbol(unit, "f");
        memcpy(&function, &address, sizeof function);
        result = function(-5);
    }
    CHECK(!error.text);
    tj_unit_free(unit);
    tj_object_clear(object);
    tj_error_clear(&error);
    return result;
}

static void test_addends(void)
{
    bytes object = compile(addends, "");
    tj_object loaded = {.fd = memfd_create("object", MFD_ALLOW_SEALING)};
    int fd = loaded.fd;
    check_refused(addends, "", "misread");
    CHECK(write(fd, object.data, object.size) == (ssize_t)object.size);
    CHECK(call_loaded(&loaded) == 5);
    loaded.fd = fd;
    CHECK(call_loaded(&loaded) == 5); /* once is enough */
    close(fd);
    tj_object_settle(object.data, object.size);
    CHECK(look(object.data, object.size) == TJ_OK);
    free(object.data);
}

#endif

/* ---- changed bytes ---------------------------------------------------------- */

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static size_t page_size;

/* Bytes that end where memory ends: reading one more is a fault. */
static unsigned char *at_the_edge(const bytes *object)
{
    size_t room = (object->size + page_size - 1) / page_size * page_size;
    unsigned char *map =
        mmap(NULL, room + page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(map != MAP_FAILED && mprotect(map + room, page_size, PROT_NONE) == 0);
    return map + room - object->size;
}

static void test_changed(void)
{
    static const unsigned char values[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0x40};
    bytes object = compile(rich, "");
    unsigned char *data = at_the_edge(&object);
    uint32_t state = 1;
    int accepted = 0;
    Elf64_Ehdr header;
    memcpy(&header, object.data, sizeof header);
    for (int round = 0; round < 60000; round++) {
        memcpy(data, object.data, object.size);
        /* Mostly where the tables are: a change of code is nobody's to find. */
        size_t begin = round % 3 == 0 ? 0 : round % 3 == 1 ? header.e_shoff : object.size / 4;
        for (uint32_t i = next_random(&state) % 3 + 1; i > 0; i--) {
            size_t at = begin + next_random(&state) % (object.size - begin);
            if (round % 3 == 0)
                at %= sizeof header;
            data[at] = values[next_random(&state) % sizeof values];
        }
        if (round % 2)
            tj_object_settle(data, object.size);
        accepted += look(data, object.size) == TJ_OK;
    }
    CHECK(accepted > 1000 && accepted < 59000);
    free(object.data);
}

static void test_cut(void)
{
    bytes object = compile(rich, "");
    for (size_t size = 0; size < object.size; size++) {
        unsigned char *data = at_the_edge(&(bytes){NULL, size ? size : 1});
        memcpy(data, object.data, size);
        tj_object_settle(data, size);
        CHECK(look(data, size) == TJ_COMPILE_FAILED);
    }
    CHECK(look(object.data, object.size) == TJ_OK);
    free(object.data);
}

/* ---- fused instructions ------------------------------------------------------ */

static void test_fused(void)
{
#if defined(__x86_64__)
    static const unsigned char vex[] = {0xc4, 0xe2, 0xf1, 0xb9, 0xc2}; /* vfmadd231sd */
    static const unsigned char evex[] = {0x90, 0x62, 0xf2, 0xf5,
                                         0x48, 0xb8, 0xc2}; /* vfmadd231pd */
    /* vmulpd %ymm12, %ymm9, %ymm8 ends with what vaddpd makes look like vfnmadd231sd. */
    static const unsigned char apart[] = {0xc4, 0x41, 0x35, 0x59, 0xc4, 0x62, 0xf1, 0xbd,
                                          0x38, 0x58, 0x3d, 0,    0,    0,    0,    0xc3};
    static const unsigned char unknown[] = {0x06, 0xc4, 0xe2, 0xf1, 0xb9, 0xc2};
    CHECK(tj_code_fuses(vex, sizeof vex, false));
    CHECK(tj_code_fuses(evex, sizeof evex, false));
    CHECK(!tj_code_fuses(apart, sizeof apart, false));
    CHECK(tj_code_fuses(unknown, sizeof unknown, false));
    static const unsigned char in_turn[] = {0xc4, 0xe2, 0xf1, 0x96, 0xc2}; /* vfmaddsub132pd */
    CHECK(tj_code_fuses(in_turn, sizeof in_turn, true) && !tj_code_fuses(vex, sizeof vex, true));
    for (size_t size = 0; size < sizeof vex; size++)
        CHECK(!tj_code_fuses(vex, size, false));
    for (size_t size = 12; size < sizeof apart; size++)
        tj_code_fuses(apart, size, false); /* reads nothing behind the end, says the sanitizer */
    CHECK(tj_code_length(apart, sizeof apart) == 5 && tj_code_length(apart + 5, 10) == 10);
    CHECK(tj_code_length(apart + 5, 9) == 0 && tj_code_length(unknown, 1) == 0);
#endif
}

int main(void)
{
    scratch = getenv("TJ_TEST_TMP");
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    RUN(test_good);
    RUN(test_refused);
    RUN(test_other_machine);
#if defined(__x86_64__)
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_backend_open(getenv("TJ_TEST_LIBTCC"), getenv("TJ_TEST_LIB_DIR"),
                          getenv("TJ_TEST_INCLUDE_DIR"), &error) == TJ_OK);
    RUN(test_addends);
#endif
    RUN(test_changed);
    RUN(test_cut);
    RUN(test_fused);
    return check_report();
}
