// SPDX-License-Identifier: GPL-3.0-or-later
// Debian's Chromium, headless, with a fresh profile and nothing that talks to the network.
import { chromium } from "playwright-core";

export function launch() {
  return chromium.launch({
    executablePath: process.env.DPAUDIT_CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
      "--disable-sync", "--no-first-run",
    ],
  });
}

// A page of the report, with everything that went wrong on it: console messages, errors, requests, dialogs.
export async function open(browser, path, { width = 1200, colorScheme = "light", javaScriptEnabled = true } = {}) {
  const context = await browser.newContext({
    viewport: { width, height: 900 }, colorScheme, javaScriptEnabled, acceptDownloads: true,
  });
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => { problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) problems.push(`request: ${request.url()}`);
  });
  await page.goto(`file://${path}`);
  if (javaScriptEnabled) await page.waitForSelector("html[data-drawn=true]", { timeout: 20000 });
  return { page, problems, close: () => context.close() };
}
