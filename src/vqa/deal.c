/* Which questions are asked of which samples. See vqa.h. */
#include <stdlib.h>
#include <string.h>

#include "io/dataset.h"
#include "src/base/err.h"
#include "src/base/order.h"
#include "src/base/rng.h"
#include "src/base/room.h"
#include "src/base/streams.h"
#include "src/vqa/vqa.h"

enum { GROUPS = MF_SPLITS + 1, OTHERS = 3 /* places asked for each component that spans */ };

/* Rare answers come first. */
static const size_t balanced[] = {6, 7, 8, 10, 11, 0, 1, 2, 3, 4, 5}, filling[] = {9, 12, 9, 13};

struct deal {
    size_t samples, each;
    const int8_t (*answer)[MF_VQA_QUESTIONS];
    const uint8_t *split;
    uint64_t seed;
    struct mf_vqa_row *row;
    uint8_t *used; /* [samples] rows of it that are dealt */
};

/* Samples with one answer to a question, in random order. */
struct queue {
    size_t n, at, *sample;
};

static void put(struct deal *d, size_t i, size_t question)
{
    d->row[i * d->each + d->used[i]++].question = (uint8_t)question;
}

static int is_first(size_t question, int answer)
{
    return mf_vqa_questions[question].type == MF_VQA_LARGEST ? answer == MF_VQA_SPANS : answer == 1;
}

/* The samples of a group whose answer is the first one, or another. */
static void queue_fill(const struct deal *d, size_t group, size_t question, int first, size_t *scratch,
                       struct queue *queue)
{
    const uint64_t epoch = (question * GROUPS + group) * 2 + (uint64_t)first;

    queue->n = queue->at = 0;
    for (size_t i = 0; i < d->samples; ++i) {
        const size_t own = d->split[i] < MF_SPLITS ? d->split[i] : MF_SPLITS;
        const int answer = d->answer[i][question];

        if (own == group && answer >= 0 && is_first(question, answer) == first) scratch[queue->n++] = i;
    }
    for (size_t k = 0; k < queue->n; ++k) queue->sample[k] = scratch[mf_order(d->seed, epoch, queue->n, k)];
}

/* The next @p n samples that have room for a question. 0: there are not so many. */
static int next(const struct deal *d, struct queue *queue, size_t n, size_t *sample)
{
    size_t found = 0;

    for (; found < n && queue->at < queue->n; ++queue->at)
        if (d->used[queue->sample[queue->at]] < d->each) sample[found++] = queue->sample[queue->at];
    return found == n;
}

/* Asks a question of samples with both answers, up to @p rows of them. */
static void balance(struct deal *d, size_t question, size_t rows, struct queue queue[2])
{
    const size_t others = mf_vqa_questions[question].type == MF_VQA_LARGEST ? OTHERS : 1;
    size_t sample[1 + OTHERS];

    for (size_t asked = 0; asked + 1 + others <= rows; asked += 1 + others) {
        if (!next(d, &queue[1], 1, sample) || !next(d, &queue[0], others, sample + 1)) return;
        for (size_t k = 0; k < 1 + others; ++k) put(d, sample[k], question);
    }
}

static size_t variants_of(enum mf_vqa_type type)
{
    size_t n = 0;

    for (size_t q = 0; q < MF_VQA_QUESTIONS; ++q) n += mf_vqa_questions[q].type == type;
    return n;
}

static void deal_group(struct deal *d, size_t group, size_t *scratch, struct queue queue[2])
{
    size_t members = 0;

    for (size_t i = 0; i < d->samples; ++i)
        members += (d->split[i] < MF_SPLITS ? d->split[i] : (size_t)MF_SPLITS) == group;
    for (size_t k = 0; k < sizeof balanced / sizeof *balanced; ++k) {
        const size_t q = balanced[k], shares = MF_VQA_TYPES * variants_of(mf_vqa_questions[q].type);

        for (int first = 0; first < 2; ++first) queue_fill(d, group, q, first, scratch, &queue[first]);
        balance(d, q, (members * d->each + shares - 1) / shares, queue);
    }
}

static int is_asked(const struct deal *d, size_t i, size_t question)
{
    for (size_t k = 0; k < d->used[i]; ++k)
        if (d->row[i * d->each + k].question == question) return 1;
    return 0;
}

/* Kinds and fractions, from a random one on. None of them comes twice before all have come. */
static void fill(struct deal *d, size_t i)
{
    const size_t n = sizeof filling / sizeof *filling;
    uint32_t random[4];

    MF_ASSERT(d->answer[i][filling[1]] >= 0);
    mf_random4(d->seed, MF_STREAM_VQA, i, random);
    for (size_t k = 0; d->used[i] < d->each; ++k) {
        const size_t q = filling[(random[0] + k) % n];

        if (d->answer[i][q] >= 0 && (k >= n || !is_asked(d, i, q))) put(d, i, q);
    }
}

/* Phrasings of a sample follow each other, so that a question that comes again has other words. */
static void phrase(struct deal *d, size_t i)
{
    const int test = d->split[i] == MF_TEST;
    uint32_t random[4], begin;

    mf_random4(d->seed, MF_STREAM_VQA, i, random);
    begin = random[1];
    for (size_t k = 0; k < d->each; ++k) {
        struct mf_vqa_row *row = &d->row[i * d->each + k];
        size_t first, n;

        mf_random4(d->seed, MF_STREAM_VQA + 1, i * d->each + k, random);
        first = test && random[0] % 2 ? MF_VQA_TRAINED : 0;
        n = first ? MF_VQA_PHRASINGS - MF_VQA_TRAINED : MF_VQA_TRAINED;
        row->phrasing = (uint8_t)(first + (begin + k) % n);
    }
}

int mf_vqa_deal(size_t samples, const int8_t (*answer)[MF_VQA_QUESTIONS], const uint8_t *split, size_t each,
                uint64_t seed, struct mf_vqa_row *row)
{
    struct deal d = {samples, each, answer, split, seed, row, NULL};
    size_t *memory = mf_room(3 * samples + 1, sizeof *memory, "the questions of %zu samples", samples);
    struct queue queue[2] = {{0, 0, memory}, {0, 0, memory + samples}};
    int rc = memory ? MF_ROOM(d.used, samples + 1, "the questions of %zu samples", samples) : MF_MEMORY;

    MF_ASSERT(each > 0 && each < 256);
    for (size_t group = 0; rc == MF_OK && group < GROUPS; ++group) deal_group(&d, group, memory + 2 * samples, queue);
    for (size_t i = 0; rc == MF_OK && i < samples; ++i) {
        fill(&d, i);
        phrase(&d, i);
    }
    free(memory);
    free(d.used);
    return rc;
}
