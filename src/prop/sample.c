/* See sample.h. */
#include "src/prop/sample.h"

#include <stdio.h>

#include "src/base/err.h"

struct mf_conduct_columns mf_conduct_columns(int ndim, size_t n, const double *k)
{
    struct mf_conduct_columns c = {.wanted = {ndim == 3, 1, 1}};

    c.opts = (struct mf_conduct_opts){.boundary = MF_CONDUCT_PLATES, .tolerance = 1e-4};
    for (size_t i = 0; i < n; ++i)
        if (k[i] > c.most) c.most = k[i];
    for (size_t i = 0; i < n; ++i) c.opts.k[i] = k[i] / c.most;
    return c;
}

size_t mf_conduct_columns_name(const struct mf_conduct_columns *c, mf_name *name)
{
    size_t n = 0;

    for (int a = 0; a < 3; ++a)
        if (c->wanted[a]) snprintf(name[n++], sizeof *name, "conductivity_%c", "zyx"[a]);
    return n;
}

char *mf_conduct_columns_said(const struct mf_conduct_columns *c, size_t n, const double *k)
{
    static const char *const boundary[] = {"plates", "periodic", "centres"};
    char *text = NULL;
    size_t bytes;
    FILE *to = MF_MUST(open_memstream(&text, &bytes), "settings");

    fprintf(to, "conductivity");
    for (size_t i = 0; i < n; ++i) fprintf(to, " %.9g", k[i]);
    fprintf(to, ", %s, sides %s, tolerance %g", boundary[c->opts.boundary],
            c->opts.sides_periodic ? "periodic" : "closed", c->opts.tolerance);
    MF_ASSERT(fclose(to) == 0);
    return text;
}

int mf_conduct_columns_of(const struct mf_conduct_columns *c, const struct mf_comm *self, struct mf_queue *queue,
                          struct mf_arena *arena, const struct mf_micro *micro, float *value)
{
    for (int a = 0; a < 3; ++a) {
        struct mf_conduct got;

        if (!c->wanted[a]) continue;
        MF_TRY(mf_conduct(self, queue, arena, micro, a, &c->opts, &got));
        *value++ = (float)(got.k * c->most);
    }
    return MF_OK;
}
