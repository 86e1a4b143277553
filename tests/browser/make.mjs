// SPDX-License-Identifier: GPL-3.0-or-later
// The reports that are looked at: made by the command itself from seeded evidence, one per kind; and two by hand, an
// empty result and one whose every string is hostile.
import { createHash } from "node:crypto";
import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const folder = mkdtempSync(join(tmpdir(), "dpaudit-browser-"));

// Park and Miller's generator: enough for test data, the same everywhere.
function generator(seed) {
  let state = seed;
  const uniform = () => (state = (state * 48271) % 2147483647) / 2147483647;
  return { uniform, normal: () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()) };
}

function file(name, lines) {
  const path = join(folder, name);
  writeFileSync(path, `${lines.join("\n")}\n`);
  return path;
}

// Runs dpaudit; the exit code must be one of `codes`.
export function dpaudit(args, codes = [0, 1, 5]) {
  const run = spawnSync(process.env.DPAUDIT, args, { encoding: "utf8", cwd: folder });
  if (!codes.includes(run.status)) throw new Error(`dpaudit ${args.join(" ")}: exit ${run.status}\n${run.stderr}`);
  return run;
}

function scores(name, count, shift, seed) {
  const { normal } = generator(seed);
  const rows = ["score,member"];
  for (let i = 0; i < count; i++) rows.push(`${(normal() + (i % 2 ? shift : 0)).toFixed(6)},${i % 2}`);
  return file(name, rows);
}

function canaries(name, count, shift, seed) {
  const { uniform, normal } = generator(seed);
  const rows = ["score,member"];
  for (let i = 0; i < count; i++) {
    const member = uniform() < 0.5 ? 1 : 0;
    rows.push(`${(normal() + member * shift).toFixed(6)},${member}`);
  }
  return file(name, rows);
}

function numbers(name, count, make) {
  return file(name, Array.from({ length: count }, (_, i) => make(i).toFixed(8)));
}

export const hostile = `</script><script>window.broken=1</script><img src=x onerror="window.broken=1">'"&{{7*7}}`;

// JSON as dpaudit writes it on one line; numbers here have no exponent.
function text(value) {
  if (Array.isArray(value)) return `[${value.map(text).join(", ")}]`;
  if (typeof value === "string") return `"${value.replace(/["\\]/g, "\\$&")}"`;
  if (value === null || typeof value !== "object") return String(value);
  return `{${Object.entries(value).map(([key, item]) => `${text(key)}: ${text(item)}`).join(", ")}}`;
}

// A result with its seal, the SHA-256 of everything else: as anybody could make one.
function stored(name, result) {
  const bare = { dpaudit: "0.1.0", ...result };
  const sha256 = createHash("sha256").update(text(bare)).digest("hex");
  return file(`${name}.json`, [text({ ...bare, sha256 })]);
}

function hostileResult() {
  const bound = {
    role: "primary", guarantee: "confidence", conditional: hostile, scope: "training",
    family: hostile, method: hostile, select: hostile, epsilon_lower: 1, epsilon_upper: null,
    confidence: 0.95, sides: 1, assumptions: [hostile], note: hostile,
    parameter: { name: hostile, lower: 1 },
  };
  return stored("hostile", {
    command: hostile, delta: 0.125, [hostile]: hostile,
    evidence: { kind: hostile, [hostile]: hostile, fn: 3, tp: 97, fp: 2, tn: 98, lints: [{ code: hostile, text: hostile }] },
    results: [bound], guesses_curve: [{ family: hostile, method: hostile, guesses: 10, correct: 9, epsilon_lower: 1 }],
    verdict: {
      state: "not-refuted", refuted: false, claim: { epsilon: 2, delta: 0.125, scope: "training", [hostile]: hostile },
      scope: hostile, contradicted: [], headline: `Not refuted: ${hostile}`,
    },
    provenance: { command: hostile, [hostile]: hostile, inputs: [{ path: hostile, sha256: hostile }] },
  });
}

function page(name, ...args) {
  const path = join(folder, `${name}.html`);
  dpaudit([...args, "--report", path]);
  return path;
}

function combine(name, ...results) {
  const path = join(folder, `${name}.html`);
  dpaudit(["report", ...results, "--out", path]);
  return path;
}

// name → {path, charts: ids that must be there}
export function makeAll() {
  const { normal, uniform } = generator(7);
  const strong = scores("strong.csv", 2000, 1.5, 11);
  const weak = scores("weak.csv", 400, 0.2, 12);
  const reversed = scores("reversed.csv", 2000, -1.5, 14);
  const run = canaries("run.csv", 1000, 1.5, 13);
  const train = numbers("train.txt", 800, () => Math.exp(normal() * 0.5 - 1.5));
  const heldout = numbers("heldout.txt", 800, () => Math.exp(normal() * 0.5 - 0.9));
  const cosines = numbers("cosines.txt", 500, () => (normal() + 2) / 100);
  const unseen = numbers("unseen.txt", 500, () => normal() / 100 + 0.02 + 0.001 * uniform());
  const strategies = file("strategies.csv", ["strategy,utility,epsilon,group", ...Array.from({ length: 36 }, (_, i) => {
    const group = ["noise", "dropout", "none"][i % 3];
    return `${group} ${i % 9},${(0.7 + 0.07 * (i % 3) + 0.02 * (i % 9) + 0.01 * normal()).toFixed(4)},${(1 + 3 * (i % 3) + 0.4 * (i % 9) + 0.1 * normal()).toFixed(4)},${group}`;
  })]);
  const empty = stored("empty", {
    command: "scores", delta: 0.125, evidence: { kind: "scores", lints: [] }, results: [],
    verdict: { state: "no-claim", refuted: false, headline: "No result: no estimator applies to this evidence." }, provenance: { inputs: [] },
  });
  const counts = join(folder, "counts.json");
  dpaudit(["counts", "--fn", "30", "--tp", "970", "--fp", "20", "--tn", "980", `--json=${counts}`]);
  const releases = [1, 2, 3, 4].map((n) => {
    const path = join(folder, `release-${n}.json`);
    dpaudit(["counts", "--fn", `${90 - 20 * n}`, "--tp", `${10 + 20 * n}`, "--fp", "10", "--tn", "90", "--claim-epsilon", "1.2", `--json=${path}`]);
    return path;
  });
  return {
    trend: { path: combine("trend", ...releases), charts: ["trend", "bounds"] },
    scores: { path: page("scores", "scores", weak, "--claim-epsilon", "3"), charts: ["bounds", "histogram", "roc", "roc-log", "region"] },
    refuted: { path: page("refuted", "scores", strong, "--claim-epsilon", "1"), charts: ["bounds", "histogram", "roc", "roc-log", "region", "posterior", "epsilon-delta"] },
    counts: { path: combine("counts", counts), charts: ["bounds", "region", "posterior", "epsilon-delta"] },
    one_run: { path: page("one_run", "one-run", run), charts: ["bounds", "guesses"] },
    losses: { path: page("losses", "losses", "--train", train, "--heldout", heldout), charts: ["bounds", "losses"] },
    cosines: { path: page("cosines", "cosines", cosines, "--dim", "10000"), charts: ["bounds", "cosines"] },
    iterates: { path: page("iterates", "cosines", cosines, "--null", unseen), charts: ["bounds", "cosines"] },
    account: { path: page("account", "account", "--sigma", "1", "--q", "0.01", "--steps", "100", "--points", "60"), charts: ["curve"] },
    landscape: { path: page("landscape", "landscape", strategies), charts: ["landscape", "landscape-epsilon", "landscape-utility"] },
    doubted: { path: page("doubted", "scores", reversed, "--claim-epsilon", "1"), charts: ["bounds", "histogram", "roc", "roc-log", "region"] },
    several: { path: combine("several", counts, empty), charts: ["bounds"] },
    empty: { path: combine("empty", empty), charts: [] },
    hostile: { path: combine("hostile", hostileResult()), charts: ["bounds", "region", "guesses"] },
  };
}
