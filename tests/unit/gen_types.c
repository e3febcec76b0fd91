/* Language models with weights of 8 and 16 bits in memory, against runs in 32 bits over files with the same rounded
 * weights. This test rounds them by itself.
 * usage: gen_types FOLDER MODEL ... */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/safetensors.h"
#include "src/base/err.h"
#include "src/base/half.h"
#include "src/base/text.h"
#include "src/gen/engine.h"
#include "tests/device.h"
#include "tests/scratch.h"

enum { PROMPT = 19, NEW = 3, MANY = 1 << 16 };

/* A model says logits of its prompt, and probabilities of new tokens. */
struct said {
    float logits[MANY];
    double likelihood[NEW];
    size_t vocabulary, made;
};

static int told(void *context, uint32_t token, double log_probability)
{
    struct said *s = context;

    (void)token;
    s->likelihood[s->made++] = log_probability;
    return 1;
}

static void seen(void *context, size_t position, const float *logits)
{
    struct said *s = context;

    memcpy(s->logits + position * s->vocabulary, logits, s->vocabulary * sizeof *logits);
}

/* @p kept: names of weights that have bf16; NULL: none. */
static struct said *run(const char *folder, enum mf_type type, const struct mf_texts *kept, int threads)
{
    struct device d = device_open(1, 1, 0);
    const struct mf_engine_wish wish = {
        .requests = 3, .context = 32, .logits = 1, .weights = type, .kept = {MF_BF16, kept}};
    struct said *s = calloc(1, sizeof *s);
    struct mf_engine *engine = NULL;
    uint32_t prompt[PROMPT];

    d.q->threads = threads;
    CHECK_SAYS(mf_engine_open(folder, &wish, d.q, &engine) == MF_OK, "%s", mf_err_text());
    if (!engine) abort();
    s->vocabulary = mf_engine_says(engine)->vocabulary;
    CHECK(PROMPT * s->vocabulary <= MANY);
    for (size_t i = 0; i < PROMPT; ++i) prompt[i] = (uint32_t)(7 * i % s->vocabulary);
    CHECK(mf_engine_add(engine, &(struct mf_request){.token = prompt,
                                                     .tokens = PROMPT,
                                                     .most = NEW,
                                                     .likely = 1,
                                                     .told = told,
                                                     .seen = seen,
                                                     .context = s}) == 1);
    while (mf_engine_step(engine) > 0) continue;
    CHECK(s->made == NEW);
    mf_engine_close(engine);
    device_close(&d);
    return s;
}

/* The largest difference of logits, by the root of the mean square of @p b. */
static double distance(const struct said *a, const struct said *b)
{
    const size_t n = PROMPT * b->vocabulary;
    double most = 0, square = 0;

    for (size_t i = 0; i < n; ++i) {
        most = fmax(most, fabs((double)a->logits[i] - (double)b->logits[i]));
        square += (double)b->logits[i] * (double)b->logits[i] / (double)n;
    }
    return most / sqrt(square);
}

/* -- rounded files -- */

/* Tables of tokens and products. Arrays of experts may be joined. */
static int is_rounded(const struct mf_safetensors_entry *e)
{
    return e->ndim >= 2 && !strstr(e->name, "wpe") && !strstr(e->name, "positions") && !strstr(e->name, ".gate.");
}

/* Numbers first, first + step, ... of a row. */
static void round_row(float *x, size_t first, size_t step, size_t n, enum mf_type type)
{
    double most = 0;

    for (size_t i = 0; i < n; ++i) most = fmax(most, fabs((double)x[first + i * step]));
    for (size_t i = 0; i < n; ++i) {
        float *at = &x[first + i * step];

        if (type == MF_BF16) *at = mf_bf16_to(mf_bf16_of(*at));
        if (type == MF_F16) *at = mf_f16_to(mf_f16_of(*at));
        if (type == MF_I8 && most > 0) *at = (float)((double)rintf(*at / (float)most * 127) * most / 127);
    }
}

/* GPT-2 has [in][out]. */
static void round_array(const struct mf_safetensors_entry *e, float *x, enum mf_type type)
{
    const int turned = strstr(e->name, ".c_") != NULL;
    const size_t joined = e->ndim == 3 ? e->dims[0] : 1;
    const size_t rows = joined * e->dims[e->ndim - 2 + (size_t)turned], columns = e->dims[e->ndim - 1 - (size_t)turned];

    for (size_t r = 0; r < rows; ++r) round_row(x, turned ? r : r * columns, turned ? rows : 1, columns, type);
}

static void copy_rounded(const char *from, const char *to, enum mf_type type)
{
    char *target = mf_format("%s/model.safetensors", to), *config = mf_format("%s/config.json", from), *text = NULL,
         *copy = mf_format("%s/config.json", to);
    struct mf_safetensors *file;
    struct mf_safetensors_entry *made;
    const struct mf_safetensors_entry *e;
    size_t count, n;
    FILE *out = fopen(copy, "wb");

    CHECK(mf_text_load(config, 1 << 20, &text, &n) == MF_OK && out && fwrite(text, 1, n, out) == n && fclose(out) == 0);
    CHECK_SAYS(mf_safetensors_open(from, &file) == MF_OK, "%s", mf_err_text());
    e = mf_safetensors_list(file, &count);
    made = calloc(count, sizeof *made);
    for (size_t k = 0; k < count; ++k) {
        float *x;

        for (size_t i = n = 0; i < e[k].ndim; ++i) n = (i ? n : 1) * e[k].dims[i];
        x = malloc(n * sizeof *x);
        CHECK(mf_safetensors_read(file, e[k].name, e[k].ndim, e[k].dims, x) == MF_OK);
        if (is_rounded(&e[k])) round_array(&e[k], x, type);
        made[k] = e[k];
        made[k].type = MF_F32;
        made[k].data = x;
    }
    CHECK(mf_safetensors_write(target, NULL, count, made) == MF_OK);
    for (size_t k = 0; k < count; ++k) free((void *)made[k].data);
    free(made);
    mf_safetensors_close(file);
    free(text);
    free(target);
    free(config);
    free(copy);
}

/* -- checks -- */

static void check(const char *folder, const char *name, enum mf_type type)
{
    static const double near[MF_TYPES] = {[MF_BF16] = 1e-5, [MF_F16] = 1e-5, [MF_I8] = 1e-3};
    static const double far[MF_TYPES] = {[MF_BF16] = 0.1, [MF_F16] = 0.05, [MF_I8] = 0.2};
    char *path = mf_format("%s/%s", folder, name);
    struct said *exact, *own, *again, *rounded;
    struct mf_comm self;

    mf_comm_self(&self);
    scratch_open(&self);
    copy_rounded(path, scratch, type);
    exact = run(path, MF_F32, NULL, 1);
    own = run(path, type, NULL, 1);
    again = run(path, type, NULL, 2);
    rounded = run(scratch, MF_F32, NULL, 1);
    CHECK(memcmp(own, again, sizeof *own) == 0);
    CHECK_SAYS(distance(own, rounded) < near[type], "%s, %s: %g from rounded weights", name, mf_type_name(type),
               distance(own, rounded));
    CHECK_SAYS(distance(own, exact) < far[type], "%s, %s: %g from exact weights", name, mf_type_name(type),
               distance(own, exact));
    free(exact);
    free(own);
    free(again);
    free(rounded);
    scratch_close(&self);
    free(path);
}

/* Weights of 8 bits that all stay in 16 are weights of 16 bits. With some of them bits differ. */
static void check_kept(const char *folder, const char *name)
{
    static const char *all[] = {"*"}, *some[] = {"*.in.weight", "tokens"};
    const struct mf_texts every = {1, all}, few = {2, some};
    char *path = mf_format("%s/%s", folder, name);
    struct said *halves = run(path, MF_BF16, NULL, 1), *bytes = run(path, MF_I8, NULL, 1),
                *kept = run(path, MF_I8, &every, 1), *mixed = run(path, MF_I8, &few, 1);

    CHECK(memcmp(kept, halves, sizeof *kept) == 0);
    CHECK(distance(mixed, halves) > 1e-4 && distance(mixed, bytes) > 1e-4);
    CHECK_SAYS(distance(mixed, halves) < distance(bytes, halves), "%s: %g and %g", name, distance(mixed, halves),
               distance(bytes, halves));
    free(halves);
    free(bytes);
    free(kept);
    free(mixed);
    free(path);
}

int main(int argc, char **argv)
{
    static const enum mf_type types[] = {MF_BF16, MF_F16, MF_I8};

    if (argc > 1 && access(argv[1], F_OK) != 0) return 77;
    for (int k = 2; k < argc; ++k)
        for (int t = 0; t < 3; ++t) check(argv[1], argv[k], types[t]);
    if (argc > 2) check_kept(argv[1], argv[argc - 1]);
    return failures != 0;
}
