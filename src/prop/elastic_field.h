/* Private to src/prop: the arrays of an elastic problem on the planes of one rank.
 * Displacements have a plane more on either side. Rule: pointers are those of the first own plane. */
#ifndef MF_PROP_ELASTIC_FIELD_H
#define MF_PROP_ELASTIC_FIELD_H

#include "kernels/elastic.h"
#include "kernels/fft.h"
#include "mpi/redistribute.h"
#include "src/prop/elastic.h"

struct mf_elastic_field {
    const struct mf_comm *comm;
    struct mf_queue *queue;
    struct mf_arena *arena;
    struct mf_elastic_grid grid;
    double voxels;       /* of the volume */
    double most[2];      /* the largest C11 and C44 */
    float ratio;         /* of the reference medium (mf_elastic_respond()) */
    size_t first, count; /* own planes */
    size_t plane;        /* floats */
    int below, above;    /* ranks with the planes beside them */
    uint8_t *codes;      /* [count + 2][ny][nx] */
    const uint8_t *code;
    float *u[6], *p;   /* [count + 2] planes: displacements of load cases, direction of the search */
    float *r, *z, *s;  /* [count]: residual, its response or A p; on several ranks: the next response */
    float *memory[10]; /* what they are parts of */
    float *work;       /* [threads][each] */
    size_t each;
    double *sums, *all; /* [planes][7] own, of all */
    struct mf_elastic_waves waves;
    float *tables;
    struct mf_fft *fft;
    struct mf_redistribution *turned; /* slices normal to y */
};

/** Takes all memory, and reads phases unless @p dry. *unit: the largest modulus, by which phases are divided. Call
 * mf_elastic_close() in any case. Collective; MF_MEMORY, agreed. */
int mf_elastic_open(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena,
                    const struct mf_micro *micro, const struct mf_elastic_opts *opts, int dry, double *unit,
                    struct mf_elastic_field *field);
void mf_elastic_close(struct mf_elastic_field *field);

/** Fills the planes beside x, and the columns beside its rows. Collective. */
void mf_elastic_border(const struct mf_elastic_field *field, float *x);

/** z = the response of the reference medium to r. Collective. */
void mf_elastic_precondition(const struct mf_elastic_field *field);

#endif
