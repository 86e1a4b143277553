// SPDX-License-Identifier: GPL-3.0-or-later
// How charts look on light and dark paper. The colours of the marks are in the specifications and fit both.

export function theme(dark, width) {
  const ink = dark ? "#e7e9ec" : "#1c1e21";
  const quiet = dark ? "#a5abb3" : "#5b6168";
  const line = dark ? "#33383e" : "#e4e7ea";
  const narrow = width < 420;
  return {
    background: dark ? "#16181b" : "#ffffff", // also that of saved pictures
    font: "system-ui, sans-serif",
    view: { stroke: null },
    axis: {
      labelColor: quiet, titleColor: ink, gridColor: line, domainColor: quiet, tickColor: quiet,
      labelFontSize: 11, titleFontSize: 12, titleFontWeight: 500, titlePadding: 8, labelOverlap: true,
    },
    axisX: { tickCount: narrow ? 4 : 7 },
    axisY: { labelLimit: Math.max(90, 0.38 * width), tickCount: 6 },
    legend: { labelColor: ink, titleColor: ink, labelFontSize: 12, symbolSize: 90, symbolOpacity: 1, orient: "top", titleFontWeight: 500, columns: Math.max(1, Math.floor(width / 240)), labelLimit: 260 },
    title: { color: ink },
    text: { color: ink, fontSize: 12 },
    rule: { color: ink },
    line: { strokeWidth: 2 },
  };
}
