# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables between the marks of a page, and the CSV files that they come from."""
import csv


def replace(path, name, lines):
    """Puts lines between the marks <!-- NAME --> and <!-- end of NAME --> of a page."""
    with open(path) as old:
        text = old.read()
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    head, tail = text.index(start) + len(start), text.index(end)
    with open(path, "w") as new:
        new.write(text[:head] + "\n".join(lines) + "\n" + text[tail:])


def table(header, rows):
    """Lines of a table in Markdown."""
    head, *body = ["| " + " | ".join(map(str, row)) + " |" for row in (header, *rows)]
    return [head, "|---" * len(header) + "|", *body]


def read(path):
    """Rows of a CSV file, each a dictionary."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write(path, header, rows, digits=6):
    """A CSV file; floats with that many digits."""
    with open(path, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(header)
        out.writerows([f"{v:.{digits}g}" if isinstance(v, float) else v for v in row] for row in rows)
