/* Private to the writers of PNG. */
#ifndef MF_IO_IMAGE_PRIV_H
#define MF_IO_IMAGE_PRIV_H

#include <png.h>

enum { MF_PNG_TEXT = 200 };

/** Makes libpng's writer. An error, or a warning about pixels, is stored in @p text and jumps (longjmp). The memory of
 * @p text must outlive the object. Other warnings are dropped. NULL without memory. */
png_structp mf_png_writer(char text[MF_PNG_TEXT]);

#endif
