/* See text.h. */
#include "src/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/crc.h"
#include "src/base/err.h"
#include "src/base/file.h"
#include "src/base/room.h"

int mf_ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);

    return n >= m && strcasecmp(text + n - m, ending) == 0;
}

int mf_word_flag(const char *text, int *value)
{
    static const char *const word[] = {"false", "no", "off", "true", "yes", "on"};

    for (int i = 0; i < 6; ++i)
        if (strcasecmp(text, word[i]) == 0) {
            *value = i >= 3;
            return 1;
        }
    return 0;
}

const char *mf_duration_text(double seconds, char text[MF_DURATION_TEXT])
{
    const double minutes = seconds / 60, hours = minutes / 60;

    if (seconds < 120)
        snprintf(text, MF_DURATION_TEXT, "%.*f s", seconds < 10, seconds);
    else if (minutes < 120)
        snprintf(text, MF_DURATION_TEXT, "%.*f min", minutes < 10, minutes);
    else
        snprintf(text, MF_DURATION_TEXT, "%.*f h", hours < 10, hours);
    return text;
}

uint64_t mf_fnv(uint64_t number, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < count; ++i) number = (number ^ at[i]) * 0x100000001B3u;
    return number;
}

void mf_name_short(const char *name, size_t length, char to[MF_NAME_SHORT])
{
    if (length < MF_NAME_SHORT)
        snprintf(to, MF_NAME_SHORT, "%.*s", (int)length, name);
    else
        snprintf(to, MF_NAME_SHORT, "%.*s-%08x", MF_NAME_SHORT - 10, name, (unsigned)mf_crc32c(0, name, length));
}

/* Backslashes and hyphens escaped; no line begins with a control character. */
void mf_roff(const char *text)
{
    int line_start = 1;

    for (; *text; ++text) {
        if (line_start && (*text == '.' || *text == '\'')) printf("\\&");
        line_start = *text == '\n';
        if (*text == '\\')
            printf("\\e");
        else if (*text == '-')
            printf("\\-");
        else
            putchar(*text);
    }
}

char *mf_format(const char *format, ...)
{
    char *text = NULL;
    va_list values;

    va_start(values, format);
    if (vasprintf(&text, format, values) < 0) text = NULL;
    va_end(values);
    return MF_MUST(text, "a text");
}

char *mf_fold(const char *text, size_t indent, size_t columns)
{
    char *folded = NULL;
    size_t size = 0, column = 0, margin = indent + strspn(text, " ");
    FILE *to = MF_MUST(open_memstream(&folded, &size), "help");

    while (*text) {
        size_t blanks = strspn(text, " "), word = strcspn(text + blanks, " \n");
        int full = word > 0 && column > margin && column + blanks + word > columns;

        if (full) column = (size_t)fprintf(to, "\n%*s", (int)margin, "") - 1;
        if (word > 0 && !full) column += (size_t)fprintf(to, "%*s", (int)blanks, "");
        column += fwrite(text + blanks, 1, word, to);
        text += blanks + word;
        if (*text != '\n') continue;
        fputc(*text++, to);
        column = 0;
        margin = indent + strspn(text, " ");
    }
    return MF_MUST(fclose(to) == 0 ? folded : NULL, "help");
}

static ssize_t read_on(int file, char *text, size_t most)
{
    ssize_t got;

    do got = read(file, text, most);
    while (got < 0 && errno == EINTR);
    return got;
}

/* The first bytes without waiting: a pipe to which nobody writes has none, and nobody may ever come. */
static int read_text(int file, const char *path, size_t most, char *text, size_t *count)
{
    ssize_t got = read_on(file, text, most);
    const int is_to_come = got < 0 && errno == EAGAIN;
    struct stat is;

    *count = 0;
    (void)fcntl(file, F_SETFL, O_RDONLY);
    if (is_to_come) got = read_on(file, text, most);
    while (got > 0) {
        *count += (size_t)got;
        got = *count < most ? read_on(file, text + *count, most - *count) : 0;
    }
    if (got < 0) return mf_fail(MF_INPUT, "cannot read '%.300s': %s", path, strerror(errno));
    if (*count == 0 && fstat(file, &is) == 0 && S_ISFIFO(is.st_mode))
        return mf_fail(MF_INPUT, "pipe '%.300s': it is empty, or nobody writes to it: start its writer first", path);
    return MF_OK;
}

int mf_text_load(const char *path, size_t most, char **text, size_t *count)
{
    int file = mf_open(path, O_RDONLY | O_NONBLOCK), rc;
    size_t room = most + 1;
    struct stat is;

    *text = NULL;
    if (file < 0 && errno == EWOULDBLOCK) file = mf_open(path, O_RDONLY); /* a lease: no pipe has one */
    if (file < 0) return mf_fail(MF_INPUT, "cannot open '%.300s': %s", path, strerror(errno));
    if (fstat(file, &is) == 0 && S_ISREG(is.st_mode) && is.st_size > 0 && (size_t)is.st_size < room)
        room = (size_t)is.st_size; /* files of /proc have no size */
    *text = mf_room(room + 1, 1, "the text of '%.300s'", path);
    rc = *text ? read_text(file, path, room, *text, count) : MF_MEMORY;
    close(file);
    if (rc == MF_OK) {
        (*text)[*count] = '\0';
        return MF_OK;
    }
    free(*text);
    *text = NULL;
    return rc;
}

const char *mf_name_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* No shell sees more in these than themselves. */
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+:,./-"

/* "NAME=value" would be an assignment before a command; "--name=value" is a word like others. */
static int is_plain(const char *word)
{
    size_t n = strspn(word, *word == '-' ? PLAIN "=" : PLAIN);

    return n > 0 && word[n] == '\0';
}

void mf_quote(FILE *to, const char *word)
{
    if (is_plain(word)) {
        fputs(word, to);
        return;
    }
    fputc('\'', to);
    for (; *word; ++word)
        if (*word == '\'')
            fputs("'\\''", to);
        else
            fputc(*word, to);
    fputc('\'', to);
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

const char *mf_text_twice(size_t count, const char *const *texts)
{
    const char **sorted = MF_MUST(calloc(count + 1, sizeof *sorted), "names"), *twice = NULL;

    for (size_t i = 0; i < count; ++i) sorted[i] = texts[i];
    qsort(sorted, count, sizeof *sorted, by_text);
    for (size_t i = 1; i < count && !twice; ++i)
        if (strcmp(sorted[i - 1], sorted[i]) == 0) twice = sorted[i];
    free(sorted);
    return twice;
}
