/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads experiment files (YAML). The training has its own file, which the experiment names, so that
 * what is audited can also be trained by itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "evidence/evidence.h"
#include "game/rules.h"
#include "train/trainer.h"

/* ---- words ---- */

const dpa__word dpa__game_kinds[] = {
    {"white-box", DPA_GAME_WHITE_BOX},           {"input-canary", DPA_GAME_INPUT_CANARY},
    {"black-box", DPA_GAME_BLACK_BOX},           {"membership", DPA_GAME_MEMBERSHIP},
    {"reconstruction", DPA_GAME_RECONSTRUCTION}, {"command", DPA_GAME_COMMAND},
    {"federated", DPA_GAME_FEDERATED},           {"shadow", DPA_GAME_SHADOW},
    {"whole-training", DPA_GAME_WHOLE_TRAINING}, {0}};
_Static_assert(sizeof dpa__game_kinds / sizeof dpa__game_kinds[0] == DPA_GAME_KINDS + 1,
               "every kind of game has a name");
const dpa__word dpa__game_canaries[] = {{"dirac", DPA_GAME_DIRAC},
                                        {"constant", DPA_GAME_CONSTANT},
                                        {"random", DPA_GAME_RANDOM},
                                        {"mislabelled", DPA_GAME_MISLABELLED},
                                        {"blank", DPA_GAME_BLANK},
                                        {"adversarial", DPA_GAME_ADVERSARIAL},
                                        {"crafted", DPA_GAME_CRAFTED},
                                        {"matched", DPA_GAME_MATCHED},
                                        {0}};
static const dpa__word filters[] = {{"dot", DPA_FILTER_DOT}, {"matched", DPA_FILTER_MATCHED}, {0}};
static const dpa__word sabotages[] = {{"none", DPA_SABOTAGE_NONE},
                                      {"noise-scale", DPA_SABOTAGE_SCALE},
                                      {"clip-after-mean", DPA_SABOTAGE_CLIP},
                                      {"few-seeds", DPA_SABOTAGE_SEEDS},
                                      {"noise-per-worker", DPA_SABOTAGE_WORKERS},
                                      {"shuffled-batches", DPA_SABOTAGE_SHUFFLE},
                                      {"partial-batch", DPA_SABOTAGE_PARTIAL},
                                      {0}};
static const dpa__word accesses[] = {
    {"white-box", DPA_ACCESS_STEPS}, {"black-box", DPA_ACCESS_FINAL}, {0}};
static const dpa__word scores[] = {
    {"sum", DPA_SCORE_SUM}, {"likelihood", DPA_SCORE_LIKELIHOOD}, {0}};
static const dpa__word designs[] = {
    {"coins", DPA_DESIGN_COINS}, {"leave-one-out", DPA_DESIGN_LEAVE_ONE_OUT}, {0}};
static const dpa__word signals[] = {{"loss", DPA_SIGNAL_LOSS}, {"logit", DPA_SIGNAL_LOGIT}, {0}};
static const dpa__word attacks[] = {{"loss", DPA_ATTACK_LOSS},
                                    {"calibrated", DPA_ATTACK_CALIBRATED},
                                    {"lira", DPA_ATTACK_LIRA},
                                    {0}};
static const dpa__word failed_scores[] = {
    {"low", DPA_FAILED_LOW}, {"high", DPA_FAILED_HIGH}, {"against", DPA_FAILED_AGAINST}, {0}};
static const dpa__word stops[] = {{"never", 0}, {"refuted", 1}, {0}};

static const dpa__word shadow_attacks[] = {
    {"loss", DPA_ATTACK_LOSS}, {"calibrated", DPA_ATTACK_CALIBRATED}, {"lira", DPA_ATTACK_LIRA},
    {"rmia", DPA_ATTACK_RMIA}, {"quantile", DPA_ATTACK_QUANTILE},     {0}};
static const dpa__word variances[] = {{"auto", DPA_VARIANCE_AUTO},
                                      {"point", DPA_VARIANCE_POINT},
                                      {"pooled", DPA_VARIANCE_POOLED},
                                      {0}};
static const dpa__word challenges[] = {{"worst", DPA_CHALLENGE_WORST},
                                       {"random", DPA_CHALLENGE_RANDOM},
                                       {"average", DPA_CHALLENGE_AVERAGE},
                                       {0}};
static const dpa__word weights[] = {
    {"accuracy", DPA_WEIGHT_ACCURACY}, {"epsilon", DPA_WEIGHT_EPSILON}, {0}};
static const dpa__word shadow_designs[] = {
    {"leave-one-out", DPA_SHADOW_LEAVE_ONE_OUT}, {"half", DPA_SHADOW_HALF}, {0}};
static const dpa__word shadow_signals[] = {
    {"confidence", DPA_SHADOW_CONFIDENCE}, {"gradient", DPA_SHADOW_GRADIENT}, {0}};
static const dpa__word trainer_signals[] = {
    {"confidence", DPA_TRAINER_CONFIDENCE}, {"loss", DPA_TRAINER_LOSS}, {0}};

static const dpa__word participations[] = {{"uniform", DPA_PARTICIPATE_UNIFORM},
                                           {"poisson", DPA_PARTICIPATE_POISSON},
                                           {"shuffle", DPA_PARTICIPATE_SHUFFLE},
                                           {"period", DPA_PARTICIPATE_PERIOD},
                                           {0}};
static const dpa__word faults[] = {{"none", DPA_FAULT_NONE},
                                   {"no-noise", DPA_FAULT_NO_NOISE},
                                   {"clip-after-mean", DPA_FAULT_CLIP_MEAN},
                                   {"repeated-clients", DPA_FAULT_REPEAT},
                                   {0}};
static const dpa__word directions[] = {{"sphere", DPA_DIRECTION_SPHERE},
                                       {"signs", DPA_DIRECTION_SIGNS},
                                       {"hadamard", DPA_DIRECTION_HADAMARD},
                                       {0}};
static const dpa__word servers[] = {{"sgd", DPA_SERVER_SGD},
                                    {"adagrad", DPA_SERVER_ADAGRAD},
                                    {"adam", DPA_SERVER_ADAM},
                                    {"yogi", DPA_SERVER_YOGI},
                                    {0}};

/* ---- ranges ---- */

static const dpa__range epsilons = {0, 1e3, 1, 1};
static const dpa__range examples = {0, UINT32_MAX, 0, 0}, some_examples = {1, UINT32_MAX, 0, 0};
static const dpa__range noises = {0, 1e6, 0, 0};
static const dpa__range megabytes = {1, 1e9, 0, 0};
static const dpa__range runs = {1, 1e6, 0, 0};
static const dpa__range watched = {0, 1000, 0, 0};

/* ---- keys ---- */

#define AT(member) offsetof(dpa_experiment, member)
#define END                                                                                        \
    { 0 }

static const dpa__field file_fields[] = {
    {"training", DPA__PATH, AT(training), NULL,
     "training file of what is audited, as for `dpaudit train`"},
    {"seed", DPA__COUNT, AT(game.seed), NULL, "of everything random in the game"},
    {"output", DPA__TEXT, AT(output), NULL, "folder for the evidence"},
    {"store", DPA__TEXT, AT(store), NULL, "file of the finished trials", "beside this file"},
    END};

static const dpa__field game_fields[] = {
    {"kind", DPA__WORD, AT(kind), dpa__game_kinds, "which game is played"},
    {"canary", DPA__WORD, AT(game.canary), dpa__game_canaries,
     "what is put into the training to be found again", "the game's own"},
    {"moving", DPA__FLAG, AT(game.moving), NULL, "a new canary in every step"},
    {"quiet-share", DPA__NUMBER, AT(game.quiet_share), &dpa__rate,
     "moving Dirac canaries: drawn from this share of the weights, the quietest; 1 is any weight"},
    {"canary-rate", DPA__NUMBER, AT(game.canary_rate), NULL,
     "how often the canary is in the batch that may have it"},
    {"crafting-steps", DPA__COUNT, AT(game.crafting_steps), NULL,
     "steps of the crafting of an adversarial, crafted or matched canary"},
    {"crafting-examples", DPA__COUNT, AT(game.crafting_examples), NULL,
     "held-out examples whose mean gradient a crafted canary is orthogonal to"},
    {"filter", DPA__WORD, AT(game.filter), filters,
     "what the sum is projected on: the canary's gradient, or what tells it best from the data's",
     "dot; matched for a matched canary"},
    {"filter-examples", DPA__COUNT, AT(game.filter_examples), NULL,
     "held-out examples from which a matched filter learns the data's gradients"},
    {"radius", DPA__NUMBER, AT(game.radius), NULL,
     "the most that a feature of an adversarial canary moves"},
    {"observations", DPA__COUNT, AT(game.observations), NULL, "of each kind",
     "steps of the training; of models 100"},
    {"seed", DPA__COUNT, AT(game.seed), NULL, "the same as `seed` of the file", "that one"},
    {"sabotage", DPA__WORD, AT(game.sabotage), sabotages,
     "breaks our own trainer on purpose, to see the audit find it"},
    {"noise-scale", DPA__NUMBER, AT(game.noise_scale), NULL,
     "of sabotage noise-scale: what the noise is multiplied by"},
    {"seeds", DPA__COUNT, AT(game.seeds), NULL, "of sabotage few-seeds: how many"},
    {"workers", DPA__COUNT, AT(game.workers), NULL, "of sabotage noise-per-worker: how many"},
    {"canaries", DPA__COUNT, AT(game.canaries), NULL, "one-run games: how many"},
    {"null-coordinates", DPA__COUNT, AT(game.null_coordinates), &watched,
     "membership in a white box: weights without a canary whose noise is watched, to check what "
     "method channels relies on",
     "64 for dirac canaries and method channels, else 0"},
    {"copies", DPA__COUNT, AT(game.copies), NULL, "black box: how often the canary is in"},
    {"options", DPA__COUNT, AT(game.options), NULL,
     "reconstruction: one of so many alternatives is in, for each canary"},
    {"access", DPA__WORD, AT(game.access), accesses,
     "one-run games: every step is seen, or the final model only"},
    {"score", DPA__WORD, AT(game.score), scores, "one-run games in a white box: what is scored"},
    {"command", DPA__TEXT, AT(command.line), NULL,
     "of kind command: the program that trains once, with {seed}, {members}, {queries}, {out}"},
    {"cancel", DPA__TEXT, AT(command.cancel), NULL,
     "ends what a trial left running elsewhere; the same placeholders"},
    {"failed", DPA__WORD, AT(command.failed), failed_scores,
     "how a training that failed is scored: it keeps its place"},
    {"points", DPA__COUNT, AT(command.points), NULL, "of kind command: examples to train on"},
    {"queries", DPA__COUNT, AT(command.queries), NULL, "how many of them are asked about",
     "all, or the challenge alone"},
    {"models", DPA__COUNT, AT(command.models), NULL, "of kind command: trainings"},
    {"challenge", DPA__COUNT, AT(command.challenge), NULL, "the example that is left out"},
    {"design", DPA__WORD, AT(command.design), designs,
     "each example is in by its own coin, or one is left out"},
    {"signal", DPA__WORD, AT(command.signal), signals, "what the program's numbers are"},
    {"attack", DPA__WORD, AT(command.attack), attacks, "makes scores of the signals of the coins",
     "none"},
    {"timeout", DPA__NUMBER, AT(timeout), &dpa__positive, "seconds that one trial may take"},
    END};

static const dpa__field claim_fields[] = {
    {"epsilon", DPA__NUMBER, AT(claim_epsilon), &epsilons, "what is promised of the whole training",
     "what the training's noise gives"},
    {"delta", DPA__NUMBER, AT(claim_delta), &dpa__probability, "the delta of that promise",
     "the training's"},
    {"confidence", DPA__NUMBER, AT(confidence), &dpa__probability, "of the bounds"},
    END};

static const dpa__field estimator_fields[] = {
    {"family", DPA__TEXT, AT(family), NULL, "as for `dpaudit scores`", "the game's own"},
    {"method", DPA__TEXT, AT(method), NULL, "as for `dpaudit scores`", "the game's own"},
    {"select", DPA__TEXT, AT(select), NULL, "as for `dpaudit scores`", "the method's own"},
    {"guesses", DPA__TEXT, AT(guesses), NULL, "one-run games: how many, auto or max", "auto"},
    END};

static const dpa__field budget_fields[] = {
    {"stop", DPA__WORD, AT(stop_refuted), stops,
     "refuted: the run ends when the claim is refuted, by method sequential"},
    {"trials", DPA__COUNT, AT(trials), NULL, "at most so many trials", "what the game needs"},
    {"seconds", DPA__NUMBER, AT(seconds), &dpa__positive, "at most so much time"},
    END};

static const dpa__field shadow_fields[] = {
    {"models", DPA__COUNT, AT(game.shadow.models), NULL, "shadow models"},
    {"targets", DPA__COUNT, AT(game.shadow.targets), NULL,
     "models under attack, each with its coin"},
    {"attack", DPA__WORD, AT(game.shadow.attack), shadow_attacks,
     "rmia and quantile need held-out rows"},
    {"offline", DPA__FLAG, AT(game.shadow.offline), NULL, "only shadow models without the point"},
    {"variance", DPA__WORD, AT(game.shadow.variance), variances,
     "of lira, as for `dpaudit attack`"},
    {"challenge", DPA__WORD, AT(game.shadow.challenge), challenges, "which point is attacked"},
    {"challenges", DPA__COUNT, AT(game.shadow.challenges), NULL, "how many points take turns"},
    {"weight", DPA__WORD, AT(game.shadow.weight), weights, "what ranks the points"},
    {"design", DPA__WORD, AT(game.shadow.design), shadow_designs,
     "the same half in all targets, or each target has its own"},
    {"signal", DPA__WORD, AT(game.shadow.signal), shadow_signals,
     "black box: log(p/(1-p)) of the label; white box: how short its gradient is"},
    END};

static const dpa__field trainer_fields[] = {
    {"command", DPA__TEXT, AT(trainer.command), NULL,
     "the program that trains and stays alive, with its arguments", NULL, 1},
    {"points", DPA__COUNT, AT(trainer.points), &some_examples,
     "how many examples there are to train on", NULL, 1},
    {"canaries", DPA__COUNT, AT(trainer.canaries), &examples, "examples that are canaries"},
    {"heldout", DPA__COUNT, AT(trainer.heldout), &examples, "examples that are held out"},
    {"steps", DPA__COUNT, AT(trainer.steps), NULL, "steps of a training", "not said"},
    {"size", DPA__COUNT, AT(trainer.size), &examples, "weights of its model, for federated games",
     "not said"},
    {"init-seed", DPA__COUNT, AT(trainer.init_seed), NULL,
     "names the initial weights in games that fix them"},
    {"accuracy", DPA__FLAG, AT(trainer.accuracy), NULL, "it also says how good the model is"},
    {"signal", DPA__WORD, AT(trainer.signal), trainer_signals, "what its numbers say"},
    {"clip", DPA__NUMBER, AT(trainer.clip), &dpa__finite, "what it claims of DP-SGD: the norm"},
    {"sigma", DPA__NUMBER, AT(trainer.sigma), &noises, "likewise: the noise multiplier",
     "no claim"},
    {"q", DPA__NUMBER, AT(trainer.q), &dpa__rate, "likewise: the sampling rate", "shuffled"},
    {"delta", DPA__NUMBER, AT(trainer.delta), &dpa__probability, "likewise: where epsilon is told"},
    {"timeout", DPA__NUMBER, AT(trainer.timeout), &dpa__positive,
     "seconds that one answer may take"},
    END};

static const dpa__field confine_fields[] = {
    {"memory-mb", DPA__COUNT, AT(confine.memory_mb), &megabytes,
     "address space of each of its processes, in MB", "no limit"},
    {"file-mb", DPA__COUNT, AT(confine.file_mb), &megabytes, "the largest file it may write, in MB",
     "no limit"},
    {"no-network", DPA__FLAG, AT(confine.no_network), NULL,
     "it sees no network but its own loopback"},
    END};

static const dpa__field federate_fields[] = {
    {"clients", DPA__PATH, AT(federate.clients), NULL,
     "file of the owners, one row for each row of the data"},
    {"column", DPA__TEXT, AT(federate.column), NULL, "of that file", "its only one"},
    {"each-row", DPA__FLAG, AT(federate.each_row), NULL,
     "every row is a client of its own, instead of a file: example-level"},
    {"split", DPA__SIZE, AT(federate.split), NULL, "artificial clients, instead of a file", "none"},
    {"concentration", DPA__NUMBER, AT(federate.concentration), NULL,
     "of the Dirichlet law by which they get the rows of each class"},
    {"rounds", DPA__COUNT, AT(federate.opts.rounds), &dpa__some, "of the training"},
    {"participation", DPA__WORD, AT(federate.opts.participation), participations,
     "who is in a round"},
    {"cohort", DPA__SIZE, AT(federate.opts.cohort), NULL,
     "clients of a round (Poisson: on average)"},
    {"period", DPA__COUNT, AT(federate.opts.period), NULL, "of participation period"},
    {"drop", DPA__NUMBER, AT(federate.opts.drop), NULL,
     "probability that a chosen client's change does not arrive"},
    {"server", DPA__WORD, AT(federate.opts.server), servers, "the server's optimiser"},
    {"server-rate", DPA__NUMBER, AT(federate.opts.server_rate), NULL, "its learning rate"},
    {"beta2", DPA__NUMBER, AT(federate.opts.beta2), NULL, "of the adaptive ones"},
    {"tau", DPA__NUMBER, AT(federate.opts.tau), NULL, "of the adaptive ones"},
    {"momentum", DPA__NUMBER, AT(federate.opts.momentum), NULL,
     "of the server; of the adaptive ones beta1"},
    {"adaptive", DPA__FLAG, AT(federate.opts.adaptive), NULL,
     "the clipping norm follows a quantile of the norms"},
    {"quantile", DPA__NUMBER, AT(federate.opts.quantile), NULL, "that quantile"},
    {"clip-rate", DPA__NUMBER, AT(federate.opts.clip_rate), NULL, "how fast it follows"},
    {"vote-noise", DPA__NUMBER, AT(federate.opts.vote_noise), NULL,
     "noise on the count of short changes", "cohort/20"},
    {"divide-actual", DPA__FLAG, AT(federate.opts.divide_actual), NULL,
     "divide by the number that came, not by the expected one"},
    {"canaries", DPA__SIZE, AT(federate.opts.canaries), &dpa__some, "that take part",
     "1000, fewer where they would crowd"},
    {"unobserved", DPA__SIZE, AT(federate.opts.unobserved), NULL, "that do not take part",
     "as many as take part; without all-iterates none"},
    {"repetitions", DPA__COUNT, AT(federate.opts.repetitions), NULL,
     "each canary is in one random round of each of so many equal parts of the training",
     "as clients come"},
    {"canary-scale", DPA__NUMBER, AT(federate.opts.canary_scale), NULL,
     "canaries send so many times the norm and rely on the clipping"},
    {"direction", DPA__WORD, AT(federate.opts.direction), directions, "what canaries send"},
    {"all-iterates", DPA__FLAG, AT(federate.opts.all_iterates), NULL,
     "keep each canary's largest cosine over the rounds"},
    {"fault", DPA__WORD, AT(federate.opts.fault), faults, "breaks the server on purpose"},
    {"copies", DPA__SIZE, AT(federate.opts.copies), NULL, "of fault repeated-clients"},
    {"share", DPA__NUMBER, AT(federate.opts.share), NULL, "of fault repeated-clients"},
    {"runs", DPA__COUNT, AT(federate.runs), &runs, "trainings, each with canaries of its own"},
    {"baseline", DPA__FLAG, AT(federate.baseline), NULL,
     "also train without canaries, to see what they cost"},
    {"since-start", DPA__FLAG, AT(federate.since_start), NULL,
     "final cosines with the change of the model, not the model"},
    {"checkpoints", DPA__COUNT, AT(federate.checkpoints), NULL,
     "how often the estimates are taken on the way"},
    {"keep-every", DPA__COUNT, AT(federate.keep_every), NULL,
     "rounds between two states on disk, after which a killed run goes on", "half a minute"},
    END};

const dpa__section dpa__experiment_sections[] = {{"", file_fields, 0},
                                                 {"game", game_fields, 1},
                                                 {"claim", claim_fields, 0},
                                                 {"estimators", estimator_fields, 0},
                                                 {"budget", budget_fields, 0},
                                                 {"shadow", shadow_fields, 0},
                                                 {"trainer", trainer_fields, 0},
                                                 {"confine", confine_fields, 0},
                                                 {"federate", federate_fields, 0},
                                                 {0}};

/* ---- defaults ---- */

static void init(dpa_experiment *e) {
    *e = (dpa_experiment){.claim_epsilon = (double)NAN,
                          .claim_delta = (double)NAN,
                          .confidence = 0.95,
                          .seconds = (double)INFINITY,
                          .timeout = (double)INFINITY};
    dpa_game_opts_init(&e->game);
    e->command.signal = DPA_SIGNAL_LOSS;
    e->trainer = (dpa_trainer_opts){
        .clip = 1.0, .q = (double)NAN, .delta = 1e-5, .timeout = (double)INFINITY};
    dpa_federate_opts_init(&e->federate.opts);
    e->federate.concentration = 1.0;
    e->federate.runs = 1;
}

/* ---- checks that involve several keys ---- */

/* The canaries that a game knows, as bits; none: it has no such choice. */
enum {
    DIRECTIONS = 1 << DPA_GAME_DIRAC | 1 << DPA_GAME_RANDOM,
    EXAMPLES = 1 << DPA_GAME_MISLABELLED | 1 << DPA_GAME_BLANK,
    CRAFTED = 1 << DPA_GAME_ADVERSARIAL | 1 << DPA_GAME_CRAFTED | 1 << DPA_GAME_MATCHED
};
static const struct {
    int known;
    dpa_game_canary usual;
} canaries[DPA_GAME_KINDS] = {
    [DPA_GAME_WHITE_BOX] = {DIRECTIONS | 1 << DPA_GAME_CONSTANT, DPA_GAME_DIRAC},
    [DPA_GAME_INPUT_CANARY] = {EXAMPLES | CRAFTED, DPA_GAME_CRAFTED},
    [DPA_GAME_BLACK_BOX] = {EXAMPLES, DPA_GAME_MISLABELLED},
    [DPA_GAME_MEMBERSHIP] = {DIRECTIONS, DPA_GAME_DIRAC},
    [DPA_GAME_RECONSTRUCTION] = {DIRECTIONS, DPA_GAME_DIRAC},
    [DPA_GAME_WHOLE_TRAINING] = {DIRECTIONS, DPA_GAME_DIRAC},
};

/* Fails if the game does not know the canary; the error lists those it knows. */
static dpa_status check_canary(const dpa_experiment *e, dpa_error *err) {
    const int bits = canaries[e->kind].known;
    if (bits == 0 || (bits >> e->game.canary & 1) != 0) return DPA_OK;
    char known[160] = "";
    size_t used = 0;
    for (const dpa__word *w = dpa__game_canaries; w->text != NULL && used < sizeof known; ++w)
        if ((bits >> w->value & 1) != 0)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                     used > 0 ? ", " : "", w->text);
    return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                          "game: canary %s: a game of kind %s knows %s",
                          dpa__word_text(dpa__game_canaries, (int)e->game.canary),
                          dpa__word_text(dpa__game_kinds, (int)e->kind), known);
}

static dpa_status check_copies(const dpa_experiment *e, dpa_error *err) {
    if (e->game.copies < 1 || e->game.copies > DPA_RECORDS_MOST)
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path, "game: copies %llu: expected 1 to %d",
                              (unsigned long long)e->game.copies, DPA_RECORDS_MOST);
    if (e->game.copies == 1 || e->kind == DPA_GAME_BLACK_BOX) return DPA_OK;
    return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                          "game: copies %llu: only in a black-box game; in the others every canary "
                          "is one record",
                          (unsigned long long)e->game.copies);
}

/* Weights without a canary that are watched where method channels decides. */
enum { WATCHED = 64 };

static void fill_game(const dpa__settings *settings, dpa_experiment *e) {
    dpa_game_opts *g = &e->game;
    if (!dpa__settings_has(settings, "game", "canary")) g->canary = canaries[e->kind].usual;
    if (!dpa__settings_has(settings, "game", "filter") && g->canary == DPA_GAME_MATCHED)
        g->filter = DPA_FILTER_MATCHED;
    const int watches = e->kind == DPA_GAME_MEMBERSHIP && g->access == DPA_ACCESS_STEPS &&
                        g->canary == DPA_GAME_DIRAC;
    if (watches && !dpa__settings_has(settings, "game", "null-coordinates") && e->method != NULL &&
        strstr(e->method, "channels") != NULL)
        g->null_coordinates = WATCHED;
    if (e->kind == DPA_GAME_WHOLE_TRAINING) g->canaries = 1;
    e->command.has_attack = dpa__settings_has(settings, "game", "attack");
}

static dpa_status check_trainer(const dpa_experiment *e, dpa_error *err) {
    if (!(e->trainer.sigma > 0.0) || e->trainer.steps > 0 || e->kind == DPA_GAME_FEDERATED)
        return DPA_OK;
    return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                          "trainer: steps is missing: how many steps with this sigma");
}

/* A trainer's clients and server are its own. */
static dpa_status check_far(const dpa__settings *settings, const dpa_experiment *e,
                            dpa_error *err) {
    static const char *const own[] = {
        "clients",     "column",     "each-row", "split",    "concentration", "server",
        "server-rate", "beta2",      "tau",      "momentum", "adaptive",      "quantile",
        "clip-rate",   "vote-noise", "fault",    "copies",   "share",         "keep-every"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; ++i)
        if (dpa__settings_has(settings, "federate", own[i]))
            return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                                  "federate: %s: the trainer has clients and a server of its own",
                                  own[i]);
    return DPA_OK;
}

static dpa_status check_confine(const dpa__settings *settings, const dpa_experiment *e,
                                dpa_error *err) {
    if (!dpa__settings_has(settings, "confine", NULL) || e->kind == DPA_GAME_COMMAND ||
        e->trainer.command != NULL)
        return DPA_OK;
    return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                          "confine: there is no program to confine: the trainer is dpaudit's own");
}

static dpa_status fill_federate(const dpa__settings *settings, dpa_experiment *e, dpa_error *err) {
    dpa_federate_plan *plan = &e->federate;
    e->has_federate = dpa__settings_has(settings, "federate", NULL);
    if (!e->has_federate) return DPA_OK;
    if (!dpa__settings_has(settings, "federate", "unobserved"))
        plan->opts.unobserved = DPA__AS_MANY;
    const int is_split = dpa__settings_has(settings, "federate", "split");
    if (e->trainer.command != NULL) DPA_TRY(check_far(settings, e, err));
    if (e->trainer.command == NULL && (plan->clients != NULL) + is_split + plan->each_row != 1)
        return dpa__fail_file(
            err, DPA_BAD_INPUT, e->path,
            "federate: give either clients, a file, or split, a number, or each-row: true");
    if (plan->checkpoints > plan->opts.rounds)
        return dpa__fail_file(
            err, DPA_BAD_INPUT, e->path, "federate: %llu checkpoints in %llu rounds",
            (unsigned long long)plan->checkpoints, (unsigned long long)plan->opts.rounds);
    if (plan->opts.all_iterates && plan->opts.unobserved < 2)
        return dpa__fail_file(err, DPA_BAD_INPUT, e->path,
                              "federate: all-iterates needs 2 unobserved canaries or more");
    return DPA_OK;
}

static dpa_status take(const char *path, dpa__settings *settings, dpa_experiment *e,
                       dpa_error *err) {
    char *copy = dpa__strdup(path, err);
    if (copy == NULL) return DPA_NO_MEMORY;
    e->path = copy;
    for (const dpa__section *s = dpa__experiment_sections; s->name != NULL; ++s)
        DPA_TRY(dpa__settings_take(settings, s->name, e, err));
    fill_game(settings, e);
    DPA_TRY(check_canary(e, err));
    DPA_TRY(check_copies(e, err));
    DPA_TRY(check_trainer(e, err));
    DPA_TRY(check_confine(settings, e, err));
    return fill_federate(settings, e, err);
}

/* ---- the file ---- */

void dpa_experiment_free(dpa_experiment *e) {
    if (e == NULL) return;
    dpa__settings_close(e->texts);
    free((char *)e->path);
    free(e);
}

dpa_status dpa_experiment_blame(const dpa_experiment *experiment, const char *section,
                                dpa_error *err) {
    if (err == NULL) return DPA_BAD_INPUT;
    char text[DPA_TEXT_SIZE];
    memcpy(text, err->text, sizeof text);
    return dpa__settings_locate(
        dpa__fail_file(err, DPA_BAD_INPUT, experiment->path, "%s: %s", section, text), err);
}

dpa_status dpa_experiment_read(const char *path, dpa_experiment **out, dpa_error *err) {
    dpa_experiment *e = DPA_NEW(dpa_experiment, err);
    dpa__settings *settings = NULL;
    if (e == NULL) return DPA_NO_MEMORY;
    init(e);
    dpa_status status = dpa__settings_open(path, dpa__experiment_sections, &settings, err);
    e->texts = settings;
    if (status == DPA_OK) status = dpa__settings_locate(take(path, settings, e, err), err);
    if (status == DPA_OK)
        *out = e;
    else
        dpa_experiment_free(e);
    return status;
}

dpa_status dpa_settings_list(char **out, dpa_error *err) {
    dpa_experiment e;
    dpa__text text = {0};
    init(&e);
    dpa__text_add(&text, "Experiment files, for `dpaudit run`\n\n");
    for (const dpa__section *s = dpa__experiment_sections; s->name != NULL; ++s)
        dpa__settings_describe(s, &e, &text);
    dpa__text_add(&text, "Training files, for `dpaudit train` and `training:` above\n\n");
    dpa__train_plan_describe(&text);
    return dpa__text_take(&text, out, err);
}
