/* A map says whose it is, and of two curves that agree both are seen. Pictures of a training have what was measured. */
#include "src/show/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/show/training.h"
#include "tests/check.h"

/* The descent, the binarisation, and the binary field. This is a point of its own where the last row is that. */
static void draws_a_convergence(void)
{
    const double rows[4][3] = {{0, 0, 8}, {10, 1, 4}, {20, 2, 2}, {20, 3, 3}};
    const struct mf_panel *panel;
    struct mf_figure figure = {.columns = 4};

    mf_figure_convergence(&figure, rows[0], 4, 10, 1);
    mf_figure_convergence(&figure, rows[0], 4, 10, 0);
    mf_figure_convergence(&figure, rows[0], 4, 0, 1);
    mf_figure_convergence(&figure, rows[0], 1, 0, 0);
    panel = &figure.panel[0];
    CHECK(panel->curve_count == 3 && panel->curves[0].count == 2 && panel->curves[1].count == 2);
    CHECK(panel->curves[2].count == 1 && panel->curves[2].marks && panel->curves[2].y[0] == 3);
    CHECK(strcmp(panel->curves[2].name, "binary") == 0);
    panel = &figure.panel[1];
    CHECK(panel->curve_count == 2 && panel->curves[1].count == 3 && !panel->curves[1].marks);
    panel = &figure.panel[2];
    CHECK(panel->curve_count == 2 && panel->curves[0].count == 3 && panel->curves[1].marks);
    CHECK(figure.panel[3].curve_count == 1 && figure.panel[3].curves[0].count == 1);
    mf_figure_free(&figure);
}

/* A row with all columns, at least the first ones. */
static void fill(double row[MF_TRAINING_COLUMNS], double step, double epoch, double loss, double val_loss)
{
    for (int k = 0; k < MF_TRAINING_COLUMNS; ++k) row[k] = NAN;
    row[MF_TRAINING_STEP] = step;
    row[MF_TRAINING_EPOCH] = epoch;
    row[MF_TRAINING_LOSS] = loss;
    row[MF_TRAINING_VAL_LOSS] = val_loss;
}

/* Few rows, against the epoch: what nobody measured has no panel; the best is marked. */
static void draws_a_short_training(void)
{
    double rows[3][MF_TRAINING_COLUMNS];
    struct mf_figure figure = {.columns = 1};
    const struct mf_panel *p;

    for (int i = 0; i < 3; ++i) fill(rows[i], 100 * i, i + 1, 3 - i, i == 1 ? 1 : 2);
    rows[1][MF_TRAINING_ACCURACY] = 0.5;
    mf_figure_training(&figure, 3, (const double(*)[MF_TRAINING_COLUMNS])rows);
    p = figure.panel;
    CHECK(figure.count == 2 && figure.columns == 2 && strcmp(p->xlabel, "epoch") == 0 && !p->log_y);
    CHECK(p->curve_count == 3 && p->curves[0].count == 3 && p->curves[1].count == 3);
    CHECK(p->curves[2].count == 1 && p->curves[2].x[0] == 2 && p->curves[2].y[0] == 1);
    CHECK(strcmp(p->curves[2].name, "best: epoch 2") == 0);
    CHECK(strcmp(p[1].title, "Accuracy") == 0 && p[1].curve_count == 2 && p[1].curves[1].y[0] == 0.5);
    mf_figure_free(&figure);
    rows[2][MF_TRAINING_ACCURACY] = 0.6; /* counts more than a loss */
    mf_figure_training(&figure, 3, (const double(*)[MF_TRAINING_COLUMNS])rows);
    CHECK(strcmp(figure.panel->curves[2].name, "best: epoch 3") == 0);
    mf_figure_free(&figure);
    rows[2][MF_TRAINING_EPOCH] = 2;
    mf_figure_training(&figure, 3, (const double(*)[MF_TRAINING_COLUMNS])rows);
    CHECK(strcmp(figure.panel->xlabel, "step") == 0);
    mf_figure_free(&figure);
    mf_figure_training(&figure, 0, NULL);
    CHECK(figure.count == 0);
    mf_figure_free(&figure);
}

/* Many rows are means that keep the last step; a loss over decades has a logarithmic axis. */
static void draws_a_long_training(void)
{
    enum { ROWS = 10007 };
    static double rows[ROWS][MF_TRAINING_COLUMNS];
    struct mf_figure figure = {.columns = 1};
    const struct mf_curve *c;
    double mean = 0;

    for (int i = 0; i < ROWS; ++i) fill(rows[i], i + 1, NAN, i < ROWS / 2 ? 100 : 0.1, i % 1000 ? NAN : 7);
    mf_figure_training(&figure, ROWS, (const double(*)[MF_TRAINING_COLUMNS])rows);
    c = figure.panel->curves;
    CHECK(figure.panel->log_y && c[0].count > 300 && c[0].count <= 400 && c[0].x[c[0].count - 1] == ROWS);
    CHECK(c[1].count == 11 && c[1].y[10] == 7);
    for (size_t i = 0; i < c[0].count; ++i) mean += c[0].y[i] / (double)c[0].count;
    CHECK_NEAR(mean, 50, 1);
    mf_figure_free(&figure);
}

/* A mixture has seconds of single epochs, also where rows of steps lie between, and its experts. */
static void draws_a_mixture(void)
{
    double rows[6][MF_TRAINING_COLUMNS];
    struct mf_figure figure = {.columns = 1};
    const struct mf_panel *p;

    for (int i = 0; i < 6; ++i) {
        fill(rows[i], i, 1 + i / 2, 1, NAN);
        rows[i][MF_TRAINING_EXPERTS] = 4 + i;
        if (i % 2) rows[i][MF_TRAINING_SECONDS] = i * i;
    }
    mf_figure_training(&figure, 6, (const double(*)[MF_TRAINING_COLUMNS])rows);
    p = figure.panel + 1;
    CHECK(figure.count == 3 && strcmp(p[0].title, "Seconds per epoch") == 0 && strcmp(p[1].title, "Experts") == 0);
    CHECK(p[0].curves->count == 3 && p[0].curves->y[0] == 1 && p[0].curves->y[1] == 8 && p[0].curves->y[2] == 16);
    CHECK(strcmp(p[0].xlabel, "step (an epoch has 1)") == 0);
    CHECK(p[0].curves->x[2] == 5 && p[1].curves->count == 6 && p[1].curves->y[5] == 9 && p[1].from_zero);
    mf_figure_free(&figure);
}

static void has_a_name(void)
{
    char *of_folder = mf_training_name("/tmp/metrics.jsonl", "model.safetensors");
    char *of_model = mf_training_name("metrics.jsonl", "vit.safetensors");

    CHECK(strcmp(of_folder, "tmp") == 0 && strcmp(of_model, "vit") == 0);
    free(of_folder);
    free(of_model);
}

static void draws_predictions(void)
{
    const double counts[4] = {8, 2, 0, 10}, truth[4] = {1, 2, 3, 4}, predicted[4] = {1, 2, 3, 5};
    const char *const names[] = {"a", "b"};
    struct mf_figure figure = {.columns = 1};
    const struct mf_panel *p;

    mf_figure_confusion(&figure, 2, names, counts);
    mf_figure_predicted(&figure, "size", 4, truth, predicted);
    p = figure.panel;
    CHECK(strcmp(p[0].title, "90.0 % of 20 right") == 0 && p[0].image[0] == 0.8 && p[0].written[3] == 10);
    CHECK(strcmp(p[1].title, "size: R\302\262 = 0.8000, 4 samples") == 0);
    CHECK(p[1].curves[0].count == 4 && p[1].curves[1].x[0] == 1 && p[1].curves[1].y[1] == 5);
    mf_figure_free(&figure);
    mf_figure_predicted(&figure, "same", 2, (const double[]){3, 3}, predicted);
    CHECK(strcmp(figure.panel->title, "same: 2 samples") == 0);
    mf_figure_free(&figure);
}

int main(void)
{
    struct mf_target target = {.phases = 2, .lag = 3, .sides = 1, .periodic = 1, .label = {0, 1}};
    struct mf_figure figure = {.columns = 3};

    CHECK(mf_target_side_new(&target.side[0], target.phases, 1, target.lag, 0) == 0);
    mf_figure_map(&figure, "Original", &target, 2, 0, 1, 0);
    mf_figure_map(&figure, NULL, &target, 2, 0, 1, 0);
    mf_figure_curves(&figure, &target, &target, 2, 0);
    CHECK(strncmp(figure.panel[0].title, "Original: S", 11) == 0 && figure.panel[1].title[0] == 'S');
    CHECK(figure.panel[2].curve_count == 4); /* along y, its target, along x, its target */
    for (int k = 0; k < 4; ++k) CHECK(figure.panel[2].curves[k].dashed == (k == 2));
    mf_figure_free(&figure);
    draws_a_convergence();
    draws_a_short_training();
    draws_a_long_training();
    draws_a_mixture();
    has_a_name();
    draws_predictions();
    mf_target_free(&target);
    return failures != 0;
}
