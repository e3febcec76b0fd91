/* See learn_vqa.h: the rows that a network reads of questions, of their images and of the objects in these. */
#include <math.h>
#include <string.h>

#include "src/base/rng.h"
#include "src/base/streams.h"
#include "src/train/learn_vqa_priv.h"
#include "src/vqa/vqa.h"

/* Share of what is learnt that comes without objects. A third of it hinders: what boxes say is then learnt late. */
static const double WITHOUT = 0.1;

enum { MOVES = 1 }; /* a further stream */

/* ---- how an image is moved ---- */

struct flip {
    int y, x;
};

static struct flip flip_of(const struct mf_asked *own, const struct mf_fill *of, size_t r)
{
    uint32_t word[4];

    if (!of->train || !own->flips) return (struct flip){0, 0};
    mf_random4(of->seed, MF_STREAM_ASKED + MOVES, of->first + r, word);
    return (struct flip){word[0] & 1, word[0] >> 1 & 1};
}

/* @p d: {1, ny, nx, channels} */
static void flip_image(struct flip f, const size_t *d, const float *from, float *to)
{
    const size_t row = d[2] * d[3];

    for (size_t y = 0; y < d[1]; ++y, to += row) {
        const float *line = from + (f.y ? d[1] - 1 - y : y) * row;

        if (!f.x) memcpy(to, line, row * sizeof *to);
        for (size_t x = 0; f.x && x < d[2]; ++x) memcpy(to + x * d[3], line + (d[2] - 1 - x) * d[3], d[3] * sizeof *to);
    }
}

static void flip_box(struct flip f, float box[4])
{
    for (int a = 0; a < 2; ++a) {
        const float first = box[a], end = box[a + 2];

        if (!(a ? f.x : f.y)) continue;
        box[a] = 1 - end;
        box[a + 2] = 1 - first;
    }
}

static int32_t flip_place(struct flip f, int32_t answer)
{
    const int32_t n = MF_VQA_GRID, row = answer / n, column = answer % n;

    if (answer < 0 || answer == MF_VQA_SPANS) return answer;
    return (f.y ? n - 1 - row : row) * n + (f.x ? n - 1 - column : column);
}

/* ---- images ---- */

static void fill_images(const struct mf_asked *own, const struct mf_fill *of, float *to)
{
    const size_t *d = of->shape->d + 1, count = d[0] * d[1] * d[2] * d[3];
    const int grey = own->hidden == MF_HIDES_IMAGE, phases = of->set->phases;
    const float value = phases > 0 ? 1 / (float)phases : 0;

    for (size_t r = 0; r < of->batch->n; ++r, to += count) {
        if (!grey) flip_image(flip_of(own, of, r), d, of->batch->input + r * count, to);
        for (size_t i = 0; grey && i < count; ++i) to[i] = value;
    }
}

/* ---- texts ---- */

enum { NO_ROW = -1 };

/* Question @p k of sample @p r of a batch. */
static long row_of(const struct mf_fill *of, size_t r, size_t k)
{
    const struct mf_span rows = mf_item_rows(of->set->questions, of->batch->id[r]);

    return k < rows.count ? (long)(rows.first + k) : NO_ROW;
}

static void fill_text(const struct mf_asked *own, long row, size_t input, size_t at, void *to)
{
    const size_t n = own->length;
    const size_t text = row < 0 || own->hidden != MF_HIDES_QUESTION ? (size_t)row : own->other[row];
    const size_t count = row < 0 ? 0 : own->count[text];

    for (size_t i = 0; i < n; ++i)
        if (input == MF_ASKED_TOKENS)
            ((int32_t *)to)[at + i] = i < count ? own->token[text * n + i] : -1;
        else if (input == MF_ASKED_SEEN)
            ((uint8_t *)to)[at + i] = i < count;
        else
            ((float *)to)[at + i] = i < count ? 1 / (float)count : 0;
}

static void fill_texts(const struct mf_asked *own, const struct mf_fill *of, size_t input, void *to)
{
    for (size_t r = 0; r < of->batch->n; ++r)
        for (size_t k = 0; k < own->together; ++k)
            fill_text(own, row_of(of, r, k), input, (r * own->together + k) * own->length, to);
}

/* ---- objects ---- */

static int is_hidden(const struct mf_asked *own, const struct mf_fill *of, size_t r)
{
    if (!of->train) return own->hidden == MF_HIDES_IMAGE;
    return mf_random_uniform(of->seed, MF_STREAM_ASKED, of->first + r) < WITHOUT;
}

/* Objects of a row, moved as its image; a box without extent is none. Returns how many there are. */
static size_t find_objects(const struct mf_asked *own, const struct mf_fill *of, size_t r,
                           float object[MF_QUESTION_OBJECTS][MF_OBJECT_VALUES])
{
    const struct mf_questions *q = of->set->questions;
    const size_t sample = mf_item_sample(of->set, of->batch->id[r]);
    size_t n = 0;

    if (is_hidden(own, of, r)) return 0;
    for (size_t k = 0; k < q->form.objects && n < own->form.objects; ++k) {
        const float *from = q->object + (sample * q->form.objects + k) * MF_OBJECT_VALUES;

        if (!(from[2] > from[0] && from[3] > from[1])) continue;
        memcpy(object[n], from, sizeof object[n]);
        flip_box(flip_of(own, of, r), object[n++]);
    }
    return n;
}

/* The part of cell @p k of @p n that lies between two shares of the extent. */
static float overlap(size_t k, size_t n, float first, float end)
{
    const float a = fmaxf(first * (float)n, (float)k), b = fminf(end * (float)n, (float)k + 1);

    return b > a ? b - a : 0;
}

/* Shares of the cells in a box, whose sum is 1. */
static void fill_region(const float box[4], const size_t cells[2], float *to)
{
    const float area = (box[2] - box[0]) * (float)cells[0] * (box[3] - box[1]) * (float)cells[1];

    for (size_t y = 0; y < cells[0]; ++y)
        for (size_t x = 0; x < cells[1]; ++x)
            *to++ = overlap(y, cells[0], box[0], box[2]) * overlap(x, cells[1], box[1], box[3]) / area;
}

static void fill_objects(const struct mf_asked *own, const struct mf_fill *of, size_t input, float *to)
{
    const struct mf_shape *s = of->shape;
    const size_t row = mf_shape_count(s) / s->d[0], objects = own->form.objects, each = objects ? row / objects : 0;
    float object[MF_QUESTION_OBJECTS][MF_OBJECT_VALUES];

    memset(to, 0, of->batch->n * row * sizeof *to);
    for (size_t r = 0; r < of->batch->n; ++r, to += row) {
        const size_t n = find_objects(own, of, r, object);

        for (size_t k = 0; k < n; ++k)
            if (input == MF_ASKED_OBJECT)
                memcpy(to + k * each, object[k], sizeof object[k]);
            else if (input == MF_ASKED_OBJECT_SHARE)
                to[k] = 1 / (float)n;
            else
                fill_region(object[k], s->d + 2, to + k * each);
    }
}

/* ---- answers ---- */

static void fill_labels(const struct mf_asked *own, const struct mf_fill *of, size_t head, int32_t *to)
{
    for (size_t r = 0; r < of->batch->n; ++r)
        for (size_t k = 0; k < own->together; ++k, ++to) {
            const long row = row_of(of, r, k);
            const size_t type = row < 0 ? own->form.types : own->type[row];
            const int own_head = type < own->form.types && (size_t)own->form.head_of[type] == head;

            *to = own_head ? own->answer[row] : MF_ANSWER_NONE;
            if (head == own->place) *to = flip_place(flip_of(own, of, r), *to);
        }
}

static void fill_findings(const struct mf_task *task, const struct mf_fill *of, float *to)
{
    const size_t n = mf_vqa_form(task)->findings;

    for (size_t r = 0; r < of->batch->n; ++r)
        for (size_t f = 0; f < n; ++f) {
            const int value = mf_asked_finding(task, of->set, of->batch->id[r], f);

            to[r * n + f] = value == MF_FINDING_NONE ? NAN : (float)value;
        }
}

void mf_asked_fill(const struct mf_task *task, const struct mf_fill *of, size_t input, void *to)
{
    const struct mf_asked *own = mf_asked_of(task);

    if (input == MF_ASKED_X)
        fill_images(own, of, to);
    else if (input <= MF_ASKED_WORD_SHARE)
        fill_texts(own, of, input, to);
    else if (input <= MF_ASKED_REGION)
        fill_objects(own, of, input, to);
    else if (input < MF_ASKED_LABEL + own->form.heads)
        fill_labels(own, of, input - MF_ASKED_LABEL, to);
    else
        fill_findings(task, of, to);
}
