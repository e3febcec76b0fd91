/* Which weights of a model are not on the device, where it does not hold all. They come while lists are walked
 * (mf_pass_stream()). All functions are local. */
#ifndef MF_PLACE_LEAVE_H
#define MF_PLACE_LEAVE_H

#include "src/net/list.h"

/** Chooses @p count parts of a forward list (parts.h): blocks at even distances, then the last part, then the first. So
 * a block that stays is computed while another one comes. Weights that leave get the place of their part in the list
 * (@p number [values]), all others -1. A weight is of the first part that reads it. Returns the number of all parts. */
size_t mf_parts_leave(const struct mf_list *list, size_t count, int *number);

#endif
