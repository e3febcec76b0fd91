/* Bounds of the conductivity: Wiener (1912), Hashin and Shtrikman (1962) for any number of phases. */
#include "src/prop/flow.h"

/* With z = (dimensions - 1) times the least and the largest conductivity these are the bounds. */
double mf_flow_mean(size_t n, const double *fraction, const double *k, double z)
{
    double sum = 0;

    for (size_t i = 0; i < n; ++i) {
        if (!(fraction[i] > 0)) continue;
        if (!(k[i] + z > 0)) return 0;
        sum += fraction[i] / (k[i] + z);
    }
    return 1 / sum - z;
}

struct mf_conduct_bounds mf_conduct_bounds(int ndim, size_t n, const double *fraction, const double *k)
{
    struct mf_conduct_bounds b = {0};
    double low = -1, high = 0;

    for (size_t i = 0; i < n; ++i) {
        if (!(fraction[i] > 0)) continue;
        b.parallel += fraction[i] * k[i];
        low = low < 0 || k[i] < low ? k[i] : low;
        high = k[i] > high ? k[i] : high;
    }
    b.series = mf_flow_mean(n, fraction, k, 0);
    b.hashin_low = low > 0 ? mf_flow_mean(n, fraction, k, (ndim - 1) * low) : 0;
    b.hashin_high = mf_flow_mean(n, fraction, k, (ndim - 1) * high);
    return b;
}
