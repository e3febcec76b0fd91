/* For lanes_text.c: vectors of MF_LANES floats, their transposition and butterflies. One text for all instruction
 * sets. */
#ifndef MF_KERNELS_CPU_LANES_VEC_H
#define MF_KERNELS_CPU_LANES_VEC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define W  ((size_t)MF_LANES)
#define AI static inline __attribute__((always_inline))

typedef float vec __attribute__((vector_size(MF_LANES * 4)));
typedef float vec_any __attribute__((vector_size(MF_LANES * 4), aligned(4), may_alias));
typedef int32_t ivec __attribute__((vector_size(MF_LANES * 4)));
typedef float halfvec __attribute__((vector_size(MF_LANES * 2)));
typedef double dvec __attribute__((vector_size(MF_LANES * 4))); /* W / 2 */

/** W complex numbers. */
typedef struct {
    vec r, i;
} cell;

AI vec load(const float *p) { return *(const vec_any *)p; }
AI void store(float *p, vec x) { *(vec_any *)p = x; }

/** Half the lanes of x (0: lower) in double. */
AI dvec widen(vec x, size_t upper)
{
    halfvec h;

    memcpy(&h, (const float *)&x + upper * (W / 2), sizeof h);
    return __builtin_convertvector(h, dvec);
}

#if MF_LANES == 4
#define PER_128(a, b, c, d) \
    (ivec) { a, b, c, d }
#elif MF_LANES == 8
#define PER_128(a, b, c, d) \
    (ivec) { a, b, c, d, (a) + 4, (b) + 4, (c) + 4, (d) + 4 }
#else
#define PER_128(a, b, c, d)                                                                                     \
    (ivec)                                                                                                      \
    {                                                                                                           \
        a, b, c, d, (a) + 4, (b) + 4, (c) + 4, (d) + 4, (a) + 8, (b) + 8, (c) + 8, (d) + 8, (a) + 12, (b) + 12, \
            (c) + 12, (d) + 12                                                                                  \
    }
#endif

/* Within every 128 bits. */
AI vec low(vec a, vec b) { return __builtin_shuffle(a, b, PER_128(0, MF_LANES, 1, MF_LANES + 1)); }
AI vec high(vec a, vec b) { return __builtin_shuffle(a, b, PER_128(2, MF_LANES + 2, 3, MF_LANES + 3)); }
AI vec low2(vec a, vec b) { return __builtin_shuffle(a, b, PER_128(0, 1, MF_LANES, MF_LANES + 1)); }
AI vec high2(vec a, vec b) { return __builtin_shuffle(a, b, PER_128(2, 3, MF_LANES + 2, MF_LANES + 3)); }

/** b's first lane, else a. */
AI vec first_of(vec a, vec b)
{
#if MF_LANES == 4
    return __builtin_shuffle(a, b, (ivec){4, 1, 2, 3});
#elif MF_LANES == 8
    return __builtin_shuffle(a, b, (ivec){8, 1, 2, 3, 4, 5, 6, 7});
#else
    return __builtin_shuffle(a, b, (ivec){16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
#endif
}

/** a[0] a[2] ... b[0] b[2] ... + a[1] a[3] ... b[1] b[3] ... */
AI vec add_neighbours(vec a, vec b)
{
#if MF_LANES == 4
    return __builtin_shuffle(a, b, (ivec){0, 2, 4, 6}) + __builtin_shuffle(a, b, (ivec){1, 3, 5, 7});
#elif MF_LANES == 8
    return __builtin_shuffle(a, b, (ivec){0, 2, 4, 6, 8, 10, 12, 14}) +
           __builtin_shuffle(a, b, (ivec){1, 3, 5, 7, 9, 11, 13, 15});
#else
    return __builtin_shuffle(a, b, (ivec){0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30}) +
           __builtin_shuffle(a, b, (ivec){1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31});
#endif
}

/** Every lane of the lower (upper) half twice. */
AI vec twice_low(vec a)
{
#if MF_LANES == 4
    return __builtin_shuffle(a, (ivec){0, 0, 1, 1});
#elif MF_LANES == 8
    return __builtin_shuffle(a, (ivec){0, 0, 1, 1, 2, 2, 3, 3});
#else
    return __builtin_shuffle(a, (ivec){0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7});
#endif
}

AI vec twice_high(vec a)
{
#if MF_LANES == 4
    return __builtin_shuffle(a, (ivec){2, 2, 3, 3});
#elif MF_LANES == 8
    return __builtin_shuffle(a, (ivec){4, 4, 5, 5, 6, 6, 7, 7});
#else
    return __builtin_shuffle(a, (ivec){8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15});
#endif
}

/* 128 bits from each of W / 4 vectors: x[4i] .lane l -> x[4l] .lane i. */
#if MF_LANES == 4
AI void across(vec *x) { (void)x; }
#elif MF_LANES == 8
AI void across(vec *x)
{
    const vec a = x[0], b = x[4];

    x[0] = __builtin_shuffle(a, b, (ivec){0, 1, 2, 3, 8, 9, 10, 11});
    x[4] = __builtin_shuffle(a, b, (ivec){4, 5, 6, 7, 12, 13, 14, 15});
}
#else
AI void across(vec *x)
{
    const ivec even = {0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27}, odd = even + 4;
    const vec a = __builtin_shuffle(x[0], x[4], even), b = __builtin_shuffle(x[0], x[4], odd);
    const vec c = __builtin_shuffle(x[8], x[12], even), d = __builtin_shuffle(x[8], x[12], odd);

    x[0] = __builtin_shuffle(a, c, even);
    x[4] = __builtin_shuffle(b, d, even);
    x[8] = __builtin_shuffle(a, c, odd);
    x[12] = __builtin_shuffle(b, d, odd);
}
#endif

/** Transposes W x W. */
AI void transpose(vec *x)
{
#pragma GCC unroll 4
    for (size_t i = 0; i < W; i += 4) {
        const vec a = low(x[i], x[i + 1]), b = high(x[i], x[i + 1]);
        const vec c = low(x[i + 2], x[i + 3]), d = high(x[i + 2], x[i + 3]);

        x[i] = low2(a, c);
        x[i + 1] = high2(a, c);
        x[i + 2] = low2(b, d);
        x[i + 3] = high2(b, d);
    }
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j) across(x + j);
}

AI cell add(cell a, cell b) { return (cell){a.r + b.r, a.i + b.i}; }
AI cell sub(cell a, cell b) { return (cell){a.r - b.r, a.i - b.i}; }
AI cell turn(cell a) { return (cell){a.i, -a.r}; } /* times -i */
AI cell times(cell a, float c, float s) { return (cell){a.r * c - a.i * s, a.r * s + a.i * c}; }

AI void dft2(cell *x)
{
    const cell a = x[0];

    x[0] = add(a, x[1]);
    x[1] = sub(a, x[1]);
}

AI void dft3(cell *x)
{
    const float c = -0.5f, s = 0.86602540378443864676f;
    const cell t = add(x[1], x[2]), d = sub(x[1], x[2]), a = {x[0].r + c * t.r, x[0].i + c * t.i};

    x[0] = add(x[0], t);
    x[1] = (cell){a.r + s * d.i, a.i - s * d.r};
    x[2] = (cell){a.r - s * d.i, a.i + s * d.r};
}

AI void dft4_of(cell *a, cell *b, cell *c, cell *d)
{
    const cell s = add(*a, *c), t = sub(*a, *c), u = add(*b, *d), v = turn(sub(*b, *d));

    *a = add(s, u);
    *c = sub(s, u);
    *b = add(t, v);
    *d = sub(t, v);
}

AI void dft4(cell *x) { dft4_of(x, x + 1, x + 2, x + 3); }

AI void dft5(cell *x)
{
    const float c1 = 0.30901699437494742410f, s1 = 0.95105651629515357212f;
    const float c2 = -0.80901699437494742410f, s2 = 0.58778525229247312917f;
    const cell t1 = add(x[1], x[4]), d1 = sub(x[1], x[4]), t2 = add(x[2], x[3]), d2 = sub(x[2], x[3]);
    const cell a = {x[0].r + c1 * t1.r + c2 * t2.r, x[0].i + c1 * t1.i + c2 * t2.i};
    const cell b = {x[0].r + c2 * t1.r + c1 * t2.r, x[0].i + c2 * t1.i + c1 * t2.i};
    const cell p = {s1 * d1.i + s2 * d2.i, s1 * d1.r + s2 * d2.r};
    const cell q = {s2 * d1.i - s1 * d2.i, s2 * d1.r - s1 * d2.r};

    x[0] = add(add(x[0], t1), t2);
    x[1] = (cell){a.r + p.r, a.i - p.i};
    x[4] = (cell){a.r - p.r, a.i + p.i};
    x[2] = (cell){b.r + q.r, b.i - q.i};
    x[3] = (cell){b.r - q.r, b.i + q.i};
}

/* 6 = 2 x 3 and 10 = 2 x 5 by residues: no factors between the two steps. */
AI void dft6(cell *x)
{
    cell a[3] = {x[0], x[2], x[4]}, b[3] = {x[3], x[5], x[1]};

    dft3(a);
    dft3(b);
    x[0] = add(a[0], b[0]);
    x[3] = sub(a[0], b[0]);
    x[4] = add(a[1], b[1]);
    x[1] = sub(a[1], b[1]);
    x[2] = add(a[2], b[2]);
    x[5] = sub(a[2], b[2]);
}

AI void dft10(cell *x)
{
    cell a[5] = {x[0], x[2], x[4], x[6], x[8]}, b[5] = {x[5], x[7], x[9], x[1], x[3]};

    dft5(a);
    dft5(b);
    x[0] = add(a[0], b[0]);
    x[5] = sub(a[0], b[0]);
    x[6] = add(a[1], b[1]);
    x[1] = sub(a[1], b[1]);
    x[2] = add(a[2], b[2]);
    x[7] = sub(a[2], b[2]);
    x[8] = add(a[3], b[3]);
    x[3] = sub(a[3], b[3]);
    x[4] = add(a[4], b[4]);
    x[9] = sub(a[4], b[4]);
}

AI void dft9(cell *x)
{
    cell a[3] = {x[0], x[3], x[6]}, b[3] = {x[1], x[4], x[7]}, c[3] = {x[2], x[5], x[8]};

    dft3(a);
    dft3(b);
    dft3(c);
    b[1] = times(b[1], 0.76604444311897803520f, -0.64278760968653932632f);
    b[2] = times(b[2], 0.17364817766693034885f, -0.98480775301220805937f);
    c[1] = times(c[1], 0.17364817766693034885f, -0.98480775301220805937f);
    c[2] = times(c[2], -0.93969262078590838405f, -0.34202014332566873304f);
#pragma GCC unroll 3
    for (size_t k = 0; k < 3; ++k) {
        cell t[3] = {a[k], b[k], c[k]};

        dft3(t);
        x[k] = t[0];
        x[k + 3] = t[1];
        x[k + 6] = t[2];
    }
}

AI void dft8(cell *x)
{
    const float h = 0.70710678118654752440f;
    cell e0 = x[0], e1 = x[2], e2 = x[4], e3 = x[6], o0 = x[1], o1 = x[3], o2 = x[5], o3 = x[7], a, b;

    dft4_of(&e0, &e1, &e2, &e3);
    dft4_of(&o0, &o1, &o2, &o3);
    a = (cell){o1.r + o1.i, o1.i - o1.r};  /* (1 - i) o1 */
    b = (cell){o3.i - o3.r, -o3.r - o3.i}; /* (-1 - i) o3 */
    o2 = turn(o2);
    x[0] = add(e0, o0);
    x[4] = sub(e0, o0);
    x[1] = (cell){e1.r + h * a.r, e1.i + h * a.i};
    x[5] = (cell){e1.r - h * a.r, e1.i - h * a.i};
    x[2] = add(e2, o2);
    x[6] = sub(e2, o2);
    x[3] = (cell){e3.r + h * b.r, e3.i + h * b.i};
    x[7] = (cell){e3.r - h * b.r, e3.i - h * b.i};
}

AI void dft16(cell *x)
{
    const float c = 0.92387953251128675613f, s = 0.38268343236508977173f, h = 0.70710678118654752440f;

#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j) dft4_of(x + j, x + j + 4, x + j + 8, x + j + 12);
    x[5] = times(x[5], c, -s);
    x[6] = times(x[6], h, -h);
    x[7] = times(x[7], s, -c);
    x[9] = times(x[9], h, -h);
    x[10] = turn(x[10]);
    x[11] = times(x[11], -h, -h);
    x[13] = times(x[13], s, -c);
    x[14] = times(x[14], -h, -h);
    x[15] = times(x[15], -c, s);
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j) dft4(x + 4 * j);
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j) /* x[4a + b] is output a + 4b */
#pragma GCC unroll 4
        for (size_t k = j + 1; k < 4; ++k) {
            const cell t = x[4 * j + k];

            x[4 * j + k] = x[4 * k + j];
            x[4 * k + j] = t;
        }
}

#endif
