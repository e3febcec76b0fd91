/* See plan.h: the lines by which plans are compared, and whether a stored plan matches a run. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/plan/plan.h"

void mf_plan_say(struct mf_plan_lines *lines, const char *key, const char *format, ...)
{
    struct mf_plan_line line = {.key = MF_MUST(strdup(key), "a plan")};
    va_list list;

    va_start(list, format);
    if (vasprintf(&line.value, format, list) < 0) line.value = NULL;
    va_end(list);
    MF_MUST(line.value, "a plan");
    lines->at = MF_MUST(realloc(lines->at, (lines->count + 1) * sizeof line), "a plan");
    lines->at[lines->count++] = line;
}

void mf_plan_lines_free(struct mf_plan_lines *lines)
{
    for (size_t i = 0; i < lines->count; ++i) {
        free(lines->at[i].key);
        free(lines->at[i].value);
    }
    free(lines->at);
    *lines = (struct mf_plan_lines){.count = 0};
}

/* GPUs @p g and those after it with the same name and memory. */
static size_t run_of(const struct mf_host *host, size_t g)
{
    size_t n = 1;

    while (g + n < host->gpus && strcmp(host->gpu[g].name, host->gpu[g + n].name) == 0 &&
           host->gpu[g].memory_bytes == host->gpu[g + n].memory_bytes)
        ++n;
    return n;
}

void mf_plan_machine(const struct mf_hardware *hardware, struct mf_plan_lines *lines)
{
    mf_plan_say(lines, "nodes", "%zu", mf_plan_nodes(hardware));
    for (size_t h = 0; h < hardware->hosts; ++h) {
        const struct mf_host *host = &hardware->host[h];

        mf_plan_say(lines, "cores", "%lld x %lld", (long long)host->count, (long long)host->cores);
        mf_plan_say(lines, "node", "%s vectors, %lld bytes", host->simd, (long long)host->ram_bytes);
        for (size_t g = 0, n; g < host->gpus; g += n) {
            n = run_of(host, g);
            mf_plan_say(lines, "gpus", "%zu x %.80s of %lld bytes", n, host->gpu[g].name,
                        (long long)host->gpu[g].memory_bytes);
        }
    }
}

static const struct mf_plan_line none = {"", "nothing"};

static int agree(const char *path, const char *of, const struct mf_plan_line *x, const struct mf_plan_line *y)
{
    if (strcmp(x->key, y->key) == 0 && strcmp(x->value, y->value) == 0) return MF_OK;
    return mf_fail(MF_INPUT, "'%.200s' is a plan of another %s: it says '%.99s%s%.200s', here it is '%.99s%s%.200s'",
                   path, of, x->key, *x->key ? ": " : "", x->value, y->key, *y->key ? ": " : "", y->value);
}

/* The next line of this key from @p *at on, or that there is none. */
static const struct mf_plan_line *next(const struct mf_plan_lines *lines, const char *key, size_t *at)
{
    while (*at < lines->count && strcmp(lines->at[*at].key, key) != 0) ++*at;
    return *at < lines->count ? &lines->at[(*at)++] : &none;
}

int mf_plan_same_key(const char *path, const struct mf_plan *stored, const struct mf_plan_lines *problem,
                     const char *key)
{
    const struct mf_plan_line *x, *y;
    size_t i = 0, k = 0;

    do {
        x = next(&stored->problem, key, &i);
        y = next(problem, key, &k);
        MF_TRY(agree(path, "problem", x, y));
    } while (x != &none);
    return MF_OK;
}

/* Is a machine's line among the stored ones? Numbers of nodes and cores are not compared. A run has only a part of
 * them, and a launcher binds its ranks. */
static int is_told(const struct mf_plan_lines *stored, const struct mf_plan_line *line)
{
    if (strcmp(line->key, "nodes") == 0 || strcmp(line->key, "cores") == 0) return 1;
    for (size_t i = 0; i < stored->count; ++i)
        if (strcmp(stored->at[i].key, line->key) == 0 && strcmp(stored->at[i].value, line->value) == 0) return 1;
    return 0;
}

static int same_machine(const char *path, const struct mf_plan *stored, const struct mf_hardware *hardware)
{
    struct mf_plan_lines machine = {.count = 0};
    int rc = MF_OK;

    mf_plan_machine(hardware, &machine);
    for (size_t i = 0; i < machine.count && rc == MF_OK; ++i)
        if (!is_told(&stored->machine, &machine.at[i]))
            rc = mf_fail(MF_INPUT, "'%.200s' is a plan of another machine: here it is '%s: %s'; try: --plan auto", path,
                         machine.at[i].key, machine.at[i].value);
    mf_plan_lines_free(&machine);
    return rc;
}

int mf_plan_same(const char *path, const struct mf_plan *stored, const struct mf_plan_lines *problem,
                 const struct mf_hardware *hardware)
{
    const struct mf_plan_lines *lines[] = {&stored->problem, problem};

    for (int k = 0; k < 2; ++k)
        for (size_t i = 0; i < lines[k]->count; ++i)
            MF_TRY(mf_plan_same_key(path, stored, problem, lines[k]->at[i].key));
    return same_machine(path, stored, hardware);
}

int mf_plan_for_ranks(const char *path, const struct mf_plan *stored, size_t ranks)
{
    if (stored->ranks == ranks) return MF_OK;
    return mf_fail(MF_USAGE, "--plan '%.200s' is for %zu rank%s, this run has %zu", path, stored->ranks,
                   MF_S(stored->ranks), ranks);
}

int mf_plan_for_device(const char *path, const struct mf_plan *stored, const char *device)
{
    const char *is = mf_plan_device(stored->device, stored->apart);

    if (strcmp(is, device) == 0) return MF_OK;
    return mf_fail(MF_USAGE, "--plan '%.200s' is for device %s, this run is on %s", path, is, device);
}

int mf_plan_for_threads(const char *path, const struct mf_plan *stored, size_t rank, size_t threads)
{
    if (stored->device || stored->threads == threads) return MF_OK;
    return mf_fail(MF_USAGE, "--plan '%.200s' is for %zu thread%s per rank, rank %zu has %zu; try: %s--threads %zu",
                   path, stored->threads, MF_S(stored->threads), rank, threads,
                   stored->threads > threads ? "mesoforge plan on this machine, or, if it has those cores, " : "",
                   stored->threads);
}

int mf_plan_for_setting(const char *path, const struct mf_plan *stored, const char *name, const char *option,
                        size_t value)
{
    const size_t *is = mf_plan_find(&stored->settings, name);

    if (!is || *is == value) return MF_OK;
    return mf_fail(MF_USAGE, "--plan '%.200s' says %s %zu, %s says %zu", path, name, *is, option, value);
}
