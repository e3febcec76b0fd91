/* A map says whose it is, and of two curves that agree both are seen. */
#include "src/cmd/figure.h"

#include <string.h>

#include "tests/check.h"

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
    mf_target_free(&target);
    return failures != 0;
}
