/* Selection and labels on the shadow: see shadow.h. */
#include "kernels/shadow/shadow.h"

/* -- selection -- */

static const struct mf_select_ops *select(void) { return mf_backend_cpu.select; }

static void count(struct mf_queue *q, size_t n, const float *score, int digit, uint32_t prefix, int64_t *bins)
{
    bins = mf_shadow_output(q, "count", bins, MF_BINS * sizeof *bins);
    MF_SHADOW_RUN("count", select()->count(mf_shadow_inner(q), n, score, digit, prefix, bins), score);
}

static void ties(struct mf_queue *q, size_t planes, size_t plane, const float *score, uint32_t key, int64_t *out)
{
    out = mf_shadow_output(q, "ties", out, planes * sizeof *out);
    MF_SHADOW_RUN("ties", select()->ties(mf_shadow_inner(q), planes, plane, score, key, out), score);
}

static size_t nth(struct mf_queue *q, size_t n, const float *score, uint32_t key, size_t before)
{
    size_t i;

    MF_SHADOW_RUN("nth", i = select()->nth(mf_shadow_inner(q), n, score, key, before), score);
    return i;
}

static void mark(struct mf_queue *q, size_t n, const float *score, struct mf_choice choice, uint8_t value,
                 uint8_t *label)
{
    MF_SHADOW_RUN("mark", select()->mark(mf_shadow_inner(q), n, score, choice, value, label), score, label);
}

static size_t list(struct mf_queue *q, size_t n, const float *score, struct mf_choice choice, size_t most,
                   struct mf_pick *pick)
{
    struct mf_pick *to = mf_shadow_output(q, "list", pick, most * sizeof *pick);
    size_t found;

    MF_SHADOW_RUN("list", found = select()->list(mf_shadow_inner(q), n, score, choice, most, to), score);
    q->backend->sync(q); /* it waits */
    return found;
}

const struct mf_select_ops mf_select_shadow = {.count = count, .ties = ties, .nth = nth, .mark = mark, .list = list};

/* -- labels -- */

static const struct mf_label_ops *labels(void) { return mf_backend_cpu.label; }

static void fill(struct mf_queue *q, size_t n, uint8_t value, uint8_t *label)
{
    MF_SHADOW_RUN("fill", labels()->fill(mf_shadow_inner(q), n, value, label), label);
}

static void replace(struct mf_queue *q, size_t n, uint8_t from, uint8_t to, uint8_t *label)
{
    MF_SHADOW_RUN("replace", labels()->replace(mf_shadow_inner(q), n, from, to, label), label);
}

static void lead(struct mf_queue *q, struct mf_extent e, const float *x, size_t phase, uint32_t rivals,
                 const uint8_t *label, float *score)
{
    MF_SHADOW_RUN("lead", labels()->lead(mf_shadow_inner(q), e, x, phase, rivals, label, score), x, label, score);
}

static void indicate(struct mf_queue *q, struct mf_extent e, const uint8_t *label, float *x)
{
    MF_SHADOW_RUN("indicate", labels()->indicate(mf_shadow_inner(q), e, label, x), label, x);
}

static void hold(struct mf_queue *q, struct mf_extent e, const uint8_t *fixed, float value, float *x)
{
    MF_SHADOW_RUN("hold", labels()->hold(mf_shadow_inner(q), e, fixed, value, x), fixed, x);
}

static void change(struct mf_queue *q, size_t n, const struct mf_change *what, uint8_t *label)
{
    mf_shadow_input(q, "change", what, n * sizeof *what);
    MF_SHADOW_RUN("change", labels()->change(mf_shadow_inner(q), n, what, label), label);
}

static void check_moves(const char *kernel, const struct mf_labels *l, const struct mf_moves *m)
{
    mf_shadow_device(kernel, 3, (const void *const[]){l->own, l->halo, m->g});
    for (size_t d = 0; d < m->sides; ++d) mf_shadow_device(kernel, 2, (const void *const[]){m->jump[d], m->self[d]});
}

static void rank(struct mf_queue *q, const struct mf_labels *l, const struct mf_moves *m, float *score)
{
    check_moves("rank", l, m);
    MF_SHADOW_RUN("rank", labels()->rank(mf_shadow_inner(q), l, m, score), score);
}

static void look(struct mf_queue *q, const struct mf_labels *l, const struct mf_moves *m,
                 const struct mf_window_shape *shape, size_t n, const struct mf_pick *pick, float *rest,
                 uint32_t *window)
{
    check_moves("look", l, m);
    mf_shadow_input(q, "look", pick, n * sizeof *pick);
    rest = mf_shadow_output(q, "look", rest, n * sizeof *rest);
    window = mf_shadow_output(q, "look", window, n * m->sides * mf_move_phases(m) * shape->n * sizeof *window);
    MF_SHADOW_RUN("look", labels()->look(mf_shadow_inner(q), l, m, shape, n, pick, rest, window), l->own);
}

const struct mf_label_ops mf_label_shadow = {.fill = fill,
                                             .replace = replace,
                                             .lead = lead,
                                             .indicate = indicate,
                                             .hold = hold,
                                             .change = change,
                                             .rank = rank,
                                             .look = look};
