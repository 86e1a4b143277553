// SPDX-License-Identifier: GPL-3.0-or-later
// Bundles the front end into one script and computes the hash that the page's Content-Security-Policy allows.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const out = process.argv[2] ?? "dist";

await build({
  entryPoints: ["src/report.js"],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  outfile: `${out}/report.js`,
});

// "</script" inside the script would end the element that holds it.
const script = readFileSync(`${out}/report.js`, "utf8").replaceAll("</script", "<\\/script");
writeFileSync(`${out}/report.js`, script);
const hash = createHash("sha256").update(script).digest("base64");
writeFileSync(`${out}/report_hash.h`, `#define DPA_REPORT_SCRIPT_HASH "sha256-${hash}"\n`);
