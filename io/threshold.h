/* The option --threshold, which makes two phases of grey values. */
#ifndef MF_IO_THRESHOLD_H
#define MF_IO_THRESHOLD_H

/** Reads "otsu" (@p value becomes NAN: it follows from the image), or a number. Refuses other words with MF_USAGE.
 * Local. */
int mf_threshold_read(const char *text, double *value);

#endif
