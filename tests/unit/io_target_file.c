/* Descriptor files: what is saved on some ranks comes back the same on every rank. It has arguments for
 * io_target_file.py: "load FILE ..." or "import FILE LAG ..." prints a line for each. The line has the code, and what
 * it is or the refusal. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/target.h"
#include "mpi/comm.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"

enum { WIDE = 100000 };

static double value(uint64_t i) { return mf_random_uniform(7, 0, i); }

static void fill(double *at, size_t n, uint64_t first)
{
    for (size_t i = 0; at && i < n; ++i) at[i] = value(first + i);
}

/* Sides with levels 2, 3, 4; the second without cross, the third without Variation. */
static struct mf_target make(int sides, int phases)
{
    struct mf_target t = {.phases = phases, .lag = 3, .periodic = 1, .seam = sides == 3, .sides = sides};

    t.threshold = 0.6;
    t.steepness = 20;

    for (int p = 0; p < phases; ++p) t.label[p] = 10 * p - 3;
    for (int i = 0; i < 3; ++i) t.spacing[i] = 0.25 * (i + 1);
    snprintf(t.unit, sizeof t.unit, "\302\265m");
    snprintf(t.hash, sizeof t.hash, "%064d", 5);
    snprintf(t.source, sizeof t.source, "a/b \"c\".npy");
    for (int i = 0; i < sides; ++i) {
        struct mf_target_side *s = &t.side[i];
        size_t p = (size_t)phases, levels = 2 + (size_t)i;

        CHECK(mf_target_side_new(s, phases, levels, 3, i != 1) == MF_OK);
        s->nu = 100 + (size_t)i;
        s->nv = 50;
        s->slices = 7;
        fill(s->s2, p * levels * 25, 1000);
        fill(s->cross, p * (p - 1) / 2 * levels * 25, 2000);
        fill(s->variation, p * levels, 3000);
        fill(s->fraction, p * levels, 4000);
        for (int m = i; m < MF_MORE; ++m) {
            if (i == 0 && mf_more_entries((enum mf_more)m, 3) > WIDE)
                continue; /* the file that is damaged many times */
            CHECK(mf_target_side_more(s, phases, 3, (enum mf_more)m) == MF_OK);
            fill(s->more[m], mf_more_parts((enum mf_more)m, p) * levels * mf_more_entries((enum mf_more)m, 3),
                 5000 + (uint64_t)m);
        }
        CHECK(i == 1 || mf_target_example_new(s, 6, 7) == MF_OK);
        for (size_t k = 0; s->example && k < 42; ++k) s->example[k] = (double)(k % (p + 1)) - 1;
        if (i == 2) {
            free(s->variation);
            s->variation = NULL;
        }
    }
    return t;
}

static void same_array(const double *a, const double *b, size_t n)
{
    CHECK((a == NULL) == (b == NULL));
    if (a && b) CHECK(memcmp(a, b, n * sizeof *a) == 0);
}

static void same(const struct mf_target *a, const struct mf_target *b)
{
    size_t p = (size_t)a->phases;

    CHECK(a->phases == b->phases && a->lag == b->lag && a->periodic == b->periodic && a->seam == b->seam);
    CHECK(a->threshold == b->threshold && a->steepness == b->steepness);
    CHECK(a->sides == b->sides && memcmp(a->spacing, b->spacing, sizeof a->spacing) == 0);
    CHECK(memcmp(a->label, b->label, p * sizeof(long)) == 0);
    CHECK(strcmp(a->unit, b->unit) == 0 && strcmp(a->hash, b->hash) == 0 && strcmp(a->source, b->source) == 0);
    for (int i = 0; i < a->sides; ++i) {
        const struct mf_target_side *x = &a->side[i], *y = &b->side[i];

        CHECK(x->levels == y->levels && x->nu == y->nu && x->nv == y->nv && x->slices == y->slices);
        if (x->levels != y->levels) continue;
        same_array(x->s2, y->s2, p * x->levels * 25);
        same_array(x->cross, y->cross, p * (p - 1) / 2 * x->levels * 25);
        same_array(x->variation, y->variation, p * x->levels);
        same_array(x->fraction, y->fraction, p * x->levels);
        for (int m = 0; m < MF_MORE; ++m)
            same_array(x->more[m], y->more[m],
                       mf_more_parts((enum mf_more)m, p) * x->levels * mf_more_entries((enum mf_more)m, 3));
        CHECK(x->example_nu == y->example_nu && x->example_nv == y->example_nv);
        same_array(x->example, y->example, x->example_nu * x->example_nv);
    }
}

static void round_trip(const struct mf_comm *comm, const char *path, int sides, int phases)
{
    struct mf_target t = make(sides, phases), back = {0};
    double row[3] = {1, 0.5, 1e-3};
    struct mf_provenance p = {"characterize", "lag: 3\n", "", 4, "{\"a\": 1}", 1, row};

    CHECK(mf_target_save(comm, path, &t, &p) == MF_OK);
    CHECK(mf_target_load(comm, path, &back) == MF_OK);
    if (back.sides) same(&t, &back);
    mf_target_free(&back);
    mf_target_free(&t);
}

/* A refused write leaves the old file and nothing else. */
static void refused(const struct mf_comm *comm, const char *path)
{
    struct mf_target t = make(1, 1), back = {0};
    struct stat before, after;

    mf_comm_barrier(comm);
    CHECK(stat(path, &before) == 0);
    mf_comm_barrier(comm);
    mf_fault_set("io.rename");
    CHECK(mf_target_save(comm, path, &t, NULL) == MF_OUTPUT);
    mf_fault_set(NULL);
    CHECK(stat(path, &after) == 0 && before.st_ino == after.st_ino && before.st_size == after.st_size);
    CHECK(mf_target_save(comm, "/nowhere/at/all.h5", &t, NULL) == MF_OUTPUT);
    CHECK(mf_target_load(comm, "missing.h5", &back) == MF_INPUT && !back.side[0].s2);
    mf_target_free(&t);
}

/* "CODE what it is, or the refusal" */
static void tell(int rc, struct mf_target *t)
{
    size_t width = 2 * t->lag - 1;

    if (rc != MF_OK)
        printf("%d %s\n", rc, mf_err_text());
    else
        printf("0 %d phases, %d sides, lag %zu, centre %.17g\n", t->phases, t->sides, t->lag,
               t->side[0].s2[width * width / 2]);
    mf_target_free(t);
}

int main(int argc, char **argv)
{
    struct mf_target t = {0};
    struct mf_comm comm;
    char path[64];

    CHECK(mf_comm_open(&comm, &argc, &argv, "test") == MF_OK);
    for (int i = 2; i < argc && strcmp(argv[1], "load") == 0; ++i) tell(mf_target_load(&comm, argv[i], &t), &t);
    for (int i = 2; i + 1 < argc && strcmp(argv[1], "import") == 0; i += 2)
        tell(mf_target_import(&comm, argv[i], (size_t)strtoul(argv[i + 1], NULL, 10), 1, &t), &t);
    if (argc < 3) {
        snprintf(path, sizeof path, "io_target_file_%d.h5", comm.size);
        round_trip(&comm, path, 3, 3);
        round_trip(&comm, path, 1, 1);
        round_trip(&comm, path, 1, 4);
        refused(&comm, path);
    }
    mf_comm_close(&comm);
    return failures != 0;
}
