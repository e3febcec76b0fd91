/* Named arrays in a .safetensors file: eight bytes with the length of the header, a JSON header with the place of every
 * array, and the bytes of the arrays.
 * Rule: a foreign file is hostile. All of the header is checked when the file is opened, and an array is read only
 * where it is what the caller asks for. */
#ifndef MF_IO_SAFETENSORS_H
#define MF_IO_SAFETENSORS_H

#include <stddef.h>

struct mf_safetensors;

/** Opens one; not collective. Refuses with MF_INPUT: what is wrong with it, and a pickle with how to turn it into one.
 */
int mf_safetensors_open(const char *path, struct mf_safetensors **file);
void mf_safetensors_close(struct mf_safetensors *file);

/** The array called @p name, of type F32, finite and of exactly these extents, into @p to. MF_INPUT. */
int mf_safetensors_read(struct mf_safetensors *file, const char *name, size_t ndim, const size_t *dims, float *to);

#endif
