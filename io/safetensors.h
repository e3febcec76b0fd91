/* Named arrays in a .safetensors file. The file has eight bytes with the length of the header, a JSON header with the
 * place of every array, and the bytes of the arrays.
 * Rule: a foreign file is hostile. All of the header is checked when the file is opened. An array is read only if it is
 * what the caller asks for. */
#ifndef MF_IO_SAFETENSORS_H
#define MF_IO_SAFETENSORS_H

#include <stddef.h>

struct mf_safetensors;

/** Opens a file. Refuses with MF_INPUT, naming the fault; for a pickle it says how to convert it. Not collective. */
int mf_safetensors_open(const char *path, struct mf_safetensors **file);
void mf_safetensors_close(struct mf_safetensors *file);

/** Reads array @p name into @p to. It must be of type F32, finite and of exactly these extents. MF_INPUT. */
int mf_safetensors_read(struct mf_safetensors *file, const char *name, size_t ndim, const size_t *dims, float *to);

#endif
