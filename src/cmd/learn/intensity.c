/* See intensity.h. */
#include "src/cmd/learn/intensity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"

/* FAR: deviations between means. Values may leave the range by 1 / OUT of it. A deviation is too large above the
 * training's times WIDE. It is too small below 1 / FLAT, and below 1 / LOW if the range is below 1 / TENTH, too. Whole
 * numbers up to PHASES are phases if the training's grey values reach GREY times as far. */
enum { FAR = 3, OUT = 4, WIDE = 4, FLAT = 10, LOW = 5, TENTH = 10, PHASES = 7, GREY = 8 };

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

void mf_intensity_measure(size_t n, size_t channels, const float *values, struct mf_intensity *intensity)
{
    intensity->whole = 1;
    for (size_t c = 0; c < channels; ++c) intensity->channel[c] = measure(n, channels, values + c, &intensity->whole);
}

static void describe(const char *type, const struct mf_channel *c, size_t room, char *text)
{
    size_t n = (size_t)snprintf(text, room, "mean %.6g +- %.4g", c->mean, c->deviation);

    if (type) n += (size_t)snprintf(text + n, room - n, " (%.16s", type);
    if (type && has_range(c)) n += (size_t)snprintf(text + n, room - n, ", %.6g to %.6g", c->least, c->most);
    if (type) snprintf(text + n, room - n, ")");
}

/* In all channels, of which one alone may be dark. */
static int is_phases(const struct mf_model_card *s, const struct mf_intensity *l)
{
    for (size_t c = 0; c < s->dims[3]; ++c) {
        const struct mf_channel *own = &l->channel[c], *model = &s->channel[c];

        if (!has_range(own) || own->least < 0 || !(own->least < own->most) || own->most > PHASES) return 0;
        if (!has_range(model) || model->most < GREY * own->most) return 0;
    }
    return l->whole;
}

/* Two values have the largest variance among all with this mean and range. */
static int is_of_two(const struct mf_channel *c, double part)
{
    return has_range(c) && c->deviation > 0 &&
           c->deviation * c->deviation > part * (c->mean - c->least) * (c->most - c->mean);
}

/* 4 bits for 8, or 0 to 1 for 0 to 255. */
static int is_flat(const struct mf_channel *c, const struct mf_channel *model)
{
    const int narrow = has_range(c) && has_range(model) && TENTH * (c->most - c->least) < model->most - model->least;

    return (narrow ? LOW : FLAT) * c->deviation < model->deviation;
}

static int is_shifted(const struct mf_channel *c, const struct mf_channel *model)
{
    const double out = (model->most - model->least) / OUT;
    const int ranges = has_range(c) && has_range(model);

    return fabs(c->mean - model->mean) > FAR * model->deviation || c->deviation > WIDE * model->deviation ||
           (ranges && (c->most > model->most + out || c->least < model->least - out)) || is_flat(c, model) ||
           (ranges && is_of_two(c, 0.99) && !is_of_two(model, 0.9));
}

int mf_intensity_compare(const struct mf_model_card *s, size_t place, const struct mf_intensity *intensity,
                         struct mf_intensity_shift *shift)
{
    char has[120], learnt[120], which[40] = "";

    if (is_phases(s, intensity))
        return mf_fail(
            MF_INPUT,
            "'%s' holds whole numbers from %g to %g, which look like phases, and the model of '%s' learnt from "
            "grey values of %g to %g",
            intensity->file, intensity->channel->least, intensity->channel->most, s->path, s->channel->least,
            s->channel->most);
    for (size_t c = 0; c < s->dims[3]; ++c) {
        const struct mf_channel *own = &intensity->channel[c], *model = &s->channel[c];

        if (!is_shifted(own, model)) continue;
        if (shift->files++ > 0) return MF_OK;
        describe(intensity->type, own, sizeof has, has);
        describe(s->type, model, sizeof learnt, learnt);
        if (s->dims[3] > 1) snprintf(which, sizeof which, " in channel %zu", c);
        shift->place = place;
        snprintf(shift->file, sizeof shift->file, "%.400s", intensity->file);
        snprintf(shift->text, sizeof shift->text, "%s%s, and '%.200s' learnt from %s", has, which, s->path, learnt);
        return MF_OK;
    }
    return MF_OK;
}

int mf_intensity_compare_set(const struct mf_model_card *s, size_t place, const struct mf_dataset *set, size_t n,
                             const uint32_t *id, struct mf_intensity_shift *shift)
{
    struct mf_intensity intensity = {
        .file = set->path, .type = set->is_float ? "float32" : "uint8", .whole = !set->is_float};

    if (set->phases) return MF_OK;
    for (size_t c = 0; c < set->inputs; ++c) intensity.channel[c] = mf_dataset_channel(set, c, n, id);
    return mf_intensity_compare(s, place, &intensity, shift);
}

int mf_intensity_warn(const struct mf_comm *comm, const struct mf_intensity_shift *own)
{
    const struct mf_intensity_shift *first = NULL, *each;
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
