/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a report, or from stored results, to a page. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/data.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "report/charts.h"
#include "report/html.h"
#include "report/integrity.h"
#include "report/model.h"
#include "report/value.h"

dpa_status dpa_report_html(const dpa_report *report, char **out, dpa_error *err) {
    json_t *value = dpa__report_to_json(report);
    if (value == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for a page");
    dpa__text text = {0};
    dpa__html_page(&text, &value, NULL, 1);
    json_decref(value);
    return dpa__text_take(&text, out, err);
}

dpa_status dpa__report_charts(const dpa_report *report, char **out, dpa_error *err) {
    json_t *value = dpa__report_to_json(report);
    json_t *charts = value != NULL ? dpa__charts(value) : NULL;
    json_decref(value);
    if (charts == NULL)
        return dpa__fail(err, DPA_NO_MEMORY, "no memory for the charts of a report");
    dpa__text text = {0};
    dpa__json_write(&text, charts, 0);
    json_decref(charts);
    return dpa__text_take(&text, out, err);
}

static dpa_status write_spec(const char *directory, const json_t *chart, dpa_error *err) {
    dpa__text path = {0}, text = {0};
    dpa__text_printf(&path, "%s/%s.vl.json", directory, dpa__word_of(chart, "id"));
    dpa__json_write(&text, json_object_get(chart, "spec"), 0);
    dpa__text_add(&text, "\n");
    const dpa_status status = path.failed || text.failed
                                  ? dpa__fail(err, DPA_NO_MEMORY, "no memory for a chart")
                                  : dpa__file_write(path.data, text.data, text.length, err);
    dpa__text_free(&path);
    dpa__text_free(&text);
    return status;
}

dpa_status dpa__report_vega(const dpa_report *report, const char *directory, dpa_error *err) {
    size_t index;
    json_t *chart;
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return dpa__fail_file(err, DPA_IO, directory, "cannot make the directory: %s",
                              strerror(errno));
    json_t *value = dpa__report_to_json(report);
    json_t *charts = value != NULL ? dpa__charts(value) : NULL;
    json_decref(value);
    if (charts == NULL) return dpa__fail(err, DPA_NO_MEMORY, "no memory for charts");
    dpa_status status = DPA_OK;
    json_array_foreach(charts, index, chart) {
        if (status == DPA_OK) status = write_spec(directory, chart, err);
    }
    json_decref(charts);
    return status;
}

static dpa_status read_result(const char *path, json_t **out, dpa_error *err) {
    DPA_TRY(dpa__json_read(path, out, NULL, err));
    const dpa_status status = dpa__result_check(path, *out, err);
    if (status == DPA_OK) return DPA_OK;
    json_decref(*out);
    *out = NULL;
    return status;
}

dpa_status dpa__report_combine(const char *const *paths, size_t count, char **out, dpa_error *err) {
    *out = NULL;
    if (count == 0) return dpa__fail(err, DPA_BAD_ARGUMENT, "a report needs at least one result");
    json_t **results = dpa__calloc(count, sizeof(json_t *), err);
    if (results == NULL) return DPA_NO_MEMORY;
    dpa_status status = DPA_OK;
    for (size_t i = 0; i < count && status == DPA_OK; ++i)
        status = read_result(paths[i], &results[i], err);
    dpa__text text = {0};
    if (status == DPA_OK) dpa__html_page(&text, results, paths, count);
    for (size_t i = 0; i < count; ++i) json_decref(results[i]);
    free(results);
    return status == DPA_OK ? dpa__text_take(&text, out, err) : status;
}
