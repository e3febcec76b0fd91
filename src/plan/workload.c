/* See workload.h: named numbers, and costs by parts. */
#include "src/plan/workload.h"

#include <stdio.h>
#include <string.h>

#include "src/base/err.h"

static void add_tag(void *context, const char *tag, size_t bytes)
{
    struct mf_plan_bytes *b = context;

    MF_ASSERT(b->tags < MF_PLAN_TAGS);
    snprintf(b->tag[b->tags].name, sizeof b->tag[0].name, "%s", tag);
    b->tag[b->tags++].bytes = bytes;
}

void mf_plan_bytes_of(const struct mf_arena *arena, struct mf_plan_bytes *bytes)
{
    bytes->total = mf_arena_peak(arena);
    bytes->tags = 0;
    mf_arena_peak_tags(arena, add_tag, bytes);
}

void mf_plan_bytes_add(struct mf_plan_bytes *b, const char *name, size_t more)
{
    size_t k = 0;

    if (more == 0) return;
    while (k < b->tags && strcmp(b->tag[k].name, name) != 0) ++k;
    if (k == b->tags) add_tag(b, name, 0);
    b->tag[k].bytes += more;
    b->total += more;
}

const size_t *mf_plan_find(const struct mf_plan_numbers *numbers, const char *name)
{
    for (size_t i = 0; i < numbers->count; ++i)
        if (strcmp(numbers->at[i].name, name) == 0) return &numbers->at[i].value;
    return NULL;
}

size_t mf_plan_get(const struct mf_plan_numbers *numbers, const char *name)
{
    const size_t *value = mf_plan_find(numbers, name);

    return value ? *value : 0;
}

void mf_plan_set(struct mf_plan_numbers *numbers, const char *name, size_t value)
{
    size_t i = 0;

    while (i < numbers->count && strcmp(numbers->at[i].name, name) != 0) ++i;
    MF_ASSERT(i < MF_PLAN_NUMBERS && strlen(name) < sizeof numbers->at[i].name);
    snprintf(numbers->at[i].name, sizeof numbers->at[i].name, "%s", name);
    numbers->at[i].value = value;
    if (i == numbers->count) ++numbers->count;
}

const char *mf_plan_numbers_text(const struct mf_plan_numbers *numbers, size_t size, char *text)
{
    size_t length = 0;

    *text = '\0';
    for (size_t i = 0; i < numbers->count && length < size; ++i)
        length += (size_t)snprintf(text + length, size - length, "%s%s %zu", i ? ", " : "", numbers->at[i].name,
                                   numbers->at[i].value);
    return text;
}

void mf_plan_pay(struct mf_plan_cost *cost, const char *name, double seconds)
{
    MF_ASSERT(cost->parts < MF_PLAN_PARTS);
    cost->part[cost->parts].name = name;
    cost->part[cost->parts++].seconds = seconds;
    cost->total += seconds;
}

/* Share of the peak rate of 32-bit arithmetic that products and convolutions reach, on cores and on GPUs. */
static const double CORE_SHARE = 0.50, GPU_SHARE = 0.30;

/* Products in 16 bits beside 32: the ratio of peaks in data sheets of A100, H100 and L4. Cores differ too much: some
 * multiply 16 bits, others widen them. */
static double gain_of_16_bits(const struct mf_placement *place, int capability)
{
    if (!place->device) return 1;
    return capability == 80 || capability == 90 || capability == 100 ? 15 : 4;
}

double mf_plan_flops(const struct mf_placement *place, const struct mf_rates *rates, int half)
{
    const double gain = half ? gain_of_16_bits(place, rates->capability) : 1;

    return rates->flops * (place->device ? GPU_SHARE : CORE_SHARE) * gain;
}

void mf_plan_pay_lists(struct mf_plan_cost *cost, const struct mf_placement *place, const struct mf_rates *rates,
                       int half, double operations, double traffic)
{
    mf_plan_pay(cost, "memory", traffic / rates->memory);
    mf_plan_pay(cost, "arithmetic", operations / mf_plan_flops(place, rates, half));
}

/* Between cores each byte passes twice through memory. */
double mf_plan_coming(const struct mf_placement *place, const struct mf_rates *rates, double bytes, int zero)
{
    const double others = bytes * ((double)place->ranks - 1) / (double)place->ranks;

    if (!zero) return bytes / (rates->to_host > 0 ? rates->to_host : rates->memory);
    if (place->nodes > 1) return others / rates->network;
    return place->nccl ? others / rates->link : 2 * others / (place->device ? rates->to_host : rates->memory);
}

void mf_plan_scale(struct mf_plan_cost *cost, double factor)
{
    cost->total *= factor;
    cost->tried *= factor;
    for (size_t i = 0; i < cost->parts; ++i) cost->part[i].seconds *= factor;
}

double mf_plan_paid(const struct mf_plan_cost *cost, const char *name)
{
    for (size_t i = 0; i < cost->parts; ++i)
        if (strcmp(cost->part[i].name, name) == 0) return cost->part[i].seconds;
    return 0;
}
