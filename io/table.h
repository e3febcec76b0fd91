/* Tables of text in UTF-8: values after a line of names, as spreadsheets write them. Commas, semicolons or tabs
 * separate the cells. The first of them in the line of names decides, or a line "sep=;" before it. A cell in quotes may
 * hold these, and lines; two quotes in it are one. Blanks around a cell are no part of it, in quotes either. Lines of
 * separators alone are skipped. Rule: every line has as many cells as there are names. These differ, or are empty. All
 * functions are local. */
#ifndef MF_IO_TABLE_H
#define MF_IO_TABLE_H

#include <stddef.h>
#include <stdio.h>

enum { MF_TABLE_NUMBER = 64 }; /* letters of a number, at most */

struct mf_table {
    char *path;
    size_t rows, columns;
    char **name;       /* [columns] */
    char **cell;       /* [rows][columns], behind the names */
    size_t *line;      /* [rows] where each begins in the file */
    char *text;        /* into which they point */
    char parts;        /* what stands between cells */
    const char *comma; /* a number with a decimal comma, borrowed; NULL: there is none */
};

/** Refuses with MF_INPUT, naming the line. */
int mf_table_load(const char *path, struct mf_table *table);
void mf_table_free(struct mf_table *table);

/** The column of that name, or @p table->columns. */
size_t mf_table_column(const struct mf_table *table, const char *name);

/** Is a cell a finite number, then in *value? Between semicolons it may have a decimal comma. */
int mf_table_number(const struct mf_table *table, const char *cell, double *value);

/** Refuses (MF_INPUT) a number with a point where others have decimal commas: it may separate thousands. */
int mf_table_clear(const struct mf_table *table, size_t row, size_t column);

/** A cell as a finite number, which is clear: MF_INPUT. */
int mf_table_real(const struct mf_table *table, size_t row, size_t column, double *value);

/** Writes a cell, in quotes where it needs them. */
void mf_table_put(FILE *to, const char *text);

#endif
