/* See summary.h. */
#include "src/moe/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/atomic.h"
#include "src/base/err.h"
#include "src/base/text.h"

enum { KEY = 22 };

static void put_text(FILE *to, const char *key, const char *text)
{
    fprintf(to, "%-*s%s\n", KEY, key, text && *text ? text : "-");
}

static void put_whole(FILE *to, const char *key, long value) { fprintf(to, "%-*s%ld\n", KEY, key, value); }

static void put_real(FILE *to, const char *key, double value, const char *unit)
{
    if (isfinite(value))
        fprintf(to, "%-*s%.6g%s%s\n", KEY, key, value, *unit ? " " : "", unit);
    else
        put_text(to, key, NULL);
}

/* A line for each line of the text. */
static void put_devices(FILE *to, const struct mf_summary *s)
{
    char *text = mf_devices_text(s->devices, s->device), *rest = text;
    const char *line;

    for (int k = 0; (line = strsep(&rest, "\n")) != NULL; ++k) put_text(to, k == 0 ? "devices" : "", line);
    free(text);
}

static void put_experts(FILE *to, const struct mf_summary *s)
{
    put_whole(to, "experts_at_start", s->experts[0]);
    put_whole(to, "experts_at_end", s->experts[1]);
    put_whole(to, "births", s->changes[MF_CHANGE_BIRTH]);
    put_whole(to, "merges", s->changes[MF_CHANGE_MERGE]);
    put_whole(to, "prunes", s->changes[MF_CHANGE_PRUNE]);
    put_whole(to, "sleeps", s->changes[MF_CHANGE_SLEEP]);
}

static void put_score(FILE *to, const struct mf_summary *s)
{
    const char *score = s->score ? s->score : "score";

    if (!isfinite(s->value))
        put_text(to, score, NULL);
    else if (s->columns > 1)
        fprintf(to, "%-*s%.6g (%s split, mean of %zu columns)\n", KEY, score, s->value, s->split, s->columns);
    else
        fprintf(to, "%-*s%.6g (%s split)\n", KEY, score, s->value, s->split);
}

static void put_columns(FILE *to, const struct mf_summary *s)
{
    for (size_t c = 0; c < s->columns; ++c)
        if (isfinite(s->column[c].r2))
            fprintf(to, "%*s%s: %.6g\n", KEY, "", s->column[c].name, s->column[c].r2);
        else
            fprintf(to, "%*s%s: -\n", KEY, "", s->column[c].name);
}

static void put_all(FILE *to, const struct mf_summary *s)
{
    put_text(to, "mode", s->mode);
    put_devices(to, s);
    put_text(to, "parallel_strategy", s->strategy);
    put_text(to, "precision", s->precision);
    put_text(to, "compiled", s->compiled);
    if (s->tuned) put_text(to, "algorithms", s->tuned);
    put_whole(to, "batch_size", s->batch);
    put_whole(to, "accumulation_steps", s->accumulation);
    put_whole(to, "effective_batch_size", s->effective);
    put_experts(to, s);
    put_whole(to, "steps", s->steps);
    put_real(to, "epochs", s->epochs, "");
    put_real(to, "time", s->seconds, "s");
    put_real(to, "mean_epoch_time", s->epoch_seconds, "s");
    put_real(to, "samples_per_second", s->samples_per_second, "");
    put_score(to, s);
    put_columns(to, s);
}

static int write_text(const struct mf_summary *s, const struct mf_atomic *file)
{
    FILE *to = fopen(file->temporary, "w");
    int bad;

    if (!to) return mf_fail(MF_OUTPUT, "cannot write '%.300s': %s", file->path, strerror(errno));
    put_all(to, s);
    bad = ferror(to);
    bad |= fclose(to) != 0;
    return bad ? mf_fail(MF_OUTPUT, "cannot write '%.300s': %s", file->path, strerror(errno)) : MF_OK;
}

int mf_summary_write(const struct mf_summary *summary, const char *path)
{
    struct mf_atomic file;
    struct mf_comm self;

    mf_comm_self(&self);
    MF_TRY(mf_atomic_open(&self, path, 0, &file));
    return mf_atomic_close(&self, &file, write_text(summary, &file));
}
