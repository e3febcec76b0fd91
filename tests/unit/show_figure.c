/* A map says whose it is, and of two curves that agree both are seen. */
#include "src/show/figure.h"

#include <string.h>

#include "tests/check.h"

/* The descent, what made it binary, and the binary field, which is a point of its own where the last row is that. */
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
    mf_target_free(&target);
    return failures != 0;
}
