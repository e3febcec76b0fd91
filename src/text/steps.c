/* See steps.h. */
#include "src/text/steps.h"

#include <stdio.h>
#include <string.h>

#include "src/base/err.h"

static int unknown(const struct mf_part *part, const char *type, const struct mf_text_step_kind *kinds)
{
    char known[400] = "";
    size_t at = 0;

    for (size_t i = 0; kinds[i].name && at < sizeof known; ++i)
        at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", kinds[i].name);
    return mf_part_fail(part, "the type '%.60s' is not known; known are Sequence, %s", type, known);
}

static int read_step(const struct mf_part *part, const char *type, const struct mf_text_step_kind *kinds,
                     struct mf_text_steps *chain)
{
    const struct mf_text_step_kind *kind = kinds;
    struct mf_text_step *step;

    while (kind->name && strcmp(kind->name, type) != 0) ++kind;
    if (!kind->name) return unknown(part, type, kinds);
    MF_TRY(mf_part_keys(part, kind->keys));
    if (chain->count == MF_STEPS_MOST) return mf_part_fail(part, "there are more than %d steps", MF_STEPS_MOST);
    step = &chain->step[chain->count++];
    *step = (struct mf_text_step){.kind = kind};
    return kind->read ? kind->read(part, step) : MF_OK;
}

int mf_text_steps_read(const struct mf_part *part, const char *list, const struct mf_text_step_kind *kinds,
                       struct mf_text_steps *chain)
{
    const char *const keys[] = {"type", list, NULL};
    const struct mf_json *steps;
    const char *type;

    if (mf_json_kind(part->row) == MF_JSON_NULL) return MF_OK;
    MF_TRY(mf_part_type(part, &type));
    if (strcmp(type, "Sequence") != 0) return read_step(part, type, kinds, chain);
    MF_TRY(mf_part_keys(part, keys));
    steps = mf_json_get(part->row, list);
    if (mf_json_kind(steps) != MF_JSON_ARRAY)
        return mf_part_fail(part, "'%s' must be an array, and is %s", list, mf_json_kind_name(steps));
    for (size_t i = 0; i < mf_json_count(steps); ++i) {
        const struct mf_part inner = {part->file, part->place, mf_json_item(steps, i)};

        if (mf_json_kind(inner.row) == MF_JSON_NULL) return mf_part_fail(part, "step %zu of the sequence is null", i);
        MF_TRY(mf_text_steps_read(&inner, list, kinds, chain));
    }
    return MF_OK;
}

int mf_text_steps_run(const struct mf_text_steps *chain, struct mf_pieces *pieces, struct mf_pieces *spare)
{
    for (size_t i = 0; i < chain->count; ++i) {
        const struct mf_text_step *step = &chain->step[i];
        struct mf_pieces made;

        mf_pieces_clear(spare);
        spare->begins = pieces->begins;
        MF_TRY(step->kind->apply(step, pieces, spare));
        if (spare->text.count > MF_TEXT_MOST)
            return mf_fail(MF_INPUT, "a step of the tokenizer makes a text longer than %d bytes", MF_TEXT_MOST);
        made = *spare;
        *spare = *pieces;
        *pieces = made;
    }
    return MF_OK;
}

void mf_text_steps_free(struct mf_text_steps *chain)
{
    for (size_t i = 0; i < chain->count; ++i) {
        mf_pattern_free(chain->step[i].pattern);
        mf_bytes_free(&chain->step[i].text);
    }
    chain->count = 0;
}
