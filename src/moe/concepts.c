/* See concepts.h. */
#include "src/moe/concepts.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"

static const char *const families[][2] = {{"spheres", "inclusions"}, {"hard-spheres", "inclusions"},
                                          {"fibres", "inclusions"},  {"cracks", "inclusions"},
                                          {"lamellae", "periodic"},  {"checkerboard", "periodic"}};

/* Family of a class; "": none. The caller frees. */
static char *family_of(const char *class)
{
    const char *end = strrchr(class, '/');

    if (end) return mf_format("%.*s", (int)(end - class), class);
    for (size_t k = 0; k < sizeof families / sizeof *families; ++k)
        if (strcmp(families[k][0], class) == 0) return mf_format("%s", families[k][1]);
    return mf_format("%s", "");
}

/* The names that are part of a family, @p to [classes]; of none: none. */
static size_t parts_of(const char *family, size_t classes, const char *const *name, const char **to)
{
    size_t n = 0;

    for (size_t c = 0; *family && c < classes; ++c) {
        char *own = family_of(name[c]);

        if (strcmp(own, family) == 0) to[n++] = name[c];
        free(own);
    }
    return n;
}

void mf_concepts_add(struct mf_graph *g, size_t classes, const char *const *name)
{
    const char **part = MF_MUST(malloc((classes + 1) * sizeof *part), "names of classes");

    for (size_t c = 0; c < classes; ++c) {
        char *family = family_of(name[c]);
        const size_t parts = parts_of(family, classes, name, part);

        for (size_t k = 0; parts > 1 && k < parts; ++k)
            mf_graph_concept(g, part[k], (long)mf_graph_concept(g, family, -1));
        mf_graph_concept(g, name[c], -1);
        free(family);
    }
    free(part);
}

static int has_parts(const struct mf_graph *g, size_t concept)
{
    for (size_t c = concept + 1; c < g->concepts; ++c)
        if (g->concept[c].parent == (long)concept) return 1;
    return 0;
}

static int has_samples(const struct mf_graph *g, size_t concept)
{
    for (size_t e = 0; e < g->experts; ++e)
        if (g->expert[e].samples[concept] > 0) return 1;
    return 0;
}

size_t mf_concepts_counted(const struct mf_graph *g, size_t *to)
{
    size_t n = 0;

    for (size_t c = 0; c < g->concepts; ++c)
        if (!has_parts(g, c) || has_samples(g, c)) to[n++] = c;
    return n;
}
