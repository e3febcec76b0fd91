/* See page.h. */
#include "src/show/page.h"

#include <stdarg.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/text.h"

#define MOST_PICTURE ((size_t)256 << 20)

/* Text with the characters that mean something in HTML. */
static void put(FILE *to, const char *text)
{
    for (; *text; ++text) switch (*text) {
        case '&': fputs("&amp;", to); break;
        case '<': fputs("&lt;", to); break;
        case '>': fputs("&gt;", to); break;
        case '"': fputs("&quot;", to); break;
        default: fputc(*text, to);
        }
}

void mf_page_begin(const struct mf_page *page, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
          page->to);
    put(page->to, title);
    fputs("</title>\n<style>\n"
          "body{font:16px/1.5 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 "
          "1em;color:#222;background:#fff}\n"
          "h1,h2{line-height:1.2}h2{margin-top:2em;border-bottom:1px solid #bbb;padding-bottom:.2em}\n"
          "table{border-collapse:collapse;margin:1em 0;font-variant-numeric:tabular-nums}\n"
          "th,td{padding:.15em .9em .15em 0;text-align:right;vertical-align:top}th{border-bottom:1px solid #888}\n"
          "th:first-child,td:first-child{text-align:left}tr:nth-child(even) td{background:#f6f6f6}\n"
          "pre{background:#f6f6f6;padding:.6em;overflow-x:auto}img{max-width:100%}\n"
          "</style></head><body>\n<h1>",
          page->to);
    put(page->to, title);
    fputs("</h1>\n", page->to);
}

void mf_page_end(const struct mf_page *page) { fputs("</body></html>\n", page->to); }

void mf_page_heading(const struct mf_page *page, const char *text)
{
    fputs("<h2>", page->to);
    put(page->to, text);
    fputs("</h2>\n", page->to);
}

void mf_page_text(const struct mf_page *page, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fputs("<p>", page->to);
    put(page->to, text);
    fputs("</p>\n", page->to);
}

void mf_page_code(const struct mf_page *page, const char *text)
{
    fputs("<pre>", page->to);
    put(page->to, text);
    fputs("</pre>\n", page->to);
}

static void cells_of(const struct mf_page *page, const char *tag, size_t n, const char *const *cells)
{
    fputs("<tr>", page->to);
    for (size_t i = 0; i < n; ++i) {
        fprintf(page->to, "<%s>", tag);
        put(page->to, cells[i]);
        fprintf(page->to, "</%s>", tag);
    }
    fputs("</tr>\n", page->to);
}

void mf_page_table(const struct mf_page *page, size_t n, const char *const *cells)
{
    fputs("<table>\n", page->to);
    cells_of(page, "th", n, cells);
}

void mf_page_row(const struct mf_page *page, size_t n, const char *const *cells) { cells_of(page, "td", n, cells); }

void mf_page_table_end(const struct mf_page *page) { fputs("</table>\n", page->to); }

/* RFC 4648. */
static void base64(FILE *to, const unsigned char *from, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        size_t have = n - i < 3 ? n - i : 3;
        unsigned long bits = (unsigned long)from[i] << 16 | (have > 1 ? (unsigned long)from[i + 1] << 8 : 0) |
                             (have > 2 ? from[i + 2] : 0);

        for (size_t k = 0; k < 4; ++k) fputc(k <= have ? digit[bits >> (18 - 6 * k) & 63] : '=', to);
    }
}

int mf_page_picture(const struct mf_page *page, const char *path, const char *what)
{
    char *bytes = NULL;
    size_t n = 0;

    MF_TRY(mf_text_load(path, MOST_PICTURE, &bytes, &n));
    fputs("<img alt=\"", page->to);
    put(page->to, what);
    fputs("\" src=\"data:image/png;base64,", page->to);
    base64(page->to, (const unsigned char *)bytes, n);
    fputs("\">\n", page->to);
    free(bytes);
    return MF_OK;
}
