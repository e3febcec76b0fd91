/* Options that nobody gives have the defaults of the values that they fill. */
#include <string.h>

#include "src/base/err.h"
#include "src/base/opt_impl.h"
#include "src/cmd/recon/characterize.h"
#include "src/cmd/recon/recon_opts.h"
#include "tests/check.h"

static union {
    struct mf_recon_cmd recon;
    struct mf_characterize_cmd characterize;
} options;

/* @p standard: the values of @p size bytes that stand at @p from in the options of the verb. */
static void check(const struct mf_cmd *verb, size_t from, const void *standard, size_t size)
{
    struct mf_options *parsed = NULL;
    size_t rows = 0;

    CHECK(mf_options_parse(&parsed, verb->name, verb->tables, NULL, &options, verb->size, 0, NULL, 0) == MF_OK);
    for (const struct mf_opt *const *table = verb->tables; *table; ++table)
        for (const struct mf_opt *row = *table; row->word; ++row) {
            if (row->alias_of || row->offset < from || row->offset >= from + size || row->kind == MF_TEXTS) continue;
            CHECK_SAYS(memcmp((const char *)&options + row->offset, (const char *)standard + row->offset - from,
                              mf_kind_size(row->kind)) == 0,
                       "%s --%s", verb->name, row->word);
            ++rows;
        }
    CHECK(rows > 20);
    mf_options_free(parsed);
}

int main(void)
{
    const struct mf_match match = mf_match_defaults();
    const struct mf_characterization values = mf_characterization_defaults();

    check(&mf_cmd_match, offsetof(struct mf_recon_cmd, match), &match, sizeof match);
    check(&mf_cmd_reconstruct, offsetof(struct mf_recon_cmd, match), &match, sizeof match);
    check(&mf_cmd_characterize, offsetof(struct mf_characterize_cmd, values), &values, sizeof values);
    return failures != 0;
}
