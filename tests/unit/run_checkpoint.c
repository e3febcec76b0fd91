/* A checkpoint gives back what was saved, to any rank whatever part it asks for; what is damaged or missing is refused.
 */
#include "src/run/checkpoint.h"

#include "src/base/err.h"
#include "tests/check.h"
#include "tests/scratch.h"

enum { NZ = 9, NY = 3, NX = 4, PLANE = NY * NX, FIELDS = 2 };

static const size_t dims[3] = {NZ, NY, NX};
static struct mf_comm comm;

static float value_of(size_t field, size_t i) { return (float)(field * 1000 + i) + 0.25F; }

static int fill(const char *path, int64_t turn)
{
    static float x[FIELDS * NZ * PLANE];
    static uint8_t label[NZ * PLANE];
    static const double numbers[3] = {1.5, -2, 1e300};
    struct mf_checkpoint c = {.problem = "a: 1\nb: 2\n",
                              .slab = mf_slab_of(&comm, dims, comm.rank),
                              .fields = FIELDS,
                              .vectors = 1,
                              .vector = {x},
                              .label = label,
                              .numbers = 3,
                              .number = numbers};
    const size_t n = mf_slab_voxels(&c.slab);

    for (size_t i = 0; i < n; ++i) label[i] = (uint8_t)(c.slab.first * PLANE + i);
    for (size_t f = 0; f < FIELDS; ++f)
        for (size_t i = 0; i < n; ++i) x[f * n + i] = value_of(f, c.slab.first * PLANE + i);
    return mf_checkpoint_write(&comm, path, turn, &c);
}

/* As rank @p rank of @p ranks would. */
static void read_as(struct mf_checkpoint_in *in, int rank, int ranks)
{
    const struct mf_comm as = {.rank = rank, .size = ranks};
    const struct mf_slab slab = mf_slab_of(&as, dims, rank);
    const size_t n = mf_slab_voxels(&slab);
    float x[FIELDS * NZ * PLANE];
    uint8_t label[NZ * PLANE];

    CHECK(mf_checkpoint_vector(in, 0, &slab, NULL, x) == MF_OK && mf_checkpoint_label(in, &slab, NULL, label) == MF_OK);
    for (size_t i = 0; i < n; ++i) CHECK(label[i] == (uint8_t)(slab.first * PLANE + i));
    for (size_t f = 0; f < FIELDS; ++f)
        for (size_t i = 0; i < n; ++i) CHECK(x[f * n + i] == value_of(f, slab.first * PLANE + i));
}

static void check_round(const char *path)
{
    struct mf_checkpoint_in *in = NULL;
    const struct mf_checkpoint_head *head;

    CHECK(fill(path, 7) == MF_OK && mf_checkpoint_open(&comm, path, 0, &in) == MF_OK);
    head = mf_checkpoint_head(in);
    CHECK(head->fields == FIELDS && head->vectors == 1 && head->labels && head->numbers == 3);
    CHECK(head->number[0] == 1.5 && head->number[1] == -2 && head->number[2] == 1e300);
    CHECK(strcmp(head->problem, "a: 1\nb: 2\n") == 0);
    for (int ranks = 1; ranks < 12; ++ranks)
        for (int rank = 0; rank < ranks; ++rank) read_as(in, rank, ranks);
    mf_checkpoint_close(in);
}

static void damage(const char *stem, int which)
{
    char *path = mf_checkpoint_name(stem, which);

    if (comm.rank == 0) {
        FILE *file = fopen(path, "r+b");

        CHECK(file && fseek(file, 300, SEEK_SET) == 0 && fputc('!', file) == '!' && fclose(file) == 0);
    }
    mf_comm_barrier(&comm);
    free(path);
}

static void check_pair(const char *stem)
{
    struct mf_checkpoint_pair pair;
    struct mf_checkpoint_in *in;

    mf_checkpoint_look(&comm, stem, 1, &pair);
    CHECK(pair.turn[0] == -1 && mf_checkpoint_newest(&comm, stem, &pair, &in) == MF_OK && !in);
    for (int i = 0; i < 2; ++i) {
        char *path = mf_checkpoint_name(stem, i);

        CHECK(fill(path, 4 + i) == MF_OK);
        free(path);
    }
    for (int damaged = 0; damaged < 3; ++damaged) {
        if (damaged) damage(stem, 2 - damaged);
        mf_checkpoint_look(&comm, stem, 1, &pair);
        CHECK(pair.newest == 1 || damaged);
        in = NULL;
        CHECK(mf_checkpoint_newest(&comm, stem, &pair, &in) == (damaged < 2 ? MF_OK : MF_INPUT));
        CHECK(damaged == 2 || (in && pair.newest == 1 - damaged));
        mf_checkpoint_close(in);
    }
    CHECK(strstr(mf_err_text(), "can be read"));
    mf_checkpoint_remove(&comm, stem);
}

int main(int argc, char **argv)
{
    CHECK(mf_comm_open(&comm, &argc, &argv, "test") == MF_OK);
    scratch_open(&comm);
    check_round(scratch_file("round.h5"));
    check_pair(scratch_file("pair"));
    scratch_close(&comm);
    mf_comm_close(&comm);
    return failures != 0;
}
