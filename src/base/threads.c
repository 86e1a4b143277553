/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads take task numbers from a shared counter. Which thread does which task does not change
 * results, because tasks write no shared data. */
#include "base/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

unsigned dpa__threads(unsigned asked) {
    if (asked > 0) return asked;
    const long found = sysconf(_SC_NPROCESSORS_ONLN);
    return found < 1 ? 1 : found > DPA__MOST_THREADS ? DPA__MOST_THREADS : (unsigned)found;
}

unsigned dpa__threads_worth(unsigned asked, double work, double share) {
    const double most = 1.0 + work / share;
    const unsigned wanted = dpa__threads(asked);
    return (double)wanted < most ? wanted : (unsigned)most;
}

typedef struct crew {
    dpa__task *call;
    void *user;
    size_t tasks;
    atomic_size_t next;
    atomic_int stop;
} crew;

static void take_tasks(crew *c) {
    while (!atomic_load(&c->stop)) {
        const size_t task = atomic_fetch_add(&c->next, 1);
        if (task >= c->tasks) return;
        if (c->call(c->user, task) != 0) atomic_store(&c->stop, 1);
    }
}

static void *helper(void *argument) {
    take_tasks(argument);
    return NULL;
}

dpa_status dpa__parallel(unsigned threads, size_t tasks, dpa__task *call, void *user,
                         dpa_error *err) {
    crew c = {.call = call, .user = user, .tasks = tasks};
    const size_t helpers = (threads < tasks ? threads : tasks > 0 ? tasks : 1) - 1;
    pthread_t *thread = DPA_NEW_ARRAY(pthread_t, helpers, err);
    if (thread == NULL) return DPA_NO_MEMORY;
    size_t started = 0;
    atomic_init(&c.next, 0);
    atomic_init(&c.stop, 0);
    while (started < helpers && pthread_create(&thread[started], NULL, helper, &c) == 0) ++started;
    take_tasks(&c);
    for (size_t i = 0; i < started; ++i) (void)pthread_join(thread[i], NULL);
    free(thread);
    if (atomic_load(&c.stop)) return dpa__fail(err, DPA_CANCELLED, "stopped on request");
    return DPA_OK;
}
