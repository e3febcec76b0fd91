/* See recipe.h. */
#include "src/recon/recipe.h"

#include <math.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/desc/texture.h"
#include "src/recon/search_cost.h"
#include "src/recon/start.h"

/* Thresholds. LINES: straightness of edges over that of a surrogate (cut Gaussian fields 0.92 to 1.08, networks 1.35 to
 * 1.5). ALIKE: relative spread of the areas of inclusions of one size (hard spheres 0.03, Gaussian fields 0.5 to 1.8).
 * CREST: the autocovariance of an oscillating S2 rises above it again. RARE: a phase below it is rare; below SCARCE it
 * forms no network. Inclusions of one size that hold less than APART stand apart, and from BROAD pixels on S2 and
 * Variation place them better than patches do. SEAM: borders match below it. */
static const double LINES = 1.25, ALIKE = 0.3, CREST = 0.05, RARE = 0.1, SCARCE = 0.03, APART = 0.22, SEAM = 0.5;
enum { BROAD = 96 };

/* Most operations of all searches for patches in a run that makes a volume, about 15 minutes of a core. A pair of
 * patches takes SEARCH operations, and an example has at least LEAST x LEAST pixels. */
static const double WORK = 1e14, SEARCH = 50, LEAST = 64;

/* Operations for all candidates of an image, in the unit of search_cost.h: seven seconds of a core. It allows eight
 * candidates with patches and lineal paths up to 64 x 64 pixels, and one from 116 x 116 on. */
static const double AFFORD = 1.87e11;

/* For each pixel: operations of an evaluation of lineal paths; of a run without these and without patches. */
static const double PATHS = 3500, FIELD = 6e5;

/* What coarse grids have placed needs SHARPEN evaluations on the finest grid. More do little where it has more than
 * MANY_PIXELS (benchmarks/results/large-images-*.md). */
static const double MANY_PIXELS = 512 * 512, SHARPEN = 100;

enum { PATCH = 9 /* of Patches, its edge */ };

/* Lines of several phases count in volumes from this edge on. */
enum { LINES_LEAST = 24 };

/* From these edges on [pixels] coarse grids are large enough for patches, and place less than the whole example: of
 * networks the example's and the result's, else the result's. */
enum { WIDE = 128, LARGE = 256 };

void mf_recipe_for(const size_t dims[3], struct mf_target_look *look)
{
    look->result = SIZE_MAX;
    for (int a = 0; a < 3; ++a)
        if (dims[a] > 1) look->result = mf_min(look->result, dims[a]);
    look->edge = mf_min(look->edge, look->result);
    look->coarsest = look->edge;
    look->pixels = (double)dims[0] * (double)dims[1] * (double)dims[2] * (dims[0] > 1 ? 3 : 1);
}

/* From trials on the images of benchmarks/textures.py. The ramp ends where grey is so expensive that the cut changes
 * little. A polish would improve S2 but break connections of lamellae or phases. */
static const struct mf_ramp slow = {8, 0.01, 10, 0.43};

/* For what comes from coarser grids. */
static const struct mf_ramp late = {8, 0.01, 10, 0.3};

/* For what begins with layers: the first part, without lambda, would melt them. */
static const struct mf_ramp firm = {8, 0.3, 10, 0.1};

static const struct mf_recipe blobs = {.name = "blobs",
                                       .terms = 4,
                                       .type = {"FFTCorrelations", "Variation", "Patches", "LinealPath"},
                                       .weight = {7.6, 3.2, 5, 5},
                                       .evaluations = 700,
                                       .candidates = 4,
                                       .history = 10,
                                       .ramp = &slow};
static const struct mf_recipe lamellae = {.name = "lamellae",
                                          .terms = 4,
                                          .type = {"FFTCorrelations", "Variation", "Patches", "LinealPath"},
                                          .weight = {7.6, 3.2, 12, 5},
                                          .evaluations = 700,
                                          .candidates = 4,
                                          .history = 10,
                                          .ramp = &slow,
                                          .unpolished = 1};
/* Most evaluations would be on the finest grid. Few on coarser ones put large features in place; more of them copy the
 * image (benchmarks/results/large-images-*.md). */
static const struct mf_recipe large_blobs = {.name = "large blobs",
                                             .terms = 4,
                                             .type = {"FFTCorrelations", "Variation", "Patches", "LinealPath"},
                                             .weight = {7.6, 3.2, 5, 5},
                                             .coarse_to_fine = 1,
                                             .coarse_evaluations = 60,
                                             .coarsest = 128,
                                             .evaluations = 250,
                                             .history = 10,
                                             .ramp = &late};
static const struct mf_recipe large_lamellae = {.name = "large lamellae",
                                                .terms = 4,
                                                .type = {"FFTCorrelations", "Variation", "Patches", "LinealPath"},
                                                .weight = {7.6, 3.2, 12, 5},
                                                .coarse_to_fine = 1,
                                                .coarse_evaluations = 60,
                                                .coarsest = 128,
                                                .evaluations = 250,
                                                .history = 10,
                                                .ramp = &late,
                                                .unpolished = 1};
static const struct mf_recipe network = {.name = "network or inclusions",
                                         .terms = 3,
                                         .type = {"FFTCorrelations", "Variation", "Patches"},
                                         .weight = {7.6, 6.4, 20},
                                         .levels = 3,
                                         .level_weight = {1, 0.6, 0.4}, /* more closes grains, and copies them */
                                         .lag = 8,
                                         .evaluations = 600,
                                         .candidates = 8, /* they differ: in what they copy by 0.2 */
                                         .history = 10,
                                         .ramp = &slow};
/* Patches of coarse grids know the grains, which are wider than those of the finest reach. Most of the time is the
 * finest grid's, which starts near its end. */
static const struct mf_recipe wide_network = {.name = "large network or inclusions",
                                              .terms = 3,
                                              .type = {"FFTCorrelations", "Variation", "Patches"},
                                              .weight = {7.6, 6.4, 10},
                                              .levels = 2,
                                              .level_weight = {1, 1},
                                              .unpolished = 1,
                                              .coarse_to_fine = 1,
                                              .evaluations = 200,
                                              .history = 10,
                                              .ramp = &slow};
/* Regions that the walls of the start enclose stay closed. So patches need not cover a grain, only the bends, junctions
 * and thickness of walls. */
static const struct mf_recipe closed_network = {.name = "closed network",
                                                .terms = 3,
                                                .type = {"FFTCorrelations", "Variation", "Patches"},
                                                .weight = {7.6, 6.4, 20},
                                                .levels = 1,
                                                .level_weight = {1},
                                                .cells = 1,
                                                .bend = 0.06, /* benchmarks/results/descriptor-trials.md */
                                                .evaluations = 200,
                                                .candidates = 8, /* of few cells: their walls are as long as it comes */
                                                .history = 10,
                                                .ramp = &firm};
static const struct mf_recipe wide_closed_network = {.name = "closed network",
                                                     .terms = 3,
                                                     .type = {"FFTCorrelations", "Variation", "Patches"},
                                                     .weight = {7.6, 6.4, 10},
                                                     .levels = 1,
                                                     .level_weight = {1},
                                                     .unpolished = 1,
                                                     .cells = 1,
                                                     .bend = 0.06, /* benchmarks/results/descriptor-trials.md */
                                                     .evaluations = 200,
                                                     .history = 10,
                                                     .ramp = &firm};
static const struct mf_recipe several = {.name = "several phases",
                                         .terms = 4,
                                         .type = {"FFTCorrelations", "Variation", "Patches", "LinealPath"},
                                         .weight = {7.6, 3.2, 10, 5},
                                         .levels = 3,
                                         .level_weight = {1, 0.8, 0.7},
                                         .unpolished = 1,
                                         .lag = 8,
                                         .evaluations = 700,
                                         .candidates = 8, /* they differ most: in score by 0.1 to 0.4 */
                                         .history = 10,
                                         .ramp = &slow};
static const struct mf_recipe large_several = {.name = "several phases, large",
                                               .terms = 4,
                                               .type = {"FFTCorrelations", "Variation", "Patches", "LinealPath"},
                                               .weight = {7.6, 3.2, 10, 5},
                                               .levels = 3,
                                               .level_weight = {1, 0.8, 0.7},
                                               .unpolished = 1,
                                               .lag = 8,
                                               .coarse_to_fine = 1,
                                               .coarse_evaluations = 60,
                                               .coarsest = 128,
                                               .evaluations = 250,
                                               .history = 10,
                                               .ramp = &late};

/* For volumes, from trials at 64^3. A search for patches in all slices costs as much as ten to twenty other
 * evaluations. So only lamellae use patches, because nothing else repairs them. */
static const struct mf_recipe defaults = {
    .name = "S2 and Variation", .terms = 2, .type = {"FFTCorrelations", "Variation"}, .weight = {1, 5}};
/* Most patches of such an image show background alone; those that do not make specks and bars of discs. */
static const struct mf_recipe sparse = {.name = "S2 and Variation",
                                        .terms = 2,
                                        .type = {"FFTCorrelations", "Variation"},
                                        .weight = {1, 5},
                                        .candidates = 4};
static const struct mf_recipe several_inside = {.name = "several phases",
                                                .terms = 3,
                                                .type = {"FFTCorrelations", "Variation", "LinealPath"},
                                                .weight = {7.6, 3.2, 5},
                                                .levels = 3,
                                                .level_weight = {1, 0.8, 0.7},
                                                .unpolished = 1,
                                                .lag = 8,
                                                .history = 10};

/* From noise, slices in the plane of layers get spots, and nothing rotates the layers. S2 of an image of lamellae
 * favours waves along the axes, which are such layers, so its weight is small. */
static const struct mf_recipe lamellae_inside = {.name = "lamellae",
                                                 .terms = 3,
                                                 .type = {"FFTCorrelations", "Variation", "Patches"},
                                                 .weight = {1, 1, 60},
                                                 .unpolished = 1,
                                                 .layers = 0.8,
                                                 .evaluations = 120,
                                                 .history = 10,
                                                 .ramp = &firm};

/* For what was seen: why, and the recipes for an image, a wide image, a large result (NULL: as others) and a volume. */
enum { IMAGE, WIDE_IMAGE, LARGE_IMAGE, VOLUME, KINDS };
enum { TINY, DEAR, SEVERAL, FEW, SPARSE, SEPARATE, INCLUDED, LAMELLAE, CELLS, LINED, BLOBS };

static const struct {
    const char *why;
    const struct mf_recipe *recipe[KINDS];
} rows[] = {
    [TINY] = {"the image or the result is smaller than a patch", {&defaults, &defaults, NULL, &defaults}},
    [DEAR] = {"a search for patches would take too long", {&defaults, &defaults, NULL, &defaults}},
    [SEVERAL] = {"there are more than two phases", {&several, &several, &large_several, &several_inside}},
    [FEW] = {"the lines of a volume of several phases are too short", {NULL, NULL, NULL, &defaults}},
    [SPARSE] = {"its inclusions are sparse", {&sparse, &sparse, NULL, &defaults}},
    [SEPARATE] = {"its inclusions are of one size and stand apart", {&sparse, &sparse, NULL, &defaults}},
    [INCLUDED] = {"its inclusions are of one size", {&network, &wide_network, NULL, &defaults}},
    [LAMELLAE] = {"S2 oscillates", {&lamellae, &lamellae, &large_lamellae, &lamellae_inside}},
    [CELLS] = {"thin walls part the other phase into cells", {&closed_network, &wide_closed_network, NULL, &defaults}},
    [LINED] = {"edges are straighter than chance, and S2 does not oscillate",
               {&network, &wide_network, NULL, &defaults}},
    [BLOBS] = {"its edges are no straighter than chance", {&blobs, &blobs, &large_blobs, &defaults}},
};

static int compares(const struct mf_recipe *recipe, const char *type)
{
    for (size_t t = 0; t < recipe->terms; ++t)
        if (strcmp(recipe->type[t], type) == 0) return 1;
    return 0;
}

/* Operations of all searches of a run that makes a volume. Its patches are those of so many pixels of the example. */
static double searching(const struct mf_recipe *recipe, const struct mf_target_look *look, double pixels)
{
    if (!compares(recipe, "Patches")) return 0;
    return SEARCH * (double)recipe->evaluations / MF_SOLVE_HOLD * look->pixels * fmin(pixels, look->example);
}

size_t mf_recipe_example(const struct mf_recipe *recipe, const struct mf_target_look *look, int volume)
{
    const double all = searching(recipe, look, look->example), edge = fmax(LEAST, sqrt(look->example * WORK / all));

    return !volume || all <= WORK || edge * edge >= look->example ? 0 : (size_t)edge;
}

long mf_recipe_evaluations(const struct mf_recipe *recipe, const struct mf_target_look *look)
{
    const double share = MANY_PIXELS / look->pixels;

    if (!recipe->coarse_evaluations || share >= 1) return recipe->evaluations;
    return (long)fmax(SHARPEN, share * (double)recipe->evaluations);
}

/* One search in an image, and its example, with the levels that an image has. */
static double search_of(const struct mf_target_look *look)
{
    const size_t edge = (size_t)sqrt(look->pixels), other = (size_t)sqrt(look->example);
    const struct mf_slice_desc desc = {.nu = edge,
                                       .nv = edge,
                                       .levels = 3,
                                       .periodic = 1,
                                       .one = 1,
                                       .example = {.nu = other, .nv = other, .periodic = 1}};

    return mf_search_cost_of(&desc).search;
}

/* Operations of a run that makes an image. */
static double work_of(const struct mf_recipe *recipe, const struct mf_target_look *look)
{
    const double evaluations = (double)recipe->evaluations;
    double work = FIELD * look->pixels;

    if (compares(recipe, "Patches")) work += evaluations / MF_SOLVE_HOLD * search_of(look);
    if (compares(recipe, "LinealPath")) work += evaluations * PATHS * look->pixels;
    return work;
}

long mf_recipe_candidates(const struct mf_recipe *recipe, const struct mf_target_look *look)
{
    if (recipe->candidates < 2 || look->coarsest < MF_TEXTURE_EDGE) return 1;
    return (long)fmax(1, fmin((double)recipe->candidates, AFFORD / work_of(recipe, look)));
}

/* The result has room for cells as dense as those of the image. */
static int has_cells(const struct mf_target_look *look)
{
    return llround(look->cells * look->pixels) >= MF_START_CELLS;
}

static int are_alike(const struct mf_target_look *look) { return look->sizes >= 0 && look->sizes < ALIKE; }

/* Inclusions with much background around them. Rare lines may also be a network: not where they are of one size. */
static int is_sparse(const struct mf_target_look *look)
{
    const int lined = look->coherence > LINES;

    if (look->phases > 2 || look->rare >= RARE || has_cells(look)) return 0;
    return !lined || are_alike(look) || look->rare < SCARCE;
}

/* Too few sparse inclusions meet the borders to say whether these fit. */
int mf_recipe_periodic(const struct mf_target_look *look) { return look->seam < SEAM || is_sparse(look); }

static int row_of(const struct mf_target_look *look)
{
    const int lined = look->coherence > LINES;

    if (look->coarsest < PATCH) return TINY;
    if (look->phases > 2) return SEVERAL;
    if (is_sparse(look)) return SPARSE;
    if (are_alike(look)) return look->rare < APART && look->edge >= BROAD ? SEPARATE : INCLUDED;
    if (look->crest > CREST) return LAMELLAE;
    if (has_cells(look) && (lined || look->rare < RARE)) return CELLS;
    return lined ? LINED : BLOBS;
}

const struct mf_recipe *mf_recipe_choose(const struct mf_target_look *look, int volume, const char **why)
{
    const int image = look->edge >= WIDE ? WIDE_IMAGE : IMAGE;
    const struct mf_recipe *large;
    int row = row_of(look);

    if (volume && row == SEVERAL && look->edge < LINES_LEAST) row = FEW;
    if (volume && searching(rows[row].recipe[VOLUME], look, LEAST * LEAST) > 4 * WORK) row = DEAR;
    *why = rows[row].why;
    if (volume) return rows[row].recipe[VOLUME];
    large = look->result >= LARGE ? rows[row].recipe[LARGE_IMAGE] : NULL;
    return large ? large : rows[row].recipe[image];
}
