/* See resemble.h. */
#include "src/cmd/resemble.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"

/* FAR: deviations between means. A deviation is odd below the training's / FLAT and above it times WIDE. PHASES: the
 * largest number of a phase that is no grey value, where those reach GREY. */
enum { FAR = 3, FLAT = 10, WIDE = 4, PHASES = 7, GREY = 64 };

static int has_range(const struct mf_channel *c) { return c->least <= c->most; }

static struct mf_channel measure(size_t n, size_t stride, const float *values, int *whole)
{
    struct mf_channel c = {.least = (double)values[0], .most = (double)values[0]};
    double sum = 0, square = 0;

    for (size_t i = 0; i < n; ++i) sum += (double)values[i * stride];
    c.mean = sum / (double)n;
    for (size_t i = 0; i < n; ++i) {
        const double v = (double)values[i * stride];

        square += (v - c.mean) * (v - c.mean);
        c.least = fmin(c.least, v);
        c.most = fmax(c.most, v);
        *whole &= v == floor(v);
    }
    c.deviation = sqrt(square / (double)n);
    return c;
}

void mf_looked_measure(size_t n, size_t channels, const float *values, struct mf_looked *looked)
{
    looked->whole = 1;
    for (size_t c = 0; c < channels; ++c) looked->channel[c] = measure(n, channels, values + c, &looked->whole);
}

static void describe(const char *type, const struct mf_channel *c, size_t room, char *text)
{
    size_t n = (size_t)snprintf(text, room, "mean %.6g +- %.4g", c->mean, c->deviation);

    if (type) n += (size_t)snprintf(text + n, room - n, " (%s", type);
    if (type && has_range(c)) n += (size_t)snprintf(text + n, room - n, ", %.6g to %.6g", c->least, c->most);
    if (type) snprintf(text + n, room - n, ")");
}

static int is_phases(const struct mf_looked *l, const struct mf_channel *c, const struct mf_channel *model)
{
    return l->whole && has_range(c) && c->least >= 0 && c->least < c->most && c->most <= PHASES && has_range(model) &&
           model->most >= GREY;
}

static int is_unlike(const struct mf_channel *c, const struct mf_channel *model)
{
    const double width = model->most - model->least;
    const int ranges = has_range(c) && has_range(model);

    return fabs(c->mean - model->mean) > FAR * model->deviation ||
           (ranges && (c->most > model->most + width || c->least < model->least - width)) ||
           (c->deviation > 0 && c->deviation * FLAT < model->deviation) || c->deviation > WIDE * model->deviation;
}

int mf_unlike_note(const struct mf_saved *s, size_t place, const struct mf_looked *l, struct mf_unlike *unlike)
{
    char has[120], learnt[120], which[40] = "";

    for (size_t c = 0; c < s->dims[3]; ++c) {
        const struct mf_channel *own = &l->channel[c], *model = &s->channel[c];

        if (is_phases(l, own, model))
            return mf_fail(
                MF_INPUT,
                "'%s' holds whole numbers from %g to %g, which look like phases, and the model of '%s' learnt "
                "from grey values of %g to %g",
                l->file, own->least, own->most, s->path, model->least, model->most);
        if (!is_unlike(own, model)) continue;
        if (unlike->files++ > 0) return MF_OK;
        describe(l->type, own, sizeof has, has);
        describe(s->type, model, sizeof learnt, learnt);
        if (s->dims[3] > 1) snprintf(which, sizeof which, " in channel %zu", c);
        unlike->place = place;
        snprintf(unlike->file, sizeof unlike->file, "%.400s", l->file);
        snprintf(unlike->text, sizeof unlike->text, "%s%s, and '%.200s' learnt from %s", has, which, s->path, learnt);
        return MF_OK;
    }
    return MF_OK;
}

int mf_unlike_note_set(const struct mf_saved *s, size_t place, const struct mf_dataset *set, size_t n,
                       const uint32_t *id, struct mf_unlike *unlike)
{
    struct mf_looked looked = {.file = set->path, .type = set->is_float ? "float32" : "uint8", .whole = !set->is_float};

    if (set->phases) return MF_OK;
    for (size_t c = 0; c < set->inputs; ++c) looked.channel[c] = mf_dataset_channel(set, c, n, id);
    return mf_unlike_note(s, place, &looked, unlike);
}

int mf_unlike_tell(const struct mf_comm *comm, const struct mf_unlike *own)
{
    const struct mf_unlike *first = NULL, *each;
    char more[40] = "";
    size_t files = 0;
    void *all;

    MF_TRY(mf_comm_gather(comm, own, sizeof *own, &all, NULL));
    each = all;
    for (int r = 0; r < comm->size; ++r) {
        files += each[r].files;
        if (each[r].files && (!first || each[r].place < first->place)) first = &each[r];
    }
    if (files > 1) snprintf(more, sizeof more, " and %zu more file%s", files - 1, MF_S(files - 1));
    if (first)
        mf_warn("'%s'%s: %s; on values of another scale a network is wrong, and sure of itself", first->file, more,
                first->text);
    free(all);
    return MF_OK;
}
