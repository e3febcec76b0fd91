/* Is what stands beside the samples as it was written? See dataset_priv.h. */
#include "io/dataset_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/seal.h"
#include "src/base/err.h"

/* Where the bytes of sample @p id lie, or those of its chunk. */
static void place_of(const struct mf_dataset *set, size_t id, uint64_t place[2])
{
    const struct mf_dataset_places *w = set->where;
    const size_t chunk = w->offset ? 0 : id / w->chunks.rows;

    place[0] = w->offset ? w->offset + id * set->bytes : w->chunks.place[chunk][0];
    place[1] = place[0] + (w->offset ? set->bytes : w->chunks.place[chunk][1]);
}

/* The part of the file that holds the samples. */
static void span_of(const struct mf_dataset *set, uint64_t span[2])
{
    uint64_t one[2];

    place_of(set, 0, span);
    for (size_t id = 1; id < set->samples; ++id) {
        place_of(set, id, one);
        span[0] = one[0] < span[0] ? one[0] : span[0];
        span[1] = one[1] > span[1] ? one[1] : span[1];
    }
}

static int overlap(const uint64_t one[2], const uint64_t other[2]) { return one[0] < other[1] && other[0] < one[1]; }

/* Refuses a damaged sample of a damaged block. */
static int check_samples(const struct mf_dataset *set, const uint64_t bad[2])
{
    char *x = malloc(set->bytes + mf_sample_scratch(set));
    uint64_t place[2];
    int file, rc;

    if (!x) return mf_fail(MF_MEMORY, "no memory for a sample of '%s'", set->path);
    rc = mf_open_plain(set->path, O_RDONLY, &file);
    for (size_t id = 0; rc == MF_OK && id < set->samples; ++id) {
        place_of(set, id, place);
        if (overlap(place, bad)) rc = mf_sample_read(set, file, x + set->bytes, id, x);
    }
    if (file >= 0) close(file);
    free(x);
    return rc;
}

static int refuse_arrays(const struct mf_dataset *set, const uint64_t bad[2])
{
    char names[MF_PARTS * 32] = "";
    size_t n = 0;

    for (int p = 0; p < MF_PARTS; ++p)
        if (overlap(set->where->part[p], bad))
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", mf_set_parts[p].path);
    return mf_fail(MF_INPUT, "'%s' is damaged: bytes %llu to %llu, which hold %s, differ from their checksum",
                   set->path, (unsigned long long)bad[0], (unsigned long long)bad[1],
                   n           ? names
                   : set->asks ? "its headers or questions"
                               : "its headers");
}

int mf_dataset_check(const struct mf_dataset *set, int *changed)
{
    uint64_t span[2], bad[2];
    struct mf_comm self;
    int sealed, rc;

    span_of(set, span);
    MF_TRY(mf_seal_around(set->path, span[0], span[1], &sealed, bad));
    mf_comm_self(&self);
    *changed = !sealed && set->ours;
    if (!sealed) return mf_seal_warn(&self, set->path, set->ours, NULL);
    if (!bad[1]) return MF_OK;
    rc = check_samples(set, bad);
    if (rc == MF_OK) return refuse_arrays(set, bad);
    if (rc == MF_INPUT) mf_err_clear(); /* who reads the sample refuses it */
    return rc == MF_INPUT ? MF_OK : rc;
}
