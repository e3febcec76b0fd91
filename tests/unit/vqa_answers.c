/* Questions about images: answers, findings and objects against a flood pixel by pixel; words; how they are dealt. */
#include <stdlib.h>
#include <string.h>

#include "io/dataset.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/vqa/vqa.h"
#include "tests/check.h"

enum { MOST = 40 * 40 };

static size_t ny, nx;
static uint8_t pixel[MOST];
static struct mf_comm comm;
static struct mf_arena *arena;

/* ---- the oracle ---- */

struct flooded {
    size_t size, y, x, low[2], high[2], first; /* y, x: sums */
    int phase;
};
static struct flooded part[MOST];
static size_t parts;
static int seen[MOST];

static void flood(size_t i, struct flooded *p)
{
    const size_t y = i / nx, x = i % nx;

    seen[i] = 1;
    ++p->size;
    p->y += y;
    p->x += x;
    p->low[0] = y < p->low[0] ? y : p->low[0];
    p->low[1] = x < p->low[1] ? x : p->low[1];
    p->high[0] = y > p->high[0] ? y : p->high[0];
    p->high[1] = x > p->high[1] ? x : p->high[1];
    if (y > 0 && !seen[i - nx] && pixel[i - nx] == p->phase) flood(i - nx, p);
    if (y + 1 < ny && !seen[i + nx] && pixel[i + nx] == p->phase) flood(i + nx, p);
    if (x > 0 && !seen[i - 1] && pixel[i - 1] == p->phase) flood(i - 1, p);
    if (x + 1 < nx && !seen[i + 1] && pixel[i + 1] == p->phase) flood(i + 1, p);
}

static int by_size(const void *a, const void *b)
{
    const struct flooded *p = a, *q = b;

    if (p->size != q->size) return p->size < q->size ? 1 : -1;
    if (p->phase != q->phase) return p->phase - q->phase;
    return (p->first > q->first) - (p->first < q->first);
}

static void flood_all(void)
{
    parts = 0;
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < ny * nx; ++i)
        if (!seen[i]) {
            part[parts] = (struct flooded){.low = {ny, nx}, .first = i, .phase = pixel[i]};
            flood(i, &part[parts++]);
        }
    qsort(part, parts, sizeof *part, by_size);
}

static int spans(const struct flooded *p, int axis)
{
    return p->low[axis - 1] == 0 && p->high[axis - 1] + 1 == (axis == 1 ? ny : nx);
}

static size_t count_of(int phase)
{
    size_t n = 0;

    for (size_t i = 0; i < ny * nx; ++i) n += pixel[i] == phase;
    return n;
}

static double true_coherence(void)
{
    double xx = 0, yy = 0, xy = 0;

    for (size_t y = 0; y + 1 < ny; ++y)
        for (size_t x = 0; x + 1 < nx; ++x) {
            const double a = pixel[y * nx + x], b = pixel[y * nx + x + 1], c = pixel[(y + 1) * nx + x],
                         d = pixel[(y + 1) * nx + x + 1];

            xx += (b + d - a - c) * (b + d - a - c);
            yy += (c + d - a - b) * (c + d - a - b);
            xy += (b + d - a - c) * (c + d - a - b);
        }
    return xx + yy > 0 ? hypot(xx - yy, 2 * xy) / (xx + yy) : 0;
}

/* Share of a phase in components that span along @p axis; 0: those of its largest component alone. */
static double true_share(int phase, int axis)
{
    double in = 0, all = 0;

    for (size_t k = 0; k < parts; ++k) {
        if (part[k].phase != phase) continue;
        if (axis ? spans(&part[k], axis) : all == 0) in += (double)part[k].size;
        all += (double)part[k].size;
    }
    return all > 0 ? in / all : 0;
}

static size_t true_components(int phase)
{
    size_t n = 0;

    for (size_t k = 0; k < parts; ++k) n += part[k].phase == phase;
    return n;
}

static int true_place(int phase)
{
    const struct flooded *p = NULL;
    size_t equal = 0;

    for (size_t k = 0; k < parts; ++k) {
        if (part[k].phase != phase) continue;
        if (!p) p = &part[k];
        equal += part[k].size == p->size;
    }
    if (!p || equal > 1) return -1;
    if (spans(p, 1) || spans(p, 2)) return 25;
    return (int)(floor(((double)p->y / (double)p->size + 0.5) / (double)ny * 5) * 5 +
                 floor(((double)p->x / (double)p->size + 0.5) / (double)nx * 5));
}

static int true_answer(const struct mf_vqa_question *q, int kind)
{
    const size_t all = ny * nx, own = q->phase >= 0 ? count_of(q->phase) : 0;
    const double c = true_coherence();
    int quarter = (int)(4 * own / all);

    switch (q->type) {
    case MF_VQA_PERCOLATES: return true_share(q->phase, q->axis) > 0;
    case MF_VQA_LARGER: return 2 * own == all ? -1 : 2 * own > all;
    case MF_VQA_ALIGNED: return c >= 0.475 && c <= 0.525 ? -1 : c > 0.5;
    case MF_VQA_CONNECTED: return own ? true_components(q->phase) == 1 : -1;
    case MF_VQA_MORPHOLOGY: return kind;
    case MF_VQA_LARGEST: return true_place(q->phase);
    default: return quarter > 3 ? 3 : quarter;
    }
}

static double true_interfaces(void)
{
    double differ = 0, pairs = 0;

    for (size_t i = 0; i < ny * nx; ++i)
        for (size_t k = i + 1; k < ny * nx; ++k)
            if ((k == i + 1 && k % nx) || k == i + nx) {
                differ += pixel[i] != pixel[k];
                ++pairs;
            }
    return differ / pairs;
}

static void check_findings(const struct mf_vqa_facts *facts)
{
    const double light = (double)count_of(1) / (double)(ny * nx), density = true_interfaces(),
                 each = 1000. / (double)(ny * nx);
    const double want[MF_VQA_FINDINGS] = {light,
                                          light,
                                          light,
                                          density,
                                          density,
                                          true_coherence(),
                                          (double)true_components(0) * each,
                                          (double)true_components(1) * each,
                                          true_share(0, 0),
                                          true_share(1, 0),
                                          true_share(0, 2),
                                          true_share(0, 1),
                                          true_share(1, 2),
                                          true_share(1, 1)};

    for (size_t f = 0; f < MF_VQA_FINDINGS; ++f) {
        const double t = mf_vqa_findings[f].threshold, off = want[f] / t - 1;

        if (fabs(fabs(off) - 0.05) < 1e-9) continue; /* either */
        CHECK_SAYS(facts->finding[f] == (fabs(off) < 0.05 ? 255 : off > 0), "finding %s", mf_vqa_findings[f].name);
    }
}

static void check_objects(const float (*object)[MF_VQA_OBJECT])
{
    for (size_t k = 0; k < MF_VQA_OBJECTS; ++k) {
        const struct flooded *p = &part[k];
        const float *is = object[k];

        if (k >= parts) {
            for (int v = 0; v < MF_VQA_OBJECT; ++v) CHECK(is[v] == 0);
            continue;
        }
        CHECK_NEAR(is[0], (double)p->low[0] / (double)ny, 1e-6);
        CHECK_NEAR(is[1], (double)p->low[1] / (double)nx, 1e-6);
        CHECK_NEAR(is[2], (double)(p->high[0] + 1) / (double)ny, 1e-6);
        CHECK_NEAR(is[3], (double)(p->high[1] + 1) / (double)nx, 1e-6);
        CHECK_NEAR(is[4], (double)p->size / (double)(ny * nx), 1e-6);
        CHECK(is[5] == (float)p->phase);
    }
}

static void check_image(void)
{
    struct mf_micro micro = {.ndim = 2, .phases = 2, .spacing = {1, 1, 1}, .phase = pixel};
    struct mf_measure_job job = {.comm = &comm, .arena = arena, .micro = &micro, .periodic = 1};
    struct mf_vqa_facts facts;
    float object[MF_VQA_OBJECTS][MF_VQA_OBJECT];

    micro.slab = mf_slab_of(&comm, (size_t[3]){1, ny, nx}, 0);
    flood_all();
    CHECK(mf_vqa_find(&job, 5, &facts) == MF_OK);
    for (size_t q = 0; q < MF_VQA_QUESTIONS; ++q)
        CHECK_SAYS(facts.answer[q] == true_answer(&mf_vqa_questions[q], 5), "question %zu of %zu x %zu: %d, not %d", q,
                   ny, nx, facts.answer[q], true_answer(&mf_vqa_questions[q], 5));
    check_findings(&facts);
    check_objects((const float(*)[MF_VQA_OBJECT])facts.object);
    memset(object, 255, sizeof object);
    CHECK(mf_vqa_objects(&job, object) == MF_OK);
    check_objects((const float(*)[MF_VQA_OBJECT])object);
}

/* Noise of blocks with many fractions, stripes, a cross, one phase alone. */
static int pixel_of(int f, size_t y, size_t x)
{
    const size_t block = 1 + (size_t)f % 4;

    if (f < 32) return mf_random_uniform(3, (uint32_t)f, y / block * 64 + x / block) < 0.1 + 0.025 * f;
    if (f < 36) return (y + (size_t)(f - 32) * x) / 3 % 2 == 1;
    return f < 38 ? (y == 1 || x == 1) == (f % 2) : f % 2;
}

static void check_images(void)
{
    static const size_t shapes[][2] = {{40, 40}, {17, 31}, {2, 3}};

    for (size_t s = 0; s < 3; ++s)
        for (int f = 0; f < 40; ++f) {
            ny = shapes[s][0];
            nx = shapes[s][1];
            for (size_t i = 0; i < ny * nx; ++i) pixel[i] = (uint8_t)pixel_of(f, i / nx, i % nx);
            check_image();
        }
}

/* ---- words ---- */

static int is_token(const char *vocabulary, const char *word, size_t n)
{
    for (const char *at = vocabulary; *at; at += strcspn(at, "\n") + 1)
        if (strcspn(at, "\n") == n && memcmp(at, word, n) == 0) return 1;
    return 0;
}

static size_t letters(const char *at) { return strspn(at, "abcdefghijklmnopqrstuvwxyz"); }

/* Every word of a phrasing for tests alone occurs in one that is trained, and no phrasing twice. */
static void check_words(void)
{
    char *vocabulary, text[MF_VQA_TEXT], other[MF_VQA_TEXT];

    CHECK(mf_vqa_vocabulary(&vocabulary) == MF_OK);
    CHECK(strncmp(vocabulary, "[PAD]\n[UNK]\n", 12) == 0 && is_token(vocabulary, "##z", 3) &&
          is_token(vocabulary, "?", 1));
    for (size_t k = 0; k < MF_VQA_QUESTIONS * MF_VQA_PHRASINGS; ++k) {
        mf_vqa_text(k / MF_VQA_PHRASINGS, k % MF_VQA_PHRASINGS, text);
        for (const char *at = text; *at; at += letters(at) ? letters(at) : 1)
            CHECK_SAYS(!letters(at) || is_token(vocabulary, at, letters(at)), "no token for '%s'", at);
        for (size_t j = 0; j < k; ++j) {
            mf_vqa_text(j / MF_VQA_PHRASINGS, j % MF_VQA_PHRASINGS, other);
            CHECK_SAYS(strcmp(text, other) != 0, "twice: %s", text);
        }
    }
    free(vocabulary);
}

/* ---- dealing ---- */

enum { SAMPLES = 400, EACH = 4 };

static void check_balance(const int8_t (*answer)[MF_VQA_QUESTIONS], const uint8_t *split, const struct mf_vqa_row *row)
{
    size_t of_type[MF_VQA_TYPES] = {0};

    for (size_t q = 0; q < MF_VQA_QUESTIONS; ++q) {
        size_t count[MF_SPLITS][2] = {{0}};

        for (size_t r = 0; r < SAMPLES * EACH; ++r) {
            if (row[r].question != q) continue;
            CHECK(answer[r / EACH][q] >= 0);
            ++count[split[r / EACH]]
                   [mf_vqa_questions[q].type == MF_VQA_LARGEST ? answer[r / EACH][q] == 25 : answer[r / EACH][q] == 1];
            ++of_type[mf_vqa_questions[q].type];
        }
        for (int s = 0; s < MF_SPLITS; ++s) {
            if (mf_vqa_type_heads[mf_vqa_questions[q].type] == MF_VQA_YES_NO) CHECK(count[s][0] == count[s][1]);
            if (mf_vqa_questions[q].type == MF_VQA_LARGEST) CHECK(count[s][0] == 3 * count[s][1]);
        }
    }
    for (size_t t = 0; t < MF_VQA_TYPES; ++t) CHECK(of_type[t] > SAMPLES * EACH / 10);
}

/* A question comes twice only where kinds and fractions have come already. */
static void check_repeats(const int8_t (*answer)[MF_VQA_QUESTIONS], const struct mf_vqa_row *row)
{
    for (size_t i = 0; i < SAMPLES; ++i) {
        size_t count[MF_VQA_QUESTIONS] = {0};

        for (size_t k = 0; k < EACH; ++k) {
            const struct mf_vqa_row *one = &row[i * EACH + k];

            ++count[one->question];
            for (size_t j = 0; j < k && one->phrasing < MF_VQA_TRAINED; ++j)
                CHECK(one->question != row[i * EACH + j].question || one->phrasing != row[i * EACH + j].phrasing);
        }
        for (size_t q = 0; q < MF_VQA_QUESTIONS; ++q)
            CHECK(count[q] < 2 || (count[12] && count[13] && (count[9] || answer[i][9] < 0)));
    }
}

static void check_dealing(void)
{
    static int8_t answer[SAMPLES][MF_VQA_QUESTIONS];
    static uint8_t split[SAMPLES];
    static struct mf_vqa_row row[SAMPLES * EACH], again[SAMPLES * EACH];
    size_t held[MF_SPLITS] = {0};

    for (size_t i = 0; i < SAMPLES; ++i) {
        split[i] = i % 10 < 6 ? MF_TRAIN : i % 10 < 8 ? MF_VALIDATION : MF_TEST;
        for (size_t q = 0; q < MF_VQA_QUESTIONS; ++q) {
            const enum mf_vqa_head head = mf_vqa_type_heads[mf_vqa_questions[q].type];
            const double u = mf_random_uniform(5, (uint32_t)q, i);

            answer[i][q] = head == MF_VQA_PLACE ? (int8_t)(u < 0.4 ? 25 : u * 25) : (int8_t)(u * 2 + 0.2);
            if (u < 0.03 && head != MF_VQA_SEVERITY) answer[i][q] = -1;
        }
    }
    CHECK(mf_vqa_deal(SAMPLES, (const int8_t(*)[MF_VQA_QUESTIONS])answer, split, EACH, 11, row) == MF_OK);
    CHECK(mf_vqa_deal(SAMPLES, (const int8_t(*)[MF_VQA_QUESTIONS])answer, split, EACH, 11, again) == MF_OK);
    CHECK(memcmp(row, again, sizeof row) == 0);
    check_balance((const int8_t(*)[MF_VQA_QUESTIONS])answer, split, row);
    check_repeats((const int8_t(*)[MF_VQA_QUESTIONS])answer, row);
    for (size_t r = 0; r < SAMPLES * EACH; ++r) held[split[r / EACH]] += row[r].phrasing >= MF_VQA_TRAINED;
    CHECK(held[MF_TRAIN] == 0 && held[MF_VALIDATION] == 0 && held[MF_TEST] > SAMPLES * EACH / 5 / 3);
}

int main(int argc, char **argv)
{
    if (mf_comm_open(&comm, &argc, &argv, "test") != MF_OK) return 1;
    CHECK(mf_arena_open(&arena, NULL, 0) == MF_OK);
    check_images();
    check_words();
    check_dealing();
    mf_arena_close(arena);
    mf_comm_close(&comm);
    return failures != 0;
}
