/* An order visits every item once, differs from epoch to epoch, and is fair. All orders of few items occur equally
 * often. */
#include "src/base/order.h"

#include <stdlib.h>

#include "tests/check.h"

static void visits_each_once(uint64_t n, uint64_t epoch)
{
    char *seen = calloc(n, 1);
    uint64_t bad = 0;

    for (uint64_t i = 0; i < n; ++i) {
        const uint64_t at = mf_order(7, epoch, n, i);

        if (at >= n || seen[at]++) ++bad;
    }
    CHECK_SAYS(bad == 0, "%llu of %llu items are wrong", (unsigned long long)bad, (unsigned long long)n);
    free(seen);
}

static void is_fair(void)
{
    int count[6] = {0};

    for (uint64_t epoch = 0; epoch < 6000; ++epoch) {
        const uint64_t a = mf_order(1, epoch, 3, 0), b = mf_order(1, epoch, 3, 1);

        ++count[a * 2 + (b > a ? b - 1 : b)];
    }
    for (int i = 0; i < 6; ++i) CHECK_NEAR(count[i], 1000, 150);
}

/* Items that follow each other lie anywhere. */
static void is_mixed(void)
{
    const uint64_t n = 10000;
    double sum = 0, same = 0;

    for (uint64_t i = 0; i + 1 < n; ++i) {
        sum += fabs((double)mf_order(3, 0, n, i) - (double)mf_order(3, 0, n, i + 1));
        same += mf_order(3, 0, n, i) == mf_order(3, 1, n, i);
    }
    CHECK_NEAR(sum / (double)n / (double)n, 1. / 3, 0.02);
    CHECK(same < 10);
}

int main(void)
{
    for (uint64_t n = 1; n < 70; ++n) visits_each_once(n, n);
    visits_each_once(65537, 3);
    visits_each_once(100000, 0);
    CHECK(mf_order(5, 2, 1ull << 40, 123456789) < 1ull << 40);
    is_fair();
    is_mixed();
    return failures != 0;
}
