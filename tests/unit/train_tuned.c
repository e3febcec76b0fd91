/* Ranks take the algorithms that rank 0 found, and later trainers those of the file; both try none. Algorithms that one
 * rank found beside others are added to the file. */
#include "src/train/tuned.h"

#include "tests/unit/train_case.h"

/* A trainer with what is remembered, which learns. The caller frees its weights. */
static float *learn(const struct bed *b, struct mf_queue *queue, struct mf_algorithms *found, size_t *n)
{
    struct mf_train_opts o = usual("mlp", 1, batch_for(&b->world, WINDOW, 1));
    struct mf_trainer t;
    float *weights;

    mf_tuned_open(found);
    o.compile = MF_COMPILE_TUNE;
    o.tuning = found;
    CHECK_SAYS(mf_trainer_open(&b->world, queue->host, queue, b->set, &o, &t) == MF_OK, "%s", mf_err_text());
    CHECK(!queue->tuning);
    steps_until(&t, STEPS);
    weights = weights_of(&t, n);
    mf_trainer_close(&t);
    return weights;
}

static void added(const struct bed *b)
{
    struct mf_algorithms one, other, all;

    if (b->world.rank != 0) return;
    mf_tuned_open(&one);
    mf_tuned_open(&other);
    mf_algorithms_put(&one, "some product", "1");
    mf_algorithms_put(&other, "another product", "2");
    mf_tuned_save(&one);
    mf_tuned_save(&other);
    mf_tuned_open(&all);
    CHECK(mf_algorithms_find(&all, "some product") && mf_algorithms_find(&all, "another product"));
    mf_algorithms_free(&one);
    mf_algorithms_free(&other);
    mf_algorithms_free(&all);
}

int main(int argc, char **argv)
{
    struct bed b;
    struct device d;
    struct mf_algorithms first, then;
    float *weights, *same;
    size_t n, m;
    char *text;

    bed_open(&b, &argc, &argv);
    setenv("XDG_CACHE_HOME", scratch_file("cache"), 1);
    d = device_open(1, 0, 0);
    weights = learn(&b, d.q, &first, &n);
    same = learn(&b, d.q, &then, &m);
    if (d.be->segment_begin) {
        CHECK(b.world.rank ? first.tried == 0 : first.tried > 0);
        CHECK(then.tried == 0 && then.remembered > 0 && then.remembered >= first.remembered);
        CHECK(first.left == 0 && first.entries == then.entries);
    }
    text = mf_tuned_text(&then);
    CHECK(strstr(text, d.be->segment_begin ? "0 operations tried in 0.0 s" : "nothing to try") == text);
    free(text);
    CHECK(n == m && memcmp(weights, same, n * sizeof *same) == 0);
    free(weights);
    free(same);
    mf_algorithms_free(&first);
    mf_algorithms_free(&then);
    added(&b);
    device_close(&d);
    bed_close(&b);
    return failures != 0;
}
