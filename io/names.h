/* Makes names of files: without folder, with a number, or of one run. */
#ifndef MF_IO_NAMES_H
#define MF_IO_NAMES_H

#include <stdint.h>

/** File name without folder and ending, and without the :ARRAY of an input; of a folder its own name. NULL without
 * memory; the caller frees. */
char *mf_stem(const char *path);

/** @p path with "_", @p mark ("seed", "") and @p number before its ending. NULL without memory; the caller frees. */
char *mf_name_number(const char *path, const char *mark, uint64_t number);

/** File name with its ending. @p many: one of many realisations, whose "_seedN" is left out. NULL without memory; the
 * caller frees. */
char *mf_name_run(const char *path, int many, uint64_t seed);

#endif
