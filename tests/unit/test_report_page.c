/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pages of results that are made up: the words and numbers at the edges of what a result can say,
 * where tests/golden has only results that commands give. */
#include "check.h"

#include <jansson.h>

#include "report/render/html.h"

enum { MOST = 8 };

/* The page of some results, whose JSON is given with ' for ". */
static char *page_of(const char *const *jsons, const char *const *paths, size_t count) {
    json_t *results[MOST];
    dpa__text text = {0};
    char *out = NULL;
    for (size_t i = 0; i < count; ++i) {
        char *json = strdup(jsons[i]);
        json_error_t why;
        assert_non_null(json);
        for (char *at = json; (at = strchr(at, '\'')) != NULL;) *at = '"';
        results[i] = json_loads(json, 0, &why);
        if (results[i] == NULL) fail_msg("%s: %s", why.text, json);
        free(json);
    }
    dpa__html_page(&text, results, paths, count);
    for (size_t i = 0; i < count; ++i) json_decref(results[i]);
    assert_ok(dpa__text_take(&text, &out, NULL));
    return out;
}

static void has(const char *page, const char *words) {
    const char *body = strstr(page, "<main>");
    assert_non_null(body);
    if (strstr(body, words) == NULL) fail_msg("'%s' is not in %.3000s", words, body);
}

static void has_not(const char *page, const char *words) {
    const char *body = strstr(page, "<main>");
    assert_non_null(body);
    if (strstr(body, words) != NULL) fail_msg("'%s' is in the page", words);
}

/* The page of one result has (or, after a '!', has not) these words. */
static void shows(const char *json, const char *words) {
    char *page = page_of(&json, NULL, 1);
    if (words[0] == '!')
        has_not(page, words + 1);
    else
        has(page, words);
    free(page);
}

/* ── in plain words ──────────────────────────────────────────────────────────────────── */

/* A result that shows ε ≥ `shown` and claims ε ≤ `claimed` at δ. */
static char *judged(double shown, double claimed, double delta, const char *more) {
    static char json[1000];
    char claim[200] = "";
    if (!isnan(claimed))
        (void)dpa__print(claim, sizeof claim, "'claim': {'epsilon': %.17g, 'delta': %.17g},",
                         claimed, delta);
    (void)dpa__print(json, sizeof json,
                     "{'dpaudit': '1', 'command': 'scores', 'delta': %.17g, 'verdict': {'state': "
                     "'not-refuted', %s 'epsilon_lower': %.17g}, 'results': [{'role': 'primary', "
                     "'guarantee': 'confidence', 'method': 'cp', 'epsilon_lower': %.17g}]%s}",
                     delta, claim, shown, shown, more);
    return json;
}

/* Right in (1 + δe^−ε)/(1 + e^−ε) of the cases, with more digits close to 100. */
static void how_often_right(void **state) {
    static const struct {
        double epsilon, delta;
        const char *words;
    } cases[] = {{0, 0.5, "right in more than 75. "},
                 {1.0986122886681098, 0, "right in more than 75. "},
                 {4.59, 0, "right in more than 99. "},
                 {4.6, 0, "right in more than 99.00. "},
                 {6, 0.5, "right in more than 99.88. "},
                 {9.90, 0, "right in more than 99.99. "},
                 {9.91, 0, "right in more than practically all. "},
                 {900, 0, "right in more than practically all. "}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        shows(judged(0, cases[i].epsilon, cases[i].delta, ""), cases[i].words);
    shows(judged(0, 1, 0, ""), "This audit shows nothing against any such promise. ");
    shows(judged(1.0986122886681098, 1, 0, ""), "no promise below 75 can be kept. ");
    shows(judged(2, NAN, 0, ""), "After what was shown, no promise below 88 can be kept. ");
    shows(judged(2, NAN, 0, ""), "!If the claim holds");
    shows(judged(0, NAN, 0, ""), "!In plain words");
    shows(judged(1, NAN, 0, ", 'quality': {'balanced_accuracy': {'value': 0.625}}"),
          "The attack of this audit was right in 62.</p>");
    shows(judged(1, NAN, 0, ""), "!The attack of this audit");
    shows("{'command': 'scores', 'verdict': {'epsilon_lower': 1, 'claim': {'epsilon': 0}}, "
          "'delta': 0.5, 'results': [{'guarantee': 'confidence'}]}",
          "right in more than 75. "); /* a claim without a δ is at that of the result */
}

static void only_a_bound_has_plain_words(void **state) {
    (void)state;
    static const char *const silent[] = {
        "{'verdict': {'epsilon_lower': 1}, 'delta': -1, 'results': [{'guarantee': 'confidence'}]}",
        "{'verdict': {'epsilon_lower': 1}, 'results': [{'guarantee': 'confidence'}]}",
        "{'verdict': {'epsilon_lower': 1}, 'delta': 0, 'results': [{'guarantee': 'posterior'}]}",
        "{'verdict': {'epsilon_lower': 1}, 'delta': 0, 'results': []}",
        "{'verdict': {}, 'delta': 0, 'results': [{'guarantee': 'confidence'}]}"};
    for (size_t i = 0; i < sizeof silent / sizeof silent[0]; ++i)
        shows(silent[i], "!In plain words");
    static const char *const scopes[][2] = {
        {"step", "was used in one step of a training; "},
        {"participation", "was used by one participation in a training; "},
        {"training", "was used in a training; "}};
    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; ++i) {
        char json[300];
        (void)snprintf(json, sizeof json,
                       "{'verdict': {'epsilon_lower': 1, 'scope': '%s'}, 'delta': 0, 'results': "
                       "[{'guarantee': 'confidence'}]}",
                       scopes[i][0]);
        shows(json, scopes[i][1]);
    }
}

/* The number of a test whose assumption the data contradict is shown in the table alone, as void.
 */
static void a_void_number_is_not_quoted(void **state) {
    static const char *const doubts[] = {"", "{'assumption': 'independent-runs', 'reason': 'r'}"};
    (void)state;
    for (int is_void = 0; is_void < 2; ++is_void) {
        char json[1000];
        (void)snprintf(json, sizeof json,
                       "{'dpaudit': '1', 'command': 'scores', 'delta': 1e-5, 'verdict': {'state': "
                       "'%s', 'claim': {'epsilon': 1, 'sigma': 2, 'delta': 1e-5}, 'epsilon_lower': "
                       "3, 'p_value': 0.5, 'contradicted': [%s]}, 'quality': {'balanced_accuracy': "
                       "{'value': 0.75}}, 'results': [{'role': 'primary', 'guarantee': "
                       "'confidence', 'method': 'cp', 'epsilon_lower': 3, 'parameter': {'name': "
                       "'sigma', 'lower': 0.4}, 'assumptions': ['independent-runs', "
                       "'family-dp']}]}",
                       is_void ? "inconclusive" : "refuted", doubts[is_void]);
        static const char *const quoted[] = {
            "no promise below",  "The attack of this audit", "<dt>ε at least", "<dt>p-value",
            "<dt>noise σ shown", "The headline assumes:",    "● confidence"};
        static const char *const instead[] = {"What was observed does not count",
                                              "The test stands on:", "✗ void",
                                              "Here it decides nothing"};
        char *page = page_of((const char *const[]){json}, NULL, 1);
        for (size_t i = 0; i < sizeof quoted / sizeof *quoted; ++i)
            (is_void ? has_not : has)(page, quoted[i]);
        for (size_t i = 0; i < sizeof instead / sizeof *instead; ++i)
            (is_void ? has : has_not)(page, instead[i]);
        has(page, "<dt>noise σ promised");
        has(page,
            is_void ? "each <strong>(✗ the data contradict this)</strong></li>" : "each</li>");
        has(page, "definition itself</li>");
        free(page);
    }
}

/* ── marks and titles ────────────────────────────────────────────────────────────────── */

static void marks(void **state) {
    static const char *const cases[][2] = {
        {"{'command': 'account'}", "<p class=\"mark\">● What the claim means</p>"},
        {"{'command': 'plan'}", "<p class=\"mark\">● Result</p>"},
        {"{'verdict': {'state': 'refuted'}}", "verdict refuted\" role=\"status\"><p class=\"mark\""
                                              ">✗ Claim refuted</p>"},
        {"{'verdict': {'state': 'inconclusive'}}", "verdict\" role=\"status\"><p class=\"mark\">? "
                                                   "Inconclusive</p>"},
        {"{'verdict': {'state': 'not-refuted'}}", ">○ Claim not refuted</p>"},
        {"{'verdict': {'state': 'no-claim'}}", ">– No result</p>"},
        {"{'verdict': {}, 'results': [{'guarantee': 'estimate'}]}", ">◇ Estimate</p>"},
        {"{'verdict': {}, 'results': [{'epsilon': 1}]}", ">◇ Estimate</p>"},
        {"{'verdict': {}, 'results': [{'guarantee': 'confidence'}]}", ">● Lower bound</p>"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) shows(cases[i][0], cases[i][1]);
}

static void titles(void **state) {
    static const char *const cases[][2] = {
        {"{'command': 'invented'}", "<h1>invented</h1>"},
        {"{'command': 'calibrate', 'subject': 'a.yaml'}", "<h1>Noise for a promise: a.yaml</h1>"},
        {"{'evidence': {'game': 'white-box'}}", "<h1>White-box game</h1>"},
        {"{'command': 'run', 'provenance': {'inputs': [{'path': 'a.csv'}]}}",
         "<h1>Audit by repeated training: a.csv</h1>"},
        {"{'command': 'plan', 'provenance': {'inputs': [{'path': '/a.csv'}, {'path': 'c/b/a'}]}}",
         "<h1>How large an audit must be: /a.csv, b/a</h1>"},
        {"{'command': 'run', 'provenance': {'inputs': [{'path': '/c/a'}, {'path': 'b'}, {}]}}",
         "<h1>Audit by repeated training: c/a, b and 1 more</h1>"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) shows(cases[i][0], cases[i][1]);
}

/* ── tables ──────────────────────────────────────────────────────────────────────────── */

static void cells(void **state) {
    static const char rows[] =
        "{'command': 'scores', 'verdict': {}, 'results': ["
        "{'role': 'shown', 'guarantee': 'confidence', 'method': 'a', 'epsilon_lower': 1.23456, "
        "'epsilon_upper': null, 'epsilon_upper_infinite': true, 'p_value': 0.123456},"
        "{'role': 'primary', 'guarantee': 'posterior', 'family': 'x<y', 'method': 'b', "
        "'epsilon_lower': 2, 'parameter': {'name': 'mu', 'lower': 0.123456}, 'confidence': 0.95},"
        "{'role': 'shown', 'guarantee': 'optimistic', 'method': 'c', 'epsilon_lower': 3},"
        "{'role': 'shown', 'method': 'd', 'epsilon': 4, 'parameter': {'name': 'mu'}}]}";
    (void)state;
    shows(rows, "<tr class=\"confidence\"><td></td><td>a</td><td class=\"number\"></td>"
                "<td class=\"number\">1.2346</td><td class=\"number\">∞</td><td>● confidence</td>"
                "<td class=\"number\"></td><td class=\"number\"></td>"
                "<td class=\"number\">0.1235</td></tr>\n");
    shows(rows, "<tr class=\"posterior best\"><td>x&lt;y</td><td>b</td><td class=\"number\"></td>"
                "<td class=\"number\">2.0000</td><td class=\"number\"></td><td>■ posterior</td>"
                "<td class=\"number\">mu 0.1235</td><td class=\"number\">95%</td>"
                "<td class=\"number\"></td></tr>\n");
    shows(rows, "<td>▲ optimistic</td>");
    shows(rows, "<td>◆ estimate</td>");
    shows(rows, "!<th scope=\"col\">chosen by</th>"); /* no row has one */
    shows(rows, "<th scope=\"col\" class=\"number\">parameter</th>");
    shows("{'verdict': {}, 'results': [{'parameter': {'name': 'mu'}, 'epsilon_lower': 1}]}",
          "!class=\"number\">parameter</th>");
    shows("{'verdict': {}, 'results': []}", "!<h2>Results</h2>");
}

static void facts(void **state) {
    static const char result[] =
        "{'command': 'account', 'delta': 1e-5, 'epsilon': {'lower': 1.23456789012, 'upper': 2},"
        "'auc': {'value': 0.123456, 'lower': 0.1, 'upper': 0.1987654}, 'open_end': {'lower': 3},"
        "'steps': 1234567890, 'is_exact': true, 'is_not': false, 'word': 'a&b', 'none': null,"
        "'group': {'half_size': 0.5, 'sha256': 'abc', 'list': [1]},"
        "'table': {'rows': [{'x': 1}], 'ceilings': [{'y_z': 2.5}], 'stops': []}}";
    static const char *const wanted[] = {
        "<section><h2>In numbers</h2>",
        "<th scope=\"row\">epsilon</th><td>1.2345679 to 2</td>",
        "<th scope=\"row\">auc</th><td>0.1235, from 0.1 to 0.1988</td>",
        "<th scope=\"row\">open end</th><td>3 to ∞</td>",
        "<th scope=\"row\">steps</th><td>1234567890</td>",
        "<th scope=\"row\">is exact</th><td>yes</td>",
        "<th scope=\"row\">is not</th><td>no</td>",
        "<th scope=\"row\">word</th><td>a&amp;b</td>",
        "<th scope=\"row\">group · half size</th><td>0.5</td>",
        "<table><caption>table</caption><thead><tr><th scope=\"col\">x</th></tr></thead><tbody>\n"
        "<tr><td>1</td></tr>\n</tbody></table>",
        "<table><caption>ceilings</caption><thead><tr><th scope=\"col\">y z</th>",
        "ε is between 1.2345679 and 2 at δ = 1e-05.",
        "!<caption>stops</caption>",
        "!<td>abc</td>",
        "!<th scope=\"row\">none</th>"};
    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; ++i) shows(result, wanted[i]);
    shows("{'command': 'account', 'delta': 0.25, 'epsilon': {'lower': 1.5}}",
          "ε is at least 1.5 at δ = 0.25.");
    shows("{'command': 'plan'}", "The numbers are below.");
    shows("{'verdict': {}, 'quality': {'tpr_at_fpr': [{'fpr': 0.01, 'tpr': {'value': 0.5, "
          "'lower': 0.25, 'upper': 0.75}}, {'fpr': 0.1}]}}",
          "attack · TPR at FPR 0.01</th><td>0.5, from 0.25 to 0.75</td>");
    shows("{'verdict': {}, 'quality': {'tpr_at_fpr': [{'fpr': 0.1}]}}", "!FPR 0.1<");
}

/* A page shows 200 rows of a table at most. */
static void long_tables(void **state) {
    (void)state;
    for (size_t count = 200; count <= 201; ++count) {
        json_t *rows = json_array();
        dpa__text text = {0};
        for (size_t i = 0; i < count; ++i)
            assert_int_equal(
                json_array_append_new(rows, json_pack("{s:I}", "n", (json_int_t)i + 1000)), 0);
        dpa__html_rows(&text, "a_b", rows);
        assert_non_null(strstr(text.data, "<caption>a b</caption>"));
        assert_non_null(strstr(text.data, "<td>1199</td>"));
        assert_null(strstr(text.data, "<td>1200</td>"));
        assert_true((strstr(text.data, "The first 200 of 201 rows") != NULL) == (count == 201));
        assert_true((strstr(text.data, "The first") != NULL) == (count == 201));
        dpa__text_free(&text);
        json_decref(rows);
    }
}

static void labels(void **state) {
    char key[140] = "", wanted[140];
    dpa__text text = {0};
    (void)state;
    dpa__html_label(&text, "a__b_c_");
    assert_string_equal(text.data, "a  b c ");
    dpa__text_free(&text);
    for (size_t length = 127; length <= 128; ++length) { /* a longer word is nobody's */
        memset(key, 'k', length);
        (void)snprintf(wanted, sizeof wanted, "<%s>", length == 127 ? key : "");
        dpa__text_add(&text, "<");
        dpa__html_label(&text, key);
        dpa__text_add(&text, ">");
        assert_string_equal(text.data, wanted);
        dpa__text_free(&text);
    }
    dpa__html_escape(&text, "<a href=\"x\">'&'</a>");
    assert_string_equal(text.data, "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
    dpa__text_free(&text);
}

/* ── what to know ────────────────────────────────────────────────────────────────────── */

static void basis(void **state) {
    static const char *const cases[][2] = {
        {"{'results': [{'select': 'fixed:1'}]}", "<strong>fixed:1</strong> (fixed before"},
        {"{'results': [{'select': 'split'}]}", "<strong>split</strong> (chosen on one half"},
        {"{'results': [{'select': 'splitting'}]}", "<strong>splitting</strong>.</li>"},
        {"{'results': [{'select': 'max'}]}", "(the best on the same data, uncorrected"},
        {"{'results': [{}]}", "!The threshold or number of guesses"},
        {"{'results': [{'numerical_error': 0.00123456}]}", "at most 0.00123.</li>"},
        {"{'results': [{}]}", "!Numerical error"},
        {"{'results': [{'note': 'so'}]}", "<li>so</li>"},
        {"{'results': [{'guarantee': 'estimate'}]}", "An estimate is the leak"},
        {"{'results': [{'guarantee': 'posterior'}]}", "A lower bound says what was shown"},
        {"{'results': [{'assumptions': ['independent-runs', 'of my own', 3]}]}",
         "<li>of my own</li>\n</ul>"},
        {"{'results': [{'assumptions': []}]}", "!The headline assumes"},
        {"{'results': [{}], 'evidence': {'lints': [{'text': 'a'}, {'text': 'b'}]}}",
         "<ul class=\"lints\">\n<li>a</li>\n<li>b</li>\n</ul>"},
        {"{'results': [{}], 'evidence': {'lints': []}}", "!About the evidence"},
        {"{'results': []}", "!How sure, and why"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) shows(cases[i][0], cases[i][1]);
}

static void tiles(void **state) {
    static const char result[] =
        "{'delta': 1.23456e-5, 'verdict': {'claim': {'epsilon': 2, 'delta': 1e-5, 'sigma': "
        "1.23456}, 'p_value': 0.1234, 'would_detect': {'epsilon': 2.3456, 'epsilon_gaussian': "
        "3.4567}}, 'results': [{'role': 'primary', 'guarantee': 'confidence', 'epsilon_lower': "
        "1.23456, 'confidence': 0.95, 'parameter': {'name': 'sigma', 'lower': 0.98765}}]}";
    static const char *const wanted[] = {"<dt>ε at least</dt><dd>1.235</dd>",
                                         "<dt>noise σ promised</dt><dd>1.235</dd>",
                                         "<dt>noise σ shown, at most</dt><dd>0.9877</dd>",
                                         "<dt>at δ</dt><dd>1.23e-05</dd>",
                                         "<dt>confidence</dt><dd>95%</dd>",
                                         "<dt>p-value of the claim</dt><dd>0.12</dd>",
                                         "<dt>would have detected ε</dt><dd>2.35</dd>",
                                         "<dt>from too little Gaussian noise</dt><dd>3.46</dd>"};
    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; ++i) shows(result, wanted[i]);
    shows("{'results': [{'epsilon': 1.5, 'epsilon_lower': 0.5}]}",
          "<dt>ε, estimated</dt><dd>1.5</dd>");
    shows("{'results': [{'guarantee': 'confidence', 'epsilon_lower': 1, 'parameter': {'name': "
          "'mu', 'lower': 1}}]}",
          "!noise σ shown");
    shows("{'results': [{'epsilon': 1}]}", "!<dt>confidence</dt>");
}

/* ── several results ─────────────────────────────────────────────────────────────────── */

static void names_of_audits(void **state) {
    static const char *const jsons[] = {
        "{'verdict': {'epsilon_lower': 1, 'state': 'refuted', 'headline': 'H<1', 'claim': "
        "{'epsilon': 0.5}}}",
        "{'verdict': {'epsilon_lower': 2, 'state': 'no-claim', 'would_detect': {}}}",
        "{'verdict': {'epsilon_lower': 3.14159, 'state': 'no-claim', 'would_detect': "
        "{'epsilon_gaussian': 4.5678}}}",
        "{'verdict': {}}",
        "{'delta': 0.001234, 'verdict': {'epsilon_lower': 4, 'state': 'no-claim', 'would_detect': "
        "{'epsilon': 5.4321, 'epsilon_gaussian': 1}}, 'provenance': {'time': 'noon'}}"};
    static const char *const paths[] = {"a/x.json", "b/x.json", "-", "none.json", "c/.y.tar.json"};
    static const char *const wanted[] = {
        "<h1>5 results</h1>",
        "at least ε = 1 in the first audit, 4 in the last. The claim fell in 1 of 1 audit. A lower",
        "<li><a href=\"#result-0\">x: </a> <strong>✗ Claim refuted</strong>. H&lt;1</li>",
        "<tr><td><a href=\"#result-0\">x</a></td><td>refuted</td><td class=\"number\">1</td>"
        "<td class=\"number\">0.5</td><td class=\"number\">–</td><td class=\"number\">–</td>"
        "<td></td></tr>",
        "<a href=\"#result-1\">x 2</a></td><td>no claim</td><td class=\"number\">2</td>"
        "<td class=\"number\">–</td><td class=\"number\">no leak</td>",
        "<a href=\"#result-2\">result 3</a></td><td>no claim</td><td class=\"number\">3.142</td>"
        "<td class=\"number\">–</td><td class=\"number\">4.57 from too little Gaussian noise</td>",
        "<a href=\"#result-4\">.y.tar</a></td><td>no claim</td><td class=\"number\">4</td><td "
        "class=\"number\">–</td><td class=\"number\">5.43</td><td class=\"number\">0.00123</td>"
        "<td>noon</td></tr>",
        "<article id=\"result-4\">\n<h2>.y.tar: </h2>"};
    (void)state;
    char *page = page_of(jsons, paths, 5);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; ++i) has(page, wanted[i]);
    has_not(page, "#result-3\">none</a></td>");
    free(page);
    page = page_of(jsons + 2, paths + 2, 2); /* one bound is no trend */
    has_not(page, "From audit to audit");
    has(page, "<h1>2 results</h1>");
    free(page);
    page = page_of(jsons + 1, paths + 1, 2);
    has(page, "From audit to audit");
    has_not(page, "The claim fell");
    free(page);
    page = page_of(jsons, NULL, 2); /* without names there is no axis */
    has_not(page, "From audit to audit");
    has(page, "<a href=\"#result-1\"></a>");
    free(page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_often_right),
        cmocka_unit_test(only_a_bound_has_plain_words),
        cmocka_unit_test(a_void_number_is_not_quoted),
        cmocka_unit_test(marks),
        cmocka_unit_test(titles),
        cmocka_unit_test(cells),
        cmocka_unit_test(facts),
        cmocka_unit_test(long_tables),
        cmocka_unit_test(labels),
        cmocka_unit_test(basis),
        cmocka_unit_test(tiles),
        cmocka_unit_test(names_of_audits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
