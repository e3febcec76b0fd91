/* See generator.h. */
#include "src/model/generator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/arena.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/pulse.h"
#include "src/model/foreign.h"

enum { ROOM = 4 /* samples and mf_sample()'s room */ };

struct mf_generator {
    struct mf_model *model;
    struct mf_queue *queue;
    enum mf_type type;
    int guided;
    double guidance; /* of this pass */
    const struct mf_model_card *card;
    size_t pass, voxels, channels, levels, width, layers, masks;
    struct mf_unet_tap *layer; /* [layers + masks] */
    float *turned;             /* activations of a sample, of the largest of them */
    size_t looks;              /* of the network, in this pass */
    size_t mask_steps;         /* of this pass */
    float *level;              /* [levels] of a noise level */
    float *condition;          /* [width] */
    float *conditions;         /* guided: [pass][width] */
    float *plain;              /* guided: [pass][count] what is clean without a condition */
    float *seen;               /* [count] a sample as the network sees it */
    float *memory;             /* [ROOM][pass][count] */
    double mean[MF_CHANNELS_MAX], deviation[MF_CHANNELS_MAX];
};

static size_t count_of(const struct mf_generator *g) { return g->voxels * g->channels; }

static size_t activations(const struct mf_unet_tap *layer) { return layer->channels * layer->height * layer->width; }

static void find_sizes(struct mf_generator *g, const struct mf_model_card *c)
{
    const struct mf_arch_args args = mf_arch_settled(&c->args);

    g->card = c;
    g->voxels = c->dims[0] * c->dims[1] * c->dims[2];
    g->channels = c->dims[3];
    g->levels = mf_arch_noise_width(&args);
    g->width = mf_denoise_width(c->denoise);
    for (size_t k = 0; k < g->channels; ++k) {
        g->mean[k] = mf_model_card_channel(c, k).mean;
        g->deviation[k] = mf_model_card_channel(c, k).deviation;
    }
}

/* The places of all arrays in one, which begins at @p at (NULL: nowhere); how many numbers it has. */
static size_t lay(struct mf_generator *g, float *at)
{
    size_t most = 0, n = 0;

    for (size_t k = 0; k < g->layers + g->masks; ++k) most = mf_max(most, activations(&g->layer[k]));
    const struct {
        float **array;
        size_t count;
    } part[] = {{&g->level, g->levels},
                {&g->condition, g->width},
                {&g->seen, count_of(g)},
                {&g->memory, ROOM * g->pass * count_of(g)},
                {&g->turned, most},
                {&g->conditions, g->guided ? g->pass * g->width : 0},
                {&g->plain, g->guided ? g->pass * count_of(g) : 0}};

    for (size_t k = 0; k < sizeof part / sizeof *part; n += part[k++].count) *part[k].array = at ? at + n : NULL;
    return n;
}

static int take_memory(struct mf_generator *g)
{
    float *all = mf_arena_zeros(g->queue->host, lay(g, NULL), sizeof(float), "samples of a pass");

    if (!all) return MF_MEMORY;
    (void)lay(g, all);
    return MF_OK;
}

int mf_generator_card(const char *path, const char *word, struct mf_model_card *card)
{
    MF_TRY(mf_model_card_open_as(path, word, card));
    if (card->denoise) return MF_OK;
    return mf_fail(MF_INPUT, "the model of '%s' makes no samples: it is of --arch %s; mesoforge train unet makes one",
                   path, card->arch->name);
}

static void keep_layers(struct mf_generator *g, const struct mf_generator_form *form)
{
    g->pass = form->pass;
    g->type = form->type;
    g->guided = form->guided;
    g->layers = form->layers;
    g->masks = form->masks;
    g->layer = MF_MUST(calloc(g->layers + g->masks + 1, sizeof *g->layer), "layers");
    for (size_t k = 0; k < g->layers + g->masks; ++k)
        g->layer[k] = k < g->layers ? form->layer[k] : form->mask[k - g->layers];
}

/* The wish for its model; the caller frees the names: wish.layer. */
static struct mf_model_wish wish_of(const struct mf_generator *g, const char *word)
{
    const char **node = MF_MUST(calloc(g->layers + g->masks + 1, sizeof *node), "layers");

    for (size_t k = 0; k < g->layers + g->masks; ++k) node[k] = g->layer[k].node;
    return (struct mf_model_wish){.word = word,
                                  .batch = g->pass,
                                  .type = g->type,
                                  .layers = g->layers,
                                  .layer = node,
                                  .masks = g->masks,
                                  .mask = node + g->layers};
}

static int open_model(struct mf_generator *g, const char *path, const char *word)
{
    const struct mf_model_wish wish = wish_of(g, word);
    const int rc = mf_model_open_as(path, &wish, g->queue, &g->model);

    free((void *)(uintptr_t)wish.layer);
    return rc;
}

static int open(struct mf_generator *g, const char *path, const char *word)
{
    struct mf_model_card card;
    const int rc = mf_generator_card(path, word, &card);

    mf_model_card_close(&card);
    MF_TRY(rc);
    MF_TRY(open_model(g, path, word));
    find_sizes(g, mf_model_says(g->model));
    return take_memory(g);
}

int mf_generator_open(const char *path, const struct mf_generator_form *form, struct mf_queue *queue,
                      struct mf_generator **generator)
{
    struct mf_generator *g = MF_MUST(calloc(1, sizeof *g), "a generator");
    int rc;

    g->queue = queue;
    keep_layers(g, form);
    rc = open(g, path, form->word);
    *generator = rc == MF_OK ? g : NULL;
    if (rc != MF_OK) mf_generator_close(g);
    return rc;
}

void mf_generator_close(struct mf_generator *g)
{
    if (!g) return;
    mf_model_close(g->model);
    mf_arena_give(g->queue->host, g->level); /* all arrays */
    free(g->layer);
    free(g);
}

int mf_generator_foresee(const struct mf_model_card *card, const struct mf_generator_form *form, struct mf_queue *queue,
                         struct mf_model_needs *needs)
{
    struct mf_generator g = {.queue = queue};
    struct mf_model_wish wish;
    int rc;

    keep_layers(&g, form);
    find_sizes(&g, card);
    wish = wish_of(&g, form->word);
    rc = mf_model_foresee(card, &wish, queue, needs);
    needs->host += lay(&g, NULL) * sizeof(float);
    free((void *)(uintptr_t)wish.layer);
    free(g.layer);
    return rc;
}

/* -- conditions -- */

/* The condition of sample @p i: *label (-1: none) and value [columns]. Other facts come from the train split, by seed
 * and number. If a class is wanted, they are of a sample of it. */
static void condition_of(const struct mf_generator *g, const struct mf_generator_wish *wish, uint64_t i, int32_t *label,
                         float *value)
{
    const struct mf_denoise *d = g->card->denoise;
    int32_t wanted = wish->label;

    if (wanted < 0 && wish->per_class && d->classes) wanted = (int32_t)(i / wish->per_class % d->classes);
    *label = mf_denoise_draw(d, wish->sampling.seed, i, wanted, value);
    for (size_t c = 0; wish->value && c < d->columns; ++c)
        if (!isnan(wish->value[c])) value[c] = wish->value[c];
}

/* -- making -- */

/* A step takes two looks, and the last one takes one. */
static void place_masks(struct mf_generator *g)
{
    const size_t step = g->looks++ / 2;
    const int put = g->mask_steps == 0 || step < g->mask_steps;

    for (size_t r = 0; g->masks > 0 && r < g->pass; ++r) mf_model_put_masks(g->model, r, put);
}

/* c_skip x + c_out F(c_in x), once the noisy samples are fed. */
static int look(struct mf_generator *g, size_t n, const struct mf_noise_level *l, const float *x, float *clean)
{
    mf_model_walk(g->model, n);
    MF_TRY(mf_model_raw(g->model, n, clean));
    mf_denoise_estimate(l, n * count_of(g), x, clean);
    return MF_OK;
}

/* The look with conditions is the last one, of which layers are kept. */
static int guide(struct mf_generator *g, size_t n, const struct mf_noise_level *l, const float *x, float *clean)
{
    memset(g->condition, 0, g->width * sizeof *g->condition);
    for (size_t r = 0; r < n; ++r) mf_model_feed_named(g->model, MF_DENOISE_CONDITION, r, g->condition);
    MF_TRY(look(g, n, l, x, g->plain));
    for (size_t r = 0; r < n; ++r) mf_model_feed_named(g->model, MF_DENOISE_CONDITION, r, g->conditions + r * g->width);
    MF_TRY(look(g, n, l, x, clean));
    for (size_t i = 0; i < n * count_of(g); ++i) {
        clean[i] = (float)((double)g->plain[i] + g->guidance * ((double)clean[i] - (double)g->plain[i]));
        if (!isfinite(clean[i])) return mf_fail(MF_NUMERIC, "a guidance of %g makes numbers overflow", g->guidance);
    }
    return MF_OK;
}

static int remove_noise(void *context, size_t n, double sigma, const float *x, float *clean)
{
    struct mf_generator *g = context;
    const struct mf_noise_level l = mf_noise_level(sigma);
    const size_t count = count_of(g);

    MF_TRY(mf_pulse("noise levels"));
    mf_unet_noise(l.embedded, g->levels, g->level);
    for (size_t r = 0; r < n; ++r) {
        for (size_t i = 0; i < count; ++i) g->seen[i] = (float)(l.in * (double)x[r * count + i]);
        mf_model_feed_input(g->model, r, g->seen);
        mf_model_feed_named(g->model, MF_DENOISE_LEVEL, r, g->level);
    }
    place_masks(g);
    return g->guided ? guide(g, n, &l, x, clean) : look(g, n, &l, x, clean);
}

static void feed_conditions(struct mf_generator *g, const struct mf_generator_wish *wish, uint64_t first,
                            int32_t *label, float *value)
{
    const struct mf_denoise *d = g->card->denoise;

    for (size_t r = 0; r < g->pass; ++r, value += d->columns) {
        condition_of(g, wish, first + r, &label[r], value);
        if (g->width == 0) continue;
        mf_denoise_condition(d, label[r], value, g->condition);
        mf_model_feed_named(g->model, MF_DENOISE_CONDITION, r, g->condition);
        if (g->guided) memcpy(g->conditions + r * g->width, g->condition, g->width * sizeof *g->condition);
    }
}

int mf_generator_make(struct mf_generator *g, const struct mf_generator_wish *wish, uint64_t number, void *x,
                      int32_t *label, float *value)
{
    const struct mf_denoiser by = {g, count_of(g), remove_noise};
    const uint64_t first = number * g->pass;
    float *made = g->memory;

    g->looks = 0;
    g->mask_steps = wish->mask_steps;
    g->guidance = wish->guidance;
    feed_conditions(g, wish, first, label, value);
    MF_TRY(mf_sample(&by, &wish->sampling, first, g->pass, made, made + g->pass * count_of(g)));
    if (g->card->phases)
        for (size_t r = 0; r < g->pass; ++r)
            MF_TRY(mf_denoise_phases(g->card->phases, g->card->denoise->start > 0, g->voxels, made + r * count_of(g),
                                     (uint8_t *)x + r * g->voxels));
    else if (g->card->foreign)
        mf_foreign_bytes(g->pass * count_of(g), made, x);
    else if (mf_model_card_bytes(g->card))
        mf_denoise_bytes(g->pass * g->voxels, g->channels, g->mean, g->deviation, made, x);
    else
        mf_denoise_values(g->pass * g->voxels, g->channels, g->mean, g->deviation, made, x);
    return MF_OK;
}

/* A sample's [pixels][channels] become [channels][pixels]. */
static void turn(struct mf_generator *g, const struct mf_unet_tap *layer, float *x)
{
    const size_t pixels = layer->height * layer->width, channels = layer->channels;

    memcpy(g->turned, x, pixels * channels * sizeof *x);
    for (size_t c = 0; c < channels; ++c)
        for (size_t p = 0; p < pixels; ++p) x[c * pixels + p] = g->turned[p * channels + c];
}

/* And back. */
void mf_generator_mask(struct mf_generator *g, size_t k, size_t row, const float *values)
{
    const struct mf_unet_tap *layer = &g->layer[g->layers + k];
    const size_t pixels = layer->height * layer->width, channels = layer->channels;

    MF_ASSERT(k < g->masks);
    for (size_t p = 0; p < pixels; ++p)
        for (size_t c = 0; c < channels; ++c) g->turned[p * channels + c] = values[c * pixels + p];
    mf_model_feed_mask(g->model, k, row, g->turned);
}

void mf_generator_layer(struct mf_generator *g, size_t k, float *to)
{
    MF_ASSERT(k < g->layers);
    mf_model_layer(g->model, k, g->pass, to);
    for (size_t r = 0; r < g->pass; ++r) turn(g, &g->layer[k], to + r * activations(&g->layer[k]));
}
