/* test_basics.c: texts, errors, maps, memory.
 */
#include "internal.h"
#include "check.h"

#include <stdint.h>
#include <stdlib.h>

static long allocations_left;

static void *stingy(void *block, size_t old_size, size_t new_size)
{
    bool refused = new_size > 0 && allocations_left-- <= 0;
    return refused ? NULL : tj_allocate(block, old_size, new_size);
}

static void test_text(void)
{
    tj_text text = {0};
    tj_text_quote(&text, "a\"\\\n\t?\1z\xc3\xa9", 10);
    CHECK_STR(text.data, "\"a\\\"\\\\\\n\\t\\?\\001z\xc3\xa9\"");
    tj_text_clear(&text);
    for (int i = 0; i < 1000; i++)
        tj_text_printf(&text, "%d,", i);
    CHECK(text.length == 3890 && strlen(text.data) == 3890);
    tj_text_clear(&text);
    CHECK(text.data == NULL && text.length == 0);
    tj_text_clear(NULL);
}

static void test_error(void)
{
    tj_error error;
    tj_error_init(&error);
    CHECK(tj_fail(&error, TJ_BAD_SPEC, "%s %d", "x", 3) == TJ_BAD_SPEC);
    CHECK_STR(error.text, "x 3");
    CHECK(error.brief != NULL && error.operand == -1 && error.position == -1);
    CHECK(tj_fail(&error, TJ_BAD_SPEC, "again %s", error.text) == TJ_BAD_SPEC);
    CHECK_STR(error.text, "again x 3");
    tj_set_allocator(stingy);
    allocations_left = 0;
    CHECK(tj_fail(&error, TJ_BAD_SPEC, "x") == TJ_NO_MEMORY);
    tj_set_allocator(NULL);
    CHECK(error.status == TJ_NO_MEMORY && error.text == NULL);
    CHECK_STR(error.brief, "out of memory");
    CHECK(tj_fail(NULL, TJ_BAD_SPEC, "x") == TJ_BAD_SPEC);
    tj_error_clear(&error);
    tj_error_clear(NULL);
}

static void test_map(void)
{
    tj_map map = {0};
    char name[32];
    for (size_t i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "name%zu", i);
        CHECK(tj_map_set(&map, name, (const void *)(uintptr_t)i, i % 2));
    }
    CHECK(map.count == 1000);
    for (size_t i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "name%zu", i);
        const tj_map_item *item = tj_map_get(&map, name);
        CHECK(item && item->address == (const void *)(uintptr_t)i && item->neutral == i % 2);
    }
    CHECK(tj_map_get(&map, "name1000") == NULL);
    tj_map_clear(&map);
    CHECK(tj_map_get(&map, "name1") == NULL);
}

static void test_overflow(void)
{
    CHECK(tj_alloc_zeroed(SIZE_MAX / 2, 3) == NULL);
    void *block = tj_alloc_zeroed(0, 8);
    CHECK(block != NULL);
    tj_free(block);
    tj_free(NULL);
}

int main(void)
{
    RUN(test_text);
    RUN(test_error);
    RUN(test_map);
    RUN(test_overflow);
    return check_report();
}
