/* See window.h. */
#include "src/train/window.h"

#include "src/base/order.h"

size_t mf_window_steps(size_t samples, size_t effective) { return (samples + effective - 1) / effective; }

struct mf_window mf_window_of(size_t samples, size_t effective, size_t step)
{
    const size_t steps = mf_window_steps(samples, effective), first = step % steps * effective;
    const size_t left = samples - first;

    return (struct mf_window){step / steps, first, left < effective ? left : effective};
}

struct mf_span mf_window_part(const struct mf_window *window, size_t ranks, size_t rank, size_t batch, size_t micro)
{
    const struct mf_span own = mf_cut(window->count, ranks, rank);
    const size_t skip = micro * batch < own.count ? micro * batch : own.count, left = own.count - skip;

    return (struct mf_span){window->first + own.first + skip, left < batch ? left : batch};
}

size_t mf_window_micro(size_t effective, size_t ranks, size_t batch)
{
    const size_t most = mf_cut(effective, ranks, 0).count;

    return (most + batch - 1) / batch;
}

static size_t id_at(const struct mf_dataset *set, enum mf_split split, uint64_t seed, size_t epoch, size_t position)
{
    return set->id[split][mf_order(seed, epoch, set->count[split], position)];
}

size_t mf_window_rows(const struct mf_task *task, const struct mf_dataset *set, uint64_t seed,
                      const struct mf_window *window, size_t head)
{
    size_t rows = 0;

    for (size_t i = 0; i < window->count; ++i)
        rows += task->learn->rows(task, set, head, id_at(set, MF_TRAIN, seed, window->epoch, window->first + i));
    return rows;
}

void mf_window_ids(const struct mf_dataset *set, enum mf_split split, uint64_t seed, size_t epoch,
                   const struct mf_span *span, size_t *id)
{
    for (size_t i = 0; i < span->count; ++i) id[i] = id_at(set, split, seed, epoch, span->first + i);
}
