/* Makes names of files: without folder, with a number, or of one run. */
#ifndef MF_IO_NAMES_H
#define MF_IO_NAMES_H

#include <stddef.h>
#include <stdint.h>

/** File name without folder and ending, and without the :ARRAY of an input; of a folder its own name. NULL without
 * memory; the caller frees. */
char *mf_stem(const char *path);

/** Does the name end as that of a PNG or TIFF? */
int mf_name_is_picture(const char *name);

/** Lists the pictures in a folder, in the order of their names' bytes. With @p arrays it lists .npy, too. *name [count]
 * is on the heap, and so is each name. MF_INPUT: there is none. Local. */
int mf_names_in(const char *folder, int arrays, size_t *count, char ***name);

/** @p path with "_", @p mark ("seed", "") and @p number before its ending. NULL without memory; the caller frees. */
char *mf_name_number(const char *path, const char *mark, uint64_t number);

/** File name with its ending. @p many: one of many realisations, whose "_seedN" is left out. NULL without memory; the
 * caller frees. */
char *mf_name_run(const char *path, int many, uint64_t seed);

#endif
