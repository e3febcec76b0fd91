/* See fit.h. */
#include "src/serve/fit.h"

#include <stdio.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/gen/embedder.h"

/* "prompt 2 " of several, for a sentence. */
static const char *name_of(const struct mf_ask *ask, size_t k, char name[40])
{
    name[0] = 0;
    if (ask->prompts > 1) snprintf(name, 40, " %zu", k + 1);
    return name;
}

static int cut(struct mf_tokenizer *tokenizer, const struct mf_ask *ask, struct mf_ask_prompt *p)
{
    if (p->is_tokens) return MF_OK;
    if (!tokenizer) return mf_fail(MF_USAGE, "the model has no tokenizer, so a prompt must be numbers of tokens");
    return mf_tokenizer_encode_parts(tokenizer, p->text.count ? p->text.at : "", p->text.count,
                                     ask->bare ? MF_ENCODE_BARE : 0u, p->users, p->user, &p->tokens);
}

static void keep_last(struct mf_tokens *t, size_t n)
{
    if (n == 0 || t->count <= n) return;
    memmove(t->at, t->at + t->count - n, n * sizeof *t->at);
    t->count = n;
}

/* The text of a vector loses what is behind the last token that fits. */
static void shorten(const struct mf_served *served, const struct mf_tokenizer *tokenizer, const struct mf_ask *ask,
                    struct mf_ask_prompt *p)
{
    if (ask->kind != MF_ASK_VECTOR || !ask->truncates || p->tokens.count <= served->input) return;
    mf_embed_cut(&p->tokens, served->input, p->is_tokens ? NULL : tokenizer);
}

static int check(const struct mf_served *served, const struct mf_ask *ask, size_t k)
{
    const struct mf_tokens *t = &ask->prompt[k].tokens;
    const size_t room = served->total > t->count ? served->total - t->count : 0;
    char name[40];

    name_of(ask, k, name);
    if (t->count == 0) return mf_fail(MF_USAGE, "prompt%s is empty", name);
    for (size_t i = 0; i < t->count; ++i)
        if (t->at[i] >= served->vocabulary)
            return mf_fail(MF_USAGE, "prompt%s has token %u, and the model has %zu tokens, from 0 on", name, t->at[i],
                           served->vocabulary);
    if (t->count > served->input)
        return mf_fail(MF_USAGE, "prompt%s has %zu tokens, and at most %zu are allowed", name, t->count, served->input);
    if (ask->kind == MF_ASK_TEXT && mf_max(ask->most, 1) > room)
        return mf_fail(MF_USAGE, "prompt%s has %zu token%s and asks for %zu more, and at most %zu are allowed together",
                       name, t->count, t->count == 1 ? "" : "s", mf_max(ask->most, 1), served->total);
    return MF_OK;
}

int mf_ask_fit(const struct mf_served *served, struct mf_tokenizer *tokenizer, struct mf_ask *ask)
{
    if (ask->kind == MF_ASK_ANSWER) return MF_OK; /* images have no tokens */
    for (size_t k = 0; k < ask->prompts; ++k) {
        MF_TRY(cut(tokenizer, ask, &ask->prompt[k]));
        keep_last(&ask->prompt[k].tokens, ask->last);
        shorten(served, tokenizer, ask, &ask->prompt[k]);
        MF_TRY(check(served, ask, k));
    }
    return MF_OK;
}
