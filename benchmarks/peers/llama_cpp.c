/* Times llama.cpp on one thread of a processor. Its lines are those of benchmarks/gen.c.
 * Usage: llama_cpp MODEL.gguf REQUESTS CONTEXT.
 * Build: cc -O2 -I LLAMA/include -I LLAMA/ggml/include llama_cpp.c -L LIBRARIES -lllama -lggml -lggml-base. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "llama.h"

static struct llama_context *context;
static struct llama_batch batch;
static int vocabulary;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void put(int token, int position, int request, int wanted)
{
    const int i = batch.n_tokens++;

    batch.token[i] = token;
    batch.pos[i] = position;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = request;
    batch.logits[i] = (signed char)wanted;
}

/* The most probable token of each answer. */
static void decode(int answers, int *next)
{
    if (llama_decode(context, batch) != 0) abort();
    for (int k = 0; k < answers; ++k) {
        const float *x = llama_get_logits_ith(context, answers == 1 ? batch.n_tokens - 1 : k);

        next[k] = 0;
        for (int i = 1; i < vocabulary; ++i)
            if (x[i] > x[next[k]]) next[k] = i;
    }
    batch.n_tokens = 0;
}

static double run(int requests, int steps, int tokens)
{
    int next[64];
    double began = now(), first;

    llama_memory_clear(llama_get_memory(context), true);
    for (int k = 0; k < requests; ++k) {
        for (int i = 0; i < tokens; ++i) put((int)((long)(i + k) * 7919 % vocabulary), i, k, i + 1 == tokens);
        decode(1, next + k);
    }
    first = now();
    for (int s = 0; s < steps; ++s) {
        for (int k = 0; k < requests; ++k) put(next[k], tokens + s, k, 1);
        decode(requests, next);
    }
    return 1e3 * (steps ? (now() - first) / steps : first - began);
}

static void quiet(enum ggml_log_level level, const char *text, void *data) { (void)level, (void)text, (void)data; }

int main(int argc, char **argv)
{
    struct llama_model_params wish = llama_model_default_params();
    struct llama_context_params size = llama_context_default_params();
    struct llama_model *model;
    struct rusage used;
    char line[100];

    if (argc < 4) return 2;
    llama_log_set(quiet, NULL);
    model = llama_model_load_from_file(argv[1], wish);
    size.n_seq_max = (unsigned)atoi(argv[2]);
    size.n_ctx = size.n_seq_max * (unsigned)atoi(argv[3]);
    size.n_threads = size.n_threads_batch = 1;
    context = model ? llama_init_from_model(model, size) : NULL;
    if (!context) return 3;
    vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
    batch = llama_batch_init(4096, 0, 1);
    while (fgets(line, sizeof line, stdin)) {
        int requests, steps, tokens;

        if (sscanf(line, "prompt %d", &tokens) == 1) {
            printf("%.4f\n", run(1, 0, tokens));
        } else if (sscanf(line, "steps %d %d %d", &requests, &steps, &tokens) == 3) {
            printf("%.4f\n", run(requests, steps, tokens));
        } else {
            getrusage(RUSAGE_SELF, &used);
            printf("%.1f\n", (double)used.ru_maxrss / 1024);
        }
        fflush(stdout);
    }
    llama_free(context);
    llama_model_free(model);
    return 0;
}
