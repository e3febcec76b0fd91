/* See target_look.h. */
#include "io/target_look.h"

#include <math.h>

#include "src/base/err.h"

/* All but the phases; of other versions as many as ROOM. */
enum { LOOK = 11, ROOM = 64 };

static const double LARGEST = 1e18; /* of what no bound is known of */

int mf_target_look_sound(const struct mf_target *t)
{
    const struct mf_target_look *l = &t->look;
    const double seen[] = {l->example, l->pixels, l->rare, l->coherence, l->trough,
                           l->crest,   l->wave,   l->seam, l->cells,     l->sizes};

    for (size_t i = 0; l->phases && i < sizeof seen / sizeof *seen; ++i)
        if (!(fabs(seen[i]) <= LARGEST)) return 0;
    return !l->phases ||
           (l->phases == t->phases && l->edge >= 1 && l->edge <= MF_EXAMPLE_MAX && l->example >= 1 && l->pixels >= 1 &&
            l->wave >= 0 && l->wave <= 1 && l->cells >= 0 && l->cells <= 1 && l->sizes >= -1);
}

int mf_target_look_get(struct mf_h5 *file, struct mf_target *t)
{
    double seen[ROOM] = {0};
    size_t count;

    if (!mf_h5_has_attribute(file, "/", "look")) return MF_OK;
    MF_TRY(mf_h5_get_reals(file, "/", "look", ROOM, seen, &count));
    if (count != LOOK) {
        t->look.foreign = 1;
        return MF_OK;
    }
    t->look = (struct mf_target_look){.phases = t->phases,
                                      .edge = seen[0] >= 1 && seen[0] <= MF_EXAMPLE_MAX ? (size_t)seen[0] : 0,
                                      .example = seen[1],
                                      .pixels = seen[2],
                                      .rare = seen[3],
                                      .coherence = seen[4],
                                      .trough = seen[5],
                                      .crest = seen[6],
                                      .wave = seen[7],
                                      .seam = seen[8],
                                      .cells = seen[9],
                                      .sizes = seen[10]};
    return MF_OK;
}

int mf_target_look_put(struct mf_h5 *file, const struct mf_target_look *look)
{
    const double seen[LOOK] = {(double)look->edge, look->example, look->pixels, look->rare,
                               look->coherence,    look->trough,  look->crest,  look->wave,
                               look->seam,         look->cells,   look->sizes};

    return look->phases ? mf_h5_put_reals(file, "/", "look", LOOK, seen) : MF_OK;
}
