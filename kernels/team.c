/* See team.h. */
#include "kernels/team.h"

void mf_team_share(const struct mf_team *team, size_t n, size_t size, void *items)
{
    const size_t parts = (size_t)mf_team_parts(team);
    size_t offset[parts + 1];

    if (parts == 1) return;
    for (size_t k = 0; k < parts; ++k) offset[k] = mf_cut(n, parts, k).first * size;
    offset[parts] = n * size;
    team->share(team->context, items, offset);
}
