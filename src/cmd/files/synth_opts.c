/* See synth_opts.h. */
#include "src/cmd/files/synth_opts.h"

#include <math.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/words.h"

const struct mf_opt mf_synth_opts[] = {
    MF_CHOICE_TEXT(synth_opts, "kind", kind, "gaussian",
                   "gaussian|spheres|hard-spheres|fibres|voronoi|lamellae|checkerboard|cracks",
                   "what to make (voronoi: grains)"),
    MF_OPT(synth_opts, "size", size, MF_LONGS, NULL, "extents y x, or z y x [voxels] (128 128)"),
    MF_OPT(synth_opts, "extent_x", extent[2], MF_LONG, "0", "extent along x, instead of --size [voxels]"),
    MF_OPT(synth_opts, "extent_y", extent[1], MF_LONG, "0", "extent along y [voxels]"),
    MF_OPT(synth_opts, "extent_z", extent[0], MF_LONG, "0", "extent along z; makes a volume [voxels]"),
    MF_OPT(synth_opts, "phases", phases, MF_LONG, "2", "number of phases, labelled 0, 1, ..."),
    MF_OPT(synth_opts, "volume-fraction", fraction, MF_REALS, NULL,
           "of phases 1, 2, ..., or of all from 0 on [-] (equal; hard-spheres and fibres: 0.3 in all, cracks: 0.1)"),
    MF_OPT(synth_opts, "exact", exact, MF_FLAG, NULL, "volume fractions exact to one voxel"),
    MF_OPT(synth_opts, "spacing", spacing, MF_REALS, NULL, "edge of a voxel: one, or one per axis [unit] (1)"),
    MF_OPT(synth_opts, "unit", unit, MF_TEXT, NULL, "unit of the spacing, as um"),
    MF_OPT(synth_opts, "list", list, MF_TEXT, NULL, "write spheres, fibres or grains as table to this file [.csv]"),
    MF_OPT(synth_opts, "correlation-length", correlation_length, MF_REAL, "5",
           "gaussian: l of the covariance exp(-r^2 / (2 l^2)) [voxels]"),
    MF_OPT(synth_opts, "stretch", stretch, MF_REALS, NULL, "gaussian: factors on l along y x, or z y x [-] (1)"),
    MF_OPT(synth_opts, "radius", radius, MF_REAL, "5",
           "spheres, hard-spheres, fibres; half the width of cracks (1) [voxels]"),
    MF_OPT(synth_opts, "gap", gap, MF_REAL, "0",
           "hard-spheres, fibres along an axis: least distance between two surfaces [voxels]"),
    MF_CHOICE_TEXT(synth_opts, "orientation", orientation, NULL, "x|y|z|planar|random",
                   "fibres: along an axis, in planes normal to z, or in any direction (volume x, image planar)"),
    MF_OPT(synth_opts, "fibre-length", stick, MF_REAL, "0",
           "planar and random fibres: straight part; 0: six radii [voxels]"),
    MF_OPT(synth_opts, "crack-length", crack_length, MF_REAL, "0", "cracks: from end to end; 0: 40 radii [voxels]"),
    MF_OPT(synth_opts, "overlap", overlap, MF_FLAG, NULL, "fibres along an axis may overlap (others always may)"),
    MF_OPT(synth_opts, "grains", grains, MF_LONG, "0", "voronoi: number of grains; 0: by --grain-size"),
    MF_OPT(synth_opts, "grain-size", grain_size, MF_REAL, "16",
           "voronoi: edge of a cube (square) of a mean grain's volume [voxels]"),
    MF_OPT(synth_opts, "period", period, MF_REAL, "16", "lamellae: thickness of one of each phase [voxels]"),
    MF_OPT(synth_opts, "normal", normal, MF_REALS, NULL, "lamellae: direction of their normal y x, or z y x (1 0 ..)"),
    MF_OPT(synth_opts, "waviness", waviness, MF_REAL, "0", "lamellae: rms displacement along the normal [voxels]"),
    MF_OPT(synth_opts, "wavelength", wavelength, MF_REAL, "0", "lamellae: of the waviness; 0: three periods [voxels]"),
    MF_OPT(synth_opts, "cell", cell, MF_REALS, NULL, "checkerboard: edge of a cell: one, or one per axis [voxels] (8)"),
    MF_OPT(synth_opts, "num-samples", samples, MF_LONG, "0", "make a dataset of so many samples for training"),
    MF_OPT(synth_opts, "questions", questions, MF_LONG, "0", "ask so many questions about each of its images"),
    MF_OPT(synth_opts, "kinds", kinds, MF_TEXTS, NULL,
           "classes of its samples: words of --kind, and grains (all eight)"),
    MF_OPT(synth_opts, "fraction-range", fractions, MF_REALS, NULL,
           "volume fraction of its samples: least and most [-] (0.12 0.32; with --questions 0.15 0.49)"),
    MF_OPT(synth_opts, "length-range", lengths, MF_REALS, NULL,
           "length of its structures: least and most [voxels] (a twentieth and a tenth of the extent)"),
    MF_OPT(synth_opts, "conductivity", conductivity, MF_REALS, NULL,
           "of phases 0 and 1 of its samples: properties conductivity_x, .. as well"),
    MF_OPT(synth_opts, "compress", compress, MF_LONG, "0", "deflate its samples: level 1 to 9; 0: not"),
    MF_OPT_END};

/* Which kinds read an option; those that are not here are for all. */
#define BIT(kind) (1u << MF_SYNTH_##kind)
static const struct {
    const char *word;
    unsigned kinds;
} readers[] = {{"correlation-length", BIT(GAUSSIAN)},
               {"stretch", BIT(GAUSSIAN)},
               {"radius", BIT(SPHERES) | BIT(HARD_SPHERES) | BIT(FIBRES) | BIT(CRACKS)},
               {"crack-length", BIT(CRACKS)},
               {"gap", BIT(HARD_SPHERES) | BIT(FIBRES)},
               {"orientation", BIT(FIBRES)},
               {"fibre-length", BIT(FIBRES)},
               {"overlap", BIT(FIBRES)},
               {"grains", BIT(VORONOI)},
               {"grain-size", BIT(VORONOI)},
               {"list", BIT(SPHERES) | BIT(HARD_SPHERES) | BIT(FIBRES) | BIT(VORONOI) | BIT(CRACKS)},
               {"period", BIT(LAMELLAE)},
               {"normal", BIT(LAMELLAE)},
               {"waviness", BIT(LAMELLAE)},
               {"wavelength", BIT(LAMELLAE)},
               {"cell", BIT(CHECKERBOARD)}};

static const char *const kinds[] = {"gaussian", "spheres",  "hard-spheres", "fibres",
                                    "voronoi",  "lamellae", "checkerboard", "cracks"};
static const char *const of_sets[] = {"questions",    "kinds",        "fraction-range",
                                      "length-range", "conductivity", "compress"};
static const char *const lies[] = {"z", "y", "x", "planar", "random"};

static int index_of(const char *word, const char *const *words, int count)
{
    int i = 0;

    while (i < count - 1 && strcmp(words[i], word) != 0) ++i;
    return i;
}

int mf_synth_kind_of(const char *word, enum mf_synth_kind *kind)
{
    const int count = sizeof kinds / sizeof *kinds, i = index_of(word, kinds, count);
    const char *near;

    *kind = (enum mf_synth_kind)i;
    if (strcmp(kinds[i], word) == 0) return MF_OK;
    near = mf_nearest(word, kinds, (size_t)count);
    return mf_fail(MF_USAGE, "--kinds: there is no kind '%s'; try: %s", word,
                   near ? near : "gaussian, spheres, grains, lamellae");
}

const char *mf_synth_kind_word(enum mf_synth_kind kind) { return kind == MF_SYNTH_VORONOI ? "grains" : kinds[kind]; }

const char *mf_synth_of_one(const struct mf_options *options)
{
    static const char *const any[] = {"kind", "phases", "volume-fraction", "exact", "spacing", "unit"};

    for (size_t i = 0; i < sizeof any / sizeof *any; ++i)
        if (mf_options_given(options, any[i])) return any[i];
    for (size_t i = 0; i < sizeof readers / sizeof *readers; ++i)
        if (mf_options_given(options, readers[i].word)) return readers[i].word;
    return NULL;
}

static int check_readers(const struct synth_opts *opts, const struct mf_options *options, const struct mf_synth *wish)
{
    int stick = wish->lie == MF_LIE_PLANAR || wish->lie == MF_LIE_RANDOM;

    for (size_t i = 0; i < sizeof readers / sizeof *readers; ++i)
        if (!(readers[i].kinds >> wish->kind & 1) && mf_options_given(options, readers[i].word))
            return mf_fail(MF_USAGE, "--%s does not apply to --kind %s", readers[i].word, opts->kind);
    if (mf_options_given(options, "grains") && mf_options_given(options, "grain-size"))
        return mf_fail(MF_USAGE, "--grains and --grain-size set the same thing: leave one of them out");
    if (wish->kind == MF_SYNTH_FIBRES && stick && (opts->overlap || mf_options_given(options, "gap")))
        return mf_fail(MF_USAGE, "--%s is for fibres along an axis; %s fibres may always overlap",
                       opts->overlap ? "overlap" : "gap", lies[wish->lie]);
    if (wish->kind == MF_SYNTH_FIBRES && !stick && mf_options_given(options, "fibre-length"))
        return mf_fail(MF_USAGE, "--fibre-length is for planar and random fibres; along an axis they have no end");
    if (wish->kind == MF_SYNTH_FIBRES && opts->overlap && mf_options_given(options, "gap"))
        return mf_fail(MF_USAGE, "--gap and --overlap contradict each other");
    return MF_OK;
}

int mf_synth_size(const struct synth_opts *opts, const struct mf_options *options, struct mf_synth *wish)
{
    int extents = mf_options_given(options, "extent_x") + mf_options_given(options, "extent_y") +
                  mf_options_given(options, "extent_z");
    long size[3] = {1, 128, 128};

    wish->ndim = 2;
    if (extents && opts->size.count) return mf_fail(MF_USAGE, "--size and --extent_x, _y, _z: give one of them");
    if (extents) {
        if (!mf_options_given(options, "extent_x") || !mf_options_given(options, "extent_y"))
            return mf_fail(MF_USAGE, "--extent_x and --extent_y are both needed, and --extent_z for a volume");
        wish->ndim = mf_options_given(options, "extent_z") ? 3 : 2;
        for (int a = 3 - wish->ndim; a < 3; ++a) size[a] = opts->extent[a];
    } else if (opts->size.count) {
        if (opts->size.count < 2 || opts->size.count > 3)
            return mf_fail(MF_USAGE, "--size must be y x, or z y x, not %zu numbers", opts->size.count);
        wish->ndim = (int)opts->size.count;
        for (int a = 3 - wish->ndim; a < 3; ++a) size[a] = opts->size.at[a - 3 + wish->ndim];
    }
    for (int a = 0; a < 3; ++a) {
        if (size[a] < 1) return mf_fail(MF_USAGE, "an extent must be 1 voxel or more, not %ld", size[a]);
        wish->dims[a] = (size_t)size[a];
    }
    return MF_OK;
}

static int read_fractions(const struct synth_opts *opts, struct mf_synth *wish)
{
    size_t n = opts->fraction.count, phases;
    double solid = wish->kind == MF_SYNTH_HARD_SPHERES || wish->kind == MF_SYNTH_FIBRES ? 0.3
                   : wish->kind == MF_SYNTH_CRACKS                                      ? 0.1
                                                                                        : 0;
    double left = 1;

    if (opts->phases < 2 || opts->phases > MF_PHASES_MAX)
        return mf_fail(MF_USAGE, "--phases must be 2 to %d, not %ld", MF_PHASES_MAX, opts->phases);
    phases = (size_t)opts->phases;
    wish->phases = (int)phases;
    if (n && wish->kind == MF_SYNTH_CHECKERBOARD && !opts->exact)
        return mf_fail(MF_USAGE, "a checkerboard has the fractions of its cells: --volume-fraction needs --exact");
    if (n && n != phases && n != phases - 1)
        return mf_fail(MF_USAGE, "--volume-fraction must have %zu numbers (phases 1 to %zu) or %zu (all), not %zu",
                       phases - 1, phases - 1, phases, n);
    for (size_t p = n == phases ? 0 : 1; p < phases; ++p) {
        double share = solid > 0 ? solid / (double)(phases - 1) : 1 / (double)phases;

        wish->fraction[p] = n == 0 ? share : opts->fraction.at[n == phases ? p : p - 1];
        if (!(wish->fraction[p] >= 0 && wish->fraction[p] <= 1))
            return mf_fail(MF_USAGE, "a volume fraction must lie between 0 and 1, not %g", wish->fraction[p]);
        left -= wish->fraction[p];
    }
    if (n == phases) return MF_OK;
    if (left < -1e-9) return mf_fail(MF_USAGE, "--volume-fraction: the fractions add up to %g, more than 1", 1 - left);
    wish->fraction[0] = left < 0 ? 0 : left;
    return MF_OK;
}

/* One number for all axes, or one per axis; those of an image leave z alone. */
static int read_axes(const char *word, const struct mf_reals *list, int ndim, int one, double into[3])
{
    if (list->count == 0) return MF_OK;
    if (list->count != (size_t)ndim && !(one && list->count == 1))
        return mf_fail(MF_USAGE, "--%s must have %s%d numbers here, not %zu", word, one ? "1 or " : "", ndim,
                       list->count);
    for (int a = 0; a < 3; ++a)
        if (list->count == 1 || a >= 3 - ndim) into[a] = list->at[list->count == 1 ? 0 : a - 3 + ndim];
    return MF_OK;
}

static void read_grains(const struct synth_opts *opts, struct mf_synth *wish)
{
    double grains = 1;

    for (int a = 0; a < 3; ++a)
        if (wish->dims[a] > 1) grains *= (double)wish->dims[a] / opts->grain_size;
    wish->grains = opts->grains ? (size_t)opts->grains : grains < 0x1p50 ? (size_t)(grains + 0.5) : (size_t)1 << 50;
    if (wish->grains < 1) wish->grains = 1;
}

static int read_numbers(const struct synth_opts *opts, const struct mf_options *options, struct mf_synth *wish)
{
    double stretch[3] = {1, 1, 1};

    if (opts->grains < 0) return mf_fail(MF_USAGE, "--grains must be 1 or more, not %ld", opts->grains);
    if (!(opts->grain_size > 0)) return mf_fail(MF_USAGE, "--grain-size must be above 0, not %g", opts->grain_size);
    if (!(opts->wavelength >= 0)) return mf_fail(MF_USAGE, "--wavelength must be 0 or more, not %g", opts->wavelength);
    MF_TRY(read_axes("stretch", &opts->stretch, wish->ndim, 0, stretch));
    for (int a = 0; a < 3; ++a) {
        wish->length[a] = opts->correlation_length * stretch[a];
        wish->cell[a] = 8;
    }
    MF_TRY(read_axes("cell", &opts->cell, wish->ndim, 1, wish->cell));
    wish->normal[3 - wish->ndim] = 1;
    MF_TRY(read_axes("normal", &opts->normal, wish->ndim, 0, wish->normal));
    wish->radius = opts->radius;
    wish->gap = opts->gap;
    wish->stick = opts->stick != 0 ? opts->stick : 6 * opts->radius;
    if (wish->kind == MF_SYNTH_CRACKS) {
        if (!mf_options_given(options, "radius")) wish->radius = 1;
        wish->stick = opts->crack_length != 0 ? opts->crack_length : 40 * wish->radius;
    }
    wish->overlap = opts->overlap;
    wish->period = opts->period;
    wish->waviness = opts->waviness;
    wish->wavelength = opts->wavelength != 0 ? opts->wavelength : 3 * opts->period;
    read_grains(opts, wish);
    return MF_OK;
}

static int read_spacing(const struct synth_opts *opts, int ndim, double spacing[3])
{
    for (int a = 0; a < 3; ++a) spacing[a] = 1;
    MF_TRY(read_axes("spacing", &opts->spacing, ndim, 1, spacing));
    for (int a = 0; a < 3; ++a)
        if (!(spacing[a] > 0 && spacing[a] < HUGE_VAL))
            return mf_fail(MF_USAGE, "--spacing must be above 0, not %g", spacing[a]);
    if (opts->unit && strlen(opts->unit) >= MF_UNIT_TEXT)
        return mf_fail(MF_USAGE, "--unit must have at most %d characters", MF_UNIT_TEXT - 1);
    return MF_OK;
}

int mf_synth_wish(const struct synth_opts *opts, const struct mf_options *options, struct mf_synth *wish,
                  double spacing[3])
{
    struct mf_synth w = {.exact = opts->exact, .seed = (uint64_t)opts->common.seed};

    w.kind = (enum mf_synth_kind)index_of(opts->kind, kinds, sizeof kinds / sizeof *kinds);
    MF_TRY(mf_synth_size(opts, options, &w));
    w.lie = (enum mf_synth_lie)index_of(opts->orientation ? opts->orientation
                                        : w.ndim == 2     ? "planar"
                                                          : "x",
                                        lies, sizeof lies / sizeof *lies);
    for (size_t i = 0; i < sizeof of_sets / sizeof *of_sets; ++i)
        if (mf_options_given(options, of_sets[i]))
            return mf_fail(MF_USAGE, "--%s is for a dataset: it needs --num-samples", of_sets[i]);
    MF_TRY(check_readers(opts, options, &w));
    MF_TRY(read_fractions(opts, &w));
    MF_TRY(read_numbers(opts, options, &w));
    MF_TRY(read_spacing(opts, w.ndim, spacing));
    MF_TRY(mf_synth_check(&w));
    *wish = w;
    return MF_OK;
}

void mf_synth_wish_json(const struct mf_synth *wish, struct mf_json *at)
{
    int skip = 3 - wish->ndim;
    size_t axes = (size_t)wish->ndim;
    int stick = wish->kind == MF_SYNTH_FIBRES && wish->lie >= MF_LIE_PLANAR;

    mf_json_bool(at, "exact", wish->exact);
    if (wish->kind != MF_SYNTH_CHECKERBOARD || wish->exact)
        mf_json_reals(at, "volume_fraction", wish->fraction, (size_t)wish->phases);
    if (wish->kind == MF_SYNTH_GAUSSIAN) mf_json_reals(at, "correlation_length", wish->length + skip, axes);
    if ((wish->kind >= MF_SYNTH_SPHERES && wish->kind <= MF_SYNTH_FIBRES) || wish->kind == MF_SYNTH_CRACKS)
        mf_json_real(at, "radius", wish->radius);
    if (wish->kind == MF_SYNTH_CRACKS) mf_json_real(at, "crack_length", wish->stick);
    if (wish->kind == MF_SYNTH_HARD_SPHERES || (wish->kind == MF_SYNTH_FIBRES && !stick && !wish->overlap))
        mf_json_real(at, "gap", wish->gap);
    if (wish->kind == MF_SYNTH_FIBRES) mf_json_text(at, "orientation", lies[wish->lie]);
    if (stick) mf_json_real(at, "fibre_length", wish->stick);
    if (wish->kind == MF_SYNTH_FIBRES && !stick) mf_json_bool(at, "overlap", wish->overlap);
    if (wish->kind == MF_SYNTH_VORONOI) mf_json_int(at, "grains", (long long)wish->grains);
    if (wish->kind == MF_SYNTH_LAMELLAE) {
        mf_json_real(at, "period", wish->period);
        mf_json_reals(at, "normal", wish->normal + skip, axes);
        mf_json_real(at, "waviness", wish->waviness);
        if (wish->waviness > 0) mf_json_real(at, "wavelength", wish->wavelength);
    }
    if (wish->kind == MF_SYNTH_CHECKERBOARD) mf_json_reals(at, "cell", wish->cell + skip, axes);
}
