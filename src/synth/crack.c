/* Cracks: chains of straight pieces that bend from one to the next. In a plane the pieces are lines, in space discs. A
 * crack is the part that lies nearer than half its width to them. Each begins anywhere in the periodic box. */
#include <math.h>

#include "src/base/rng.h"
#include "src/synth/synth_priv.h"

static const double pi = 3.14159265358979323846;
static const double bend = 0.4; /* rms of the change of direction from piece to piece, along each axis [rad] */

enum { LINES = 8, DISCS = 3 };

static int is_flat(const struct mf_synth *what) { return mf_synth_axes(what) == 3; }

size_t mf_synth_crack_pieces(const struct mf_synth *what) { return is_flat(what) ? DISCS : LINES; }

/* Radius and distance of discs are a quarter of the length. Together they are a strip, half as wide as the crack is
 * long. It has round ends, and half a tube around it. */
double mf_synth_crack_volume(const struct mf_synth *what)
{
    const double l = what->stick, r = what->radius;

    if (!is_flat(what)) return mf_synth_measure(mf_synth_axes(what), r, l / 2);
    return 2 * r * l * l * (0.25 + pi / 16) + pi / 2 * r * r * l * (1 + pi / 2);
}

/* A random vector on the axes that count. */
static void draw(const struct mf_synth *what, uint32_t stream, uint64_t index, double v[3])
{
    for (int a = 0; a < 3; ++a)
        v[a] = mf_synth_active(what, a) ? mf_random_normal(what->seed, stream + (uint32_t)a, index) : 0;
}

/* Removes the part of v along the unit vector @p off (NULL: nothing), and scales v to length 1. */
static void unit(double v[3], const double *off)
{
    double along = 0, length = 0;

    for (int a = 0; off && a < 3; ++a) along += v[a] * off[a];
    for (int a = 0; off && a < 3; ++a) v[a] -= along * off[a];
    for (int a = 0; a < 3; ++a) length += v[a] * v[a];
    for (int a = 0; length > 0 && a < 3; ++a) v[a] /= sqrt(length);
}

static void wrap(const struct mf_synth *what, double centre[3])
{
    for (int a = 0; a < 3; ++a) {
        const double n = (double)what->dims[a];

        centre[a] -= n * floor(centre[a] / n);
        if (centre[a] >= n) centre[a] = 0;
    }
}

/* Pieces of crack @p c. It grows along `ahead`, which every piece bends a little; discs bend their normal too. */
static void grow(const struct mf_synth *what, size_t c, size_t pieces, struct mf_synth_object *object)
{
    const double step = what->stick / (is_flat(what) ? 4 : (double)pieces);
    double tip[3], ahead[3], normal[3], turn[3];

    for (int a = 0; a < 3; ++a)
        tip[a] = mf_random_uniform(what->seed, MF_STREAM_PLACE + (uint32_t)a, c) * (double)what->dims[a];
    draw(what, MF_STREAM_TURN, 2 * c, ahead);
    draw(what, MF_STREAM_TURN, 2 * c + 1, normal);
    unit(ahead, NULL);
    unit(normal, ahead);
    for (size_t k = 0; k < pieces; ++k) {
        struct mf_synth_object *o = &object[k];

        *o = (struct mf_synth_object){.half = is_flat(what) ? step : step / 2, .radius = what->radius, .phase = 1};
        o->flat = is_flat(what);
        for (int a = 0; a < 3; ++a) {
            o->direction[a] = o->flat ? normal[a] : ahead[a];
            o->centre[a] = tip[a] + (o->flat ? 0 : ahead[a] * step / 2);
            tip[a] += ahead[a] * step;
        }
        wrap(what, o->centre);
        draw(what, MF_STREAM_CRACK, c * pieces + k, turn);
        for (int a = 0; a < 3; ++a) ahead[a] += bend * turn[a];
        unit(ahead, NULL);
        unit(normal, ahead);
    }
}

void mf_synth_crack_place(const struct mf_synth *what, size_t n, struct mf_synth_object *object)
{
    const size_t pieces = mf_synth_crack_pieces(what);

    for (size_t c = 0; c < n / pieces; ++c) grow(what, c, pieces, object + c * pieces);
}
