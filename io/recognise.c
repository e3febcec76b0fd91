/* See recognise.h. */
#include "io/recognise.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/h5.h"
#include "io/unread.h"
#include "src/base/err.h"

#define MARK(text) text, sizeof(text) - 1

static const struct mark {
    const char *text;
    size_t length;
    enum mf_format format;
} marks[] = {
    {MARK("\x93NUMPY"), MF_NPY}, {MARK("\x89PNG\r\n\x1a\n"), MF_PNG},
    {MARK("II*\0"), MF_TIFF},    {MARK("MM\0*"), MF_TIFF},
    {MARK("II+\0"), MF_TIFF},    {MARK("MM\0+"), MF_TIFF},
    {MARK("NRRD000"), MF_NRRD},
};

/* XML may begin with a mark of UTF-8, blanks and a comment. */
static int is_xml(const unsigned char *head, size_t n)
{
    const unsigned char *at = head;

    if (n > 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
    while (at < head + n && *at && strchr(" \t\r\n", *at)) ++at;
    n -= (size_t)(at - head);
    return (n > 5 && memcmp(at, "<?xml", 5) == 0) || (n > 0 && *at == '<' && memmem(at, n, "<VTKFile", 8));
}

int mf_recognise(int file, const char *path, enum mf_format *format)
{
    unsigned char head[MF_UNREAD_HEAD];
    int is_h5;
    size_t n;

    MF_TRY(mf_read_some(file, path, head, sizeof head, 0, &n));
    for (const struct mark *m = marks; m < marks + sizeof marks / sizeof *marks; ++m)
        if (n >= m->length && memcmp(head, m->text, m->length) == 0) {
            *format = m->format;
            return MF_OK;
        }
    MF_TRY(mf_h5_signed(file, path, &is_h5));
    *format = is_h5 ? MF_HDF5 : is_xml(head, n) ? MF_VTK : MF_NO_FORMAT;
    return MF_OK;
}

int mf_refuse_unknown(int file, const char *path)
{
    unsigned char head[MF_UNREAD_HEAD];
    size_t n;

    MF_TRY(mf_read_some(file, path, head, sizeof head, 0, &n));
    return mf_unread(path, head, n);
}

int mf_refuse_pointer(const char *path)
{
    unsigned char head[MF_UNREAD_HEAD];
    size_t n = 0;
    int file, rc;

    MF_TRY(mf_open_plain(path, O_RDONLY, &file));
    rc = mf_read_some(file, path, head, sizeof head, 0, &n);
    close(file);
    return rc == MF_OK ? mf_unread_pointer(path, head, n) : rc;
}
