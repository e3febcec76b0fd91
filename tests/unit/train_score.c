/* Scores count every sample once on any number of ranks, and only labels that are known. Outputs come in the order of
 * the samples that were asked for. */
#include "tests/unit/train_case.h"

/* Samples in an order that no split has; one of them may be there twice. */
static void choose(size_t n, uint32_t *id)
{
    for (size_t i = 0; i < n; ++i) id[i] = (uint32_t)(i * 31 % SAMPLES);
}

static struct mf_scores scores_of(struct mf_trainer *t, size_t n, const uint32_t *id)
{
    struct mf_scores s;

    CHECK_SAYS(mf_trainer_score(t, n, id, 1, &s) == MF_OK, "%s", mf_err_text());
    return s;
}

static void compare_classes(const struct mf_dataset *set, const struct mf_scores *s, const struct mf_scores *want,
                            const uint32_t *id)
{
    const double *confusion = mf_classify_confusion(&s->head[0]), accuracy = mf_classify_accuracy(&s->head[0]);
    double count[CLASSES] = {0}, right = 0;
    size_t rows = 0;

    for (size_t i = 0; i < s->samples; ++i)
        if (set->label[id[i]] >= 0) {
            ++count[set->label[id[i]]];
            ++rows;
        }
    CHECK(s->rows == rows);
    for (size_t a = 0; a < CLASSES; ++a) {
        double sum = 0;

        for (size_t b = 0; b < CLASSES; ++b) {
            sum += confusion[a * CLASSES + b];
            CHECK(confusion[a * CLASSES + b] == mf_classify_confusion(&want->head[0])[a * CLASSES + b]);
        }
        right += confusion[a * CLASSES + a];
        CHECK(sum == count[a]);
    }
    if (rows)
        CHECK_NEAR(accuracy, right / (double)rows, 1e-12);
    else
        CHECK(isnan(accuracy));
}

/* By hand, from the outputs of one rank. */
static void compare_reals(const struct mf_dataset *set, const struct mf_scores *s, const float *output,
                          const uint32_t *id)
{
    const double n = (double)s->samples;

    for (size_t c = 0; s->samples > 0 && c < COLUMNS; ++c) {
        const double r2 = mf_regress_r2(&bed_task[OF_COLUMNS], &s->head[0], c);
        double error = 0, square = 0, mean = 0, spread = 0;

        for (size_t i = 0; i < s->samples; ++i) mean += set->real[id[i] * COLUMNS + c] / n;
        for (size_t i = 0; i < s->samples; ++i) {
            const double want = set->real[id[i] * COLUMNS + c], d = output[i * COLUMNS + c] - want;

            error += fabs(d) / n;
            square += d * d;
            spread += (want - mean) * (want - mean);
        }
        CHECK_NEAR(mf_regress_error(&bed_task[OF_COLUMNS], &s->head[0], c), error, 1e-4 * (1 + error));
        if (s->samples < 2)
            CHECK(isnan(r2));
        else
            CHECK_NEAR(r2, 1 - square / spread, 1e-4 * (1 + square / spread));
    }
}

static void compare(const struct bed *b, struct mf_trainer *t, struct mf_trainer *alone, size_t n)
{
    const size_t outputs = mf_task_outputs(t->opts.task);
    uint32_t id[2 * SAMPLES];
    struct mf_scores s, want;

    choose(n, id);
    s = scores_of(t, n, id);
    want = scores_of(alone, n, id);
    CHECK(s.samples == n && s.rows == want.rows && isfinite(s.loss) == (s.rows > 0));
    if (s.rows) CHECK_NEAR(s.loss, want.loss, 1e-5 * (1 + want.loss));
    if (b->world.rank == 0)
        CHECK_SAYS(apart(n * outputs, s.head[0].output, want.head[0].output) < 1e-3, "%zu samples: outputs differ", n);
    if (t->opts.task->learn == &mf_learn_classify)
        compare_classes(b->set, &s, &want, id);
    else
        compare_reals(b->set, &s, want.head[0].output, id);
    mf_scores_free(&s);
    mf_scores_free(&want);
}

/* An output is that of its sample: the same alone as among others. */
static void order(struct mf_trainer *alone)
{
    const size_t outputs = mf_task_outputs(alone->opts.task);
    uint32_t id[SAMPLES];
    struct mf_scores all, one;

    choose(SAMPLES, id);
    all = scores_of(alone, SAMPLES, id);
    for (size_t i = 0; i < SAMPLES; i += 9) {
        one = scores_of(alone, 1, &id[i]);
        CHECK(apart(outputs, one.head[0].output, all.head[0].output + i * outputs) < 1e-3);
        mf_scores_free(&one);
    }
    mf_scores_free(&all);
}

/* Also between two steps, whose next samples are on their way. */
static void scores(const struct bed *b, const char *model, int task, int stage)
{
    const size_t ranks = (size_t)b->world.size, sizes[] = {0, 1, ranks - 1, ranks + 1, 23, SAMPLES, SAMPLES + 12};
    struct mf_train_opts o = usual(model, task, batch_for(&b->world, WINDOW, 2));
    struct mf_trainer t, alone;
    struct mf_step last;
    float *got, *want = reference(b, b->set, &o, STEPS, &last);
    size_t n;

    o.stage = stage;
    trainer_open(b, &b->world, b->set, &o, &t);
    o.batch = 5;
    trainer_open(b, &b->self, b->set, &o, &alone);
    steps_until(&t, 3);
    steps_until(&alone, 3);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) compare(b, &t, &alone, sizes[k]);
    order(&alone);
    steps_until(&t, STEPS);
    got = weights_of(&t, &n);
    CHECK(apart(n, got, want) < 1e-5);
    free(got);
    free(want);
    mf_trainer_close(&t);
    mf_trainer_close(&alone);
}

int main(int argc, char **argv)
{
    struct bed b;

    bed_open(&b, &argc, &argv);
    scores(&b, "mlp", OF_CLASSES, 0);
    scores(&b, "cnn", OF_COLUMNS, 2);
    scores(&b, "vit", OF_CLASSES, 3);
    bed_close(&b);
    return failures != 0;
}
