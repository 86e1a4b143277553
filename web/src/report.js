// SPDX-License-Identifier: GPL-3.0-or-later
// Draws every chart of the page. A chart is a <figure class="chart"> with its Vega-Lite specification in the page's
// data block; the page itself, its tables and texts are made in C and read well without this script.
// Expressions are interpreted, not compiled, so that the page can forbid eval.
import { expressionInterpreter } from "vega-interpreter";
import embed from "vega-embed";

const dark = window.matchMedia("(prefers-color-scheme: dark)");

function theme() {
  const ink = dark.matches ? "#e6e6e6" : "#1a1a1a";
  const faint = dark.matches ? "#444" : "#ddd";
  return {
    background: "transparent",
    font: "system-ui, sans-serif",
    view: { stroke: faint },
    axis: { labelColor: ink, titleColor: ink, gridColor: faint, domainColor: ink, tickColor: ink },
    legend: { labelColor: ink, titleColor: ink },
    title: { color: ink },
    text: { color: ink },
    rule: { color: ink },
  };
}

async function draw(figure, chart) {
  const place = figure.querySelector(".plot");
  const spec = structuredClone(chart.spec);
  spec.config = { ...theme(), ...(spec.config ?? {}) };
  spec.autosize ??= { type: "fit", contains: "padding" };
  await embed(place, spec, {
    ast: true,
    expr: expressionInterpreter,
    renderer: "svg",
    actions: { export: { svg: true, png: true }, source: false, compiled: false, editor: false },
    downloadFileName: chart.id,
    tooltip: { theme: dark.matches ? "dark" : "light" },
  });
  figure.dataset.drawn = "true";
}

async function drawAll() {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  for (const chart of charts) {
    const figure = document.getElementById(`chart-${chart.id}`);
    try {
      await draw(figure, chart);
    } catch (problem) {
      figure.querySelector(".plot").textContent = `This chart could not be drawn: ${problem.message}`;
      console.error(chart.id, problem);
    }
  }
  document.documentElement.dataset.drawn = "true";
}

drawAll();
dark.addEventListener("change", drawAll);
