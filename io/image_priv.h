/* Private to the writers of PNG. */
#ifndef MF_IO_IMAGE_PRIV_H
#define MF_IO_IMAGE_PRIV_H

#include <png.h>

enum { MF_PNG_TEXT = 200 };

/** libpng's writer, the caller's: an error, or a warning about pixels, is left in @p text, which outlives it, and
 * jumps; other warnings are dropped. NULL without memory. */
png_structp mf_png_writer(char text[MF_PNG_TEXT]);

#endif
