/* See mask.h. */
#include "src/cmd/mask.h"

#include <stdio.h>
#include <string.h>

#include "io/hash.h"
#include "src/base/err.h"
#include "src/cmd/reside.h"
#include "src/desc/masked.h"

/* Of both files: of both checksums, each followed by a newline. */
static void hash(const struct mf_micro *micro, const struct mf_micro *mask, struct mf_target *out)
{
    char lines[2 * MF_HASH_TEXT + 1];

    mf_hash_bytes(lines, (size_t)snprintf(lines, sizeof lines, "%s\n%s\n", micro->hash, mask->hash), out->hash);
}

static int both(struct mf_session *s, const char *residency, struct mf_micro *micro, struct mf_micro *mask,
                const struct mf_characterize_opts *opts, struct mf_target *out)
{
    const struct mf_characterize_opts each = mf_mask_opts(opts);
    struct mf_target all = {0}, counted = {0};
    int rc;

    MF_TRY(mf_mask_apply(s->comm, micro, mask));
    rc = mf_reside_characterize(s, residency, micro, &each, &all);
    if (rc == MF_OK) rc = mf_reside_characterize(s, residency, mask, &each, &counted);
    if (rc == MF_OK) rc = mf_agree(s->comm, mf_mask_divide(&all, &counted, opts, out));
    if (rc == MF_OK) hash(micro, mask, out);
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
