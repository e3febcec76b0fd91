/* Datasets in chunks, which others than HDF5 compress and read. See h5.h. */
#include "io/h5_priv.h"

#include <stdlib.h>

#include "src/base/err.h"

/* The time to find their places grows with the square of their number: about 2 s for these. */
enum { CHUNKS_MAX = 1 << 14 };

int mf_h5_write_chunk(struct mf_h5 *file, const char *path, size_t row, size_t bytes, const void *from)
{
    hid_t id = H5Dopen2(file->id, path, H5P_DEFAULT);
    hsize_t start[MF_H5_DIMS] = {row};
    int rc = MF_OK;

    if (id < 0) return mf_h5_refuse(file, "it has no dataset", path);
    if (mf_fault("io.write"))
        rc = mf_fail(MF_OUTPUT, "cannot write '%s': injected fault", file->name);
    else if (H5Dwrite_chunk(id, H5P_DEFAULT, 0, start, bytes, from) < 0)
        rc = mf_h5_refuse(file, "writing dataset", path);
    if (H5Dclose(id) < 0 && rc == MF_OK) rc = mf_h5_refuse(file, "closing dataset", path);
    return rc;
}

/* NULL, or why only the library can read them. */
static const char *bad_filters(hid_t create, struct mf_h5_chunks *c)
{
    const int n = H5Pget_nfilters(create);

    for (int i = 0; i < n; ++i) {
        unsigned flags;
        size_t values = 0;
        H5Z_filter_t filter = H5Pget_filter2(create, (unsigned)i, &flags, &values, NULL, 0, NULL, NULL);

        if (filter == H5Z_FILTER_SHUFFLE && i == 0)
            c->shuffle = 1;
        else if (filter == H5Z_FILTER_DEFLATE && i == n - 1)
            c->deflate = 1;
        else
            return "other filters than deflate, with or without shuffle, in";
    }
    return NULL;
}

/* Chunks of whole rows: their number follows from the extents. */
static const char *bad_chunks(const struct mf_h5 *file, hid_t id, hid_t create, struct mf_h5_chunks *c)
{
    hsize_t dims[MF_H5_DIMS] = {0}, chunk[MF_H5_DIMS] = {0}, stored = 0, block = 0;
    hid_t space = H5Dget_space(id), whole = H5Fget_create_plist(file->id);
    int n = H5Pget_chunk(create, MF_H5_DIMS, chunk), bad = n < 1 || H5Sget_simple_extent_ndims(space) != n;

    if (!bad) H5Sget_simple_extent_dims(space, dims, NULL);
    for (int i = 1; !bad && i < n; ++i) bad = chunk[i] != dims[i];
    if (!bad) bad = chunk[0] < 1 || H5Dget_num_chunks(id, space, &stored) < 0;
    if (whole >= 0) H5Pget_userblock(whole, &block);
    if (whole >= 0) H5Pclose(whole);
    H5Sclose(space);
    if (bad || block) return "chunks are not whole samples in";
    c->rows = (size_t)chunk[0];
    c->count = (size_t)((dims[0] + chunk[0] - 1) / chunk[0]);
    return stored == c->count && c->count <= CHUNKS_MAX ? NULL
                                                        : "values are missing, or more than 16384 chunks are, in";
}

/* H5Dget_chunk_info() of some versions of the library refuses H5S_ALL. */
static const char *find_places(hid_t id, struct mf_h5_chunks *c)
{
    hid_t space = H5Dget_space(id);
    unsigned skipped = 0;
    int bad = 0;

    c->place = MF_MUST(calloc(c->count, sizeof *c->place), "the places of chunks");
    for (size_t i = 0; i < c->count; ++i) {
        hsize_t start[MF_H5_DIMS] = {0}, bytes = 0;
        haddr_t offset = HADDR_UNDEF;

        bad = H5Dget_chunk_info(id, space, i, start, &skipped, &offset, &bytes) < 0 || offset == HADDR_UNDEF ||
              skipped || start[0] / c->rows >= c->count;
        if (bad) break;
        c->place[start[0] / c->rows][0] = offset;
        c->place[start[0] / c->rows][1] = bytes;
    }
    H5Sclose(space);
    if (bad && skipped) return "chunks skip its filters (filter mask) in";
    return bad ? "the places of chunks are not known in" : NULL;
}

int mf_h5_chunks(struct mf_h5 *file, const char *path, struct mf_h5_chunks *chunks)
{
    hid_t id = mf_h5_object(file, path), create;
    struct mf_h5_chunks c = {0};
    const char *wrong = NULL;

    if (id < 0) return MF_INPUT;
    create = H5Dget_create_plist(id);
    if (create < 0) wrong = "there is no dataset at";
    if (!wrong && H5Pget_layout(create) == H5D_CHUNKED) {
        wrong = bad_chunks(file, id, create, &c);
        if (!wrong) wrong = bad_filters(create, &c);
        if (!wrong) wrong = find_places(id, &c);
    }
    if (wrong)
        mf_fail(MF_INPUT, "cannot read '%s': %s %s; try: h5repack -f NONE -l CONTI, which makes it contiguous",
                file->name, wrong, path);
    if (create >= 0) H5Pclose(create);
    H5Oclose(id);
    if (wrong) free(c.place);
    if (!wrong) *chunks = c;
    return wrong ? MF_INPUT : MF_OK;
}
