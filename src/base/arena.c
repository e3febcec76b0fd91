/* See arena.h. Blocks are recorded by address in a table, because device memory cannot hold a header that the host
 * reads. */
#include "src/base/arena.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/arena_keep.h"
#include "src/base/err.h"

enum { ALIGN = 64 };

struct tag {
    const char *name;
    size_t live, peak;
    size_t at_peak; /* live when the arena was fullest */
};

struct mf_arena {
    struct mf_mem mem;
    struct mf_arena *whole; /* what is taken here counts there too; or NULL */
    size_t limit, live, peak;
    const char *option; /* that sets the limit; NULL: --memory-limit */
    const char *advice; /* what to try at the limit; NULL: nothing beside it */
    size_t tags, tags_room;
    struct tag *tag;
    struct entry *entries; /* what was taken, by address: device memory cannot hold a header */
    size_t count, room;
    char *reserve; /* what was taken ahead, or NULL */
    size_t reserved;
    pthread_mutex_t lock;
};

struct entry {
    void *memory;
    size_t bytes, tag;
};

enum { PIECE = 256, PAGE = 4096, SPARE = 64 }; /* arrays in a reserve begin at multiples of PIECE bytes */

static void *heap_alloc(void *context, size_t bytes)
{
    (void)context;
    return aligned_alloc(ALIGN, (bytes + ALIGN - 1) / ALIGN * ALIGN);
}

static void heap_release(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

int mf_arena_open(struct mf_arena **arena, const struct mf_mem *mem, size_t limit)
{
    struct mf_arena *a = calloc(1, sizeof *a);

    if (!a) return mf_fail(MF_MEMORY, "no memory for an arena");
    if (mem) a->mem = *mem;
    if (!a->mem.alloc) a->mem = (struct mf_mem){.alloc = heap_alloc, .release = heap_release};
    a->limit = limit;
    pthread_mutex_init(&a->lock, NULL);
    *arena = a;
    return MF_OK;
}

int mf_arena_open_in(struct mf_arena **arena, const struct mf_mem *mem, struct mf_arena *whole)
{
    MF_TRY(mf_arena_open(arena, mem, 0));
    (*arena)->whole = whole;
    return MF_OK;
}

void mf_arena_limited_by(struct mf_arena *arena, const char *option) { arena->option = option; }

void mf_arena_advise(struct mf_arena *arena, const char *advice) { arena->advice = advice; }

void mf_arena_close(struct mf_arena *arena)
{
    if (!arena) return;
    for (size_t t = 0; t < arena->tags; ++t)
        if (arena->tag[t].live)
            mf_die(MF_BROKEN, __FILE__, __LINE__, "arena closed with %zu bytes of '%s' live", arena->tag[t].live,
                   arena->tag[t].name);
    if (arena->reserve) arena->mem.release(arena->mem.context, arena->reserve, arena->reserved);
    pthread_mutex_destroy(&arena->lock);
    free(arena->entries);
    free(arena->tag);
    free(arena);
}

static size_t tag_of(struct mf_arena *a, const char *name)
{
    size_t t = 0;

    while (t < a->tags && strcmp(a->tag[t].name, name) != 0) ++t;
    if (t < a->tags) return t;
    if (a->tags == a->tags_room) {
        a->tags_room = 2 * a->tags_room + 32;
        a->tag = MF_MUST(realloc(a->tag, a->tags_room * sizeof *a->tag), "the tags of an arena");
    }
    a->tag[a->tags++] = (struct tag){.name = name};
    return t;
}

/* Room for so many bytes more; those of the whole, if there is one, are counted then. */
static int fits(const struct mf_arena *a, size_t bytes, const char *tag)
{
    if (a->whole) return mf_arena_book(a->whole, (ptrdiff_t)bytes, tag);
    if (mf_fault("memory")) return mf_fail(MF_MEMORY, "%s: no memory (injected)", tag);
    if (!a->limit || (bytes <= a->limit && a->live <= a->limit - bytes)) return MF_OK;
    return mf_fail(MF_MEMORY, "%s needs %zu bytes, %zu are in use and the memory limit is %zu; try: a larger %s%s%s",
                   tag, bytes, a->live, a->limit, a->option ? a->option : "--memory-limit", a->advice ? ", " : "",
                   a->advice ? a->advice : "");
}

static void count(struct mf_arena *a, size_t t, size_t bytes)
{
    a->live += bytes;
    a->tag[t].live += bytes;
    if (a->tag[t].live > a->tag[t].peak) a->tag[t].peak = a->tag[t].live;
    if (a->live <= a->peak) return;
    a->peak = a->live;
    for (size_t i = 0; i < a->tags; ++i) a->tag[i].at_peak = a->tag[i].live;
}

/* They are free again. */
static void uncount(struct mf_arena *a, size_t t, size_t bytes)
{
    a->live -= bytes;
    a->tag[t].live -= bytes;
    if (a->whole) mf_arena_book(a->whole, -(ptrdiff_t)bytes, a->tag[t].name);
}

static int room_for_entry(struct mf_arena *a)
{
    struct entry *more;

    if (a->count < a->room) return 1;
    more = realloc(a->entries, (2 * a->room + 64) * sizeof *more);
    if (!more) return 0;
    a->entries = more;
    a->room = 2 * a->room + 64;
    return 1;
}

/* ---- what was taken ahead ---- */

static size_t pieces(size_t bytes) { return bytes ? (bytes + PIECE - 1) / PIECE * PIECE : PIECE; }

static int is_inside(const struct mf_arena *a, const void *memory)
{
    const uintptr_t at = (uintptr_t)memory, from = (uintptr_t)a->reserve;

    return a->reserve && at >= from && at - from < a->reserved;
}

/* The block that keeps [at, at + bytes) of the reserve from being free. */
static const struct entry *in_the_way(const struct mf_arena *a, size_t at, size_t bytes)
{
    for (size_t i = 0; i < a->count; ++i) {
        const struct entry *e = &a->entries[i];
        size_t from;

        if (!is_inside(a, e->memory)) continue;
        from = (size_t)((char *)e->memory - a->reserve);
        if (from < at + bytes && at < from + pieces(e->bytes)) return e;
    }
    return NULL;
}

/* The first gap that is large enough; NULL: there is none. */
static void *from_reserve(const struct mf_arena *a, size_t bytes)
{
    const size_t need = pieces(bytes);
    const struct entry *other;

    for (size_t at = 0; a->reserve && need <= a->reserved && at <= a->reserved - need;
         at = (size_t)((char *)other->memory - a->reserve) + pieces(other->bytes)) {
        other = in_the_way(a, at, need);
        if (!other) return a->reserve + at;
    }
    return NULL;
}

static void *get(struct mf_arena *a, size_t bytes)
{
    void *memory = from_reserve(a, bytes);

    return memory ? memory : a->mem.alloc(a->mem.context, bytes ? bytes : 1);
}

static void put_back(struct mf_arena *a, const struct entry *e)
{
    if (!is_inside(a, e->memory)) a->mem.release(a->mem.context, e->memory, e->bytes ? e->bytes : 1);
}

/* More than the arrays: each begins at a whole piece, and gaps between them go unused. */
static size_t with_gaps(size_t bytes) { return pieces(bytes) + bytes / 64 + (size_t)SPARE * PIECE; }

static int take_reserve(struct mf_arena *a, size_t bytes, int touch)
{
    if (a->reserve) a->mem.release(a->mem.context, a->reserve, a->reserved);
    a->reserve = mf_fault("memory.reserve") ? NULL : a->mem.alloc(a->mem.context, bytes);
    a->reserved = a->reserve ? bytes : 0;
    if (!a->reserve) return mf_fail(MF_MEMORY, "the machine cannot reserve %zu bytes", bytes);
    for (size_t at = 0; touch && at < bytes; at += PAGE) a->reserve[at] = 0;
    return MF_OK;
}

int mf_arena_reserve(struct mf_arena *arena, size_t bytes, int touch)
{
    int rc = MF_OK;

    pthread_mutex_lock(&arena->lock);
    if (bytes > 0 && with_gaps(bytes) > arena->reserved) {
        MF_ASSERT(!arena->reserve || !in_the_way(arena, 0, arena->reserved));
        rc = take_reserve(arena, with_gaps(bytes), touch);
    }
    pthread_mutex_unlock(&arena->lock);
    return rc;
}

void *mf_arena_take(struct mf_arena *arena, size_t bytes, const char *tag)
{
    void *memory = NULL;
    size_t t;

    pthread_mutex_lock(&arena->lock);
    if (fits(arena, bytes, tag) == MF_OK) {
        memory = room_for_entry(arena) ? get(arena, bytes) : NULL;
        if (!memory) {
            if (arena->whole) mf_arena_book(arena->whole, -(ptrdiff_t)bytes, tag);
            mf_fail(MF_MEMORY,
                    "%s needs %zu bytes, which the machine does not have (this rank has %zu in use); try: a machine "
                    "with more memory%s%s",
                    tag, bytes, arena->live, arena->advice ? ", " : "", arena->advice ? arena->advice : "");
        }
    }
    if (memory) {
        t = tag_of(arena, tag);
        arena->entries[arena->count++] = (struct entry){memory, bytes, t};
        count(arena, t, bytes);
    }
    pthread_mutex_unlock(&arena->lock);
    return memory;
}

void *mf_arena_zeros(struct mf_arena *arena, size_t number, size_t size, const char *tag)
{
    void *memory;

    if (size && number > SIZE_MAX / size) {
        mf_fail(MF_MEMORY, "%s needs more bytes than a size can say", tag);
        return NULL;
    }
    memory = mf_arena_take(arena, number * size, tag);
    if (memory && (!arena->mem.cleared || is_inside(arena, memory))) memset(memory, 0, number * size);
    return memory;
}

/* Under the lock. */
static struct entry *entry_of(const struct mf_arena *a, const void *memory)
{
    size_t i = a->count;

    while (i > 0 && a->entries[i - 1].memory != memory) --i;
    if (i == 0) mf_die(MF_BROKEN, __FILE__, __LINE__, "memory given back that this arena did not give");
    return &a->entries[i - 1];
}

static void forget(struct mf_arena *a, struct entry *e)
{
    uncount(a, e->tag, e->bytes);
    *e = a->entries[--a->count];
}

void mf_arena_give(struct mf_arena *arena, void *memory)
{
    struct entry *e;

    if (!memory) return;
    pthread_mutex_lock(&arena->lock);
    e = entry_of(arena, memory);
    put_back(arena, e);
    forget(arena, e);
    pthread_mutex_unlock(&arena->lock);
}

int mf_arena_keep(struct mf_arena *arena, void *memory, struct mf_kept *kept)
{
    struct entry *e;

    if (!memory || is_inside(arena, memory) || arena->mem.context) return 0;
    pthread_mutex_lock(&arena->lock);
    e = entry_of(arena, memory);
    *kept = (struct mf_kept){memory, e->bytes ? e->bytes : 1, arena->mem.release};
    forget(arena, e);
    pthread_mutex_unlock(&arena->lock);
    return 1;
}

void mf_kept_free(struct mf_kept *kept)
{
    if (kept->memory) kept->release(NULL, kept->memory, kept->bytes);
    kept->memory = NULL;
}

int mf_arena_book(struct mf_arena *arena, ptrdiff_t bytes, const char *tag)
{
    int rc = MF_OK;

    pthread_mutex_lock(&arena->lock);
    if (bytes >= 0) {
        rc = fits(arena, (size_t)bytes, tag);
        if (rc == MF_OK) count(arena, tag_of(arena, tag), (size_t)bytes);
    } else {
        uncount(arena, tag_of(arena, tag), (size_t)-bytes);
    }
    pthread_mutex_unlock(&arena->lock);
    return rc;
}

int mf_arena_book_once(struct mf_arena *arena, ptrdiff_t bytes, const char *tag)
{
    MF_TRY(mf_arena_book(arena, bytes, tag));
    return mf_arena_book(arena, -bytes, tag);
}

const char *mf_arena_name(const struct mf_arena *arena, const void *address)
{
    const uintptr_t at = (uintptr_t)address;

    for (size_t i = 0; i < arena->count; ++i) {
        const struct entry *e = &arena->entries[i];

        if (at >= (uintptr_t)e->memory && at - (uintptr_t)e->memory < e->bytes) return arena->tag[e->tag].name;
    }
    return NULL;
}

size_t mf_arena_live(const struct mf_arena *arena) { return arena->live; }
size_t mf_arena_peak(const struct mf_arena *arena) { return arena->peak; }
size_t mf_arena_limit(const struct mf_arena *arena)
{
    return arena->whole ? mf_arena_limit(arena->whole) : arena->limit;
}

void mf_arena_unlimit(struct mf_arena *arena) { arena->limit = 0; }

void mf_arena_mark(struct mf_arena *arena)
{
    arena->peak = arena->live;
    for (size_t t = 0; t < arena->tags; ++t) arena->tag[t].at_peak = arena->tag[t].live;
}

void mf_arena_tags(const struct mf_arena *arena,
                   void (*visit)(void *context, const char *tag, size_t live, size_t peak), void *context)
{
    for (size_t t = 0; t < arena->tags; ++t) visit(context, arena->tag[t].name, arena->tag[t].live, arena->tag[t].peak);
}

void mf_arena_peak_tags(const struct mf_arena *arena, void (*visit)(void *context, const char *tag, size_t bytes),
                        void *context)
{
    for (size_t t = 0; t < arena->tags; ++t)
        if (arena->tag[t].at_peak) visit(context, arena->tag[t].name, arena->tag[t].at_peak);
}
