/* Files, groups, links and attributes. See h5.h; datasets are in h5data.c. */
#include "io/h5_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/recognise.h"
#include "src/base/err.h"

enum { TEXT_MAX = 1 << 24, USER_BLOCK_MIN = 512, USER_BLOCK_MAX = 1 << 26 };

/* Keeps the first words and the reason of "file write failed: time = ..., errno = 5, error message = 'Input/output
 * error', ...". */
static herr_t keep_sentence(unsigned n, const H5E_error2_t *error, void *text)
{
    static const char mark[] = "error message = '";
    const char *all = error->desc ? error->desc : "", *why = strstr(all, mark);
    size_t first = strcspn(all, ":,\n"), reason = why ? strcspn(why += sizeof mark - 1, "'") : 0;

    (void)n;
    if (why)
        snprintf(text, 256, "%.*s: %.*s", (int)first, all, (int)reason, why);
    else if (*all)
        snprintf(text, 256, "%.*s", (int)strcspn(all, "\n"), all);
    return 0;
}

int mf_h5_refuse(const struct mf_h5 *file, const char *what, const char *object)
{
    char text[256] = "";
    int code = file->writing ? MF_OUTPUT : MF_INPUT;

    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_sentence, text);
    H5Eclear2(H5E_DEFAULT);
    return mf_fail(code, "cannot %s '%s': %s%s%s%s%s", file->writing ? "write" : "read", file->name, what,
                   object ? " " : "", object ? object : "", text[0] ? ": " : "", text);
}

hid_t mf_h5_type_of(enum mf_h5_type type, int in_file)
{
    switch (type) {
    case MF_H5_U8: return in_file ? H5T_STD_U8LE : H5T_NATIVE_UINT8;
    case MF_H5_I32: return in_file ? H5T_STD_I32LE : H5T_NATIVE_INT32;
    case MF_H5_I64: return in_file ? H5T_STD_I64LE : H5T_NATIVE_INT64;
    case MF_H5_U32: return in_file ? H5T_STD_U32LE : H5T_NATIVE_UINT32;
    case MF_H5_U64: return in_file ? H5T_STD_U64LE : H5T_NATIVE_UINT64;
    case MF_H5_F32: return in_file ? H5T_IEEE_F32LE : H5T_NATIVE_FLOAT;
    default: return in_file ? H5T_IEEE_F64LE : H5T_NATIVE_DOUBLE;
    }
}

static struct mf_h5 *file_new(const char *name, int writing)
{
    struct mf_h5 *file = calloc(1, sizeof *file);

    if (file) file->name = strdup(name);
    if (!file || !file->name) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a file");
    file->id = -1;
    file->writing = writing;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return file;
}

static void file_free(struct mf_h5 *file)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    free(file->name);
    free(file);
}

void mf_h5_begin(void)
{
    H5dont_atexit();
    if (H5open() < 0) mf_die(MF_BROKEN, __FILE__, __LINE__, "HDF5 does not start");
}

int mf_h5_create(const char *path, const char *name, struct mf_h5 **file)
{
    struct mf_h5 *f = file_new(name, 1);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    int rc = MF_OK;

    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110); /* readable by HDF5 1.10 */
    f->id = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (f->id < 0) rc = mf_h5_refuse(f, "creating it", NULL);
    H5Pclose(access);
    if (rc == MF_OK)
        *file = f;
    else
        file_free(f);
    return rc;
}

int mf_h5_change(const char *path, const char *name, struct mf_h5 **file)
{
    struct mf_h5 *f = file_new(name, 1);
    int rc = H5PLset_loading_state(0) < 0 ? mf_h5_refuse(f, "switching plug-ins off", NULL) : MF_OK;

    if (rc == MF_OK) f->id = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    if (rc == MF_OK && f->id < 0) rc = mf_h5_refuse(f, "changing it", NULL);
    if (rc == MF_OK)
        *file = f;
    else
        file_free(f);
    return rc;
}

int mf_h5_signed(int file, const char *path, int *is)
{
    static const char magic[8] = "\x89HDF\r\n\x1a\n";
    char here[sizeof magic];
    size_t got = sizeof here;

    *is = 0;
    for (uint64_t at = 0; !*is && got == sizeof here && at <= USER_BLOCK_MAX; at = at ? 2 * at : USER_BLOCK_MIN) {
        MF_TRY(mf_read_some(file, path, here, sizeof here, at, &got));
        *is = got == sizeof here && memcmp(here, magic, sizeof magic) == 0;
    }
    return MF_OK;
}

/* The number in "..., errno = 5, error message = ...". The name of a file may look alike: the last one counts. */
static int number_in(const char *text)
{
    static const char mark[] = "errno = ";
    int found = 0;

    while ((text = strstr(text, mark))) {
        text += sizeof mark - 1;
        found = (int)strtol(text, NULL, 10);
        if (found <= 0) found = EIO;
    }
    return found;
}

/* Keeps the system's number in errors as "file read failed: ..., errno = 5, ..." or "unable to open file: ...". Errors
 * of locks have one, too. Damage of a file is no such error. */
static herr_t keep_number(unsigned n, const H5E_error2_t *error, void *context)
{
    const char *text = error->desc ? error->desc : "";
    const int is_system =
        (error->maj_num == H5E_IO && error->min_num == H5E_READERROR) ||
        (error->maj_num == H5E_FILE && error->min_num == H5E_CANTOPENFILE && strstr(text, ", error message = '"));
    struct mf_h5 *file = context;

    (void)n;
    if (is_system && number_in(text)) file->unread = number_in(text);
    if (strstr(text, "unable to lock file") && number_in(text)) file->unlocked = number_in(text);
    if (strstr(text, "file is already open for")) file->marked = 1;
    return 0;
}

static herr_t note_unread(hid_t stack, void *file) { return H5Ewalk2(stack, H5E_WALK_DOWNWARD, keep_number, file); }

int mf_h5_unread(const struct mf_h5 *file, int rc)
{
    if (!file->unread) return rc;
    return mf_fail(MF_INPUT, "cannot read '%s': %s", file->name, strerror(file->unread));
}

/* Refuses other files, and pointers that stand for a file. */
static int refuse_others(const char *path)
{
    enum mf_format format = MF_HDF5;
    int from, rc;

    MF_TRY(mf_refuse_pointer(path));
    MF_TRY(mf_open_plain(path, O_RDONLY, &from));
    rc = mf_recognise(from, path, &format);
    close(from);
    if (rc != MF_OK || format == MF_HDF5 || format == MF_NO_FORMAT) return rc;
    return mf_fail(MF_INPUT, "'%s' is no HDF5 file", path);
}

/* Why a file does not open. */
static int refuse_file(const struct mf_h5 *file, const char *path)
{
    if (file->unlocked == EAGAIN || file->unlocked == EACCES)
        return mf_fail(MF_INPUT, "'%s' is locked: another program has it open for writing; try: close it there", path);
    if (file->unlocked)
        return mf_fail(MF_INPUT, "cannot lock '%s': %s; try: HDF5_USE_FILE_LOCKING=FALSE in the environment", path,
                       strerror(file->unlocked));
    if (file->marked)
        return mf_fail(MF_INPUT,
                       "'%s' is marked as open for writing; try: close it where it is open, or, after a crash, "
                       "h5clear -s '%s'",
                       path, path);
    MF_TRY(refuse_others(path));
    return mf_h5_refuse(file, "it is not a sound HDF5 file", NULL);
}

static int open_checked(struct mf_h5 *file, const char *path)
{
    struct stat info;
    hid_t access;

    if (mf_fault("io.open")) return mf_fail(MF_INPUT, "cannot open '%s': injected fault", path);
    if (stat(path, &info) != 0) return mf_fail(MF_INPUT, "cannot open '%s': %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return mf_fail(MF_INPUT, "cannot open '%s': it is not a plain file", path);
    file->bytes = (size_t)info.st_size;
    if (H5PLset_loading_state(0) < 0) return mf_h5_refuse(file, "switching plug-ins off", NULL);
    H5Eset_auto2(H5E_DEFAULT, note_unread, file);
    access = H5Pcreate(H5P_FILE_ACCESS);
    file->id = H5Fopen(path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    if (file->unread) return mf_h5_unread(file, MF_OK);
    return file->id < 0 ? refuse_file(file, path) : MF_OK;
}

int mf_h5_open(const char *path, struct mf_h5 **file)
{
    struct mf_h5 *f = file_new(path, 0);
    int rc = open_checked(f, path);

    if (rc == MF_OK)
        *file = f;
    else
        file_free(f);
    return rc;
}

int mf_h5_close(struct mf_h5 *file)
{
    int rc = MF_OK;

    if (file->writing && H5Fflush(file->id, H5F_SCOPE_GLOBAL) < 0) rc = mf_h5_refuse(file, "flushing", NULL);
    if (H5Fclose(file->id) < 0 && rc == MF_OK) rc = mf_h5_refuse(file, "closing", NULL);
    file_free(file);
    return rc;
}

int mf_h5_has_attribute(struct mf_h5 *file, const char *object, const char *name)
{
    hid_t id = mf_h5_object(file, object);
    int is = id >= 0 && H5Aexists(id, name) > 0;

    if (id >= 0) H5Oclose(id);
    H5Eclear2(H5E_DEFAULT);
    return is;
}

int mf_h5_group(struct mf_h5 *file, const char *path)
{
    hid_t links = H5Pcreate(H5P_LINK_CREATE), id;

    H5Pset_create_intermediate_group(links, 1);
    id = H5Gcreate2(file->id, path, links, H5P_DEFAULT, H5P_DEFAULT);
    H5Pclose(links);
    if (id >= 0) H5Gclose(id);
    return id < 0 ? mf_h5_refuse(file, "making group", path) : MF_OK;
}

int mf_h5_link(struct mf_h5 *file, const char *object, const char *second)
{
    int bad;

    bad = H5Lcreate_hard(file->id, object, file->id, second, H5P_DEFAULT, H5P_DEFAULT) < 0;
    return bad ? mf_h5_refuse(file, "linking", second) : MF_OK;
}

int mf_h5_remove(struct mf_h5 *file, const char *object)
{
    const int bad = H5Ldelete(file->id, object, H5P_DEFAULT) < 0;

    return bad ? mf_h5_refuse(file, "removing", object) : MF_OK;
}

/* One value has no extent, several have one. */
static hid_t space_of(size_t count)
{
    hsize_t n = count;

    return count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &n, NULL);
}

static int put_as(struct mf_h5 *file, const char *object, const char *name, size_t count, hid_t disk, hid_t type,
                  const void *values)
{
    hid_t id = mf_h5_object(file, object), space, attribute;
    int bad;

    if (id < 0) return MF_OUTPUT;
    space = space_of(count);
    attribute = H5Acreate2(id, name, disk, space, H5P_DEFAULT, H5P_DEFAULT);
    bad = attribute < 0 || (count && H5Awrite(attribute, type, values) < 0);
    if (bad) mf_h5_refuse(file, "attribute", name);
    if (attribute >= 0) H5Aclose(attribute);
    H5Sclose(space);
    H5Oclose(id);
    return bad ? MF_OUTPUT : MF_OK;
}

static int put(struct mf_h5 *file, const char *object, const char *name, size_t count, hid_t type, const void *values)
{
    return put_as(file, object, name, count, type, type, values);
}

static hid_t text_type(void)
{
    hid_t type = H5Tcopy(H5T_C_S1);

    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

int mf_h5_put_texts(struct mf_h5 *file, const char *object, const char *name, size_t count, const char *const *texts)
{
    hid_t type = text_type();
    int rc = put(file, object, name, count, type, texts);

    H5Tclose(type);
    return rc;
}

int mf_h5_put_text(struct mf_h5 *file, const char *object, const char *name, const char *text)
{
    return mf_h5_put_texts(file, object, name, 1, &text);
}

int mf_h5_put_ascii(struct mf_h5 *file, const char *object, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    int rc;

    H5Tset_size(type, strlen(text) ? strlen(text) : 1);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    rc = put(file, object, name, 1, type, text);
    H5Tclose(type);
    return rc;
}

int mf_h5_put_ints(struct mf_h5 *file, const char *object, const char *name, size_t count, const int64_t *values)
{
    return put(file, object, name, count, H5T_NATIVE_INT64, values);
}

int mf_h5_put_unsigned(struct mf_h5 *file, const char *object, const char *name, int bits, size_t count,
                       const uint64_t *values)
{
    return put_as(file, object, name, count, bits == 32 ? H5T_STD_U32LE : H5T_STD_U64LE, H5T_NATIVE_UINT64, values);
}

int mf_h5_put_reals(struct mf_h5 *file, const char *object, const char *name, size_t count, const double *values)
{
    return put(file, object, name, count, H5T_NATIVE_DOUBLE, values);
}

/* An attribute of at most max values, its count and its type; negative after a refusal. */
static hid_t attribute_open(struct mf_h5 *file, const char *object, const char *name, size_t max, size_t *count,
                            hid_t *type)
{
    hid_t id = mf_h5_object(file, object), attribute, space;
    hssize_t n;

    if (id < 0) return -1;
    attribute = H5Aexists(id, name) > 0 ? H5Aopen(id, name, H5P_DEFAULT) : -1;
    H5Oclose(id);
    if (attribute < 0) {
        mf_h5_refuse(file, "it has no attribute", name);
        return -1;
    }
    space = H5Aget_space(attribute);
    n = H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    if (n < 0 || (size_t)n > max) {
        H5Aclose(attribute);
        mf_h5_refuse(file, "too many values in attribute", name);
        return -1;
    }
    *count = (size_t)n;
    *type = H5Aget_type(attribute);
    return attribute;
}

static int get_numbers(struct mf_h5 *file, const char *object, const char *name, size_t max, hid_t memory, void *values,
                       size_t *count)
{
    hid_t type, attribute = attribute_open(file, object, name, max, count, &type);
    H5T_class_t kind;
    int bad;

    if (attribute < 0) return MF_INPUT;
    kind = H5Tget_class(type);
    bad = (kind != H5T_INTEGER && kind != H5T_FLOAT) || (*count && H5Aread(attribute, memory, values) < 0);
    if (bad) mf_h5_refuse(file, "no numbers in attribute", name);
    H5Tclose(type);
    H5Aclose(attribute);
    return bad ? MF_INPUT : MF_OK;
}

int mf_h5_get_ints(struct mf_h5 *file, const char *object, const char *name, size_t max, int64_t *values, size_t *count)
{
    return get_numbers(file, object, name, max, H5T_NATIVE_INT64, values, count);
}

int mf_h5_get_reals(struct mf_h5 *file, const char *object, const char *name, size_t max, double *values, size_t *count)
{
    return get_numbers(file, object, name, max, H5T_NATIVE_DOUBLE, values, count);
}

/* Copies a text that fits, of at most n bytes. */
static int fits(const char *from, size_t n, char *to, size_t room)
{
    size_t length = from ? strnlen(from, n) : 0;

    if (length >= room) return 0;
    if (length) memcpy(to, from, length);
    to[length] = '\0';
    return 1;
}

/* HDF5 does not convert ASCII of variable length, as h5py writes bytes, to UTF-8. */
static int read_variable(hid_t attribute, hid_t stored, size_t room, char *texts, size_t count)
{
    hid_t type = text_type(), space = H5Aget_space(attribute);
    char **words = calloc(count ? count : 1, sizeof *words);
    int ok = words && H5Tset_cset(type, H5Tget_cset(stored)) >= 0 && H5Aread(attribute, type, words) >= 0;

    for (size_t i = 0; ok && i < count; ++i) ok = fits(words[i], TEXT_MAX, texts + i * room, room);
    if (words) (void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, words);
    free(words);
    H5Sclose(space);
    H5Tclose(type);
    return ok;
}

static int read_fixed(hid_t attribute, hid_t type, size_t room, char *texts, size_t count)
{
    size_t size = H5Tget_size(type);
    char *bytes = size && size < TEXT_MAX ? calloc(count ? count : 1, size) : NULL;
    int ok = bytes && H5Aread(attribute, type, bytes) >= 0;

    for (size_t i = 0; ok && i < count; ++i) ok = fits(bytes + i * size, size, texts + i * room, room);
    free(bytes);
    return ok;
}

int mf_h5_get_texts(struct mf_h5 *file, const char *object, const char *name, size_t max, size_t room, char *texts,
                    size_t *count)
{
    hid_t type, attribute = attribute_open(file, object, name, max, count, &type);
    int ok;

    if (attribute < 0) return MF_INPUT;
    ok = H5Tget_class(type) == H5T_STRING &&
         (H5Tis_variable_str(type) > 0 ? read_variable(attribute, type, room, texts, *count)
                                       : read_fixed(attribute, type, room, texts, *count));
    if (!ok) mf_h5_refuse(file, "no text of a usable length in attribute", name);
    H5Tclose(type);
    H5Aclose(attribute);
    return ok ? MF_OK : MF_INPUT;
}

int mf_h5_get_text(struct mf_h5 *file, const char *object, const char *name, char *text, size_t room)
{
    size_t count = 0;

    MF_TRY(mf_h5_get_texts(file, object, name, 1, room, text, &count));
    return count == 1 ? MF_OK : mf_h5_refuse(file, "nothing in attribute", name);
}

int mf_h5_is_ours(struct mf_h5 *file)
{
    char creator[64] = "";

    if (!mf_h5_has_attribute(file, "/", "creator")) return 0;
    if (mf_h5_get_text(file, "/", "creator", creator, sizeof creator) != MF_OK) mf_err_clear();
    return strncmp(creator, "mesoforge ", 10) == 0;
}
