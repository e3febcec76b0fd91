/* A box is its own copy, cubic or flat. Each of its sides has windows that fit into it; sides that none fits into say
 * nothing. */
#include "src/desc/copies.h"

#include "src/base/err.h"
#include "tests/check.h"

enum { WIDE = 128, NARROW = 20, FLAT = 12 };

static double lattice[WIDE * WIDE], empty[WIDE * WIDE];

/* Slices of a box: WIDE x WIDE pixels, and twice thin x WIDE of them. */
static struct mf_target box(size_t thin)
{
    struct mf_target t = {.phases = 2, .sides = 3};

    for (int d = 0; d < 3; ++d)
        t.side[d] = (struct mf_target_side){.example = lattice, .example_nu = d ? thin : WIDE, .example_nv = WIDE};
    return t;
}

int main(void)
{
    struct mf_target narrow = box(NARROW), flat = box(FLAT), other = box(NARROW);
    struct mf_copied found;

    for (size_t i = 0; i < (size_t)WIDE * WIDE; ++i) lattice[i] = i / WIDE % 20 < 3 || i % WIDE % 20 < 3;
    CHECK(mf_copies(&narrow, &narrow, &found) == MF_OK);
    CHECK_NEAR(found.share, 1, 1e-12);
    CHECK(found.edge == 32 && found.sides == 3);
    CHECK(mf_copies(&flat, &flat, &found) == MF_OK);
    CHECK_NEAR(found.share, 1, 1e-12);
    CHECK(found.edge == 32 && found.sides == 1);
    other.side[0].example = empty;
    CHECK(mf_copies(&narrow, &other, &found) == MF_OK);
    CHECK_NEAR(found.share, 2.0 / 3, 1e-12);
    flat.side[0].example_nu = FLAT;
    CHECK(mf_copies(&flat, &narrow, &found) == MF_OK);
    CHECK(found.share == 0 && found.sides == 0 && found.edge == MF_COPY_LEAST);
    return failures != 0;
}
