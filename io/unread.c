/* See unread.h. */
#include "io/unread.h"

#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"

#define MAGIC(text) text, sizeof(text) - 1

static const char pictures[] = "convert it to PNG or TIFF";
static const char volumes[] = "convert it to NRRD or TIFF (ImageJ, 3D Slicer and ITK do)";
static const char microscopes[] = "export one channel of it as TIFF (Fiji does)";
static const char maps[] = "make an array of its phases (orix does) and save it with numpy.save";
static const char tables[] = "make an array of it by numpy.loadtxt and numpy.save";
static const char pickles[] = "it may run any code; load it in Python and save its array with numpy.save";
static const char unpack[] = "unpack it and give the file in it";

/* A mark of fewer than three bytes, or none, may be chance: then the name must end so, too. */
static const struct unread {
    size_t at;
    const char *magic;
    size_t length;
    const char *ending; /* "": any */
    const char *name, *remedy;
} table[] = {
    {0, MAGIC("\xff\xd8\xff"), "", "a JPEG", "convert it to PNG; JPEG has changed its values, so they are no labels"},
    {0, MAGIC("\0\0\0\14jP  "), "", "a JPEG 2000", pictures},
    {0, MAGIC("\xff\x4f\xff\x51"), "", "a JPEG 2000", pictures},
    {4, MAGIC("ftyphei"), "", "an HEIC", pictures},
    {4, MAGIC("ftypavif"), "", "an AVIF", pictures},
    {0, MAGIC("8BPS"), "", "a picture of Photoshop", pictures},
    {0, MAGIC("BM"), ".bmp", "a BMP", pictures},
    {0, MAGIC("GIF8"), "", "a GIF", pictures},
    {8, MAGIC("WEBP"), "", "a WebP", pictures},
    {0, MAGIC("P2\n"), "", "a PGM", pictures},
    {0, MAGIC("P4\n"), "", "a PBM", pictures},
    {0, MAGIC("P5\n"), "", "a PGM", pictures},
    {0, MAGIC("P6\n"), "", "a PPM", pictures},
    {0, MAGIC("%PDF"), "", "a PDF", pictures},
    {0, MAGIC("ZISRAWFILE"), "", "a picture of Zeiss (.czi)", microscopes},
    {0, MAGIC("\0\0\0\3"), ".dm3", "a picture of DigitalMicrograph", microscopes},
    {0, MAGIC("\0\0\0\4"), ".dm4", "a picture of DigitalMicrograph", microscopes},
    {0, MAGIC("\x70\0\0\0"), ".lif", "a picture of Leica", microscopes},
    {0, MAGIC("\xda\xce\xbe\n"), "", "a picture of Nikon (.nd2)", microscopes},
    {0, MAGIC("OLYMPUSRAWFORMAT"), "", "a picture of Olympus (.oir)", microscopes},
    {0, MAGIC("AAMVHFSS"), "", "a map of Bruker (.bcf)", microscopes},
    {0, MAGIC("#"), ".ang", "an EBSD map", maps},
    {0, MAGIC("Channel Text File"), "", "an EBSD map (.ctf)", maps},
    {0, MAGIC("\xb9\x0b\xef\xff"), "", "an EBSD map (.osc)", maps},
    {0, MAGIC("# vtk DataFile"), "", "a legacy VTK file", "save it as .vti (ParaView: Save Data; meshio, PyVista)"},
    {0, MAGIC("ObjectType"), "", "a MetaImage (.mhd, .mha)", volumes},
    {0, MAGIC("NDims"), "", "a MetaImage (.mhd, .mha)", volumes},
    {128, MAGIC("DICM"), "", "DICOM", volumes},
    {344, MAGIC("n+1"), "", "NIfTI", volumes},
    {344, MAGIC("ni1"), "", "NIfTI", volumes},
    {208, MAGIC("MAP "), "", "MRC", volumes},
    {0, MAGIC("# AmiraMesh"), "", "AmiraMesh", volumes},
    {0, MAGIC("# Avizo"), "", "Avizo", volumes},
    {0, MAGIC("\xd0\xcf\x11\xe0"), "", "an OLE file (.txm, .oib)", volumes},
    {0, MAGIC("MATLAB 5.0"), "", "a MATLAB file before 7.3", "save it with -v7.3"},
    {0, MAGIC("CDF"), "", "NetCDF 3", "convert it to NetCDF 4 (nccopy -k nc4)"},
    {0, MAGIC("\x0e\x03\x13\x01"), "", "HDF4", "convert it to HDF5 (h4toh5)"},
    {0, MAGIC("PK\3\4"), ".pt", "a pickle of PyTorch", pickles},
    {0, MAGIC("PK\3\4"), ".pth", "a pickle of PyTorch", pickles},
    {0, MAGIC("PK\3\4"), "", "a ZIP archive (.npz?)", "unpack it and give one .npy"},
    {0, MAGIC("\x80\4\x95"), "", "a pickle", pickles},
    {0, MAGIC("\x80\5\x95"), "", "a pickle", pickles},
    {0, MAGIC(""), ".pickle", "a pickle", pickles},
    {0, MAGIC(""), ".pkl", "a pickle", pickles},
    {3, MAGIC("\0\0\0\0\0{\""), "", "a model (safetensors)", "infer, eval and train --model take one"},
    {0, MAGIC("PAR1"), "", "a table of Parquet", "save its values as CSV (pandas)"},
    {0, MAGIC("\x1f\x8b\b"), "", "compressed by gzip", unpack},
    {0, MAGIC("BZh"), "", "compressed by bzip2", unpack},
    {0,
     MAGIC("\xfd"
           "7zXZ"),
     "", "compressed by xz", unpack},
    {0, MAGIC("\x28\xb5\x2f\xfd"), "", "compressed by zstd", unpack},
    {257, MAGIC("ustar"), "", "a tar archive", unpack},
    {0, MAGIC(""), ".csv", "a table of text", tables},
    {0, MAGIC(""), ".txt", "a text", tables},
};

int mf_unread_pointer(const char *path, const unsigned char *head, size_t n)
{
    static const char begins[] = "version https://git-lfs";

    if (n < sizeof begins - 1 || memcmp(head, begins, sizeof begins - 1) != 0) return MF_OK;
    return mf_fail(MF_INPUT, "'%.300s' is a pointer of Git LFS, and not the file itself; try: git lfs pull", path);
}

int mf_unread(const char *path, const unsigned char *head, size_t n)
{
    MF_TRY(mf_unread_pointer(path, head, n));
    for (const struct unread *u = table; u < table + sizeof table / sizeof *table; ++u)
        if (n >= u->at + u->length && memcmp(head + u->at, u->magic, u->length) == 0 && mf_ends_with(path, u->ending))
            return mf_fail(MF_INPUT, "'%s' is %s, which is not read here; %s", path, u->name, u->remedy);
    return mf_fail(
        MF_INPUT, "'%s' has no format that is read here (.npy, PNG, TIFF, HDF5, NRRD, VTK's XML, DREAM.3D)%s", path,
        mf_ends_with(path, ".raw") || mf_ends_with(path, ".bin") ? "; raw values need a header: an .nhdr" : "");
}
