/* train unet: to remove noise, so that samples can be made. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/base/words.h"
#include "src/cmd/learn/train_verb.h"
#include "src/cmd/learn/unet_made.h"
#include "src/cmd/learn/unet_teacher.h"
#include "src/train/learn_diffuse.h"

enum { KEPT = 1000 /* conditions that the model's file keeps, at most */ };

/* -- conditions -- */

struct conditions {
    int classes;
    size_t columns, *column; /* of the set */
};

/* Left out: the class, and the volume fraction, as far as the set has them. */
static void choose_conditions(const struct mf_dataset *set, struct conditions *c)
{
    const size_t fraction = mf_dataset_column(set, "volume_fraction");

    c->classes = set->classes > 1;
    if (fraction < set->reals) c->column[c->columns++] = fraction;
}

static int add_condition(const struct mf_dataset *set, const char *name, struct conditions *c)
{
    const size_t column = mf_dataset_column(set, name);

    if (strcmp(name, "class") == 0) {
        if (set->classes == 0) return mf_fail(MF_USAGE, "--condition class: '%s' has no labels", set->path);
        c->classes = 1;
        return MF_OK;
    }
    if (column == set->reals)
        return mf_fail(MF_USAGE, "--condition %.100s: '%s' has no such column; mesoforge data info prints its columns",
                       name, set->path);
    for (size_t k = 0; k < c->columns; ++k)
        if (c->column[k] == column) return mf_fail(MF_USAGE, "--condition names '%.100s' twice", name);
    c->column[c->columns++] = column;
    return MF_OK;
}

static int find_conditions(const struct mf_train_cmd *o, const struct mf_dataset *set, struct conditions *c)
{
    size_t n;
    const char **name = mf_words_names(o->condition.count, o->condition.at, NULL, NULL, &n);
    int rc = MF_OK;

    c->column = MF_MUST(calloc(set->reals + n + 1, sizeof *c->column), "columns");
    if (n == 0) choose_conditions(set, c);
    if (n == 1 && strcmp(name[0], "none") == 0) n = 0;
    for (size_t k = 0; rc == MF_OK && k < n; ++k) rc = add_condition(set, name[k], c);
    free(name);
    return rc;
}

/* Sums of differences to the first value, so that equal values have deviation 0. */
static void measure_column(const struct mf_dataset *set, size_t column, double *mean, double *deviation)
{
    const size_t n = set->id[MF_TRAIN] ? set->count[MF_TRAIN] : 0;
    const double first = n ? (double)set->real[set->id[MF_TRAIN][0] * set->reals + column] : 0;
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; ++i) {
        const double d = (double)set->real[set->id[MF_TRAIN][i] * set->reals + column] - first;

        sum += d;
        squares += d * d;
    }
    *mean = first + (n ? sum / (double)n : 0);
    *deviation = n ? sqrt(fmax(0, squares / (double)n - sum / (double)n * (sum / (double)n))) : 0;
    if (!(*deviation > 1e-6 * fabs(*mean))) *deviation = 1;
}

static void keep_row(const struct mf_dataset *set, const struct conditions *c, size_t id, size_t r,
                     struct mf_denoise *d)
{
    if (d->label) d->label[r] = set->label[id];
    for (size_t k = 0; k < d->columns; ++k) d->value[r * d->columns + k] = set->real[id * set->reals + c->column[k]];
}

/* A rare class has one row, too; the last rows give way to it. */
static void keep_rare(const struct mf_dataset *set, const struct conditions *c, struct mf_denoise *d)
{
    char *has = MF_MUST(calloc(d->classes + 1, 1), "classes");
    size_t last = d->rows;

    for (size_t r = 0; r < d->rows; ++r)
        if (d->label[r] >= 0) has[d->label[r]] = 1;
    for (size_t i = 0; i < set->count[MF_TRAIN] && last > d->rows / 2; ++i) {
        const size_t id = set->id[MF_TRAIN][i];

        if (set->label[id] < 0 || has[set->label[id]]) continue;
        has[set->label[id]] = 1;
        keep_row(set, c, id, --last, d);
    }
    free(has);
}

/* Conditions of samples that are spread evenly over the train split. */
static void keep_conditions(const struct mf_dataset *set, const struct conditions *c, struct mf_denoise *d)
{
    for (size_t r = 0; r < d->rows; ++r) keep_row(set, c, set->id[MF_TRAIN][r * set->count[MF_TRAIN] / d->rows], r, d);
    if (d->label) keep_rare(set, c, d);
}

static struct mf_denoise describe(const struct mf_train_cmd *o, const struct mf_dataset *set,
                                  const struct conditions *c)
{
    const size_t samples = set->id[MF_TRAIN] ? set->count[MF_TRAIN] : 0;
    struct mf_denoise d = {.mean = o->noise_mean, .deviation = o->noise_deviation, .dropped = o->condition_dropout};

    mf_denoise_take(&d, c->classes ? set->classes : 0, c->columns,
                    !c->classes && c->columns == 0 ? 0
                    : samples < KEPT               ? samples
                                                   : KEPT);
    for (size_t k = 0; k < d.classes && set->class_name; ++k)
        memcpy(d.class_name[k], set->class_name[k], sizeof d.class_name[k]);
    for (size_t k = 0; k < c->columns; ++k) {
        memcpy(d.column[k], set->real_name[c->column[k]], sizeof d.column[k]);
        measure_column(set, c->column[k], &d.column_mean[k], &d.column_deviation[k]);
    }
    keep_conditions(set, c, &d);
    return d;
}

/* -- the task -- */

static int find_moves(const struct mf_train_cmd *o, const struct mf_dataset *set, unsigned *moves)
{
    static const char *const word[] = {"shift", "flip", "turn"};
    size_t n;
    const char **name = mf_words_names(o->augment.count, o->augment.at, NULL, NULL, &n);
    int rc = MF_OK;

    *moves = 0;
    for (size_t k = 0; rc == MF_OK && k < n; ++k) {
        size_t w = 0;

        while (w < sizeof word / sizeof *word && strcmp(name[k], word[w]) != 0) ++w;
        if (w < sizeof word / sizeof *word)
            *moves |= 1u << w;
        else if (strcmp(name[k], "none") != 0 || n > 1)
            rc = mf_fail(MF_USAGE, "--augment %.60s: it must be none, or some of shift, flip, turn", name[k]);
    }
    free(name);
    if (rc == MF_OK && *moves & MF_MOVE_TURN && set->dims[1] != set->dims[2])
        rc = mf_fail(MF_USAGE, "--augment turn: samples of '%s' have %zu x %zu pixels, and a turn swaps these",
                     set->path, set->dims[1], set->dims[2]);
    return rc;
}

/* Does the name end in an axis, as percolates_x and straightness_x_1 do? */
static int has_axis(const char *name)
{
    const char *end = name + strlen(name);
    const char *first = end;

    while (first > name && isdigit((unsigned char)first[-1])) --first;
    if (first < end && first > name && first[-1] == '_') end = first - 1;
    return end - name > 2 && end[-2] == '_' && end[-1] >= 'x' && end[-1] <= 'z';
}

/* Is it about paths from face to face? These do not cross borders, which a shift moves. */
static int is_of_paths(const char *name) { return strstr(name, "percolates_") || strstr(name, "straightness_"); }

/* A moved sample would be told what is no longer so. */
static int check_moves(const struct mf_dataset *set, const struct conditions *c, unsigned moves)
{
    for (size_t k = 0; k < c->columns; ++k) {
        const char *name = set->real_name[c->column[k]];

        if (moves & MF_MOVE_TURN && has_axis(name))
            return mf_fail(MF_USAGE,
                           "--augment turn: --condition %s is about one axis, and a turn swaps axes; leave one out",
                           name);
        if (moves & MF_MOVE_SHIFT && is_of_paths(name))
            return mf_fail(MF_USAGE,
                           "--augment shift: --condition %s is about paths between the borders, which a shift moves; "
                           "leave one out",
                           name);
    }
    return MF_OK;
}

static int check_noise(const struct mf_train_cmd *o)
{
    const struct mf_arch *arch = mf_arch_find(o->arch);

    if (!arch->denoise)
        return mf_fail(MF_USAGE, "--arch %s %s and removes no noise; try: --arch unet", arch->name, mf_arch_work(arch));
    if (o->made < 0) return mf_fail(MF_USAGE, "--made-samples %ld: it cannot be negative", o->made);
    if (!isfinite(o->noise_mean)) return mf_fail(MF_USAGE, "--noise-mean must be a number");
    if (!(o->noise_deviation > 0))
        return mf_fail(MF_USAGE, "--noise-deviation %g: it must be above 0", o->noise_deviation);
    if (!(o->condition_dropout >= 0 && o->condition_dropout < 1))
        return mf_fail(MF_USAGE, "--condition-dropout %g: it must be at least 0 and below 1", o->condition_dropout);
    return MF_OK;
}

static int open(const struct mf_train_cmd *o, const struct mf_dataset *set, struct mf_task *task)
{
    struct conditions c = {0};
    unsigned moves;
    int rc = check_noise(o);

    if (rc == MF_OK && o->teacher) rc = mf_unet_check_teacher(o);
    if (rc == MF_OK && o->teacher) return mf_unet_teach(o, set, task);

    if (rc == MF_OK) rc = find_moves(o, set, &moves);
    if (rc == MF_OK) rc = find_conditions(o, set, &c);
    if (rc == MF_OK) rc = check_moves(set, &c, moves);
    if (rc == MF_OK) *task = mf_task_diffuse(set, describe(o, set, &c), c.column, moves);
    free(c.column);
    return rc;
}

static struct mf_beside beside(const struct mf_train_cmd *o, const struct mf_task *task)
{
    if (!o->teacher) return (struct mf_beside){.task = NULL};
    return (struct mf_beside){mf_task_score(task), (size_t)o->score_steps, o->score_rate};
}

const struct mf_train_kind mf_train_diffuse = {
    .learn = &mf_learn_diffuse, .arch = "unet", .average = 0.05, .open = open, .beside = beside};

/* -- the verb -- */

static int train_run(struct mf_session *s, void *options)
{
    struct mf_unet_made made = {.o = options};
    const struct mf_train_more more = mf_unet_made_more(&made);

    mf_unet_unused(s, options);
    return mf_train_run(s, options, &mf_train_diffuse, &more);
}

static int train_ahead(const struct mf_session *s, const void *options, const char *path, size_t n)
{
    return mf_train_plan_ahead(s, options, &mf_train_diffuse, 0, path, n);
}

#define ROW MF_TRAIN_ROW

const struct mf_opt mf_diffuse_rows[] = {
    ROW("condition", condition, MF_TEXTS, NULL,
        "what is said of a sample that is made: class, columns of the dataset, or none; left out: class and "
        "volume_fraction, if the dataset has them"),
    ROW("condition-dropout", condition_dropout, MF_REAL, "0.1", "share of samples that are learnt without a condition"),
    ROW("augment", augment, MF_TEXTS, NULL,
        "move samples at random: shift (periodic), flip, turn (by 90 degrees, if directions do not matter); left out: "
        "none. A condition that a move changes is refused"),
    ROW("made-samples", made, MF_LONG, "64",
        "samples that are made after every epoch and compared with the validation split; 0: none"),
    ROW("noise-mean", noise_mean, MF_REAL, "-1.2", "of ln(noise level) in training; samples have deviation 0.5"),
    ROW("noise-deviation", noise_deviation, MF_REAL, "1.2", "of ln(noise level) in training"),
    ROW("teacher", teacher, MF_TEXT, NULL,
        "train a generator that needs one step, by this model of train unet (.safetensors), whose network and "
        "conditions it has"),
    ROW("conditioning-sigma", start, MF_REAL, "2.5", "--teacher: noise level from which the generator makes samples"),
    ROW("score-steps", score_steps, MF_LONG, "5", "--teacher: steps of the score network for each of the generator"),
    ROW("score-rate", score_rate, MF_REAL, "0.001", "--teacher: learning rate of the score network, at its highest"),
    MF_OPT_END};

static const struct mf_opt rows[] = {
    MF_TRAIN_OWN_ROWS("results/unet", "unet",
                      "unet, unet-periodic or adm-imagenet64, also with its sizes, as unet:width=32,depth=3", NULL,
                      NULL),
    MF_OPT_END};
static const struct mf_opt *const tables[] = {rows,           mf_train_rows, mf_diffuse_rows, mf_log_view_rows,
                                              mf_common_opts, NULL};

const struct mf_cmd mf_cmd_train_unet = {
    .name = "train unet",
    .summary = "train a network that makes images of microstructures",
    .synopsis = "--data FILE.h5 [--condition COLUMN ...] [--arch unet] [--results-dir DIR] [OPTION VALUE ...]",
    .text = "The network learns to remove noise from samples. mesoforge generate then makes new samples of noise, by "
            "its model.\n\n" MF_TRAIN_TEXT "  mesoforge synth --num-samples 6000 --kinds gaussian --size 32 32 \\\n"
            "      --output blobs.h5\n"
            "  mesoforge train unet --data blobs.h5 --augment shift,flip,turn \\\n"
            "      --results-dir run\n"
            "  mesoforge generate --model run/model.safetensors \\\n"
            "      --num-samples 1000 --output made.h5\n"
            "  mesoforge train unet --data blobs.h5 --epochs 10 \\\n"
            "      --teacher run/model.safetensors --results-dir fast\n",
    .tables = tables,
    .keys = mf_train_keys,
    .size = sizeof(struct mf_train_cmd),
    .adopt = mf_train_adopt,
    .check = mf_train_checked,
    .check_plan = train_ahead,
    .run = train_run,
    .work = MF_WORK_GPUS,
    .remedy = "a smaller --batch-size, or --recompute blocks",
    .writes = 1,
    .checkpoints = 1,
    .names = mf_train_names,
    .small = mf_train_small,
    .in_library = 1,
};
