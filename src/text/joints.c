/* See joints.h. */
#include "src/text/joints.h"

#include <stdlib.h>

#include "src/base/err.h"
#include "src/text/unicode.h"

void mf_joints_put(struct mf_joints *joints, uint32_t left, const char *right)
{
    size_t size;
    const uint32_t at = mf_joints_hash(left, mf_point(right, &size));

    if (!joints->bit)
        joints->bit = MF_MUST(calloc((1u << MF_JOINTS_BITS) / 64, sizeof *joints->bit), "joints of merges");
    joints->bit[at / 64] |= (uint64_t)1 << (at % 64);
}

void mf_joints_free(struct mf_joints *joints)
{
    free(joints->bit);
    joints->bit = NULL;
}
