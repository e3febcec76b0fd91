/* Options that reconstruct and match share, and their common work on a target. */
#ifndef MF_CMD_RECON_RECON_OPTS_H
#define MF_CMD_RECON_RECON_OPTS_H

#include "src/base/json.h"
#include "src/cmd/accepted.h"
#include "src/cmd/cmd.h"
#include "src/cmd/keep.h"
#include "src/recon/outcome.h"
#include "src/recon/recipe.h"

#define MF_MAX_ITER "500" /* the default */

/** Takes results instead of files. @p micro has this rank's slab, until take() returns; @p json is that of --json. */
struct mf_recon_taker {
    int (*take)(void *context, const struct mf_micro *micro, const struct mf_json *json);
    void *context;
};

struct mf_recon_cmd {
    struct mf_common common;
    const struct mf_recon_taker *taker; /* NULL: files */
    /* what is read */
    struct mf_texts files, arrays;
    const char *dataset, *mask, *descriptor_filename, *initial_file, *fixed_file, *threshold, *unit, *symmetry;
    struct mf_longs labels, crop;
    struct mf_reals spacing;
    int crop_bar;
    /* what is compared */
    struct mf_texts types;
    struct mf_reals weights, level_weights, phase_weights;
    long lag;
    const char *loss, *slice_objective;
    int greedy;
    int non_periodic, isotropic, no_pyramid, use_multiphase, no_multiphase;
    int explain;                    /* numbers of --descriptor_types auto */
    const struct mf_recipe *recipe; /* the chosen one, or NULL */
    double layers;                  /* layers of a volume's initial field, in periods per voxel; 0: noise */
    double cells;                   /* cells of an image's initial field, per pixel; 0: noise */
    double bend;                    /* displacement of their walls */
    size_t example_max;             /* longest edge of the example; 0: the default */
    int target_open;                /* the target is not periodic, even if the result is */
    const char *compat;
    const char *nl_method, *gram_weights;
    struct mf_vgg *vgg; /* VGG-19 for descriptors that need it (mf_recon_vgg); NULL: none */
    /* the volume */
    struct mf_longs size;
    long extent_x, extent_y, extent_z, add_dimension;
    int sized; /* the target states the extents of the measured field */
    /* how it is found */
    const char *optimizer;
    long usual_iter; /* of the recipe for this result; 0: the default */
    long max_iter, coarse_iter, coarsest, history, convergence_steps, outfile_data_steps, polish_rounds, realisations,
        candidates;
    double learning_rate, beta_1, beta_2, rho, momentum, tolerance, batch_size;
    double initial_temperature, final_temperature, cooldown_factor;
    const char *mutation_rule, *acceptance;
    int multigrid, no_polish, no_connect;
    double oor_multiplier, phase_sum_multiplier;
    const char *save_gradient;
    /* properties of the result */
    struct mf_texts properties;
    struct mf_reals conductivity;
    const char *property_boundary;
    double property_weight, property_tolerance;
    /* stopping and going on */
    struct mf_keep keep;
    const char *plan;      /* --plan auto|off|FILE */
    const char *residency; /* --residency auto|device|host */
    struct mf_accepted accepted;
    /* how a micrograph is read and measured */
    double soft, steepness;
    const char *slice_mode;
    int grey_values;
};

/** Rows of both verbs and of plan; only of match (input images); only of reconstruct (descriptor file); of runs. */
extern const struct mf_opt mf_recon_rows[], mf_match_rows[], mf_reconstruct_rows[], mf_run_rows[];

/** Options that launch --debug adds to both. */
extern const char *const mf_recon_small[];

/** Is it left to the program what to aim at? */
int mf_recon_is_auto(const struct mf_recon_cmd *o);

/** For verbs without a micrograph, where the program cannot choose: MF_USAGE. Not collective. */
int mf_recon_named(const struct mf_recon_cmd *o);

/** Reports options without effect, given the other options. MF_USAGE: no such optimiser. Not collective. */
int mf_recon_unused(const struct mf_session *session, const struct mf_recon_cmd *o);

/** Reports options without effect, given the target and the result. Not collective. */
void mf_recon_unused_here(const struct mf_session *session, const struct mf_recon_cmd *o,
                          const struct mf_target *target, const size_t dims[3], const struct mf_solve_opts *opts);

/** Says which sides of the target the result does not have. Not collective. */
void mf_recon_unused_sides(const struct mf_target *target, const size_t dims[3]);

/** Checks options that need no file: MF_USAGE. Not collective. */
int mf_recon_check(const struct mf_session *session, const struct mf_recon_cmd *o);

/** "16 x 64", of an image; "8 x 16 x 64". */
enum { MF_SHAPE_TEXT = 72 };
void mf_recon_shape_text(const size_t dims[3], char text[MF_SHAPE_TEXT]);

/**
 * Extents of the volume {nz, ny, nx}. They come from the options, from the volume that was measured (@p volume; NULL:
 * images), or from the target's slices. MF_USAGE. Not collective.
 */
int mf_recon_extents(const struct mf_session *session, const struct mf_recon_cmd *o, const struct mf_target *target,
                     const size_t *volume, size_t dims[3]);

/**
 * A target of these extents, phases and options, without statistics, for plans and comparisons that do not depend on
 * them. Call mf_target_free(), also after a refusal. Local.
 */
int mf_recon_nominal(const struct mf_recon_cmd *o, const size_t dims[3], int phases, struct mf_target *target);

/** Further descriptors that a target needs for these options (bits 1 << enum mf_more). After mf_recon_check(). */
unsigned mf_recon_more(const struct mf_recon_cmd *o);

/**
 * Loads VGG-19 into o->vgg where a descriptor needs it. A @p target must have been computed with the same weights. A
 * target from arrays names no weights and takes these. NULL: the target is computed later. The caller frees o->vgg.
 * Collective; refuses (agreed) as mf_gram_weights_open().
 */
int mf_recon_vgg(const struct mf_session *session, struct mf_recon_cmd *o, struct mf_target *target);

/** Makes the options of mf_solve() from options and target. MF_USAGE. Not collective. */
int mf_recon_plan(const struct mf_session *session, const struct mf_recon_cmd *o, const struct mf_target *target,
                  const size_t dims[3], struct mf_solve_opts *opts);

/** The part of that for annealing (recon_anneal.c). Refuses with MF_USAGE descriptors that swaps cannot update. Not
 * collective. */
int mf_recon_anneal(const struct mf_session *session, const struct mf_recon_cmd *o, const struct mf_target *target,
                    const size_t dims[3], struct mf_solve_opts *opts);

/** Checks --property and its kin without files: MF_USAGE. Not collective. */
int mf_recon_property_check(const struct mf_session *session, const struct mf_recon_cmd *o);

/** opts->property from the options: MF_USAGE, MF_INPUT. After the phases of the result are chosen. Not collective. */
int mf_recon_property(const struct mf_recon_cmd *o, const struct mf_target *target, const size_t dims[3],
                      struct mf_solve_opts *opts);

/** Refuses (MF_INPUT) properties that no structure with the target's volume fractions has. Not collective. */
int mf_recon_property_bounds(const struct mf_target *target, const size_t dims[3], const struct mf_solve_opts *opts);

/** Says means over the results of several seeds, with their 95 % intervals, if they have properties. Local. */
void mf_recon_property_means(const struct mf_json *all);

/** Can an output of this name store the results of its run? */
int mf_recon_knows_done(const struct mf_session *session);

/** Refuses, before anything is read, an --output that no run could write, or that is one of its inputs. Collective. */
int mf_recon_may_write(struct mf_session *session, const struct mf_recon_cmd *o);

/**
 * All realisations of a target: solves, writes, reports. The measured volume has extents @p volume, or NULL. Default
 * file names begin with @p base. Collective; refuses (agreed).
 */
int mf_recon_run(struct mf_session *session, const struct mf_recon_cmd *o, const struct mf_target *target,
                 const size_t *volume, const char *base);

#endif
