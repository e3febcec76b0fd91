/* See files.h. */
#include "src/bench/files.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/bare.h"
#include "io/micro.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/stop.h"

enum { PATH = 1100, FILES = 2 * MF_BENCH_METHODS /* those of the methods, then others */ };

struct work {
    const struct mf_comm *comm;
    struct mf_arena *arena;
    struct mf_micro micro;
    uint8_t *back;
    char path[FILES][PATH];
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

    if (!w->failed) note(w, mf_bare_h5_write(w->comm, w->path[MF_BENCH_H5], &w->micro.slab, 1, w->micro.phase));
}

static void write_loose(void *context)
{
    struct work *w = context;

    if (!w->failed) note(w, mf_bare_h5_write(w->comm, w->path[MF_BENCH_OTHER], &w->micro.slab, 0, w->micro.phase));
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

static int read_it(struct work *w, int unhashed, struct mf_micro *back)
{
    const struct mf_micro_read read = {.unhashed = unhashed};

    if (!w->failed) note(w, mf_micro_read(w->comm, w->arena, w->path[MF_BENCH_OWN], &read, back));
    return !w->failed;
}

static void read_own(void *context)
{
    struct mf_micro back;

    if (read_it(context, 1, &back)) mf_micro_free(&back);
}

static void read_hashed(void *context)
{
    struct work *w = context;
    struct mf_micro back;

    if (!read_it(w, 0, &back)) return;
    note(w, mf_micro_hash(w->comm, &back));
    mf_micro_free(&back);
}

/* A program that reads takes memory for it, on all ranks or none. Collective. Given back by give_back(). */
static int take_back(struct work *w)
{
    w->back = mf_arena_take(w->arena, mf_slab_voxels(&w->micro.slab), "benchmark");
    note(w, mf_agree(w->comm, w->back ? MF_OK : MF_MEMORY));
    return !w->failed;
}

static void give_back(struct work *w)
{
    mf_arena_give(w->arena, w->back);
    w->back = NULL;
}

static void read_h5(void *context)
{
    struct work *w = context;

    if (!w->failed && take_back(w)) note(w, mf_bare_h5_read(w->comm, w->path[MF_BENCH_H5], &w->micro.slab, w->back));
    give_back(w);
}

static void read_raw(void *context)
{
    struct work *w = context;

    if (!w->failed && take_back(w)) note(w, mf_bare_read(w->comm, w->path[MF_BENCH_RAW], &w->micro.slab, w->back));
    give_back(w);
}

static void fill(struct work *w)
{
    size_t n = mf_slab_voxels(&w->micro.slab);

    for (size_t i = 0; i < n; ++i) w->micro.phase[i] = (uint8_t)((i * 2654435761u >> 13) & 1);
}

static void measure(struct work *w, const struct mf_bench_enough *enough, struct mf_bench_files *result)
{
    const struct mf_bench_call writes[MF_BENCH_METHODS] = {
        {write_own, w, NULL}, {write_h5, w, NULL}, {write_raw, w, NULL}, {write_loose, w, NULL}};
    const struct mf_bench_call reads[MF_BENCH_METHODS] = {
        {read_own, w, NULL}, {read_h5, w, NULL}, {read_raw, w, NULL}, {read_hashed, w, NULL}};
    struct mf_micro back;
    int64_t wrong = 0;

    mf_bench_measure(w->comm, enough, MF_BENCH_METHODS, writes, result->write);
    mf_bench_measure(w->comm, enough, MF_BENCH_OTHER, reads, result->read);
    /* alone: its thread would slow the others */
    mf_bench_measure(w->comm, enough, 1, &reads[MF_BENCH_OTHER], &result->read[MF_BENCH_OTHER]);
    if (read_it(w, 1, &back)) {
        wrong += (int64_t)differ(w, back.phase);
        mf_micro_free(&back);
    }
    if (!w->failed && take_back(w)) {
        note(w, mf_bare_h5_read(w->comm, w->path[MF_BENCH_H5], &w->micro.slab, w->back));
        wrong += (int64_t)differ(w, w->back);
        note(w, mf_bare_read(w->comm, w->path[MF_BENCH_RAW], &w->micro.slab, w->back));
        wrong += (int64_t)differ(w, w->back);
    }
    give_back(w);
    mf_comm_sum_int(w->comm, 1, &wrong);
    result->wrong = (size_t)wrong;
}

/* Names all files that the methods create, so that a signal that ends a rank also removes them. */
static void name(struct work *w, const char *folder, long long id)
{
    static const char *const ending[FILES] = {"own.h5",   "bare.h5",     "raw",     "loose.h5",
                                              "own.xdmf", "bare.h5.tmp", "raw.tmp", "loose.h5.tmp"};

    for (int i = 0; i < FILES; ++i) {
        snprintf(w->path[i], PATH, "%.1000s/.mesoforge-bench-%lld-%s", folder, id, ending[i]);
        mf_stop_register_file(w->path[i]);
    }
}

static void clear(const struct work *w)
{
    mf_comm_barrier(w->comm);
    for (int i = 0; i < FILES; ++i) {
        if (w->comm->rank == 0) (void)unlink(w->path[i]);
        mf_stop_unregister_file(w->path[i]);
    }
}

int mf_bench_files(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_bench_enough *enough,
                   const char *folder, size_t n, struct mf_bench_files *result)
{
    const size_t dims[3] = {n, n, n};
    struct work w = {.comm = comm,
                     .arena = arena,
                     .micro = {.ndim = 3, .phases = 2, .label = {0, 1}, .spacing = {1, 1, 1}, .arena = arena}};
    int64_t id = getpid();
    size_t own;
    int rc;

    *result = (struct mf_bench_files){.bytes = n * n * n};
    mf_comm_bcast(comm, 0, &id, sizeof id);
    w.micro.slab = mf_slab_of(comm, dims, comm->rank);
    own = mf_slab_voxels(&w.micro.slab);
    w.micro.phase = mf_arena_take(arena, own, "benchmark");
    rc = mf_agree(comm, w.micro.phase ? MF_OK : MF_MEMORY);
    if (rc == MF_OK) {
        fill(&w);
        name(&w, folder, id);
        mf_log_hush(1);
        measure(&w, enough, result);
        mf_log_hush(0);
        rc = mf_agree(comm, w.failed);
        clear(&w);
    }
    mf_micro_free(&w.micro);
    return rc;
}
