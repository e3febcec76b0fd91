/* Language models against transformers: all logits of a prompt, and greedy tokens. Other requests come and go
 * meanwhile. The models are tiny and have large random weights, so that every part shows.
 * usage: gen_engine FOLDER MODEL ... */
#include "src/gen/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/nccl_transport.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/gen/ranks.h"
#include "src/model/decoder.h"
#include "tests/device.h"
#include "tests/scratch.h"

enum { NEW = 20 };

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

struct expected {
    uint32_t *prompt;
    int64_t *greedy;
    float *logits;
    size_t tokens, made, vocabulary;
};

static void expected_read(const char *folder, struct expected *e)
{
    size_t n;
    int64_t *ids = read_npy(folder, "input_ids", sizeof *ids, &e->tokens);

    e->prompt = malloc(e->tokens * sizeof *e->prompt);
    for (size_t i = 0; i < e->tokens; ++i) e->prompt[i] = (uint32_t)ids[i];
    free(ids);
    e->greedy = read_npy(folder, "greedy", sizeof *e->greedy, &e->made);
    e->logits = read_npy(folder, "logits", sizeof *e->logits, &n);
    e->vocabulary = n / e->tokens;
    CHECK(e->made == NEW);
}

static void expected_free(struct expected *e)
{
    free(e->prompt);
    free(e->greedy);
    free(e->logits);
}

/* A request, and what it was told. */
struct heard {
    const struct expected *e;
    uint32_t token[NEW];
    double likelihood[NEW];
    size_t made, seen;
    int likely;
    double error, square; /* of logits */
};

static int told(void *context, uint32_t token, double log_probability)
{
    struct heard *h = context;

    CHECK((h->likely ? log_probability <= 0 : isnan(log_probability)) && h->made < NEW);
    h->likelihood[h->made] = log_probability;
    h->token[h->made++] = token;
    return 1;
}

static void seen(void *context, size_t position, const float *logits)
{
    struct heard *h = context;
    const float *want = h->e->logits + position * h->e->vocabulary;

    CHECK(position == h->seen++);
    for (size_t i = 0; i < h->e->vocabulary; ++i) {
        h->error = fmax(h->error, fabs((double)logits[i] - (double)want[i]));
        h->square += (double)want[i] * (double)want[i];
    }
}

static struct mf_request request_of(struct heard *h, size_t tokens, size_t most)
{
    return (struct mf_request){.token = h->e->prompt, .tokens = tokens, .most = most, .told = told, .context = h};
}

static void check_greedy(const char *what, const struct heard *h)
{
    size_t same = 0;

    while (same < h->made && h->token[same] == (uint32_t)h->e->greedy[same]) ++same;
    CHECK_SAYS(h->made == NEW && same == NEW, "%s: of %zu tokens %zu are right", what, h->made, same);
}

static int steps(struct mf_engine *engine, int until)
{
    int left;

    do left = mf_engine_step(engine);
    while (left > until);
    CHECK_SAYS(left >= 0, "%s", mf_err_text());
    return left;
}

static void alone(struct mf_engine *engine, const struct expected *e)
{
    struct heard h = {.e = e, .likely = 1};
    struct mf_request r = request_of(&h, e->tokens, NEW);

    r.seen = seen;
    r.likely = 1;
    CHECK(mf_engine_add(engine, &r) == 1);
    steps(engine, 0);
    check_greedy("alone", &h);
    CHECK_SAYS(h.seen == e->tokens && h.error < 1e-5 * sqrt(h.square / (double)(e->tokens * e->vocabulary)),
               "logits differ by %g, and their square is %g", h.error, h.square);
}

/* Tokens that came before are penalised, also those of the prompt. Other requests have other penalties meanwhile. */
static void penalised(struct mf_engine *engine, const char *folder, const struct expected *e)
{
    char *path = mf_format("%s/expected/penalised.npy", folder);
    struct expected other = *e;
    struct heard h[2] = {{.e = e}, {.e = &other}};
    struct mf_request r[2];
    size_t made;

    if (access(path, F_OK) == 0) {
        other.greedy = read_npy(folder, "penalised", sizeof *e->greedy, &made);
        for (int k = 0; k < 2; ++k) r[k] = request_of(&h[k], e->tokens, NEW);
        r[1].choice.repetition = 1.3;
        CHECK(made == NEW && mf_engine_add(engine, &r[0]) == 1 && mf_engine_add(engine, &r[1]) == 1);
        steps(engine, 0);
        check_greedy("beside a penalty", &h[0]);
        check_greedy("with a penalty", &h[1]);
        free(other.greedy);
    }
    free(path);
}

/* Shorter prompts come before and between, and leave early. A fourth has no place. Bits are those of a request alone.
 */
static void among_others(struct mf_engine *engine, const struct expected *e)
{
    struct heard h[4] = {{.e = e}, {.e = e, .likely = 1}, {.e = e}, {.e = e, .likely = 1}}, lone = h[1];
    const struct mf_request first = request_of(&h[0], 3, 5), third = request_of(&h[2], 1, NEW);
    struct mf_request second = request_of(&h[1], e->tokens, NEW), late = request_of(&h[3], e->tokens, NEW),
                      by_itself = request_of(&lone, e->tokens, NEW);

    second.likely = late.likely = by_itself.likely = 1;
    CHECK(mf_engine_add(engine, &by_itself) == 1);
    steps(engine, 0);
    CHECK(mf_engine_add(engine, &first) == 1 && mf_engine_add(engine, &second) == 1);
    for (int k = 0; k < 4; ++k) CHECK(mf_engine_step(engine) > 0);
    CHECK(mf_engine_add(engine, &third) == 1 && mf_engine_add(engine, &late) == 0);
    steps(engine, 2);
    CHECK(h[0].made == 5 && mf_engine_add(engine, &late) == 1);
    steps(engine, 0);
    check_greedy("among others", &h[1]);
    check_greedy("late", &h[3]);
    CHECK(memcmp(lone.likelihood, h[1].likelihood, sizeof lone.likelihood) == 0);
    CHECK(memcmp(lone.likelihood, h[3].likelihood, sizeof lone.likelihood) == 0);
}

static void refuses(struct mf_engine *engine, const struct expected *e)
{
    const uint32_t unknown = (uint32_t)e->vocabulary;
    struct heard h = {.e = e};
    struct mf_request r = request_of(&h, e->tokens, mf_engine_context(engine));

    CHECK(mf_engine_add(engine, &r) == -MF_USAGE && strstr(mf_err_text(), "do not fit a context of"));
    mf_err_clear();
    r = (struct mf_request){.token = &unknown, .tokens = 1, .most = 1};
    CHECK(mf_engine_add(engine, &r) == -MF_USAGE && strstr(mf_err_text(), "the model has no token"));
    mf_err_clear();
    r.tokens = 0;
    CHECK(mf_engine_add(engine, &r) == -MF_USAGE);
    mf_err_clear();
}

/* @p brief: of a request alone. */
static void check_cut(const struct mf_comm *comm, const char *path, const struct expected *e,
                      const struct mf_gen_grid *grid, int brief)
{
    const char *exchange = getenv("MF_TEST_EXCHANGE");
    struct mf_comm ranks = *comm;
    const struct mf_engine_wish wish = {.requests = 3,
                                        .logits = 1,
                                        .comm = &ranks,
                                        .tensor = grid->tensor,
                                        .stages = grid->stages,
                                        .map = grid->map,
                                        .zero = grid->zero,
                                        .streamed = grid->streamed};
    struct mf_engine *engine;
    struct device d;

    device_number = exchange ? comm->rank : 0;
    d = device_open(1, 1, 0);
    CHECK_SAYS(mf_transport_open(&ranks, d.q, exchange ? mf_exchange_of(exchange) : MF_EXCHANGE_HOST) == MF_OK, "%s",
               mf_err_text());
    CHECK_SAYS(mf_engine_open(path, &wish, d.q, &engine) == MF_OK, "%s", mf_err_text());
    if (engine) {
        alone(engine, e);
        if (!brief) among_others(engine, e);
        if (!brief) penalised(engine, path, e);
        if (!brief) refuses(engine, e);
    }
    mf_engine_close(engine);
    mf_transport_close(&ranks);
    device_close(&d);
}

static void check_map(const struct mf_comm *comm, const char *path, const struct expected *e, const char *map)
{
    const struct mf_gen_grid grid = {.tensor = 1, .stages = (size_t)comm->size, .map = map};

    check_cut(comm, path, e, &grid, 0);
}

/* Weights come from other ranks, or from host memory: of no layer, of one, of all, of tables as well. */
static void check_streams(const struct mf_comm *comm, const char *path, const struct expected *e,
                          const struct mf_language *model)
{
    const size_t ranks = (size_t)comm->size, tensor = ranks == 2 && mf_decoder_can_split(model, 2) == MF_OK ? 2 : 1;
    const struct mf_gen_grid zero = {.tensor = 1, .stages = 1, .zero = 3};
    const struct mf_backend *backend = device_backend();
    const int is_gpu = backend->devices != NULL; /* or the emulator, which is slow */

    mf_err_clear();
    if (ranks > 1) check_cut(comm, path, e, &zero, is_gpu);
    if (!backend->host_mem || ranks > 2 || (is_gpu && ranks > 1)) return;
    for (size_t n = 2; n <= (is_gpu ? 2 : model->layers + 2); ++n)
        check_cut(comm, path, e, &(struct mf_gen_grid){.tensor = tensor, .stages = ranks / tensor, .streamed = n},
                  is_gpu);
}

/* Ranks share the layers, are stages of a pipeline, or both. A map may give stages any parts. */
static void check_model(const struct mf_comm *comm, const char *folder, const char *name)
{
    char *path = mf_format("%s/%s", folder, name);
    const size_t ranks = (size_t)comm->size;
    struct mf_language model;
    struct expected e;

    CHECK_SAYS(mf_language_read(path, &model) == MF_OK, "%s", mf_err_text());
    expected_read(path, &e);
    for (size_t tensor = 1; tensor <= ranks; ++tensor) {
        if (ranks % tensor || ranks / tensor > model.layers) continue;
        if (mf_decoder_can_split(&model, tensor) == MF_OK)
            check_cut(comm, path, &e, &(struct mf_gen_grid){.tensor = tensor, .stages = ranks / tensor}, 0);
        else
            mf_err_clear();
    }
    if (ranks == 1)
        check_map(comm, path, &e, "layers.1=cpu,layers.0.out=cpu,*.in.weight=cpu,*.inner.weight=cpu,*=cuda:0");
    if (ranks == 2) check_map(comm, path, &e, "layers.1=cuda:1,layers.0.out=cuda:1,*=cuda:0");
    if (ranks == 4) check_map(comm, path, &e, "layers.0=cuda:2,head=cuda:0,layers.1=cuda:1,embeddings=cuda:3");
    check_streams(comm, path, &e, &model);
    expected_free(&e);
    free(path);
}

static void copy(const char *from, const char *to, const char *name, void (*change)(char *text))
{
    char *source = mf_format("%s/%s", from, name), *target = mf_format("%s/%s", to, name), *text = NULL;
    size_t n;
    FILE *file = fopen(target, "wb");

    CHECK(file && mf_text_load(source, 1 << 24, &text, &n) == MF_OK);
    if (change) change(text);
    CHECK(file && fwrite(text, 1, n, file) == n && fclose(file) == 0);
    free(text);
    free(source);
    free(target);
}

/* The last norm multiplies by finite numbers, and its results overflow. */
static void spoil(char *text)
{
    const size_t header = 8 + (size_t)(unsigned char)text[0] + 256 * (size_t)(unsigned char)text[1];
    const char *at = strstr(text + 8, "\"transformer.ln_f.weight\"");
    size_t from = 0, to = 0;

    CHECK(at && sscanf(strstr(at, "data_offsets"), "data_offsets\":[%zu,%zu]", &from, &to) == 2);
    for (size_t i = from; i < to; i += sizeof(float)) {
        const float large = i / sizeof(float) % 2 ? 3e38F : -3e38F;

        memcpy(text + header + i, &large, sizeof large);
    }
}

/* Outputs that are not finite are no text. A second turn is under way where ranks are stages. */
static void overflows(const struct mf_comm *comm, const char *folder)
{
    const uint32_t prompt[] = {5, 7};
    const struct expected e = {.vocabulary = 1};
    struct heard h = {.e = &e};
    const struct mf_request r = {.token = prompt, .tokens = 2, .most = 3, .told = told, .context = &h};
    struct device d = device_open(1, 1, 0);
    const struct mf_engine_wish wish = {.requests = 2, .context = 8, .comm = comm, .stages = (size_t)comm->size};
    char *path = mf_format("%s/gpt2", folder);
    struct mf_engine *engine = NULL;
    int left = 1;

    scratch_open(comm);
    if (comm->rank == 0) copy(path, scratch, "config.json", NULL);
    if (comm->rank == 0) copy(path, scratch, "model.safetensors", spoil);
    mf_comm_barrier(comm);
    CHECK_SAYS(mf_engine_open(scratch, &wish, d.q, &engine) == MF_OK, "%s", mf_err_text());
    CHECK(engine && mf_engine_add(engine, &r) == 1 && mf_engine_add(engine, &r) == 1);
    while (engine && left > 0) left = mf_engine_step(engine);
    CHECK(left == -MF_NUMERIC && h.made == 0);
    mf_err_clear();
    mf_engine_close(engine);
    device_close(&d);
    scratch_close(comm);
    free(path);
}

int main(int argc, char **argv)
{
    struct mf_comm comm;

    CHECK(mf_comm_open(&comm, &argc, &argv, "test") == MF_OK);
    if (argc > 1 && access(argv[1], F_OK) != 0) {
        mf_comm_close(&comm);
        return 77;
    }
    for (int k = 2; k < argc; ++k) check_model(&comm, argv[1], argv[k]);
    if (argc > 2 && comm.size < 3) overflows(&comm, argv[1]);
    mf_comm_close(&comm);
    return failures != 0;
}
