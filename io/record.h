/* The record of a volume of ours: where its values are and what they mean, a second time. It stands between the end of
 * the HDF5 file and the seal (docs/FILES.md has the layout).
 * Rule: it replaces the library, and the child process that runs it, only where the seal proves that nobody has changed
 * the file. */
#ifndef MF_IO_RECORD_H
#define MF_IO_RECORD_H

#include <stdint.h>

#include "io/array.h"
#include "io/micro.h"

/** Appends it to the file @p temporary, which nobody else writes; @p path: what sentences call it. Values begin at @p
 * offset. Not collective; MF_OUTPUT. */
int mf_record_write(const char *temporary, const char *path, const struct mf_micro *micro, uint64_t offset);

/** 1: a sealed file has one, and @p array (path and bytes are set) is what it says, as much to be checked as a file
 * that anybody may have written; 0: there is none. Not collective. */
int mf_record_read(struct mf_array *array);

#endif
