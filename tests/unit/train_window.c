/* Every sample once an epoch, whatever ranks, batches and slots; windows do not depend on these. Learning rates are
 * those of PyTorch 2.15: OneCycleLR; LinearLR, then CosineAnnealingLR or LinearLR. */
#include "src/train/window.h"

#include <stdlib.h>
#include <string.h>

#include "src/train/learn_classify.h"
#include "src/train/learn_regress.h"
#include "src/train/schedule.h"
#include "tests/check.h"

/* -- windows -- */

enum { MOST = 211 };

static uint32_t id[MOST];
static int32_t label[2 * MOST];

/* A split of every second sample; a third of the labels are not known. */
static struct mf_dataset set_of(size_t samples)
{
    struct mf_dataset set = {.samples = 2 * samples, .label = label};

    for (size_t i = 0; i < samples; ++i) id[i] = (uint32_t)(2 * i + 1);
    for (size_t i = 0; i < 2 * samples; ++i) label[i] = i % 3 == 0 ? -1 : (int32_t)(i % 4);
    set.id[MF_TRAIN] = id;
    set.count[MF_TRAIN] = samples;
    return set;
}

/* Takes the samples of one part; how many have a label. */
static size_t take(const struct mf_dataset *set, size_t epoch, struct mf_span part, size_t batch, int *seen)
{
    size_t got[MOST], rows = 0;

    CHECK(part.count <= batch);
    mf_window_ids(set, MF_TRAIN, 9, epoch, &part, got);
    for (size_t i = 0; i < part.count; ++i) {
        ++seen[got[i]];
        rows += label[got[i]] >= 0;
    }
    return rows;
}

static const struct mf_task classes = {.learn = &mf_learn_classify}, columns = {.learn = &mf_learn_regress};

/* One step; @p slots 0: passes of @p batch on all ranks. */
static void step(const struct mf_dataset *set, size_t effective, size_t number, size_t ranks, size_t batch,
                 size_t slots, int *seen)
{
    const struct mf_window w = mf_window_of(set->count[MF_TRAIN], effective, number);
    const size_t micro = mf_window_micro(effective, ranks, batch);
    size_t rows = 0, count = 0;

    for (size_t k = 0; k < (slots ? slots : ranks * micro); ++k) {
        const struct mf_span part =
            slots ? mf_window_part(&w, 1, 0, batch, k) : mf_window_part(&w, ranks, k / micro, batch, k % micro);

        CHECK(part.count == 0 || (part.first >= w.first && part.first + part.count <= w.first + w.count));
        count += part.count;
        rows += take(set, w.epoch, part, batch, seen);
    }
    CHECK(count == w.count && rows == mf_window_rows(&classes, set, 9, &w, 0) &&
          count == mf_window_rows(&columns, set, 9, &w, 0));
}

static void once_an_epoch(size_t samples, size_t effective, size_t ranks, size_t batch, size_t slots)
{
    const struct mf_dataset set = set_of(samples);
    const size_t steps = mf_window_steps(samples, effective);

    for (size_t epoch = 0; epoch < 2; ++epoch) {
        int seen[2 * MOST] = {0};

        for (size_t k = 0; k < steps; ++k) {
            CHECK(mf_window_of(samples, effective, epoch * steps + k).epoch == epoch);
            step(&set, effective, epoch * steps + k, ranks, batch, slots, seen);
        }
        for (size_t i = 0; i < set.samples; ++i)
            CHECK_SAYS(seen[i] == (int)(i % 2), "sample %zu of %zu: %d times in epoch %zu, in windows of %zu", i,
                       samples, seen[i], epoch, effective);
    }
}

static void windows(void)
{
    static const size_t samples[] = {1, 2, 5, 42, 127, MOST}, effective[] = {1, 2, 7, 13, 64, 300};

    for (size_t s = 0; s < 6; ++s)
        for (size_t e = 0; e < 6; ++e)
            for (size_t n = 1; n <= 5; ++n) {
                const size_t most = mf_cut(effective[e], n, 0).count;

                for (size_t passes = 1; passes <= 4; passes *= 2) {
                    once_an_epoch(samples[s], effective[e], n, (most + passes - 1) / passes, 0);
                    CHECK(mf_window_micro(effective[e], n, (most + passes - 1) / passes) <= passes);
                }
                once_an_epoch(samples[s], effective[e], n, (effective[e] + 3) / 4, 4);
            }
}

/* Epochs have orders of their own. */
static void orders(void)
{
    const struct mf_dataset set = set_of(MOST);
    const struct mf_span all = {0, MOST};
    size_t got[2][MOST], same = 0;

    for (size_t e = 0; e < 2; ++e) mf_window_ids(&set, MF_TRAIN, 9, e, &all, got[e]);
    for (size_t i = 0; i < MOST; ++i) same += got[0][i] == got[1][i];
    CHECK(same < 10);
}

/* -- schedules -- */

static void rate(enum mf_schedule_kind kind, size_t steps, size_t warmup, size_t step, double want)
{
    const struct mf_schedule s = {kind, 0.1, warmup, steps, 0, 0};
    const double got = mf_schedule_rate(&s, step);

    CHECK_SAYS(fabs(got - want) < 1e-12, "schedule %d, step %zu of %zu: %.17g, want %.17g", (int)kind, step, steps, got,
               want);
}

/* PyTorch's OneCycleLR with pct_start 0.1. */
static void risen(size_t steps, size_t step, double want)
{
    const struct mf_schedule s = {MF_SCHEDULE_ONE_CYCLE, 0.1, 0, steps, 0, 0.1};
    const double got = mf_schedule_rate(&s, step);

    CHECK_SAYS(fabs(got - want) < 1e-9, "a rise of a tenth, step %zu of %zu: %.17g, want %.17g", step, steps, got,
               want);
}

/* A logarithm: steep, then flat; the step behind the warm-up has the highest rate. */
static void logarithm(void)
{
    const struct mf_schedule s = {MF_SCHEDULE_CONSTANT, 0.1, 6, 10, 1, 0};

    CHECK_SAYS(fabs(mf_schedule_rate(&s, 0) - 0.1 / 3) < 1e-12, "log 2 of log 8: %g", mf_schedule_rate(&s, 0));
    CHECK_SAYS(fabs(mf_schedule_rate(&s, 2) - 0.2 / 3) < 1e-12, "log 4 of log 8: %g", mf_schedule_rate(&s, 2));
    CHECK_SAYS(mf_schedule_rate(&s, 6) == 0.1, "behind the warm-up: %g", mf_schedule_rate(&s, 6));
}

static void schedules(void)
{
    static const double cycle[] = {0.0040000000000000036, 0.052000000000000005, 0.1},
                        warm[] = {0.025, 0.05, 0.07500000000000001, 0.1};

    for (size_t k = 0; k < 3; ++k) rate(MF_SCHEDULE_ONE_CYCLE, 10, 0, k, cycle[k]);
    rate(MF_SCHEDULE_ONE_CYCLE, 10, 7, 3, 0.09504846320134738); /* its rise is its own */
    rate(MF_SCHEDULE_ONE_CYCLE, 10, 0, 5, 0.06112620219362893);
    rate(MF_SCHEDULE_ONE_CYCLE, 10, 0, 9, 4e-07);
    rate(MF_SCHEDULE_ONE_CYCLE, 10, 0, 10, 4e-07);
    rate(MF_SCHEDULE_ONE_CYCLE, 37, 0, 1, 0.006303370838428968);
    rate(MF_SCHEDULE_ONE_CYCLE, 37, 0, 12, 0.0986780269964604);
    rate(MF_SCHEDULE_ONE_CYCLE, 37, 0, 35, 0.00036777190765913803);
    rate(MF_SCHEDULE_ONE_CYCLE, 3, 0, 0, 0.09944154354509119);
    rate(MF_SCHEDULE_ONE_CYCLE, 3, 0, 1, 0.046263710266697504);
    rate(MF_SCHEDULE_ONE_CYCLE, 2, 0, 0, 0.0811745653949763);
    rate(MF_SCHEDULE_ONE_CYCLE, 2, 0, 1, 4e-07);
    rate(MF_SCHEDULE_ONE_CYCLE, 1, 0, 0, 0.1);
    risen(20, 0, 0.004);
    risen(20, 1, 0.1);
    risen(20, 10, 0.0500002);
    risen(20, 17, 0.0030157569);
    risen(10, 0, 0.1); /* no step is left to rise in */
    for (int kind = 0; kind < 4; ++kind)
        for (size_t k = 0; k < 4 && kind != MF_SCHEDULE_ONE_CYCLE; ++k)
            rate((enum mf_schedule_kind)kind, 10, 3, k, warm[k]);
    rate(MF_SCHEDULE_COSINE, 10, 3, 5, 0.08117449009293669);
    rate(MF_SCHEDULE_COSINE, 10, 3, 9, 0.004951556604879049);
    rate(MF_SCHEDULE_COSINE, 10, 3, 99, 0.004951556604879049);
    rate(MF_SCHEDULE_COSINE, 10, 0, 0, 0.1);
    rate(MF_SCHEDULE_COSINE, 10, 0, 1, 0.09755282581475769);
    rate(MF_SCHEDULE_COSINE, 37, 5, 18, 0.06451423386272312);
    rate(MF_SCHEDULE_COSINE, 37, 5, 36, 0.00024076366639015905);
    rate(MF_SCHEDULE_COSINE, 2, 9, 1, 0.02); /* the end comes in the warm-up */
    rate(MF_SCHEDULE_COSINE, 0, 0, 3, 0.1);
    rate(MF_SCHEDULE_WARMUP_DECAY, 10, 3, 5, 0.07142857142857144);
    rate(MF_SCHEDULE_WARMUP_DECAY, 10, 3, 9, 0.01428571428571429);
    rate(MF_SCHEDULE_WARMUP_DECAY, 37, 5, 18, 0.05937499999999998);
    rate(MF_SCHEDULE_CONSTANT, 10, 3, 9, 0.1);
}

int main(void)
{
    windows();
    orders();
    schedules();
    logarithm();
    return failures != 0;
}
