/* See weights.h: files of weights. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/room.h"
#include "src/model/weights.h"

/* A part of a weight that rank 0 writes; value -1: it wants no more. */
struct want {
    int value;
    struct mf_span part;
};

struct source {
    const struct mf_weights *weights;
    int value;
};

/* Do other ranks have numbers that rank 0 writes? */
static int asks(const struct mf_weights *w) { return w->layout->stage == 3 || w->ways > 1 || w->tensor || w->stages; }

/* Then all ranks hear what it wants. */
static void ask(const struct mf_weights *w, struct want *want)
{
    if (asks(w)) mf_comm_bcast(w->comm, 0, want, sizeof *want);
}

static void get_part(const void *data, size_t first, size_t count, void *to)
{
    const struct source *s = data;
    struct want want = {s->value, {first, count}};

    ask(s->weights, &want);
    mf_weights_get(s->weights, s->value, want.part, to);
}

/* The other ranks take part while rank 0 writes. */
static void serve(const struct mf_weights *w)
{
    for (;;) {
        struct want want = {.value = -1};
        float *numbers;

        ask(w, &want);
        if (want.value < 0) return;
        numbers = MF_MUST(malloc(want.part.count * sizeof *numbers), "weights on their way");
        mf_weights_get(w, want.value, want.part, numbers);
        free(numbers);
    }
}

static int write(const struct mf_weights *w, const char *path, const char *const *metadata)
{
    const struct mf_net *net = w->net;
    struct mf_safetensors_entry *entry;
    struct source *source = NULL;
    size_t count = 0;
    int rc = MF_ROOM(entry, net->values + 1, "the names of %zu arrays", net->values);

    if (rc == MF_OK) rc = MF_ROOM(source, net->values + 1, "the names of %zu arrays", net->values);
    for (size_t v = 0; rc == MF_OK && v < net->values; ++v) {
        const struct mf_value *value = &net->value[v];
        const struct mf_shape whole = mf_value_is_weight(value) ? mf_value_whole(value) : value->shape;
        struct mf_safetensors_entry *to = &entry[count];

        if (!mf_value_is_weight(value)) continue;
        source[count] = (struct source){w, (int)v};
        *to = (struct mf_safetensors_entry){
            .name = value->name, .type = MF_F32, .ndim = (size_t)whole.n, .data = &source[count], .get = get_part};
        memcpy(to->dims, whole.d, to->ndim * sizeof *to->dims);
        ++count;
    }
    if (rc == MF_OK) rc = mf_safetensors_write(path, metadata, count, entry);
    free(source);
    free(entry);
    return rc;
}

int mf_weights_save(const struct mf_weights *w, const char *path, const char *const *metadata)
{
    struct want none = {.value = -1};
    int rc = MF_OK;

    if (!w->comm || w->comm->rank == 0) {
        rc = write(w, path, metadata);
        ask(w, &none);
    } else if (asks(w)) {
        serve(w);
    }
    return w->comm ? mf_agree(w->comm, rc) : rc;
}
