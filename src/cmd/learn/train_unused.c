/* See train_opts.h: reports options without effect in a training. */
#include <stdlib.h>

#include "src/base/log.h"
#include "src/cmd/learn/deepspeed.h"
#include "src/cmd/learn/train_opts.h"
#include "src/cmd/unused.h"

/* Its program reads event files; this one sends nothing. */
static void say_wandb(const struct mf_train_cmd *o)
{
    const char *key = getenv("WANDB_API_KEY");

    if (!key || !*key) return;
    if (o->no_events)
        mf_info("WANDB_API_KEY is set, but no event files are written (--no-events), and nothing is sent");
    else
        mf_info("WANDB_API_KEY is set: nothing is sent; the event files in %s are for its synchronisation with "
                "TensorBoard",
                o->results_dir);
}

void mf_train_unused(const struct mf_session *s, const struct mf_train_cmd *o, const struct mf_dataset *set)
{
    if (o->config && s->comm->rank == 0) mf_deepspeed_say(o->config);
    say_wandb(o);
    if (o->optimizer == MF_TRAIN_SGD)
        MF_UNUSED(s, "--optimizer sgd does not use it", "beta-1", "beta-2", "epsilon");
    else
        mf_unused(s, (const char *const[]){"momentum", NULL}, "--optimizer %s does not use it",
                  o->optimizer == MF_TRAIN_ADAM ? "adam" : "adamw");
    if (!(o->decay > 0)) MF_UNUSED(s, "there is no weight decay", "no-decay");
    if (!mf_train_is(o, "moe")) MF_UNUSED(s, "it is of --arch moe", "features");
    if (!mf_train_is(o, "vqa")) MF_UNUSED(s, "it is of --arch vqa", "image");
    if (!mf_train_is(o, "moe") && o->experts == 0)
        MF_UNUSED(s, "the network has no experts", "top-k", "temperature", "router-noise", "capacity-factor",
                  "balance");
    if (o->strategy != MF_BY_EXPERTS) MF_UNUSED(s, "it is of --parallel-strategy expert_parallel", "expert-ways");
    if (mf_train_asked_stages(o, (size_t)s->comm->size) <= 1) MF_UNUSED(s, "it is of --pp", "balance-stages");
    if (!o->monitor) MF_UNUSED(s, "it is of --monitor-gpu", "monitor-interval");
    if (o->precision != MF_TYPE_FP16 && o->precision != MF_TYPE_F16)
        MF_UNUSED(s, "it needs --precision-type fp16", "loss-scale", "loss-scale-window", "loss-scale-hysteresis");
    if (set->count[MF_VALIDATION] == 0) MF_UNUSED(s, "there is no validation split to score", "patience");
    if (!mf_common_of(s)->logfile_name) MF_UNUSED(s, "all files go to --results-dir", "data_folder");
}
