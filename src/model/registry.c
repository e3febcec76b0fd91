/* See registry.h. */
#include "src/model/registry.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/model/archs.h"
#include "src/model/vqa.h"

const char *const mf_features_names[] = {"none", "cnn"};
const char *const mf_image_names[] = {"cnn", "convnext"};

enum { TOP = 2 };
static const double TEMPERATURE = 0.8;

const struct mf_arch *const mf_archs[] = {
    &mf_arch_mlp,           &mf_arch_cnn, &mf_arch_vit,      &mf_arch_moe, &mf_arch_unet,
    &mf_arch_unet_periodic, &mf_arch_adm, &mf_arch_convnext, &mf_arch_vqa, NULL};

const struct mf_arch *mf_arch_find(const char *word)
{
    const size_t length = strcspn(word, ":");

    for (size_t k = 0; mf_archs[k]; ++k)
        if (strlen(mf_archs[k]->name) == length && memcmp(mf_archs[k]->name, word, length) == 0) return mf_archs[k];
    return NULL;
}

static int complete(const struct mf_arch *arch, const char *option, long standard, long *size)
{
    if (*size < 0) return mf_fail(MF_USAGE, "--%s %ld: it must be at least 1", option, *size);
    if (*size > 0 && standard == 0)
        return mf_fail(MF_USAGE, "--%s: --arch %s has no %s%s", option, arch->name, option,
                       arch->ask ? " with this --image" : "");
    if (*size == 0) *size = standard;
    return MF_OK;
}

/* The mixture of experts. */
static int complete_mixture(const struct mf_arch *arch, struct mf_arch_args *args)
{
    const struct mf_arch_args *own = &arch->standard;

    if (args->experts > 0 && !arch->mixes) return mf_fail(MF_USAGE, "--experts: --arch %s has none", arch->name);
    if (args->experts == 0) args->experts = own->experts;
    if (args->experts == 0) return MF_OK;
    if (args->top == 0) args->top = args->experts < TOP ? args->experts : TOP;
    if (args->temperature == 0) args->temperature = TEMPERATURE;
    if (args->experts < 0 || args->experts > MF_EXPERTS)
        return mf_fail(MF_USAGE, "--experts %ld: it must be from 1 to %d", args->experts, MF_EXPERTS);
    if (args->top < 1 || args->top > args->experts)
        return mf_fail(MF_USAGE, "--top-k %ld: a row goes to 1 expert at least, and to %ld at most (--experts)",
                       args->top, args->experts);
    if (!(args->temperature > 0) || !isfinite(args->temperature))
        return mf_fail(MF_USAGE, "--temperature %g: it must be above 0", args->temperature);
    if (!(args->noise >= 0) || !isfinite(args->noise))
        return mf_fail(MF_USAGE, "--router-noise %g: it cannot be negative", args->noise);
    if (!(args->balance >= 0) || !isfinite(args->balance))
        return mf_fail(MF_USAGE, "--balance %g: it cannot be negative", args->balance);
    if (!(args->capacity >= 0) || !isfinite(args->capacity))
        return mf_fail(MF_USAGE, "--capacity-factor %g: it cannot be negative", args->capacity);
    return MF_OK;
}

/* A network that answers questions has the sizes of its image tower, too. */
static struct mf_arch_args standard_of(const struct mf_arch *arch, enum mf_image image)
{
    const struct mf_arch_args *tower = &mf_arch_convnext.standard;
    struct mf_arch_args own = arch->standard;

    if (arch->ask && image == MF_IMAGE_CONVNEXT) {
        own.patch = tower->patch;
        own.blocks = tower->blocks;
        own.deep = tower->deep;
    }
    return own;
}

int mf_arch_complete(const struct mf_arch *arch, struct mf_arch_args *args)
{
    const struct mf_arch_args standard = standard_of(arch, (enum mf_image)args->image), *own = &standard;

    MF_TRY(complete(arch, "width", own->width, &args->width));
    MF_TRY(complete(arch, "depth", own->depth, &args->depth));
    MF_TRY(complete(arch, "heads", own->heads, &args->heads));
    MF_TRY(complete(arch, "patch", own->patch, &args->patch));
    MF_TRY(complete(arch, "blocks", own->blocks, &args->blocks));
    MF_TRY(complete(arch, "deep", own->deep ? args->blocks : 0, &args->deep));
    MF_TRY(complete(arch, "attention", own->attention, &args->attention));
    MF_TRY(complete(arch, "text-width", own->text_width, &args->text_width));
    MF_TRY(complete(arch, "text-depth", own->text_depth, &args->text_depth));
    if (args->image && !arch->ask)
        return mf_fail(MF_USAGE, "--image: --arch %s reads images in its own way", arch->name);
    MF_TRY(complete_mixture(arch, args));
    if (args->dropout >= 0 && args->dropout < 1) return MF_OK;
    return mf_fail(MF_USAGE, "--dropout %g: it must be from 0 to below 1", args->dropout);
}

const char *mf_arch_work(const struct mf_arch *arch)
{
    if (arch->forward) return "predicts classes or properties";
    return arch->ask ? "answers questions" : "removes noise";
}

int mf_arch_answers(const struct mf_arch *arch)
{
    if (arch->forward) return MF_OK;
    return mf_fail(MF_USAGE, "--arch %s %s and predicts no classes or properties; try: --arch vit", arch->name,
                   mf_arch_work(arch));
}

int mf_arch_can_split(const struct mf_arch *arch, const struct mf_arch_args *args, size_t ranks)
{
    const size_t heads = (size_t)args->heads;
    size_t fits = mf_min(ranks, heads);

    if (ranks == 1) return MF_OK;
    if (!arch->splits)
        return mf_fail(MF_USAGE, "--tp %zu: --arch %s has no layers that ranks share; try: --arch vit, or --zero 3",
                       ranks, arch->name);
    if (args->experts > 0 && (size_t)args->experts < ranks)
        return mf_fail(MF_USAGE, "--tp %zu: every rank has whole experts, and there are %ld; try: --experts %zu", ranks,
                       args->experts, ranks);
    if (args->experts > 0 && args->capacity > 0)
        return mf_fail(MF_USAGE,
                       "--tp %zu: a rank counts the rows of its own experts alone, and --capacity-factor those of all; "
                       "leave one of them out",
                       ranks);
    if (arch->standard.heads == 0 || heads % ranks == 0) return MF_OK;
    while (heads % fits) --fits;
    return mf_fail(MF_USAGE, "--tp %zu does not divide --heads %zu; try: --tp %zu", ranks, heads, fits);
}

size_t mf_arch_cells(const struct mf_arch *arch, const struct mf_arch_args *args, const size_t dims[4], size_t cells[2])
{
    MF_ASSERT(arch->ask);
    for (int i = 0; i < 2; ++i) cells[i] = mf_image_towers[args->image].extent(dims[i + 1], args);
    return cells[0] * cells[1];
}

size_t mf_arch_noise_width(const struct mf_arch_args *args) { return (size_t)args->width; }

struct mf_mixture mf_arch_mixture(const struct mf_arch_args *args, struct mf_experts *first, size_t width, size_t depth,
                                  size_t columns)
{
    mf_experts_first(first, (size_t)args->experts);
    return (struct mf_mixture){.experts = args->list ? args->list : first,
                               .top = (size_t)args->top,
                               .temperature = args->temperature,
                               .noise = args->noise,
                               .capacity = args->capacity,
                               .balance = args->balance,
                               .width = width,
                               .depth = depth,
                               .columns = columns};
}

struct mf_arch_args mf_arch_settled(const struct mf_arch_args *args)
{
    struct mf_arch_args a = *args;

    a.dropout = a.noise = a.capacity = 0;
    return a;
}

/* -- words -- */

enum { SIZE, REAL, IMAGE, FEATURES };

/* Words of a size that is no number. */
static const struct choice {
    const char *const *word;
    int count;
} choices[] = {[IMAGE] = {mf_image_names, MF_IMAGES}, [FEATURES] = {mf_features_names, MF_FEATURES}};

/* Sizes in words and in cards. */
static const struct key {
    const char *name;
    int kind;
    size_t at;
} keys[] = {{"width", SIZE, offsetof(struct mf_arch_args, width)},
            {"depth", SIZE, offsetof(struct mf_arch_args, depth)},
            {"heads", SIZE, offsetof(struct mf_arch_args, heads)},
            {"patch", SIZE, offsetof(struct mf_arch_args, patch)},
            {"blocks", SIZE, offsetof(struct mf_arch_args, blocks)},
            {"deep", SIZE, offsetof(struct mf_arch_args, deep)},
            {"attention", SIZE, offsetof(struct mf_arch_args, attention)},
            {"text-width", SIZE, offsetof(struct mf_arch_args, text_width)},
            {"text-depth", SIZE, offsetof(struct mf_arch_args, text_depth)},
            {"image", IMAGE, offsetof(struct mf_arch_args, image)},
            {"dropout", REAL, offsetof(struct mf_arch_args, dropout)},
            {"experts", SIZE, offsetof(struct mf_arch_args, experts)},
            {"top-k", SIZE, offsetof(struct mf_arch_args, top)},
            {"temperature", REAL, offsetof(struct mf_arch_args, temperature)},
            {"router-noise", REAL, offsetof(struct mf_arch_args, noise)},
            {"capacity-factor", REAL, offsetof(struct mf_arch_args, capacity)},
            {"balance", REAL, offsetof(struct mf_arch_args, balance)},
            {"features", FEATURES, offsetof(struct mf_arch_args, features)}};

enum { KEYS = sizeof keys / sizeof *keys };

static const void *at(const struct mf_arch_args *args, const struct key *key) { return (const char *)args + key->at; }

/* The fewest digits that are the same number. */
static void put_real(double value, FILE *to)
{
    char text[32];

    snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value) snprintf(text, sizeof text, "%.17g", value);
    fputs(text, to);
}

char *mf_arch_word(const struct mf_arch *arch, const struct mf_arch_args *args)
{
    char *word = NULL, before = ':';
    size_t size;
    FILE *to = MF_MUST(open_memstream(&word, &size), "a word");

    fputs(arch->name, to);
    for (const struct key *key = keys; key < keys + KEYS; ++key) {
        const void *value = at(args, key);
        const long whole = key->kind == SIZE ? *(const long *)value : key->kind != REAL ? *(const int *)value : 0;
        const double real = key->kind == REAL ? *(const double *)value : 0;

        if ((whole == 0 && real == 0) || (key->at > offsetof(struct mf_arch_args, experts) && args->experts == 0))
            continue;
        fprintf(to, "%c%s=", before, key->name);
        before = ',';
        if (key->kind == SIZE) fprintf(to, "%ld", whole);
        if (key->kind == REAL) put_real(real, to);
        if (key->kind >= IMAGE) fputs(choices[key->kind].word[whole], to);
    }
    MF_ASSERT(fclose(to) == 0);
    return word;
}

/* Is it a size that other networks have, and this one has not? Mixtures and dropout are looked at elsewhere. */
static int lacks(const struct mf_arch *arch, const struct key *key)
{
    const struct mf_arch_args tower = standard_of(arch, MF_IMAGE_CONVNEXT);

    if (key->kind == IMAGE) return !arch->ask;
    return key->at < offsetof(struct mf_arch_args, dropout) && *(const long *)at(&tower, key) == 0;
}

static int set_word(const struct key *key, const char *word, const char *text, int *value)
{
    const struct choice *of = &choices[key->kind];
    char all[80] = "";

    for (int k = 0; k < of->count; ++k) {
        mf_enumerate(all, sizeof all, "%s", of->word[k]);
        if (strcmp(text, of->word[k]) != 0) continue;
        *value = k;
        return MF_OK;
    }
    return mf_fail(MF_USAGE, "--arch %.80s: %s must be one of %s", word, key->name, all);
}

/* A size of 0 would be the architecture's own. */
static int set(const struct mf_arch *arch, const char *word, const char *name, const char *text, unsigned *said,
               struct mf_arch_args *args)
{
    const struct key *key = keys;
    char *end = NULL;
    void *value;

    while (key < keys + KEYS && strcmp(key->name, name) != 0) ++key;
    if (key == keys + KEYS) return mf_fail(MF_USAGE, "--arch %.80s has '%.40s', which no network has", word, name);
    if (lacks(arch, key)) return mf_fail(MF_USAGE, "--arch %.80s: %s has no %s", word, arch->name, name);
    if (*said >> (key - keys) & 1) return mf_fail(MF_USAGE, "--arch %.80s says %s twice", word, name);
    *said |= 1u << (key - keys);
    value = (char *)args + key->at;
    errno = 0;
    if (key->kind == SIZE) *(long *)value = strtol(text, &end, 10);
    if (key->kind == REAL) *(double *)value = strtod(text, &end);
    if (end)
        return *text && !*end && errno == 0 && (key->kind != SIZE || *(long *)value != 0)
                   ? MF_OK
                   : mf_fail(MF_USAGE, "--arch %.80s: %s=%.40s must be a %snumber", word, name, text,
                             key->kind == SIZE ? "whole, positive " : "");
    return set_word(key, word, text, value);
}

static int refuse_name(const char *word, const char *name)
{
    char all[80] = "";

    for (size_t k = 0; mf_archs[k]; ++k) mf_enumerate(all, sizeof all, "%s", mf_archs[k]->name);
    return mf_fail(MF_USAGE, "--arch %.80s: there is no network '%.40s'; there are %s", word, name, all);
}

int mf_arch_read(const char *word, const struct mf_arch **arch, struct mf_arch_args *args,
                 int (*see)(void *context, const char *key, const char *value), void *context)
{
    char text[MF_ARCH_WORD], *next = text;
    char *name, *pair;
    unsigned said = 0; /* bit k: key number k */
    int rc = MF_OK;

    if (strlen(word) >= sizeof text) return mf_fail(MF_USAGE, "--arch %.80s..: it is too long", word);
    snprintf(text, sizeof text, "%s", word);
    name = strsep(&next, ":");
    *arch = mf_arch_find(name);
    if (!*arch) return refuse_name(word, name);
    while (rc == MF_OK && next && (pair = strsep(&next, ","))) {
        char *value = strchr(pair, '=');

        if (!value) return mf_fail(MF_USAGE, "--arch %.80s: '%.40s' is no size; try: %s:width=64", word, pair, name);
        *value++ = '\0';
        rc = set(*arch, word, pair, value, &said, args);
        if (rc == MF_OK && see) rc = see(context, pair, value);
    }
    return rc;
}
