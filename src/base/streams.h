/* The list of all random streams. A random number is a function of (seed, stream, index). So two uses of one stream
 * would get the same numbers.
 * Rule: a new use takes a new stream here. Values of old streams never change, because results depend on them. A line
 * with "+ n" takes n streams from this one on. */
#ifndef MF_BASE_STREAMS_H
#define MF_BASE_STREAMS_H

enum mf_stream {
    MF_STREAM_START = 0,               /* + phases: noise of an initial field, by voxel */
    MF_STREAM_SWAP = 0x5a,             /* + 3: which voxels annealing swaps, by number of the swap */
    MF_STREAM_SUBLATTICE = 0x5e,       /* + 3: order of an axis's planes in the sublattices of annealing */
    MF_STREAM_CANDIDATE = 0x6361,      /* seeds of the candidates of a run */
    MF_STREAM_CELL_POINT = 0x6365,     /* centres of the cells of an initial field */
    MF_STREAM_CELL_WAVE = 0x6366,      /* waves that bend their borders */
    MF_STREAM_SLICES = 0x6772,         /* which slices an evaluation draws */
    MF_STREAM_WAVES = 0x6c77,          /* waves of an initial field with a length */
    MF_STREAM_SURROGATE = 0x7265,      /* images without structure that a micrograph is compared with */
    MF_STREAM_WEIGHTS = 0x7774,        /* what weights start with, by number, with a seed of their name */
    MF_STREAM_DROPOUT = 0x44520000,    /* + nodes: what dropout drops, by sample and place */
    MF_STREAM_SLICE_MODE = 0x43480000, /* which slice of a volume is characterised */
    MF_STREAM_NOISE = 0x53590000,      /* synth: white noise, by voxel */
    MF_STREAM_PLACE = 0x53590010,      /* + 3 axes: places of objects, by attempt */
    MF_STREAM_TURN = 0x53590020,       /* + 3 axes: directions of fibres */
    MF_STREAM_DEAL = 0x53590030,       /* phases of grains */
    MF_STREAM_WAVE = 0x53590040,       /* + 4: waves of lamellae */
    MF_STREAM_CRACK = 0x53590050,      /* + 3 axes: bends of cracks, by piece */
    MF_STREAM_SET = 0x53590060,        /* + 9: what the samples of a dataset are, by sample */
    MF_STREAM_VQA = 0x41530000,        /* + 4: questions about samples, their phrasings, their images */
    MF_STREAM_ASKED = 0x41530010,      /* + 2: whether a question is learnt without objects, how its image is moved */
    MF_STREAM_NORMAL = 0x4e4f0000,     /* + nodes: normal numbers of networks that denoise, by sample and place */
    MF_STREAM_LEVEL = 0x4e4f1000,      /* + 3: level of the noise of a sample, if its
      condition is dropped, how it is moved; by number */
    MF_STREAM_MADE = 0x4e4f1010,  /* + 2: noise that made samples begin with, by sample and place; their conditions */
    MF_STREAM_PICK = 0x504b0000,  /* tokens that are drawn, by position, with the seed of the request */
    MF_STREAM_ORDER = 0x44530000, /* order of samples, by epoch */
    MF_STREAM_SPLIT = 0x44530010  /* splits of a set that may become longer, by block of samples */
};

#endif
