/* See guess.h. */
#include "src/place/guess.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"

/* The first word in the name decides. */
static const struct family {
    const char *word;
    double base, layer; /* [GB] */
} families[] = {{"gpt2", 0.5, 0.1},   {"bert", 0.4, 0.05},    {"t5", 0.8, 0.15},
                {"llama", 1.2, 0.25}, {"mistral", 1.2, 0.25}, {"", 0.5, 0.1}};

static const struct {
    const char *word;
    size_t layers;
} sizes[] = {{"small", 6}, {"base", 12}, {"large", 24}, {"xl", 36}, {"", 12}};

void mf_guess_find(const char *name, size_t layers, struct mf_guess *guess)
{
    char *lower = mf_format("%s", name);
    const struct family *f = families;
    size_t k = 0;

    for (char *c = lower; *c; ++c) *c = (char)tolower((unsigned char)*c);
    while (!strstr(lower, f->word)) ++f;
    while (!strstr(lower, sizes[k].word)) ++k;
    free(lower);
    guess->layers = layers ? layers : sizes[k].layers;
    guess->total = f->base + (double)guess->layers * f->layer;
    guess->embeddings = 0.3 * f->base;
    guess->layer = 0.8 * f->layer;
    guess->head = 0.2 * f->base;
}

void mf_guess_parts(const struct mf_guess *guess, struct mf_parts *parts)
{
    *parts = (struct mf_parts){.count = guess->layers + 2, .arrays = guess->layers + 2};
    parts->part = MF_MUST(calloc(parts->count, sizeof *parts->part), "parts");
    parts->array = MF_MUST(calloc(parts->count, sizeof *parts->array), "arrays");
    for (size_t p = 0; p < parts->count; ++p) {
        const double size = p == 0 ? guess->embeddings : p + 1 == parts->count ? guess->head : guess->layer;
        struct mf_part_array *a = &parts->array[p];

        parts->part[p].name = p == 0                  ? mf_format("embeddings")
                              : p + 1 == parts->count ? mf_format("head")
                                                      : mf_format("layer.%zu", p - 1);
        parts->part[p].weights = (size_t)(size * (double)((size_t)1 << 30));
        *a = (struct mf_part_array){.name = mf_format("%s", parts->part[p].name),
                                    .bytes = parts->part[p].weights,
                                    .parts = 1,
                                    .part = MF_MUST(malloc(sizeof *a->part), "parts")};
        a->part[0] = p;
    }
}
