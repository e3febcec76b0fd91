/* See version.h. */
#include "io/version.h"

#include <cairo.h>
#include <hdf5.h>
#include <openssl/crypto.h>
#include <png.h>
#include <string.h>
#include <tiffio.h>

void mf_io_version(FILE *to)
{
    const char *tiff = TIFFGetVersion();
    unsigned major = 0, minor = 0, release = 0;

    H5get_libversion(&major, &minor, &release);
    fprintf(to, "  HDF5      %u.%u.%u, parallel\n", major, minor, release);
    fprintf(to, "  libpng    %s\n", png_get_libpng_ver(NULL));
    fprintf(to, "  libtiff   %.*s\n", (int)strcspn(tiff, "\n"), tiff);
    fprintf(to, "  cairo     %s\n", cairo_version_string());
    fprintf(to, "  libcrypto %s\n", OpenSSL_version(OPENSSL_VERSION));
}
