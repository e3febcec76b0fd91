/* See frame.h. */
#include "src/text/frame.h"

#include <string.h>

#include "src/base/err.h"

enum { TYPES_MOST = 255 };

/* State of reading. */
struct reading {
    size_t numbers;
    struct mf_frames *frames;
    int puts; /* a post-processor that puts tokens was read */
};

static int add(const struct mf_part *part, struct mf_frame *f, enum mf_frame_kind kind, size_t token, size_t type)
{
    if (f->count == MF_FRAME_MOST) return mf_part_fail(part, "a frame has more than %d parts", MF_FRAME_MOST);
    f->part[f->count++] = (struct mf_frame_part){kind, (uint32_t)token, (uint32_t)type};
    return MF_OK;
}

/* ---- TemplateProcessing ---- */

/* The tokens that a name of the template stands for. */
static int add_special(const struct mf_part *part, const struct reading *r, const char *name, size_t type,
                       struct mf_frame *f)
{
    const struct mf_json *ids = mf_json_get(mf_json_get(mf_json_get(part->row, "special_tokens"), name), "ids");
    size_t token;

    if (mf_json_count(ids) == 0) return mf_part_fail(part, "'special_tokens' lacks the ids of '%.60s'", name);
    for (size_t i = 0; i < mf_json_count(ids); ++i) {
        MF_TRY(mf_part_whole(part, mf_json_item(ids, i), r->numbers - 1, &token));
        MF_TRY(add(part, f, MF_FRAME_TOKEN, token, type));
    }
    return MF_OK;
}

static int add_template(const struct mf_part *part, const struct reading *r, const struct mf_json *step,
                        struct mf_frame *f)
{
    static const char *const keys[] = {"Sequence", "SpecialToken", NULL}, *const inner_keys[] = {"id", "type_id", NULL};
    const struct mf_part outer = {part->file, part->place, step};
    const struct mf_json *text = mf_json_get(step, "Sequence"), *token = mf_json_get(step, "SpecialToken");
    const struct mf_part inner = {part->file, part->place, text ? text : token};
    const char *id;
    size_t type = 0;

    MF_TRY(mf_part_keys(&outer, keys));
    if (!text == !token) return mf_part_fail(part, "a step must be a Sequence or a SpecialToken");
    MF_TRY(mf_part_keys(&inner, inner_keys));
    MF_TRY(mf_part_needs_text(&inner, "id", &id));
    MF_TRY(mf_part_number(&inner, "type_id", TYPES_MOST, &type));
    if (token) return add_special(part, r, id, type, f);
    if (strcmp(id, "A") == 0) return add(part, f, MF_FRAME_FIRST, 0, type);
    if (strcmp(id, "B") == 0) return add(part, f, MF_FRAME_SECOND, 0, type);
    return mf_part_fail(part, "the Sequence '%.60s' is neither A nor B", id);
}

static int read_side(const struct mf_part *part, const struct reading *r, const char *key, struct mf_frame *f)
{
    const struct mf_json *steps = mf_json_get(part->row, key);

    if (mf_json_kind(steps) != MF_JSON_ARRAY) return mf_part_fail(part, "'%s' must be an array", key);
    f->count = 0;
    for (size_t i = 0; i < mf_json_count(steps); ++i) MF_TRY(add_template(part, r, mf_json_item(steps, i), f));
    return MF_OK;
}

static int read_template(const struct mf_part *part, const struct reading *r)
{
    static const char *const keys[] = {"type", "single", "pair", "special_tokens", NULL};

    MF_TRY(mf_part_keys(part, keys));
    MF_TRY(read_side(part, r, "single", &r->frames->one));
    return read_side(part, r, "pair", &r->frames->two);
}

/* ---- BertProcessing, RobertaProcessing ---- */

/* [TEXT, NUMBER] */
static int read_mark(const struct mf_part *part, const struct reading *r, const char *key, size_t *token)
{
    const struct mf_json *both = mf_json_get(part->row, key);

    if (mf_json_count(both) != 2) return mf_part_fail(part, "'%s' must be a token and its number", key);
    return mf_part_whole(part, mf_json_item(both, 1), r->numbers - 1, token);
}

static int read_pair(const struct mf_part *part, const struct reading *r, int is_roberta)
{
    static const char *const keys[] = {"type", "sep", "cls", "trim_offsets", "add_prefix_space", NULL};
    struct mf_frame *one = &r->frames->one, *two = &r->frames->two;
    const size_t second = is_roberta ? 0 : 1; /* type of the second text */
    size_t first, last;

    MF_TRY(mf_part_keys(part, keys));
    MF_TRY(read_mark(part, r, "cls", &first));
    MF_TRY(read_mark(part, r, "sep", &last));
    one->count = two->count = 0;
    MF_TRY(add(part, one, MF_FRAME_TOKEN, first, 0));
    MF_TRY(add(part, one, MF_FRAME_FIRST, 0, 0));
    MF_TRY(add(part, one, MF_FRAME_TOKEN, last, 0));
    *two = *one;
    if (is_roberta) MF_TRY(add(part, two, MF_FRAME_TOKEN, last, 0));
    MF_TRY(add(part, two, MF_FRAME_SECOND, 0, second));
    return add(part, two, MF_FRAME_TOKEN, last, second);
}

/* ---- all ---- */

static int read_byte_level(const struct mf_part *part)
{
    static const char *const keys[] = {"type", "add_prefix_space", "trim_offsets", "use_regex", NULL};

    return mf_part_keys(part, keys);
}

static int read_any(const struct mf_part *part, struct reading *r);

static int read_sequence(const struct mf_part *part, struct reading *r)
{
    static const char *const keys[] = {"type", "processors", NULL};
    const struct mf_json *steps = mf_json_get(part->row, "processors");

    MF_TRY(mf_part_keys(part, keys));
    if (mf_json_kind(steps) != MF_JSON_ARRAY) return mf_part_fail(part, "'processors' must be an array");
    for (size_t i = 0; i < mf_json_count(steps); ++i) {
        const struct mf_part inner = {part->file, part->place, mf_json_item(steps, i)};

        MF_TRY(read_any(&inner, r));
    }
    return MF_OK;
}

static int read_any(const struct mf_part *part, struct reading *r)
{
    const char *type;

    MF_TRY(mf_part_type(part, &type));
    if (strcmp(type, "Sequence") == 0) return read_sequence(part, r);
    if (strcmp(type, "ByteLevel") == 0) return read_byte_level(part);
    if (r->puts++) return mf_part_fail(part, "two steps that put tokens are not known here");
    if (strcmp(type, "TemplateProcessing") == 0) return read_template(part, r);
    if (strcmp(type, "BertProcessing") == 0) return read_pair(part, r, 0);
    if (strcmp(type, "RobertaProcessing") == 0) return read_pair(part, r, 1);
    return mf_part_fail(part,
                        "the type '%.60s' is not known; known are Sequence, BertProcessing, ByteLevel, "
                        "RobertaProcessing, TemplateProcessing",
                        type);
}

int mf_frames_read(const struct mf_part *part, size_t numbers, struct mf_frames *frames)
{
    struct reading r = {.numbers = numbers, .frames = frames};

    frames->one = (struct mf_frame){.count = 1, .part = {{MF_FRAME_FIRST, 0, 0}}};
    frames->two = (struct mf_frame){.count = 2, .part = {{MF_FRAME_FIRST, 0, 0}, {MF_FRAME_SECOND, 0, 1}}};
    return mf_json_kind(part->row) == MF_JSON_NULL ? MF_OK : read_any(part, &r);
}
