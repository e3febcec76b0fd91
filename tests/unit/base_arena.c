/* An arena counts live bytes and marks, keeps its limit, names who asked, aligns, and survives many threads. */
#include "src/base/arena.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/arena_keep.h"
#include "src/base/err.h"
#include "tests/check.h"

static size_t outside; /* bytes that the test's own memory has handed out */

static void *take_outside(void *context, size_t bytes)
{
    outside += bytes;
    return context ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void give_outside(void *context, void *memory, size_t bytes)
{
    (void)context;
    outside -= bytes;
    free(memory);
}

static void see(void *context, const char *tag, size_t live, size_t peak)
{
    size_t *seen = context;

    if (strcmp(tag, "field") == 0) {
        seen[0] = live;
        seen[1] = peak;
    }
}

static void test_limit(void)
{
    struct mf_arena *arena;
    size_t seen[2] = {9, 9};
    char *a, *b;

    CHECK(mf_arena_open(&arena, NULL, 1000) == MF_OK && mf_arena_limit(arena) == 1000);
    a = mf_arena_take(arena, 600, "field");
    CHECK(a && (uintptr_t)a % 64 == 0 && mf_arena_live(arena) >= 600);
    CHECK(!mf_arena_take(arena, 500, "gradient") && strstr(mf_err_text(), "gradient") && strstr(mf_err_text(), "500"));
    CHECK(mf_arena_book(arena, 500, "plan") == MF_MEMORY);
    CHECK(mf_arena_book(arena, 100, "plan") == MF_OK && mf_arena_book(arena, -100, "plan") == MF_OK);
    CHECK(strcmp(mf_arena_name(arena, a + 599), "field") == 0 && !mf_arena_name(arena, a + 600));
    mf_arena_give(arena, a);
    CHECK(!mf_arena_name(arena, a));
    CHECK(mf_arena_live(arena) == 0 && mf_arena_peak(arena) >= 700);
    b = mf_arena_zeros(arena, 100, 4, "field");
    for (int i = 0; i < 400; ++i) CHECK(b[i] == 0);
    mf_arena_tags(arena, see, seen);
    CHECK(seen[0] == 400 && seen[1] == 600);
    CHECK(!mf_arena_zeros(arena, SIZE_MAX / 2, 4, "huge"));
    mf_arena_give(arena, b);
    mf_arena_give(arena, NULL);
    mf_arena_close(arena);
    mf_arena_close(NULL);
}

static void test_own_memory(void)
{
    struct mf_mem mem = {.alloc = take_outside, .release = give_outside, .context = NULL};
    struct mf_arena *arena;
    void *a, *zero;

    CHECK(mf_arena_open(&arena, &mem, 0) == MF_OK);
    a = mf_arena_take(arena, 128, "a");
    zero = mf_arena_take(arena, 0, "nothing");
    CHECK(a && zero && outside >= 128);
    mf_arena_give(arena, zero);
    mf_arena_give(arena, a);
    mf_arena_close(arena);
    CHECK(outside == 0);
}

/* Memory of another kind counts as the whole's, under its tag and within its limit. */
static void test_within(void)
{
    struct mf_mem mem = {.alloc = take_outside, .release = give_outside, .context = NULL};
    struct mf_mem none = {.alloc = take_outside, .release = give_outside, .context = &mem};
    struct mf_arena *whole, *part, *empty;
    size_t seen[2] = {9, 9};
    void *a;

    CHECK(mf_arena_open(&whole, NULL, 1000) == MF_OK && mf_arena_open_in(&part, &mem, whole) == MF_OK);
    CHECK(mf_arena_open_in(&empty, &none, whole) == MF_OK && mf_arena_limit(part) == 1000);
    a = mf_arena_take(part, 600, "field");
    CHECK(a && outside >= 600 && mf_arena_live(part) == 600 && mf_arena_live(whole) == 600);
    CHECK(!mf_arena_take(part, 500, "gradient") && !mf_arena_take(whole, 500, "gradient"));
    CHECK(!mf_arena_take(empty, 300, "gradient") && strstr(mf_err_text(), "does not have") &&
          mf_arena_live(whole) == 600);
    CHECK(mf_arena_book(part, 100, "field") == MF_OK && mf_arena_peak(whole) == 900);
    CHECK(mf_arena_book(part, -100, "field") == MF_OK);
    mf_arena_tags(whole, see, seen);
    CHECK(seen[0] == 600 && seen[1] == 700);
    mf_arena_give(part, a);
    CHECK(mf_arena_live(part) == 0 && mf_arena_live(whole) == 0);
    mf_arena_close(empty);
    mf_arena_close(part);
    mf_arena_close(whole);
}

/* Later takes come out of the memory that was taken ahead. Others come from outside, and all are counted alike.
 */
static void test_reserve(void)
{
    struct mf_mem mem = {.alloc = take_outside, .release = give_outside, .context = NULL};
    struct mf_arena *arena;
    size_t ahead;
    char *a, *b, *c, *zeros;

    CHECK(mf_arena_open(&arena, &mem, 5000) == MF_OK);
    CHECK(mf_arena_reserve(arena, 3000, 1) == MF_OK && outside >= 3000 && mf_arena_live(arena) == 0);
    ahead = outside;
    CHECK(mf_arena_reserve(arena, 1000, 1) == MF_OK && outside == ahead); /* it is large enough */
    a = mf_arena_take(arena, 1000, "a");
    b = mf_arena_take(arena, 1000, "b");
    CHECK(a && b && (b >= a + 1000 || a >= b + 1000) && outside == ahead && mf_arena_live(arena) == 2000);
    memset(a, 1, 1000);
    mf_arena_give(arena, a);
    zeros = mf_arena_zeros(arena, 1000, 1, "zeros");
    CHECK(zeros == a && zeros[0] == 0 && zeros[999] == 0); /* the gap is used, and cleared again */
    CHECK(!mf_arena_take(arena, 3001, "limit") && outside == ahead);
    CHECK(strcmp(mf_arena_name(arena, b + 999), "b") == 0);
    mf_arena_give(arena, zeros);
    mf_arena_give(arena, b);
    CHECK(mf_arena_peak(arena) == 2000 && outside == ahead);
    CHECK(mf_arena_reserve(arena, 100000, 0) == MF_OK && outside > ahead); /* a larger one takes its place */
    c = mf_arena_take(arena, 5000, "c");
    CHECK(c);
    mf_arena_give(arena, c);
    mf_arena_close(arena);
    CHECK(outside == 0);
    CHECK(mf_arena_open(&arena, &mem, 0) == MF_OK && mf_arena_reserve(arena, 100, 0) == MF_OK);
    ahead = outside;
    a = mf_arena_take(arena, ahead + 1, "too much for it");
    CHECK(a && outside > ahead);
    mf_arena_give(arena, a);
    CHECK(outside == ahead);
    mf_arena_close(arena);
    mem.context = &mem; /* has no memory */
    CHECK(mf_arena_open(&arena, &mem, 0) == MF_OK);
    CHECK(mf_arena_reserve(arena, 100, 0) == MF_MEMORY && strstr(mf_err_text(), "reserve"));
    mf_arena_close(arena);
    outside = 0;
}

static void *churn(void *context)
{
    struct mf_arena *arena = context;

    for (size_t i = 1; i < 500; ++i) {
        void *a = mf_arena_take(arena, i, "churn"), *b = mf_arena_take(arena, 2 * i, "churn");

        mf_arena_give(arena, a);
        mf_arena_give(arena, b);
    }
    return NULL;
}

/* An array outlives its arena, which no longer counts it. A part of a reserve, and memory of a back end, stay. */
static void test_keep(void)
{
    const struct mf_mem mem = {.alloc = take_outside, .release = give_outside};
    struct mf_kept kept = {NULL, 0, NULL}, none = {NULL, 0, NULL};
    struct mf_arena *arena;
    char *array;

    CHECK(mf_arena_open(&arena, &mem, 1000) == MF_OK);
    array = mf_arena_zeros(arena, 700, 1, "field");
    CHECK(array && mf_arena_keep(arena, array, &kept) && kept.memory == array && mf_arena_live(arena) == 0);
    CHECK(mf_arena_reserve(arena, 512, 0) == MF_OK);
    array = mf_arena_take(arena, 100, "field");
    CHECK(array && !mf_arena_keep(arena, array, &none) && !mf_arena_keep(arena, NULL, &none) && !none.memory);
    mf_arena_give(arena, array);
    mf_arena_close(arena);
    CHECK(outside == 700 && ((char *)kept.memory)[699] == 0);
    mf_kept_free(&kept);
    mf_kept_free(&kept);
    CHECK(outside == 0);
}

static void test_threads(void)
{
    struct mf_arena *arena;
    pthread_t thread[4];

    CHECK(mf_arena_open(&arena, NULL, 0) == MF_OK);
    for (int i = 0; i < 4; ++i) CHECK(pthread_create(&thread[i], NULL, churn, arena) == 0);
    for (int i = 0; i < 4; ++i) CHECK(pthread_join(thread[i], NULL) == 0);
    CHECK(mf_arena_live(arena) == 0 && mf_arena_peak(arena) <= (size_t)4 * 1500);
    mf_arena_close(arena);
}

/* Any number of names; advice stands in the refusal alone. */
static void test_many_tags(void)
{
    enum { TAGS = 300 };
    static char name[TAGS][8];
    void *memory[TAGS];
    size_t seen[2] = {9, 9};
    struct mf_arena *arena;

    CHECK(mf_arena_open(&arena, NULL, TAGS) == MF_OK);
    for (int i = 0; i < TAGS; ++i) {
        snprintf(name[i], sizeof name[i], i == TAGS - 1 ? "field" : "%d", i);
        CHECK((memory[i] = mf_arena_take(arena, 1, name[i])) != NULL);
    }
    mf_arena_tags(arena, see, seen);
    CHECK(seen[0] == 1 && seen[1] == 1);
    CHECK(!mf_arena_take(arena, 1, "more") && !strstr(mf_err_text(), "batch"));
    mf_arena_advise(arena, "a smaller batch");
    CHECK(!mf_arena_take(arena, 1, "more") && strstr(mf_err_text(), "--memory-limit, a smaller batch"));
    for (int i = 0; i < TAGS; ++i) mf_arena_give(arena, memory[i]);
    mf_arena_close(arena);
}

static void add_bytes(void *context, const char *tag, size_t bytes)
{
    size_t *sum = context;

    CHECK(tag && bytes > 0);
    *sum += bytes;
}

/* After a mark too the tags add up to the high-water mark. */
static void test_mark(void)
{
    struct mf_arena *arena;
    size_t sum = 0;

    CHECK(mf_arena_open(&arena, NULL, 0) == MF_OK);
    CHECK(mf_arena_book(arena, 100, "kept") == MF_OK && mf_arena_book(arena, 300, "work") == MF_OK);
    CHECK(mf_arena_book(arena, -300, "work") == MF_OK);
    mf_arena_mark(arena);
    mf_arena_peak_tags(arena, add_bytes, &sum);
    CHECK(mf_arena_peak(arena) == 100 && sum == 100);
    CHECK(mf_arena_book(arena, -100, "kept") == MF_OK);
    mf_arena_close(arena);
}

int main(void)
{
    test_many_tags();
    test_limit();
    test_own_memory();
    outside = 0;
    test_within();
    outside = 0;
    test_reserve();
    outside = 0;
    test_keep();
    test_threads();
    test_mark();
    return failures != 0;
}
