/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The working memory of a model: one aligned block, cut into values, deltas and scratch. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "train/kernels.h"
#include "train/model.h"
#include "train/product.h"

/* A layer keeps the gradients of groups up to this many floats (4 MB). */
enum { KEEP_FLOATS = 1 << 20 };
enum { ALIGN = 64, ALIGN_FLOATS = ALIGN / (int)sizeof(float) };

static size_t aligned(size_t floats) {
    return (floats + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS;
}

/* Cuts the arena into buffers; with arena NULL it only counts the floats needed. */
static size_t cut(dpa__net *net, size_t group, dpa__net_use use, float *arena) {
    const dpa_model *model = net->model;
    size_t used = 0, scratch = 0;
    for (size_t l = 0; l <= model->layer_count; ++l) {
        const dpa__layer *below = l > 0 ? &model->layer[l - 1] : NULL;
        const size_t size = below != NULL ? below->out_size : dpa__shape_size(model->input);
        const size_t floats = aligned(net->rows * size);
        const int shares = below != NULL && below->type->in_place;
        const int has_delta = use == DPA_NET_INPUT || (use == DPA_NET_WEIGHTS && l > 0);
        if (arena != NULL) {
            net->value[l] = shares ? net->value[l - 1] : arena + used;
            net->delta[l] = !has_delta ? NULL : shares ? net->delta[l - 1] : arena + used + floats;
        }
        if (!shares) used += has_delta ? 2 * floats : floats;
        if (below != NULL && below->type->keeps && has_delta &&
            net->rows <= KEEP_FLOATS / below->weights) {
            if (arena != NULL) net->kept[l - 1] = arena + used;
            used += aligned(net->rows * below->weights);
        }
        if (below != NULL && below->type->scratch != NULL) {
            const size_t need = below->type->scratch(below, group);
            if (need > scratch) scratch = need;
        }
    }
    if (arena != NULL) net->scratch = arena + used;
    return used + aligned(scratch);
}

dpa_status dpa__net_new(const dpa_model *model, size_t rows, size_t group, dpa__net_use use,
                        dpa__net **out, dpa_error *err) {
    dpa__net *net = DPA_NEW(dpa__net, err);
    if (net == NULL) return DPA_NO_MEMORY;
    net->model = model;
    net->rows = rows;
    net->value = dpa__calloc(model->layer_count + 1, sizeof(float *), err);
    net->delta = dpa__calloc(model->layer_count + 1, sizeof(float *), err);
    net->kept = dpa__calloc(model->layer_count + 1, sizeof(float *), err);
    if (net->value != NULL && net->delta != NULL && net->kept != NULL) {
        const size_t floats = cut(net, group, use, NULL);
        net->arena = dpa__malloc(floats + ALIGN_FLOATS, sizeof(float), err);
    }
    if (net->arena == NULL) {
        dpa__net_free(net);
        return DPA_NO_MEMORY;
    }
    const uintptr_t odd = (uintptr_t)net->arena % ALIGN;
    (void)cut(net, group, use, net->arena + (odd == 0 ? 0 : (ALIGN - odd) / sizeof(float)));
    *out = net;
    return DPA_OK;
}

void dpa__net_free(dpa__net *net) {
    if (net == NULL) return;
    free(net->arena);
    free(net->value);
    free(net->delta);
    free(net->kept);
    free(net);
}

void dpa__net_forward(dpa__net *net, size_t rows) {
    const dpa_model *model = net->model;
    for (size_t l = 0; l < model->layer_count; ++l) {
        const dpa__layer *layer = &model->layer[l];
        layer->type->forward(layer, model->weight + layer->offset, net->value[l], net->value[l + 1],
                             rows, net->scratch);
        if (layer->back > 0)
            dpa__shortcut(layer, net->value[l - layer->back], net->value[l + 1], rows);
    }
}

/* Adds the deltas of all shortcuts that start at the input of layer l. */
static void join_shortcuts(dpa__net *net, size_t l, size_t rows) {
    const dpa_model *model = net->model;
    if (net->delta[l] == NULL) return;
    for (size_t m = l + 1; m < model->layer_count; ++m)
        if (model->layer[m].back == m - l)
            dpa__shortcut_back(&model->layer[m], net->delta[m + 1], net->delta[l], rows);
}

void dpa__net_backward(dpa__net *net, size_t rows) {
    const dpa_model *model = net->model;
    for (size_t l = model->layer_count; l-- > 0;) {
        const dpa__layer *layer = &model->layer[l];
        layer->type->backward(layer, model->weight + layer->offset, net->value[l],
                              net->value[l + 1], net->delta[l + 1], net->delta[l], rows,
                              net->scratch);
        join_shortcuts(net, l, rows);
    }
}

void dpa__net_norms(dpa__net *net, const dpa__groups *groups, double *norm2) {
    const dpa_model *model = net->model;
    memset(norm2, 0, groups->count * sizeof *norm2);
    for (size_t l = 0; l < model->layer_count; ++l) {
        const dpa__layer *layer = &model->layer[l];
        if (layer->type->norms != NULL)
            layer->type->norms(layer, net->value[l], net->delta[l + 1], groups, norm2, net->kept[l],
                               net->scratch);
    }
}

/* Multiplies the deltas of group g by factor[g]. */
static void scale_deltas(const dpa__layer *layer, const dpa__groups *groups, const float *factor,
                         float *delta) {
    for (size_t g = 0; g < groups->count; ++g)
        if (factor[g] != 1.0F)
            dpa__scale(delta + groups->start[g] * layer->out_size,
                       (groups->start[g + 1] - groups->start[g]) * layer->out_size, factor[g]);
}

void dpa__net_weighted_sum(dpa__net *net, const dpa__groups *groups, const float *factor,
                           int after_norms, float *sum) {
    const dpa_model *model = net->model;
    for (size_t l = 0; l < model->layer_count; ++l) {
        const dpa__layer *layer = &model->layer[l];
        if (layer->type->gradient == NULL) continue;
        if (after_norms && net->kept[l] != NULL) {
            dpa__add_weighted(net->kept[l], groups->count, layer->weights, factor,
                              sum + layer->offset);
            continue;
        }
        scale_deltas(layer, groups, factor, net->delta[l + 1]);
        layer->type->gradient(layer, net->value[l], net->delta[l + 1], groups->start[groups->count],
                              sum + layer->offset, net->scratch);
    }
}

void dpa__net_gradient(dpa__net *net, size_t rows, float *sum) {
    const dpa_model *model = net->model;
    for (size_t l = 0; l < model->layer_count; ++l) {
        const dpa__layer *layer = &model->layer[l];
        if (layer->type->gradient != NULL)
            layer->type->gradient(layer, net->value[l], net->delta[l + 1], rows,
                                  sum + layer->offset, net->scratch);
    }
}
