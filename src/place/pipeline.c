/* See pipeline.h. */
#include "src/place/pipeline.h"

#include <math.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/place/devices.h"
#include "src/place/map.h"

/* -- without a map: runs of parts, one for each stage -- */

/* Limits of a stage. */
struct most {
    double bytes, operations;
};

static double bytes_of(const struct mf_part *p) { return (double)(p->weights + p->caches); }

/* Fills one stage after the other within @p most, and leaves a part for each that follows. Returns how many stages that
 * takes. More than @p stages means that it is not enough. The stages of the parts go to @p device [parts], if it is
 * there. */
static size_t fill(const struct mf_parts *parts, size_t stages, struct most most, size_t *device)
{
    struct most now = {0, 0};
    size_t run = 0, count = 0;

    for (size_t k = 0; k < parts->count; ++k) {
        const struct mf_part *p = &parts->part[k];
        const int is_full = now.bytes + bytes_of(p) > most.bytes || now.operations + p->operations > most.operations;

        if (count > 0 && (is_full || parts->count - k + run + 1 == stages)) {
            ++run;
            count = 0;
            now = (struct most){0, 0};
        }
        if (bytes_of(p) > most.bytes || p->operations > most.operations) return stages + 1;
        now.bytes += bytes_of(p);
        now.operations += p->operations;
        ++count;
        if (device) device[k] = run;
    }
    return run + 1;
}

/* The least of one limit with which the stages suffice, to a millionth. */
static void least(const struct mf_parts *parts, size_t stages, struct most *most, double *limit)
{
    double low = 0, high = 0;

    for (size_t k = 0; k < parts->count; ++k)
        high += limit == &most->bytes ? bytes_of(&parts->part[k]) : parts->part[k].operations;
    for (int turn = 0; turn < 60 && high - low > 1e-6 * high; ++turn) {
        *limit = (low + high) / 2;
        if (fill(parts, stages, *most, NULL) <= stages)
            high = *limit;
        else
            low = *limit;
    }
    *limit = high;
}

/* The largest memory of a stage is the least possible, then the most operations are. */
static int place(const struct mf_parts *parts, size_t stages, struct mf_device_map *placement)
{
    struct most most = {INFINITY, INFINITY};

    if (parts->count < stages)
        return mf_fail(MF_USAGE, "--pp %zu: the model has %zu part%s, and each stage has at least one; try: --pp %zu",
                       stages, parts->count, MF_S(parts->count), parts->count);
    least(parts, stages, &most, &most.bytes);
    least(parts, stages, &most, &most.operations);
    mf_device_map_new(placement, parts->count);
    (void)fill(parts, stages, most, placement->device);
    return MF_OK;
}

/* -- by speeds -- */

/* Fills one stage after the other for @p most seconds. Returns 0: that does not suffice. */
static int fill_for(size_t parts, const double *operations, size_t stages, const double *speed, double most,
                    size_t *stage)
{
    size_t s = 0, count = 0;
    double sum = 0;

    for (size_t k = 0; k < parts; ++k) {
        if (count > 0 && (sum + operations[k] > most * speed[s] || parts - k + s + 1 == stages)) {
            if (++s == stages) return 0;
            sum = 0;
            count = 0;
        }
        sum += operations[k];
        ++count;
        if (sum > most * speed[s]) return 0;
        stage[k] = s;
    }
    return 1;
}

double mf_place_by_speed(size_t parts, const double *operations, size_t stages, const double *speed, size_t *stage)
{
    double low = 0, high = 0, slowest = INFINITY;

    for (size_t s = 0; s < stages; ++s) slowest = fmin(slowest, speed[s]);
    for (size_t k = 0; k < parts; ++k) high += operations[k] / slowest;
    high *= 1 + 1e-6; /* rounding */
    for (int turn = 0; turn < 60 && high - low > 1e-6 * high; ++turn) {
        const double middle = (low + high) / 2;

        if (fill_for(parts, operations, stages, speed, middle, stage))
            high = middle;
        else
            low = middle;
    }
    (void)fill_for(parts, operations, stages, speed, high, stage);
    return high;
}

/* -- by a map -- */

static int read_devices(const char *text, struct mf_map *map, struct mf_place_devices *devices)
{
    *devices = (struct mf_place_devices){.count = 0};
    MF_TRY(mf_map_read(text, map));
    return mf_map_devices(map, devices);
}

/* Which of two devices is the cores; else their number: none is. */
static size_t cores_of(const struct mf_place_devices *devices)
{
    size_t d = 0;

    if (devices->count != 2) return devices->count;
    while (d < devices->count && !devices->device[d].is_cores) ++d;
    return d;
}

int mf_place_map_stages(const char *text, size_t ranks, size_t *stages)
{
    struct mf_place_devices devices;
    struct mf_map map;
    int rc;

    *stages = 1;
    if (!text) return MF_OK;
    rc = read_devices(text, &map, &devices);
    if (rc == MF_OK) *stages = ranks == 1 && cores_of(&devices) < devices.count ? 1 : devices.count;
    mf_place_devices_free(&devices);
    mf_map_free(&map);
    return rc;
}

int mf_place_map_has_cores(const char *text)
{
    size_t alone = 0, all = 0;

    if (mf_place_map_stages(text, 1, &alone) != MF_OK || mf_place_map_stages(text, 0, &all) != MF_OK) mf_err_clear();
    return alone < all;
}

void mf_place_map_say(const char *text, size_t ranks, int on_cores)
{
    struct mf_place_devices devices;
    struct mf_map map;
    size_t k = 0;

    if (!text || (ranks == 1 && !on_cores && mf_place_map_has_cores(text))) return;
    if (read_devices(text, &map, &devices) != MF_OK) mf_err_clear();
    while (k < devices.count &&
           (mf_place_device_rank(devices.device[k].name) >= 0 || devices.device[k].is_cores == (on_cores != 0)))
        ++k;
    if (k < devices.count)
        mf_warn("--map: '%s' only numbers a stage; every rank computes on %s", devices.device[k].name,
                on_cores ? "the cores" : "its GPU");
    mf_place_devices_free(&devices);
    mf_map_free(&map);
}

/* @p weights: single ones are enough. */
static int has_something(const struct mf_device_map *placement, size_t device, int weights)
{
    for (size_t k = 0; k < placement->parts; ++k)
        if (placement->device[k] == device) return 1;
    for (size_t k = 0; weights && k < placement->exceptions; ++k)
        if (placement->exception[k].device == device) return 1;
    return 0;
}

/* Every stage has something to do. */
static int check_stages(const struct mf_device_map *placement, size_t count, const struct mf_place_devices *stages,
                        int weights)
{
    if (stages->count != count)
        return mf_fail(MF_USAGE, "--map names %zu device%s, and --pp is %zu; leave --pp out", stages->count,
                       MF_S(stages->count), count);
    for (size_t d = 0; d < stages->count; ++d)
        if (!has_something(placement, d, weights))
            return mf_fail(MF_USAGE, "--map gives no part to %s; leave it out", stages->device[d].name);
    return MF_OK;
}

static int place_by_map(const struct mf_parts *parts, size_t count, const char *text, const struct mf_language *model,
                        struct mf_device_map *placement, size_t *cores)
{
    struct mf_place_devices stages;
    struct mf_map map;
    int rc = read_devices(text, &map, &stages);

    if (rc == MF_OK) rc = mf_map_place(&map, parts, &stages, model, placement);
    if (rc == MF_OK) rc = check_stages(placement, count, &stages, cores != NULL);
    if (cores) *cores = cores_of(&stages);
    mf_place_devices_free(&stages);
    mf_map_free(&map);
    return rc;
}

int mf_place_stages(const struct mf_parts *parts, size_t stages, const char *map, const struct mf_language *model,
                    struct mf_device_map *placement)
{
    *placement = (struct mf_device_map){.parts = 0};
    return map ? place_by_map(parts, stages, map, model, placement, NULL) : place(parts, stages, placement);
}

int mf_place_cores(const struct mf_parts *parts, const char *map, const struct mf_language *model,
                   struct mf_device_map *placement, size_t *cores)
{
    *placement = (struct mf_device_map){.parts = 0};
    return place_by_map(parts, 2, map, model, placement, cores);
}
