// SPDX-License-Identifier: GPL-3.0-or-later
// What a person gets who opens a report: charts with marks in them, no error, no request, tooltips, saved pictures,
// names for keyboard and screen reader, no overflow on a phone or on paper, and no way in for hostile names.
import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { launch, open } from "./browser.mjs";
import { folder, hostile, makeAll } from "./make.mjs";

const browser = await launch();
let failures = 0;

async function check(name, body) {
  const start = Date.now();
  try {
    await body();
    console.log(`ok ${name} (${Date.now() - start} ms)`);
  } catch (problem) {
    failures++;
    console.log(`FAIL ${name}: ${problem.message}`);
  }
}

// Everything of a page that can be asked at once: charts, names, overflow.
const inspect = (page) => page.evaluate(() => {
  const drawn = (figure) => {
    const marks = [...figure.querySelectorAll(".plot svg [class*='mark-'][role^='graphics'] :is(path, line, rect, text)")];
    const solid = marks.slice(0, 100).filter((mark) => mark.getBBox().width + mark.getBBox().height > 0 && !mark.closest(".role-axis, .role-legend"));
    const box = figure.querySelector(".plot svg")?.getBoundingClientRect();
    return {
      id: figure.id.replace(/^chart-\d+-/, ""), marks: solid.length, width: box?.width ?? 0, height: box?.height ?? 0,
      right: box?.right ?? 0, name: figure.querySelector(".plot").getAttribute("aria-label") ?? "",
      role: figure.querySelector(".plot").getAttribute("role"), caption: figure.querySelector("figcaption").textContent,
      rows: figure.querySelectorAll(".data tbody tr").length, buttons: [...figure.querySelectorAll("button")].map((b) => b.getAttribute("aria-label")),
    };
  };
  return {
    charts: [...document.querySelectorAll("figure.chart")].map(drawn),
    width: document.documentElement.scrollWidth, window: window.innerWidth,
    headings: document.querySelectorAll("h1").length, language: document.documentElement.lang,
    unnamed: [...document.querySelectorAll("th")].filter((cell) => !cell.scope).length,
    mark: document.querySelector(".verdict .mark")?.textContent ?? "",
    ids: [...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i),
  };
});

function expectCharts(seen, wanted) {
  const ids = seen.charts.map((chart) => chart.id);
  for (const id of wanted) assert(ids.includes(id), `no chart ${id} among ${ids}`);
  for (const chart of seen.charts) {
    assert(chart.marks > 0, `${chart.id} has no marks`);
    assert(chart.width > 200 && chart.height > 60, `${chart.id} is ${chart.width} × ${chart.height}`);
    assert.equal(chart.role, "img");
    assert(chart.name.length > 30 && chart.name.startsWith(chart.caption), `${chart.id} has no text alternative`);
    assert(chart.rows > 0, `${chart.id} has no table`);
    assert.equal(chart.buttons.length, 2);
    for (const name of chart.buttons) assert.match(name, /^Save as (SVG|PNG): ./);
  }
}

function expectFits(seen) {
  assert(seen.width <= seen.window, `the page is ${seen.width} wide in a window of ${seen.window}`);
  for (const chart of seen.charts) assert(chart.right <= seen.window + 0.5, `${chart.id} ends at ${chart.right}`);
}

// Moves the mouse onto the largest symbol, bar or cell of a chart.
async function hoverMark(page, id) {
  const place = await page.evaluate((chart) => {
    const figure = document.getElementById(`chart-0-${chart}`);
    figure.scrollIntoView({ block: "center" });
    const boxes = [...figure.querySelectorAll(".plot svg :is(.mark-symbol, .mark-rect)[role] > path")].map((mark) => mark.getBoundingClientRect());
    const box = boxes.reduce((best, next) => (next.width * next.height > best.width * best.height ? next : best));
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  }, id);
  await page.mouse.move(place.x - 1, place.y);
  await page.mouse.move(place.x, place.y);
}

const reports = makeAll();

for (const [name, { path, charts }] of Object.entries(reports)) {
  await check(`${name}: draws, named, fits wide, narrow and on paper`, async () => {
    const { page, problems, close } = await open(browser, path);
    const seen = await inspect(page);
    expectCharts(seen, charts);
    expectFits(seen);
    assert.equal(seen.headings, 1);
    assert.equal(seen.language, "en");
    assert.equal(seen.unnamed, 0, "a header cell has no scope");
    assert.deepEqual(seen.ids, [], "an id is there twice");
    const marks = { refuted: /^✗ Claim refuted$/, scores: /^○ Claim not refuted$/, doubted: /^\? Inconclusive$/ };
    assert.match(seen.mark, marks[name] ?? /^[○●◇–] ./); // told without colour
    assert(["several", "trend"].includes(name) || (await page.title()).startsWith(seen.mark));
    await page.emulateMedia({ media: "print" });
    await page.setViewportSize({ width: 794, height: 1123 }); // A4 at 96 dpi
    await page.waitForTimeout(100);
    expectFits(await inspect(page));
    assert.equal(await page.locator(".tools:visible").count(), 0, "buttons are printed");
    await page.emulateMedia({ media: "screen" });
    await page.setViewportSize({ width: 360, height: 740 });
    await page.waitForTimeout(300); // charts follow the width
    expectFits(await inspect(page));
    assert.deepEqual(problems, []);
    await close();
  });
}

await check("tooltips", async () => {
  const { page, close } = await open(browser, reports.refuted.path);
  for (const id of ["bounds", "histogram", "region"]) {
    await hoverMark(page, id);
    const tip = page.locator("#vg-tooltip-element.visible");
    await tip.waitFor({ timeout: 20000 });
    assert((await tip.textContent()).length > 3, `${id}: empty tooltip`);
    await page.mouse.move(2, 2);
  }
  await close();
});

await check("saves pictures", async () => {
  const { page, problems, close } = await open(browser, reports.refuted.path);
  for (const [type, start] of [["SVG", "<svg"], ["PNG", "\x89PNG"]]) {
    const waiting = page.waitForEvent("download");
    await page.getByRole("button", { name: `Save as ${type}: ROC of the attack` }).click();
    const download = await waiting;
    assert.equal(download.suggestedFilename(), `dpaudit-0-roc.${type.toLowerCase()}`);
    const bytes = readFileSync(await download.path());
    assert(bytes.toString("latin1").startsWith(start), `${type} does not start with ${start}`);
    assert(bytes.length > 2000);
  }
  assert.deepEqual(problems, []);
  await close();
});

await check("keyboard: data and saving are reached and opened", async () => {
  const { page, close } = await open(browser, reports.counts.path);
  const reached = [];
  for (let i = 0; i < 6; i++) {
    await page.keyboard.press("Tab");
    const name = await page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent);
    if (name.startsWith("Data of: ")) await page.keyboard.press("Enter");
    reached.push(name);
  }
  assert(reached.some((name) => name.startsWith("Save as SVG")), "no button is reached");
  assert((await page.locator("details[open] table:visible").count()) > 0, "no table was opened");
  await close();
});

await check("dark and light, and the change between them", async () => {
  const { page, close } = await open(browser, reports.counts.path, { colorScheme: "dark" });
  const colours = () => page.evaluate(() => [
    getComputedStyle(document.body).backgroundColor,
    document.querySelector(".plot svg .role-axis-title text").getAttribute("fill"),
  ]);
  const dark = await colours();
  await page.emulateMedia({ colorScheme: "light" });
  await page.waitForFunction((ink) => document.querySelector(".plot svg .role-axis-title text")?.getAttribute("fill") !== ink, dark[1]);
  const light = await colours();
  assert.notEqual(dark[0], light[0]);
  assert.equal((await page.locator("figure.chart button").count()), 2 * (await page.locator("figure.chart").count()));
  await close();
});

await check("hostile names are shown and do nothing", async () => {
  const { page, problems, close } = await open(browser, reports.hostile.path);
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.locator("script").count(), 2);
  assert((await page.locator("body").innerText()).includes(hostile));
  await hoverMark(page, "bounds");
  await page.locator("#vg-tooltip-element.visible").waitFor();
  assert.equal(await page.locator("#vg-tooltip-element img, #vg-tooltip-element script").count(), 0);
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.deepEqual(problems, []);
  await close();
});

await check("without a script the page says so and keeps its numbers", async () => {
  const { page, close } = await open(browser, reports.refuted.path, { javaScriptEnabled: false });
  assert.match(await page.locator("noscript").innerText(), /tables under them/);
  assert((await page.locator(".verdict .headline").innerText()).length > 20);
  assert((await page.locator("details.data").count()) > 4);
  await close();
});

await browser.close();
rmSync(folder, { recursive: true });
process.exit(failures ? 1 : 0);
