/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models from words: "conv:16,8,2,3 tanh max:2,1 dense:32 tanh" (grammar in dpaudit/train.h). */
#include "train/model.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

enum { MAX_NUMBERS = 16, MAX_LAYERS = 256, MAX_WINDOW = 1 << 15 };
/* Limit of weights, inputs and outputs of a layer, so that an int can count them. Together with
 * MAX_WINDOW it keeps every product of sizes below far from 2^64. */
static const size_t LARGEST = INT_MAX / 4;

/* One word: a name and its numbers. */
typedef struct word {
    char name[16];
    size_t number[MAX_NUMBERS];
    size_t count;
} word;

static dpa_status bad_word(const char *start, size_t length, const char *why, dpa_error *err) {
    return dpa__fail(err, DPA_BAD_ARGUMENT, "layer \"%.*s\": %s", (int)length, start, why);
}

static dpa_status read_word(const char *start, size_t length, word *out, dpa_error *err) {
    memset(out, 0, sizeof *out);
    size_t i = 0;
    while (i < length && start[i] != ':') ++i;
    if (i >= sizeof out->name) return bad_word(start, length, "no such layer", err);
    memcpy(out->name, start, i);
    while (i < length) {
        const size_t digits = ++i; /* just after ':' or ',' */
        size_t value = 0;
        for (; i < length && isdigit((unsigned char)start[i]) && value < 100000000; ++i)
            value = 10 * value + (size_t)(start[i] - '0');
        if (i == digits || (i < length && start[i] != ',') || out->count == MAX_NUMBERS)
            return bad_word(start, length, "expected whole numbers separated by commas", err);
        out->number[out->count++] = value;
    }
    return DPA_OK;
}

/* Output length of a window that slides over `in` cells, or 0 when it does not fit. */
static size_t slide(size_t in, size_t kernel, size_t stride, size_t pad) {
    return in + 2 * pad < kernel ? 0 : (in + 2 * pad - kernel) / stride + 1;
}

static const char *shape_window(dpa__layer *layer, const word *w, size_t at) {
    layer->kernel = w->number[at];
    const int is_conv = layer->type == &dpa__layer_conv;
    layer->stride = w->count > at + 1 ? w->number[at + 1] : is_conv ? 1 : layer->kernel;
    layer->pad = w->count > at + 2 ? w->number[at + 2] : 0;
    if (layer->kernel == 0 || layer->stride == 0) return "window and stride must be at least 1";
    if (layer->kernel > MAX_WINDOW) return "the window is too large";
    if (layer->pad >= layer->kernel) return "the padding must be smaller than the window";
    layer->out.height = slide(layer->in.height, layer->kernel, layer->stride, layer->pad);
    layer->out.width = slide(layer->in.width, layer->kernel, layer->stride, layer->pad);
    if (layer->out.height == 0 || layer->out.width == 0) return "the window does not fit its input";
    return NULL;
}

/* Fills in the shapes and the number of weights. Returns NULL, or what is wrong. */
static const char *shape_conv(dpa__layer *layer, const word *w) {
    if (w->count < 2 || w->count > 4) return "expected conv:channels,window[,stride[,pad]]";
    const char *wrong = shape_window(layer, w, 1);
    if (wrong != NULL) return wrong;
    layer->out.channels = w->number[0];
    if (layer->out.channels == 0) return "expected at least one channel";
    const size_t depth = layer->kernel * layer->kernel * layer->in.channels;
    if (depth > LARGEST) return "the window is too large";
    layer->weights = (depth + 1) * layer->out.channels;
    return NULL;
}

static const char *shape_pool(dpa__layer *layer, const word *w) {
    if (w->count < 1 || w->count > 2) return "expected window[,stride]";
    return shape_window(layer, w, 0);
}

static const char *shape_norm(dpa__layer *layer, const word *w) {
    if (w->count != 1) return "expected norm:groups";
    layer->channel_groups = w->number[0];
    if (layer->channel_groups == 0 || layer->in.channels % layer->channel_groups != 0)
        return "the groups must divide the channels";
    layer->weights = 2 * layer->in.channels;
    return NULL;
}

static const char *shape_dense(dpa__layer *layer, const word *w) {
    if (w->count != 1 || w->number[0] == 0) return "expected dense:outputs";
    layer->out = (dpa_shape){1, 1, w->number[0]};
    layer->weights = (layer->in_size + 1) * w->number[0];
    return NULL;
}

static const char *shape_add(dpa__layer *layer, const word *w) {
    if (w->count != 1 || w->number[0] == 0) return "expected add:layers";
    if (w->number[0] > layer->index) return "there are not so many layers below";
    const dpa__layer *from = layer - w->number[0];
    const dpa_shape a = from->in, b = layer->in;
    if (from->type->in_place)
        return "a shortcut cannot start below a relu or tanh, which overwrite their input";
    if (a.height % b.height != 0 || a.width % b.width != 0 || a.channels > b.channels)
        return "the shortcut's shape must be a multiple of this one, with no more channels";
    layer->back = w->number[0];
    layer->shortcut = a;
    return NULL;
}

static const char *shape_plain(dpa__layer *layer, const word *w) {
    (void)layer;
    return w->count == 0 ? NULL : "takes no numbers";
}

static const struct {
    const dpa__layer_type *type;
    const char *(*shape)(dpa__layer *layer, const word *w);
} kinds[] = {{&dpa__layer_dense, shape_dense}, {&dpa__layer_conv, shape_conv},
             {&dpa__layer_max, shape_pool},    {&dpa__layer_avg, shape_pool},
             {&dpa__layer_norm, shape_norm},   {&dpa__layer_relu, shape_plain},
             {&dpa__layer_tanh, shape_plain},  {&dpa__layer_add, shape_add}};

static dpa_status add_layer(dpa_model *model, const word *w, dpa_error *err) {
    size_t kind = 0;
    while (kind < sizeof kinds / sizeof kinds[0] && strcmp(kinds[kind].type->name, w->name) != 0)
        ++kind;
    if (kind == sizeof kinds / sizeof kinds[0])
        return dpa__fail(
            err, DPA_BAD_ARGUMENT,
            "no layer \"%s\": expected dense, mlp, conv, max, avg, norm, relu, tanh, add or "
            "wrn",
            w->name);
    if (model->layer_count == MAX_LAYERS)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "more than %d layers", MAX_LAYERS);
    dpa__layer *layer = &model->layer[model->layer_count];
    *layer =
        (dpa__layer){.type = kinds[kind].type, .offset = model->size, .index = model->layer_count};
    layer->in = model->layer_count > 0 ? layer[-1].out : model->input;
    layer->out = layer->in;
    layer->in_size = dpa__shape_size(layer->in);
    const char *wrong = kinds[kind].shape(layer, w);
    if (wrong != NULL) return dpa__fail(err, DPA_BAD_ARGUMENT, "layer %s: %s", w->name, wrong);
    layer->out_size = dpa__shape_size(layer->out);
    if (layer->weights > LARGEST || layer->out_size > LARGEST)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "layer %s is too large", w->name);
    if (layer->type == &dpa__layer_relu && model->layer_count > 0) layer[-1].has_relu = 1;
    model->size += layer->weights;
    ++model->layer_count;
    return DPA_OK;
}

/* norm relu conv, the unit of which a wide residual network has all but its first layer. */
static dpa_status add_unit(dpa_model *model, size_t channels, size_t stride, dpa_error *err) {
    const word norm = {.name = "norm", .number = {16}, .count = 1};
    const word conv = {.name = "conv", .number = {channels, 3, stride, 1}, .count = 4};
    DPA_TRY(add_layer(model, &norm, err));
    DPA_TRY(add_layer(model, &(word){.name = "relu"}, err));
    return channels > 0 ? add_layer(model, &conv, err) : DPA_OK;
}

/* wrn:depth,width: a wide residual network (Zagoruyko & Komodakis 2016) with group instead of batch
 * normalisation, as DP-SGD needs it: three stages of (depth − 4)/6 blocks of two units, 16, 32 and
 * 64 times `width` channels, the second and third at half the size of the one before. */
static dpa_status add_wrn(dpa_model *model, const word *w, dpa_error *err) {
    if (w->count != 2 || w->number[0] < 10 || w->number[0] > 100 || w->number[0] % 6 != 4 ||
        w->number[1] == 0 || w->number[1] > 100)
        return dpa__fail(err, DPA_BAD_ARGUMENT,
                         "layer wrn: expected wrn:depth,width with a depth of 10, 16, 22, …, 100");
    const word first = {.name = "conv", .number = {16, 3, 1, 1}, .count = 4};
    DPA_TRY(add_layer(model, &first, err));
    for (size_t stage = 0; stage < 3; ++stage)
        for (size_t block = 0; block < (w->number[0] - 4) / 6; ++block) {
            const size_t channels = (size_t)16 * w->number[1] << stage;
            DPA_TRY(add_unit(model, channels, stage > 0 && block == 0 ? 2 : 1, err));
            DPA_TRY(add_unit(model, channels, 1, err));
            const word add = {.name = "add", .number = {6}, .count = 1};
            DPA_TRY(add_layer(model, &add, err));
        }
    DPA_TRY(add_unit(model, 0, 0, err));
    const dpa__layer *last = &model->layer[model->layer_count - 1];
    const word pool = {.name = "avg", .number = {last->out.height}, .count = 1};
    return add_layer(model, &pool, err);
}

/* mlp:a,b stands for dense:a relu dense:b relu. */
static dpa_status add_word(dpa_model *model, const word *w, dpa_error *err) {
    if (strcmp(w->name, "wrn") == 0) return add_wrn(model, w, err);
    if (strcmp(w->name, "mlp") != 0) return add_layer(model, w, err);
    if (w->count == 0) return dpa__fail(err, DPA_BAD_ARGUMENT, "layer mlp: expected mlp:width,…");
    for (size_t i = 0; i < w->count; ++i) {
        const word dense = {.name = "dense", .number = {w->number[i]}, .count = 1};
        DPA_TRY(add_layer(model, &dense, err));
        DPA_TRY(add_layer(model, &(word){.name = "relu"}, err));
    }
    return DPA_OK;
}

static dpa_status build(dpa_model *model, dpa_error *err) {
    model->layer = dpa__calloc(MAX_LAYERS, sizeof(dpa__layer), err);
    if (model->layer == NULL) return DPA_NO_MEMORY;
    const char *at = model->layers;
    while (*at != '\0') {
        const size_t length = strcspn(at, " \t\n");
        word w;
        if (length > 0) {
            DPA_TRY(read_word(at, length, &w, err));
            DPA_TRY(add_word(model, &w, err));
        }
        at += length + (at[length] != '\0');
    }
    const word last = {.name = "dense", .number = {model->outputs}, .count = 1};
    DPA_TRY(add_layer(model, &last, err));
    model->weight = dpa__calloc(model->size, sizeof(float), err);
    return model->weight != NULL ? DPA_OK : DPA_NO_MEMORY;
}

dpa_status dpa_model_new(const char *layers, dpa_shape input, size_t classes, dpa_loss loss,
                         dpa_model **out, dpa_error *err) {
    if (input.height == 0 || input.width == 0 || input.channels == 0 || input.height > LARGEST ||
        input.width > LARGEST / input.height ||
        input.channels > LARGEST / (input.height * input.width))
        return dpa__fail(err, DPA_BAD_ARGUMENT, "input of %zu × %zu × %zu", input.height,
                         input.width, input.channels);
    if (classes < 2 || classes > 1000000)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "%zu classes: expected at least 2", classes);
    if (loss == DPA_LOSS_BINARY && classes != 2)
        return dpa__fail(err, DPA_BAD_ARGUMENT, "binary loss needs 2 classes, not %zu", classes);
    dpa_model *model = DPA_NEW(dpa_model, err);
    if (model == NULL) return DPA_NO_MEMORY;
    model->input = input;
    model->classes = classes;
    model->loss = loss;
    model->outputs = loss == DPA_LOSS_BINARY ? 1 : classes;
    model->layers = dpa__strdup(layers, err);
    const dpa_status status = model->layers != NULL ? build(model, err) : DPA_NO_MEMORY;
    if (status == DPA_OK)
        *out = model;
    else
        dpa_model_free(model);
    return status;
}

void dpa_model_free(dpa_model *model) {
    if (model == NULL) return;
    free(model->layers);
    free(model->layer);
    free(model->weight);
    free(model);
}

/* Each layer has its own stream, so its initial weights do not depend on the layers below. */
void dpa_model_init(dpa_model *model, uint64_t seed) {
    for (size_t l = 0; l < model->layer_count; ++l) {
        const dpa__layer *layer = &model->layer[l];
        float *weight = model->weight + layer->offset;
        memset(weight, 0, layer->weights * sizeof *weight);
        if (layer->type == &dpa__layer_norm)
            for (size_t c = 0; c < layer->in.channels; ++c) weight[c] = 1.0F;
        if (layer->type != &dpa__layer_dense && layer->type != &dpa__layer_conv) continue;
        const size_t out = layer->out.channels, inputs = layer->weights / out - 1;
        const double scale = sqrt((layer->has_relu ? 2.0 : 1.0) / (double)inputs);
        dpa_rng rng;
        dpa__rng_init(&rng, seed, DPA_PURPOSE_INIT, l);
        for (size_t i = 0; i < inputs * out; ++i)
            weight[i] = (float)(scale * dpa__rng_normal(&rng));
    }
}

size_t dpa_model_size(const dpa_model *model) {
    return model->size;
}

size_t dpa_model_outputs(const dpa_model *model) {
    return model->outputs;
}

float *dpa_model_weights(dpa_model *model) {
    return model->weight;
}
