/* Vectors of texts against transformers: states of all tokens, and each pool. A text has the same bits alone, among
 * others and on two threads.
 * usage: gen_embed FOLDER MODEL ... */
#include "src/gen/embedder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "tests/device.h"

enum { TEXTS = 3, FEW = 14, MANY = 90 };

/* Numbers of a .npy file, of @p each bytes; heap. */
static void *read_npy(const char *folder, const char *name, size_t each, size_t *n)
{
    char *path = mf_format("%s/expected/%s.npy", folder, name), *text = NULL, *numbers;
    size_t bytes, header;

    CHECK_SAYS(mf_text_load(path, 1 << 24, &text, &bytes) == MF_OK, "%s", mf_err_text());
    if (!text) abort();
    header = 10 + (size_t)(unsigned char)text[8] + 256 * (size_t)(unsigned char)text[9];
    *n = (bytes - header) / each;
    numbers = malloc(bytes);
    memcpy(numbers, text + header, bytes - header);
    free(text);
    free(path);
    return numbers;
}

static uint32_t *read_numbers(const char *folder, const char *name, size_t *n)
{
    int64_t *wide = read_npy(folder, name, sizeof *wide, n);
    uint32_t *numbers = malloc((*n + 1) * sizeof *numbers);

    for (size_t i = 0; i < *n; ++i) numbers[i] = (uint32_t)wide[i];
    free(wide);
    return numbers;
}

/* Some texts, and the states that they should have. */
struct expected {
    const char *folder;
    uint32_t *ids, *mask, *pair, *types;
    float *states;
    size_t length, width, pairs, longest;
    struct mf_embed_text text[TEXTS + 1]; /* the last one is two texts */
    double error, square;
};

static void expected_read(const char *folder, struct expected *e)
{
    size_t n;

    *e = (struct expected){.folder = folder};
    e->ids = read_numbers(folder, "input_ids", &n);
    e->length = n / TEXTS;
    e->mask = read_numbers(folder, "attention_mask", &n);
    e->pair = read_numbers(folder, "pair_ids", &e->pairs);
    e->types = read_numbers(folder, "pair_types", &n);
    e->states = read_npy(folder, "last_hidden_state", sizeof *e->states, &n);
    e->width = n / TEXTS / e->length;
    for (size_t k = 0; k < TEXTS; ++k) {
        e->text[k].token = e->ids + k * e->length;
        for (size_t i = 0; i < e->length; ++i) e->text[k].tokens += e->mask[k * e->length + i];
    }
    e->longest = e->length > e->pairs ? e->length : e->pairs;
    e->text[TEXTS] = (struct mf_embed_text){e->pair, e->types, e->pairs, 0};
}

static void expected_free(struct expected *e)
{
    free(e->ids);
    free(e->mask);
    free(e->pair);
    free(e->types);
    free(e->states);
}

static void seen(void *context, const struct mf_embed_text *of, const float *states)
{
    struct expected *e = context;
    const size_t text = (size_t)(of - e->text);

    for (size_t i = 0; text < TEXTS && i < e->text[text].tokens * e->width; ++i) {
        const double want = (double)e->states[text * e->length * e->width + i];

        e->error = fmax(e->error, fabs((double)states[i] - want));
        e->square += want * want;
    }
}

/* A run takes the bytes that were told. */
static void check_run(const struct device *d, struct mf_embedder *embedder, size_t texts,
                      const struct mf_embed_text *text, double *vector)
{
    const size_t before = mf_arena_live(d->q->host);
    size_t device, host;

    mf_embedder_bytes(embedder, &device, &host);
    CHECK_SAYS(mf_embedder_load(embedder) == MF_OK, "%s", mf_err_text());
    CHECK_SAYS(mf_embedder_run(embedder, texts, text, vector) == MF_OK, "%s", mf_err_text());
    CHECK(mf_arena_live(d->q->host) - before == host + (d->arena == d->q->host ? device : 0));
}

/* Vectors of texts; heap. */
static double *embed(const struct expected *e, size_t texts, const struct mf_embed_text *text,
                     const struct mf_embed_wish *wish, size_t threads)
{
    struct device d = device_open((int)threads, 1, 0);
    double *vector = calloc(texts * e->width, sizeof *vector);
    struct mf_embedder *embedder = NULL;

    CHECK_SAYS(mf_embedder_open(e->folder, texts, text, wish, d.q, &embedder) == MF_OK, "%s", mf_err_text());
    if (!embedder) abort();
    CHECK(mf_embedder_says(embedder)->width == e->width);
    check_run(&d, embedder, texts, text, vector);
    mf_embedder_close(embedder);
    device_close(&d);
    return vector;
}

static void check_pool(const struct expected *e, const char *name, const struct mf_embed_text *from, enum mf_pool pool,
                       int normalise)
{
    const struct mf_embed_wish wish = {.pool = pool};
    struct mf_embed_text text[TEXTS + 1];
    double *got, error = 0, square = 0;
    size_t n;
    float *want = read_npy(e->folder, name, sizeof *want, &n);

    for (size_t k = 0; k < n / e->width; ++k) {
        text[k] = from[k];
        text[k].normalise = normalise;
    }
    got = embed(e, n / e->width, text, &wish, 1);

    for (size_t i = 0; i < n; ++i) {
        error = fmax(error, fabs(got[i] - (double)want[i]));
        square += (double)want[i] * (double)want[i];
    }
    CHECK_SAYS(n % e->width == 0 && error < 1e-5 * sqrt(square / (double)n), "%s: %s differs by %g", e->folder, name,
               error);
    free(want);
    free(got);
}

/* An embedder for any texts, to which they come in two parts. */
static double *embed_any(const struct expected *e, size_t texts, const struct mf_embed_text *text,
                         const struct mf_embed_wish *wish)
{
    struct device d = device_open(1, 1, 0);
    double *vector = calloc(texts * e->width, sizeof *vector);
    struct mf_embedder *embedder = NULL;
    const size_t some = texts / 3;

    CHECK_SAYS(mf_embedder_open_any(e->folder, e->longest, wish, d.q, &embedder) == MF_OK, "%s", mf_err_text());
    if (!embedder) abort();
    check_run(&d, embedder, some, text, vector);
    CHECK(mf_embedder_run(embedder, texts - some, text + some, vector + some * e->width) == MF_OK);
    CHECK(mf_embedder_count(embedder, 8, 1000) == 64 && mf_embedder_count(embedder, 8, 63) == 32);
    mf_embedder_close(embedder);
    device_close(&d);
    return vector;
}

/* A rank writes the vectors of its texts, and leaves the others. */
static void share(const struct expected *e, size_t texts, const struct mf_embed_text *text,
                  const struct mf_embed_wish *wish, const double *all)
{
    const size_t row = e->width * sizeof *all;
    double *own = embed(e, texts, text, wish, 1), *zero = calloc(1, row);
    size_t done = 0;

    for (size_t k = 0; k < texts; ++k) {
        if (memcmp(own + k * e->width, zero, row) == 0) continue;
        CHECK_SAYS(memcmp(own + k * e->width, all + k * e->width, row) == 0, "text %zu of a rank has other bits", k);
        ++done;
    }
    CHECK(done == texts / wish->ranks + (wish->rank < texts % wish->ranks));
    free(own);
    free(zero);
}

/* Other texts are parts of these. */
static void same_bits(const struct expected *e)
{
    const struct mf_embed_wish wish = {.pool = MF_POOL_MEAN};
    const size_t texts = getenv("MF_TEST_DEVICE") ? FEW : MANY; /* an emulated device is slow */
    struct mf_embed_text many[MANY];
    struct mf_embed_wish shared = wish;
    double *all, *two, *alone;

    for (size_t k = 0; k < texts; ++k) {
        many[k] = e->text[k % (TEXTS + 1)];
        many[k].tokens -= k / 8 % many[k].tokens;
    }
    all = embed(e, texts, many, &wish, 1);
    two = embed(e, texts, many, &wish, 2);
    CHECK(memcmp(all, two, texts * e->width * sizeof *all) == 0);
    free(two);
    two = embed_any(e, texts, many, &wish);
    CHECK(memcmp(all, two, texts * e->width * sizeof *all) == 0);
    free(two);
    for (shared.ranks = 2; shared.rank < 2; ++shared.rank) share(e, texts, many, &shared, all);
    shared.ranks = texts + 1;
    shared.rank = texts; /* no text is left for it */
    share(e, texts, many, &shared, all);
    for (size_t k = 0; k < texts; k += 13) {
        alone = embed(e, 1, &many[k], &wish, 1);
        CHECK_SAYS(memcmp(all + k * e->width, alone, e->width * sizeof *all) == 0, "text %zu has other bits", k);
        free(alone);
    }
    free(all);
}

static void refused(const struct expected *e, struct mf_embed_text text, const char *why)
{
    struct device d = device_open(1, 1, 0);
    const struct mf_embed_wish wish = {.pool = MF_POOL_MEAN};
    struct mf_embedder *embedder;

    CHECK_SAYS(mf_embedder_open(e->folder, 1, &text, &wish, d.q, &embedder) == MF_USAGE && strstr(mf_err_text(), why),
               "%s", mf_err_text());
    mf_err_clear();
    device_close(&d);
}

static void check_model(const char *folder)
{
    struct expected e;
    const struct mf_embed_wish states = {.seen = seen, .context = &e};
    const uint32_t unknown[2] = {1U << 20, 0};

    expected_read(folder, &e);
    free(embed(&e, TEXTS, e.text, &states, 1));
    CHECK_SAYS(e.square > 0 && e.error < 1e-5 * sqrt(e.square / (double)(TEXTS * e.length * e.width)),
               "%s: states differ by %g", folder, e.error);
    check_pool(&e, "embedding_mean", e.text, MF_POOL_MEAN, 0);
    check_pool(&e, "embedding_mean_l2", e.text, MF_POOL_MEAN, 1);
    check_pool(&e, "embedding_cls_l2", e.text, MF_POOL_FIRST, 1);
    check_pool(&e, "pooler_output", e.text, MF_POOL_POOLER, 0);
    check_pool(&e, "pair_pooler_output", e.text + TEXTS, MF_POOL_POOLER, 0);
    same_bits(&e);
    refused(&e, (struct mf_embed_text){unknown, NULL, 1, 0}, "the model has no token");
    refused(&e, (struct mf_embed_text){unknown + 1, unknown, 1, 0}, "the model has no type");
    refused(&e, (struct mf_embed_text){unknown, NULL, 0, 0}, "no token");
    refused(&e, (struct mf_embed_text){unknown, NULL, 1U << 20, 0}, "positions");
    expected_free(&e);
}

int main(int argc, char **argv)
{
    if (argc > 1 && access(argv[1], F_OK) != 0) return 77;
    for (int k = 2; k < argc; ++k) {
        char *folder = mf_format("%s/%s", argv[1], argv[k]);

        check_model(folder);
        free(folder);
    }
    return failures != 0;
}
