/* A queue of the back end that MF_TEST_DEVICE names (cpu without it) with its arenas, and arrays in its memories. */
#ifndef MF_TESTS_DEVICE_H
#define MF_TESTS_DEVICE_H

#include <stdlib.h>
#include <string.h>

#include "kernels/stage.h"
#include "src/base/err.h"
#include "tests/check.h"

struct device {
    const struct mf_backend *be;
    struct mf_arena *arena, *host;
    struct mf_queue *q;
};

static inline const struct mf_backend *device_backend(void)
{
    const char *name = getenv("MF_TEST_DEVICE");
    const struct mf_backend *be = NULL;

    if (mf_backend_find(&be, name && *name ? name : "cpu") == MF_OK) return be;
    fprintf(stderr, "%s\n", mf_err_text());
    exit(77);
}

/* The GPU of a rank; NCCL wants one of its own for each. */
static int device_number;

/* @p limit: of device memory, 0: none. */
static inline struct device device_open_on(const struct mf_backend *be, int threads, int deterministic, size_t limit)
{
    struct device d = {.be = be};

    if (mf_arena_open(&d.arena, d.be->mem, limit) != MF_OK) abort();
    d.host = d.arena;
    if (d.be->host_mem && mf_arena_open(&d.host, d.be->host_mem, 0) != MF_OK) abort();
    if (d.be->queue_open(&d.q, device_number, threads, deterministic, d.arena, d.host) != MF_OK) abort();
    return d;
}

static inline struct device device_open(int threads, int deterministic, size_t limit)
{
    return device_open_on(device_backend(), threads, deterministic, limit);
}

static inline void device_close(struct device *d)
{
    d->be->queue_close(d->q);
    CHECK(mf_arena_live(d->arena) == 0 && mf_arena_live(d->host) == 0);
    if (d->host != d->arena) mf_arena_close(d->host);
    mf_arena_close(d->arena);
}

/* Fields in host memory whose slices go to @p d, a device of another memory (mf_queue_home()). */
static inline struct device device_home(const struct device *d)
{
    struct device home = {.be = &mf_backend_cpu, .host = d->host};

    if (mf_arena_open_in(&home.arena, mf_backend_cpu.mem, d->host) != MF_OK) abort();
    if (mf_queue_home(&home.q, d->q, home.arena) != MF_OK) abort();
    return home;
}

static inline void device_leave_home(struct device *home)
{
    home->be->queue_close(home->q);
    CHECK(mf_arena_live(home->arena) == 0);
    mf_arena_close(home->arena);
}

/* Device memory with a copy of @p from (NULL: as it is). */
static inline void *device_put(const struct device *d, const void *from, size_t bytes)
{
    void *memory = mf_arena_take(d->arena, bytes, "test");

    if (!memory) abort();
    if (from) d->be->put(d->q, memory, from, bytes);
    return memory;
}

/* Copies it back to @p to (NULL: does not) and gives it back. */
static inline void device_get(const struct device *d, void *to, void *memory, size_t bytes)
{
    if (to) d->be->get(d->q, to, memory, bytes);
    mf_arena_give(d->arena, memory);
}

/* The numbers of a step, where kernels of networks read them. */
static inline const double *device_numbers(const struct device *d, const double *number)
{
    if (d->q->numbers) d->be->put(d->q, d->q->numbers, number, MF_NUMBERS * sizeof *number);
    return d->q->numbers ? d->q->numbers : number;
}

/* Host memory that kernels see, with a copy of @p from (NULL: zeros). */
static inline void *device_host(const struct device *d, const void *from, size_t bytes)
{
    void *memory = mf_arena_zeros(d->host, 1, bytes, "test host");

    if (!memory) abort();
    if (from) memcpy(memory, from, bytes);
    return memory;
}

#endif
