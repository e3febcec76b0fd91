/* See version.h. */
#include "io/version.h"

#include <cairo.h>
#include <hdf5.h>
#include <openssl/crypto.h>
#include <png.h>
#include <string.h>
#include <tiffio.h>

const char *mf_io_hdf5(void)
{
    static char text[40];
    unsigned major = 0, minor = 0, release = 0;

    H5get_libversion(&major, &minor, &release);
    snprintf(text, sizeof text, "%u.%u.%u", major, minor, release);
    return text;
}

void mf_io_version(FILE *to)
{
    const char *tiff = TIFFGetVersion();

    fprintf(to, "  HDF5      %s, parallel\n", mf_io_hdf5());
    fprintf(to, "  libpng    %s\n", png_get_libpng_ver(NULL));
    fprintf(to, "  libtiff   %.*s\n", (int)strcspn(tiff, "\n"), tiff);
    fprintf(to, "  cairo     %s\n", cairo_version_string());
    fprintf(to, "  libcrypto %s\n", OpenSSL_version(OPENSSL_VERSION));
}
