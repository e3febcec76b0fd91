/* Dropout. Number i of a sample is dropped or not whatever rank, list or device computes it. */
#ifndef MF_KERNELS_FORM_DROP_H
#define MF_KERNELS_FORM_DROP_H

#include "kernels/form/draw.h"

struct mf_drop {
    struct mf_draw draw;
    uint32_t limit;
    float scale;
};

/** @p number: [MF_NUMBERS] */
MF_HD struct mf_drop mf_drop_of(const struct mf_attr *attr, const double *number)
{
    struct mf_drop drop;

    drop.draw = mf_draw_of(attr, number);
    drop.limit = (uint32_t)(attr->probability * 4294967295.0);
    drop.scale = (float)(1 / (1 - attr->probability));
    return drop;
}

MF_HD float mf_drop_value(const struct mf_drop *drop, uint32_t word, float x)
{
    return word < drop->limit ? 0 : x * drop->scale;
}

#endif
