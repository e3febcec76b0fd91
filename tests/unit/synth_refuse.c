/* Nonsense is refused with MF_USAGE and a sentence. */
#include <string.h>

#include "src/base/err.h"
#include "tests/check.h"
#include "tests/unit/synth_case.h"

static void refused(struct mf_synth w, const char *words)
{
    mf_err_clear();
    CHECK(mf_synth_check(&w) == MF_USAGE);
    if (!strstr(mf_err_text(), words)) {
        fprintf(stderr, "'%s' does not say '%s'\n", mf_err_text(), words);
        ++failures;
    }
}

static struct mf_synth with_solid(enum mf_synth_kind kind, size_t nz, double solid)
{
    struct mf_synth w = wish(kind, nz, 32, 32, 2);

    w.fraction[0] = 1 - solid;
    w.fraction[1] = solid;
    return w;
}

static void check_sizes(void)
{
    struct mf_synth w = wish(MF_SYNTH_GAUSSIAN, 8, 8, 8, 2);

    w.dims[1] = 0;
    refused(w, "1 voxel or more");
    w = wish(MF_SYNTH_GAUSSIAN, 8, 8, 8, 1);
    refused(w, "number of phases");
    w = wish(MF_SYNTH_GAUSSIAN, 8, 8, 8, 2);
    w.fraction[1] = 0.6;
    refused(w, "add up to 1");
    w.fraction[1] = NAN;
    refused(w, "between 0 and 1");
    w = wish(MF_SYNTH_GAUSSIAN, 8, 8, 8, 2);
    w.length[2] = 5;
    refused(w, "more than half");
    w.length[2] = 0;
    refused(w, "above 0");
}

static void check_kinds(void)
{
    struct mf_synth w;

    refused(with_solid(MF_SYNTH_HARD_SPHERES, 32, 0.5), "at most 0.384");
    refused(with_solid(MF_SYNTH_HARD_SPHERES, 1, 0.6),
            "discs that do not overlap reach a volume fraction of at most 0.547");
    refused(with_solid(MF_SYNTH_SPHERES, 1, 1), "leave phase 0 a fraction");
    w = with_solid(MF_SYNTH_SPHERES, 8, 0.3);
    w.radius = 5;
    refused(w, "meet itself");
    w = wish(MF_SYNTH_VORONOI, 8, 8, 8, 4);
    w.grains = 3;
    refused(w, "ask for more grains");
    w = wish(MF_SYNTH_LAMELLAE, 8, 8, 8, 2);
    w.period = 100;
    refused(w, "no lamella");
    w.normal[0] = w.normal[1] = w.normal[2] = 0;
    refused(w, "must be a direction");
    w = wish(MF_SYNTH_CHECKERBOARD, 8, 8, 8, 2);
    w.cell[0] = w.cell[1] = w.cell[2] = 30;
    refused(w, "fit along any axis");
}

int main(void)
{
    struct mf_synth w = wish(MF_SYNTH_GAUSSIAN, 5, 7, 9, 2);

    CHECK(mf_synth_check(&w) == MF_OK);
    check_sizes();
    check_kinds();
    return failures != 0;
}
