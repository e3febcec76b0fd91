/* Classes of samples, from the numbers with which files label them.
 * Rule: without names of classes, the numbers that occur are the classes, in ascending order. Each is its own name. The
 * number -1 is no class. All functions are local. */
#ifndef MF_IO_LABELS_H
#define MF_IO_LABELS_H

#include <stddef.h>
#include <stdint.h>

#include "io/dataset.h"

/**
 * Turns the numbers @p value [n] of the file @p path into classes: @p label [n], -1: not known. The numbers count @p
 * names names of classes. Without names (0), *code, heap, has the *classes numbers that occur. Refuses with MF_INPUT,
 * naming the sample, a value that is no whole number of 0 or more and not -1. Refuses also a value that is none of the
 * names, and more than MF_CLASSES_MAX classes.
 */
int mf_labels_make(const char *path, size_t n, const double *value, size_t names, size_t *classes, double **code,
                   int32_t *label);

/** Writes the name of a class that is called by its number. */
void mf_label_name(double code, mf_name name);

/** The number that often marks samples of no class (255, 65535). It must be the last of these and far from the one
 * before it; else -1. */
double mf_labels_mark(size_t classes, const double *code);

#endif
