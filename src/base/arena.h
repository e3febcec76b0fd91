/* The arena: every large array comes from it. It has a limit, and counts live and peak bytes of every tag. */
#ifndef MF_BASE_ARENA_H
#define MF_BASE_ARENA_H

#include <stddef.h>

struct mf_arena;

/** Where an arena's memory comes from; a back end brings its own. If all members are NULL, it is the heap. */
struct mf_mem {
    void *(*alloc)(void *context, size_t bytes); /* 64-byte aligned or better; NULL when there is none */
    void (*release)(void *context, void *memory, size_t bytes);
    void *context;
    int cleared; /* memory from alloc() reads as zeros */
};

/** Opens an arena on @p mem (NULL: the heap). @p limit [bytes], 0: none. Refuses with MF_MEMORY. */
int mf_arena_open(struct mf_arena **arena, const struct mf_mem *mem, size_t limit);

/** Opens an arena for memory of another kind, which also counts in @p whole. That arena has the limit and is closed
 * later. */
int mf_arena_open_in(struct mf_arena **arena, const struct mf_mem *mem, struct mf_arena *whole);

/** Sets the advice behind "; try: " when the limit is reached. @p advice is borrowed and outlives the arena. NULL: the
 * message names only more memory. */
void mf_arena_advise(struct mf_arena *arena, const char *advice);

/** Sets the option that the message at the limit names instead of --memory-limit. The text @p option is borrowed and
 * outlives the arena. */
void mf_arena_limited_by(struct mf_arena *arena, const char *option);

/** Closes the arena. Memory that has not been returned is a bug, and is named. NULL is accepted. */
void mf_arena_close(struct mf_arena *arena);

/**
 * Takes @p bytes (may be 0), 64-byte aligned, not cleared. @p tag: a string literal, the array's name in reports.
 * Returns NULL after mf_fail(MF_MEMORY), which states tag, bytes requested, bytes in use and limit. Thread-safe.
 */
void *mf_arena_take(struct mf_arena *arena, size_t bytes, const char *tag);

/**
 * Reserves @p bytes in one piece, which serves later takes as far as they fit. So a program has all its memory from the
 * start, or is refused there (MF_MEMORY). Only the arrays are counted, as without a reserve. With @p touch it writes to
 * every page, so that the system really provides it (host memory). An existing reserve that is large enough stays;
 * otherwise none of it may be in use.
 */
int mf_arena_reserve(struct mf_arena *arena, size_t bytes, int touch);

/** Takes number * size bytes, cleared. The product is checked for overflow. */
void *mf_arena_zeros(struct mf_arena *arena, size_t number, size_t size, const char *tag);

/** Gives back what mf_arena_take() gave. NULL is accepted. */
void mf_arena_give(struct mf_arena *arena, void *memory);

/**
 * Counts @p bytes that a library holds itself (a transform plan, a communication buffer) in the arena; negative: no
 * longer. Refuses with MF_MEMORY when the limit would be exceeded; then nothing is counted.
 */
int mf_arena_book(struct mf_arena *arena, ptrdiff_t bytes, const char *tag);

/** Counts bytes that are held only for a moment: they enter the high-water mark and are released at once. */
int mf_arena_book_once(struct mf_arena *arena, ptrdiff_t bytes, const char *tag);

/** The tag of the memory that contains @p address; NULL: not of this arena. */
const char *mf_arena_name(const struct mf_arena *arena, const void *address);

size_t mf_arena_live(const struct mf_arena *arena);
size_t mf_arena_peak(const struct mf_arena *arena);
size_t mf_arena_limit(const struct mf_arena *arena);

/** Removes the limit from now on. So a dry run, which never touches its memory, can be counted to its end. */
void mf_arena_unlimit(struct mf_arena *arena);

/** Restarts the high-water mark at the bytes in use. The marks of single tags stay. */
void mf_arena_mark(struct mf_arena *arena);

/** Visits every tag: bytes in use now, and at that tag's own high-water mark. */
void mf_arena_tags(const struct mf_arena *arena,
                   void (*visit)(void *context, const char *tag, size_t live, size_t peak), void *context);

/** Visits every tag that had bytes in use at the arena's own high-water mark. They add up to it. */
void mf_arena_peak_tags(const struct mf_arena *arena, void (*visit)(void *context, const char *tag, size_t bytes),
                        void *context);

#endif
