/* test_object.c: tests the reader of objects on gcc's output, and on such objects with changed bytes: it must never
 * read outside of them. */
#define _GNU_SOURCE 1
#include "program.h"

#include <elf.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct bytes {
    unsigned char *data;
    size_t size;
} bytes;

/* Returns the object that the system's compiler makes of a text. */
static bytes compile_object(const char *text, const char *flags)
{
    char command[16384];
    bytes object = {0};
    const char *path = write_file("text.c", text), *made = path_of("text.o");
    snprintf(command, sizeof command, "cc -O2 -fPIC %s -c %s -o %s", flags, path, made);
    CHECK(system(command) == 0);
    FILE *file = fopen(made, "rb");
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

/* The object must be rejected with an error that contains `part`. */
static void check_bytes(const bytes *object, const char *part)
{
    tj_object found = {0};
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_object_check(object->data, object->size, &found, &error) == TJ_COMPILE_FAILED);
    CHECK_HAS(error.text, part);
    tj_error_clear(&error);
    tj_object_clear(&found);
}

static void check_refused(const char *text, const char *flags, const char *part)
{
    bytes object = compile_object(text, flags);
    check_bytes(&object, part);
    free(object.data);
}

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

static bool has(const tj_object *object, const char *name)
{
    for (size_t i = 0; i < object->undefined.count; i++)
        if (!strcmp(object->undefined.items[i], name))
            return true;
    return false;
}

static void test_good(void)
{
    static const char *const flags[] = {"", "-g", "-O0", "-funwind-tables", "-ffunction-sections"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        bytes object = compile_object(rich, flags[i]);
        tj_object found = {0};
        tj_error error;
        tj_error_init(&error);
        tj_status status = tj_object_check(object.data, object.size, &found, &error);
        CHECK(status == TJ_OK || !strcmp(flags[i], "-g")); /* debug data varies */
        if (status == TJ_OK) {
            CHECK(has(&found, "sin") && has(&found, "other") && has(&found, "another"));
            CHECK(found.undefined.count == 3);
        }
        tj_error_clear(&error);
        tj_object_clear(&found);
        free(object.data);
    }
}

/* gcc puts the array into .data, without a name. */
static void test_constants_without_names(void)
{
    bytes object = compile_object(
        "#include <math.h>\n"
        "double f(int x)\n"
        "{ double (*functions[])(double) = {sin, cos, tan, exp, log, sinh, cosh, tanh};\n"
        "  void *volatile addresses[] = {(void *)cos, (void *)sin, (void *)exp};\n"
        "  return functions[x & 7](x) + (addresses[x & 1] == 0); }\n",
        "-fno-builtin");
    CHECK(look(object.data, object.size) == TJ_OK);
    free(object.data);
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
#elif defined(__aarch64__)
    check_refused("int g(int); int f(int x)\n"
                  "{ __asm__ goto(\"cbz %w0, g\" : : \"r\"(x) : : out); out: return g(x); }",
                  "", "relocation of unknown type");
    check_refused("extern int x; int *f(void)\n"
                  "{ int *at; __asm__(\"adr %0, x\" : \"=r\"(at)); return at; }",
                  "", "relocation of unknown type");
#endif
}

static void test_other_machine(void)
{
    bytes object = compile_object("int f(void) { return 1; }", "");
    object.data[offsetof(Elf64_Ehdr, e_machine)] = EM_SPARC;
    check_bytes(&object, "another machine");
    free(object.data);
}

/* ---- relocations --------------------------------------------------------------- */

static int call_loaded(tj_object *object)
{
    tj_unit *unit = NULL;
    tj_error error;
    tj_error_init(&error);
    int result = -1;
    if (tj_object_look(object, &error) == TJ_OK &&
        tj_load_object(NULL, object, &unit, &error) == TJ_OK) {
        int (*function)(int) = NULL;
        FIND(unit, "f", function);
        result = function ? function(-5) : 0;
    }
    CHECK(!error.text);
    tj_unit_free(unit);
    tj_object_clear(object);
    tj_error_clear(&error);
    return result;
}

#if defined(__x86_64__)

/* Constants of one and of four bytes after an address from the table, as when two addresses are loaded into one
 * vector; and an address after another one. */
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

static void test_addends(void)
{
    bytes object = compile_object(addends, "");
    tj_object loaded = {.fd = memfd_create("object", MFD_ALLOW_SEALING)};
    int fd = loaded.fd;
    check_refused(addends, "", "misread");
    CHECK(write(fd, object.data, object.size) == (ssize_t)object.size);
    CHECK(call_loaded(&loaded) == 5);
    loaded.fd = fd;
    CHECK(call_loaded(&loaded) == 5); /* was settled by the first load */
    close(fd);
    tj_object_settle(object.data, object.size);
    CHECK(look(object.data, object.size) == TJ_OK);
    free(object.data);
}

#else

/* Has each relocation that is accepted. f(-5) is 5 if all addresses are right. */
static const char relocations[] =
    "extern int abs(int), labs_or_not(int) __asm__(\"abs\");\n"
    "static const struct { long a, b; double c; unsigned char d[8]; } s\n"
    "    __asm__(\"s\") __attribute__((aligned(16), used)) =\n"
    "    {0x1122334455667788, 99, 2.5, {1, 2, 3, 4}};\n"
    "static const int *const table[] = {(const int *)&s.c, (const int *)&s};\n"
    "__asm__(\".section .rodata\\n.balign 4\\naway: .long s + 8 - .\\n.text\");\n"
    "extern const int away __attribute__((visibility(\"hidden\")));\n"
    "int g(int x) { return labs_or_not(x); }\n"
    "int f(int x)\n"
    "{\n"
    "    unsigned long b, h, w, l, q, page;\n"
    "    const int *away_at;\n"
    "    __asm__(\"adrp %0, s\\n\\tldrb %w0, [%0, #:lo12:s + 1]\" : \"=r\"(b));\n"
    "    __asm__(\"adrp %0, s\\n\\tldrh %w0, [%0, #:lo12:s + 2]\" : \"=r\"(h));\n"
    "    __asm__(\"adrp %0, s\\n\\tldr %w0, [%0, #:lo12:s + 4]\" : \"=r\"(w));\n"
    "    __asm__(\"adrp %0, s\\n\\tldr %0, [%0, #:lo12:s + 8]\" : \"=r\"(l));\n"
    "    __asm__(\"adrp %0, s\\n\\tldr q0, [%0, #:lo12:s + 16]\\n\\tumov %0, v0.d[1]\"\n"
    "            : \"=r\"(q) : : \"v0\");\n"
    "    __asm__(\"adrp %0, s\\n\\tadd %0, %0, #:lo12:s\" : \"=r\"(page));\n"
    "    __asm__(\"adrp %0, away\\n\\tadd %0, %0, #:lo12:away\" : \"=r\"(away_at));\n"
    "    int (*const volatile by_table)(int) = abs;\n"
    "    return b == 0x77 && h == 0x5566 && w == 0x11223344 && l == 99 && q == 0x04030201 &&\n"
    "                   page == (unsigned long)&s &&\n"
    "                   *(const long *)((const char *)away_at + *away_at) == 99 &&\n"
    "                   *(const double *)table[x + 5] == 2.5 && table[x + 6] == (const int *)&s\n"
    "               ? by_table(g(x)) : 0;\n"
    "}\n";

static void test_relocations(void)
{
    bytes object = compile_object(relocations, "");
    tj_object loaded = {.fd = memfd_create("object", MFD_ALLOW_SEALING)};
    CHECK(write(loaded.fd, object.data, object.size) == (ssize_t)object.size);
    int fd = loaded.fd;
    CHECK(call_loaded(&loaded) == 5);
    close(fd);
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

/* Returns a copy whose end is the end of memory: reading one more byte is a fault. */
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
    bytes object = compile_object(rich, "");
    unsigned char *data = at_the_edge(&object);
    uint32_t state = 1;
    int accepted = 0;
    Elf64_Ehdr header;
    memcpy(&header, object.data, sizeof header);
    for (int round = 0; round < 20000; round++) {
        memcpy(data, object.data, object.size);
        /* Changes mostly the tables: a change of code cannot be detected. */
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
    CHECK(accepted > 300 && accepted < 19700);
    free(object.data);
}

static void check_refused_bytes(const bytes *object, const char *part)
{
    tj_object found = {0};
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_object_check(object->data, object->size, &found, &error) == TJ_COMPILE_FAILED);
    CHECK_HAS(error.text, part);
    tj_error_clear(&error);
    tj_object_clear(&found);
}

/* Tests a relocation that ends after its section, and symbols that begin before address 0. */
static void test_outside(void)
{
    bytes object = compile_object(rich, "");
    Elf64_Ehdr header;
    memcpy(&header, object.data, sizeof header);
    int count = 0;
    for (size_t i = 1; i < header.e_shnum; i++) {
        unsigned char *at = object.data + header.e_shoff + i * sizeof(Elf64_Shdr);
        Elf64_Shdr section, target, changed;
        memcpy(&section, at, sizeof section);
        if (section.sh_type == SHT_RELA && count++ == 0) {
            Elf64_Rela one;
            memcpy(&target, object.data + header.e_shoff + section.sh_info * sizeof target,
                   sizeof target);
            memcpy(&one, object.data + section.sh_offset, sizeof one);
            Elf64_Rela moved = {target.sh_size - 3, one.r_info, one.r_addend};
            memcpy(object.data + section.sh_offset, &moved, sizeof moved);
            check_refused_bytes(&object, "leads outside");
            memcpy(object.data + section.sh_offset, &one, sizeof one);
        } else if (section.sh_type == SHT_SYMTAB) {
            changed = section;
            changed.sh_offset = 0 - (uint64_t)sizeof(Elf64_Sym);
            memcpy(at, &changed, sizeof changed);
            check_refused_bytes(&object, "no table of symbols");
            memcpy(at, &section, sizeof section);
        }
    }
    CHECK(count > 0 && look(object.data, object.size) == TJ_OK);
    free(object.data);
}

static void test_cut(void)
{
    bytes object = compile_object(rich, "");
    for (size_t size = 0; size < object.size; size++) {
        unsigned char *data = at_the_edge(&(bytes){NULL, size ? size : 1});
        memcpy(data, object.data, size);
        tj_object_settle(data, size);
        CHECK(look(data, size) == TJ_COMPILE_FAILED);
    }
    CHECK(look(object.data, object.size) == TJ_OK);
    free(object.data);
}

/* ---- lines --------------------------------------------------------------------- */

/* Looks up each address of the code of f(). Returns how many have a line; *other: of these, those of line 77. */
static int count_lines(const unsigned char *data, size_t size, int *other)
{
    static const char code[1000];
    const tj_anchor anchors[] = {{"f", code}, {NULL, NULL}};
    tj_lines *lines = NULL;
    tj_error error;
    int fd = memfd_create("object", 0), count = 0;
    tj_error_init(&error);
    *other = 0;
    CHECK(write(fd, data, size) == (ssize_t)size);
    tj_lines_read(fd, NULL, anchors, &lines, &error);
    for (size_t i = 0; lines && i < sizeof code; i++) {
        tj_messages place = {0};
        bool found = tj_lines_find(code + i, false, &place);
        CHECK(!found || (place.count == 1 && place.items[0].line > 0));
        count += found;
        *other += found && place.items[0].line == 77 && !strcmp(place.items[0].file, "a/other.c");
        tj_messages_clear(&place);
    }
    tj_lines_free(lines);
    tj_error_clear(&error);
    close(fd);
    return count;
}

static void test_lines(void)
{
    bytes object = compile_object("int f(int x)\n{\nwhile (x < 100) x *= x + 1;\n"
                                  "#line 77 \"a/other.c\"\nreturn x / 3; }\n",
                                  "-g1 -gdwarf-4");
    int other, changed = 0;
    int count = count_lines(object.data, object.size, &other);
    CHECK(count > 10 && other > 0 && other < count);
    const unsigned char *table = memmem(object.data, object.size, "a\0", 2);
    uint32_t state = 1;
    for (int round = 0; round < 3000; round++) {
        unsigned char *data = malloc(object.size);
        memcpy(data, object.data, object.size);
        size_t begin = round % 2 || !table ? 0 : (size_t)(table - object.data) - 60;
        for (uint32_t i = next_random(&state) % 3 + 1; i > 0; i--)
            data[begin + next_random(&state) % (begin ? 150 : object.size)] =
                (unsigned char)next_random(&state);
        changed += count_lines(data, object.size, &other) != count;
        free(data);
    }
    CHECK(changed > 100);
    free(object.data);
}

/* ---- fused instructions ------------------------------------------------------ */

static void test_fused_x86_64(void)
{
    static const unsigned char vex[] = {0xc4, 0xe2, 0xf1, 0xb9, 0xc2}; /* vfmadd231sd */
    static const unsigned char evex[] = {0x90, 0x62, 0xf2, 0xf5,
                                         0x48, 0xb8, 0xc2}; /* vfmadd231pd */
    /* The end of vmulpd %ymm12, %ymm9, %ymm8 and the vaddpd after it look like vfnmadd231sd. */
    static const unsigned char apart[] = {0xc4, 0x41, 0x35, 0x59, 0xc4, 0x62, 0xf1, 0xbd,
                                          0x38, 0x58, 0x3d, 0,    0,    0,    0,    0xc3};
    static const unsigned char unknown[] = {0x06, 0xc4, 0xe2, 0xf1, 0xb9, 0xc2};
    CHECK(tj_x86_64_fuses(vex, sizeof vex, false));
    CHECK(tj_x86_64_fuses(evex, sizeof evex, false));
    CHECK(!tj_x86_64_fuses(apart, sizeof apart, false));
    CHECK(tj_x86_64_fuses(unknown, sizeof unknown, false));
    static const unsigned char in_turn[] = {0xc4, 0xe2, 0xf1, 0x96, 0xc2}; /* vfmaddsub132pd */
    CHECK(tj_x86_64_fuses(in_turn, sizeof in_turn, true) &&
          !tj_x86_64_fuses(vex, sizeof vex, true));
    for (size_t size = 0; size < sizeof vex; size++)
        CHECK(!tj_x86_64_fuses(vex, size, false));
    for (size_t size = 12; size < sizeof apart; size++)
        tj_x86_64_fuses(apart, size, false); /* a sanitizer would report a read behind the end */
    CHECK(tj_x86_64_length(apart, sizeof apart) == 5 && tj_x86_64_length(apart + 5, 10) == 10);
    CHECK(tj_x86_64_length(apart + 5, 9) == 0 && tj_x86_64_length(unknown, 1) == 0);
}

/* The words are encoded by GNU as. */
static void check_aarch64(const uint32_t *words, size_t count, bool fuses, bool fuses_beside_fma)
{
    for (size_t i = 0; i < count; i++) {
        const unsigned char *code = (const unsigned char *)&words[i];
        CHECK(tj_aarch64_fuses(code, 4, false) == fuses);
        CHECK(tj_aarch64_fuses(code, 4, true) == fuses_beside_fma);
        CHECK(!tj_aarch64_fuses(code, 3, false));
    }
}

static void test_fused_aarch64(void)
{
    static const uint32_t fused[] = {
        0x1f420c20, /* fmadd d0, d1, d2, d3 */
        0x1f1df3df, /* fmsub s31, s30, s29, s28 */
        0x1fe20c20, /* fnmadd h0, h1, h2, h3 */
        0x1f628c20, /* fnmsub d0, d1, d2, d3 */
        0x4e62cc20, /* fmla v0.2d, v1.2d, v2.2d */
        0x4e3dcfdf, /* fmla v31.4s, v30.4s, v29.4s */
        0x0ea2cc20, /* fmls v0.2s, v1.2s, v2.2s */
        0x4e420c20, /* fmla v0.8h, v1.8h, v2.8h */
        0x0edd0fdf, /* fmls v31.4h, v30.4h, v29.4h */
        0x4fc21820, /* fmla v0.2d, v1.2d, v2.d[1] */
        0x4fa21820, /* fmla v0.4s, v1.4s, v2.s[3] */
        0x4fbe5be0, /* fmls v0.4s, v31.4s, v30.s[3] */
        0x4f321820, /* fmla v0.8h, v1.8h, v2.h[7] */
        0x4f3f5820, /* fmls v0.8h, v1.8h, v15.h[7] */
        0x5fc21820, /* fmla d0, d1, v2.d[1] */
        0x5fbf5820, /* fmls s0, s1, v31.s[3] */
        0x5f321020, /* fmla h0, h1, v2.h[3] */
        0x65e20020, /* fmla z0.d, p0/m, z1.d, z2.d */
        0x65a227e0, /* fmls z0.s, p1/m, z31.s, z2.s */
        0x65624020, /* fnmla z0.h, p0/m, z1.h, z2.h */
        0x65e26020, /* fnmls z0.d, p0/m, z1.d, z2.d */
        0x65e28020, /* fmad z0.d, p0/m, z1.d, z2.d */
        0x65e2a020, /* fmsb z0.d, p0/m, z1.d, z2.d */
        0x65a2c020, /* fnmad z0.s, p0/m, z1.s, z2.s */
        0x65e2e020, /* fnmsb z0.d, p0/m, z1.d, z2.d */
        0x64f20020, /* fmla z0.d, z1.d, z2.d[1] */
        0x64ba0020, /* fmla z0.s, z1.s, z2.s[3] */
        0x647a0420, /* fmls z0.h, z1.h, z2.h[7] */
    };
    static const uint32_t complex[] = {
        0x6ec2cc20, /* fcmla v0.2d, v1.2d, v2.2d, #90 */
        0x6e82dc20, /* fcmla v0.4s, v1.4s, v2.4s, #270 */
        0x6e42c420, /* fcmla v0.8h, v1.8h, v2.8h, #0 */
        0x2e42d420, /* fcmla v0.4h, v1.4h, v2.4h, #180 */
        0x6f823820, /* fcmla v0.4s, v1.4s, v2.s[1], #90 */
        0x6f627020, /* fcmla v0.8h, v1.8h, v2.h[1], #270 */
        0x64c22020, /* fcmla z0.d, p0/m, z1.d, z2.d, #90 */
        0x64f21420, /* fcmla z0.s, z1.s, z2.s[1], #90 */
        0x64aa1420, /* fcmla z0.h, z1.h, z2.h[1], #90 */
    };
    static const uint32_t others[] = {
        0x6ec2e420, /* fcadd v0.2d, v1.2d, v2.2d, #90 */
        0x64c08040, /* fcadd z0.d, p0/m, z0.d, z2.d, #90 */
        0x4f129020, /* fmul v0.8h, v1.8h, v2.h[1] */
        0x64aa2020, /* fmul z0.s, z1.s, z2.s[1] */
        0x65c20820, /* fmul z0.d, z1.d, z2.d */
        0x65c08040, /* fadd z0.d, p0/m, z0.d, z2.d */
        0x65c26020, /* fcmeq p0.d, p0/z, z1.d, z2.d */
        0x65cda020, /* fsqrt z0.d, p0/m, z1.d */
        0x65c02020, /* faddv d0, p0, z1.d */
        0x04e2b020, /* ftssel z0.d, z1.d, z2.d */
        0x65d12030, /* fcmle p0.d, p0/z, z1.d, #0.0 */
        0x65dea020, /* fcvtzs z0.d, p0/m, z1.d */
        0x64d08020, /* faddp z0.d, p0/m, z0.d, z1.d */
        0x65cd8020, /* fdiv z0.d, p0/m, z0.d, z1.d */
        0x64cba020, /* fcvtlt z0.d, p0/m, z1.s */
        0x4ea29420, /* mla v0.4s, v1.4s, v2.4s */
        0x6e828420, /* sqrdmlah v0.4s, v1.4s, v2.4s */
        0x6fa2e020, /* udot v0.4s, v1.16b, v2.4b[1] */
        0x4e62d420, /* fadd v0.2d, v1.2d, v2.2d */
        0x1e620820, /* fmul d0, d1, d2 */
        0x1e621c20, /* fcsel d0, d1, d2, ne */
        0x6ee2d420, /* fabd v0.2d, v1.2d, v2.2d */
        0x4ea2c420, /* fminnm v0.4s, v1.4s, v2.4s */
        0x6ea28c20, /* cmeq v0.4s, v1.4s, v2.4s */
        0x04824020, /* mla z0.s, p0/m, z1.s, z2.s */
        0xa5e0a000, /* ld1d {z0.d}, p0/z, [x0] */
    };
    check_aarch64(fused, sizeof fused / sizeof *fused, true, false);
    check_aarch64(complex, sizeof complex / sizeof *complex, true, true);
    check_aarch64(others, sizeof others / sizeof *others, false, false);
    CHECK(tj_aarch64_fuses((const unsigned char *)others, sizeof others, false) == false);
}

int main(void)
{
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    open_backend();
    RUN(test_good);
    RUN(test_constants_without_names);
    RUN(test_refused);
    RUN(test_other_machine);
#if defined(__x86_64__)
    RUN(test_addends);
#else
    RUN(test_relocations);
#endif
    RUN(test_changed);
    RUN(test_outside);
    RUN(test_cut);
    RUN(test_lines);
    RUN(test_fused_x86_64);
    RUN(test_fused_aarch64);
    return check_report();
}
