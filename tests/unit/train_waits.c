/* How often the host waits for the emulated device in a step: once, in any number of passes. So it is with the
 * optimiser in host memory and with experts on one rank, and by stages of ZeRO where ranks exchange from GPU to GPU. */
#include <dlfcn.h>

#include "tests/unit/moe_case.h"

enum { KNOWN = 3, WATCHED = 4 /* steps: until all is recorded; and behind them */ };

/* struct mf_emu_calls: waits for streams, and for events and pageable memory. */
static long waits(void)
{
    void *emulator = dlopen("libemu_cudart.so", RTLD_NOW | RTLD_NOLOAD);
    const long *calls = emulator ? dlsym(emulator, "mf_emu_calls") : NULL;

    if (!calls) exit(77);
    return calls[3] + calls[4];
}

static void check(const struct bed *b, const struct mf_train_opts *o, size_t passes, const char *what)
{
    struct mf_trainer t;
    long before;

    trainer_open(b, &b->world, b->set, o, &t);
    steps_until(&t, KNOWN);
    before = waits();
    steps_until(&t, KNOWN + WATCHED);
    CHECK_SAYS(waits() - before <= WATCHED, "%s, %s, %d ranks, stage %d, %zu passes: %ld waits in %d steps",
               o->arch->name, what, b->world.size, o->stage, passes, waits() - before, WATCHED);
    mf_trainer_close(&t);
}

static void on_one_rank(const struct bed *b, size_t passes)
{
    const size_t batch = batch_for(&b->world, WINDOW, passes);
    struct mf_train_opts o = usual("cnn", 1, batch);

    check(b, &o, passes, "plain");
    o.offload = 1;
    check(b, &o, passes, "offload");
    o.spill = 256;
    check(b, &o, passes, "offload of activations, too");
    o = mixture("moe", batch);
    o.args.balance = 0.05;
    check(b, &o, passes, "experts");
}

int main(int argc, char **argv)
{
    struct bed b;

    bed_open(&b, &argc, &argv);
    for (size_t passes = 1; passes <= 4; passes += 3) {
        struct mf_train_opts o = usual("mlp", 1, batch_for(&b.world, WINDOW, passes));

        for (o.stage = 0; o.stage < 4; ++o.stage) check(&b, &o, passes, "plain");
        if (b.world.size == 1) on_one_rank(&b, passes);
    }
    bed_close(&b);
    return failures != 0;
}
