/* Volume fraction of slices equals plain loops in double, level by level, and its gradient finite differences. */
#include "tests/unit/slices_case.h"

int main(void)
{
    static const size_t sizes[][3] = {{1, 64, 64}, {2, 17, 23}, {3, 9, 40}, {17, 19, 21}, {13, 37, 43}};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (int mode = 0; mode < 4; ++mode)
            for (int normal = 0; normal < (sizes[i][0] > 8 ? 3 : 1); ++normal) {
                struct slices_case k = {
                    {sizes[i][0], sizes[i][1], sizes[i][2]}, normal, mode & 1 ? 3 : 1, 1, 0, 0, 1, 0, 0, 0};

                k.power = mode & 2 ? 1 : 2;
                check_case(&k, mf_backend_cpu.slices->frac, 1);
                check_first(&k, mf_backend_cpu.slices->frac);
            }
    for (int normal = 0; normal < 3; ++normal) {
        struct slices_case k = {{33, 42, 47}, normal, 2, 1, 0, 2, 1, 0, 0, 0};

        check_same_bits(&k, mf_backend_cpu.slices->frac);
        check_none(&k, mf_backend_cpu.slices->frac);
    }
    check_areas(mf_backend_cpu.slices->frac, 1);
    return failures != 0;
}
