/* See chain.h. */
#include "src/recon/chain.h"

#include <math.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/base/streams.h"

enum { ATTEMPTS = 1024 };

/* -- memory -- */

static void *take(struct mf_chain *c, size_t bytes) { return mf_arena_take(c->arena, bytes, "annealing"); }

/* Two sites, and which of them are in a slice. */
static int take_sites(struct mf_chain *c)
{
    struct mf_sites *sites = &c->swap.sites;
    const size_t words = 2 * sites->sides * sites->planes * sites->shape.n;

    sites->count = 2;
    sites->site = take(c, 2 * sizeof *sites->site);
    sites->window = take(c, words * sizeof *sites->window);
    sites->mirror = take(c, words * sizeof *sites->mirror);
    c->swap.used = take(c, 2);
    for (size_t d = 0; d < sites->sides; ++d) {
        c->swap.member[d] = take(c, 2 * sizeof *c->swap.member[d]);
        c->swap.start[d] = take(c, (c->swap.side[d].slices + 2) * sizeof *c->swap.start[d]);
        if (!c->swap.member[d] || !c->swap.start[d]) return MF_MEMORY;
    }
    return sites->site && sites->window && sites->mirror && c->swap.used ? MF_OK : MF_MEMORY;
}

static double square_above(double c, double offset) { return c > offset ? (c - offset) * (c - offset) : 0; }

static void set_weights(struct mf_chain *c, int volume)
{
    const enum mf_mutation rule = c->opts->rule;

    c->offset = rule == MF_MUTATE_RELAXED ? 0 : volume ? 2.9 : 1.9;
    for (int n = 0; n < MF_CLASSES; ++n) c->weight[n] = square_above(rule == MF_MUTATE_IN_PHASE ? n * n : n, c->offset);
}

int mf_chain_open(struct mf_chain *c, const struct mf_chain_shared *s, size_t number, long most)
{
    const struct mf_sites *like = &s->swap->sites;

    *c = (struct mf_chain){.opts = s->opts, .arena = s->arena, .swap = *s->swap, .seed = s->seed};
    c->swap.by_rows = 0; /* of two sites */
    c->swap.sites = (struct mf_sites){.sides = like->sides, .planes = like->planes, .shape = like->shape};
    c->swap.used = NULL;
    for (size_t d = 0; d < MF_SIDES; ++d) c->swap.member[d] = c->swap.start[d] = NULL;
    c->sublattice = (struct mf_sublattice){.field = s->field, .partition = s->partition, .number = number};
    c->stride = (long)s->partition->count;
    c->sublattice.voxel = take(c, mf_sublattice_room(s->partition) * sizeof *c->sublattice.voxel);
    c->sublattice.place = take(c, mf_sublattice_room(s->partition) * sizeof *c->sublattice.place);
    if (s->told) c->move = take(c, (size_t)most * sizeof *c->move);
    if (!c->sublattice.voxel || !c->sublattice.place || (s->told && !c->move)) return MF_MEMORY;
    c->tally = s->tally;
    if (c->tally) {
        c->counts.count = take(c, mf_tally_room(c->tally));
        if (!c->counts.count) return MF_MEMORY;
    }
    for (size_t d = 0; d < like->sides; ++d)
        c->windows |= c->swap.side[d].s2_weight > 0 || c->swap.side[d].v_weight > 0;
    if (s->opts) set_weights(c, s->field->dims[0] > 1);
    return take_sites(c);
}

void mf_chain_close(struct mf_chain *c)
{
    for (size_t d = 0; d < MF_SIDES; ++d) {
        mf_arena_give(c->arena, c->swap.start[d]);
        mf_arena_give(c->arena, c->swap.member[d]);
    }
    mf_arena_give(c->arena, c->swap.used);
    mf_arena_give(c->arena, c->swap.sites.mirror);
    mf_arena_give(c->arena, c->swap.sites.window);
    mf_arena_give(c->arena, c->swap.sites.site);
    mf_arena_give(c->arena, c->counts.count);
    mf_arena_give(c->arena, c->move);
    mf_arena_give(c->arena, c->sublattice.place);
    mf_arena_give(c->arena, c->sublattice.voxel);
}

/* -- drawing two voxels -- */

static void draw_numbers(struct mf_chain *c)
{
    uint32_t r[MF_CHAIN_NUMBERS];

    for (int i = 0; i < MF_CHAIN_NUMBERS; i += 4)
        mf_random4(c->seed, MF_STREAM_SWAP, (uint64_t)c->number * (MF_CHAIN_NUMBERS / 4) + (uint64_t)i / 4, r + i);
    for (int i = 0; i < MF_CHAIN_NUMBERS; ++i) c->random[i] = r[i] * 0x1p-32;
}

/* neighbor_in_phase: the lists give c^2 for c n, so a voxel is taken with the probability that is left. */
static size_t draw_in_phase(const struct mf_chain *c, int s, const uint8_t phase[2])
{
    const struct mf_mutable *field = c->sublattice.field;

    for (uint64_t k = 0; k < ATTEMPTS; ++k) {
        uint32_t r[4];
        size_t v;
        double any, other;

        mf_random4(c->seed, (uint32_t)(MF_STREAM_SWAP + 1 + s), (uint64_t)c->number * ATTEMPTS + k, r);
        v = mf_sublattice_draw(&c->sublattice, phase[s], c->weight, r[0] * 0x1p-32, r[1] * 0x1p-32);
        if (v == field->voxels) return v;
        any = mf_mutable_foreign(field, v, -1);
        other = mf_mutable_foreign(field, v, phase[!s]);
        if (r[2] * 0x1p-32 * square_above(any * any, c->offset) < square_above(any * other, c->offset)) return v;
    }
    return field->voxels;
}

/* Two voxels of two phases; 0: the rule finds none. */
static int draw(const struct mf_chain *c, size_t voxel[2], uint8_t phase[2])
{
    const struct mf_mutable *field = c->sublattice.field;
    const double *u = c->random, phases = field->phases;

    if (c->opts->rule == MF_MUTATE_RANDOM) {
        voxel[0] = mf_sublattice_any(&c->sublattice, u[2]);
        if (voxel[0] == field->voxels) return 0;
        phase[0] = mf_mutable_label(field, voxel[0]);
        voxel[1] = mf_sublattice_other(&c->sublattice, phase[0], u[3]);
        if (voxel[1] < field->voxels) phase[1] = mf_mutable_label(field, voxel[1]);
        return voxel[1] < field->voxels;
    }
    phase[0] = (uint8_t)(u[0] * phases);
    phase[1] = (uint8_t)(u[1] * (phases - 1));
    phase[1] = (uint8_t)(phase[1] + (phase[1] >= phase[0]));
    for (int s = 0; s < 2; ++s) {
        voxel[s] = c->opts->rule == MF_MUTATE_IN_PHASE
                       ? draw_in_phase(c, s, phase)
                       : mf_sublattice_draw(&c->sublattice, phase[s], c->weight, u[2 + 2 * s], u[3 + 2 * s]);
        if (voxel[s] == field->voxels) return 0;
    }
    return 1;
}

/* -- a step -- */

/* Site @p i of the two: its windows. */
static void place(struct mf_chain *c, size_t i, size_t voxel, uint8_t from, uint8_t to)
{
    struct mf_sites *sites = &c->swap.sites;
    struct mf_site *site = &sites->site[i];

    *site = (struct mf_site){.from = from, .to = to};
    mf_mutable_at(c->sublattice.field, voxel, site->at);
    for (size_t d = 0; d < sites->sides; ++d)
        for (size_t k = 0; k < sites->planes; ++k) {
            const size_t w = ((i * sites->sides + d) * sites->planes + k) * sites->shape.n;
            const uint8_t phase = sites->planes == 1 ? 1 : k ? to : from;

            mf_mutable_window(c->sublattice.field, site->at, d, phase, sites->window + w);
            mf_flip_cpu.turn(&sites->shape, sites->window + w, sites->mirror + w);
        }
}

static void place_both(struct mf_chain *c, const size_t voxel[2], const uint8_t phase[2])
{
    place(c, 0, voxel[0], phase[0], phase[1]);
    place(c, 1, voxel[1], phase[1], phase[0]);
}

/* What swapping them changes the loss by. */
static double energy_of(struct mf_chain *c, const size_t voxel[2], const uint8_t phase[2])
{
    double e = 0;

    if (c->windows) {
        place_both(c, voxel, phase);
        e = mf_swap_energy(&c->swap, 0) + mf_swap_energy(&c->swap, 1) + mf_swap_interaction(&c->swap, 0, 1);
    }
    return c->tally ? e + mf_tally_energy(c->tally, voxel, phase, &c->counts) : e;
}

/* Residuals and counts follow the swap that was looked at. */
static void apply(struct mf_chain *c)
{
    if (c->windows) {
        mf_swap_index(&c->swap);
        mf_swap_apply(&c->swap, 0);
        mf_swap_apply(&c->swap, 1);
    }
    if (c->tally) mf_tally_apply(c->tally, &c->counts);
}

static void accept(struct mf_chain *c, const size_t voxel[2], const uint8_t phase[2], double energy)
{
    apply(c);
    for (int s = 0; s < 2; ++s) {
        mf_sublattice_set(&c->sublattice, voxel[s], phase[!s]);
        if (c->move) c->move[c->turn.accepted][s] = (int64_t)voxel[s];
    }
    ++c->turn.accepted;
    c->turn.change += energy;
    c->turn.rejected = 0;
}

static int is_good(const struct mf_chain *c, double energy)
{
    return energy <= 0 || (c->opts->exponential && c->random[6] < exp(-energy / c->temperature));
}

static void step(struct mf_chain *c)
{
    size_t voxel[2];
    uint8_t phase[2];
    double e;

    ++c->turn.rejected;
    draw_numbers(c);
    if (!draw(c, voxel, phase)) return;
    e = energy_of(c, voxel, phase);
    if (is_good(c, e)) accept(c, voxel, phase, e);
}

/* -- a turn -- */

double mf_chain_temperature(const struct mf_anneal_opts *o, long step)
{
    return o->initial * pow(o->factor, (double)step);
}

const char *mf_chain_ended(const struct mf_anneal_opts *o, long step, double loss, int idle, double temperature)
{
    if (step >= o->steps) return "all steps made";
    if (loss <= o->tolerance) return "the loss is below --tolerance";
    if (idle) return "nothing was accepted for long";
    return temperature <= o->final ? "the final temperature is reached" : NULL;
}

void mf_chain_begin(struct mf_chain *c, long step, double loss, long rejected)
{
    c->number = step + (long)c->sublattice.number;
    c->loss = loss;
    c->patience = (c->opts->patience + c->stride - 1) / c->stride;
    c->temperature = mf_chain_temperature(c->opts, c->number);
    c->factor = pow(c->opts->factor, (double)c->stride);
    c->turn = (struct mf_chain_turn){.rejected = rejected / c->stride};
}

static int is_over(const struct mf_chain *c)
{
    return mf_chain_ended(c->opts, c->number, c->loss + c->turn.change, c->turn.rejected >= c->patience,
                          c->temperature) != NULL;
}

void mf_chain_run(struct mf_chain *c, long most)
{
    mf_sublattice_fill(&c->sublattice);
    while (c->turn.steps < most && !is_over(c)) {
        step(c);
        c->temperature *= c->factor;
        c->number += c->stride;
        ++c->turn.steps;
    }
}

void mf_chain_repeat(struct mf_chain *c)
{
    for (size_t i = 0; i < c->turn.accepted; ++i) {
        const size_t voxel[2] = {(size_t)c->move[i][0], (size_t)c->move[i][1]};
        const uint8_t phase[2] = {mf_mutable_label(c->sublattice.field, voxel[0]),
                                  mf_mutable_label(c->sublattice.field, voxel[1])};

        if (c->windows) place_both(c, voxel, phase);
        if (c->tally) mf_tally_energy(c->tally, voxel, phase, &c->counts);
        apply(c);
        for (int s = 0; s < 2; ++s) mf_mutable_set(c->sublattice.field, voxel[s], phase[!s]);
    }
}
