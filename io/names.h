/* Names of files: without folder, with a number, of a run. */
#ifndef MF_IO_NAMES_H
#define MF_IO_NAMES_H

#include <stdint.h>

/** File name without folder and ending (nor the :ARRAY of an input). NULL without memory; the caller frees. */
char *mf_stem(const char *path);

/** @p path with "_", @p mark ("seed", "") and @p number before its ending. NULL without memory; the caller frees. */
char *mf_name_number(const char *path, const char *mark, uint64_t number);

/** File name with its ending; of one of many realisations, without its "_seedN". NULL without memory; the caller frees.
 */
char *mf_name_run(const char *path, int many, uint64_t seed);

#endif
