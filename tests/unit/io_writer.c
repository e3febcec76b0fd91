/* A set that is written by windows has the arrays that its samples say, on any number of ranks. So it has after
 * interruptions, kills, full disks and failed names, and when it becomes longer. Other settings and other files are
 * refused. */
#include "io/dataset_writer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "io/h5.h"
#include "io/hash.h"
#include "io/seal.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/rng.h"
#include "tests/check.h"
#include "tests/scratch.h"

enum { SAMPLES = 53, MORE = 70, PASS = 4, VALUES = 6 * 5 };

static const char *const classes[] = {"round", "flat"}, *const reals[] = {"fraction", "length"};
static const struct mf_writer_array arrays[] = {{"/activations/mid", MF_H5_F32, 3, {2, 3, 4}},
                                                {"/activations/last", MF_H5_I32, 0, {0}}};

static struct mf_comm comm;

static struct mf_writer_wish wish_of(size_t samples, int phases)
{
    return (struct mf_writer_wish){.set = {.samples = samples,
                                           .ndim = 2,
                                           .dims = {1, 6, 5, 1},
                                           .phases = phases,
                                           .is_float = !phases,
                                           .classes = 2,
                                           .class_name = classes,
                                           .reals = 2,
                                           .real_name = reals,
                                           .seeded = 1,
                                           .part = {0.8, 0.1},
                                           .split_seed = 7},
                                   .arrays = 2,
                                   .array = arrays,
                                   .settings = "seed: 7\nsteps: 18\n",
                                   .window = PASS};
}

/* Values of a window: they follow from the numbers of samples. */
struct values {
    uint8_t phase[PASS * VALUES];
    float grey[PASS * VALUES], real[PASS * 2], mid[PASS * 24];
    int32_t label[PASS], last[PASS];
    uint64_t seed[PASS];
    const void *row[2];
};

static struct mf_writer_window make(const struct mf_writer_wish *wish, size_t first, size_t count, struct values *v)
{
    for (size_t k = 0; k < count; ++k) {
        const size_t id = first + k;

        for (size_t i = 0; i < VALUES; ++i) {
            const double u = mf_random_uniform(3, 99, id * 1000 + i);

            v->phase[k * VALUES + i] = u > 0.5;
            v->grey[k * VALUES + i] = (float)(3 * u - 100);
        }
        for (size_t i = 0; i < 24; ++i) v->mid[k * 24 + i] = (float)(id * 24 + i);
        v->real[2 * k] = (float)id;
        v->real[2 * k + 1] = (float)id / 3;
        v->label[k] = (int32_t)(id % 2);
        v->last[k] = -(int32_t)id;
        v->seed[k] = ~(uint64_t)id;
    }
    v->row[0] = v->mid;
    v->row[1] = v->last;
    return (struct mf_writer_window){
        first, count, wish->set.phases ? (const void *)v->phase : v->grey, v->label, v->real, v->seed, v->row};
}

/* Writes at most @p rounds windows of each rank that are not complete yet. */
static int write_some(struct mf_writer *w, const struct mf_writer_wish *wish, size_t rounds)
{
    const size_t n = wish->set.samples, passes = (n + PASS - 1) / PASS, ranks = (size_t)comm.size;
    struct values v;
    size_t todo[(MORE + PASS - 1) / PASS], todos = 0;
    int rc = MF_OK;

    for (size_t p = 0; p < passes; ++p) {
        const size_t count = n - p * PASS < PASS ? n - p * PASS : PASS;

        if (memchr(mf_writer_status(w) + p * PASS, 0, count)) todo[todos++] = p;
    }
    for (size_t r = 0; rc == MF_OK && r * ranks < todos && r < rounds; ++r) {
        const size_t at = r * ranks + (size_t)comm.rank, first = at < todos ? todo[at] * PASS : 0;
        const size_t count = at >= todos ? 0 : n - first < PASS ? n - first : PASS;
        const struct mf_writer_window window = make(wish, first, count, &v);

        rc = mf_agree(&comm, mf_writer_put(w, &window));
    }
    return rc;
}

static struct mf_writer *open_it(const char *path, const struct mf_writer_wish *wish)
{
    const struct mf_provenance from = {.command = "test", .options = "", .input_hash = "", .seed = 7};
    struct mf_writer *w = NULL;
    const int rc = mf_writer_open(&comm, path, wish, &from, &w);

    CHECK_SAYS(rc == MF_OK, "%s", mf_err_text());
    return w;
}

/* All that a run does without an interruption. */
static void write_all(const char *path, const struct mf_writer_wish *wish)
{
    struct mf_writer *w = open_it(path, wish);

    CHECK(write_some(w, wish, SIZE_MAX) == MF_OK);
    CHECK(mf_writer_finish(w) == MF_OK);
    CHECK(mf_writer_close(w) == MF_OK);
}

static int is_there(const char *path)
{
    struct stat is;

    mf_comm_barrier(&comm);
    return stat(path, &is) == 0;
}

/* ---- what a set must be ---- */

static void check_rows(struct mf_h5 *h5, const struct mf_writer_wish *wish)
{
    float mid[24];
    int32_t last;
    struct values v;

    for (size_t i = 0; i < wish->set.samples; ++i) {
        (void)make(wish, i, 1, &v);
        CHECK(mf_h5_read_rows(h5, "/activations/mid", MF_H5_F32, i, 1, mid) == MF_OK);
        CHECK(mf_h5_read_rows(h5, "/activations/last", MF_H5_I32, i, 1, &last) == MF_OK);
        CHECK(memcmp(mid, v.mid, sizeof mid) == 0 && last == v.last[0]);
    }
}

static void check_facts(const struct mf_dataset *s, const struct mf_writer_wish *wish)
{
    struct values v;

    CHECK(s->samples == wish->set.samples && s->phases == wish->set.phases && s->classes == 2 && s->reals == 2);
    for (size_t i = 0; i < s->samples; ++i) {
        (void)make(wish, i, 1, &v);
        CHECK(s->label[i] == v.label[0] && s->seed[i] == v.seed[0] && s->status[i] == 1);
        CHECK(memcmp(s->real + 2 * i, v.real, 2 * sizeof(float)) == 0);
    }
    CHECK_NEAR((double)s->count[MF_TRAIN], 0.8 * (double)s->samples, 3);
    CHECK(s->count[MF_TRAIN] + s->count[MF_VALIDATION] + s->count[MF_TEST] == s->samples);
}

static void check_x(const struct mf_dataset *s, const struct mf_writer_wish *wish, struct mf_arena *arena)
{
    const struct mf_reader_wish reading = {.ahead = 1, .batch = 1, .raw = 1};
    struct mf_reader *r;
    struct mf_batch b;
    struct values v;

    CHECK(mf_reader_open(s, arena, &reading, &r) == MF_OK);
    for (size_t i = 0; i < s->samples; ++i) {
        const struct mf_writer_window window = make(wish, i, 1, &v);

        mf_reader_want(r, 1, &i);
        CHECK(mf_reader_take(r, &b) == MF_OK);
        CHECK(memcmp(b.x, window.x, s->bytes) == 0);
        mf_reader_give(r, &b);
    }
    mf_reader_close(r);
}

/* An ordinary dataset, sealed, with all samples as they should be. Its hash, which covers the splits. */
static void check_set(const char *path, const struct mf_writer_wish *wish, char hash[MF_HASH_TEXT])
{
    struct mf_dataset *s = NULL;
    struct mf_arena *arena;
    struct mf_h5 *h5;
    char partial[600];

    snprintf(partial, sizeof partial, "%s.partial", path);
    CHECK(!is_there(partial));
    CHECK(mf_seal_check(&comm, path, NULL) == MF_OK);
    CHECK(mf_arena_open(&arena, NULL, 0) == MF_OK);
    CHECK(mf_dataset_open(&comm, path, &s) == MF_OK);
    check_facts(s, wish);
    check_x(s, wish, arena);
    memcpy(hash, s->hash, MF_HASH_TEXT);
    CHECK(mf_h5_open(path, &h5) == MF_OK);
    check_rows(h5, wish);
    CHECK(mf_h5_close(h5) == MF_OK);
    mf_dataset_close(s);
    mf_arena_close(arena);
}

/* ---- cases ---- */

static void interrupted(int phases)
{
    const char *path = scratch_file("interrupted.h5");
    const struct mf_writer_wish wish = wish_of(SAMPLES, phases), longer = wish_of(MORE, phases);
    char once[MF_HASH_TEXT], hash[MF_HASH_TEXT], grown[MF_HASH_TEXT];
    uint8_t split[2][MORE];
    struct mf_dataset *s;
    struct mf_writer *w;
    size_t rounds = 1;

    write_all(scratch_file("once.h5"), &wish);
    check_set(scratch_file("once.h5"), &wish, once);
    do {
        w = open_it(path, &wish);
        CHECK(write_some(w, &wish, rounds) == MF_OK);
        if (rounds == 1) CHECK(mf_writer_found(w) == 0);
        CHECK(mf_writer_close(w) == MF_OK);
        CHECK(!is_there(path));
    } while (rounds++ < 3);
    write_all(path, &wish);
    check_set(path, &wish, hash);
    CHECK(strcmp(hash, once) == 0);
    w = open_it(path, &wish); /* there is nothing to do */
    CHECK(mf_writer_found(w) == SAMPLES && mf_writer_finish(w) == MF_OK && mf_writer_close(w) == MF_OK);
    check_set(path, &wish, hash);
    CHECK(mf_dataset_open(&comm, path, &s) == MF_OK);
    memcpy(split[0], s->split, SAMPLES);
    mf_dataset_close(s);
    w = open_it(path, &longer);
    CHECK(mf_writer_found(w) == SAMPLES && write_some(w, &longer, 1) == MF_OK && mf_writer_close(w) == MF_OK);
    CHECK(is_there(path)); /* until the longer one is complete */
    write_all(path, &longer);
    check_set(path, &longer, hash);
    write_all(scratch_file("long.h5"), &longer);
    check_set(scratch_file("long.h5"), &longer, grown);
    CHECK(strcmp(hash, grown) == 0);
    CHECK(mf_dataset_open(&comm, path, &s) == MF_OK);
    memcpy(split[1], s->split, SAMPLES);
    mf_dataset_close(s);
    CHECK(memcmp(split[0], split[1], SAMPLES) == 0);
}

static void lengthened(void)
{
    const char *path = scratch_file("lengthened.h5");
    const struct mf_writer_wish wish = wish_of(SAMPLES, 2), longer = wish_of(MORE, 2);
    struct mf_writer *w = open_it(path, &wish);
    char hash[MF_HASH_TEXT];
    size_t done;

    CHECK(write_some(w, &wish, 2) == MF_OK && mf_writer_close(w) == MF_OK);
    w = open_it(path, &longer);
    done = 2 * (size_t)comm.size * PASS;
    CHECK(mf_writer_found(w) == (done < SAMPLES ? done : SAMPLES) && mf_writer_close(w) == MF_OK);
    write_all(path, &longer);
    check_set(path, &longer, hash);
}

/* A full disk at any visit of any rank, and a name that is not given. */
static void faults(void)
{
    const char *path = scratch_file("faults.h5");
    const struct mf_writer_wish wish = wish_of(SAMPLES, 2);
    struct mf_writer *w = open_it(path, &wish);
    char hash[MF_HASH_TEXT], fault[60];

    CHECK(write_some(w, &wish, 1) == MF_OK && mf_writer_close(w) == MF_OK);
    for (int visit = 1; visit < 5; ++visit) {
        w = open_it(path, &wish);
        snprintf(fault, sizeof fault, "io.write:visit=%d:rank=%d", 2 * visit, comm.size - 1);
        mf_fault_set(fault);
        CHECK(write_some(w, &wish, 2) == MF_OUTPUT);
        CHECK(strstr(mf_err_text(), "complete samples stay in '") && strstr(mf_err_text(), ".partial'"));
        mf_fault_set(NULL);
        CHECK(mf_writer_close(w) == MF_OK);
        CHECK(!is_there(path));
    }
    w = open_it(path, &wish);
    CHECK(write_some(w, &wish, SIZE_MAX) == MF_OK);
    mf_fault_set("io.rename:rank=0");
    CHECK(mf_writer_finish(w) == MF_OUTPUT);
    mf_fault_set(NULL);
    CHECK(mf_writer_close(w) == MF_OK);
    w = open_it(path, &wish);
    CHECK(mf_writer_found(w) == SAMPLES && mf_writer_finish(w) == MF_OK && mf_writer_close(w) == MF_OK);
    check_set(path, &wish, hash);
}

/* A run that completes no sample leaves no file. One that was killed then is in nobody's way. */
static void nothing(void)
{
    const char *path = scratch_file("nothing.h5"), *partial = scratch_file("nothing.h5.partial");
    struct mf_writer_wish wish = wish_of(SAMPLES, 2);
    struct mf_writer *w = open_it(path, &wish);

    CHECK(is_there(partial) && mf_writer_close(w) == MF_OK && !is_there(partial));
    w = open_it(path, &wish);
    mf_fault_set("io.write:visit=2");
    CHECK(write_some(w, &wish, 1) == MF_OUTPUT && !strstr(mf_err_text(), "complete samples"));
    mf_fault_set(NULL);
    CHECK(mf_writer_close(w) == MF_OK && !is_there(partial));
    if (comm.size > 1) return;
    wish.seconds = 1e9;
    if (fork() == 0) _exit(write_some(open_it(path, &wish), &wish, 2));
    CHECK(wait(NULL) > 0 && is_there(partial));
    wish.settings = "seed: 8\n";
    write_all(path, &wish);
    CHECK(!is_there(partial));
}

static void change_byte(const char *path, uint64_t at)
{
    FILE *file = fopen(path, "r+b");
    int byte;

    CHECK(file && fseek(file, (long)at, SEEK_SET) == 0);
    byte = fgetc(file);
    CHECK(fseek(file, (long)at, SEEK_SET) == 0 && fputc(byte ^ 1, file) != EOF && fclose(file) == 0);
}

/* Complete samples that the disk has changed since are made again, and the others stay. */
static void damaged(void)
{
    const char *path = scratch_file("damaged.h5"), *partial = scratch_file("damaged.h5.partial");
    const struct mf_writer_wish wish = wish_of(SAMPLES, 2), longer = wish_of(MORE, 2);
    struct mf_writer *w = open_it(path, &wish);
    const size_t done = (size_t)comm.size * 2 * PASS;
    struct mf_h5_shape shape;
    struct mf_h5 *h5;
    char hash[MF_HASH_TEXT];

    CHECK(write_some(w, &wish, 2) == MF_OK && mf_writer_close(w) == MF_OK);
    CHECK(mf_h5_open(partial, &h5) == MF_OK && mf_h5_shape(h5, "/samples/x", &shape) == MF_OK);
    CHECK(mf_h5_close(h5) == MF_OK);
    mf_comm_barrier(&comm);
    for (size_t id = 1; comm.rank == 0 && id < 7; id += 5) change_byte(partial, shape.offset + id * VALUES + 3);
    mf_comm_barrier(&comm);
    w = open_it(path, &wish);
    CHECK(mf_writer_found(w) == done - 2 && !mf_writer_status(w)[1] && !mf_writer_status(w)[6] &&
          mf_writer_status(w)[5]);
    CHECK(mf_writer_close(w) == MF_OK);
    w = open_it(path, &longer);
    CHECK(mf_writer_found(w) == done - 2 && mf_writer_close(w) == MF_OK);
    write_all(path, &longer);
    check_set(path, &longer, hash);
}

/* The system tells once that the disk does not have a window: it is not complete, also after a close that hears
 * nothing. */
static void unflushed(void)
{
    const char *path = scratch_file("unflushed.h5");
    const struct mf_writer_wish wish = wish_of(SAMPLES, 2);
    struct mf_writer *w = open_it(path, &wish);
    char hash[MF_HASH_TEXT], fault[60];

    snprintf(fault, sizeof fault, "io.flush:visit=2:rank=%d", comm.size - 1);
    mf_fault_set(fault);
    CHECK(write_some(w, &wish, 2) == MF_OUTPUT);
    mf_fault_set(NULL);
    CHECK(mf_writer_close(w) == MF_OK);
    w = open_it(path, &wish);
    CHECK(mf_writer_found(w) == (2 * (size_t)comm.size - 1) * PASS && mf_writer_close(w) == MF_OK);
    write_all(path, &wish);
    check_set(path, &wish, hash);
}

/* A file that cannot be begun is not left behind. */
static void not_begun(void)
{
    static const char *const fault[] = {"io.create:rank=0", "io.rename:rank=0", "io.write:rank=0"};
    const struct mf_writer_wish wish = wish_of(SAMPLES, 2);
    const int files = (mf_comm_barrier(&comm), scratch_count(0));
    struct mf_writer *w;

    for (size_t i = 0; i < sizeof fault / sizeof *fault; ++i) {
        mf_comm_barrier(&comm);
        mf_fault_set(fault[i]);
        CHECK(mf_writer_open(&comm, scratch_file("never.h5"), &wish, NULL, &w) == MF_OUTPUT);
        mf_fault_set(NULL);
        mf_comm_barrier(&comm);
        CHECK(scratch_count(0) == files);
    }
}

static void refused_by(const char *path, const struct mf_writer_wish *wish, int code, const char *says)
{
    struct mf_writer *w;

    CHECK(mf_writer_open(&comm, path, wish, NULL, &w) == code);
    CHECK_SAYS(strstr(mf_err_text(), says), "'%s' is not in: %s", says, mf_err_text());
}

static void refusals(void)
{
    const char *path = scratch_file("refusals.h5"), *other = scratch_file("other.h5");
    const struct mf_writer_wish wish = wish_of(SAMPLES, 2);
    struct mf_writer_wish wrong = wish;
    struct mf_writer *w = open_it(path, &wish);
    struct values v;
    struct mf_writer_window window = make(&wish, 0, 1, &v);
    char hash[MF_HASH_TEXT], *long_text = calloc(MF_WRITER_SETTINGS + 1, 1);

    if (!long_text) abort();
    memset(long_text, 'a', MF_WRITER_SETTINGS);
    CHECK(mf_writer_finish(w) == MF_USAGE && strstr(mf_err_text(), "has 0 of its 53 samples"));
    CHECK(write_some(w, &wish, 1) == MF_OK); /* only samples were missing */
    CHECK(mf_writer_finish(w) == MF_USAGE && mf_writer_close(w) == MF_OK);
    for (int finished = 0; finished < 2; ++finished) {
        wrong.settings = "seed: 8\nguidance: 2\n";
        refused_by(path, &wrong, MF_USAGE,
                   "seed: 8 (in the file: 7), guidance: 2 (in the file: none), steps: 18 (now not there)");
        wrong = wish_of(SAMPLES - 1, 2);
        refused_by(path, &wrong, MF_USAGE, "is of 53 samples, more than 52");
        wrong = wish;
        wrong.arrays = 1;
        refused_by(path, &wrong, MF_USAGE, "/activations/last: int32 (now not there)");
        wrong = wish;
        if (!finished) write_all(path, &wish);
    }
    check_set(path, &wish, hash);
    wrong.settings = long_text;
    refused_by(path, &wrong, MF_USAGE, "bytes of settings, at most 1048576 are possible");
    wrong.settings = "seed: 8\n";
    wrong.anew = 1;
    w = open_it(path, &wrong);
    CHECK(mf_writer_found(w) == 0 && is_there(path) && mf_writer_close(w) == MF_OK);
    if (comm.rank == 0) scratch_write(other, "text", 4);
    mf_comm_barrier(&comm);
    refused_by(other, &wish, MF_INPUT, "HDF5");
    w = open_it(scratch_file("value.h5"), &wish);
    window.count = comm.rank == 0;
    v.phase[3] = 2;
    CHECK(mf_agree(&comm, mf_writer_put(w, &window)) == MF_INPUT && strstr(mf_err_text(), "none of the phases 0 to 1"));
    CHECK(mf_writer_close(w) == MF_OK);
    free(long_text);
}

static int make_sample(void *context, size_t id, struct mf_sample *sample)
{
    struct values v;

    (void)make(context, id, 1, &v);
    memcpy(sample->x, v.phase, VALUES);
    memcpy(sample->real, v.real, 2 * sizeof(float));
    sample->label = v.label[0];
    sample->seed = v.seed[0];
    return MF_OK;
}

/* A partial file of the other kind: samples of a writer are spared, and a set without settings is replaced. */
static void beside(void)
{
    const char *path = scratch_file("beside.h5"), *begun = scratch_file("begun.h5"), *text = scratch_file("text.h5");
    struct mf_writer_wish wish = wish_of(SAMPLES, 2);
    struct mf_writer *w = open_it(path, &wish);
    char hash[MF_HASH_TEXT];
    size_t done;

    CHECK(write_some(w, &wish, 1) == MF_OK && mf_writer_close(w) == MF_OK);
    CHECK(mf_dataset_write(&comm, path, &wish.set, NULL, make_sample, &wish) == MF_USAGE);
    CHECK_SAYS(strstr(mf_err_text(), "beside.h5.partial' has samples of a set that is not complete"), "%s",
               mf_err_text());
    w = open_it(path, &wish);
    done = (size_t)comm.size * PASS;
    CHECK(mf_writer_found(w) == done && mf_writer_close(w) == MF_OK);
    CHECK(mf_dataset_write(&comm, scratch_file("begun.h5.partial"), &wish.set, NULL, make_sample, &wish) == MF_OK);
    write_all(begun, &wish);
    check_set(begun, &wish, hash);
    CHECK(mf_dataset_write(&comm, begun, &wish.set, NULL, make_sample, &wish) == MF_USAGE);
    CHECK_SAYS(strstr(mf_err_text(), "begun.h5' is a set of generated samples"), "%s", mf_err_text());
    if (comm.rank == 0) scratch_write(scratch_file("text.h5.partial"), "text", 4);
    mf_comm_barrier(&comm);
    refused_by(text, &wish, MF_INPUT, "; remove that file, or give another output");
    CHECK(mf_dataset_write(&comm, text, &wish.set, NULL, make_sample, &wish) == MF_OK);
}

/* Given splits are part of a set: it does not go on with others, and may become longer with the same. */
static void given_splits(void)
{
    const char *path = scratch_file("given.h5");
    uint8_t split[MORE] = {MF_TEST, MF_VALIDATION};
    struct mf_writer_wish wish = wish_of(SAMPLES, 2), longer = wish_of(MORE, 2);
    struct mf_writer *w;

    wish.set.split = longer.set.split = split;
    w = open_it(path, &wish);
    CHECK(write_some(w, &wish, 1) == MF_OK && mf_writer_close(w) == MF_OK);
    split[MORE - 1] = MF_TEST;
    w = open_it(path, &longer);
    CHECK(mf_writer_found(w) == (size_t)comm.size * PASS && mf_writer_close(w) == MF_OK);
    split[7] = MF_VALIDATION;
    refused_by(path, &longer, MF_USAGE, "sample 7 is of split train there, not validation");
}

static size_t count_of(const uint8_t *split, size_t first, size_t n, int which)
{
    size_t count = 0;

    for (size_t i = first; i < first + n; ++i) count += split[i] == which;
    return count;
}

/* Shares of hundredths are those of every hundred samples; a share that no block has is refused. */
static void small_shares(void)
{
    enum { HUNDREDS = 3 };
    const char *path = scratch_file("shares.h5");
    struct mf_writer_wish wish = wish_of(100 * HUNDREDS, 2);
    uint8_t split[100 * HUNDREDS];
    struct mf_writer *w;
    struct mf_h5 *h5;

    wish.set.part[0] = 0.98;
    wish.set.part[1] = 0.01;
    w = open_it(path, &wish);
    CHECK(mf_h5_open(scratch_file("shares.h5.partial"), &h5) == MF_OK);
    CHECK(mf_h5_read_rows(h5, "/index/split", MF_H5_U8, 0, 100 * HUNDREDS, split) == MF_OK);
    CHECK(mf_h5_close(h5) == MF_OK && mf_writer_close(w) == MF_OK);
    for (size_t k = 0; k < HUNDREDS; ++k)
        CHECK(count_of(split, 100 * k, 100, MF_TRAIN) == 98 && count_of(split, 100 * k, 100, MF_VALIDATION) == 1);
    wish.set.part[1] = 0.00999;
    refused_by(path, &wish, MF_USAGE, "shares 0.98 and 0.00999 of the splits");
    wish = wish_of(4, 2);
    wish.set.filled = 1;
    refused_by(scratch_file("few.h5"), &wish, MF_INPUT, "split would be empty");
}

/* The process ends in the middle of its work, whether it has flushed or not. */
static void killed(double seconds)
{
    const char *path = scratch_file(seconds > 0 ? "late.h5" : "killed.h5");
    struct mf_writer_wish wish = wish_of(SAMPLES, 2);
    struct mf_writer *w;
    char hash[MF_HASH_TEXT];
    int status = 0;
    pid_t child;

    wish.seconds = seconds;
    child = fork();
    if (child == 0) {
        w = open_it(path, &wish);
        _exit(write_some(w, &wish, 5));
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    w = open_it(path, &wish);
    CHECK(mf_writer_found(w) == (seconds > 0 ? 0 : 5 * PASS) && mf_writer_close(w) == MF_OK);
    write_all(path, &wish);
    check_set(path, &wish, hash);
}

int main(int argc, char **argv)
{
    if (mf_comm_open(&comm, &argc, &argv, "test") != MF_OK) return 1;
    mf_log_open(comm.rank, comm.size, MF_QUIET);
    mf_err_rank(comm.rank);
    scratch_open(&comm);
    for (int phases = 0; phases < 3; phases += 2) {
        interrupted(phases);
        mf_comm_barrier(&comm);
        if (comm.rank == 0) scratch_count(1);
        mf_comm_barrier(&comm);
    }
    lengthened();
    faults();
    nothing();
    damaged();
    unflushed();
    not_begun();
    refusals();
    beside();
    given_splits();
    small_shares();
    if (comm.size == 1) {
        killed(0);
        killed(1e9);
    }
    scratch_close(&comm);
    mf_comm_close(&comm);
    return failures != 0;
}
