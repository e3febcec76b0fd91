/* See text_opts.h. */
#include "src/cmd/learn/text_opts.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "src/base/err.h"
#include "src/cmd/infer_plan.h"
#include "src/cmd/unused.h"
#include "src/text/unicode.h"

#define ROW(word, field, kind, standard, help) MF_OPT(generation, word, field, kind, standard, help)

const struct mf_opt mf_generation_rows[] = {
    MF_PROMPT_ROWS(generation, from),
    ROW("max-new-tokens", most, MF_LONG, NULL, "new tokens of a prompt, at most; left out: 20"),
    ROW("max-length", length, MF_LONG, NULL, "tokens of a prompt and its new ones together, at most"),
    ROW("temperature", temperature, MF_REAL, "0",
        "0: the most probable token; above: drawn at random by --seed, the flatter the larger"),
    ROW("top-k", top_k, MF_LONG, "0", "with a temperature: draw from so many of the most probable tokens; 0: from all"),
    ROW("top-p", top_p, MF_REAL, "1",
        "with a temperature: draw from the most probable tokens that have this share together"),
    ROW("repetition-penalty", repetition, MF_REAL, "1",
        "logits of tokens that came before are divided by it, or multiplied where they are below 0; 1: they stay"),
    ROW("logits", logits, MF_TEXT, NULL, "write all logits of the prompt to this file: [token][vocabulary] (.npy)"),
    ROW("stop", stop, MF_TEXTS, NULL, "texts before which an answer ends"),
    ROW("ignore-eos", ignore_eos, MF_FLAG, NULL, "go on behind the token by which the model ends a text"),
    ROW("bare", bare, MF_FLAG, NULL, "put no special tokens around a text"),
    ROW("context", context, MF_LONG, NULL,
        "positions of a prompt and its new tokens, at most; left out: those of the model. Memory is taken for the "
        "longest of the texts that run together"),
    ROW("requests", requests, MF_LONG, "8", "prompts that are continued at the same time, at most"),
    ROW("tp", tensor, MF_LONG, NULL, "ranks that share every layer; left out: chosen"),
    ROW("pp", stages, MF_LONG, NULL, "stages of a pipeline, each with some of the layers; left out: chosen"),
    MF_MAP_ROW(generation),
    MF_STREAM_ROWS(generation),
    MF_DTYPE_ROWS(generation),
    MF_INFER_PLAN_ROW(generation),
    MF_OPT_END};
/* Left out it is 0. */
static int check_count(const struct mf_session *s, const char *word, long value)
{
    if (value >= 1 || !mf_given(s, word)) return MF_OK;
    return mf_fail(MF_USAGE, "--%s %ld: it must be at least 1", word, value);
}

static int check_stops(const struct mf_texts *stop)
{
    for (size_t k = 0; k < stop->count; ++k) {
        struct mf_bytes repaired = {0};
        size_t lost;

        (void)mf_utf8_repair(stop->at[k], strlen(stop->at[k]), 0, &repaired, &lost);
        mf_bytes_free(&repaired);
        if (!*stop->at[k] || lost)
            return mf_fail(MF_USAGE, "--stop: a text at which an answer ends %s", lost ? "is not UTF-8" : "is empty");
    }
    return MF_OK;
}

int mf_generation_check(const struct mf_session *s, const void *options)
{
    const struct generation *o = options;

    MF_TRY(check_count(s, "max-new-tokens", o->most));
    MF_TRY(check_count(s, "max-length", o->length));
    MF_TRY(check_count(s, "context", o->context));
    MF_TRY(check_stops(&o->stop));
    if (!(o->temperature >= 0) || !isfinite(o->temperature))
        return mf_fail(MF_USAGE, "--temperature %g: it must be 0 or more", o->temperature);
    if (!(o->top_p > 0 && o->top_p <= 1))
        return mf_fail(MF_USAGE, "--top-p %g: it must be above 0 and at most 1", o->top_p);
    if (!(o->repetition > 0) || !isfinite(o->repetition))
        return mf_fail(MF_USAGE, "--repetition-penalty %g: it must be above 0", o->repetition);
    if (o->top_k < 0 || o->top_k > INT32_MAX) return mf_fail(MF_USAGE, "--top-k %ld: it must be 0 or more", o->top_k);
    if (o->common.seed < 0) return mf_fail(MF_USAGE, "--seed %ld: it must be 0 to %ld", o->common.seed, LONG_MAX);
    if (o->logits && o->from.prompts)
        return mf_fail(MF_USAGE, "--logits are of one prompt; try: --prompt or --tokens instead of --prompts");
    if (o->requests < 1 || o->requests > MF_GEN_REQUESTS)
        return mf_fail(MF_USAGE, "--requests must be 1 to %d, not %ld", MF_GEN_REQUESTS, o->requests);
    if (o->temperature == 0) MF_UNUSED(s, "without --temperature the most probable token follows", "top-k", "top-p");
    MF_UNUSED(s, "text goes to standard output", "output", "data_folder", "information");
    MF_TRY(check_count(s, "tp", o->tensor));
    MF_TRY(check_count(s, "pp", o->stages));
    MF_TRY(mf_infer_check_streams(s, o->zero, o->offload, o->map));
    return mf_infer_check_ways(s, o->tensor, o->stages);
}
