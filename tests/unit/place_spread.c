/* The strategy auto is compared with all placements. The largest share of a device's memory, the boundaries and the
 * links are the best there are. Parts have random sizes, some share a weight, and devices are unequal. A large case
 * takes less than a second. A part that fits no device goes to host memory alone. */
#include "src/place/strategy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "tests/check.h"

enum { CASES = 200, PARTS = 7, DEVICES = 4 };

static unsigned random_state = 7;

static size_t draw(size_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

/* -- made models and machines -- */

static void add_array(struct mf_parts *parts, size_t bytes, size_t first, ptrdiff_t other)
{
    struct mf_part_array *a = &parts->array[parts->arrays++];

    *a = (struct mf_part_array){.name = mf_format("array.%zu", parts->arrays), .bytes = bytes, .parts = 1};
    a->part = malloc(2 * sizeof *a->part);
    a->part[0] = first;
    parts->part[first].weights += bytes;
    if (other < 0) return;
    a->part[a->parts++] = (size_t)other;
    parts->part[other].weights += bytes;
}

static struct mf_parts parts_of(size_t n, const size_t *bytes)
{
    struct mf_parts parts = {.count = n};

    parts.part = calloc(n + 1, sizeof *parts.part);
    parts.array = calloc(2 * n + 8, sizeof *parts.array);
    for (size_t p = 0; p < n; ++p) {
        parts.part[p].name = p == 0       ? mf_format("embeddings")
                             : p + 1 == n ? mf_format("head")
                                          : mf_format("layers.%zu", p - 1);
        add_array(&parts, bytes[p], p, -1);
    }
    return parts;
}

static struct mf_place_devices devices_of(size_t n, const size_t *free)
{
    struct mf_place_devices d = {.count = n};

    d.device = calloc(n + 1, sizeof *d.device);
    d.linked = calloc(n * n + 1, 1);
    for (size_t k = 0; k < n; ++k) {
        snprintf(d.device[k].name, sizeof d.device[k].name, "cuda:%zu", k);
        d.device[k].memory = d.device[k].free = free[k];
    }
    return d;
}

static double most_of(const struct mf_parts *parts, const struct mf_place_devices *d, const struct mf_device_map *p)
{
    size_t bytes[DEVICES];
    double most = 0;

    mf_device_map_bytes(p, parts, d->count, bytes);
    for (size_t k = 0; k < d->count; ++k) most = fmax(most, (double)bytes[k] / (double)d->device[k].free);
    return most;
}

static size_t links_of(const struct mf_place_devices *d, const struct mf_device_map *p)
{
    size_t n = 0;

    for (size_t k = 1; k < p->parts; ++k)
        n += p->device[k] != p->device[k - 1] && d->linked[p->device[k - 1] * d->count + p->device[k]];
    return n;
}

/* -- brute force -- */

struct best {
    double most;
    size_t boundaries, links;
};

/* All ways to go on from part @p at; @p used: devices that had their run. */
static void try_all(const struct mf_parts *parts, const struct mf_place_devices *d, struct mf_device_map *p, size_t at,
                    unsigned used, struct best *best)
{
    if (at == parts->count) {
        const struct best now = {most_of(parts, d, p), mf_device_map_boundaries(p), links_of(d, p)};
        const double near = 1e-12 * best->most;

        if (now.most < best->most - near ||
            (now.most <= best->most + near &&
             (now.boundaries < best->boundaries || (now.boundaries == best->boundaries && now.links > best->links))))
            *best = now;
        return;
    }
    for (size_t k = 0; k < d->count; ++k) {
        if (at > 0 && p->device[at - 1] != k && used >> k & 1) continue;
        p->device[at] = k;
        try_all(parts, d, p, at + 1, used | 1u << k, best);
    }
}

static int is_contiguous(const struct mf_device_map *p)
{
    unsigned used = 0;

    for (size_t k = 0; k < p->parts; ++k) {
        if (k > 0 && p->device[k] == p->device[k - 1]) continue;
        if (used >> p->device[k] & 1) return 0;
        used |= 1u << p->device[k];
    }
    return 1;
}

static void against_brute_force(void)
{
    size_t fitting = 0;

    for (int c = 0; c < CASES; ++c) {
        const size_t n = 1 + draw(PARTS), devices = 1 + draw(DEVICES);
        size_t bytes[PARTS], room[DEVICES];
        struct best best = {1e300, 0, 0};
        struct mf_device_map p, all;
        struct mf_place_devices d;
        struct mf_parts parts;

        for (size_t k = 0; k < n; ++k) bytes[k] = 1 + draw(c % 3 ? 100 : 5);
        for (size_t k = 0; k < devices; ++k) room[k] = c % 2 ? 120 : 60 + draw(200);
        parts = parts_of(n, bytes);
        d = devices_of(devices, room);
        for (size_t k = 0; k < n; ++k) parts.part[k].work = draw(20);
        for (size_t k = 0; n > 1 && k < draw(3); ++k) add_array(&parts, draw(60), 0, (ptrdiff_t)(1 + draw(n - 1)));
        for (size_t i = 0; i < devices; ++i)
            for (size_t k = 0; k < i; ++k)
                d.linked[i * devices + k] = d.linked[k * devices + i] = (unsigned char)draw(2);
        mf_device_map_new(&all, n);
        try_all(&parts, &d, &all, 0, 0, &best);
        if (mf_place_auto(&parts, &d, &p) != MF_OK) {
            CHECK_SAYS(best.most > 1, "case %d: %g fits, and auto says: %s", c, best.most, mf_err_text());
        } else {
            const double most = most_of(&parts, &d, &p);

            ++fitting;
            CHECK(is_contiguous(&p) && mf_place_fits(&parts, &d, &p) == MF_OK);
            CHECK_SAYS(most <= best.most * (1 + 1e-9), "case %d: %g is more than %g", c, most, best.most);
            CHECK_SAYS(mf_device_map_boundaries(&p) == best.boundaries, "case %d: %zu boundaries, not %zu", c,
                       mf_device_map_boundaries(&p), best.boundaries);
            CHECK_SAYS(links_of(&d, &p) == best.links, "case %d: %zu links, not %zu", c, links_of(&d, &p), best.links);
        }
        mf_device_map_free(&p);
        mf_device_map_free(&all);
        mf_parts_free(&parts);
        mf_place_devices_free(&d);
    }
    CHECK_SAYS(fitting > CASES / 2, "%zu of %d fit", fitting, CASES);
}

/* -- large -- */

/* The largest share is at most that of equal runs, and one part. */
static void large(size_t n, size_t devices, size_t each, int equal, double bound)
{
    size_t *bytes = malloc(n * sizeof *bytes), *room = malloc(devices * sizeof *room);
    double total = 0, all = 0, most = 0;
    struct mf_place_devices d;
    struct mf_device_map p;
    struct mf_parts parts;
    clock_t began;

    for (size_t k = 0; k < n; ++k) total += (double)(bytes[k] = equal ? 1000 : 900 + draw(200));
    for (size_t k = 0; k < devices; ++k)
        all += (double)(room[k] = each * (equal ? 4 : 3) + (equal ? 0 : draw(6 * each)));
    parts = parts_of(n, bytes);
    d = devices_of(devices, room);
    began = clock();
    CHECK_SAYS(mf_place_auto(&parts, &d, &p) == MF_OK, "%s", mf_err_text());
    CHECK_SAYS((double)(clock() - began) / CLOCKS_PER_SEC < 1 + 9 * SANITIZED, "%zu parts on %zu devices take %g s", n,
               devices, (double)(clock() - began) / CLOCKS_PER_SEC);
    memset(room, 0, devices * sizeof *room);
    for (size_t k = 0; k < n; ++k) room[p.device[k]] += bytes[k];
    for (size_t k = 0; k < devices; ++k) most = fmax(most, (double)room[k] / (double)d.device[k].free);
    CHECK_SAYS(most <= bound * total / all, "%zu parts on %zu devices: %g, and %g if all took the same share", n,
               devices, most, total / all);
    mf_device_map_free(&p);
    mf_parts_free(&parts);
    mf_place_devices_free(&d);
    free(bytes);
    free(room);
}

/* -- cases -- */

static void check_map(const char *what, const struct mf_parts *parts, const struct mf_place_devices *d,
                      struct mf_device_map *p, const char *want)
{
    char *text = mf_device_map_text(p, parts, d);

    CHECK_SAYS(strcmp(text, want) == 0, "%s: %s", what, text);
    free(text);
    mf_device_map_free(p);
}

static void four_equal(void)
{
    const size_t bytes[] = {30, 10, 10, 10, 10, 10, 10, 10, 10, 30}, room[] = {100, 100, 100, 100};
    struct mf_parts parts = parts_of(10, bytes);
    struct mf_place_devices d = devices_of(4, room);
    struct mf_device_map p;

    CHECK(mf_place_auto(&parts, &d, &p) == MF_OK && mf_device_map_boundaries(&p) == 3);
    check_map("auto", &parts, &d, &p,
              "embeddings=cuda:0,layers.0-2=cuda:1,layers.3-6=cuda:2,layers.7=cuda:3,head=cuda:3");
    mf_place_balanced(&parts, &d, &p);
    check_map("balanced", &parts, &d, &p,
              "embeddings=cuda:0,layers.0-1=cuda:0,layers.2-3=cuda:1,layers.4-5=cuda:2,layers.6-7=cuda:3,head=cuda:3");
    mf_place_sequential(&parts, &d, 0.9, &p);
    check_map("sequential", &parts, &d, &p, "embeddings=cuda:0,layers.0-5=cuda:0,layers.6-7=cuda:1,head=cuda:1");
    mf_place_greedy_parts(&parts, &d, &p);
    check_map("greedy", &parts, &d, &p,
              "embeddings=cuda:0,layers.0=cuda:1,layers.1=cuda:2,layers.2=cuda:3,layers.3=cuda:1,layers.4=cuda:2,"
              "layers.5=cuda:3,layers.6=cuda:1,layers.7=cuda:2,head=cuda:1");
    mf_parts_free(&parts);
    mf_place_devices_free(&d);
}

/* Parts that no GPU holds go to host memory, and not all behind them. */
static void one_is_too_large(void)
{
    const size_t bytes[] = {10, 10, 200, 10, 10}, room[] = {40, 40, 1000};
    struct mf_parts parts = parts_of(5, bytes);
    struct mf_place_devices d = devices_of(3, room);
    struct mf_device_map p;

    d.device[2].is_cores = 1;
    snprintf(d.device[2].name, sizeof d.device[2].name, "cpu");
    CHECK(mf_place_auto(&parts, &d, &p) == MF_OK);
    check_map("auto", &parts, &d, &p, "embeddings=cuda:0,layers.0=cuda:0,layers.1=cpu,layers.2=cuda:1,head=cuda:1");
    mf_place_sequential(&parts, &d, 0.9, &p);
    check_map("sequential", &parts, &d, &p,
              "embeddings=cuda:0,layers.0=cuda:0,layers.1=cpu,layers.2=cuda:0,head=cuda:1");
    mf_place_balanced(&parts, &d, &p);
    CHECK(mf_place_fits(&parts, &d, &p) == MF_MEMORY);
    CHECK_SAYS(strstr(mf_err_text(), "cuda:1 needs 200 bytes and has 40; try: --map embeddings=cuda:0,layers.0=cuda:0,"
                                     "layers.1=cpu,layers.2=cuda:1,head=cuda:1"),
               "%s", mf_err_text());
    mf_device_map_free(&p);
    d.device[2].free = 100;
    CHECK(mf_place_auto(&parts, &d, &p) == MF_MEMORY);
    CHECK_SAYS(strstr(mf_err_text(), "part 'layers.1' alone needs 200 bytes"), "%s", mf_err_text());
    mf_device_map_free(&p);
    mf_parts_free(&parts);
    mf_place_devices_free(&d);
}

static void nothing_fits(void)
{
    const size_t bytes[] = {30, 30, 30, 30, 30}, room[] = {70, 40, 90};
    struct mf_parts parts = parts_of(5, bytes);
    struct mf_place_devices d = devices_of(2, room);
    struct mf_device_map p;

    CHECK(mf_place_auto(&parts, &d, &p) == MF_MEMORY);
    CHECK_SAYS(strcmp(mf_err_text(), "the model needs 150 bytes, and of free memory cuda:0 has 70, cuda:1 has 40; "
                                     "try: 3 devices like the largest, or cpu among --devices") == 0,
               "%s", mf_err_text());
    mf_device_map_free(&p);
    mf_place_devices_free(&d);
    d = devices_of(3, room);
    d.device[2].is_cores = 1;
    snprintf(d.device[2].name, sizeof d.device[2].name, "cpu");
    CHECK(mf_place_auto(&parts, &d, &p) == MF_OK);
    check_map("with host memory", &parts, &d, &p, "embeddings=cpu,layers.0=cpu,layers.1-2=cuda:0,head=cuda:1");
    mf_parts_free(&parts);
    mf_place_devices_free(&d);
}

int main(void)
{
    against_brute_force();
    four_equal();
    one_is_too_large();
    nothing_fits();
    large(1000, 512, 1000, 1, 1.03);
    large(1000, 512, 1000, 0, 2);
    large(1000, 12, 50000, 0, 1.02);
    return failures != 0;
}
