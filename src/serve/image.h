/* Images in the JSON of a request. Functions are local. */
#ifndef MF_SERVE_IMAGE_H
#define MF_SERVE_IMAGE_H

#include "src/serve/body.h"

/** Reads one image. It is base64 of a file, maybe behind "data:...;base64,", or nested rows of numbers. Numbers become
 * a .npy of float64. Refuses others, by the member's name @p key, in the body. */
void mf_image_read(struct mf_body *body, const char *key, const struct mf_json *value, struct mf_bytes *file);

#endif
