/* See strategy.h: mf_place_auto(). */
#include <inttypes.h>
#include <stdlib.h>

#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/place/spread.h"
#include "src/place/strategy.h"

struct sharing {
    const struct mf_parts *parts;
    const struct mf_place_devices *devices;
    size_t n, *use;       /* devices with memory of their own */
    ptrdiff_t cores;      /* the device of host memory; -1: none */
    unsigned char *apart; /* [parts] too large for each of them */
};

static void find_devices(struct sharing *s)
{
    s->use = MF_MUST(malloc((s->devices->count + 1) * sizeof *s->use), "devices");
    s->apart = MF_MUST(calloc(s->parts->count + 1, 1), "marks");
    s->cores = -1;
    for (size_t d = 0; d < s->devices->count; ++d)
        if (!s->devices->device[d].is_cores)
            s->use[s->n++] = d;
        else if (s->cores < 0)
            s->cores = (ptrdiff_t)d;
}

/* Marks parts that fit no device; 0: there is none. */
static int find_large(struct sharing *s, const struct mf_place_chain *chain)
{
    int found = 0;

    for (size_t p = 0; p < chain->parts; ++p) {
        size_t d = 0;

        while (d < s->n && mf_place_chain_bytes(chain, p, p + 1) > s->devices->device[s->use[d]].free) ++d;
        s->apart[p] = d == s->n;
        found |= s->apart[p];
    }
    return found;
}

static void spread(const struct sharing *s, struct mf_spread *to)
{
    struct mf_place_chain chain;

    mf_place_chain_make(s->parts, s->apart, &chain);
    mf_spread(&chain, s->devices, s->n, s->use, to);
    mf_place_chain_free(&chain);
}

static void put(const struct sharing *s, const struct mf_spread *from, struct mf_device_map *placement)
{
    size_t p = from->begin;

    for (size_t k = 0; s->cores >= 0 && k < s->parts->count; ++k) placement->device[k] = (size_t)s->cores;
    for (size_t r = 0; r < from->runs; ++r)
        for (; p < from->end[r]; ++p)
            if (!s->apart[p]) placement->device[p] = from->device[r];
}

/* Does it fit? Host memory must hold what the others do not. */
static int fits(const struct sharing *s, const struct mf_spread *from, const struct mf_device_map *placement)
{
    size_t *bytes = MF_MUST(calloc(s->devices->count + 1, sizeof *bytes), "bytes of devices");
    int ok;

    mf_device_map_bytes(placement, s->parts, s->devices->count, bytes);
    ok = s->cores >= 0 ? bytes[s->cores] <= s->devices->device[s->cores].free : from->begin == 0;
    free(bytes);
    return ok;
}

/* -- what would help -- */

/* Devices like the largest GPU that suffice; 0: a part, *large, fits none. */
static size_t devices_wanted(const struct sharing *s, size_t *large)
{
    struct mf_place_chain chain;
    uint64_t most = 0;
    size_t n = 0, at = 0;

    for (size_t d = 0; d < s->devices->count; ++d)
        if ((s->n == 0 || !s->devices->device[d].is_cores) && s->devices->device[d].free > most)
            most = s->devices->device[d].free;
    mf_place_chain_make(s->parts, NULL, &chain);
    while (at < chain.parts) {
        const size_t end = mf_place_chain_end(&chain, at, (double)most);

        if (end == at) break;
        at = end;
        ++n;
    }
    mf_place_chain_free(&chain);
    *large = at;
    return at == s->parts->count ? n : 0;
}

static int refuse(const struct sharing *s)
{
    size_t large, n = devices_wanted(s, &large);
    char there[200] = "";

    for (size_t d = 0; d < s->devices->count; ++d)
        mf_enumerate(there, sizeof there, "%s has %" PRIu64, s->devices->device[d].name, s->devices->device[d].free);
    if (n == 0) {
        const struct mf_part *p = &s->parts->part[large];

        return mf_fail(MF_MEMORY, "part '%s' alone needs %zu bytes, and of free memory %s; try: %s", p->name,
                       p->weights + p->caches + p->work, there,
                       s->cores < 0 ? "cpu among --devices" : "a machine with more memory");
    }
    return mf_fail(MF_MEMORY, "the model needs %zu bytes, and of free memory %s; try: %zu device%s like the largest%s",
                   mf_parts_bytes(s->parts, NULL), there, n, MF_S(n), s->cores < 0 ? ", or cpu among --devices" : "");
}

int mf_place_auto(const struct mf_parts *parts, const struct mf_place_devices *devices, struct mf_device_map *placement)
{
    struct sharing s = {.parts = parts, .devices = devices};
    struct mf_spread runs;
    int rc = MF_OK;

    find_devices(&s);
    spread(&s, &runs);
    if (runs.begin > 0 && s.cores >= 0) {
        struct mf_place_chain chain;

        mf_place_chain_make(parts, NULL, &chain);
        if (find_large(&s, &chain)) {
            mf_spread_free(&runs);
            spread(&s, &runs);
        }
        mf_place_chain_free(&chain);
    }
    mf_device_map_new(placement, parts->count);
    put(&s, &runs, placement);
    if (!fits(&s, &runs, placement)) rc = refuse(&s);
    mf_spread_free(&runs);
    free(s.use);
    free(s.apart);
    return rc;
}
