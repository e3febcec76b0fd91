/* See plan.h: lines that plans are compared by. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/plan/plan.h"

void mf_plan_say(size_t *lines, struct mf_plan_line *line, const char *key, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    MF_ASSERT(*lines < MF_PLAN_LINES);
    snprintf(line[*lines].key, sizeof line->key, "%s", key);
    vsnprintf(line[*lines].value, sizeof line->value, format, list);
    va_end(list);
    ++*lines;
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

/* Many unlike nodes are described by the first of them and counted. */
void mf_plan_machine(const struct mf_hardware *hardware, size_t *lines, struct mf_plan_line *line)
{
    mf_plan_say(lines, line, "nodes", "%zu", mf_plan_nodes(hardware));
    for (size_t h = 0; h < hardware->hosts && *lines + 8 < MF_PLAN_LINES; ++h) {
        const struct mf_host *host = &hardware->host[h];

        mf_plan_say(lines, line, "cores", "%lld x %lld", (long long)host->count, (long long)host->cores);
        mf_plan_say(lines, line, "node", "%s vectors, %lld bytes", host->simd, (long long)host->ram_bytes);
        for (size_t g = 0, n; g < host->gpus && *lines + 4 < MF_PLAN_LINES; g += n) {
            n = run_of(host, g);
            mf_plan_say(lines, line, "gpus", "%zu x %.80s of %lld bytes", n, host->gpu[g].name,
                        (long long)host->gpu[g].memory_bytes);
        }
    }
}

static const struct mf_plan_line none = {"", "nothing"};

static int agree(const char *path, const char *of, const struct mf_plan_line *x, const struct mf_plan_line *y)
{
    if (strcmp(x->key, y->key) == 0 && strcmp(x->value, y->value) == 0) return MF_OK;
    return mf_fail(MF_INPUT, "'%.200s' is a plan of another %s: it says '%s%s%s', here it is '%s%s%s'", path, of,
                   x->key, *x->key ? ": " : "", x->value, y->key, *y->key ? ": " : "", y->value);
}

static int compare(const char *path, const char *of, size_t an, const struct mf_plan_line *a, size_t bn,
                   const struct mf_plan_line *b)
{
    for (size_t i = 0; i < an || i < bn; ++i) MF_TRY(agree(path, of, i < an ? &a[i] : &none, i < bn ? &b[i] : &none));
    return MF_OK;
}

/* The next line of this key from @p *at on, or that there is none. */
static const struct mf_plan_line *next(size_t n, const struct mf_plan_line *line, const char *key, size_t *at)
{
    while (*at < n && strcmp(line[*at].key, key) != 0) ++*at;
    return *at < n ? &line[(*at)++] : &none;
}

int mf_plan_same_key(const char *path, const struct mf_plan *stored, const struct mf_plan_problem *problem,
                     const char *key)
{
    const struct mf_plan_line *x, *y;
    size_t i = 0, k = 0;

    do {
        x = next(stored->problem.lines, stored->problem.line, key, &i);
        y = next(problem->lines, problem->line, key, &k);
        MF_TRY(agree(path, "problem", x, y));
    } while (x != &none);
    return MF_OK;
}

/* Is a machine's line among the stored ones? How many nodes and cores there are is not asked: a run has a part of them,
 * and a launcher binds its ranks to some. */
static int is_told(size_t n, const struct mf_plan_line *stored, const struct mf_plan_line *line)
{
    if (strcmp(line->key, "nodes") == 0 || strcmp(line->key, "cores") == 0) return 1;
    for (size_t i = 0; i < n; ++i)
        if (strcmp(stored[i].key, line->key) == 0 && strcmp(stored[i].value, line->value) == 0) return 1;
    return 0;
}

int mf_plan_same(const char *path, const struct mf_plan *stored, const struct mf_plan_problem *problem,
                 const struct mf_hardware *hardware)
{
    struct mf_plan_line line[MF_PLAN_LINES];
    size_t lines = 0;

    MF_TRY(compare(path, "problem", stored->problem.lines, stored->problem.line, problem->lines, problem->line));
    mf_plan_machine(hardware, &lines, line);
    for (size_t i = 0; i < lines; ++i)
        if (!is_told(stored->machine_lines, stored->machine, &line[i]))
            return mf_fail(MF_INPUT, "'%.200s' is a plan of another machine: here it is '%s: %s'; try: --plan auto",
                           path, line[i].key, line[i].value);
    return MF_OK;
}
