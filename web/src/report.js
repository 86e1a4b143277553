// SPDX-License-Identifier: GPL-3.0-or-later
// Draws every chart of the page. A chart is a <figure class="chart"> with its Vega-Lite specification in the page's
// data block; the page itself, its tables and texts are made in C and read well without this script.
// Expressions are interpreted, not compiled, so that the page can forbid eval.
import embed from "vega-embed";
import { expressionInterpreter } from "vega-interpreter";
import { addTools } from "./save.js";
import { theme } from "./theme.js";

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const views = new Map(); // figure id → Vega view

async function draw(figure, chart, isDark) {
  const place = figure.querySelector(".plot"); // has the text alternative; what is drawn in it is not read out mark by mark
  const canvas = document.createElement("div");
  canvas.setAttribute("aria-hidden", "true");
  place.replaceChildren(canvas);
  const spec = structuredClone(chart.spec);
  spec.config = theme(isDark, place.clientWidth);
  spec.autosize = { type: "fit-x", contains: "padding" };
  views.get(figure.id)?.finalize();
  const { view } = await embed(canvas, spec, {
    ast: true,
    expr: expressionInterpreter,
    renderer: "svg",
    actions: false,
    logLevel: 1, // errors; Vega-Lite warns of sizes that it settles itself
    tooltip: { theme: isDark ? "dark" : "light" },
  });
  views.set(figure.id, view);
  figure.dataset.drawn = "true";
}

const charts = JSON.parse(document.getElementById("charts").textContent);

async function drawAll(isDark) {
  for (const chart of charts) {
    const figure = document.getElementById(`chart-${chart.id}`);
    try {
      await draw(figure, chart, isDark);
    } catch (problem) {
      figure.querySelector(".plot").textContent = `This chart could not be drawn: ${problem.message}`;
      console.error(chart.id, problem);
    }
  }
  document.documentElement.dataset.drawn = "true";
}

for (const chart of charts) {
  const figure = document.getElementById(`chart-${chart.id}`);
  addTools(figure, chart.id, () => views.get(figure.id));
}
drawAll(dark.matches);
dark.addEventListener("change", () => drawAll(dark.matches));
// Paper is white: charts are drawn for it, and drawn again for the screen afterwards.
window.addEventListener("beforeprint", () => dark.matches && drawAll(false));
window.addEventListener("afterprint", () => dark.matches && drawAll(true));
