/* test_library.c: finding shared libraries by name. Needs TJ_TEST_TMP, an empty
 * folder.
 */
#define _GNU_SOURCE 1
#include "tinyjit.h"
#include "check.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char *join(const char *dir, const char *file)
{
    tj_text path = {0};
    tj_text_printf(&path, "%s/%s", dir, file);
    return path.data;
}

static void write_bytes(const char *dir, const char *file, const char *bytes, size_t length)
{
    char *path = join(dir, file);
    FILE *out = fopen(path, "wb");
    CHECK(out && fwrite(bytes, 1, length, out) == length);
    if (out)
        fclose(out);
    tj_free(path);
}

static void write_text(const char *dir, const char *file, const char *text)
{
    write_bytes(dir, file, text, strlen(text));
}

/* The head of a shared object of this machine: the test program's own, with
 * the type of a shared object. */
static void write_fake(const char *dir, const char *file, int machine_off)
{
    char head[64] = {0};
    FILE *self = fopen("/proc/self/exe", "rb");
    CHECK(self && fread(head, 1, sizeof head, self) == sizeof head);
    if (self)
        fclose(self);
    head[16] = 3;
    head[18] = (char)(head[18] + machine_off);
    write_bytes(dir, file, head, sizeof head);
}

static char *find(const char *name, const char *dir)
{
    const char *dirs[] = {dir, NULL};
    tj_error error;
    tj_error_init(&error);
    char *path = tj_library_find(name, dirs, &error);
    CHECK((path == NULL) == (error.status != TJ_OK));
    tj_error_clear(&error);
    return path;
}

static void expect(const char *name, const char *dir, const char *file)
{
    char *path = find(name, dir), *wanted = join(dir, file);
    CHECK_STR(path, wanted);
    tj_free(path);
    tj_free(wanted);
}

static void test_system_libraries(void)
{
    static const char *const names[] = {"m", "c", "pthread", "dl"};
    for (int i = 0; i < 4; i++) {
        char *path = find(names[i], NULL);
        CHECK(path != NULL);
        void *handle = path ? dlopen(path, RTLD_NOW) : NULL;
        CHECK(handle != NULL);
        if (handle)
            dlclose(handle);
        tj_free(path);
    }
}

static void test_versions(const char *dir)
{
    write_fake(dir, "libver.so.2.9", 0);
    write_fake(dir, "libver.so.10", 0);
    write_fake(dir, "libver.so.10.1", 0);
    write_fake(dir, "libver.so.11", 1); /* another machine's */
    write_text(dir, "libver.so.12", "not a library");
    write_text(dir, "libver.so.txt", "not a library");
    write_fake(dir, "libver.so.99.bak", 0);
    write_fake(dir, "libversion.so.99", 0);
    expect("ver", dir, "libver.so.10.1");
    write_fake(dir, "libver.so", 0);
    expect("ver", dir, "libver.so");
}

static void test_scripts(const char *dir)
{
    write_fake(dir, "libreal.so.3", 0);
    tj_text text = {0};
    tj_text_printf(&text,
                   "/* GNU ld script: GROUP ( /no/such.so ) */\nOUTPUT_FORMAT(elf64)\n"
                   "GROUP ( /no/such.so.1 AS_NEEDED ( %s/libreal.so.3 ) )\n",
                   dir);
    write_text(dir, "libscript.so", text.data);
    tj_text_clear(&text);
    expect("script", dir, "libreal.so.3");
    write_text(dir, "libinput.so", "INPUT(-lreal)");
    expect("input", dir, "libreal.so.3");
    write_text(dir, "libloop.so", "INPUT(-lloop)");
    CHECK(find("loop", dir) == NULL);
    write_text(dir, "libopen.so", "INPUT( /* never closed ");
    CHECK(find("open", dir) == NULL);
    write_text(dir, "libempty.so", "");
    CHECK(find("empty", dir) == NULL);
}

static void test_paths(const char *dir)
{
    char *path = find("/any/where.so", dir);
    CHECK_STR(path, "/any/where.so");
    tj_free(path);
    path = find("libzork.so.7", dir);
    CHECK_STR(path, "libzork.so.7"); /* for the loader to find or refuse */
    tj_free(path);
    write_fake(dir, "libhere.so.7", 0);
    expect("libhere.so.7", dir, "libhere.so.7");
}

static void test_missing(const char *dir)
{
    const char *dirs[] = {dir, "/nonexistent", NULL};
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_library_find("zork_nowhere", dirs, &error) == NULL);
    CHECK(error.status == TJ_NO_LIBRARY);
    CHECK_HAS(error.text, "'zork_nowhere'");
    CHECK_HAS(error.text, "/nonexistent");
    CHECK_HAS(error.text, "ld.so.cache");
    CHECK(tj_library_find("", dirs, &error) == NULL);
    CHECK(error.status == TJ_NO_LIBRARY);
    tj_error_clear(&error);
}

static void test_search_path(const char *dir)
{
    char *folder = join(dir, "path");
    mkdir(folder, 0700);
    write_fake(folder, "libonpath.so.1", 0);
    tj_text value = {0};
    tj_text_printf(&value, ":/nonexistent:%s", folder);
    setenv("LD_LIBRARY_PATH", value.data, 1);
    char *path = find("onpath", dir), *wanted = join(folder, "libonpath.so.1");
    CHECK_STR(path, wanted);
    unsetenv("LD_LIBRARY_PATH");
    CHECK(find("onpath", dir) == NULL);
    tj_free(path);
    tj_free(wanted);
    tj_free(folder);
    tj_text_clear(&value);
}

static long allocations_left;

static void *stingy(void *block, size_t old_size, size_t new_size)
{
    (void)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return allocations_left-- > 0 ? realloc(block, new_size) : NULL;
}

static void test_out_of_memory(const char *dir)
{
    const char *dirs[] = {dir, NULL};
    char *path = NULL;
    for (long i = 0; !path && i < 200; i++) {
        tj_error error;
        tj_error_init(&error);
        tj_set_allocator(stingy);
        allocations_left = i;
        path = tj_library_find("input", dirs, &error);
        tj_set_allocator(NULL);
        CHECK(path || error.status == TJ_NO_MEMORY || error.status == TJ_NO_LIBRARY);
        tj_error_clear(&error);
    }
    CHECK(path != NULL);
    tj_free(path);
}

int main(void)
{
    const char *dir = getenv("TJ_TEST_TMP");
    RUN(test_system_libraries);
    check_running = "with a folder";
    test_versions(dir);
    test_scripts(dir);
    test_paths(dir);
    test_missing(dir);
    test_search_path(dir);
    test_out_of_memory(dir);
    return check_report();
}
