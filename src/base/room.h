/* Memory whose size grows with the input: samples, questions, names, weights. Where there is none, the caller refuses.
 * These functions record the sentence: for what, how many bytes, and what to do. Memory of a small, fixed size is
 * MF_MUST()'s. A test makes any of these refuse, by the fault site "room" (err.h). Free it with free(). */
#ifndef MF_BASE_ROOM_H
#define MF_BASE_ROOM_H

#include <stddef.h>

#include "src/base/err.h"

/** Takes number * size bytes, cleared. @p what (printf format) says for what: "the labels of 'FILE'". NULL after
 * mf_fail(MF_MEMORY). Local. */
void *mf_room(size_t number, size_t size, const char *what, ...) __attribute__((format(printf, 3, 4)));

/** Makes memory larger or smaller: *at, of a pointer type, becomes number * size bytes; what is new is not cleared.
 * After a refusal, MF_MEMORY, *at is as before. Local. */
int mf_room_more(void *at, size_t number, size_t size, const char *what, ...) __attribute__((format(printf, 4, 5)));

/** Takes @p number elements for @p pointer: MF_OK or MF_MEMORY. */
#define MF_ROOM(pointer, number, ...) \
    (((pointer) = mf_room((number), sizeof *(pointer), __VA_ARGS__)) ? MF_OK : MF_MEMORY)

/** Makes @p pointer an array of @p number elements: MF_OK or MF_MEMORY. */
#define MF_ROOM_MORE(pointer, number, ...) mf_room_more(&(pointer), (number), sizeof *(pointer), __VA_ARGS__)

/** Makes room for one more behind @p count elements, in steps that double: MF_OK or MF_MEMORY. */
#define MF_ROOM_NEXT(pointer, count, ...) \
    (((count) & ((count)-1)) ? MF_OK : MF_ROOM_MORE(pointer, 2 * (count) + 1, __VA_ARGS__))

/** Refuses memory that something else did not get, with the same sentence. Returns MF_MEMORY. */
int mf_room_none(size_t bytes, const char *what, ...) __attribute__((format(printf, 2, 3)));

/** For tests: how often mf_fault_set()'s site was visited since. */
long mf_fault_visits(void);

#endif
