/* See wanted.h. */
#include "src/cmd/files/wanted.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/base/words.h"

/* The conditions that the model knows; heap. */
static char *conditions_text(const struct mf_denoise *d)
{
    char *text = NULL;
    size_t size;
    FILE *to = MF_MUST(open_memstream(&text, &size), "a text");

    for (size_t k = 0; k < d->classes; ++k) fprintf(to, "%s%s", k ? "|" : "class=", d->class_name[k]);
    for (size_t c = 0; c < d->columns; ++c) fprintf(to, "%s%s=VALUE", c || d->classes ? ", " : "", d->column[c]);
    if (d->classes + d->columns == 0) fprintf(to, "nothing");
    MF_ASSERT(fclose(to) == 0);
    return text;
}

/* A class by its name or its number. */
static int take_class(const struct mf_denoise *d, const char *word, int32_t *label)
{
    char *end;
    const long number = strtol(word, &end, 10);

    for (size_t k = 0; k < d->classes; ++k)
        if (strcmp(d->class_name[k], word) == 0) {
            *label = (int32_t)k;
            return 1;
        }
    if (end == word || *end || number < 0 || (size_t)number >= d->classes) return 0;
    *label = (int32_t)number;
    return 1;
}

static int take_value(const struct mf_denoise *d, const char *name, const char *word, float *value)
{
    char *end;
    const double number = strtod(word, &end);
    size_t c = 0;

    while (c < d->columns && strcmp(d->column[c], name) != 0) ++c;
    if (c == d->columns || end == word || *end || !isfinite(number)) return 0;
    value[c] = (float)number;
    return 1;
}

static int is_said(const struct mf_denoise *d, const struct mf_generator_wish *wish, const char *name)
{
    size_t c = 0;

    if (strcmp(name, "class") == 0) return wish->label >= 0;
    while (c < d->columns && strcmp(d->column[c], name) != 0) ++c;
    return c < d->columns && !isnan(wish->value[c]);
}

/* 1: it is taken; 0: the model has no such condition; -1: it was said before. */
static int take(const struct mf_denoise *d, const char *text, struct mf_generator_wish *wish)
{
    const char *equals = strchr(text, '=');
    char *name = mf_format("%.*s", equals ? (int)(equals - text) : 0, text);
    int taken = 0;

    if (equals && is_said(d, wish, name))
        taken = -1;
    else if (equals && strcmp(name, "class") == 0)
        taken = take_class(d, equals + 1, &wish->label);
    else if (equals)
        taken = take_value(d, name, equals + 1, wish->value);
    free(name);
    return taken;
}

static int take_condition(const struct mf_denoise *d, const char *model, const char *text,
                          struct mf_generator_wish *wish)
{
    const int taken = take(d, text, wish);
    char *known;
    int rc;

    if (taken > 0) return MF_OK;
    if (taken < 0) return mf_fail(MF_USAGE, "--condition %.100s: another value was given before", text);
    known = conditions_text(d);
    rc = mf_fail(MF_USAGE, "--condition %.100s: the model of '%.200s' takes %.300s", text, model, known);
    free(known);
    return rc;
}

/* A class without samples in the train split says nothing of the columns. */
static int check_classes(const struct mf_denoise *d, const char *model, const struct mf_generator_wish *wish)
{
    const size_t first = wish->label >= 0 ? (size_t)wish->label : 0, end = wish->label >= 0  ? first + 1
                                                                           : wish->per_class ? d->classes
                                                                                             : 0;
    float *value = MF_MUST(calloc(d->columns + 1, sizeof *value), "conditions");
    int rc = MF_OK;

    for (size_t k = first; k < end && d->rows > 0; ++k) {
        (void)mf_denoise_draw(d, 0, 0, (int32_t)k, value);
        for (size_t c = 0; rc == MF_OK && c < d->columns; ++c)
            if (isnan(value[c]) && isnan(wish->value[c]))
                rc = mf_fail(MF_USAGE,
                             "the model of '%.200s' has learnt from no sample of class '%s'; try: --condition "
                             "%s=VALUE",
                             model, d->class_name[k], d->column[c]);
    }
    free(value);
    return rc;
}

int mf_wanted_read(const struct mf_texts *texts, const char *model, const struct mf_denoise *d,
                   struct mf_generator_wish *wish)
{
    size_t n;
    const char **text = mf_words_names(texts->count, texts->at, NULL, NULL, &n);
    int rc = MF_OK;

    wish->label = -1;
    wish->value = MF_MUST(calloc(d->columns + 1, sizeof *wish->value), "conditions");
    for (size_t c = 0; c < d->columns; ++c) wish->value[c] = NAN;
    if (wish->per_class && !d->classes)
        rc = mf_fail(MF_USAGE, "--samples-per-class: the model of '%.200s' knows no classes; leave it out", model);
    for (size_t k = 0; rc == MF_OK && k < n; ++k) rc = take_condition(d, model, text[k], wish);
    free(text);
    MF_TRY(rc);
    if (wish->per_class && wish->label >= 0)
        return mf_fail(MF_USAGE,
                       "--samples-per-class and --condition class contradict each other: leave one of them out");
    return check_classes(d, model, wish);
}

void mf_wanted_warn(const struct mf_denoise *d, const struct mf_generator_wish *wish)
{
    if ((wish->guidance < 1 || wish->guidance > 1) && d->dropped <= 0)
        mf_warn("--guidance-scale %g: the model has learnt from no sample without its condition, so what it predicts "
                "without one means nothing",
                wish->guidance);
    for (size_t c = 0; c < d->columns && d->rows > 0; ++c) {
        float least = d->value[c], most = least;

        for (size_t r = 1; r < d->rows; ++r) {
            least = fminf(least, d->value[r * d->columns + c]);
            most = fmaxf(most, d->value[r * d->columns + c]);
        }
        if (isnan(wish->value[c]) || (wish->value[c] >= least && wish->value[c] <= most)) continue;
        mf_warn("--condition %s=%g: the model has learnt from samples with %g to %g", d->column[c],
                (double)wish->value[c], (double)least, (double)most);
    }
}
