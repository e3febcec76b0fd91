/* The parts of the verb properties: what it found of a file, and its output (properties_show.c). */
#ifndef MF_CMD_RECON_PROPERTIES_H
#define MF_CMD_RECON_PROPERTIES_H

#include "src/base/json.h"
#include "src/cmd/cmd.h"
#include "src/prop/error.h"

/** Conduction through a file. */
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
    int has_errors; /* the following are known */
    double grid[3]; /* errors; NAN: unknown */
    struct mf_conduct_sample sample[3];
    double share; /* of --edge-for; 0: not asked */
    double seconds;
    size_t bytes; /* this rank's largest use of memory */
};

/** Means over files: of the conductivity along an axis. */
struct mf_conducted_mean {
    size_t files;
    double mean, deviation, interval; /* half the 95 % interval of the mean, by Student's t */
};

struct mf_conducted_mean mf_conducted_mean(size_t files, const struct mf_conducted *of, int axis);

/** One file for people; for programs (the caller frees). */
void mf_conducted_text(FILE *to, const struct mf_conducted *c);
struct mf_json *mf_conducted_json(const struct mf_conducted *c);

/** Several files. There is no mean over images and volumes. The list @p each is taken. */
int mf_conducted_alike(size_t files, const struct mf_conducted *of);
void mf_conducted_means_text(FILE *to, size_t files, const struct mf_conducted *of);
struct mf_json *mf_conducted_means_json(size_t files, const struct mf_conducted *of, struct mf_json *each);

#endif
