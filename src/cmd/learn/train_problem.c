/* See train_opts.h: what a training must share with the checkpoint or the finished one that it goes on from. */
#include <stdio.h>

#include "src/base/err.h"
#include "src/cmd/learn/train_opts.h"

/* The first line that differs is named: what others follow from comes before them. */
char *mf_train_problem(const struct mf_dataset *set, const struct mf_train_opts *o)
{
    const struct mf_arch_args *a = &o->args;
    char *text = NULL;
    size_t size;
    FILE *to = MF_MUST(open_memstream(&text, &size), "a text");

    fprintf(to, "dataset: %s\n", set->hash);
    fprintf(to, "--arch: %s\n--width: %ld\n--depth: %ld\n--heads: %ld\n--patch: %ld\n--dropout: %.17g\n", o->arch->name,
            a->width, a->depth, a->heads, a->patch, a->dropout);
    if (a->blocks) fprintf(to, "--blocks: %ld\n", a->blocks);
    if (a->deep) fprintf(to, "--deep: %ld\n", a->deep);
    if (a->attention) fprintf(to, "--attention: %ld\n", a->attention);
    if (o->arch->ask)
        fprintf(to, "--image: %s\n--text-width: %ld\n--text-depth: %ld\n", mf_image_names[a->image], a->text_width,
                a->text_depth);
    if (o->task->learn->problem) o->task->learn->problem(o->task, to);
    fprintf(to, "--optimizer: %s\n", mf_ops[o->optimiser]->name);
    fprintf(to, "--momentum, --beta-1: %.17g\n--beta-2: %.17g\n--epsilon: %.17g\n", o->moments.momentum,
            o->moments.second, o->moments.epsilon);
    fprintf(to, "--schedule: %d\n--learning-rate: %.17g\n--weight-decay: %.17g\n--clip: %.17g\n--seed: %llu\n",
            (int)o->schedule.kind, o->schedule.rate, o->decay, o->clip, (unsigned long long)o->seed);
    fprintf(to, "--effective-batch: %zu\nsteps: %zu\n--warmup: %zu\n--slots: %zu\n", o->effective, o->schedule.steps,
            o->schedule.warmup, o->slots);
    if (a->experts)
        fprintf(to,
                "--experts: %ld\n--top-k: %ld\n--temperature: %.17g\n--router-noise: %.17g\n--capacity-factor: "
                "%.17g\n--balance: %.17g\n--features: %s\n",
                a->experts, a->top, a->temperature, a->noise, a->capacity, a->balance, mf_features_names[a->features]);
    if (o->type != MF_F32) fprintf(to, "--precision-type: %s\n", mf_type_name(o->type));
    if (o->schedule.rise > 0) fprintf(to, "--warmup-ratio: %.17g\n", o->schedule.rise);
    if (o->schedule.log) fprintf(to, "--warmup-shape: log\n");
    if (o->average > 0) fprintf(to, "--average: %.17g\n", o->average);
    if (o->freeze) fprintf(to, "--freeze: %s\n", o->freeze);
    if (o->rate_of) fprintf(to, "--rate-of: %s\n", o->rate_of);
    if (o->plain) fprintf(to, "--no-decay: on\n");
    MF_ASSERT(fclose(to) == 0);
    return text;
}
