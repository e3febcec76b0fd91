/* The arena: every large array comes from it. It has a limit, and counts live and peak bytes of every tag. */
#ifndef MF_BASE_ARENA_H
#define MF_BASE_ARENA_H

#include <stddef.h>

struct mf_arena;

/** Where an arena's memory comes from; a back end brings its own. NULL members of an all-zero struct mean the heap. */
struct mf_mem {
    void *(*alloc)(void *context, size_t bytes); /* 64-byte aligned or better; NULL when there is none */
    void (*release)(void *context, void *memory, size_t bytes);
    void *context;
    int cleared; /* what alloc() gives reads as zeros */
};

/** Opens an arena on @p mem (NULL: the heap). @p limit [bytes], 0: none. Refuses with MF_MEMORY. */
int mf_arena_open(struct mf_arena **arena, const struct mf_mem *mem, size_t limit);

/** The same for memory of another kind that counts as @p whole's too, which has the limit and is closed later. */
int mf_arena_open_in(struct mf_arena **arena, const struct mf_mem *mem, struct mf_arena *whole);

/** What a user may try where the limit is reached, behind "; try: ". @p advice is borrowed and outlives the arena.
 * NULL: more memory alone is named. */
void mf_arena_advise(struct mf_arena *arena, const char *advice);

/** Closes it. Everything must have been given back: what is still live is a bug and named. NULL is accepted. */
void mf_arena_close(struct mf_arena *arena);

/**
 * Takes @p bytes (may be 0), 64-byte aligned, not cleared. NULL after mf_fail(MF_MEMORY) with the tag, the bytes asked
 * for, the bytes live and the limit. @p tag: a string literal, the array's name in reports. Thread-safe.
 */
void *mf_arena_take(struct mf_arena *arena, size_t bytes, const char *tag);

/**
 * Takes @p bytes in one piece now, from which later takes are served as far as they fit: who needs memory all through
 * has it from the start, or is refused there (MF_MEMORY). Counted are the arrays, as without it. @p touch: writes to
 * every page, so that the system really gives it (the host's memory). One that is there already and large enough stays;
 * else nothing of it may be in use.
 */
int mf_arena_reserve(struct mf_arena *arena, size_t bytes, int touch);

/** Takes number * size bytes with the product checked, cleared. */
void *mf_arena_zeros(struct mf_arena *arena, size_t number, size_t size, const char *tag);

/** Gives back what mf_arena_take() gave. NULL is accepted. */
void mf_arena_give(struct mf_arena *arena, void *memory);

/**
 * Books @p bytes that a library holds on its own (a transform plan, a communication buffer); negative unbooks.
 * Refuses with MF_MEMORY when the limit would be passed (nothing is booked then).
 */
int mf_arena_book(struct mf_arena *arena, ptrdiff_t bytes, const char *tag);

/** The same of what is held for a moment only, and gives it back: the high-water mark has it. */
int mf_arena_book_once(struct mf_arena *arena, ptrdiff_t bytes, const char *tag);

/** The tag of the memory that @p address lies in; NULL: none of this arena. */
const char *mf_arena_name(const struct mf_arena *arena, const void *address);

size_t mf_arena_live(const struct mf_arena *arena);
size_t mf_arena_peak(const struct mf_arena *arena);
size_t mf_arena_limit(const struct mf_arena *arena);

/** From now on there is no limit: what is counted and never taken may go on to its end. */
void mf_arena_unlimit(struct mf_arena *arena);

/** The high-water mark starts anew from what is live. Those of single tags stay. */
void mf_arena_mark(struct mf_arena *arena);

/** Visits every tag: bytes live now and at that tag's own high-water mark. */
void mf_arena_tags(const struct mf_arena *arena,
                   void (*visit)(void *context, const char *tag, size_t live, size_t peak), void *context);

/** Visits every tag that had bytes live when the arena's own high-water mark was reached: they add up to it. */
void mf_arena_peak_tags(const struct mf_arena *arena, void (*visit)(void *context, const char *tag, size_t bytes),
                        void *context);

#endif
