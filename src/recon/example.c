/* See example.h. */
#include "src/recon/example.h"

#include "src/base/err.h"

/* Share of the pixels of a cell that have phase @p phase. */
static float share(const struct mf_target_side *side, size_t level, size_t u, size_t v, double phase)
{
    const size_t cell = (size_t)1 << level;
    size_t count = 0;

    for (size_t i = 0; i < cell; ++i)
        for (size_t j = 0; j < cell; ++j)
            count += side->example[(u * cell + i) * side->example_nv + v * cell + j] == phase;
    return (float)count / (float)(cell * cell);
}

int mf_example_fields(struct mf_arena *arena, const struct mf_target *target, const struct mf_target_side *side,
                      size_t phases, size_t level, float **x)
{
    const size_t nu = side->example_nu >> level, nv = side->example_nv >> level;

    if (!side->example)
        return mf_fail(MF_INPUT,
                       "the target '%s' has no image of what slices look like, which Patches compares with; "
                       "characterize it anew, from labels",
                       target->source);
    *x = mf_arena_take(arena, phases * nu * nv * sizeof **x, "example");
    if (!*x) return MF_MEMORY;
    for (size_t p = 0; p < phases; ++p) {
        const double phase = (double)mf_target_phase(target, phases, p);

        for (size_t i = 0; i < nu * nv; ++i) (*x)[p * nu * nv + i] = share(side, level, i / nv, i % nv, phase);
    }
    return MF_OK;
}
