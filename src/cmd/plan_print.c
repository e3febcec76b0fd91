/* See plan_print.h. */
#include "src/cmd/plan_print.h"

#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/optim/optim.h"

static double gib(size_t bytes) { return (double)bytes / (1 << 30); }

static void print_lines(FILE *to, const char *head, size_t lines, const struct mf_plan_line *line)
{
    size_t column = 80;

    fprintf(to, "%s", head);
    for (size_t i = 0; i < lines; ++i) {
        size_t length = strlen(line[i].key) + strlen(line[i].value) + 4;

        if (column + length > 78 && i > 0) fprintf(to, "\n            ");
        if (column + length > 78) column = 12;
        column += length;
        fprintf(to, "%s: %s%s", line[i].key, line[i].value, i + 1 < lines ? "; " : "");
    }
    fprintf(to, "\n");
}

/* What the problem says of a key, "" where it says nothing. */
static const char *value_of(const struct mf_plan *p, const char *key)
{
    for (size_t i = 0; i < p->problem.lines; ++i)
        if (strcmp(p->problem.line[i].key, key) == 0) return p->problem.line[i].value;
    return "";
}

static void print_batch(FILE *to, const struct mf_plan *p)
{
    char batch[40] = "chosen by the run";

    if (strncmp(value_of(p, "shape"), "1 x ", 4) == 0) {
        fprintf(to, "  batch     an image is one slice\n");
        return;
    }
    if (p->batch) snprintf(batch, sizeof batch, "%zu", p->batch);
    fprintf(to, "  batch     %s: %zu slice%s normal to y in flight (%zu round%s), %zu to x (%zu round%s)\n", batch,
            p->in_flight[1], MF_S(p->in_flight[1]), p->rounds[1], MF_S(p->rounds[1]), p->in_flight[2], p->rounds[2],
            MF_S(p->rounds[2]));
}

/* Of the two memories of a plan, where there are two. */
static const char *where(const struct mf_plan *p, int memory)
{
    if (!p->apart) return "";
    if (!p->device) return memory == MF_PLAN_STATE ? " (of its device)" : " (of its host)";
    return memory == MF_PLAN_STATE ? " on its GPU" : " on its node";
}

static void print_settings(FILE *to, const struct mf_plan *p)
{
    const struct mf_method *method;

    fprintf(to, "  ranks     %zu on %zu node%s, at most %zu per node", p->ranks, p->nodes, MF_S(p->nodes), p->per_node);
    if (p->device) fprintf(to, ", %zu per GPU", p->ranks_per_gpu);
    fprintf(to, "; device %s, %zu thread%s per rank\n", mf_plan_device(p->device, p->apart), p->threads,
            MF_S(p->threads));
    fprintf(to, "  layout    slabs along z; slices of the other directions by %s; state on the %s\n",
            strcmp(p->exchange, "none") != 0 ? p->exchange
            : p->passes                      ? "copies"
                                             : "views",
            p->passes   ? "host, through the device in rounds"
            : p->device ? "device"
                        : "host");
    print_batch(to, p);
    if (mf_method_find(&method, value_of(p, "optimizer")) == MF_OK && method->remembers)
        fprintf(to, "  history   %zu\n", p->history);
    fprintf(to, "  time      %.3g ms an evaluation: memory %.3g, arithmetic %.3g, exchange %.3g, waiting %.3g\n",
            1e3 * p->cost.total, 1e3 * p->cost.memory, 1e3 * p->cost.arithmetic, 1e3 * p->cost.exchange,
            1e3 * p->cost.waiting);
    for (int m = 0; m <= p->apart; ++m)
        fprintf(to, "  memory    rank %zu, the fullest%s: %.3f GiB of arrays, %.3f GiB are there\n", p->fullest,
                where(p, m), gib(p->memory[m].arrays.total), gib(p->memory[m].room));
}

static void row(FILE *to, const char *what, size_t bytes)
{
    fprintf(to, "  %-34s %18zu %10.3f\n", what, bytes, gib(bytes));
}

static void print_bytes(FILE *to, const struct mf_plan *p, int memory)
{
    const struct mf_plan_bytes *b = &p->memory[memory].arrays;
    size_t most = 0, least = p->bytes[memory][0], room = p->memory[memory].room;
    char head[64];

    snprintf(head, sizeof head, "bytes of rank %zu%s when it is fullest", p->fullest, where(p, memory));
    fprintf(to, "\n%-48s %6s %10s\n", head, "bytes", "GiB");
    for (size_t i = 0; i < b->tags; ++i) row(to, b->tag[i].name, b->tag[i].bytes);
    row(to, "= arrays", b->total);
    row(to, "+ program, libraries, driver", p->memory[memory].context);
    row(to, "+ left alone (reserve)", p->memory[memory].reserve);
    row(to, "+ not used", room - b->total);
    row(to, "= this rank's share", room + p->memory[memory].context + p->memory[memory].reserve);
    for (size_t r = 0; r < p->ranks; ++r) {
        most = p->bytes[memory][r] > most ? p->bytes[memory][r] : most;
        least = p->bytes[memory][r] < least ? p->bytes[memory][r] : least;
    }
    fprintf(to, "arrays of all %zu rank%s: %zu to %zu bytes each\n", p->ranks, MF_S(p->ranks), least, most);
}

static void print_candidates(FILE *to, const struct mf_plan *p)
{
    fprintf(to, "\ncandidates\n  %-6s %-6s %5s %5s %7s %5s %7s %9s %9s %9s\n", "device", "fields", "nodes", "ranks",
            "threads", "batch", "history", "GiB/rank", "there", "ms/eval");
    for (size_t i = 0; i < p->candidates; ++i) {
        const struct mf_plan_candidate *c = &p->candidate[i];

        fprintf(to, "%c %-6s %-6s %5zu %5zu %7zu %5zu %7zu ", c->chosen ? '*' : ' ',
                mf_plan_device(c->device, c->apart), c->apart && !c->passes ? "device" : "host", c->nodes, c->ranks,
                c->threads, c->batch, c->history);
        if (c->bytes == 0)
            fprintf(to, "%9s %9s ", "-", "-");
        else
            fprintf(to, "%9.3f %9.3f ", gib(c->bytes), gib(c->free));
        if (c->fits)
            fprintf(to, "%9.3g", 1e3 * c->seconds);
        else
            fprintf(to, "%9s", "-");
        fprintf(to, "  %s\n", c->reason);
    }
}

static void print_trials(FILE *to, const struct mf_plan *p)
{
    for (size_t i = 0; i < p->trials; ++i)
        fprintf(to, "%s batch %zu: %.3g ms foretold, %.3g ms taken\n",
                i == 0 ? "  verified  (loss and gradient)" : "                               ", p->trial[i].batch,
                1e3 * p->trial[i].predicted, 1e3 * p->trial[i].measured);
}

void mf_plan_print(FILE *to, const struct mf_plan *plan, int explain)
{
    fprintf(to, "plan %s\n", plan->ranks ? plan->hash : "none: nothing fits");
    print_lines(to, "  problem   ", plan->problem.lines, plan->problem.line);
    print_lines(to, "  machine   ", plan->machine_lines, plan->machine);
    if (plan->ranks) print_settings(to, plan);
    print_trials(to, plan);
    for (int m = 0; explain && plan->ranks && m <= plan->apart; ++m) print_bytes(to, plan, m);
    if (explain) print_candidates(to, plan);
    for (size_t i = 0; i < plan->notes; ++i) fprintf(to, "note: %s\n", plan->note[i]);
}
