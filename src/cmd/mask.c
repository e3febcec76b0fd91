/* See mask.h. */
#include "src/cmd/mask.h"

#include "io/hash.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/cmd/reside.h"
#include "src/desc/masked.h"

int mf_mask_check(size_t count, const char *const *names, long lag)
{
    if (lag < 2) return mf_fail(MF_USAGE, "--mask needs --limit_to 2 or more: neighbours are a lag of 1 apart");
    return mf_mask_known(count, names);
}

/* Volume fractions of what counts: all phases but the last, which is the mask. */
static void say_fractions(const struct mf_comm *comm, const struct mf_micro *micro)
{
    int64_t count[MF_PHASES_MAX] = {0}, all = 0;

    for (size_t i = 0; i < mf_slab_voxels(&micro->slab); ++i) ++count[micro->phase[i]];
    mf_comm_sum_int(comm, MF_PHASES_MAX, count);
    for (int p = 0; p < micro->phases - 1; ++p) all += count[p];
    for (int p = 0; p < micro->phases - 1; ++p)
        mf_info("label %ld: volume fraction %.6f of what counts", micro->label[p], (double)count[p] / (double)all);
}

static int both(struct mf_session *s, const char *residency, struct mf_micro *micro, struct mf_micro *mask,
                const struct mf_characterize_opts *opts, struct mf_target *out)
{
    const struct mf_characterize_opts each = mf_mask_opts(opts);
    struct mf_target all = {0}, counted = {0};
    int rc;

    if (opts->symmetry && micro->ndim == 3)
        return mf_fail(MF_USAGE, "--mask: --symmetry of a volume turns it as a whole; leave one of them out");
    MF_TRY(mf_mask_apply(s->comm, micro, mask));
    say_fractions(s->comm, micro);
    rc = mf_reside_characterize(s, residency, micro, &each, &all);
    if (rc == MF_OK) rc = mf_reside_characterize(s, residency, mask, &each, &counted);
    if (rc == MF_OK) rc = mf_agree(s->comm, mf_mask_divide(&all, &counted, opts, out));
    if (rc == MF_OK) mf_hash_join(2, (const char *[]){all.hash, counted.hash}, out->hash);
    mf_target_free(&all);
    mf_target_free(&counted);
    return rc;
}

int mf_masked_characterize(struct mf_session *s, const char *residency, const char *mask_file, struct mf_micro *micro,
                           const struct mf_characterize_opts *opts, struct mf_target *out)
{
    const struct mf_micro_read read = {.mask = 1};
    struct mf_micro mask;
    int rc;

    MF_TRY(mf_micro_read(s->comm, s->arena, mask_file, &read, &mask));
    rc = both(s, residency, micro, &mask, opts, out);
    mf_micro_free(&mask);
    return rc;
}
