/* See kept_type.h. */
#include "src/model/kept_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/pattern.h"

enum { NAMED = 10 };

/* Arrays of all experts have one type. */
static int has_type(const struct mf_net *net, size_t v, enum mf_type type)
{
    const struct mf_value *value = &net->value[v];
    const int is_part = value->base >= 0 && net->value[value->base].weight != NULL;

    return !is_part && value->weight && value->role == MF_ROLE_PARAMETER && value->shape.type == type;
}

static int meets_one(const struct mf_net *net, enum mf_type type, const char *pattern)
{
    size_t v = 0;

    while (v < net->values && !(has_type(net, v, type) && mf_pattern_meets(pattern, net->value[v].name) >= 0)) ++v;
    return v < net->values;
}

/* Names of the arrays that may be kept: of the first layer, and of no layer. Heap. */
static char *known(const struct mf_language *m, const struct mf_net *net)
{
    static const char layers[] = "layers.", first[] = "layers.0.";
    char *text = NULL;
    size_t bytes;
    FILE *names = MF_MUST(open_memstream(&text, &bytes), "names");
    const char *between = "";

    for (size_t v = 0; v < net->values; ++v) {
        const struct mf_value *value = &net->value[v];

        if (!has_type(net, v, m->kept.type) && !has_type(net, v, MF_I8)) continue;
        if (strncmp(value->name, layers, strlen(layers)) == 0 && strncmp(value->name, first, strlen(first)) != 0)
            continue;
        fprintf(names, "%s%s", between, value->name);
        between = ", ";
    }
    MF_ASSERT(fclose(names) == 0);
    return text;
}

int mf_kept_type_check(const struct mf_language *m, const struct mf_net *net)
{
    for (size_t k = 0; m->kept.names && k < m->kept.names->count; ++k) {
        char *names;

        if (meets_one(net, m->kept.type, m->kept.names->at[k])) continue;
        names = known(m, net);
        (void)mf_fail(MF_USAGE, "--keep %.100s: no table of tokens and no product has this name; names are %.300s",
                      m->kept.names->at[k], names);
        free(names);
        return MF_USAGE;
    }
    return MF_OK;
}

void mf_kept_type_say(const struct mf_language *m, const struct mf_net *net)
{
    char *text = NULL;
    size_t bytes, n = 0;
    FILE *names;

    if (!m->kept.names) return;
    names = MF_MUST(open_memstream(&text, &bytes), "a line");
    for (size_t v = 0; v < net->values; ++v) {
        if (!has_type(net, v, m->kept.type)) continue;
        if (n < NAMED) fprintf(names, "%s%s", n ? ", " : ": ", net->value[v].name);
        ++n;
    }
    fprintf(names, "%s", n > NAMED ? ", ..." : "");
    MF_ASSERT(fclose(names) == 0);
    mf_info("%zu array%s in %s%s", n, n == 1 ? " of weights stays" : "s of weights stay", mf_type_name(m->kept.type),
            text);
    free(text);
}
