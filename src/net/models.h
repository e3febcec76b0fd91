/* The models one by one, for model.c alone; others use mf_models[]. */
#ifndef MF_NET_MODELS_H
#define MF_NET_MODELS_H

#include "src/net/model.h"

extern const struct mf_model mf_model_mlp, mf_model_cnn, mf_model_vit;

#endif
