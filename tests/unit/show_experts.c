/* Pictures of experts: nodes stand apart, relatives near each other, and small changes move little. With an argument:
 * the folder that all pictures go to, to be looked at. */
#include "src/show/experts.h"

#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/show/training.h"
#include "tests/check.h"

enum { MOST = 64, CONCEPTS = 10, KINDS = 4 };

static const char *const concepts[CONCEPTS] = {"spheres", "fibres", "lamellae", "spinodal",
                                               "grains",  "cracks", "foam",     "a class with a rather long name",
                                               "voids",   "noise"};
static const char *const kinds[KINDS] = {"similarity", "dependency", "composition", "specialization_split"};

static double uniform(uint64_t i) { return mf_random_uniform(3, 0, i); }

/* Experts in groups by concept; those of a group are related, the last ones have no relation. */
static struct mf_drawn_graph example(size_t experts, struct mf_drawn_expert *expert, struct mf_drawn_relation *relation)
{
    struct mf_drawn_graph g = {
        .experts = experts, .concepts = CONCEPTS, .kinds = KINDS, .expert = expert, .relation = relation};
    const size_t tied = experts - experts / 8;

    g.concept_name = concepts;
    g.kind_name = kinds;
    for (size_t i = 0; i < experts; ++i)
        expert[i] = (struct mf_drawn_expert){(long)(i + i / 3), floor(1000 / (1 + (double)(i * 7 % experts))),
                                             i == 5 ? -1 : (int)(i * 10 / experts)};
    for (size_t i = 0; i < tied; ++i)
        for (size_t j = i + 1; j < tied; ++j) {
            const int same = expert[i].concept == expert[j].concept;

            if (uniform(i * MOST + j) > (same ? 0.7 : 1.5 / (double)experts)) continue;
            relation[g.relations++] = (struct mf_drawn_relation){
                expert[i].id, expert[j].id, same ? 0 : (int)(i + j) % KINDS, 0.1 + 0.9 * uniform(j)};
            if (i % 5 == 0 && same)
                relation[g.relations++] = (struct mf_drawn_relation){expert[i].id, expert[j].id, KINDS - 1, 0.3};
        }
    return g;
}

static double distance(const struct mf_plot_node *a, const struct mf_plot_node *b)
{
    return hypot(a->at[0] - b->at[0], a->at[1] - b->at[1]);
}

static void stand_apart(const struct mf_plot_graph *g)
{
    for (size_t i = 0; i < g->nodes; ++i) {
        const struct mf_plot_node *n = &g->node[i];

        for (int a = 0; a < 2; ++a) CHECK(n->at[a] >= n->radius && n->at[a] <= 1 - n->radius);
        for (size_t j = 0; j < i; ++j) CHECK(distance(n, &g->node[j]) > n->radius + g->node[j].radius);
    }
}

/* Mean distance of nodes that are related, and of others. */
static void near_relatives(const struct mf_plot_graph *g)
{
    double sum[2] = {0, 0}, count[2] = {0, 0};

    for (size_t i = 0; i < g->nodes; ++i)
        for (size_t j = 0; j < i; ++j) {
            int related = 0;

            for (size_t k = 0; k < g->links; ++k) related |= (g->link[k].ends[0] == j && g->link[k].ends[1] == i);
            sum[related] += distance(&g->node[i], &g->node[j]);
            ++count[related];
        }
    CHECK(count[1] > 0 && sum[1] / count[1] < 0.7 * sum[0] / count[0]);
}

static void graphs(void)
{
    static const size_t sizes[] = {1, 2, 3, 4, 8, 16, 33, 64};
    struct mf_drawn_expert expert[MOST];
    static struct mf_drawn_relation relation[2 * MOST * MOST];

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const struct mf_drawn_graph g = example(sizes[i], expert, relation);
        struct mf_figure f = {.columns = 1};
        char name[64];

        mf_figure_graph(&f, &g);
        stand_apart(f.panel->graph);
        if (sizes[i] >= 16) near_relatives(f.panel->graph);
        for (size_t k = 0; k < sizes[i]; ++k) CHECK(f.panel->graph->node[k].alone || k < sizes[i] - sizes[i] / 8);
        snprintf(name, sizeof name, "knowledge_graph_%zu.png", sizes[i]);
        CHECK(mf_figure_write(name, "Knowledge graph, epoch 3", &f) == MF_OK);
    }
}

/* A star could turn freely: a new ray moves the others only a little. */
static void stars(void)
{
    struct mf_drawn_expert expert[MOST] = {{0, 50, 0}};
    struct mf_drawn_relation relation[MOST];
    struct mf_plot_node before[MOST];

    for (int n = 3; n < 12; ++n) {
        struct mf_drawn_graph g = {(size_t)n, (size_t)n - 1, CONCEPTS, KINDS, expert, relation, concepts, kinds};
        struct mf_figure f = {.columns = 1};
        double moved = 0;

        for (int i = 1; i < n; ++i) {
            expert[i] = (struct mf_drawn_expert){i, 10 + i % 3, i % CONCEPTS};
            relation[i - 1] = (struct mf_drawn_relation){0, i, 0, 0.5};
        }
        mf_figure_graph(&f, &g);
        for (int i = 0; n > 3 && i < n - 1; ++i) moved += distance(&f.panel->graph->node[i], &before[i]) / (n - 1);
        if (n > 4) CHECK_SAYS(moved < 0.12, "%d: moved by %g\n", n, moved);
        memcpy(before, f.panel->graph->node, (size_t)n * sizeof *before);
        mf_figure_free(&f);
    }
}

/* One expert fewer, one edge lighter: the others stay about where they are. */
static void small_changes(void)
{
    struct mf_drawn_expert expert[MOST];
    static struct mf_drawn_relation relation[2 * MOST * MOST];
    struct mf_drawn_graph g = example(24, expert, relation);
    struct mf_figure before = {.columns = 1}, after = {.columns = 1};
    double moved = 0;

    mf_figure_graph(&before, &g);
    --g.experts;
    relation[0].weight *= 0.9;
    expert[3].rows *= 1.1;
    mf_figure_graph(&after, &g);
    for (size_t i = 0; i < g.experts; ++i)
        moved += distance(&before.panel->graph->node[i], &after.panel->graph->node[i]) / (double)g.experts;
    CHECK_SAYS(moved < 0.08, "moved by %g\n", moved);
    mf_figure_free(&before);
    mf_figure_free(&after);
}

/* ---- what experts worked on ---- */

enum { TIMES = 600 };

/* Experts are born one after the other; every fifth lives no longer from half of the time on. */
static int lives(size_t expert, size_t time, size_t experts)
{
    const size_t born = expert < 4 ? 0 : expert * TIMES / (experts + 2);

    return time >= born && (expert % 5 != 3 || time < (born + TIMES) / 2);
}

static struct mf_drawn_course course(size_t experts, size_t times)
{
    static long id[MOST];
    static double step[TIMES], rows[TIMES * MOST], samples[MOST * 10];
    static struct mf_drawn_event event[3 * MOST];
    struct mf_drawn_course c = {experts, times, 0, 10, id, step, rows, event, concepts, samples};

    for (size_t t = 0; t < times; ++t) step[t] = (double)(25 * (t + 1));
    for (size_t e = 0; e < experts; ++e) {
        id[e] = (long)e;
        for (size_t t = 0; t < times; ++t) {
            const size_t time = t * TIMES / times, before = t ? (t - 1) * TIMES / times : 0;
            const int is = lives(e, time, experts), was = t && lives(e, before, experts);

            rows[t * experts + e] = is ? 100 / (1 + (double)((e * 5 + t / 40) % experts)) : NAN;
            if (is && !was && t) event[c.events++] = (struct mf_drawn_event){step[t], (long)e, MF_EVENT_BIRTH};
            if (was && !is)
                event[c.events++] = (struct mf_drawn_event){step[t], (long)e, e % 2 ? MF_EVENT_MERGE : MF_EVENT_PRUNE};
        }
        for (size_t k = 0; k < 10; ++k)
            samples[e * CONCEPTS + k] =
                lives(e, TIMES - 1, experts) ? exp(-2. * fabs((double)k - (double)(e % CONCEPTS))) : NAN;
    }
    if (experts == 8)
        for (size_t k = 0; k < 10; ++k) samples[2 * 10 + k] = 0;
    for (size_t t = times / 5; t < times; t += times / 5 + 1)
        event[c.events++] = (struct mf_drawn_event){step[t], -1, MF_EVENT_SLEEP};
    return c;
}

/* Columns are the sums of the times that they cover. */
static void is_binned(const struct mf_panel *p, const struct mf_drawn_course *c)
{
    double all = 0, first = 0;

    CHECK(p->columns <= c->times && p->rows == c->experts && p->extent[0] == 0 &&
          p->extent[1] == c->step[c->times - 1]);
    for (size_t k = 0; k < p->columns; ++k) {
        double sum = 0;

        for (size_t e = 0; e < c->experts; ++e)
            if (isfinite(p->image[e * p->columns + k])) sum += p->image[e * p->columns + k];
        CHECK_NEAR(sum, 1, 1e-12);
    }
    if (p->columns != c->times) return;
    for (size_t e = 0; e < c->experts; ++e)
        if (isfinite(c->rows[e])) all += c->rows[e];
    first = c->rows[0] / all;
    CHECK_NEAR(p->image[0], first, 1e-12);
}

static void activations(void)
{
    static const size_t sizes[][2] = {{1, 1}, {4, 12}, {8, 240}, {16, 500}, {64, 600}};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const struct mf_drawn_course c = course(sizes[i][0], sizes[i][1]);
        struct mf_figure f = {.columns = 1};
        const struct mf_panel *p;
        char name[64];

        mf_figure_activations(&f, &c);
        p = f.panel;
        CHECK(f.count == 2 && f.columns == 2 && p->mark_count == c.events);
        is_binned(p, &c);
        CHECK(p[1].columns == 10 && p[1].rows <= c.experts && strcmp(p[1].names[0], "0") == 0);
        for (size_t r = 0; r < p[1].rows; ++r) {
            const size_t e = (size_t)atol(p[1].names[r]);
            const double most = p[1].written[r * CONCEPTS + e % CONCEPTS];

            CHECK(c.experts == 8 && e == 2 ? isnan(most) : most > 50);
        }
        snprintf(name, sizeof name, "expert_activations_%zu.png", c.experts);
        CHECK(mf_figure_write(name, "Experts of model.safetensors", &f) == MF_OK);
    }
}

/* ---- devices ---- */

static void devices(void)
{
    static const size_t sizes[] = {1, 4, 24};
    struct mf_drawn_device device[24];
    char names[24][32];

    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; ++n) {
        struct mf_figure f = {.columns = 1};
        char name[64];

        for (size_t i = 0; i < sizes[n]; ++i) {
            snprintf(names[i], sizeof names[i], "%zu: cuda", i);
            device[i] = (struct mf_drawn_device){names[i], (double)(2 + i % 3), 269322. * (double)(2 + i % 3),
                                                 (double)(1000 + 100 * i)};
        }
        mf_figure_devices(&f, sizes[n], device);
        CHECK(f.count == 3 && f.panel[0].bar_count == sizes[n] && f.panel[0].curves->y[0] == 2);
        CHECK(f.panel[1].sideways || strcmp(f.panel[1].ylabel, "parameters [million]") == 0);
        CHECK_NEAR(f.panel[1].curves->y[0], 0.538644, 1e-9);
        if (sizes[n] == 4) {
            CHECK_NEAR(f.panel[2].curves->y[3], 100 * 1300. / 4600, 1e-9);
            CHECK(strcmp(f.panel[2].title, "Rows: at most 1.13 \303\227 the mean") == 0);
        }
        snprintf(name, sizeof name, "expert_device_distribution_%zu.png", sizes[n]);
        CHECK(mf_figure_write(name, "Experts on devices", &f) == MF_OK);
    }
}

/* The course of a training with all that a mixture has. */
static void training(void)
{
    enum { STEPS = 2000, EPOCH = 200 };
    static double rows[STEPS + STEPS / EPOCH][MF_TRAINING_COLUMNS];
    struct mf_figure f = {.columns = 1};
    size_t n = 0;

    for (int i = 1; i <= STEPS; ++i) {
        const int sleeps = i % EPOCH == 0;

        for (int e = 0; e <= sleeps; ++e, ++n) {
            double *row = rows[n];

            for (int k = 0; k < MF_TRAINING_COLUMNS; ++k) row[k] = NAN;
            row[MF_TRAINING_STEP] = i;
            row[MF_TRAINING_EPOCH] = e ? i / EPOCH : (i - 1) / EPOCH + 1;
            row[MF_TRAINING_EXPERTS] = 4 + i / 190 % 7;
            if (e) {
                row[MF_TRAINING_VAL_LOSS] = 0.1 + 2 * exp(-i / 320.);
                row[MF_TRAINING_ACCURACY] = 0.97 - 0.5 * exp(-i / 300.);
                row[MF_TRAINING_SECONDS] = 3 * i / (double)EPOCH + 0.4 * sin(i);
                continue;
            }
            row[MF_TRAINING_LOSS] = 2.2 * exp(-i / 300.) * (1 + 0.3 * uniform((uint64_t)i)) + 0.05;
            row[MF_TRAINING_LEARNING_RATE] = 1e-3 * (1 - i / (double)(STEPS + 1));
            row[MF_TRAINING_SAMPLES_PER_SECOND] = 5000 + 300 * sin(i / 90.);
            row[MF_TRAINING_MEMORY] = 3e8 + 2e7 * (i / 190 % 7);
        }
    }
    mf_figure_training(&f, n, (const double(*)[MF_TRAINING_COLUMNS])rows);
    CHECK(f.count == 7 && f.columns == 4);
    CHECK(mf_figure_write("training_metrics.png", "Training of model.safetensors", &f) == MF_OK);
}

int main(int argc, char **argv)
{
    if (argc > 1) CHECK(chdir(argv[1]) == 0);
    graphs();
    stars();
    small_changes();
    activations();
    devices();
    training();
    return failures != 0;
}
