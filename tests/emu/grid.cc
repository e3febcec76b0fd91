/* How a grid runs: block after block, its threads in turns between barriers. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/emu/cuda_runtime.h"
#include "tests/emu/fiber.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace
{

enum state { READY, AT_BLOCK, AT_WARP, ENDED };
constexpr unsigned WARP = 32;

struct copy {
    char *to;
    const char *from;
    size_t bytes, room;
    unsigned group;
};

struct lane {
    uint3 index;
    mf_fiber *fiber; /* of one that waits */
    state where;
    std::vector<copy> copies; /* begun and not waited for */
    unsigned groups;          /* of copies, ended */
};

struct warp {
    unsigned char value[2][WARP][MF_EMU_BOX];
    int turn;
};

std::vector<lane> lanes;
std::vector<warp> warps;
std::vector<unsigned> order;
/* Never freed: what they hold may be needed until the very end. */
auto &idle = *new std::vector<mf_fiber *>;
std::vector<char> shared;
void (*body)(const void *);
const void *body_closure;
unsigned current;
unsigned begun, ended; /* threads of the block */

[[noreturn]] void die(const char *what)
{
    fprintf(stderr, "emulator: %s (block %u %u %u)\n", what, blockIdx.x, blockIdx.y, blockIdx.z);
    abort();
}

/* Threads in an order of the user's choice: a missing barrier shows in one of them. */
void make_order(unsigned n)
{
    const char *wish = getenv("MF_EMU_ORDER");
    const std::string kind = wish ? wish : "forward";
    unsigned seed = 1;

    order.resize(n);
    for (unsigned i = 0; i < n; ++i) order[i] = kind == "reverse" ? n - 1 - i : i;
    for (unsigned i = n; kind == "mixed" && i-- > 1;) {
        seed = seed * 1664525u + 1013904223u;
        std::swap(order[i], order[(seed >> 8) % (i + 1)]);
    }
}

void enter(unsigned t)
{
    current = t;
    threadIdx = lanes[t].index;
}

/* Threads one after another, from the first that has not begun. One that waits keeps the coroutine that it is in. */
void begin_all(void *)
{
    while (begun < order.size()) {
        enter(order[begun++]);
        body(body_closure);
        lanes[current].where = ENDED;
        ++ended;
    }
}

void begin()
{
    while (begun < order.size()) {
        if (idle.empty()) idle.push_back(mf_fiber_new());
        mf_fiber *fiber = idle.back();

        idle.pop_back();
        if (mf_fiber_run(fiber, begin_all, nullptr))
            lanes[current].fiber = fiber;
        else
            idle.push_back(fiber);
    }
}

void go_on(unsigned t)
{
    enter(t);
    if (!mf_fiber_resume(lanes[t].fiber)) idle.push_back(lanes[t].fiber);
}

/* Lets a warp go on when all its threads have come. */
bool free_warp(unsigned first)
{
    for (unsigned i = 0; i < WARP; ++i)
        if (lanes[first + i].where != AT_WARP) return false;
    for (unsigned i = 0; i < WARP; ++i) lanes[first + i].where = READY;
    warps[first / WARP].turn ^= 1;
    return true;
}

bool free_block()
{
    for (const lane &l : lanes)
        if (l.where != AT_BLOCK) return false;
    for (lane &l : lanes) l.where = READY;
    return true;
}

void run_block()
{
    std::fill(shared.begin(), shared.end(), char(0xff));
    for (lane &l : lanes) {
        l.where = READY;
        l.copies.clear();
        l.groups = 0;
    }
    for (warp &w : warps) w.turn = 0;
    begun = ended = 0;
    begin();
    while (ended < lanes.size()) {
        bool moved = false;

        for (unsigned t = 0; t + WARP <= lanes.size(); t += WARP) moved |= free_warp(t);
        moved |= free_block();
        if (!moved) die("threads of a block wait for others that have ended or wait elsewhere");
        for (unsigned t : order)
            if (lanes[t].where == READY) go_on(t);
    }
}

} // namespace

void mf_emu_run_grid(dim3 grid, dim3 block, size_t bytes, void (*thread)(const void *), const void *closure)
{
    const unsigned n = block.x * block.y * block.z;

    gridDim = grid;
    blockDim = block;
    body = thread;
    body_closure = closure;
    lanes.resize(n);
    for (unsigned t = 0; t < n; ++t) lanes[t].index = {t % block.x, t / block.x % block.y, t / block.x / block.y};
    warps.resize((n + WARP - 1) / WARP);
    shared = std::vector<char>(bytes);
    make_order(n);
    for (unsigned z = 0; z < grid.z; ++z)
        for (unsigned y = 0; y < grid.y; ++y)
            for (unsigned x = 0; x < grid.x; ++x) {
                blockIdx = uint3{x, y, z};
                run_block();
            }
}

void *mf_emu_shared() { return shared.data(); }

int mf_emu_lane() { return int(current % WARP); }

static void wait_as(state where)
{
    lanes[current].where = where;
    mf_fiber_pause();
}

void __syncthreads() { wait_as(AT_BLOCK); }

static void wait_warp(unsigned mask)
{
    if (mask != 0xffffffffu || lanes.size() % WARP) die("only whole warps exchange here");
    wait_as(AT_WARP);
}

void __syncwarp(unsigned mask) { wait_warp(mask); }

/* Two boxes in turn: nobody can be two exchanges ahead of another. */
const mf_emu_box *mf_emu_all(unsigned mask, const void *value, size_t bytes)
{
    warp &w = warps[current / WARP];
    auto *box = w.value[w.turn];

    memcpy(box[mf_emu_lane()], value, bytes);
    wait_warp(mask);
    return box;
}

void mf_emu_exchange(unsigned mask, int from, void *value, size_t bytes)
{
    if (bytes > 8) die("a shuffle of more than 8 bytes");
    const mf_emu_box *box = mf_emu_all(mask, value, bytes);

    if (from >= 0 && from < int(WARP)) memcpy(value, box[from], bytes);
}

void mf_emu_copy_begin(void *to, const void *from, size_t bytes, size_t room)
{
    if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % room)
        die("a copy from or to an odd place");
    memset(to, 0xff, room);
    lanes[current].copies.push_back(
        {static_cast<char *>(to), static_cast<const char *>(from), bytes, room, lanes[current].groups});
}

void mf_emu_copy_group() { ++lanes[current].groups; }

void mf_emu_copy_wait(unsigned left)
{
    lane &own = lanes[current];

    for (const copy &c : own.copies) {
        if (c.group + left >= own.groups) continue;
        memcpy(c.to, c.from, c.bytes);
        memset(c.to + c.bytes, 0, c.room - c.bytes);
    }
    std::erase_if(own.copies, [&](const copy &c) { return c.group + left < own.groups; });
}
