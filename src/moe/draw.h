/* Pictures of experts, from what a training keeps of them. Rank 0. MF_OUTPUT. */
#ifndef MF_MOE_DRAW_H
#define MF_MOE_DRAW_H

#include "src/moe/graph.h"
#include "src/moe/history.h"

/** knowledge_graph_epoch_N.png: see mf_figure_graph(). */
int mf_draw_graph(const struct mf_graph *graph, const char *title, const char *path);

/** expert_activations.png: rows over steps, and the concepts that experts serve by the graph. */
int mf_draw_activations(const struct mf_history *history, const struct mf_graph *graph, const char *title,
                        const char *path);

#endif
