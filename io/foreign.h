/* HDF5 files of other programs: which array is meant where none is named, and the spacing that stands beside it.
 * Rule: only the guarded child calls it. */
#ifndef MF_IO_FOREIGN_H
#define MF_IO_FOREIGN_H

#include "io/array.h"
#include "io/h5.h"

/** Takes the only array of numbers that has two axes or more. MF_INPUT: there is none, or there are several. */
int mf_foreign_choose(struct mf_h5 *file, struct mf_array *array);

/** Reads the spacing of the array: of VTKHDF, or "element_size_um". Refuses a VTKHDF that is turned in space: MF_INPUT.
 */
int mf_foreign_scale(struct mf_h5 *file, struct mf_array *array);

#endif
