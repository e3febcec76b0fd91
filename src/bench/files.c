/* See files.h. */
#include "src/bench/files.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/bare.h"
#include "io/micro.h"
#include "src/base/err.h"
#include "src/base/log.h"

enum { PATH = 1100 };

struct work {
    const struct mf_comm *comm;
    struct mf_arena *arena;
    struct mf_micro micro;
    uint8_t *back;
    char path[MF_BENCH_WAYS][PATH];
    int failed;
};

static void note(struct work *w, int rc)
{
    if (rc != MF_OK && w->failed == MF_OK) w->failed = rc;
}

static void write_own(void *context)
{
    struct work *w = context;

    if (!w->failed) note(w, mf_micro_write(w->comm, w->path[MF_BENCH_OWN], &w->micro, NULL));
}

static void write_h5(void *context)
{
    struct work *w = context;

    if (!w->failed) note(w, mf_bare_h5_write(w->comm, w->path[MF_BENCH_H5], &w->micro.slab, w->micro.phase));
}

static void write_raw(void *context)
{
    struct work *w = context;

    if (!w->failed) note(w, mf_bare_write(w->comm, w->path[MF_BENCH_RAW], &w->micro.slab, w->micro.phase));
}

static size_t differ(const struct work *w, const uint8_t *back)
{
    size_t n = mf_slab_voxels(&w->micro.slab), wrong = 0;

    for (size_t i = 0; i < n; ++i) wrong += back[i] != w->micro.phase[i];
    return wrong;
}

static int read_it(struct work *w, struct mf_micro *back)
{
    const struct mf_micro_read read = {.grey = 0};

    if (!w->failed) note(w, mf_micro_read(w->comm, w->arena, w->path[MF_BENCH_OWN], &read, back));
    return !w->failed;
}

static void read_own(void *context)
{
    struct mf_micro back;

    if (read_it(context, &back)) mf_micro_free(&back);
}

static void read_h5(void *context)
{
    struct work *w = context;

    if (!w->failed) note(w, mf_bare_h5_read(w->comm, w->path[MF_BENCH_H5], &w->micro.slab, w->back));
}

static void read_raw(void *context)
{
    struct work *w = context;

    if (!w->failed) note(w, mf_bare_read(w->comm, w->path[MF_BENCH_RAW], &w->micro.slab, w->back));
}

static void fill(struct work *w)
{
    size_t n = mf_slab_voxels(&w->micro.slab);

    for (size_t i = 0; i < n; ++i) w->micro.phase[i] = (uint8_t)((i * 2654435761u >> 13) & 1);
}

static void measure(struct work *w, const struct mf_bench_enough *enough, struct mf_bench_files *result)
{
    const struct mf_bench_call writes[MF_BENCH_WAYS] = {{write_own, w}, {write_h5, w}, {write_raw, w}};
    const struct mf_bench_call reads[MF_BENCH_WAYS] = {{read_own, w}, {read_h5, w}, {read_raw, w}};
    struct mf_micro back;
    int64_t wrong = 0;

    mf_bench_measure(w->comm, enough, MF_BENCH_WAYS, writes, result->write);
    mf_bench_measure(w->comm, enough, MF_BENCH_WAYS, reads, result->read);
    if (read_it(w, &back)) {
        wrong += (int64_t)differ(w, back.phase);
        mf_micro_free(&back);
    }
    read_h5(w);
    wrong += (int64_t)differ(w, w->back);
    read_raw(w);
    wrong += (int64_t)differ(w, w->back);
    mf_comm_sum_int(w->comm, 1, &wrong);
    result->wrong = (size_t)wrong;
}

static void clear(const struct work *w)
{
    char side[PATH + 8];

    mf_comm_barrier(w->comm);
    if (w->comm->rank != 0) return;
    for (int i = 0; i < MF_BENCH_WAYS; ++i) (void)unlink(w->path[i]);
    snprintf(side, sizeof side, "%.*s.xdmf", (int)strlen(w->path[0]) - 3, w->path[0]);
    (void)unlink(side);
}

int mf_bench_files(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_bench_enough *enough,
                   const char *folder, size_t n, struct mf_bench_files *result)
{
    static const char *const ending[MF_BENCH_WAYS] = {"own.h5", "bare.h5", "raw"};
    const size_t dims[3] = {n, n, n};
    struct work w = {.comm = comm,
                     .arena = arena,
                     .micro = {.ndim = 3, .phases = 2, .label = {0, 1}, .spacing = {1, 1, 1}, .arena = arena}};
    int64_t id = getpid();
    size_t own;
    int rc;

    *result = (struct mf_bench_files){.bytes = n * n * n};
    mf_comm_bcast(comm, 0, &id, sizeof id);
    for (int i = 0; i < MF_BENCH_WAYS; ++i)
        snprintf(w.path[i], PATH, "%.1000s/.mesoforge-bench-%lld-%s", folder, (long long)id, ending[i]);
    w.micro.slab = mf_slab_of(comm, dims, comm->rank);
    own = mf_slab_voxels(&w.micro.slab);
    w.micro.phase = mf_arena_take(arena, own, "benchmark");
    w.back = w.micro.phase ? mf_arena_take(arena, own, "benchmark") : NULL;
    rc = mf_agree(comm, w.back ? MF_OK : MF_MEMORY);
    if (rc == MF_OK) {
        fill(&w);
        mf_log_hush(1);
        measure(&w, enough, result);
        mf_log_hush(0);
        rc = mf_agree(comm, w.failed);
        clear(&w);
    }
    mf_arena_give(arena, w.back);
    mf_micro_free(&w.micro);
    return rc;
}
