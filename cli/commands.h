/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All commands, in the order of the help. To add one: cmd_NAME.c defines `const command
 * command_NAME`, and its name goes into this list. */
#ifndef DPA_CLI_COMMANDS_H
#define DPA_CLI_COMMANDS_H

#define COMMAND_LIST(X)                                                                            \
    X(example)                                                                                     \
    X(counts)                                                                                      \
    X(scores)                                                                                      \
    X(one_run)                                                                                     \
    X(cosines)                                                                                     \
    X(losses)                                                                                      \
    X(canaries)                                                                                    \
    X(attack)                                                                                      \
    X(account)                                                                                     \
    X(calibrate)                                                                                   \
    X(train)                                                                                       \
    X(run)                                                                                         \
    X(trainer)                                                                                     \
    X(trial)                                                                                       \
    X(import)                                                                                      \
    X(status)                                                                                      \
    X(show)                                                                                        \
    X(export)                                                                                      \
    X(landscape)                                                                                   \
    X(plan)                                                                                        \
    X(selftest)                                                                                    \
    X(report)                                                                                      \
    X(verify)

#endif
