/* Clusters are joined where too little spans and parted where too much does. Any number of ranks does it by the same
 * voxels. Slabs may be thinner than a way is long, or have no planes. Fixed voxels stay. */
#include "src/recon/connect.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"

enum { MOST = 36 * 16 * 17, LOOKS = 8 };

static size_t dims[3];
static uint8_t label[MOST], fixed[MOST], made[MOST];

static size_t voxels(void) { return dims[0] * dims[1] * dims[2]; }

/* On a line along an axis through the middles of grains? */
static int on_line(size_t z, size_t y, size_t x) { return (z % 7 == 2) + (y % 7 == 2) + (x % 7 == 2) >= 2; }

/* Grains of 5^3 in a lattice, joined by necks of one voxel along every axis. */
static uint8_t necks(size_t z, size_t y, size_t x) { return (z % 7 < 5 && y % 7 < 5 && x % 7 < 5) || on_line(z, y, x); }

/* Rods along z, broken in places that differ. */
static uint8_t broken(size_t z, size_t y, size_t x)
{
    return y % 5 < 2 && x % 5 < 2 && (z + y / 5 + 3 * (x / 5)) % 12 > 2;
}

static uint8_t specks(size_t z, size_t y, size_t x)
{
    const size_t i = ((z / 2) * dims[1] + y / 2) * dims[2] + x / 2;

    return mf_random_uniform(5, 0, i) < 0.3;
}

static void draw(uint8_t (*field)(size_t z, size_t y, size_t x), int hold_lines)
{
    for (size_t i = 0; i < voxels(); ++i) {
        const size_t z = i / (dims[1] * dims[2]), y = i / dims[2] % dims[1], x = i % dims[2];

        label[i] = field(z, y, x);
        fixed[i] = hold_lines && on_line(z, y, x) ? 1 : MF_LABEL_OPEN;
    }
}

/* Result of a case. */
struct outcome {
    long joined, parted;
    uint64_t pinned[2];
    double off;
    int full;
};

/* Looks until there is nothing more to do; pins take effect, and no cut makes good for them. The labels into made. */
static struct outcome look(const struct mf_comm *comm, struct mf_arena *arena, double aim)
{
    const struct mf_slab slab = mf_slab_of(comm, dims, comm->rank);
    const size_t first = slab.first * dims[1] * dims[2];
    struct mf_connect c = {.comm = comm,
                           .arena = arena,
                           .slab = slab,
                           .phases = 2,
                           .aim = {{-1, -1, -1}, {aim, aim, aim}},
                           .label = made + first,
                           .fixed = fixed + first};
    struct outcome is = {0};
    int more = 1;

    memcpy(made, label, sizeof made);
    for (size_t i = 0; i < voxels(); ++i)
        if (fixed[i] == MF_LABEL_OPEN) ++c.open[label[i]];
    CHECK(mf_connect_open(&c) == MF_OK);
    for (int n = 0; more && n < LOOKS; ++n) {
        CHECK(mf_connect_look(&c, &more) == MF_OK);
        for (size_t i = 0; i < c.pins; ++i) made[first + c.pin[i].voxel] = c.pin[i].label;
        for (size_t i = 1; i < c.pins; ++i) CHECK(c.pin[i - 1].voxel < c.pin[i].voxel);
    }
    CHECK(mf_connect_measure(&c) == MF_OK);
    is = (struct outcome){c.joined, c.parted, {c.pinned[0], c.pinned[1]}, 0, c.full};
    for (int a = 0; a < 3; ++a)
        if (dims[a] > 1) is.off = fmax(is.off, fabs(c.share[1][a] - aim));
    mf_connect_close(&c);
    return is;
}

/* On all ranks as on this one by itself. */
static struct outcome check(const struct mf_comm *comm, struct mf_arena *arena, double aim)
{
    const struct mf_slab slab = mf_slab_of(comm, dims, comm->rank);
    const size_t first = slab.first * dims[1] * dims[2];
    static uint8_t whole[MOST];
    struct outcome is, alone;
    struct mf_comm self;

    mf_comm_self(&self);
    alone = look(&self, arena, aim);
    memcpy(whole, made, sizeof whole);
    mf_comm_close(&self);
    is = look(comm, arena, aim);
    CHECK(is.joined == alone.joined && is.parted == alone.parted && is.full == alone.full);
    CHECK(is.pinned[0] == alone.pinned[0] && is.pinned[1] == alone.pinned[1] && is.off == alone.off);
    CHECK(memcmp(made + first, whole + first, mf_slab_voxels(&slab)) == 0);
    for (size_t i = 0; i < voxels(); ++i) CHECK(fixed[i] == MF_LABEL_OPEN || whole[i] == label[i]);
    return is;
}

int main(int argc, char **argv)
{
    static const size_t shapes[][3] = {{36, 16, 17}, {11, 15, 14}, {1, 30, 30}};
    struct mf_arena *arena;
    struct mf_comm comm;

    if (mf_comm_open(&comm, &argc, &argv, "test") != MF_OK) return 1;
    CHECK(mf_arena_open(&arena, NULL, 0) == MF_OK);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        struct outcome is;

        memcpy(dims, shapes[s], sizeof dims);
        draw(necks, 0);
        is = check(&comm, arena, 0);
        CHECK(dims[0] == 1 || (is.parted > 0 && is.joined == 0 && is.off < 0.01));
        draw(necks, 1); /* a neck that stays in part joins as before: nothing is parted */
        is = check(&comm, arena, 0);
        CHECK(is.parted == 0 && is.pinned[0] == 0 && is.pinned[1] == 0);
        draw(broken, 0);
        is = check(&comm, arena, 0.9);
        CHECK(is.joined > 0 && is.parted == 0 && is.pinned[1] > 0);
        draw(specks, 0);
        check(&comm, arena, 0.5);
        check(&comm, arena, 1);
        check(&comm, arena, 0);
    }
    mf_arena_close(arena);
    mf_comm_close(&comm);
    return failures != 0;
}
