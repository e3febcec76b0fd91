/* A sealed volume is read by its record, without HDF5; what a record says is believed only where the seal holds. */
#include "io/record.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/seal.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "tests/check.h"

enum { N = 6 };

static struct mf_comm comm;
static struct mf_arena *arena;
static char path[64], said[64];

static int phase_at(size_t i) { return (int)(i * i / 3 % 3); }

static void write_volume(int ndim)
{
    const size_t dims[3] = {ndim == 3 ? N : 1, N, N};
    struct mf_micro m = {.ndim = ndim,
                         .phases = 3,
                         .label = {4, 9, 2},
                         .name = {"pore", "", "salt"},
                         .spacing = {0.5, 2, 3},
                         .unit = "nm",
                         .arena = arena,
                         .slab = mf_slab_of(&comm, dims, comm.rank)};
    const size_t n = mf_slab_voxels(&m.slab);

    m.phase = mf_arena_take(arena, n, "test");
    for (size_t i = 0; i < n; ++i) m.phase[i] = (uint8_t)phase_at(m.slab.first * N * N + i);
    CHECK(mf_micro_write(&comm, path, &m, NULL) == MF_OK);
    mf_micro_free(&m);
}

static void check_read(int ndim)
{
    struct mf_micro m;

    if (mf_micro_read(&comm, arena, path, NULL, &m) != MF_OK) {
        fprintf(stderr, "%s\n", mf_err_text());
        CHECK(0);
        return;
    }
    CHECK(m.ndim == ndim && m.phases == 3 && m.label[0] == 4 && m.label[1] == 9 && m.label[2] == 2);
    CHECK(strcmp(m.name[0], "pore") == 0 && !m.name[1][0] && strcmp(m.name[2], "salt") == 0);
    CHECK(strcmp(m.unit, "nm") == 0 && m.spacing[0] == (ndim == 3 ? 0.5 : 1) && m.spacing[1] == 2 && m.spacing[2] == 3);
    CHECK(m.slab.dims[0] == (ndim == 3 ? N : 1) && m.slab.dims[1] == N && m.slab.dims[2] == N);
    for (size_t i = 0; i < mf_slab_voxels(&m.slab); ++i) CHECK(m.phase[i] == phase_at(m.slab.first * N * N + i));
    mf_micro_free(&m);
}

/* The same by the record and by HDF5. */
static void check_said(void)
{
    struct mf_array by_record, by_library;

    CHECK(mf_array_recall(path, &by_record) == MF_OK && by_record.recalled);
    CHECK(mf_array_open(path, NULL, &by_library) == MF_OK && !by_library.recalled);
    by_record.recalled = 0;
    CHECK(by_record.offset == by_library.offset && by_record.coding == by_library.coding);
    CHECK(by_record.kind == by_library.kind && by_record.size == by_library.size && by_record.ours == by_library.ours);
    CHECK(memcmp(by_record.shape, by_library.shape, sizeof by_record.shape) == 0);
}

/* Rank 0: the superblock goes, so that no library can open the file; the seal with it (sealed anew by whoever wants).
 */
static void break_head(void)
{
    uint64_t bytes = 0;
    uint32_t crc;
    FILE *file;

    CHECK(mf_seal_bytes(path, &bytes, &crc) == MF_OK);
    CHECK(truncate(path, (off_t)bytes) == 0);
    file = fopen(path, "r+b");
    CHECK(file && fseek(file, 36, SEEK_SET) == 0 && fwrite("nowhere!", 1, 8, file) == 8);
    if (file) CHECK(fclose(file) == 0);
}

static void broken(void)
{
    struct mf_micro m;

    if (comm.rank == 0) break_head();
    mf_comm_barrier(&comm);
    CHECK(mf_micro_read(&comm, arena, path, NULL, &m) == MF_INPUT);
    CHECK(mf_seal_write(&comm, path, path, 0, NULL) == MF_OK);
    mf_comm_barrier(&comm);
    check_read(3);
}

/* The byte at @p offset becomes 2. */
static void put(long offset)
{
    FILE *file;

    mf_comm_barrier(&comm);
    if (comm.rank == 0) {
        file = fopen(path, "r+b");
        CHECK(file && fseek(file, offset, SEEK_SET) == 0 && fputc(2, file) == 2);
        if (file) CHECK(fclose(file) == 0);
    }
    mf_comm_barrier(&comm);
}

static void listen(void)
{
    mf_log_open(comm.rank, comm.size, MF_WARN);
    CHECK(mf_log_copy(said) == MF_OK);
}

/* Was there the warning that goes with the library's word? No more is listened to. */
static void check_warned(int wanted)
{
    char text[4096] = "";
    FILE *file;

    CHECK(mf_log_copy(NULL) == MF_OK);
    mf_log_open(comm.rank, comm.size, MF_QUIET);
    if (comm.rank != 0) return;
    file = fopen(said, "r");
    CHECK(file);
    if (!file) return;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    CHECK(fclose(file) == 0 && unlink(said) == 0);
    CHECK((strstr(text, "used as it is") != NULL) == wanted);
}

/* One byte of the values is turned: the library is asked, and the user told. */
static void edited(void)
{
    struct mf_array a;
    struct mf_micro m;

    write_volume(3);
    listen();
    check_read(3);
    check_warned(0);
    CHECK(mf_array_open(path, NULL, &a) == MF_OK);
    put((long)a.offset);
    listen();
    CHECK(mf_micro_read(&comm, arena, path, NULL, &m) == MF_OK);
    check_warned(1);
    CHECK(comm.rank != 0 || m.phase[0] == 2);
    mf_micro_free(&m);
}

/* One byte of the record, the values are whole: it is not believed. */
static void forged(void)
{
    struct mf_array a;
    uint64_t bytes = 0;
    uint32_t crc;

    write_volume(3);
    CHECK(mf_seal_bytes(path, &bytes, &crc) == MF_OK && bytes > 100);
    put((long)bytes - 100);
    CHECK(mf_array_recall(path, &a) == MF_OK && !a.recalled);
    listen();
    check_read(3);
    check_warned(1);
}

/* Another volume comes in its place after the record was read: a whole one, but not the one that is meant. */
static void replaced(void)
{
    struct mf_array a;
    int whole;

    write_volume(3);
    CHECK(mf_array_recall(path, &a) == MF_OK && a.recalled);
    CHECK(mf_seal_holds(&comm, path, NULL, a.seal, &whole) == MF_OK && whole);
    write_volume(2);
    CHECK(mf_seal_check(&comm, path, NULL) == MF_OK);
    CHECK(mf_seal_holds(&comm, path, NULL, a.seal, &whole) == MF_OK && !whole);
}

int main(int argc, char **argv)
{
    if (mf_comm_open(&comm, &argc, &argv, "test") != MF_OK) return 1;
    if (mf_arena_open(&arena, NULL, 0) != MF_OK) return 1;
    mf_log_open(comm.rank, comm.size, MF_QUIET);
    snprintf(path, sizeof path, "io_record_%d.h5", comm.size);
    snprintf(said, sizeof said, "io_record_%d.said", comm.size);
    for (int ndim = 2; ndim <= 3; ++ndim) {
        write_volume(ndim);
        check_said();
        check_read(ndim);
    }
    mf_comm_barrier(&comm);
    broken();
    mf_comm_barrier(&comm);
    edited();
    mf_comm_barrier(&comm);
    forged();
    mf_comm_barrier(&comm);
    replaced();
    mf_comm_barrier(&comm);
    if (comm.rank == 0) CHECK(unlink(path) == 0);
    snprintf(path, sizeof path, "io_record_%d.xdmf", comm.size);
    if (comm.rank == 0) CHECK(unlink(path) == 0);
    mf_arena_close(arena);
    mf_comm_close(&comm);
    return failures != 0;
}
