/* Tables of text: values after a line of names, as spreadsheets write them. Commas, semicolons or tabs part the cells:
 * the first of them in the line of names. A cell in quotes may hold these, and lines; two quotes in it are one. Blanks
 * around a cell are no part of it. Rule: every line has as many cells as there are names, which differ. All functions
 * are local. */
#ifndef MF_IO_TABLE_H
#define MF_IO_TABLE_H

#include <stddef.h>
#include <stdio.h>

struct mf_table {
    char *path;
    size_t rows, columns;
    char **name; /* [columns] */
    char **cell; /* [rows][columns], behind the names */
    char *text;  /* into which they point */
    char parts;  /* what stands between cells */
};

/** Refuses with MF_INPUT, naming the line. */
int mf_table_load(const char *path, struct mf_table *table);
void mf_table_free(struct mf_table *table);

/** The column of that name, or @p table->columns. */
size_t mf_table_column(const struct mf_table *table, const char *name);

/** A cell as a finite number: MF_INPUT. Between semicolons it may have a decimal comma. */
int mf_table_real(const struct mf_table *table, size_t row, size_t column, double *value);

/** Writes a cell, in quotes where it needs them. */
void mf_table_put(FILE *to, const char *text);

#endif
