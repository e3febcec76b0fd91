/* Datasets. See h5.h. */
#include "io/h5_priv.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/guard.h"
#include "src/base/err.h"

/* A file may claim a volume this many times its own length (deflate reaches about 1030) and chunks of this size. */
enum { UNPACK_MAX = 2048, CHUNK_MAX = 1 << 30, FILTER_TEXT = 64 };

/* No more than this in one transfer, after which this rank shows that it lives. */
#define PIECE_MAX ((size_t)1 << 30)

/* Contiguous, or in deflated chunks of @p rows rows. */
static hid_t dataset_make(struct mf_h5 *file, const char *path, hid_t type, int ndim, const size_t *dims, size_t rows,
                          int level)
{
    hid_t links = H5Pcreate(H5P_LINK_CREATE), create = H5Pcreate(H5P_DATASET_CREATE), space, id;
    hsize_t extent[MF_H5_DIMS], chunk[MF_H5_DIMS];

    for (int i = 0; i < ndim; ++i) chunk[i] = extent[i] = dims[i];
    space = ndim ? H5Screate_simple(ndim, extent, NULL) : H5Screate(H5S_SCALAR);
    H5Pset_create_intermediate_group(links, 1);
    if (rows) {
        chunk[0] = rows;
        H5Pset_chunk(create, ndim, chunk);
        H5Pset_deflate(create, (unsigned)level);
    } else {
        H5Pset_fill_time(create, H5D_FILL_TIME_NEVER);
        H5Pset_layout(create, H5D_CONTIGUOUS);
        H5Pset_alloc_time(create, H5D_ALLOC_TIME_EARLY);
    }
    id = H5Dcreate2(file->id, path, type, space, links, create, H5P_DEFAULT);
    H5Sclose(space);
    H5Pclose(create);
    H5Pclose(links);
    if (id < 0) mf_h5_refuse(file, "making dataset", path);
    return id;
}

int mf_h5_deflated(struct mf_h5 *file, const char *path, enum mf_h5_type type, int ndim, const size_t *dims,
                   size_t rows, int level)
{
    const hid_t id = dataset_make(file, path, mf_h5_type_of(type, 1), ndim, dims, rows, level);

    if (id >= 0) H5Dclose(id);
    return id < 0 ? MF_OUTPUT : MF_OK;
}

int mf_h5_dataset(struct mf_h5 *file, const char *path, enum mf_h5_type type, int ndim, const size_t *dims)
{
    return mf_h5_deflated(file, path, type, ndim, dims, 0, 0);
}

/* Moves rows along an axis of an open dataset, in pieces. The axes before it have one value, and the file gives the
 * direction. 0 on success. */
static int move_rows(const struct mf_h5 *file, hid_t id, hid_t type, int axis, size_t first, size_t count, void *memory)
{
    hid_t space = H5Dget_space(id), rows;
    hsize_t dims[MF_H5_DIMS] = {1}, start[MF_H5_DIMS] = {0}, extent[MF_H5_DIMS];
    int ndim = H5Sget_simple_extent_ndims(space), bad = ndim < axis || ndim > MF_H5_DIMS;
    size_t row = H5Tget_size(type), step;
    char *at = memory;

    if (!bad) H5Sget_simple_extent_dims(space, dims, NULL);
    for (int i = axis + 1; i < ndim; ++i) row *= dims[i];
    step = row && row < PIECE_MAX ? PIECE_MAX / row : 1;
    memcpy(extent, dims, sizeof extent);
    for (size_t i = 0; !bad && i < count; i += step) {
        start[axis] = first + i;
        extent[axis] = count - i < step ? count - i : step;
        bad = ndim > 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, extent, NULL) < 0;
        rows = ndim ? H5Screate_simple(ndim, extent, NULL) : H5Screate(H5S_SCALAR);
        if (!bad && file->writing) bad = H5Dwrite(id, type, rows, space, H5P_DEFAULT, at) < 0;
        if (!bad && !file->writing) bad = H5Dread(id, type, rows, space, H5P_DEFAULT, at) < 0;
        H5Sclose(rows);
        at += step * row;
        mf_comm_alive();
    }
    H5Sclose(space);
    return bad;
}

/* All of them. */
static int write_rows(struct mf_h5 *file, const char *path, enum mf_h5_type type, size_t count, const void *from)
{
    hid_t id = H5Dopen2(file->id, path, H5P_DEFAULT);
    int rc = MF_OK;

    if (id < 0) return mf_h5_refuse(file, "it has no dataset", path);
    if (mf_fault("io.write"))
        rc = mf_fail(MF_OUTPUT, "cannot write '%s': injected fault", file->name);
    else if (move_rows(file, id, mf_h5_type_of(type, 0), 0, 0, count, (void *)(uintptr_t)from))
        rc = mf_h5_refuse(file, "writing dataset", path);
    if (H5Dclose(id) < 0 && rc == MF_OK) rc = mf_h5_refuse(file, "closing dataset", path);
    return rc;
}

size_t mf_h5_place(struct mf_h5 *file, const char *path)
{
    haddr_t offset;
    hid_t id;

    id = H5Dopen2(file->id, path, H5P_DEFAULT);
    offset = id < 0 ? HADDR_UNDEF : H5Dget_offset(id);
    if (id >= 0) H5Dclose(id);
    H5Eclear2(H5E_DEFAULT);
    return offset == HADDR_UNDEF ? 0 : (size_t)offset;
}

int mf_h5_write(struct mf_h5 *file, const char *path, enum mf_h5_type type, int ndim, const size_t *dims,
                const void *from)
{
    size_t rows = ndim ? dims[0] : 1;

    MF_TRY(mf_h5_dataset(file, path, type, ndim, dims));
    return write_rows(file, path, type, rows, from);
}

int mf_h5_write_text(struct mf_h5 *file, const char *path, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1), id;
    int bad = 0;

    H5Tset_size(type, strlen(text) ? strlen(text) : 1);
    H5Tset_cset(type, H5T_CSET_UTF8);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    id = dataset_make(file, path, type, 0, NULL, 0, 0);
    if (id >= 0) bad = H5Dwrite(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0;
    if (mf_fault("io.write.text")) bad = 1;
    if (bad) mf_h5_refuse(file, "writing dataset", path);
    if (id >= 0) H5Dclose(id);
    H5Tclose(type);
    return id < 0 || bad ? MF_OUTPUT : MF_OK;
}

/* Values stand in the file itself. Only filters of the library itself are used: no plug-in is loaded, and the others
 * may have changed values. */
static int check_storage(const struct mf_h5 *file, const char *path, hid_t create)
{
    if (H5Pget_external_count(create) > 0 || H5Pget_layout(create) == H5D_VIRTUAL)
        return mf_fail(MF_INPUT, "cannot read '%s': the values of %s lie in other files; try: h5repack -l CONTI",
                       file->name, path);
    for (int i = 0; i < H5Pget_nfilters(create); ++i) {
        char name[FILTER_TEXT] = "";
        unsigned flags;
        size_t values = 0;
        H5Z_filter_t filter = H5Pget_filter2(create, (unsigned)i, &flags, &values, NULL, sizeof name, name, NULL);

        if ((filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32 ||
             filter == H5Z_FILTER_SZIP) &&
            H5Zfilter_avail(filter) > 0)
            continue;
        mf_guard_sanitise(name, sizeof name);
        if (!*name) snprintf(name, sizeof name, "filter %d", (int)filter);
        return mf_fail(
            MF_INPUT,
            "cannot read '%s': %s is compressed by %s, not deflate or szip; try: compression=\"gzip\" in h5py, "
            "or h5repack -f GZIP=1 where it has that filter",
            file->name, path, name);
    }
    return MF_OK;
}

/* Chunks of a sane size. */
static const char *bad_layout(hid_t create, size_t size)
{
    hsize_t chunk[MF_H5_DIMS];
    double bytes = (double)size;
    int n;

    switch (H5Pget_layout(create)) {
    case H5D_COMPACT:
    case H5D_CONTIGUOUS: return NULL;
    case H5D_CHUNKED:
        n = H5Pget_chunk(create, MF_H5_DIMS, chunk);
        for (int i = 0; i < n && i < MF_H5_DIMS; ++i) bytes *= (double)chunk[i];
        return bytes > CHUNK_MAX ? "chunks of more than 1 GiB in" : NULL;
    default: return "an unusual storage layout in";
    }
}

/* Booleans in bytes: an enumeration of h5py, a field of bits of PyTables. */
static int is_flag(hid_t type)
{
    const H5T_class_t kind = H5Tget_class(type);

    return (kind == H5T_ENUM || kind == H5T_BITFIELD) && H5Tget_size(type) == 1;
}

/* Numbers only. */
static const char *bad_type(hid_t type, struct mf_h5_shape *shape)
{
    H5T_class_t kind = H5Tget_class(type);
    size_t size = H5Tget_size(type);

    if (kind == H5T_FLOAT) {
        shape->kind = 'f';
        shape->size = size <= 4 ? 4 : 8;
        return size <= 8 ? NULL : "floats of more than 64 bits in";
    }
    if (kind != H5T_INTEGER && !is_flag(type)) return "no plain numbers in";
    shape->kind = is_flag(type) || H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i';
    shape->size = size;
    return size == 1 || size == 2 || size == 4 || size == 8 ? NULL : "integers of an unusual size in";
}

/* Extents, and whether that many values can be in a file of this length. */
static const char *bad_extent(const struct mf_h5 *file, hid_t id, hid_t space, hid_t create, struct mf_h5_shape *shape)
{
    hsize_t dims[H5S_MAX_RANK];
    double bytes = (double)shape->size;
    int contiguous = H5Pget_layout(create) == H5D_CONTIGUOUS;

    shape->ndim = H5Sget_simple_extent_ndims(space);
    if (shape->ndim < 0 || shape->ndim > MF_H5_DIMS || H5Sget_simple_extent_type(space) == H5S_NULL)
        return "an unusual number of axes in";
    H5Sget_simple_extent_dims(space, dims, NULL);
    for (int i = 0; i < shape->ndim; ++i) {
        shape->dims[i] = (size_t)dims[i];
        bytes *= (double)dims[i];
    }
    for (int i = 0; i < shape->ndim; ++i)
        if (dims[i] == 0) return "no values (an axis has no extent) in";
    if (contiguous && (H5Dget_offset(id) == HADDR_UNDEF || (double)H5Dget_storage_size(id) > (double)file->bytes))
        return "missing values in";
    if (bytes > (double)file->bytes * UNPACK_MAX) return "more values than a file of this length can hold in";
    return NULL;
}

static hid_t dataset_open(const struct mf_h5 *file, const char *path)
{
    hid_t id = mf_h5_object(file, path);

    if (id >= 0 && H5Iget_type(id) != H5I_DATASET) {
        H5Oclose(id);
        mf_h5_refuse(file, "there is no dataset at", path);
        return -1;
    }
    return id;
}

static hid_t native_type(const struct mf_h5_shape *shape)
{
    if (shape->kind == 'f') return shape->size == 4 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
    switch (shape->size) {
    case 1: return shape->kind == 'u' ? H5T_NATIVE_UINT8 : H5T_NATIVE_INT8;
    case 2: return shape->kind == 'u' ? H5T_NATIVE_UINT16 : H5T_NATIVE_INT16;
    case 4: return shape->kind == 'u' ? H5T_NATIVE_UINT32 : H5T_NATIVE_INT32;
    default: return shape->kind == 'u' ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64;
    }
}

/* Is the type that of memory, but for the order of its bytes? */
static int is_plain(hid_t type, hid_t native, int *swap)
{
    hid_t copy = H5Tcopy(type);
    int is = is_flag(type) || (H5Tset_order(copy, H5Tget_order(native)) >= 0 && H5Tequal(copy, native) > 0);

    *swap = is && H5Tget_size(type) > 1 && H5Tget_order(type) != H5Tget_order(native);
    H5Tclose(copy);
    return is;
}

/* Where values lie that need no library. */
static void find_place(hid_t id, hid_t type, hid_t create, struct mf_h5_shape *shape)
{
    size_t bytes = shape->size;
    haddr_t offset;

    shape->plain = is_plain(type, native_type(shape), &shape->swap);
    if (H5Pget_layout(create) != H5D_CONTIGUOUS || !shape->plain) return;
    for (int i = 0; i < shape->ndim; ++i) bytes *= shape->dims[i];
    offset = H5Dget_offset(id);
    if (offset != HADDR_UNDEF && H5Dget_storage_size(id) == bytes) shape->offset = (size_t)offset;
}

/* h5py and PyTables write Booleans as an enum of FALSE and TRUE, or as bits. */
static int is_boolean(hid_t type)
{
    char *first;
    int is = H5Tget_class(type) == H5T_BITFIELD;

    if (H5Tget_class(type) != H5T_ENUM || H5Tget_nmembers(type) != 2) return is && H5Tget_size(type) == 1;
    first = H5Tget_member_name(type, 0);
    is = first && strcasecmp(first, "FALSE") == 0;
    H5free_memory(first);
    return is;
}

enum mf_h5_values mf_h5_values_of(struct mf_h5 *file, const char *path)
{
    const hid_t id = dataset_open(file, path), type = id >= 0 ? H5Dget_type(id) : -1;
    enum mf_h5_values values = MF_H5_NUMBERS;

    if (type >= 0 && is_boolean(type))
        values = MF_H5_FLAGS;
    else if (type >= 0 && (H5Tget_class(type) == H5T_STRING || H5Tget_class(type) == H5T_ENUM))
        values = MF_H5_WORDS;
    if (type >= 0) H5Tclose(type);
    if (id >= 0) H5Dclose(id);
    return values;
}

int mf_h5_shape(struct mf_h5 *file, const char *path, struct mf_h5_shape *shape)
{
    hid_t id = dataset_open(file, path), type, space, create;
    struct mf_h5_shape s = {0};
    const char *wrong;
    int rc;

    if (id < 0) return MF_INPUT;
    type = H5Dget_type(id);
    space = H5Dget_space(id);
    create = H5Dget_create_plist(id);
    wrong = type < 0 || space < 0 || create < 0 ? "a damaged header of" : bad_type(type, &s);
    rc = wrong ? mf_h5_refuse(file, wrong, path) : check_storage(file, path, create);
    if (rc == MF_OK) wrong = bad_layout(create, s.size);
    if (rc == MF_OK && !wrong) wrong = bad_extent(file, id, space, create, &s);
    if (rc == MF_OK && wrong) rc = mf_h5_refuse(file, wrong, path);
    if (rc == MF_OK) find_place(id, type, create, &s);
    H5Pclose(create);
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(id);
    if (rc == MF_OK) *shape = s;
    return rc;
}

static int read_rows(struct mf_h5 *file, const char *path, hid_t type, int axis, size_t first, size_t count, void *to)
{
    hid_t id = dataset_open(file, path);
    int bad;

    if (id < 0) return MF_INPUT;
    bad = move_rows(file, id, type, axis, first, count, to);
    if (bad) mf_h5_refuse(file, "reading dataset", path);
    H5Dclose(id);
    return bad ? MF_INPUT : MF_OK;
}

int mf_h5_read_rows(struct mf_h5 *file, const char *path, enum mf_h5_type type, size_t first, size_t count, void *to)
{
    return read_rows(file, path, mf_h5_type_of(type, 0), 0, first, count, to);
}

/* Booleans are read in their own type: the library does not convert them to integers. */
int mf_h5_read_native(struct mf_h5 *file, const char *path, const struct mf_h5_shape *shape, size_t first, size_t count,
                      void *to)
{
    hid_t id = dataset_open(file, path), type;
    int flags;

    if (id < 0) return MF_INPUT;
    type = H5Dget_type(id);
    flags = is_flag(type);
    H5Dclose(id);
    if (flags) {
        int rc = read_rows(file, path, type, shape->lead, first, count, to);

        H5Tclose(type);
        return rc;
    }
    H5Tclose(type);
    return read_rows(file, path, native_type(shape), shape->lead, first, count, to);
}

int mf_h5_read_text(struct mf_h5 *file, const char *path, size_t max, char **text)
{
    hid_t id = dataset_open(file, path), type, space;
    size_t size;
    int ok;

    if (id < 0) return MF_INPUT;
    type = H5Dget_type(id);
    space = H5Dget_space(id);
    size = H5Tget_size(type);
    ok = H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 && size <= max && size <= file->bytes &&
         H5Sget_simple_extent_npoints(space) == 1;
    *text = ok ? calloc(size + 1, 1) : NULL;
    ok = *text && H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *text) >= 0;
    if (!ok) {
        mf_h5_refuse(file, "no text of a usable length in", path);
        free(*text);
        *text = NULL;
    }
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(id);
    return ok ? MF_OK : MF_INPUT;
}
