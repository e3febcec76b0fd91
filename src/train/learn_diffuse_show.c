/* See learn_show.h: networks that remove noise. The samples that they make are shown elsewhere. */
#include "src/train/learn_diffuse.h"

static double explained(const struct mf_scored *of) { return 1 - of->scores->loss; }

static void print(const struct mf_scored *of, FILE *to) { fprintf(to, ", explained %.2f %%\n", 100 * explained(of)); }

static void json(const struct mf_scored *of, struct mf_json *to) { mf_json_finite(to, "explained", explained(of)); }

static void results(const struct mf_json *split, FILE *to)
{
    fprintf(to, "explained %.2f %%", 100 * mf_json_to_finite(mf_json_get(split, "explained")));
}

static double judged(const struct mf_json *split, size_t n, double *each)
{
    const double share = mf_json_to_finite(mf_json_get(split, "explained"));

    for (size_t c = 0; c < n; ++c) each[c] = share;
    return share;
}

const struct mf_learn_show mf_show_diffuse = {.title = "makes:",
                                              .print = print,
                                              .json = json,
                                              .results = results,
                                              .judged = judged,
                                              .judged_by = "share of the noise that is known"};
