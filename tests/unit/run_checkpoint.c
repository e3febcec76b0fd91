/* A checkpoint gives back every number and array by its name, to any rank whatever piece it asks for. Damaged or
 * missing parts, another shape, or another schema are refused by name. */
#include "src/run/checkpoint.h"

#include "io/h5.h"
#include "io/seal.h"
#include "src/base/cut.h"
#include "src/base/err.h"
#include "tests/check.h"
#include "tests/scratch.h"

enum { NZ = 9, NY = 3, NX = 4, FIELDS = 2, FIELD = FIELDS * NZ * NY * NX, RAGGED = 23, WHOLE = 7 };

static struct mf_comm comm;

/* A hundred letters. */
#define TEN  "abcdefghij"
#define LONG TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

/* Every type, cut along every axis, by nearly equal pieces. Also a ragged list, and an array that all ranks hold, of
 * which rank 0's is saved. */
static const struct mf_piece arrays[] = {
    {.name = "field", .type = MF_F32, .ndim = 4, .dims = {FIELDS, NZ, NY, NX}, .cut = 1},
    {.name = "label", .type = MF_U8, .ndim = 3, .dims = {NZ, NY, NX}, .cut = 0},
    {.name = "group/last", .type = MF_F64, .ndim = 2, .dims = {NY, NX}, .cut = 1},
    {.name = "group/i32", .type = MF_I32, .ndim = 1, .dims = {NX}, .cut = 0},
    {.name = "group/i64", .type = MF_I64, .ndim = 2, .dims = {NX, NY}, .cut = 0},
    {.name = "half", .type = MF_F16, .ndim = 2, .dims = {NZ, NX}, .cut = 0},
    {.name = "brain", .type = MF_BF16, .ndim = 1, .dims = {RAGGED}, .cut = 0},
    {.name = "ragged", .type = MF_I64, .ndim = 1, .dims = {RAGGED}, .cut = 0},
    {.name = "whole", .type = MF_F64, .ndim = 1, .dims = {WHOLE}, .cut = MF_UNCUT},
    {.name = LONG "/" LONG "/" LONG, .type = MF_U8, .ndim = 1, .dims = {NX}, .cut = 0},
    {.name = "empty", .type = MF_F64, .ndim = 2, .dims = {0, 3}, .cut = MF_UNCUT}};

enum { ARRAYS = sizeof arrays / sizeof *arrays, MOST = FIELD * 8 };

/* Part of an array that rank @p rank of @p ranks holds. It has r + 1 times as much as rank 0 of the ragged one. */
static struct mf_piece piece_of(size_t k, size_t rank, size_t ranks, void *at)
{
    struct mf_piece p = arrays[k];
    struct mf_span span;

    p.at = at;
    if (p.cut == MF_UNCUT) return p;
    span = mf_cut(p.dims[p.cut], ranks, rank);
    if (strcmp(p.name, "ragged") == 0) {
        const size_t unit = RAGGED / (ranks * (ranks + 1) / 2);

        span.first = unit * (rank * (rank + 1) / 2);
        span.count = rank + 1 == ranks ? RAGGED - span.first : unit * (rank + 1);
    }
    p.first = span.first;
    p.count = span.count;
    return p;
}

static unsigned char byte_of(size_t k, size_t i) { return (unsigned char)(31 * k + 7 * i + i / 251); }

/* Visits the bytes of a piece with their places in the whole array; counts those that differ, or sets them. */
static size_t visit(size_t k, const struct mf_piece *p, int set)
{
    size_t outer = 1, inner = mf_type_bytes(p->type), rows = 1, first = 0, count, bad = 0;
    unsigned char *at = p->at;

    for (int a = 0; a < p->ndim; ++a) {
        if (a < p->cut) outer *= p->dims[a];
        if (a > p->cut) inner *= p->dims[a];
    }
    count = p->count;
    if (p->cut != MF_UNCUT) {
        rows = p->dims[p->cut];
        first = p->first;
    } else
        count = 1;
    for (size_t o = 0; o < outer; ++o)
        for (size_t i = 0; i < count * inner; ++i, ++at) {
            const unsigned char value = byte_of(k, (o * rows + first) * inner + i);

            if (set) *at = value;
            bad += *at != value;
        }
    return bad;
}

static void numbers(struct mf_checkpoint *c, double *real, long *whole, int *flag, char text[16])
{
    mf_checkpoint_real(c, "a real", real);
    mf_checkpoint_int(c, "group/whole", whole);
    mf_checkpoint_flag(c, "flag", flag);
    mf_checkpoint_text(c, "text", text, 16);
}

static int save(const char *path, int64_t turn)
{
    static unsigned char room[ARRAYS][MOST];
    struct mf_checkpoint *c = mf_checkpoint_new("a: 1\nb: 2\n");
    double real = 1e300;
    long whole = -(1L << 60);
    int flag = 1, rc;
    char text[16] = "as it is";

    numbers(c, &real, &whole, &flag, text);
    for (size_t k = 0; k < ARRAYS; ++k) {
        const struct mf_piece p = piece_of(k, (size_t)comm.rank, (size_t)comm.size, room[k]);

        visit(k, &p, 1);
        if (p.cut == MF_UNCUT && comm.rank > 0) memset(room[k], 0x5A, MOST);
        mf_checkpoint_array(c, &p);
    }
    rc = mf_checkpoint_write(&comm, path, turn, c);
    mf_checkpoint_free(c);
    return rc;
}

/* A reader asks what is there before it reads. */
static void check_find(const struct mf_checkpoint *c)
{
    struct mf_piece is;

    for (size_t k = 0; k + 1 < ARRAYS; ++k) {
        const struct mf_piece *p = &arrays[k];

        CHECK(mf_checkpoint_find(c, p->name, &is) && is.type == p->type && is.ndim == p->ndim);
        CHECK(memcmp(is.dims, p->dims, (size_t)p->ndim * sizeof *p->dims) == 0);
    }
    CHECK(!mf_checkpoint_find(c, "empty", &is) && !mf_checkpoint_find(c, "none", &is));
    CHECK(!mf_checkpoint_find(c, "group", &is) && mf_checkpoint_code(c) == MF_OK);
}

/* Everything, as rank @p rank of @p ranks would. */
static void read_as(struct mf_checkpoint *c, size_t rank, size_t ranks)
{
    static unsigned char room[MOST];

    for (size_t k = 0; k < ARRAYS; ++k) {
        const struct mf_piece p = piece_of(k, rank, ranks, room);

        memset(room, 0xA5, sizeof room);
        mf_checkpoint_array(c, &p);
        CHECK(mf_checkpoint_code(c) == MF_OK && visit(k, &p, 0) == 0);
    }
}

static void check_round(const char *path)
{
    struct mf_checkpoint *c = NULL;
    double real = 0;
    long whole = 0;
    int flag = 0;
    char text[16] = "";

    CHECK(save(path, 7) == MF_OK && mf_checkpoint_open(&comm, path, 0, &c) == MF_OK);
    CHECK(mf_checkpoint_loads(c) && strcmp(mf_checkpoint_problem(c), "a: 1\nb: 2\n") == 0);
    numbers(c, &real, &whole, &flag, text);
    CHECK(real == 1e300 && whole == -(1L << 60) && flag == 1 && strcmp(text, "as it is") == 0);
    check_find(c);
    for (size_t ranks = 1; ranks < 12; ++ranks)
        for (size_t rank = 0; rank < ranks; ++rank) read_as(c, rank, ranks);
    mf_checkpoint_free(c);
}

/* A missing name is refused, and nothing after it is read. */
static void check_refusals(const char *path)
{
    static double room[MOST];
    struct mf_piece wrong[6];
    double real = 5;

    for (size_t i = 0; i < 6; ++i) wrong[i] = piece_of(i == 5 ? ARRAYS - 1 : 1, 0, 1, room);
    wrong[0].name = "none";
    wrong[1].dims[2] += 1;
    wrong[2].ndim = 2;
    wrong[3].type = MF_I32;
    wrong[4].dims[1] = 0;
    wrong[5].name = "label"; /* there is one, and it is not empty */
    for (size_t i = 0; i < 6; ++i) {
        struct mf_checkpoint *c = NULL;

        CHECK(mf_checkpoint_open(&comm, path, 1, &c) == MF_OK);
        mf_checkpoint_array(c, &wrong[i]);
        CHECK(mf_checkpoint_code(c) == MF_INPUT && strstr(mf_err_text(), i ? "'label'" : "array 'none'"));
        mf_checkpoint_real(c, "a real", &real);
        CHECK(real == 5 && mf_checkpoint_code(c) == MF_INPUT);
        mf_checkpoint_free(c);
    }
    for (int i = 0; i < 2; ++i) {
        struct mf_checkpoint *c = NULL;

        CHECK(mf_checkpoint_open(&comm, path, 1, &c) == MF_OK);
        mf_checkpoint_real(c, i ? "text" : "nothing", &real);
        CHECK(mf_checkpoint_code(c) == MF_INPUT && strstr(mf_err_text(), i ? "text" : "the number 'nothing'"));
        mf_checkpoint_free(c);
    }
}

/* Two arrays; the last rank's list is another one, in one of four ways. */
static int save_unlike(const char *path, int how)
{
    const int last = comm.rank + 1 == comm.size;
    double values[2] = {1, 2};
    struct mf_checkpoint *c = mf_checkpoint_new("a: 1\n");
    const size_t has = (size_t)(comm.rank == 0);
    struct mf_piece one = {.name = "one", .type = MF_F64, .ndim = 1, .dims = {1}, .count = has, .at = values};
    struct mf_piece two = {.name = "two", .type = MF_F64, .ndim = 1, .dims = {1}, .count = has, .at = values + 1};
    int rc;

    if (last && how == 1) two.type = MF_I64;
    if (last && how == 2) two.dims[0] = 2;
    mf_checkpoint_array(c, last && how == 3 ? &two : &one);
    if (!last || how != 4) mf_checkpoint_array(c, last && how == 3 ? &one : &two);
    rc = mf_checkpoint_write(&comm, path, 1, c);
    mf_checkpoint_free(c);
    return rc;
}

/* Ranks that list different arrays are refused before anything is written, and the first difference is named. */
static void check_unlike(const char *path)
{
    static const char *const says[] = {"", "'two: i64 1, cut along 0'", "'two: f64 2, cut along 0'",
                                       "rank 0 has 'one: f64 1, cut along 0'", "this one ''"};

    CHECK(save_unlike(path, 0) == MF_OK);
    for (int how = 1; how < 5 && comm.size > 1; ++how) {
        CHECK(save_unlike(path, how) == MF_BROKEN && strstr(mf_err_text(), says[how]));
        CHECK(mf_seal_check(&comm, path, NULL) == MF_OK);
    }
}

/* A sealed file that says it is a checkpoint of schema @p version. */
static void write_schema(const char *path, int64_t version)
{
    struct mf_comm self;
    struct mf_h5 *file;

    mf_comm_self(&self);
    if (comm.rank == 0) {
        CHECK(mf_h5_create(path, path, &file) == MF_OK);
        CHECK(mf_h5_put_text(file, "/", "schema", MF_CHECKPOINT_NAME) == MF_OK);
        CHECK(mf_h5_put_ints(file, "/", "checkpoint_schema", 1, &version) == MF_OK && mf_h5_close(file) == MF_OK);
        CHECK(mf_seal_write(&self, path, path, 9, NULL) == MF_OK);
    }
    mf_comm_barrier(&comm);
}

/* One of another schema is refused at once, also where the other file of the pair could be read. */
static void check_schema(const char *stem)
{
    struct mf_checkpoint_pair pair;
    struct mf_checkpoint *c = NULL;
    char *name[2] = {mf_checkpoint_name(stem, 0), mf_checkpoint_name(stem, 1)};

    CHECK(save(name[0], 3) == MF_OK);
    write_schema(name[1], MF_CHECKPOINT_SCHEMA - 1);
    mf_checkpoint_look(&comm, stem, 1, &pair);
    CHECK(pair.newest == 1 && mf_checkpoint_newest(&comm, stem, &pair, &c) == MF_INPUT && !c);
    CHECK(strstr(mf_err_text(), "of schema 4") && strstr(mf_err_text(), "remove the run's checkpoints"));
    mf_checkpoint_remove(&comm, stem);
    free(name[0]);
    free(name[1]);
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
    struct mf_checkpoint *in;

    mf_checkpoint_look(&comm, stem, 1, &pair);
    CHECK(pair.turn[0] == -1 && mf_checkpoint_newest(&comm, stem, &pair, &in) == MF_OK && !in);
    for (int i = 0; i < 2; ++i) {
        char *path = mf_checkpoint_name(stem, i);

        CHECK(save(path, 4 + i) == MF_OK);
        free(path);
    }
    for (int damaged = 0; damaged < 3; ++damaged) {
        if (damaged) damage(stem, 2 - damaged);
        mf_checkpoint_look(&comm, stem, 1, &pair);
        CHECK(pair.newest == 1 || damaged);
        in = NULL;
        CHECK(mf_checkpoint_newest(&comm, stem, &pair, &in) == (damaged < 2 ? MF_OK : MF_INPUT));
        CHECK(damaged == 2 || (in && pair.newest == 1 - damaged));
        mf_checkpoint_free(in);
    }
    CHECK(strstr(mf_err_text(), "can be read"));
    mf_checkpoint_remove(&comm, stem);
}

int main(int argc, char **argv)
{
    CHECK(mf_comm_open(&comm, &argc, &argv, "test") == MF_OK);
    scratch_open(&comm);
    check_round(scratch_file("round.h5"));
    check_refusals(scratch_file("round.h5"));
    check_unlike(scratch_file("unlike.h5"));
    check_schema(scratch_file("schema"));
    check_pair(scratch_file("pair"));
    scratch_close(&comm);
    mf_comm_close(&comm);
    return failures != 0;
}
