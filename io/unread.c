/* See unread.h. */
#include "io/unread.h"

#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"

#define MAGIC(text) text, sizeof(text) - 1

static const char pictures[] = "convert it to PNG or TIFF";
static const char volumes[] = "convert it to NRRD or TIFF (ImageJ, 3D Slicer and ITK do)";
static const char unpack[] = "unpack it and give the file in it";

static const struct unread {
    size_t at;
    const char *magic;
    size_t length;
    const char *name, *remedy;
} table[] = {
    {0, MAGIC("\xff\xd8\xff"), "a JPEG", "convert it to PNG and cut it by --threshold, as JPEG changes values"},
    {0, MAGIC("\0\0\0\14jP  "), "a JPEG 2000", pictures},
    {0, MAGIC("\xff\x4f\xff\x51"), "a JPEG 2000", pictures},
    {0, MAGIC("BM"), "a BMP", pictures},
    {0, MAGIC("GIF8"), "a GIF", pictures},
    {8, MAGIC("WEBP"), "a WebP", pictures},
    {0, MAGIC("P5\n"), "a PGM", pictures},
    {0, MAGIC("P6\n"), "a PPM", pictures},
    {0, MAGIC("%PDF"), "a PDF", pictures},
    {0, MAGIC("# vtk DataFile"), "a legacy VTK file", "save it as .vti (ParaView: Save Data; meshio, PyVista)"},
    {0, MAGIC("ObjectType"), "a MetaImage (.mhd, .mha)", volumes},
    {0, MAGIC("NDims"), "a MetaImage (.mhd, .mha)", volumes},
    {128, MAGIC("DICM"), "DICOM", volumes},
    {344, MAGIC("n+1"), "NIfTI", volumes},
    {344, MAGIC("ni1"), "NIfTI", volumes},
    {208, MAGIC("MAP "), "MRC", volumes},
    {0, MAGIC("# AmiraMesh"), "AmiraMesh", volumes},
    {0, MAGIC("# Avizo"), "Avizo", volumes},
    {0, MAGIC("\xd0\xcf\x11\xe0"), "an OLE file (.txm, .oib)", volumes},
    {0, MAGIC("MATLAB 5.0"), "a MATLAB file before 7.3", "save it with -v7.3"},
    {0, MAGIC("CDF"), "NetCDF 3", "convert it to NetCDF 4 (nccopy -k nc4)"},
    {0, MAGIC("\x0e\x03\x13\x01"), "HDF4", "convert it to HDF5 (h4toh5)"},
    {0, MAGIC("PK\3\4"), "a ZIP archive (.npz?)", "unpack it and give one .npy"},
    {0, MAGIC("\x1f\x8b\b"), "compressed by gzip", unpack},
    {0, MAGIC("BZh"), "compressed by bzip2", unpack},
    {0,
     MAGIC("\xfd"
           "7zXZ"),
     "compressed by xz", unpack},
    {0, MAGIC("\x28\xb5\x2f\xfd"), "compressed by zstd", unpack},
    {257, MAGIC("ustar"), "a tar archive", unpack},
};

int mf_unread(const char *path, const unsigned char *head, size_t n)
{
    for (const struct unread *u = table; u < table + sizeof table / sizeof *table; ++u) {
        if (n < u->at + u->length || memcmp(head + u->at, u->magic, u->length) != 0) continue;
        if (u->length < 3 && !mf_ends_with(path, ".bmp")) continue; /* may be chance */
        return mf_fail(MF_INPUT, "'%s' is %s, which is not read here; %s", path, u->name, u->remedy);
    }
    return mf_fail(
        MF_INPUT, "'%s' has no format that is read here (.npy, PNG, TIFF, HDF5, NRRD, VTK's XML, DREAM.3D)%s", path,
        mf_ends_with(path, ".raw") || mf_ends_with(path, ".bin") ? "; raw values need a header: an .nhdr" : "");
}
