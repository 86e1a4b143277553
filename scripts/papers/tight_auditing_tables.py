# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of papers/tight-auditing: README.md and inputs.md, from the CSV files alone."""
import pages

# Printed in Table 1 of the paper: the smallest and largest of its four columns at claimed ε = 1, 4, 8, 16.
PRINTED = {"gaussian cp max": "0.74–0.78, 0.79–0.89, 0.73–0.89, 0.70–0.82", "gaussian bayes max": "0.89–0.95, 0.88–0.95, 0.87–0.89, 0.86–0.95",
           "dp cp max": "0.35–0.45, 0.29–0.45, 0.41–0.51, 0.33–0.44", "dp bayes max": "0.57–0.62, 0.61–0.69, 0.58–0.64, 0.33–0.44",
           "dp katz max": "0.41–0.51, 0.41–0.54, 0.49–0.53, 0.47–0.50"}
PRINTED2 = {"0.1": "23.4", "1": "26.8", "10": "41.0", "most": "44.0"}
DATA = {"mnist": "MNIST", "adult": "Adult", "mnist-quietest": "MNIST, quietest weight"}
ORDER = ("gaussian rank", "gaussian cp simultaneous", "gaussian bayes split", "dp cp simultaneous", "dp bayes split",
         "gaussian cp max", "gaussian bayes max", "dp cp max", "dp bayes max", "dp katz max")
folder = None


def read(name):
    return pages.read(folder / f"{name}.csv")


def bound(row):
    return " ".join(filter(None, (row["family"], row["method"], row["select"])))


def keys(rows, column):
    """The values of a column in the order of the file."""
    return list(dict.fromkeys(r[column] for r in rows))


def number(row, column="epsilon_lower", digits=2):
    return f"{float(row[column]):.{digits}f}"


def bounds(rows):
    """The bounds that a file has, in the order of the pages."""
    return [b for b in ORDER if b in {bound(r) for r in rows}]


def one(rows, **wanted):
    """The row with these values."""
    found = [r for r in rows if all(r[k] == v for k, v in wanted.items())]
    assert len(found) == 1, wanted
    return found[0]


def by_bound(rows, column, cell):
    """A row for each bound, a cell for each value of the column."""
    at = {(bound(r), r[column]): r for r in rows}
    return [[b, *(cell(at[b, x]) for x in keys(rows, column))] for b in bounds(rows)]


def table1():
    shares = {}
    for data in DATA:
        for r in read(f"table1-{data}"):
            shares.setdefault((data, bound(r)), []).append(number(r, "share_of_claim"))
    rows = [[b, *(", ".join(shares[data, b]) for data in DATA), PRINTED.get(b, "")] for b in ORDER if all((data, b) in shares for data in DATA)]
    return ("bound", *DATA.values(), "paper, at 1, 4, 8, 16"), rows


def repeated():
    rows = read("repeated")
    at = {bound(r): r for r in rows}
    return ("bound", "valid", "above the truth", "mean bound"), [
        [b, "yes" if at[b]["valid"] == "1" else "no", f"{at[b]['above']} of {at[b]['audits']}", number(at[b], "mean")] for b in bounds(rows)]


def figure3():
    rows = read("figure3")
    return ("bound", *keys(rows, "observations")), by_bound(rows, "observations", lambda r: number(r, "mean"))


def figure6():
    """The paper's figure has no numbers; its text says that the best of prior work is about 5."""
    rows = read("figure6")
    at = {bound(r): r for r in rows}
    return ("bound", "mean", "deviation", "most"), [[b, *(number(at[b], c) for c in ("mean", "deviation", "most"))] for b in bounds(rows)]


def figure9():
    rows = read("figure9")
    return ("true ε", *keys(rows, "true_epsilon")), by_bound(rows, "true_epsilon", lambda r: f"{number(r, 'mean')} ({r['refuted_of_2']})")


def observations_needed(rows):
    """The smallest number of observations from which on every game is refuted."""
    needed = "no"
    for r in reversed(rows):
        if r["refuted"] != r["games"]:
            break
        needed = r["observations"]
    return needed


def section63():
    rows = read("section6.3")
    out, names = [], keys(rows, "bug")
    for b in bounds(rows):
        cells = []
        for bug in names:
            own = [r for r in rows if r["bug"] == bug and bound(r) == b]
            refuted, games = (sum(int(r[k]) for r in own) for k in ("refuted", "games"))
            right = f"refuted in {refuted} of {games} games" if refuted else "no"
            cells.append(right if bug == "none" else observations_needed(own))
        out.append([b, *cells])
    return ("bound", *names), out


def figure14():
    rows = read("figure14")
    shown = ("gaussian rank", "gaussian cp simultaneous", "gaussian cp max")
    at = {(r["canary"], r["place"], bound(r)): number(r) for r in rows}
    return ("canary", *shown), [[f"{c}, {p}", *(at[c, p, b] for b in shown)] for c, p in dict.fromkeys((r["canary"], r["place"]) for r in rows)]


def figure17():
    rows = read("figure17")
    return ("bound", *(f"{n} hidden units" for n in keys(rows, "hidden"))), by_bound(rows, "hidden", lambda r: number(r, "mean"))


def figure18():
    rows = read("figure18")
    return ("bound", *(f"K = {n}" for n in keys(rows, "augment"))), by_bound(rows, "augment", lambda r: number(r, "mean"))


def bugs():
    rows = read("bugs")
    games = keys(rows, "game")

    def cell(r):
        return f"**{number(r)}**" if r["refuted"] == "1" else number(r)
    return ("bug", *games), [[bug, *(cell(one(rows, bug=bug, game=g)) for g in games)] for bug in keys(rows, "bug")]


def figure15():
    rows = [r for r in read("figure15") + read("matched15") if r["method"] == "rank"]
    canaries = keys(rows, "canary")
    return ("claimed", *canaries), [[c, *(number(one(rows, claim=c, canary=k)) for k in canaries)] for c in keys(rows, "claim")]


def figure10():
    """The canary that the paper crafts, by each method, and that crafted for the matched filter."""
    rows = [r for r in read("figure15") + read("matched15") if r["canary"] in ("crafted", "matched")]
    columns = [(canary, method) for canary in keys(rows, "canary") for method in keys(rows, "method")]
    return ("claimed", *(f"{canary}: {method}" for canary, method in columns)), [
        [c, *(number(one(rows, claim=c, canary=canary, method=method)) for canary, method in columns)] for c in keys(rows, "claim")]


def matched():
    """A canary that was not played with so many records leaves its cell empty."""
    rows = read("matched")
    canaries, at = keys(rows, "canary"), {(r["records"], r["q"], r["canary"]): number(r, "step_epsilon_lower") for r in rows}
    return ("records", "q", *canaries, "truth"), [
        [n, q, *(at.get((n, q, k), "") for k in canaries), number(rows[0], "step_epsilon")] for n, q in dict.fromkeys((r["records"], r["q"]) for r in rows)]


def figure12():
    """What the adversary may do, at a claim of 8; of several canaries the one with the largest bound by ranks."""
    methods, out = ("rank", "cp", "bayes"), []
    for name, column, made in (("gradient canaries (figure 6), CIFAR-10", "mean", read("figure6")),
                               ("gradient canaries (Table 1), MNIST", "epsilon_lower", [r for r in read("table1-mnist") if r["claim"] == "8"])):
        rows = {bound(r): r for r in made}
        own = (rows[b] for b in ("gaussian rank", "gaussian cp simultaneous", "gaussian bayes split"))
        out.append([name, "Dirac", *(number(r, column) for r in own)])
    for setting, rows in (("input canaries (figure 15), CIFAR-10", [r for r in read("figure15") + read("matched15") if r["claim"] == "8"]),
                          ("black box (figure 11), MNIST", [r for r in read("figure11-mnist") if r["family"] == CLAIMED])):
        best = max((r for r in rows if r["method"] == "rank"), key=lambda r: float(r["epsilon_lower"]))["canary"]
        out.append([setting, best, *(number(one(rows, canary=best, method=m)) for m in methods)])
    return ("the adversary inserts and sees", "canary", *methods), out


def ranges(rows):
    """Of the rows of one game: those from the first step on, by their number, and the windows of equal width."""
    width = min(int(r["last"]) - int(r["first"]) for r in rows if r["first"] != "0")
    return (sorted((r for r in rows if r["first"] == "0"), key=lambda r: int(r["last"])),
            [r for r in rows if int(r["last"]) - int(r["first"]) == width])


def figure16(name="figure16"):
    """Steps that were not played on one of the data sets leave their cells empty."""
    rows = read(name)
    own = [r for r in rows if (r["data"], r["claim"]) == (rows[0]["data"], rows[0]["claim"])]
    firsts, parts = ([(r["first"], r["last"]) for r in part] for part in ranges(own))
    head = [f"n = {firsts[0][1]}", *(last for _, last in firsts[1:])]
    head += [f"{'steps ' if a == '0' else ''}{int(a) + 1}–{b}" for a, b in parts]
    names = {"cifar": "CIFAR-10", "random": "random"}
    at = {(r["data"], r["claim"], r["first"], r["last"]): number(r) for r in rows}
    return ("data, claim", *head), [
        [f"{names[data]}, {c}", *(at.get((data, c, a, b), "") for a, b in firsts + parts)] for data in names for c in keys(rows, "claim")]


CLAIMED = "subsampled-gaussian:q=0.1,steps=100"  # the family of the training of figure 11
ESTIMATORS = ((CLAIMED, "rank"), (CLAIMED, "cp"), (CLAIMED, "bayes"), ("gaussian", "rank"), ("gaussian", "cp"), ("gaussian", "bayes"), ("dp", "scan"),
              ("dp", "cp"), ("dp", "bayes"))


def black_box():
    return read("figure11-mnist") + read("figure11-adult") + read("figure11-noise")


def figure11():
    rows = black_box()
    names, out = {"mnist": "MNIST", "adult": "Adult", "noise": "random"}, []
    for data, name in names.items():
        for canary in keys(rows, "canary"):
            own = [one(rows, data=data, canary=canary, family=f, method=m) for f, m in ESTIMATORS]
            first = f"{name} ({number(own[0], 'accuracy')})" if canary == rows[0]["canary"] else ""
            out.append([first, canary, number(own[0], "auc", 3), *map(number, own)])
    return ("data (held-out accuracy)", "canary", "AUC", *(f"{f.replace(CLAIMED, 'claimed training')} {m}" for f, m in ESTIMATORS)), out


def table2():
    """Both canaries by the paper's method; the other bounds of the one for which that is larger."""
    rows, out = read("table2"), []
    for clip in keys(rows, "clip"):
        by = {r["canary"]: r for r in rows if r["clip"] == clip and (r["family"], r["method"]) == ("gaussian", "bayes")}
        best = max(by.values(), key=lambda r: float(r["epsilon_lower"]))
        others = [number(one(rows, clip=clip, canary=best["canary"], family=f, method=m), digits=1)
                  for f, m in (("gaussian", "rank"), ("gaussian", "cp"), ("dp", "cp"))]
        out.append(["most possible" if clip == "most" else clip, PRINTED2[clip], *(number(by.get(k, best), digits=1) for k in ("mislabelled", "blank")), *others,
                    number(best, "accuracy") if best["accuracy"] else ""])
    return ("C", "paper, f-DP (ZB)", "mislabelled: gaussian bayes", "blank: gaussian bayes", "the better one: gaussian rank", "gaussian cp", "dp cp", "held-out accuracy"), out


def table2_steps():
    rows = read("table2-steps")
    canaries = keys(rows, "canary")
    return ("steps", "C", *canaries, "held-out accuracy"), [
        [s, c, *(number(one(rows, steps=s, clip=c, canary=k), "separation", 1) for k in canaries), number(one(rows, steps=s, clip=c, canary=canaries[0]), "accuracy")]
        for s in keys(rows, "steps") for c in keys(rows, "clip")]


TABLES = {"README.md": {"table1": table1, "repeated": repeated, "figure3": figure3, "figure6": figure6, "figure9": figure9,
                        "section6.3": section63, "figure14": figure14, "figure17": figure17, "figure18": figure18, "bugs": bugs},
          "inputs.md": {"figure10": figure10, "figure12": figure12, "figure15": figure15, "figure16": figure16,
                        "matched16": lambda: figure16("matched16"), "matched": matched, "figure11": figure11, "table2": table2, "table2-steps": table2_steps}}


def fill(where):
    """Fills the tables of both pages in this folder; those whose data have not been made yet stay as they are."""
    global folder
    folder = where
    for page, tables in TABLES.items():
        for name, make in tables.items():
            try:
                lines = pages.table(*make())
            except FileNotFoundError:
                continue
            pages.replace(folder / page, name, lines)
