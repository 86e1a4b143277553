# SPDX-License-Identifier: GPL-3.0-or-later
"""Line plots as SVG, from the standard library alone: panels side by side, linear or logarithmic axes."""
import math

COLOURS = ["#1b6ca8", "#c8553d", "#4a7c59", "#7d5ba6", "#b8860b", "#555555", "#2a9d8f"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 330, 260, 52, 12, 30, 44


def ticks(low, high, is_log):
    if is_log:
        first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        return [10.0**e for e in range(first, last + 1, max(1, (last - first) // 5))]
    step = 10 ** math.floor(math.log10((high - low) / 3 or 1))
    step *= next(f for f in (1, 2, 5, 10) if (high - low) / (step * f) <= 6)
    return [i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def label(value, is_log):
    return f"1e{round(math.log10(value))}" if is_log and not 0.1 <= value <= 1000 else f"{value:g}"


def panel(title, xlabel, ylabel, series, is_log, x0, is_log_y=False):
    """series: list of (name, [(x, y)…], style); style "line", "dash" or "dots"."""
    points = [p for _, values, _ in series for p in values if p[1] is not None]
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    xlow, xhigh, ylow, yhigh = min(xs), max(xs), 0.0, max(ys) * 1.08 or 1.0
    place, rise = math.log10 if is_log else float, math.log10 if is_log_y else float
    if is_log_y:
        ylow, yhigh = min(ys), max(ys)

    def at(x, y):
        u = (place(x) - place(xlow)) / ((place(xhigh) - place(xlow)) or 1)
        return (x0 + LEFT + u * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - (rise(y) - rise(ylow)) / (rise(yhigh) - rise(ylow)) * (HEIGHT - TOP - BOTTOM))

    out = [f'<text x="{x0 + LEFT}" y="18" font-weight="bold">{title}</text>']
    for y in ticks(ylow, yhigh, is_log_y):
        (a, b), (c, _) = at(xlow, y), at(xhigh, y)
        out.append(f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{b:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{a - 6:.1f}" y="{b + 4:.1f}" text-anchor="end">{label(y, is_log_y)}</text>')
    for x in ticks(xlow, xhigh, is_log):
        a, b = at(x, ylow)
        out.append(f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{a:.1f}" y2="{b + 4:.1f}" stroke="#333"/>')
        out.append(f'<text x="{a:.1f}" y="{b + 16:.1f}" text-anchor="middle">{label(x, is_log)}</text>')
    middle = x0 + LEFT + (WIDTH - LEFT - RIGHT) / 2
    out.append(f'<text x="{middle:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{xlabel}</text>')
    out.append(f'<text transform="translate({x0 + 12},{HEIGHT / 2}) rotate(-90)" text-anchor="middle">{ylabel}</text>')
    for i, (_, values, style) in enumerate(series):
        colour, path = COLOURS[i % len(COLOURS)], [at(x, y) for x, y in values if y is not None]
        if style == "dots":
            out += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in path]
        else:
            dash = ' stroke-dasharray="5 4"' if style == "dash" else ""
            joined = " ".join(f"{a:.1f},{b:.1f}" for a, b in path)
            out.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>')
    return out


def figure(path, title, panels, xlabel, ylabel, is_log=True, is_log_y=False):
    """panels: list of (title, series), all with the same series names."""
    names, width = [name for name, _, _ in panels[0][1]], WIDTH * len(panels)
    body = []
    for i, (name, series) in enumerate(panels):
        body += panel(name, xlabel, ylabel, series, is_log, i * WIDTH, is_log_y)
    x = LEFT
    for i, name in enumerate(names):
        body.append(f'<rect x="{x}" y="{HEIGHT + 4}" width="14" height="4" fill="{COLOURS[i % len(COLOURS)]}"/>')
        body.append(f'<text x="{x + 18}" y="{HEIGHT + 10}">{name}</text>')
        x += 34 + 6.6 * len(name)
    with open(path, "w") as out:
        out.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{max(width, int(x))}" height="{HEIGHT + 22}" role="img" '
                  f'font-family="sans-serif" font-size="11"><title>{title}</title>\n<rect width="100%" height="100%" fill="white"/>\n')
        out.write("\n".join(body) + "\n</svg>\n")
