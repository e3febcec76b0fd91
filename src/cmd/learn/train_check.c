/* See train_opts.h: refusals of options before any file or device is used. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/cmd/learn/deepspeed.h"
#include "src/cmd/learn/train_opts.h"

static const double MOST_SCALE = 4294967296.0;

static int positive(const char *option, long value)
{
    return value >= 0 ? MF_OK : mf_fail(MF_USAGE, "--%s %ld: it cannot be negative", option, value);
}

static int at_least_one(const char *option, long value)
{
    return value >= 1 ? MF_OK : mf_fail(MF_USAGE, "--%s %ld: it must be at least 1", option, value);
}

enum { COUNTED_MOST = 1 << 20 };

/* An option that was given must be at least 1. Products of three such numbers are below 2^63. */
static int counted(const struct mf_session *s, const char *option, long value)
{
    if (!mf_given(s, option) || (value >= 1 && value <= COUNTED_MOST)) return MF_OK;
    return mf_fail(MF_USAGE, "--%s %ld: it must be from 1 to %d", option, value, COUNTED_MOST);
}

/* The same of a number that a configuration leaves to the plan; *value: 1 without it. */
static int wished(const struct mf_session *s, const char *option, long *value)
{
    const char *text = mf_options_wished(mf_options_of(s), option);

    *value = text ? strtol(text, NULL, 10) : 1;
    if (*value >= 1 && *value <= COUNTED_MOST) return MF_OK;
    return mf_fail(MF_USAGE, "--%s %s of the configuration: it must be from 1 to %d", option, text, COUNTED_MOST);
}

/* A step has their product. */
static int check_wishes(const struct mf_session *s)
{
    long batch, passes;

    MF_TRY(wished(s, "batch-size", &batch));
    MF_TRY(wished(s, "accumulation-steps", &passes));
    if (batch * passes * s->comm->size <= COUNTED_MOST) return MF_OK;
    return mf_fail(MF_USAGE, "the configuration has %ld x %ld samples of a rank in a step, and all ranks at most %d",
                   passes, batch, COUNTED_MOST);
}

static int below_one(const char *option, double value)
{
    if (value >= 0 && value < 1) return MF_OK;
    return mf_fail(MF_USAGE, "--%s %g: it must be from 0 to below 1", option, value);
}

static int check_share(const struct mf_session *s, const struct mf_train_cmd *o)
{
    if (mf_given(s, "warmup-ratio") && !(o->warmup_share > 0 && o->warmup_share <= 1))
        return mf_fail(MF_USAGE, "--warmup-ratio %g: it must be above 0 and at most 1", o->warmup_share);
    if (mf_options_origin(mf_options_of(s), "warmup") != MF_FROM_FLAG ||
        mf_options_origin(mf_options_of(s), "warmup-ratio") != MF_FROM_FLAG)
        return MF_OK;
    return mf_fail(MF_USAGE, "--warmup and --warmup-ratio say the same: leave one of them out");
}

/* Options of questions. */
static int check_questions(const struct mf_session *s, const struct mf_train_cmd *o)
{
    enum { FEWEST = 2, MOST = 512 }; /* a text has a token at each end */

    if (!mf_options_knows(mf_options_of(s), "max-tokens")) return MF_OK;
    if (o->max_tokens < FEWEST || o->max_tokens > MOST)
        return mf_fail(MF_USAGE, "--max-tokens %ld: it must be from %d to %d", o->max_tokens, FEWEST, MOST);
    if (o->findings_weight >= 0 && isfinite(o->findings_weight)) return MF_OK;
    return mf_fail(MF_USAGE, "--findings-weight %g: it cannot be negative", o->findings_weight);
}

static int check_numbers(const struct mf_session *s, const struct mf_train_cmd *o)
{
    MF_TRY(counted(s, "batch-size", o->batch));
    MF_TRY(counted(s, "effective-batch", o->effective));
    MF_TRY(counted(s, "accumulation-steps", o->accumulation));
    MF_TRY(check_wishes(s));
    MF_TRY(counted(s, "experts", o->experts));
    MF_TRY(counted(s, "top-k", o->top));
    MF_TRY(counted(s, "expert-ways", o->ways));
    MF_TRY(counted(s, "tp", o->tensor));
    MF_TRY(counted(s, "pp", o->stages));
    if (!(o->temperature > 0)) return mf_fail(MF_USAGE, "--temperature %g: it must be above 0", o->temperature);
    MF_TRY(counted(s, "epochs", o->epochs));
    MF_TRY(positive("max-steps", o->max_steps));
    MF_TRY(positive("max-samples", o->max_samples));
    MF_TRY(positive("warmup", o->warmup));
    MF_TRY(check_share(s, o));
    MF_TRY(positive("patience", o->patience));
    MF_TRY(positive("keep-last", o->keep_last));
    MF_TRY(positive("slots", o->slots));
    MF_TRY(at_least_one("loss-scale-window", o->scale_window));
    MF_TRY(at_least_one("loss-scale-hysteresis", o->scale_patience));
    MF_TRY(at_least_one("max-skips", o->max_skips));
    if (o->balance_stages < 0)
        return mf_fail(MF_USAGE, "--balance-stages %ld: it cannot be negative", o->balance_stages);
    if (o->compare < 0) return mf_fail(MF_USAGE, "--compare-replicas %ld: it cannot be negative", o->compare);
    if (!(o->loss_scale >= 1 && o->loss_scale <= MOST_SCALE && exp2(rint(log2(o->loss_scale))) == o->loss_scale))
        return mf_fail(MF_USAGE, "--loss-scale %g: it must be a power of two from 1 to 2^32", o->loss_scale);
    if (mf_given(s, "learning-rate") && !(o->rate > 0))
        return mf_fail(MF_USAGE, "--learning-rate %g: it must be above 0", o->rate);
    if (!(o->decay >= 0)) return mf_fail(MF_USAGE, "--weight-decay %g: it cannot be negative", o->decay);
    MF_TRY(below_one("momentum", o->momentum));
    MF_TRY(below_one("beta-1", o->beta_1));
    MF_TRY(below_one("beta-2", o->beta_2));
    MF_TRY(below_one("label-smoothing", o->smoothing));
    MF_TRY(check_questions(s, o));
    if (!(o->monitor_every >= 0))
        return mf_fail(MF_USAGE, "--monitor-interval %g: it cannot be negative", o->monitor_every);
    MF_TRY(below_one("average", o->average));
    if (!(o->epsilon > 0)) return mf_fail(MF_USAGE, "--epsilon %g: it must be above 0", o->epsilon);
    if (o->clip >= 0) return MF_OK;
    return mf_fail(MF_USAGE, "--clip %g: it cannot be negative", o->clip);
}

int mf_train_free_workers(const char *text) { return strcmp(text, "auto") == 0 || strcmp(text, "-1") == 0; }

static int check_workers(const char *text)
{
    char *end;
    const long workers = strtol(text, &end, 10);

    if (mf_train_free_workers(text) || (*text && !*end && workers >= 0 && workers <= 1024)) return MF_OK;
    return mf_fail(MF_USAGE, "--num-workers %s: it must be auto, or a number from 0 to 1024", text);
}

/* Does a configuration file say both? A file of Morph does, and its batch is of a step. */
static int are_filed(const struct mf_session *s)
{
    return mf_options_origin(mf_options_of(s), "batch-size") == MF_FROM_FILE &&
           mf_options_origin(mf_options_of(s), "auto-batch-size") == MF_FROM_FILE;
}

/* Checks the options about the planner, which may contradict each other. */
static int check_planning(const struct mf_session *s, const struct mf_train_cmd *o)
{
    if (!*o->plan) return mf_fail(MF_USAGE, "--plan must be auto, off or a file of mesoforge plan --output");
    if (o->deepspeed && o->zero == 1)
        return mf_fail(MF_USAGE, "--use_deepspeed shares by ZeRO: it and --%s contradict each other",
                       mf_options_origin(mf_options_of(s), "zero") == MF_FROM_FLAG
                           ? mf_options_said(mf_options_of(s), "zero")
                           : "zero 0");
    if (o->compile && o->compile_mode == MF_COMPILE_NONE)
        return mf_fail(MF_USAGE, "--compile and --compile-mode none contradict each other: leave one of them out");
    if (o->new_head && !o->model)
        return mf_fail(MF_USAGE, "--new-head: without --model FILE all layers are new; leave it out");
    if (o->auto_batch && mf_given(s, "batch-size") && !are_filed(s))
        return mf_fail(MF_USAGE, "--auto-batch-size chooses --batch-size: leave one of them out");
    if (o->auto_batch && strcmp(o->plan, "auto") != 0)
        return mf_fail(MF_USAGE, "--auto-batch-size plans: it and --plan %s contradict each other", o->plan);
    if (o->show_list && mf_common_of(s)->json)
        return mf_fail(MF_USAGE, "--show-list and --json both print: leave one of them out");
    return check_workers(o->workers);
}

int mf_train_check_values(const struct mf_session *s, const struct mf_train_cmd *o)
{
    MF_TRY(mf_deepspeed_explain(mf_options_of(s), o->config, check_numbers(s, o)));
    return mf_deepspeed_explain(mf_options_of(s), o->config, check_planning(s, o));
}

int mf_train_check(const struct mf_session *s, const struct mf_train_cmd *o)
{
    if (!o->data)
        return mf_fail(MF_USAGE,
                       "no dataset; try: --data FILE.h5, one of mesoforge synth --num-samples or data import");
    MF_TRY(mf_train_check_values(s, o));
    return mf_keep_check(s, &o->keep);
}
