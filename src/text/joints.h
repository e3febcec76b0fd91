/* Which two characters may stand at the joint of a merge. Between all others a text may be cut before it is merged. */
#ifndef MF_TEXT_JOINTS_H
#define MF_TEXT_JOINTS_H

#include <stdint.h>

struct mf_joints {
    uint64_t *bit; /* by a hash of both. Others may set the same bit: that costs a cut, and changes no token */
};

/** The last character of a left token, and the text of a right one. */
void mf_joints_put(struct mf_joints *joints, uint32_t left, const char *right);

void mf_joints_free(struct mf_joints *joints);

enum { MF_JOINTS_BITS = 20 };

static inline uint32_t mf_joints_hash(uint32_t left, uint32_t right)
{
    return (uint32_t)((((uint64_t)left << 32 | right) * 0x9E3779B97F4A7C15u) >> (64 - MF_JOINTS_BITS));
}

static inline int mf_joints_has(const struct mf_joints *joints, uint32_t left, uint32_t right)
{
    const uint32_t at = mf_joints_hash(left, right);

    return joints->bit && (joints->bit[at / 64] >> (at % 64) & 1);
}

#endif
