/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words for attacks and canaries that the options of the laboratory use. No functions. */
#ifndef DPAUDIT_ATTACK_H
#define DPAUDIT_ATTACK_H

typedef enum dpa_signal_kind {
    DPA_SIGNAL_LOGIT, /* log(p/(1−p)) of the true label: higher fits better */
    DPA_SIGNAL_LOSS   /* −log p: lower fits better */
} dpa_signal_kind;

typedef enum dpa_attack {
    DPA_ATTACK_LOSS,       /* the target's own signal (Yeom et al. 2018) */
    DPA_ATTACK_CALIBRATED, /* minus the mean over models without the point (Watson et al. 2022) */
    DPA_ATTACK_LIRA,       /* likelihood ratio of two fitted normals (Carlini et al. 2022) */
    DPA_ATTACK_RMIA,    /* robust pairwise ratios against a population (Zarifzadeh et al. 2024) */
    DPA_ATTACK_QUANTILE /* compared with similar non-members (Bertran et al. 2023) */
} dpa_attack;

typedef enum dpa_variance {
    DPA_VARIANCE_AUTO,  /* per point if a side has 64 models or more, else pooled */
    DPA_VARIANCE_POINT, /* each point's own */
    DPA_VARIANCE_POOLED /* one for all points: the mean of their variances */
} dpa_variance;

/* What makes a point worth attacking. */
typedef enum dpa_weight { DPA_WEIGHT_ACCURACY, DPA_WEIGHT_EPSILON } dpa_weight;

typedef enum dpa_challenge {
    DPA_CHALLENGE_WORST,  /* the largest weights: what the most exposed person risks */
    DPA_CHALLENGE_RANDOM, /* drawn at random, without regard to the weights */
    DPA_CHALLENGE_AVERAGE /* weights closest to their mean: what a typical person risks */
} dpa_challenge;

/* What a canary's direction is. Signs are ±1/√d, a fair coin for each element; generating and
 * multiplying them is eight times as fast. The cosine with a fixed vector θ is nearly normal for
 * sphere and signs. How nearly depends on d alone for the sphere, and on θ for signs
 * (probabilities within 0.56·max|θᵢ|/‖θ‖, Berry and Esseen).
 *
 * Hadamard canaries are rows of H·D/√n on n randomly drawn coordinates, where n is the largest
 * power of two up to d, H the Hadamard matrix and D random signs. They are exactly orthogonal,
 * so that what one canary adds is independent of all others (docs/methods/known-rounds.md), and all
 * of them together cost one fast transform. There are at most n. Whoever knows the seed knows D and
 * every canary, so clients and server must not know it before the training is over. The cosine
 * with a vector of few non-zero elements is not normal: compare with unobserved canaries. */
typedef enum dpa_direction {
    DPA_DIRECTION_SPHERE,
    DPA_DIRECTION_SIGNS,
    DPA_DIRECTION_HADAMARD
} dpa_direction;

#endif
