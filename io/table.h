/* Tables of text: comma-separated values after a line of names. Cells have no quotes. Blanks around a cell are no part
 * of it. Rule: every line has as many cells as there are names. All functions are local. */
#ifndef MF_IO_TABLE_H
#define MF_IO_TABLE_H

#include <stddef.h>

struct mf_table {
    char *path;
    size_t rows, columns;
    char **name; /* [columns] */
    char **cell; /* [rows][columns] */
    char *text;  /* into which they point */
};

/** Refuses with MF_INPUT, naming the line. */
int mf_table_load(const char *path, struct mf_table *table);
void mf_table_free(struct mf_table *table);

/** The column of that name, or @p table->columns. */
size_t mf_table_column(const struct mf_table *table, const char *name);

/** A cell as a finite number: MF_INPUT. */
int mf_table_real(const struct mf_table *table, size_t row, size_t column, double *value);

#endif
