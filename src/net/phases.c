/* See phases.h. */
#include "src/net/phases.h"

static struct mf_phase phase[MF_OP_COUNT][2] = {
#define ROW(NAME, text) \
    [MF_OP_##NAME] = {{.name = #text, .kind = MF_WORK}, {.name = #text " backward", .kind = MF_WORK}},
    MF_OP_LIST(ROW)
#undef ROW
        [MF_OP_START] = {{.name = "start of an exchange", .kind = MF_TALK}},
    [MF_OP_FINISH] = {{.name = "end of an exchange", .kind = MF_TALK}},
    [MF_OP_COPY] = {{.name = "start of a copy", .kind = MF_WORK}},
    [MF_OP_COPIED] = {{.name = "end of a copy", .kind = MF_WORK}},
    [MF_OP_TRADE] = {{.name = "trade", .kind = MF_TALK}, {.name = "trade backward", .kind = MF_TALK}},
    [MF_OP_TRADE_BACK] = {{.name = "trade back", .kind = MF_TALK}, {.name = "trade back backward", .kind = MF_TALK}},
};

struct mf_phase *mf_phase_of_op(enum mf_op_id op, int back) { return &phase[op][back]; }
