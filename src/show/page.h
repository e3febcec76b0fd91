/* A page of HTML that needs nothing beside it: texts, tables, pictures inside. Rank 0 writes it. */
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
/** As it stands, in a fixed width. */
void mf_page_code(const struct mf_page *page, const char *text);

/** A table: its head, then rows, then its end. @p cells [n]; in a head they are its columns' names. */
void mf_page_table(const struct mf_page *page, size_t n, const char *const *cells);
void mf_page_row(const struct mf_page *page, size_t n, const char *const *cells);
void mf_page_table_end(const struct mf_page *page);

/** The PNG of that path, inside the page. MF_INPUT. */
int mf_page_picture(const struct mf_page *page, const char *path, const char *what);

#endif
