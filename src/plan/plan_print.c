/* See plan.h: a plan for people. */
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/plan/plan.h"

static double gib(size_t bytes) { return (double)bytes / (1 << 30); }

static void print_lines(FILE *to, const char *head, const struct mf_plan_lines *lines)
{
    size_t column = 80;

    fprintf(to, "%s", head);
    for (size_t i = 0; i < lines->count; ++i) {
        const struct mf_plan_line *line = &lines->at[i];
        size_t length = strlen(line->key) + strlen(line->value) + 4;

        if (column + length > 78 && i > 0) fprintf(to, "\n            ");
        if (column + length > 78) column = 12;
        column += length;
        fprintf(to, "%s: %s%s", line->key, line->value, i + 1 < lines->count ? "; " : "");
    }
    fprintf(to, "\n");
}

/* Names one of the two memories of a plan, where there are two. */
static const char *where(const struct mf_plan *p, int memory)
{
    if (!p->apart) return "";
    if (!p->device) return memory == MF_PLAN_STATE ? " (of its device)" : " (of its host)";
    return memory == MF_PLAN_STATE ? " on its GPU" : " on its node";
}

static void print_parts(FILE *to, const struct mf_plan_cost *c, double unit)
{
    for (size_t i = 0; i < c->parts; ++i)
        fprintf(to, "%s %s %.3g", i ? "," : "", c->part[i].name, c->part[i].seconds / unit);
    fprintf(to, "\n");
}

static void print_settings(FILE *to, const struct mf_plan *p)
{
    struct mf_plan_lines lines = {.count = 0};

    fprintf(to, "  ranks     %zu on %zu node%s, at most %zu per node", p->ranks, p->nodes, MF_S(p->nodes), p->per_node);
    if (p->device) fprintf(to, ", %zu per GPU", p->ranks_per_gpu);
    fprintf(to, "; device %s, %zu thread%s per rank\n", mf_plan_device(p->device, p->apart), p->threads,
            MF_S(p->threads));
    p->workload->show(p, &lines);
    for (size_t i = 0; i < lines.count; ++i) fprintf(to, "  %-9s %s\n", lines.at[i].key, lines.at[i].value);
    mf_plan_lines_free(&lines);
    fprintf(to, "  time      %.3g ms per %s:", 1e3 * p->cost.total, p->workload->step);
    print_parts(to, &p->cost, 1e-3);
    if (p->run.parts) fprintf(to, "  run       %.3g s:", p->run.total);
    if (p->run.parts) print_parts(to, &p->run, 1);
    for (int m = 0; m <= p->apart; ++m)
        fprintf(to, "  memory    rank %zu, the fullest%s: %.3f GiB of arrays, %.3f GiB are available\n", p->fullest,
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

/* Settings as columns: those of the candidate that has most (one on GPUs may have more). */
static const struct mf_plan_numbers *columns_of(const struct mf_plan *p)
{
    const struct mf_plan_numbers *most = &p->candidate[0].settings;

    for (size_t i = 1; i < p->candidates; ++i)
        if (p->candidate[i].settings.count > most->count) most = &p->candidate[i].settings;
    return most;
}

static void print_candidate(FILE *to, const struct mf_plan_candidate *c, const struct mf_plan_numbers *columns)
{
    fprintf(to, "%c %-6s %5zu %5zu %7zu ", c->chosen ? '*' : ' ', mf_plan_device(c->device, c->apart), c->nodes,
            c->ranks, c->threads);
    for (size_t i = 0; i < columns->count; ++i) {
        const size_t *value = mf_plan_find(&c->settings, columns->at[i].name);
        const int width = (int)strlen(columns->at[i].name) > 5 ? (int)strlen(columns->at[i].name) : 5;

        if (value)
            fprintf(to, "%*zu ", width, *value);
        else
            fprintf(to, "%*s ", width, "-");
    }
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

static void print_candidates(FILE *to, const struct mf_plan *p)
{
    const struct mf_plan_numbers *columns = columns_of(p);

    fprintf(to, "\ncandidates\n  %-6s %5s %5s %7s ", "device", "nodes", "ranks", "threads");
    for (size_t i = 0; i < columns->count; ++i) fprintf(to, "%5s ", columns->at[i].name);
    fprintf(to, "%9s %9s %9s\n", "GiB/rank", "there", "ms");
    for (size_t i = 0; i < p->candidates; ++i) print_candidate(to, &p->candidate[i], columns);
}

static void print_trials(FILE *to, const struct mf_plan *p)
{
    char text[200];

    for (size_t i = 0; i < p->trials; ++i)
        fprintf(to, "  verified  %s: %.3g ms predicted, %.3g ms measured\n",
                mf_plan_numbers_text(&p->trial[i].settings, sizeof text, text), 1e3 * p->trial[i].predicted,
                1e3 * p->trial[i].measured);
}

void mf_plan_print(FILE *to, const struct mf_plan *plan, int explain)
{
    fprintf(to, "plan %s\n", plan->ranks ? plan->hash : "none: nothing fits");
    print_lines(to, "  problem   ", &plan->problem);
    print_lines(to, "  machine   ", &plan->machine);
    if (plan->ranks) print_settings(to, plan);
    print_trials(to, plan);
    for (int m = 0; explain && plan->ranks && m <= plan->apart; ++m) print_bytes(to, plan, m);
    if (explain && plan->candidates) print_candidates(to, plan);
    for (size_t i = 0; i < plan->notes; ++i) fprintf(to, "note: %s\n", plan->note[i]);
}
