/* Records of experts in a training become pictures, from its first step on; the same state gives the same bytes. With
 * an argument: the folder that pictures go to, to be looked at. */
#include "src/moe/draw.h"

#include <string.h>

#include "src/base/err.h"
#include "tests/check.h"
#include "tests/scratch.h"

enum { EXPERTS = 10, STEPS = 3000, ROOM = 1 << 20 };

static const char *const classes[] = {"spheres", "fibres", "lamellae", "grains"};

static void bear(struct mf_graph *g, struct mf_history *h, long step, long id)
{
    const long parent = id > 2 ? id - 3 : -1;

    mf_graph_add(g, &(struct mf_graph_expert){.id = id, .born = step, .parent = parent});
    if (parent >= 0 && mf_graph_find(g, parent)) mf_graph_connect(g, id, parent, MF_SIMILARITY, 0.5);
    if (id > 4 && mf_graph_find(g, id - 2)) mf_graph_connect(g, id, id - 2, (enum mf_relation)(id % MF_RELATIONS), 0.9);
    if (step) mf_history_event(h, step, id, MF_CHANGE_BIRTH);
}

static void work(struct mf_graph *g, struct mf_history *h, long step)
{
    long id[EXPERTS];
    double rows[EXPERTS];

    for (size_t i = 0; i < g->experts; ++i) {
        id[i] = g->expert[i].id;
        rows[i] = 1 + (double)((id[i] * 5 + step / 300) % 7);
        g->expert[i].activations += rows[i];
        if (id[i] != 9) mf_graph_serve(g, id[i], (size_t)(id[i] + (step % 5 == 0)) % 4, rows[i]);
    }
    mf_history_step(h, step, g->experts, id, rows);
}

static void live(struct mf_graph *g, struct mf_history *h)
{
    for (long step = 0; step < STEPS; ++step) {
        if (step % 250 == 0 && g->next < EXPERTS) bear(g, h, step, g->next);
        work(g, h, step);
        if (step == 1900 || step == 2600) mf_history_event(h, step, -1, MF_CHANGE_SLEEP);
        if (step == 1900) {
            mf_graph_merge(g, 1, 4);
            mf_history_event(h, step, 1, MF_CHANGE_MERGE);
        }
        if (step == 2600) {
            mf_graph_prune(g, 2);
            mf_history_event(h, step, 2, MF_CHANGE_PRUNE);
        }
    }
}

static size_t drawn(const char *name, char *bytes)
{
    FILE *from = fopen(name, "rb");
    const size_t n = from ? fread(bytes, 1, ROOM, from) : 0;

    if (from) (void)fclose(from);
    return n;
}

static void draw(const struct mf_graph *g, const struct mf_history *h, char bytes[2][ROOM], size_t n[2])
{
    CHECK(mf_draw_graph(g, "Knowledge graph, epoch 1", "knowledge_graph_epoch_1.png") == MF_OK);
    CHECK(mf_draw_activations(h, g, "Experts", "expert_activations.png") == MF_OK);
    n[0] = drawn("knowledge_graph_epoch_1.png", bytes[0]);
    n[1] = drawn("expert_activations.png", bytes[1]);
    CHECK(n[0] > 2000 && n[1] > 2000);
}

int main(int argc, char **argv)
{
    static char bytes[2][2][ROOM];
    struct mf_graph g = {.next = 0};
    struct mf_history h = {.times = 0};
    struct mf_comm c;
    size_t n[2][2];

    mf_comm_self(&c);
    scratch_open(&c);
    CHECK(chdir(argc > 1 ? argv[1] : scratch) == 0);
    for (int i = 0; i < 4; ++i) mf_graph_concept(&g, classes[i], -1);
    bear(&g, &h, 0, 0);
    draw(&g, &h, bytes[0], n[0]);
    work(&g, &h, 0);
    draw(&g, &h, bytes[0], n[0]);
    mf_history_free(&h);
    live(&g, &h);
    draw(&g, &h, bytes[0], n[0]);
    draw(&g, &h, bytes[1], n[1]);
    for (int k = 0; k < 2; ++k) CHECK(n[0][k] == n[1][k] && memcmp(bytes[0][k], bytes[1][k], n[0][k]) == 0);
    CHECK(mf_draw_graph(&g, NULL, "/nowhere/a.png") == MF_OUTPUT);
    CHECK(mf_draw_activations(&h, &g, NULL, "/nowhere/a.png") == MF_OUTPUT);
    mf_graph_free(&g);
    mf_history_free(&h);
    scratch_close(&c);
    return failures != 0;
}
