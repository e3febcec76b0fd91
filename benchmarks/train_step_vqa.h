/* Questions for train_step.c: their inputs, heads and losses. */
#ifndef MF_BENCHMARKS_TRAIN_STEP_VQA_H
#define MF_BENCHMARKS_TRAIN_STEP_VQA_H

#include <string.h>

#include "src/base/err.h"
#include "src/train/learn.h"

enum { ASK_WORDS = 256, ASK_LENGTH = 16, ASK_OBJECTS = 8, ASK_HEADS = 5 };
enum { ASK_X, ASK_TOKENS, ASK_SEEN, ASK_WORD_SHARE, ASK_OBJECT, ASK_OBJECT_SHARE, ASK_REGION, ASK_LABELS };

static const size_t ask_outputs[ASK_HEADS] = {2, 14, 26, 4, 14};
static const char *const ask_names[ASK_HEADS] = {"yes_no", "kind", "place", "severity", "findings"};

static inline struct mf_learn_input ask_input(const char *name, enum mf_type type, size_t n, size_t a, size_t b)
{
    return (struct mf_learn_input){.name = name, .shape = {type, b ? 3 : 2, {n, a, b}}};
}

static inline size_t ask_inputs(const struct mf_task *task, const size_t d[4], size_t batch, const struct mf_arch *arch,
                                const struct mf_arch_args *args, struct mf_learn_input input[])
{
    size_t cells[2];

    (void)task;
    input[ASK_X] = mf_learn_samples(d, batch);
    input[ASK_TOKENS] = ask_input("tokens", MF_I32, batch, ASK_LENGTH, 0);
    input[ASK_SEEN] = ask_input("seen", MF_U8, batch, ASK_LENGTH, 0);
    input[ASK_WORD_SHARE] = ask_input("word_share", MF_F32, batch, 1, ASK_LENGTH);
    input[ASK_OBJECT] = ask_input("object", MF_F32, batch, ASK_OBJECTS, 6);
    input[ASK_OBJECT_SHARE] = ask_input("object_share", MF_F32, batch, 1, ASK_OBJECTS);
    input[ASK_REGION] = ask_input("region", MF_F32, batch, ASK_OBJECTS, mf_arch_cells(arch, args, d, cells));
    for (size_t h = 0; h < ASK_HEADS; ++h)
        input[ASK_LABELS + h] = h + 1 < ASK_HEADS ? mf_learn_labels(ask_names[h], batch, 1)
                                                  : mf_learn_reals(ask_names[h], batch, ask_outputs[h]);
    return ASK_LABELS + ASK_HEADS;
}

static inline void ask_forward(const struct mf_task *task, struct mf_build *build, const struct mf_arch *arch,
                               const struct mf_arch_args *args, const int input[], int train, int output[])
{
    const struct mf_arch_ask in = {.x = input[ASK_X],
                                   .tokens = input[ASK_TOKENS],
                                   .seen = input[ASK_SEEN],
                                   .word_share = input[ASK_WORD_SHARE],
                                   .object = input[ASK_OBJECT],
                                   .object_share = input[ASK_OBJECT_SHARE],
                                   .region = input[ASK_REGION],
                                   .each = 1,
                                   .words = ASK_WORDS,
                                   .length = ASK_LENGTH,
                                   .objects = ASK_OBJECTS,
                                   .heads = ASK_HEADS,
                                   .outputs = ask_outputs};

    (void)task, (void)train;
    arch->ask(build, &in, args, output);
}

static inline int ask_loss(const struct mf_task *task, const struct mf_learn_loss *of)
{
    const struct mf_attr attr = {.head = of->head};
    const int target = of->input[ASK_LABELS + of->head], in[] = {of->output, target};

    (void)task;
    if (of->head + 1 < ASK_HEADS) return mf_learn_softmax(of, ask_outputs[of->head], target, 0);
    return mf_build_node(of->build, MF_OP_LOGISTIC_LOSS, attr, of->name, 2, in);
}

static const struct mf_learn ask_learn = {
    .name = "vqa", .inputs = ask_inputs, .forward = ask_forward, .loss = ask_loss};
static const struct mf_task ask_task = {.learn = &ask_learn,
                                        .heads = ASK_HEADS,
                                        .head = {{.name = "yes_no", .outputs = 2, .weight = 1},
                                                 {.name = "kind", .outputs = 14, .weight = 1},
                                                 {.name = "place", .outputs = 26, .weight = 1},
                                                 {.name = "severity", .outputs = 4, .weight = 1},
                                                 {.name = "findings", .outputs = 14, .weight = 0.3}}};

/* Writes what random numbers cannot be. Each question has one head, all tokens and all objects. */
static inline void ask_fill(const char *name, const struct mf_shape *shape, void *to)
{
    const size_t n = mf_shape_count(shape), last = mf_shape_last(shape);
    size_t head = 0;

    while (head < ASK_HEADS && strcmp(name, ask_names[head]) != 0) ++head;
    for (size_t i = 0; i < n; ++i) {
        if (shape->type == MF_U8) ((uint8_t *)to)[i] = 1;
        if (head + 1 < ASK_HEADS)
            ((int32_t *)to)[i] = i % (ASK_HEADS - 1) == head ? (int32_t)(i % ask_outputs[head]) : -1;
        if (head + 1 == ASK_HEADS) ((float *)to)[i] = (float)(i % 2);
        if (strcmp(name, "region") == 0 || strstr(name, "_share")) ((float *)to)[i] = 1 / (float)last;
    }
}

#endif
