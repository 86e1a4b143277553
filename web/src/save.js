// SPDX-License-Identifier: GPL-3.0-or-later
// The buttons under a chart that save it as a picture.

async function save(view, type, name) {
  const link = document.createElement("a");
  link.href = await view.toImageURL(type, type === "png" ? 2 : 1);
  link.download = `${name}.${type}`;
  link.click();
  if (link.href.startsWith("blob:")) setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export function addTools(figure, id, view) {
  const title = figure.querySelector("figcaption").textContent;
  const tools = figure.querySelector(".tools");
  for (const type of ["svg", "png"]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `Save ${type.toUpperCase()}`;
    button.setAttribute("aria-label", `Save as ${type.toUpperCase()}: ${title}`);
    button.addEventListener("click", () => view() && save(view(), type, `dpaudit-${id}`));
    tools.append(button);
  }
}
