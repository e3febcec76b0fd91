/* Converts elements of an array, from any file format, to numbers of this machine. See array.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/array.h"
#include "io/notes.h"
#include "src/base/err.h"
#include "src/base/text.h"

size_t mf_array_row(const struct mf_array *array)
{
    size_t n = 1;

    for (int i = 1; i < array->ndim; ++i) n *= array->shape[i];
    return n;
}

const char *mf_array_type(char kind, size_t size, char text[MF_TYPE_TEXT])
{
    if (kind == 'b')
        snprintf(text, MF_TYPE_TEXT, "bool");
    else
        snprintf(text, MF_TYPE_TEXT, "%s%zu", kind == 'u' ? "uint" : kind == 'i' ? "int" : "float", 8 * size);
    return text;
}

static void declare(struct mf_array *a, const char *by, struct mf_no_data entry)
{
    if (a->declared == MF_NO_DATA) return;
    snprintf(entry.by, sizeof entry.by, "%s", by);
    a->no_data[a->declared++] = entry;
}

void mf_array_declare_value(struct mf_array *a, const char *by, double value)
{
    if (isfinite(value)) declare(a, by, (struct mf_no_data){.low = value, .high = value});
}

void mf_array_declare_range(struct mf_array *a, const char *by, double low, double high)
{
    if (low <= high) declare(a, by, (struct mf_no_data){.low = low, .high = high, .outside = 1});
}

int mf_array_declared(const struct mf_array *a, double value)
{
    for (int i = 0; i < a->declared; ++i) {
        const struct mf_no_data *none = &a->no_data[i];

        if ((none->low <= value && value <= none->high) != none->outside) return i;
    }
    return -1;
}

void mf_array_say_declared(const struct mf_array *a, const int64_t count[MF_NO_DATA], const char *then)
{
    for (int i = 0; i < a->declared; ++i) {
        const struct mf_no_data *none = &a->no_data[i];
        const long long n = count[i];
        char text[160], which[60] = "values";

        if (n == 0) continue;
        if (!mf_notes_gathered()) snprintf(which, sizeof which, "%lld value%s", n, MF_S(n));
        if (none->outside)
            snprintf(text, sizeof text, "%s outside its %s count like others; %s", which, none->by, then);
        else
            snprintf(text, sizeof text, "%s of %g, no data by its %s, count like others; %s", which, none->low,
                     none->by, then);
        mf_note(a->path, 1, text);
    }
}

#define COPY(type, convert)                                        \
    for (size_t k = 0; k < n; ++k) {                               \
        type v;                                                    \
        memcpy(&v, (const char *)values + k * sizeof v, sizeof v); \
        out[k] = convert;                                          \
    }                                                              \
    break

void mf_array_ints(const struct mf_array *array, const void *values, size_t n, int64_t *out)
{
    switch ((array->kind << 8) + (int)array->size) {
    case ('b' << 8) + 1: COPY(uint8_t, v != 0);
    case ('u' << 8) + 1: COPY(uint8_t, v);
    case ('u' << 8) + 2: COPY(uint16_t, v);
    case ('u' << 8) + 4: COPY(uint32_t, v);
    case ('u' << 8) + 8: COPY(uint64_t, v > INT64_MAX ? INT64_MAX : (int64_t)v);
    case ('i' << 8) + 1: COPY(int8_t, v);
    case ('i' << 8) + 2: COPY(int16_t, v);
    case ('i' << 8) + 4: COPY(int32_t, v);
    case ('i' << 8) + 8: COPY(int64_t, v);
    default: mf_die(MF_BROKEN, __FILE__, __LINE__, "integers of kind %c%zu", array->kind, array->size);
    }
}

/* A 16-bit float: 1 sign, 5 exponent, 10 fraction bits. */
static double half(uint16_t v)
{
    double fraction = v & 0x3ff, value;
    int exponent = v >> 10 & 0x1f;

    if (exponent == 31)
        value = fraction > 0 ? (double)__builtin_nanf("") : (double)__builtin_inff();
    else if (exponent == 0)
        value = __builtin_ldexp(fraction, -24);
    else
        value = __builtin_ldexp(fraction + 1024, exponent - 25);
    return v & 0x8000 ? -value : value;
}

void mf_array_reals(const struct mf_array *array, const void *values, size_t n, double *out)
{
    switch ((array->kind << 8) + (int)array->size) {
    case ('f' << 8) + 2: COPY(uint16_t, half(v));
    case ('f' << 8) + 4: COPY(float, (double)v);
    case ('f' << 8) + 8: COPY(double, v);
    case ('b' << 8) + 1: COPY(uint8_t, v != 0);
    case ('u' << 8) + 1: COPY(uint8_t, v);
    case ('u' << 8) + 2: COPY(uint16_t, v);
    case ('u' << 8) + 4: COPY(uint32_t, v);
    case ('u' << 8) + 8: COPY(uint64_t, (double)v);
    case ('i' << 8) + 1: COPY(int8_t, v);
    case ('i' << 8) + 2: COPY(int16_t, v);
    case ('i' << 8) + 4: COPY(int32_t, v);
    case ('i' << 8) + 8: COPY(int64_t, (double)v);
    default: mf_die(MF_BROKEN, __FILE__, __LINE__, "numbers of kind %c%zu", array->kind, array->size);
    }
}
