/* Mixtures that sleep come to the same weights on any number of ranks and in all stages. So they do after a restart. A
 * sleep that fails changes nothing, to the bit. Its steps do what they say. */
#include "src/base/json.h"
#include "src/moe/sleep_priv.h"
#include "tests/unit/moe_life.h"

static char *graph_text(const struct mf_graph *g)
{
    struct mf_json *json = mf_graph_json(g);
    char *text = mf_json_string(json);

    mf_json_free(json);
    return text;
}

/* -- any ranks -- */

/* The largest difference of weights. Rows of a router are those of the same experts. */
static double carries_apart(const struct mf_carry *a, const struct mf_carry *b)
{
    double most = a->weights == b->weights ? 0 : INFINITY;

    for (size_t k = 0; k < a->weights && isfinite(most); ++k) {
        const struct mf_carried *x = &a->weight[k], *y = mf_carry_find(b, x->name);
        const size_t rows = x->by_expert ? x->shape.d[0] : 1, n = mf_shape_count(&x->shape) / rows;

        if (!y || mf_shape_count(&y->shape) != n * rows) return INFINITY;
        for (size_t r = 0; r < rows; ++r) {
            const size_t other = x->by_expert ? mf_experts_find(&b->experts, a->experts.id[r]) : 0;

            if (other >= rows) return INFINITY;
            most = fmax(most, apart(n, x->state[0] + r * n, y->state[0] + other * n));
        }
    }
    return most;
}

static struct mf_carry *life_of(const struct bed *b, const struct mf_comm *comm, const struct mf_train_opts *o,
                                const struct mf_grow_opts *grow, long changes[MF_CHANGES])
{
    struct mf_sleep_opts sleep = usual_sleep;
    struct mf_carry *carry = NULL;
    struct life l;

    sleep.similarity = 0.38; /* so that experts merge */
    open_life(b, comm, o, grow, &sleep, &l);
    live(&l, LONG);
    CHECK(mf_carry_take(&l.t, &carry) == MF_OK);
    memcpy(changes, l.grow.changes, sizeof l.grow.changes);
    close_life(&l);
    return carry;
}

/* An emulated device is slow: it has some of the cases. */
static int has_all(const struct bed *b) { return !b->device.be->host_mem || getenv("MF_LONG"); }

/* @p ways: ranks that share the experts. They have them in another order. Four ranks and emulated devices have stages 0
 * and 3 of ZeRO. */
static void same_lives(const struct bed *b, const char *model, size_t ways)
{
    struct mf_train_opts o = of_life(model, WINDOW);
    struct mf_grow_opts grow = growth;
    long changes[MF_CHANGES], got[MF_CHANGES];
    struct mf_carry *want;

    want = life_of(b, &b->self, &o, &grow, changes);
    CHECK(changes[MF_CHANGE_SLEEP] >= 3 && changes[MF_CHANGE_MERGE] > 0);
    for (o.stage = 0; o.stage < 4; o.stage += o.stage == 1 ? 2 : 1) {
        struct mf_carry *have;

        if (o.stage == 1 && !getenv("MF_LONG") && (b->world.size == 4 || !has_all(b))) continue;
        o.batch = batch_for(&b->world, WINDOW, 1);
        o.ways = ways;
        have = life_of(b, &b->world, &o, &grow, got);
        CHECK(memcmp(changes, got, sizeof got) == 0);
        CHECK_SAYS(carries_apart(want, have) <= 1e-5, "%s, stage %d, %d ranks, %zu share: weights differ by %g", model,
                   o.stage, b->world.size, ways, carries_apart(want, have));
        mf_carry_free(have);
    }
    if (b->world.rank == 0)
        printf("%s: %ld births, %ld merges, %ld prunes in %ld sleeps\n", model, changes[0], changes[1], changes[2],
               changes[3]);
    mf_carry_free(want);
}

/* -- failures -- */

static int same_carry(const struct mf_carry *a, const struct mf_carry *b)
{
    int same = a->weights == b->weights;

    for (size_t k = 0; same && k < a->weights; ++k)
        for (int s = 0; s < MF_STATES; ++s)
            if (a->weight[k].state[s])
                same &= memcmp(a->weight[k].state[s], b->weight[k].state[s], mf_shape_bytes(&a->weight[k].shape)) == 0;
    return same;
}

/* At the first place of a sleep, and at the last, on the last rank. */
static void failure(const struct bed *b, int visit, int stage, size_t ways)
{
    struct mf_train_opts o = of_life("moe", batch_for(&b->world, WINDOW, 1));
    char fault[80], *before, *after;
    struct mf_carry *was, *is;
    struct mf_grow grown;
    struct life l, twin;

    o.stage = stage;
    o.ways = ways;
    open_life(b, &b->world, &o, &growth, &usual_sleep, &l);
    open_life(b, &b->world, &o, &growth, &usual_sleep, &twin);
    live(&l, 10);
    live(&twin, 10);
    before = graph_text(&l.grow.graph);
    grown = l.grow;
    CHECK(mf_carry_take(&l.t, &was) == MF_OK);
    snprintf(fault, sizeof fault, "sleep:visit=%d:rank=%d", visit, b->world.size - 1);
    mf_fault_set(fault);
    CHECK_SAYS(mf_sleep_now(&l.sleep, &l.loop) == MF_OK, "%s", mf_err_text());
    mf_fault_set(NULL);
    CHECK(mf_carry_take(&l.t, &is) == MF_OK);
    CHECK(same_carry(was, is) && was->experts.count == is->experts.count);
    after = graph_text(&l.grow.graph);
    CHECK(strcmp(before, after) == 0);
    CHECK(memcmp(grown.changes, l.grow.changes, sizeof grown.changes) == 0 && grown.average == l.grow.average);
    steps_until(&l.t, 13); /* and it goes on as if nothing had happened */
    steps_until(&twin.t, 13);
    have_same_weights(&l, &twin);
    free(before);
    free(after);
    mf_carry_free(was);
    mf_carry_free(is);
    close_life(&l);
    close_life(&twin);
}

/* -- checkpoints -- */

static void keep(struct life *l, struct mf_checkpoint *c)
{
    mf_sleep_list(&l->sleep, c);
    mf_trainer_keep(&l->t, "", c);
}

static void restart(const struct bed *b)
{
    const struct mf_train_opts o = of_life("moe", batch_for(&b->world, WINDOW, 1));
    struct mf_checkpoint *c = mf_checkpoint_new("a: 1\n");
    struct life l, again;

    open_life(b, &b->world, &o, &growth, &usual_sleep, &l);
    live(&l, 15);
    CHECK(l.sleep.replay.count > 0);
    keep(&l, c);
    CHECK_SAYS(mf_checkpoint_write(&b->world, scratch_file("life.h5"), 1, c) == MF_OK, "%s", mf_err_text());
    mf_checkpoint_free(c);
    open_life(b, &b->world, &o, &growth, &usual_sleep, &again);
    CHECK(mf_trainer_rebuild(&again.t, &l.t.experts, NULL) == MF_OK);
    CHECK(mf_checkpoint_open(&b->world, scratch_file("life.h5"), 0, &c) == MF_OK);
    mf_graph_free(&again.grow.graph);
    keep(&again, c);
    CHECK_SAYS(mf_checkpoint_code(c) == MF_OK, "%s", mf_err_text());
    mf_checkpoint_free(c);
    live(&l, LONG);
    live(&again, LONG);
    have_same_weights(&l, &again);
    close_life(&l);
    close_life(&again);
}

/* -- replay -- */

static double error_of(const struct mf_replay *r, const struct mf_carry *c, long id)
{
    double sum = 0, count = 0;

    for (size_t i = 0; i < r->count; ++i) {
        const float *record = mf_replay_record(r, i);
        const size_t k = mf_replay_slot(r, record, id);
        double h[WIDTH], y;

        if (k == r->sizes.top) continue;
        for (size_t j = 0; j < WIDTH; ++j) {
            const struct mf_carried *w = mf_carry_expert(c, id, 1, "weight"), *d = mf_carry_expert(c, id, 1, "bias");

            h[j] = (double)d->state[0][j];
            for (size_t x = 0; x < r->sizes.columns; ++x)
                h[j] += (double)w->state[0][j * r->sizes.columns + x] * (double)record[r->sizes.input + x];
            h[j] = fmax(0, h[j]);
        }
        for (size_t o = 0; o < r->sizes.outputs; ++o) {
            const struct mf_carried *w = mf_carry_expert(c, id, 2, "weight"), *d = mf_carry_expert(c, id, 2, "bias");

            y = (double)d->state[0][o] - (double)record[r->sizes.output + k * r->sizes.outputs + o];
            for (size_t j = 0; j < WIDTH; ++j) y += (double)w->state[0][o * WIDTH + j] * h[j];
            sum += y * y;
            ++count;
        }
    }
    return count > 0 ? sum / count : 0;
}

static int has_records(const struct mf_replay *r, long id)
{
    size_t i = 0;

    while (i < r->count && mf_replay_slot(r, mf_replay_record(r, i), id) == r->sizes.top) ++i;
    return i < r->count;
}

/* Records say what experts made of their rows. Experts that were disturbed come back to that; the router stays. */
static void replay(const struct bed *b)
{
    const struct mf_train_opts o = of_life("moe", batch_for(&b->world, WINDOW, 1));
    struct mf_replay r;
    struct mf_groups groups;
    struct mf_trainer t;
    struct mf_carry *c;
    struct mf_carried *w, *gate;
    const double rate[EXPERTS] = {0.01, 0.01, 0.01, 0.01};
    double confidence[EXPERTS], before, after;
    float rows[64];
    size_t steps, bytes;
    long repeating = -1;

    trainer_open(b, &b->world, b->set, &o, &t);
    groups = mf_groups_of(&t);
    steps_until(&t, 3);
    CHECK(mf_replay_open(&t, &groups, 1000, 1 << 20, &r) == MF_OK && r.room == 1000);
    CHECK(mf_replay_look(&r, &t, 1000) == MF_OK && r.count == WINDOW);
    steps_until(&t, 4);
    CHECK(mf_replay_look(&r, &t, 2) == MF_OK && r.count == WINDOW + 2);
    CHECK(mf_carry_take(&t, &c) == MF_OK);
    CHECK(mf_replay_slot(&r, mf_replay_record(&r, WINDOW), (long)mf_replay_record(&r, WINDOW)[MF_RECORD_IDS]) == 0);
    gate = mf_carry_router(c, "weight");
    memcpy(rows, gate->state[0], sizeof rows);
    for (long e = 0; e < EXPERTS; ++e) {
        w = mf_carry_expert(c, e, 2, "bias");
        for (size_t j = 0; j < w->shape.d[0]; ++j) w->state[0][j] += 0.3F;
    }
    before = error_of(&r, c, 0) + error_of(&r, c, 1) + error_of(&r, c, 2) + error_of(&r, c, 3);
    for (int k = 0; k < 40; ++k) CHECK(mf_replay_repeat(&r, &t, c, 4, rate, confidence, &steps) == MF_OK);
    after = error_of(&r, c, 0) + error_of(&r, c, 1) + error_of(&r, c, 2) + error_of(&r, c, 3);
    CHECK_SAYS(after < 0.1 * before, "the error of %g becomes %g", before, after);
    CHECK(memcmp(rows, gate->state[0], sizeof rows) == 0);
    for (long e = 0; e < EXPERTS; ++e) {
        const int repeats = has_records(&r, e);

        repeating = repeats ? e : repeating;
        CHECK(repeats ? confidence[e] > 0.9 && confidence[e] <= 1 : isnan(confidence[e]));
    }
    CHECK(repeating >= 0 && steps > 0);
    mf_carry_expert(c, repeating, 2, "bias")->state[0][0] = NAN;
    CHECK(mf_replay_repeat(&r, &t, c, 4, rate, confidence, &steps) == MF_NUMERIC);
    CHECK(strstr(mf_err_text(), "in replay is not finite"));
    mf_err_clear();
    mf_carry_free(c);
    bytes = 7 * r.sizes.numbers * sizeof(float);
    mf_replay_close(&r);
    CHECK(mf_replay_open(&t, &groups, 1000, bytes + 3, &r) == MF_OK && r.room == 7);
    steps_until(&t, 5);
    CHECK(mf_replay_look(&r, &t, 6) == MF_OK && mf_replay_look(&r, &t, 5) == MF_OK && r.count == 7 && r.next == 4);
    mf_replay_close(&r);
    mf_trainer_close(&t);
}

/* How far weights of experts move in a sleep. */
static double moved(const struct bed *b, double adaptation_rate)
{
    const struct mf_train_opts o = of_life("moe", batch_for(&b->world, WINDOW, 1));
    struct mf_sleep_opts s = usual_sleep;
    struct mf_carry *was, *is;
    struct life l;
    double most = 0;

    s.similarity = 1;
    s.overlap = 2; /* nothing is divided */
    s.dormant = 1000;
    s.meta = 0;
    open_life(b, &b->world, &o, &growth, &s, &l);
    steps_until(&l.t, 2);
    CHECK(mf_replay_look(&l.sleep.replay, &l.t, WINDOW) == MF_OK);
    steps_until(&l.t, 4);
    CHECK(mf_carry_take(&l.t, &was) == MF_OK);
    for (long e = 0; e < EXPERTS; ++e) mf_graph_find(&l.grow.graph, e)->adaptation_rate = adaptation_rate;
    CHECK(mf_sleep_now(&l.sleep, &l.loop) == MF_OK && l.grow.changes[MF_CHANGE_SLEEP] == 1);
    CHECK(mf_carry_take(&l.t, &is) == MF_OK);
    for (long e = 0; e < EXPERTS; ++e) {
        const struct mf_carried *x = mf_carry_expert(was, e, 2, "weight"), *y = mf_carry_expert(is, e, 2, "weight");

        most = fmax(most, apart(mf_shape_count(&x->shape), x->state[0], y->state[0]));
        CHECK(mf_graph_find(&l.grow.graph, e)->adaptation_rate >= 0.5); /* the sleep sets it anew */
    }
    mf_carry_free(was);
    mf_carry_free(is);
    close_life(&l);
    return most;
}

/* The adaptation rate is the part of --replay-rate with which an expert learns. */
static void adaptation(const struct bed *b)
{
    const double all = moved(b, 1), tenth = moved(b, 0.1);

    CHECK(moved(b, 0) == 0);
    CHECK_SAYS(tenth > 0 && tenth < 0.3 * all, "weights move by %g, with a tenth of the rate by %g", all, tenth);
}

/* -- merging and pruning -- */

/* Expert 2 is nearly expert 0, which did more. */
static void merge(const struct bed *b)
{
    const struct mf_train_opts o = of_life("moe", batch_for(&b->world, WINDOW, 1));
    struct mf_sleep_opts s = usual_sleep;
    struct mf_carry *was, *is;
    struct life l;

    s.records = s.meta = 0;
    s.dormant = 1000;
    s.similarity = 0.99;
    open_life(b, &b->world, &o, &growth, &s, &l);
    steps_until(&l.t, 2);
    CHECK(mf_carry_take(&l.t, &was) == MF_OK);
    for (size_t layer = 1; layer <= 2; ++layer)
        for (int k = 0; k < 2; ++k) {
            const struct mf_carried *from = mf_carry_expert(was, 0, layer, k ? "bias" : "weight");
            struct mf_carried *to = mf_carry_expert(was, 2, layer, k ? "bias" : "weight");

            for (size_t i = 0; i < mf_shape_count(&to->shape); ++i) to->state[0][i] = 1.001F * from->state[0][i];
        }
    CHECK_NEAR(mf_carry_similarity(was, 0, 2), 1, 1e-6);
    CHECK(fabs(mf_carry_similarity(was, 0, 1)) < 0.6);
    mf_carry_put(was, &l.t);
    mf_graph_find(&l.grow.graph, 0)->activations = 30;
    mf_graph_find(&l.grow.graph, 2)->activations = 10;
    l.sleep.opts.similarity = l.sleep.tuning.value[MF_HYPER_SIMILARITY] = 0.55;
    CHECK(mf_sleep_now(&l.sleep, &l.loop) == MF_OK);
    CHECK(l.t.experts.count == EXPERTS - 1 && mf_experts_find(&l.t.experts, 2) == EXPERTS - 1);
    CHECK(l.grow.changes[MF_CHANGE_MERGE] == 1 && !mf_graph_find(&l.grow.graph, 2));
    CHECK(mf_graph_find(&l.grow.graph, 0)->activations == 40);
    CHECK(mf_carry_take(&l.t, &is) == MF_OK);
    CHECK_NEAR((double)mf_carry_expert(is, 0, 1, "weight")->state[0][5],
               1.00025 * (double)mf_carry_expert(was, 0, 1, "weight")->state[0][5], 1e-6);
    CHECK_NEAR((double)mf_carry_expert(is, 0, 1, "weight")->state[1][5],
               0.75 * (double)mf_carry_expert(was, 0, 1, "weight")->state[1][5] +
                   0.25 * (double)mf_carry_expert(was, 2, 1, "weight")->state[1][5],
               1e-6);
    mf_carry_free(was);
    mf_carry_free(is);
    close_life(&l);
}

/* The idlest go, as long as there are more than the least number. */
static void prune(const struct bed *b)
{
    const struct mf_train_opts o = of_life("moe", batch_for(&b->world, WINDOW, 1));
    struct mf_sleep_opts s = usual_sleep;
    struct life l;

    s.records = s.meta = 0;
    s.similarity = 1;
    open_life(b, &b->world, &o, &growth, &s, &l);
    steps_until(&l.t, 10);
    for (long e = 0; e < EXPERTS; ++e) {
        struct mf_graph_expert *expert = mf_graph_find(&l.grow.graph, e);

        expert->active = e == 3 ? 5 : 4; /* five steps ago is not long enough */
        expert->activations = 10 - (double)e;
    }
    CHECK(mf_sleep_now(&l.sleep, &l.loop) == MF_OK);
    CHECK(l.t.experts.count == 2 && l.t.experts.id[0] == 0 && l.t.experts.id[1] == 3);
    CHECK(l.grow.changes[MF_CHANGE_PRUNE] == 2 && l.grow.graph.experts == 2);
    close_life(&l);
}

/* -- overlaps -- */

static struct mf_sleep_state state_of(struct life *l)
{
    struct mf_sleep_state state = mf_sleep_state_of(&l->sleep, &l->t);

    CHECK(mf_survey_make(&l->t, &l->grow.groups, MF_TRAIN, LEARNT, &state.survey) == MF_OK);
    CHECK(mf_carry_take(&l->t, &state.carry) == MF_OK);
    return state;
}

/* Alike experts become one, but not a special one and one of another class. All have rows of one class or of two. */
static void merge_by_class(const struct bed *b, double special, size_t mergers)
{
    static const double table[EXPERTS][CLASSES] = {{8, 0}, {0, 8}, {5, 4}, {9, 0}};
    const struct mf_train_opts o = of_life("moe", batch_for(&b->world, WINDOW, 1));
    struct mf_sleep_opts s = usual_sleep;
    struct mf_sleep_state state;
    struct life l;

    s.special = special;
    open_life(b, &b->world, &o, &growth, &s, &l);
    state = state_of(&l);
    for (size_t e = 0; e < EXPERTS; ++e) {
        state.survey.rows[e] = 8;
        memcpy(state.survey.table + e * CLASSES, table[e], sizeof table[e]);
        for (size_t j = 0; j < state.survey.columns; ++j) state.survey.centroid[e * state.survey.columns + j] = 1;
    }
    mf_sleep_merge(&state, 0.35); /* mean inputs alone make 0.4 */
    CHECK(state.events == mergers && l.grow.graph.experts == EXPERTS - mergers);
    if (mergers == 1) CHECK(state.event[0].expert != 1 && state.event[0].other != 1); /* the only one of its class */
    mf_carry_free(state.carry);
    mf_survey_free(&state.survey);
    close_life(&l);
}

/* Three bins: the first expert has records 1 1 1 0, the second 1 0 1 1. So they share 2 of 4, each a third: 0.5. The
 * fourth has two records, and one with each of them. */
static void overlaps(const struct bed *b)
{
    static const struct mf_graph_edge want[] = {{0, 1, MF_DEPENDENCY, 2. / 3}, {0, 1, MF_COMPOSITION, 2. / 4},
                                                {0, 3, MF_DEPENDENCY, 1. / 2}, {0, 3, MF_COMPOSITION, 1. / 4},
                                                {1, 3, MF_DEPENDENCY, 1. / 2}, {1, 3, MF_COMPOSITION, 1. / 4}};
    static const int group[] = {0, 0, 1, 2}, has[][2] = {{0, 1}, {0, 3}, {0, 1}, {3, 1}};
    const struct mf_train_opts o = of_life("moe", batch_for(&b->world, WINDOW, 1));
    double share[EXPERTS * EXPERTS];
    struct mf_sleep_state state;
    struct life l;

    open_life(b, &b->world, &o, &growth, &usual_sleep, &l);
    steps_until(&l.t, 1);
    state = state_of(&l);
    l.sleep.replay.count = 4;
    for (size_t i = 0; i < 4; ++i) {
        float *record = l.sleep.replay.at + i * l.sleep.replay.sizes.numbers;

        memset(record, 0, l.sleep.replay.sizes.numbers * sizeof *record);
        record[MF_RECORD_GROUP] = (float)group[i];
        for (size_t k = 0; k < 2; ++k) record[MF_RECORD_IDS + k] = (float)has[i][k];
    }
    mf_sleep_overlaps(&state, share);
    /* shares: 2/3 1/3 0; 1/3 1/3 1/3 */
    CHECK_NEAR(share[1], (1.0 / 3 + 1.0 / 3) / (2.0 / 3 + 1.0 / 3 + 1.0 / 3), 1e-12);
    CHECK(share[2] == 0 && share[0] == 1 && share[EXPERTS] == share[1]);
    mf_sleep_relate(&state);
    CHECK(l.grow.graph.edges == sizeof want / sizeof *want);
    for (size_t i = 0; i < l.grow.graph.edges; ++i) {
        CHECK(mf_graph_order(&l.grow.graph.edge[i], &want[i]) == 0);
        CHECK_NEAR(l.grow.graph.edge[i].weight, want[i].weight, 1e-12);
    }
    mf_carry_free(state.carry);
    mf_survey_free(&state.survey);
    close_life(&l);
}

/* A change that does not help is taken back, to the bit. A change that stays does not raise the loss. */
static void divide(const struct bed *b, double rate)
{
    const struct mf_train_opts o = of_life("moe", batch_for(&b->world, WINDOW, 1));
    struct mf_sleep_opts s = usual_sleep;
    double before, after, merit, merit_after;
    float *want, *got;
    struct mf_sleep_state state;
    struct life l;
    size_t count, m;
    char *said;

    s.rate = rate;
    s.records = 80;
    open_life(b, &b->world, &o, &growth, &s, &l);
    for (size_t step = 1; step <= 6; ++step) {
        steps_until(&l.t, step);
        CHECK(mf_replay_look(&l.sleep.replay, &l.t, WINDOW) == MF_OK);
    }
    want = weights_of(&l.t, &count);
    state = state_of(&l);
    CHECK(mf_sleep_score(&state, &before, &merit) == MF_OK);
    CHECK_SAYS(mf_sleep_divide(&state) == MF_OK, "%s", mf_err_text());
    CHECK(state.pairs > 0 && l.grow.graph.edges == state.pairs &&
          l.grow.graph.edge[0].relation == MF_SPECIALIZATION_SPLIT);
    CHECK(mf_sleep_score(&state, &after, &merit_after) == MF_OK);
    got = weights_of(&l.t, &m);
    CHECK(after <= before && merit_after >= merit);
    said = mf_sleep_division(&state);
    if (rate > 1) CHECK(state.tried > 0 && state.divided == 0 && apart(count, want, got) == 0);
    CHECK_SAYS((strstr(said, " divided and taken back") != NULL) == (state.tried > state.divided), "%s", said);
    if (state.divided > 0) CHECK(apart(count, want, got) > 0);
    if (b->world.rank == 0 && rate < 1) printf("loss %.6f, %zu divided: %.6f\n", before, state.divided, after);
    free(said);
    free(want);
    free(got);
    mf_carry_free(state.carry);
    mf_survey_free(&state.survey);
    close_life(&l);
}

/* -- when, and what it costs -- */

static void times(void)
{
    struct mf_sleep s = {.opts = {.least = 500, .most = 2000}, .first = 4, .tuning.value = {0, 0, 1000}};

    CHECK(mf_sleep_interval(&s, 4) == 1000 && mf_sleep_interval(&s, 6) == 1000);
    CHECK(mf_sleep_interval(&s, 7) == 1000 && mf_sleep_interval(&s, 12) == 666 && mf_sleep_interval(&s, 32) == 500);
    s.tuning.value[MF_HYPER_INTERVAL] = 300; /* as it was asked for: many experts never make it longer */
    CHECK(mf_sleep_interval(&s, 4) == 300 && mf_sleep_interval(&s, 12) == 300);
}

/* One hyperparameter at a time; one that did harm goes back and turns round. */
static void tuning(void)
{
    struct mf_grow g = {0};
    struct mf_sleep s = {.grow = &g,
                         .low = {0.1, 0.6, 500},
                         .high = {0.5, 0.9, 1050},
                         .tuning = {.value = {0.4, 0.8, 1000}, .turn = {1, 1, 1}, .last = -1}};

    mf_sleep_tune(&s, 1.0);
    CHECK_NEAR(s.tuning.value[0], 0.44, 1e-12);
    CHECK_NEAR(g.opts.threshold, 0.44, 1e-12);
    mf_sleep_tune(&s, 0.9);
    CHECK_NEAR(s.tuning.value[0], 0.44, 1e-12);
    CHECK_NEAR(s.tuning.value[1], 0.82, 1e-12);
    mf_sleep_tune(&s, 0.95);
    CHECK_NEAR(s.tuning.value[1], 0.8, 1e-12);
    CHECK(s.tuning.turn[1] == -1 && s.tuning.value[2] == 1050);
    mf_sleep_tune(&s, 0.9);
    CHECK_NEAR(s.tuning.value[0], 0.484, 1e-12);
    mf_sleep_tune(&s, 0.9);
    CHECK_NEAR(s.tuning.value[1], 0.78, 1e-12);
    mf_sleep_tune(&s, NAN);
    CHECK_NEAR(s.tuning.value[1], 0.78, 1e-12);
}

/* No sample that was classified right is classified wrong after a sleep. */
static void accuracy(const struct bed *b)
{
    struct mf_train_opts o = mixture("moe", batch_for(&b->world, WINDOW, 1));
    struct mf_sleep_opts s = usual_sleep;
    const struct mf_grow_opts still = {.threshold = 1, .window = 3, .least = 2, .most = 6};
    struct mf_scores before, after;
    struct life l;

    o.schedule.steps = 400;
    o.schedule.rate = 0.01;
    o.task = &bed_task[OF_PLAIN];
    s.every = 1000;
    s.rate = 1e-4;
    s.similarity = 0.8;
    open_life(b, &b->world, &o, &still, &s, &l);
    live(&l, 380);
    CHECK(mf_trainer_score(&l.t, LEARNT, b->set->id[MF_TRAIN], 0, &before) == MF_OK);
    CHECK(l.sleep.replay.count > 0 && mf_sleep_now(&l.sleep, &l.loop) == MF_OK);
    CHECK(l.grow.changes[MF_CHANGE_SLEEP] == 1 && l.sleep.replay.count == 0);
    CHECK(mf_trainer_score(&l.t, LEARNT, b->set->id[MF_TRAIN], 0, &after) == MF_OK);
    CHECK_SAYS(mf_classify_accuracy(&after.head[0]) >= mf_classify_accuracy(&before.head[0]) - 0.002,
               "accuracy %g becomes %g", mf_classify_accuracy(&before.head[0]), mf_classify_accuracy(&after.head[0]));
    if (b->world.rank == 0)
        printf("accuracy %.3f, loss %.5f; after a sleep %.3f, %.5f\n", mf_classify_accuracy(&before.head[0]),
               before.loss, mf_classify_accuracy(&after.head[0]), after.loss);
    mf_scores_free(&before);
    mf_scores_free(&after);
    close_life(&l);
}

/* Cases that four ranks do not have. */
static void rest(struct bed *b)
{
    if (has_all(b)) failure(b, 1, 0, 0);
    if (has_all(b)) failure(b, 2, 0, 0);
    failure(b, 2, 3, 0);
    if (b->world.size > 1) failure(b, 2, 0, (size_t)b->world.size);
    restart(b);
    replay(b);
    adaptation(b);
    merge(b);
    merge_by_class(b, 0.7, 1);
    merge_by_class(b, 1, 2);
    prune(b);
    overlaps(b);
    divide(b, 1e-3);
    divide(b, 10);
    if (has_all(b)) accuracy(b);
}

int main(int argc, char **argv)
{
    struct bed b;

    bed_open(&b, &argc, &argv);
    times();
    tuning();
    same_lives(&b, "moe", 0);
    same_lives(&b, "vit", 0);
    if (b.world.size > 1) same_lives(&b, "moe", (size_t)b.world.size);
    if (b.world.size == 4) same_lives(&b, "moe", 2);
    if (b.world.size != 4 || getenv("MF_LONG")) rest(&b);
    bed_close(&b);
    return failures != 0;
}
