/* Recognises the format of a file by its first bytes.
 * Rule: a mark long enough to be no chance decides. HDF5's stands before that of XML, since HDF5 may begin with any
 * text (a user block). */
#ifndef MF_IO_RECOGNISE_H
#define MF_IO_RECOGNISE_H

#include "io/array.h"

/** Recognises an open @p file. @p path: for messages. *format: MF_NO_FORMAT where no reader reads it. MF_INPUT: the
 * disk failed. */
int mf_recognise(int file, const char *path, enum mf_format *format);

/** Refuses a pointer of Git LFS that stands where the file of that name should: MF_INPUT. MF_OK of all others. */
int mf_refuse_pointer(const char *path);

/** Refuses what mf_recognise() did not know, and says what to do. MF_INPUT. */
int mf_refuse_unknown(int file, const char *path);

#endif
