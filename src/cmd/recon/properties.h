/* The parts of the verb properties: its options, what it found of a file, and its output (properties_show.c). */
#ifndef MF_CMD_RECON_PROPERTIES_H
#define MF_CMD_RECON_PROPERTIES_H

#include "src/base/json.h"
#include "src/cmd/cmd.h"
#include "src/prop/elastic.h"
#include "src/prop/error.h"

/** Takes potential and flux, in the unit of the conductivities. Collective; refuses as it likes. */
struct mf_properties_taker {
    int (*take)(void *context, const struct mf_micro *micro, const struct mf_conduct_fields *fields);
    void *context;
};

/** The options. The last row is for a run, not for its plan. */
struct properties {
    struct mf_common common;
    struct mf_reals conductivity, spacing, young, poisson, stiffness;
    struct mf_longs conducting, labels, crop;
    struct mf_texts axes;
    const char *boundary, *threshold, *dataset, *unit;
    int sides_periodic;
    enum mf_elastic_scheme scheme;
    double tolerance;
    int crop_bar;
    const char *edge_for, *fields;
    int error_bars;
    struct mf_properties_taker taker; /* of the library, where fields is "@"; take NULL: there is none */
};

/** Rows of what is solved. */
extern const struct mf_opt mf_properties_rows[];

/** Stiffness of a file: its problem, the result, and (has_errors) that of the other scheme. */
struct mf_stiffness {
    int asked; /* 0: there is none, and the file conducts */
    struct mf_elastic_opts opts;
    struct mf_elastic of, other;
};

/** Conduction through a file, or its stiffness. */
struct mf_conducted {
    const char *file;
    int ndim, phases, wanted[3]; /* wanted: along z, y, x */
    size_t dims[3];
    double spacing[3];
    char unit[MF_UNIT_TEXT]; /* of the spacing; "": unknown */
    long label[MF_PHASES_MAX];
    double fraction[MF_PHASES_MAX], k[MF_PHASES_MAX]; /* k in the user's unit */
    double most;                                      /* the largest of them: what results are relative to */
    const char *boundary;
    struct mf_conduct axis[3];
    struct mf_stiffness stiffness;
    int has_errors; /* the following are known */
    double grid[3]; /* errors; NAN: unknown */
    struct mf_conduct_sample sample[3];
    double share; /* of --edge-for; 0: not asked */
    double seconds;
    size_t bytes, on_device; /* this rank's largest use of memory; the second 0: there is only one */
};

/** Refuses (MF_USAGE) values of these rows that contradict each other. Local. */
int mf_properties_check(const struct mf_session *session, const struct properties *o);

/** Reads the phases of a file. Collective; refuses (agreed) as mf_micrograph_read(). */
int mf_properties_read(const struct mf_session *session, const struct properties *o, const char *file,
                       struct mf_micro *micro);

/** The fraction of each phase. Collective. */
void mf_properties_fractions(const struct mf_comm *comm, const struct mf_micro *micro, double *fraction);

/** Sets phases, conductivities and axes of @p c, which has the fractions of @p micro. Sets the options of the solver,
 * too. Refuses (MF_INPUT) labels without a conductivity, and axes that are too short. Local. */
int mf_properties_problem(const struct properties *o, const struct mf_micro *micro, struct mf_conducted *c,
                          struct mf_conduct_opts *opts);

/** Means over files. */
struct mf_conducted_mean {
    size_t files;
    double mean, deviation, interval; /* half the 95 % interval of the mean, by Student's t */
};

struct mf_conducted_mean mf_conducted_mean(size_t files, const struct mf_conducted *of, int axis);

/** The same of any number that each file has, @p value [files]. Local. */
struct mf_conducted_mean mf_mean_of(size_t files, const double *value);

/** File, extents, and phases with their fractions, as both outputs begin. Local. */
void mf_conducted_head(FILE *to, const struct mf_conducted *c);
void mf_conducted_put_head(struct mf_json *json, const struct mf_conducted *c);

/** One file for people; for programs (the caller frees). */
void mf_conducted_text(FILE *to, const struct mf_conducted *c);
struct mf_json *mf_conducted_json(const struct mf_conducted *c);

/** Several files. There is no mean over images and volumes. The list @p each is taken. */
int mf_conducted_alike(size_t files, const struct mf_conducted *of);
void mf_conducted_means_text(FILE *to, size_t files, const struct mf_conducted *of);
struct mf_json *mf_conducted_means_json(size_t files, const struct mf_conducted *of, struct mf_json *each);

#endif
