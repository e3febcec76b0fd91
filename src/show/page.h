/* A self-contained page of HTML with texts, tables and pictures. Rank 0 writes it. */
#ifndef MF_SHOW_PAGE_H
#define MF_SHOW_PAGE_H

#include <stddef.h>
#include <stdio.h>

struct mf_page {
    FILE *to;
};

void mf_page_begin(const struct mf_page *page, const char *title);
void mf_page_end(const struct mf_page *page);

void mf_page_heading(const struct mf_page *page, const char *text);
void mf_page_text(const struct mf_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Writes text unchanged, in a fixed-width font. */
void mf_page_code(const struct mf_page *page, const char *text);

/** A table: its head, its rows, its end. @p cells [n]; in a head they are the names of columns. */
void mf_page_table(const struct mf_page *page, size_t n, const char *const *cells);
void mf_page_row(const struct mf_page *page, size_t n, const char *const *cells);
void mf_page_table_end(const struct mf_page *page);

/** Embeds the PNG at @p path. MF_INPUT. */
int mf_page_picture(const struct mf_page *page, const char *path, const char *what);

#endif
