/* The contents of a set come back: facts, samples and input, by any number of readers. Its bytes do not depend on
 * ranks; damage and senseless values are refused by name. */
#include "io/dataset.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/h5.h"
#include "src/base/crc.h"
#include "src/base/err.h"
#include "src/base/file.h"
#include "src/base/rng.h"
#include "tests/check.h"
#include "tests/scratch.h"

static const char *const classes[] = {"round", "flat", "none"}, *const reals[] = {"fraction", "length"};

/* Kinds of sets: phases 2, phases 3, a colour image, a volume of floats. */
static const struct mf_dataset_wish wishes[] = {
    {.samples = 53,
     .ndim = 2,
     .dims = {1, 7, 5, 1},
     .phases = 2,
     .classes = 3,
     .class_name = classes,
     .reals = 2,
     .real_name = reals,
     .seeded = 1,
     .part = {0.8, 0.1}},
    {.samples = 20,
     .ndim = 3,
     .dims = {4, 3, 5, 1},
     .phases = 3,
     .classes = 3,
     .class_name = classes,
     .part = {0.5, 0.25}},
    {.samples = 31, .ndim = 2, .dims = {1, 6, 9, 3}, .reals = 2, .real_name = reals, .part = {0.8, 0.1}},
    {.samples = 17, .ndim = 3, .dims = {2, 3, 4, 1}, .is_float = 1, .part = {0.6, 0.2}}};

enum { KINDS = sizeof wishes / sizeof *wishes };

/* The value at place i of sample id. */
static double value_of(const struct mf_dataset_wish *w, size_t id, size_t i)
{
    const double u = mf_random_uniform(5, 77, id * 1000 + i);

    return w->phases ? floor(u * w->phases) : w->is_float ? 3 * u - 100 : floor(256 * u);
}

static size_t values_of(const struct mf_dataset_wish *w) { return w->dims[0] * w->dims[1] * w->dims[2] * w->dims[3]; }

static int make(void *context, size_t id, struct mf_sample *sample)
{
    const struct mf_dataset_wish *w = context;

    for (size_t i = 0; i < values_of(w); ++i)
        if (w->is_float)
            ((float *)sample->x)[i] = (float)value_of(w, id, i);
        else
            ((uint8_t *)sample->x)[i] = (uint8_t)value_of(w, id, i);
    sample->label = (int32_t)(id % 3);
    for (size_t k = 0; k < w->reals; ++k) sample->real[k] = (float)id + (float)k / 2;
    sample->seed = ~(uint64_t)id;
    return MF_OK;
}

static void check_facts(const struct mf_dataset *s, const struct mf_dataset_wish *w)
{
    CHECK(s->samples == w->samples && s->ndim == w->ndim && memcmp(s->dims, w->dims, sizeof s->dims) == 0);
    CHECK(s->phases == w->phases && s->is_float == w->is_float && s->classes == w->classes && s->reals == w->reals);
    CHECK(!s->label == !w->classes && !s->real == !w->reals && !s->seed == !w->seeded && s->split_given);
    for (size_t c = 0; c < s->classes; ++c) CHECK(strcmp(s->class_name[c], classes[c]) == 0);
    for (size_t c = 0; c < s->reals; ++c) CHECK(strcmp(s->real_name[c], reals[c]) == 0);
    CHECK(s->count[0] + s->count[1] + s->count[2] == s->samples);
    CHECK_NEAR((double)s->count[MF_TRAIN], w->part[0] * (double)s->samples, 1);
    CHECK_NEAR((double)s->count[MF_VALIDATION], w->part[1] * (double)s->samples, 1);
    for (size_t i = 0; s->seed && i < s->samples; ++i) CHECK(s->seed[i] == ~(uint64_t)i);
}

static double input_of(const struct mf_dataset *s, const struct mf_dataset_wish *w, size_t id, size_t i)
{
    const size_t voxel = i / s->inputs, c = i % s->inputs;
    const double v = value_of(w, id, s->phases ? voxel : i);

    if (s->phases == 2) return v;
    return s->phases ? v == (double)c : ((w->is_float ? (double)(float)v : v) - s->mean[c]) / s->deviation[c];
}

/* Every sample once, in batches of several sizes, 0 among them. */
static void read_all(const struct mf_dataset *s, const struct mf_dataset_wish *w, struct mf_arena *arena, int threads)
{
    const struct mf_reader_wish wish = {.threads = threads, .ahead = 3, .batch = 8, .raw = threads != 2, .input = 1};
    const size_t inputs = s->dims[0] * s->dims[1] * s->dims[2] * s->inputs;
    size_t wanted = 0, taken = 0, round = 0, id[8], before = mf_arena_live(arena);
    struct mf_reader *r = NULL;
    struct mf_batch b;

    CHECK(mf_reader_open(s, arena, &wish, &r) == MF_OK);
    CHECK(mf_arena_live(arena) - before == mf_reader_bytes(s, &wish));
    while (taken < s->samples) {
        for (; mf_reader_room(r) && wanted < s->samples; ++round) {
            size_t n = round % 9 < s->samples - wanted ? round % 9 : s->samples - wanted;

            for (size_t k = 0; k < n; ++k) id[k] = s->samples - 1 - wanted++;
            mf_reader_want(r, n, id);
        }
        CHECK(mf_reader_take(r, &b) == MF_OK);
        for (size_t k = 0; k < b.n; ++k, ++taken) {
            struct mf_sample sample = {malloc(s->bytes), 0, (float[2]){0}, 0};

            CHECK(b.id[k] == s->samples - 1 - taken);
            make((void *)(uintptr_t)w, b.id[k], &sample);
            if (wish.raw) CHECK(memcmp(b.x + k * s->bytes, sample.x, s->bytes) == 0);
            if (s->label) CHECK(b.label[k] == sample.label);
            if (s->real) CHECK(memcmp(b.real + k * s->reals, sample.real, s->reals * sizeof *b.real) == 0);
            for (size_t i = 0; i < inputs; ++i) CHECK_NEAR(b.input[k * inputs + i], input_of(s, w, b.id[k], i), 1e-4);
            free(sample.x);
        }
        mf_reader_give(r, &b);
    }
    CHECK(mf_reader_waited(r) >= 0);
    mf_reader_close(r);
    CHECK(mf_arena_live(arena) == before);
}

static void check_moments(const struct mf_dataset *s, const struct mf_dataset_wish *w)
{
    double sum = 0, square = 0, n = (double)(s->count[MF_TRAIN] * values_of(w) / s->dims[3]);
    double least = INFINITY, most = -INFINITY;
    struct mf_channel first;

    for (size_t k = 0; k < s->count[MF_TRAIN]; ++k)
        for (size_t i = 0; i < values_of(w); i += s->dims[3]) {
            const double v =
                w->is_float ? (double)(float)value_of(w, s->id[MF_TRAIN][k], i) : value_of(w, s->id[MF_TRAIN][k], i);

            least = fmin(least, v);
            most = fmax(most, v);

            sum += v;
            square += (v + 100) * (v + 100);
        }
    first = mf_dataset_channel(s, 0, s->count[MF_TRAIN], s->id[MF_TRAIN]);
    CHECK(!(first.least < least) && !(first.least > least) && !(first.most < most) && !(first.most > most));
    CHECK_NEAR(s->mean[0], sum / n, 1e-4);
    CHECK_NEAR(s->deviation[0], sqrt(square / n - (sum / n + 100) * (sum / n + 100)), 1e-4);
}

static void round_trip(const struct mf_comm *c, struct mf_arena *arena, int kind, int compress, char hash[MF_HASH_TEXT])
{
    struct mf_dataset_wish w = wishes[kind];
    const char *path = scratch_file("set.h5");
    struct mf_dataset *s = NULL;

    w.compress = compress;
    CHECK(mf_dataset_write(c, path, &w, NULL, make, &w) == MF_OK);
    CHECK_SAYS(mf_dataset_open(c, path, &s) == MF_OK, "%s", mf_err_text());
    if (!s) return;
    check_facts(s, &w);
    if (!w.phases) check_moments(s, &w);
    for (int threads = 0; threads < 4; ++threads) read_all(s, &w, arena, threads);
    memcpy(hash, s->hash, MF_HASH_TEXT);
    mf_dataset_close(s);
}

/* The same samples are the same set, compressed or not. The sum of the test does not depend on the number of ranks
 * either. */
static void same_hash(const struct mf_comm *c, struct mf_arena *arena)
{
    static const uint32_t known[KINDS] = {0xb3801f44u, 0xb93ed979u, 0x79475d6au, 0xd2745871u};
    char plain[MF_HASH_TEXT] = "", packed[MF_HASH_TEXT] = "";

    for (int kind = 0; kind < KINDS; ++kind) {
        round_trip(c, arena, kind, 0, plain);
        round_trip(c, arena, kind, 6, packed);
        CHECK(strcmp(plain, packed) == 0);
        CHECK_SAYS(mf_crc32c(0, plain, 64) == known[kind], "kind %d has the hash of 0x%xu", kind,
                   mf_crc32c(0, plain, 64));
    }
}

/* Every class is divided alike. */
static void split_fairly(void)
{
    const double part[2] = {0.8, 0.1};
    int32_t label[1000];
    uint8_t split[1000];
    int count[3][MF_SPLITS] = {{0}};

    for (int i = 0; i < 1000; ++i) label[i] = i % 10 < 7 ? 0 : i % 10 < 9 ? 1 : 2;
    CHECK(mf_split_make(1000, label, 3, part, 9, split) == MF_OK);
    for (int i = 0; i < 1000; ++i) ++count[label[i]][split[i]];
    for (int k = 0; k < 3; ++k) {
        const int all = k == 0 ? 700 : k == 1 ? 200 : 100;

        CHECK_NEAR(count[k][MF_TRAIN], 0.8 * all, 1);
        CHECK_NEAR(count[k][MF_VALIDATION], 0.1 * all, 1);
    }
    CHECK(mf_split_make(1000, NULL, 0, (double[2]){1, 0}, 9, split) == MF_OK);
    for (int i = 0; i < 1000; ++i) CHECK(split[i] == MF_TRAIN);
}

/* Small shares leave a sample of every class of two or more to learn from. The totals stay where they can. */
static void teach_every_class(void)
{
    const double part[2] = {0.3, 0.2};
    int32_t label[400];
    uint8_t split[400];

    for (int rare = 2; rare < 60; ++rare) { /* classes of two samples; one of one, one of many, some not known */
        size_t count[MF_SPLITS] = {0}, taught[62] = {0};
        const size_t large = 380 - 2 * (size_t)rare, n = 400;

        for (size_t i = 0; i < n; ++i)
            label[i] = i < 2 * (size_t)rare           ? (int32_t)(i / 2)
                       : i < 2 * (size_t)rare + large ? rare
                       : i == 399                     ? rare + 1
                                                      : -1;
        CHECK(mf_split_make(n, label, (size_t)rare + 2, part, (uint64_t)rare, split) == MF_OK);
        for (size_t i = 0; i < n; ++i) {
            ++count[split[i]];
            if (label[i] >= 0) taught[label[i]] += split[i] == MF_TRAIN;
        }
        for (int c = 0; c <= rare; ++c) CHECK(taught[c] > 0);
        CHECK_NEAR((double)taught[rare], part[0] * (double)large, 1);
        CHECK(count[MF_TRAIN] >= 119 && (double)count[MF_TRAIN] <= 121 + 0.4 * rare);
        if (rare < 4) CHECK_NEAR((double)count[MF_TRAIN], 120, 1);
    }
    CHECK(mf_split_make(400, label, 61, (double[2]){0, 0.5}, 9, split) == MF_OK);
    for (int i = 0; i < 400; ++i) CHECK(split[i] != MF_TRAIN);
}

static long place_of(const char *path, const void *what, size_t bytes)
{
    static char all[1 << 20];
    FILE *from = fopen(path, "rb");
    size_t n = from ? fread(all, 1, sizeof all, from) : 0;
    char *at = memmem(all, n, what, bytes);

    if (from) fclose(from);
    return at ? at - all : -1;
}

/* A byte of sample 11 is changed: the readers say so, and go on with others. */
static void damage(const struct mf_comm *c, struct mf_arena *arena, int compress)
{
    const struct mf_reader_wish wish = {.threads = 2, .ahead = 2, .batch = 8, .input = 1};
    struct mf_dataset_wish w = wishes[2];
    const char *path = scratch_file("bad.h5");
    uint8_t x[200], byte = 0;
    struct mf_sample sample = {x, 0, (float[2]){0}, 0};
    struct mf_dataset *s = NULL;
    struct mf_reader *r = NULL;
    struct mf_batch b;
    size_t id[8] = {3, 4, 5, 11, 6, 7, 8, 9};
    long at;

    w.compress = compress;
    make(&w, 11, &sample);
    CHECK(mf_dataset_write(c, path, &w, NULL, make, &w) == MF_OK);
    at = place_of(path, x, compress ? 100 : values_of(&w)); /* deflate stores what it cannot pack */
    CHECK(at > 0 || compress);
    mf_comm_barrier(c);
    if (at > 0 && c->rank == 0) {
        FILE *file = fopen(path, "r+b");

        byte = (uint8_t)~x[30];
        CHECK(file && fseek(file, at + 30, SEEK_SET) == 0 && fwrite(&byte, 1, 1, file) == 1 && fclose(file) == 0);
    }
    mf_comm_barrier(c);
    CHECK(mf_dataset_open(c, path, &s) == MF_OK);
    if (!s || at <= 0) {
        mf_dataset_close(s);
        return;
    }
    CHECK(mf_reader_open(s, arena, &wish, &r) == MF_OK);
    mf_reader_want(r, 8, id);
    mf_reader_want(r, 3, id);
    CHECK(mf_reader_take(r, &b) == MF_INPUT);
    CHECK(strstr(mf_err_text(), "sample 11") && strstr(mf_err_text(), "bad.h5"));
    mf_reader_give(r, &b);
    CHECK(mf_reader_take(r, &b) == MF_OK && b.n == 3);
    mf_reader_close(r);
    mf_dataset_close(s);
}

/* One value out of place, by the name of a wish. */
struct senseless {
    const struct mf_dataset_wish *wish;
    int what;
};

static int make_senseless(void *context, size_t id, struct mf_sample *sample)
{
    const struct senseless *bad = context;

    MF_TRY(make((void *)(uintptr_t)bad->wish, id, sample));
    if (id != 12) return MF_OK;
    if (bad->what == 0) sample->label = 3;
    if (bad->what == 1) sample->real[1] = NAN;
    if (bad->what == 2) ((uint8_t *)sample->x)[4] = 2;
    if (bad->what == 3) ((float *)sample->x)[4] = INFINITY;
    return bad->what == 4 ? mf_fail(MF_NUMERIC, "no sample") : MF_OK;
}

static void refuse(const struct mf_comm *c)
{
    static const char *const say[] = {"label 3 of sample 12", "'length' of sample 12", "sample 12 holds 2",
                                      "sample 12 holds a value", "no sample"};

    for (int what = 0; what < 5; ++what) {
        struct senseless bad = {&wishes[what == 3 ? 3 : 0], what};

        CHECK(mf_dataset_write(c, scratch_file("not.h5"), bad.wish, NULL, make_senseless, &bad) ==
              (what == 4 ? MF_NUMERIC : MF_INPUT));
        CHECK_SAYS(strstr(mf_err_text(), say[what]), "%s", mf_err_text());
    }
    mf_comm_barrier(c);
    CHECK(access(scratch_file("not.h5"), F_OK) != 0 && access(scratch_file("not.h5.partial"), F_OK) != 0);
}

/* A file as another program makes it: x alone, or with arrays that do not fit. */
static void foreign(const struct mf_comm *c)
{
    static const uint8_t x[10 * 4 * 4] = {1, 2, 3};
    static const int32_t label[10] = {0, 1, 5};
    static const float real[10] = {0, 0, NAN};
    static const char *const say[] = {"", "label", "is no dataset", "'value0' of sample 2", "rows"};
    const char *path = scratch_file("foreign.h5");

    for (int what = 0; what < 5; ++what) {
        struct mf_dataset *s = NULL;
        struct mf_h5 *file;
        int rc;

        if (c->rank == 0) {
            CHECK(mf_h5_create(path, path, &file) == MF_OK);
            CHECK(mf_h5_write(file, what == 2 ? "/x" : "/samples/x", MF_H5_U8, 3, (size_t[3]){10, 4, 4}, x) == MF_OK);
            if (what != 2)
                CHECK(mf_h5_write(file, "/samples/label", MF_H5_I32, 1, (size_t[1]){what == 4 ? 9 : 10}, label) ==
                      MF_OK);
            if (what == 1)
                CHECK(mf_h5_put_texts(file, "/samples/label", "classes", 2, (const char *[2]){"a", "b"}) == MF_OK);
            if (what == 3)
                CHECK(mf_h5_write(file, "/samples/properties", MF_H5_F32, 2, (size_t[2]){10, 1}, real) == MF_OK);
            CHECK(mf_h5_close(file) == MF_OK);
        }
        mf_comm_barrier(c);
        rc = mf_dataset_open(c, path, &s);
        CHECK(rc == (what ? MF_INPUT : MF_OK));
        if (what) CHECK_SAYS(strstr(mf_err_text(), say[what]), "%s", mf_err_text());
        if (!what && s) {
            CHECK(s->samples == 10 && s->classes == 3 && strcmp(s->class_name[2], "5") == 0 && s->label[2] == 2);
            CHECK(s->count[MF_TRAIN] == 8 && !s->split_given);
            CHECK(s->mean[0] > 0 && s->deviation[0] > 0 && mf_dataset_needs(s, MF_TEST) == MF_OK);
            s->count[MF_TEST] = 0;
            CHECK(mf_dataset_needs(s, MF_TEST) == MF_INPUT && strstr(mf_err_text(), "test split"));
        }
        mf_dataset_close(s);
        mf_comm_barrier(c);
    }
}

/* Bytes of the header are changed at random: the file opens, or is refused; its samples are read, or refused. */
static void hostile(struct mf_arena *arena, int compress)
{
    enum { BYTES = 1 << 16 };
    const struct mf_reader_wish wish = {.ahead = 1, .batch = 8, .input = 1};
    struct mf_dataset_wish w = wishes[0];
    const char *path = scratch_file("hostile.h5");
    static char good[BYTES], bad[BYTES];
    struct mf_comm self;
    size_t n, opened = 0;
    FILE *from;

    mf_comm_self(&self);
    w.compress = compress;
    CHECK(mf_dataset_write(&self, path, &w, NULL, make, &w) == MF_OK);
    from = fopen(path, "rb");
    n = from ? fread(good, 1, BYTES, from) : 0;
    if (from) fclose(from);
    for (uint64_t i = 0; n && i < (SANITIZED ? 8U : getenv("MF_LONG") ? 60U : 12U); ++i) {
        struct mf_dataset *s = NULL;
        struct mf_reader *r = NULL;
        struct mf_batch b;
        const size_t id[3] = {0, 17, 52};
        int rc;

        memcpy(bad, good, n);
        for (uint64_t k = 0; k < 1 + i % 4; ++k)
            bad[(size_t)(mf_random_uniform(i, 5, k) * (double)n)] = (char)(256 * mf_random_uniform(i, 6, k));
        scratch_write(path, bad, n);
        rc = mf_dataset_open(&self, path, &s);
        CHECK(rc == MF_OK || rc == MF_INPUT);
        if (!s) continue;
        ++opened;
        if (s->samples == w.samples && mf_reader_open(s, arena, &wish, &r) == MF_OK) {
            mf_reader_want(r, 3, id);
            (void)mf_reader_take(r, &b);
        }
        mf_reader_close(r);
        mf_dataset_close(s);
    }
    CHECK(opened > 0);
}

int main(int argc, char **argv)
{
    struct mf_arena *arena;
    struct mf_comm c;

    mf_h5_begin();
    CHECK(mf_comm_open(&c, &argc, &argv, "test") == MF_OK);
    CHECK(mf_arena_open(&arena, NULL, 0) == MF_OK);
    scratch_open(&c);
    if (argc > 1) {
        hostile(arena, 0);
        hostile(arena, 4);
    } else {
        same_hash(&c, arena);
        split_fairly();
        teach_every_class();
        damage(&c, arena, 0);
        damage(&c, arena, 1);
        refuse(&c);
        foreign(&c);
    }
    scratch_close(&c);
    mf_arena_close(arena);
    mf_comm_close(&c);
    return failures != 0;
}
