/* See server.h: the kinds. Sources: the documents of each server about its image, its arguments and its port. */
#include <stdlib.h>
#include <string.h>

#include "slurm/render.h"
#include "slurm/server_kinds.h"
#include "src/base/text.h"

/* Apptainer has no network of its own: the server itself listens where others shall reach it. */
static int shares_network(const struct mf_server *s) { return s->box == MF_BOX_APPTAINER; }

static void say_address(struct mf_words *to, const struct mf_server *s, const char *host)
{
    if (!shares_network(s)) return;
    mf_words_say(to, "--%s=%s", host, s->host);
    mf_words_say(to, "--port=%ld", s->port);
}

static void say_trust(struct mf_words *to, const struct mf_server *s)
{
    if (s->trusts) mf_words_add(to, "--trust-remote-code");
}

/* -- text-generation-inference -- */

static void tgi_options(const struct mf_server *s, struct mf_words *to)
{
    char shards[24];

    snprintf(shards, sizeof shards, "%ld", s->gpus > 1 ? s->gpus : 1);
    mf_server_say_default(to, s, "NUM_SHARD", shards);
}

static void tgi_words(const struct mf_server *s, struct mf_words *to)
{
    mf_words_say(to, "--model-id=%s", s->model);
    if (s->gpus == 0) mf_words_add(to, "--disable-custom-kernels"); /* they are CUDA */
    say_trust(to, s);
    say_address(to, s, "hostname");
}

static const struct mf_server_kind tgi = {
    .name = "tgi",
    .image = "ghcr.io/huggingface/text-generation-inference:latest",
    .cores_image = "ghcr.io/huggingface/text-generation-inference:latest",
    .port = 80,
    .health = "/health",
    .check = "curl -fsS http://127.0.0.1:80/health",
    .makes = MF_MAKES_TEXT,
    .folders = 1,
    .names = 1,
    .trusts = 1,
    .tensors = 1,
    .options = tgi_options,
    .words = tgi_words,
};

/* -- text-embeddings-inference -- */

static void tei_words(const struct mf_server *s, struct mf_words *to)
{
    mf_words_say(to, "--model-id=%s", s->model);
    say_address(to, s, "hostname");
}

static const struct mf_server_kind tei = {
    .name = "tei",
    .cores_image = "ghcr.io/huggingface/text-embeddings-inference:cpu-1.9",
    .port = 80,
    .health = "/health",
    .check = "curl -fsS http://127.0.0.1:80/health",
    .makes = MF_MAKES_VECTORS,
    .gpus = 1,
    .folders = 1,
    .names = 1,
    .words = tei_words,
};

/* Each image of tei has the kernels of one capability. */
static const struct {
    int capability;
    const char *image;
} tei_images[] = {{75, "ghcr.io/huggingface/text-embeddings-inference:turing-1.9"},
                  {80, "ghcr.io/huggingface/text-embeddings-inference:1.9"},
                  {86, "ghcr.io/huggingface/text-embeddings-inference:86-1.9"},
                  {89, "ghcr.io/huggingface/text-embeddings-inference:89-1.9"},
                  {90, "ghcr.io/huggingface/text-embeddings-inference:hopper-1.9"},
                  {100, "ghcr.io/huggingface/text-embeddings-inference:100-1.9"},
                  {120, "ghcr.io/huggingface/text-embeddings-inference:120-1.9"}};

/* -- vLLM -- */

static void vllm_words(const struct mf_server *s, struct mf_words *to)
{
    mf_words_say(to, "--model=%s", s->model);
    mf_words_say(to, "--served-model-name=%s", s->called);
    if (s->gpus > 1) mf_words_say(to, "--%s-parallel-size=%ld", s->is_pipeline ? "pipeline" : "tensor", s->gpus);
    say_trust(to, s);
    say_address(to, s, "host");
}

static const struct mf_server_kind vllm = {
    .name = "vllm",
    .image = "docker.io/vllm/vllm-openai:latest",
    .cores_image = "docker.io/vllm/vllm-openai-cpu:latest-x86_64",
    .port = 8000,
    .health = "/health",
    .check = "curl -fsS http://127.0.0.1:8000/health",
    .makes = MF_MAKES_TEXT | MF_MAKES_VECTORS,
    .folders = 1,
    .names = 1,
    .trusts = 1,
    .tensors = 1,
    .pipeline = 1,
    .words = vllm_words,
};

/* -- ollama -- */

/* It divides a model among GPUs by layers, where one GPU is too small or SPREAD is set. */
static void ollama_options(const struct mf_server *s, struct mf_words *to)
{
    char address[64];

    snprintf(address, sizeof address, "%s:%ld", s->host, s->port);
    if (shares_network(s)) mf_server_say_default(to, s, "OLLAMA_HOST", address);
    if (s->is_pipeline) mf_server_say_default(to, s, "OLLAMA_SCHED_SPREAD", "1");
}

static const struct mf_server_kind ollama = {
    .name = "ollama",
    .image = "docker.io/ollama/ollama:latest",
    .cores_image = "docker.io/ollama/ollama:latest",
    .port = 11434,
    .health = "/",
    .check = "ollama list",
    .makes = MF_MAKES_TEXT | MF_MAKES_VECTORS,
    .names = 1,
    .pipeline = 1,
    .options = ollama_options,
};

/* -- this program -- */

/* A server has 30 s to end its requests. mpirun passes SIGUSR1 on. A SIGTERM would end the ranks at once. */
static void mesoforge_options(const struct mf_server *s, struct mf_words *to)
{
    if (shares_network(s)) return;
    mf_words_add(to, "--stop-timeout=40");
    if (s->gpus > 1) mf_words_add(to, "--stop-signal=SIGUSR1");
}

/* One rank for each GPU. */
static void say_ranks(const struct mf_server *s, struct mf_words *to)
{
    struct mf_job job = {.by = MF_BY_MPIRUN, .parts = 1, .user = shares_network(s) ? s->user : 1};

    job.part[0].nodes = 1;
    job.part[0].ranks = job.part[0].per_node = s->gpus;
    mf_job_words(&job, to);
}

static void mesoforge_words(const struct mf_server *s, struct mf_words *to)
{
    if (s->gpus > 1) say_ranks(s, to);
    mf_words_add(to, "mesoforge");
    mf_words_add(to, "serve");
    mf_words_add(to, s->model);
    if (s->gpus > 0) {
        mf_words_add(to, "--device");
        mf_words_add(to, "cuda");
    }
    if (s->gpus > 1) {
        mf_words_add(to, s->is_pipeline ? "--pp" : "--tp");
        mf_words_say(to, "%ld", s->gpus);
    }
    mf_words_add(to, "--host");
    mf_words_add(to, shares_network(s) ? s->host : "0.0.0.0"); /* docker publishes it on the host's address */
    mf_words_add(to, "--port");
    mf_words_say(to, "%ld", shares_network(s) ? s->port : s->kind->port);
}

static const struct mf_server_kind mesoforge = {
    .name = "mesoforge",
    .image = "mesoforge",
    .cores_image = "mesoforge",
    .sif = "mesoforge.sif",
    .make = "build -t mesoforge -f packaging/Dockerfile .",
    .port = 8080,
    .health = "/health",
    .check = "bash -c 'exec 3<>/dev/tcp/127.0.0.1/8080 && printf \"GET /health HTTP/1.0\\r\\n\\r\\n\" >&3 && "
             "grep -q \" 200 \" <&3'",
    .makes = MF_MAKES_TEXT | MF_MAKES_VECTORS,
    .folders = 1,
    .tensors = 1,
    .pipeline = 1,
    .options = mesoforge_options,
    .words = mesoforge_words,
};

const struct mf_server_kind *const mf_server_kinds[] = {&mesoforge, &tgi, &tei, &vllm, &ollama, NULL};

const char *mf_server_image(const struct mf_server_kind *kind, enum mf_box box, int capability)
{
    if (box == MF_BOX_APPTAINER && kind->sif) return kind->sif;
    if (capability == 0) return kind->cores_image;
    if (kind->image) return kind->image;
    for (size_t i = 0; i < sizeof tei_images / sizeof *tei_images; ++i)
        if (tei_images[i].capability == capability) return tei_images[i].image;
    return NULL;
}
