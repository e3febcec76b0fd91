/* See sets.h: what a comparison of sets says. */
#include <math.h>

#include "src/base/text.h"
#include "src/show/sets.h"

/* ---- text ---- */

enum { CELL = 16 };

/* A number, or a dash where there is none. */
static const char *number(char text[CELL], const char *format, double value)
{
    if (isfinite(value))
        snprintf(text, CELL, format, value);
    else
        snprintf(text, CELL, "-");
    return text;
}

/* Relative difference of a measure; of a share of samples it says nothing. */
static double relative(const struct mf_set_row *row)
{
    return mf_set_facts[row->measure].steady ? NAN : row->difference / row->real;
}

/* Made beside real: differences of curves have no sign. */
static void print_made(FILE *to, const struct mf_set_row *row)
{
    char real[CELL], made[CELL], difference[CELL], share[CELL], spread[CELL];
    const char *format = mf_set_facts[row->measure].steady ? "%.4f" : "%.4g";

    fprintf(to, "  %-18s %9s %9s %9s %8s %9s", mf_set_facts[row->measure].title, number(real, format, row->real),
            number(made, format, row->made),
            number(difference, mf_set_facts[row->measure].curve ? "%.4f" : "%+.4f", row->difference),
            number(share, "%+.1f %%", 100 * relative(row)), number(spread, "%+.1f %%", 100 * row->spread));
}

/* Which half is the larger one means nothing. */
static void print_chance(FILE *to, const struct mf_set_row *row)
{
    char difference[CELL], share[CELL], spread[CELL];

    fprintf(to, "  |%9s %7s %9s", number(difference, "%.4f", fabs(row->difference)),
            number(share, "%.1f %%", 100 * fabs(relative(row))), number(spread, "%.1f %%", 100 * fabs(row->spread)));
}

static void print_head(FILE *to, const struct mf_sets *s, size_t part)
{
    char name[24];

    snprintf(name, sizeof name, "%s %zu", s->shape.phases ? "phase" : "channel", part);
    fprintf(to, "%-20s %9s %9s %9s %8s %9s", name, "real", "made", "made-real", "", "deviation");
    if (s->chance) fprintf(to, "  |%9s %7s %9s", "by chance", "", "deviation");
    fprintf(to, "\n");
}

static void print_wanted(FILE *to, const struct mf_sets *s, size_t part)
{
    const struct mf_sets_wanted *w = &s->wanted[part];
    char text[CELL];

    if (!w->known) return;
    fprintf(to, "  wanted volume fraction");
    if (s->shape.phases > 2) fprintf(to, " of phase %zu", part + mf_set_measures_first(s->of[MF_SETS_MADE]));
    fprintf(to, ": R2 %s, off by %.5f in the mean\n", number(text, "%.4f", w->r2), w->error);
}

/* Prints shares of pixels, or differences of values in deviations of the real set. */
static void print_near(FILE *to, const struct mf_sets *s, int which)
{
    const struct mf_sets_copies *c = &s->copies;
    const size_t n = c->n[which];

    if (!n) return;
    fprintf(to, "  %s, %zu sample%s: ", which == MF_SETS_MADE ? "made" : "real", n, MF_S(n));
    fprintf(to, "least %.4f, 5 %% quantile %.4f, median %.4f\n", mf_set_copies_quantile(n, c->near[which], 0),
            mf_set_copies_quantile(n, c->near[which], 0.05), mf_set_copies_quantile(n, c->near[which], 0.5));
}

static void print_copies(FILE *to, const struct mf_sets *s)
{
    const size_t train = s->set[MF_SETS_REAL]->count[MF_TRAIN];

    if (!s->copies.n[MF_SETS_MADE]) return;
    fprintf(to, "copies: %s from the nearest of %zu samples of the real train split, over all periodic shifts\n",
            s->shape.phases ? "share of pixels that differ" : "root mean square difference, in deviations,", train);
    print_near(to, s, MF_SETS_MADE);
    print_near(to, s, MF_SETS_REAL);
    if (s->copies.n[MF_SETS_REAL])
        fprintf(to, "  %zu of the %zu made samples are nearer than every real one\n", s->copies.nearer,
                s->copies.n[MF_SETS_MADE]);
}

static void print_set(FILE *to, const struct mf_sets *s, int which)
{
    fprintf(to, "%s: %zu sample%s of '%s' (%s)\n", which == MF_SETS_REAL ? "real" : "made", s->n[which],
            MF_S(s->n[which]), s->set[which]->path, s->split[which]);
}

void mf_sets_text(FILE *to, const struct mf_sets *s)
{
    for (int k = 0; k < MF_SETS; ++k) print_set(to, s, k);
    fprintf(to, "distances below %zu pixel%s, %s\n", s->shape.lag, MF_S(s->shape.lag),
            s->shape.periodic ? "across borders" : "not across borders; --periodic goes across");
    if (!s->shape.phases)
        fprintf(to, "S2, lineal path, interfaces and percolation are not defined: there are no phases\n");
    for (size_t i = 0; i < s->rows; ++i) {
        if (i == 0 || s->row[i].part != s->row[i - 1].part) print_head(to, s, mf_sets_part(s, &s->row[i]));
        print_made(to, &s->row[i]);
        if (s->chance) print_chance(to, &s->chance[i]);
        fprintf(to, "\n");
        if (i + 1 == s->rows || s->row[i + 1].part != s->row[i].part) print_wanted(to, s, s->row[i].part);
    }
    print_copies(to, s);
}

/* ---- JSON ---- */

static void put_off(struct mf_json *at, const struct mf_set_row *row)
{
    mf_json_real(at, "difference", row->difference);
    mf_json_finite(at, "relative_difference", relative(row));
    if (!mf_set_facts[row->measure].steady) mf_json_finite(at, "spread", row->spread);
}

static struct mf_json *row_json(const struct mf_sets *s, size_t i)
{
    const struct mf_set_row *row = &s->row[i];
    struct mf_json *one = mf_json_object(), *chance;

    if (!mf_set_facts[row->measure].curve) MF_JSON(one, "real", row->real, "made", row->made);
    if (!mf_set_facts[row->measure].steady) {
        mf_json_finite(one, "deviation_real", row->deviation[0]);
        mf_json_finite(one, "deviation_made", row->deviation[1]);
    }
    put_off(one, row);
    if (!s->chance) return one;
    chance = mf_json_object();
    put_off(chance, &s->chance[i]);
    mf_json_put(one, "by_chance", chance);
    return one;
}

/* One phase or channel, whose rows begin at *i. */
static struct mf_json *part_json(const struct mf_sets *s, size_t *i)
{
    struct mf_json *one = mf_json_object(), *measures = mf_json_object(), *wanted;
    const size_t part = s->row[*i].part;

    mf_json_int(one, s->shape.phases ? "phase" : "channel", (long long)mf_sets_part(s, &s->row[*i]));
    for (; *i < s->rows && s->row[*i].part == part; ++*i)
        mf_json_put(measures, mf_set_facts[s->row[*i].measure].name, row_json(s, *i));
    mf_json_put(one, "measures", measures);
    if (!s->wanted[part].known) return one;
    wanted = mf_json_object();
    mf_json_finite(wanted, "r2", s->wanted[part].r2);
    mf_json_real(wanted, "error", s->wanted[part].error);
    mf_json_put(one, "wanted_volume_fraction", wanted);
    return one;
}

static void put_near(struct mf_json *at, const struct mf_sets *s, int which)
{
    const struct mf_sets_copies *c = &s->copies;
    struct mf_json *one;

    if (!c->n[which]) return;
    one = mf_json_object();
    MF_JSON(one, "samples", c->n[which], "least", mf_set_copies_quantile(c->n[which], c->near[which], 0), "quantile_5",
            mf_set_copies_quantile(c->n[which], c->near[which], 0.05), "median",
            mf_set_copies_quantile(c->n[which], c->near[which], 0.5));
    mf_json_put(at, which == MF_SETS_MADE ? "made" : "real", one);
}

static struct mf_json *closest_json(const struct mf_sets *s, size_t place)
{
    const struct mf_set_nearest *near = &s->copies.near[MF_SETS_MADE][place];
    struct mf_json *one = mf_json_object(), *shift = mf_json_array();

    for (int a = 3 - s->shape.ndim; a < 3; ++a) mf_json_int(shift, NULL, (long long)near->at[a]);
    MF_JSON(one, "made", (size_t)s->copies.id[MF_SETS_MADE][place], "real", (size_t)near->id, "off", near->off, "shift",
            shift);
    return one;
}

static struct mf_json *copies_json(const struct mf_sets *s)
{
    struct mf_json *all = mf_json_object(), *closest = mf_json_array();
    size_t place[MF_SETS_CLOSEST];
    const size_t count = mf_sets_closest(s, MF_SETS_CLOSEST, place);

    mf_json_int(all, "train", (long long)s->set[MF_SETS_REAL]->count[MF_TRAIN]);
    for (int k = 0; k < MF_SETS; ++k) put_near(all, s, k);
    if (s->copies.n[MF_SETS_REAL]) mf_json_int(all, "nearer", (long long)s->copies.nearer);
    for (size_t i = 0; i < count; ++i) mf_json_put(closest, NULL, closest_json(s, place[i]));
    mf_json_put(all, "closest", closest);
    return all;
}

static struct mf_json *set_json(const struct mf_sets *s, int which)
{
    struct mf_json *one = mf_json_object();

    MF_JSON(one, "file", s->set[which]->path, "split", s->split[which], "samples", s->n[which]);
    return one;
}

struct mf_json *mf_sets_json(const struct mf_sets *s)
{
    struct mf_json *all = mf_json_object(), *shape = mf_json_array(), *parts = mf_json_array();

    mf_json_put(all, "real", set_json(s, MF_SETS_REAL));
    mf_json_put(all, "made", set_json(s, MF_SETS_MADE));
    for (int a = 3 - s->shape.ndim; a < 3; ++a) mf_json_int(shape, NULL, (long long)s->shape.dims[a]);
    MF_JSON(all, "shape", shape, "lag", s->shape.lag);
    mf_json_bool(all, "periodic", s->shape.periodic);
    for (size_t i = 0; i < s->rows;) mf_json_put(parts, NULL, part_json(s, &i));
    mf_json_put(all, s->shape.phases ? "phases" : "channels", parts);
    if (s->copies.n[MF_SETS_MADE]) mf_json_put(all, "copies", copies_json(s));
    return all;
}
