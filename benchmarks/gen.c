/* Times a language model on a processor. benchmarks/peers/llama_cpp.c takes the same lines.
 * Usage: bench_gen FOLDER f32|bf16|f16|int8 REQUESTS CONTEXT [THREADS].
 * Weights are random where the folder has none. Each line on standard input prints a number.
 * - prompt TOKENS: milliseconds of a prompt and its first new token.
 * - steps REQUESTS STEPS TOKENS: milliseconds of a step behind prompts of so many tokens.
 * - read: GB/s at which the core reads an array.
 * - peak: the most MiB that the process has taken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "kernels/cpu/fast.h"
#include "src/base/err.h"
#include "src/gen/engine.h"
#include "src/model/language_files.h"

enum { FLOATS = 64 << 20, MOST = 4096 };

/* Time of the processor, which other programs on the machine disturb less. */
static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int told(void *context, uint32_t token, double log_probability)
{
    (void)token, (void)log_probability;
    ++*(size_t *)context;
    return 1;
}

static double run(struct mf_engine *engine, size_t requests, size_t steps, size_t tokens)
{
    static uint32_t prompt[MOST];
    size_t made = 0;
    double began = now(), first;

    for (size_t i = 0; i < MOST; ++i) prompt[i] = (uint32_t)(i * 7919 % mf_engine_says(engine)->vocabulary);
    for (size_t k = 0; k < requests; ++k)
        MF_ASSERT(mf_engine_add(engine, &(struct mf_request){.token = prompt + k,
                                                             .tokens = tokens,
                                                             .most = steps + 1,
                                                             .told = told,
                                                             .context = &made}) == 1);
    while (made < requests) MF_ASSERT(mf_engine_step(engine) >= 0);
    first = now();
    while (mf_engine_step(engine) > 0) continue;
    return 1e3 * (steps ? (now() - first) / (double)steps : first - began);
}

MF_CPU_FAST static float sum_of(size_t n, const float *x)
{
    float sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; ++i) sum += x[i];
    return sum;
}

static double read_rate(void)
{
    static float *array;
    volatile float sum;
    double began;

    if (!array) {
        array = MF_MUST(malloc(FLOATS * sizeof *array), "an array");
        for (size_t i = 0; i < FLOATS; ++i) array[i] = (float)i;
    }
    began = now();
    sum = sum_of(FLOATS, array);
    (void)sum;
    return 1e-9 * FLOATS * sizeof *array / (now() - began);
}

static void answer(struct mf_engine *engine, const char *line)
{
    size_t requests, steps, tokens;
    struct rusage used;

    if (sscanf(line, "prompt %zu", &tokens) == 1) {
        printf("%.4f\n", run(engine, 1, 0, tokens));
    } else if (sscanf(line, "steps %zu %zu %zu", &requests, &steps, &tokens) == 3) {
        printf("%.4f\n", run(engine, requests, steps, tokens));
    } else if (strncmp(line, "read", 4) == 0) {
        printf("%.3f\n", read_rate());
    } else {
        getrusage(RUSAGE_SELF, &used);
        printf("%.1f\n", (double)used.ru_maxrss / 1024);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct mf_arena *arena;
    struct mf_queue *queue;
    struct mf_engine *engine;
    struct mf_engine_wish wish = {.requests = 1};
    struct mf_language model;
    char line[100];
    int weights;

    if (argc < 5) {
        fprintf(stderr, "%s FOLDER f32|bf16|f16|int8 REQUESTS CONTEXT [THREADS]\n", argv[0]);
        return 2;
    }
    MF_ASSERT(mf_decoder_read(argv[1], &model, &weights) == MF_OK && mf_language_weigh(&model, argv[2], NULL) == MF_OK);
    wish.requests = (size_t)atol(argv[3]);
    wish.context = (size_t)atol(argv[4]);
    wish.random = !weights;
    wish.weights = model.weights;
    MF_ASSERT(mf_arena_open(&arena, NULL, 0) == MF_OK);
    MF_ASSERT(mf_backend_cpu.queue_open(&queue, 0, argc > 5 ? atoi(argv[5]) : 1, 0, arena, arena) == MF_OK);
    MF_ASSERT(mf_engine_open(argv[1], &wish, queue, &engine) == MF_OK);
    while (fgets(line, sizeof line, stdin)) answer(engine, line);
    mf_engine_close(engine);
    queue->backend->queue_close(queue);
    mf_arena_close(arena);
    return 0;
}
