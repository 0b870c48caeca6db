# SPDX-License-Identifier: BSD-3-Clause
"""Line and bar charts as SVG text: axes, ticks, whiskers, legend. Nothing else is needed, so nothing else is used."""
import math
from html import escape

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 76, 24, 20, 84
COLOURS = ("#1f5fa8", "#7aa6d8", "#c2521b", "#2f7d4f", "#8a3f9e", "#7a6a1f", "#444444", "#b02a4c")
MARKS = ("circle", "ring", "square", "diamond")
DASHES = ("", "6 3", "2 3")


class Series:
    """Points are (x, y, low, high); low and high may be None. A series of the same colour is of the same arm."""

    def __init__(self, name, points, colour=0, dash=0, legend=True):
        self.name = name
        self.points = [point if len(point) == 4 else (*point, None, None) for point in points]
        self.colour = COLOURS[colour % len(COLOURS)]
        self.mark = MARKS[colour % len(MARKS)]
        self.dash = DASHES[dash % len(DASHES)]
        self.legend = legend


def number(value):
    """A label of an axis."""
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{suffix}"
    return f"{value:.3g}"


def nice_ticks(low, high, wanted=6):
    """Round numbers from at or below `low` to at or above `high`."""
    span = high - low or abs(high) or 1
    step = 10 ** math.floor(math.log10(span / wanted))
    step = next(step * factor for factor in (1, 2, 5, 10, 20) if span / (step * factor) <= wanted)
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [index * step for index in range(first, max(last, first + 1) + 1)]


def log_ticks(low, high):
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = [10.0 ** power for power in range(first, max(last, first + 1) + 1)]
    if len(ticks) <= 3:
        ticks = [m * tick for tick in ticks for m in (1, 2, 5)]
        begin = max((t for t in ticks if t <= low), default=ticks[0])
        end = min((t for t in ticks if t >= high), default=ticks[-1])
        if begin < end:
            ticks = [t for t in ticks if begin <= t <= end]
    return ticks


class Axis:
    def __init__(self, values, begin, end, is_log=False, from_zero=False):
        self.is_log = is_log
        if is_log:
            self.ticks = log_ticks(min(values), max(values))
        else:
            self.ticks = nice_ticks(min([0, *values]) if from_zero else min(values), max(values))
        self.begin, self.end = begin, end

    def place(self, value):
        low, high = self.ticks[0], self.ticks[-1]
        if self.is_log:
            low, high, value = math.log10(low), math.log10(high), math.log10(max(value, 1e-12))
        share = (value - low) / ((high - low) or 1)
        return self.begin + share * (self.end - self.begin)


def frame(title, x_title, y_title, x_labels, y_axis):
    """The head, axes and grid; `x_labels`: (place, text)."""
    bottom = HEIGHT - BOTTOM
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
           f'aria-label="{escape(title, quote=True)}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>']
    for tick in y_axis.ticks:
        y = y_axis.place(tick)
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#dddddd"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(tick)}</text>')
    for x, text in x_labels:
        out.append(f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 4}" stroke="#444444"/>')
        out.append(f'<text x="{x:.1f}" y="{bottom + 17}" text-anchor="middle">{escape(text)}</text>')
    out.append(f'<path d="M{LEFT} {TOP}V{bottom}H{WIDTH - RIGHT}" fill="none" stroke="#444444"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    out.append(f'<text x="{middle}" y="{bottom + 36}" text-anchor="middle">{escape(x_title)}</text>')
    out.append(f'<text transform="translate(14 {(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">'
               f'{escape(y_title)}</text>')
    return out


def mark(kind, x, y, colour):
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
    if kind == "ring":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="none" stroke="{colour}" stroke-width="2"/>'
    if kind == "square":
        return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>'
    return f'<path d="M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z" fill="{colour}"/>'


def legend(entries):
    """Rows of (mark's SVG at a place, text) below the axis."""
    out, x, y = [], LEFT, HEIGHT - 26
    for draw, text in entries:
        width = 40 + 7.2 * len(text)
        if x + width > WIDTH - RIGHT and x > LEFT:
            x, y = LEFT, y + 17
        out += draw(x, y)
        out.append(f'<text x="{x + 28}" y="{y + 4}">{escape(text)}</text>')
        x += width
    return out


def series_key(series):
    def draw(x, y):
        return [f'<line x1="{x}" y1="{y}" x2="{x + 22}" y2="{y}" stroke="{series.colour}" stroke-width="2" '
                f'stroke-dasharray="{series.dash}"/>', mark(series.mark, x + 11, y, series.colour)]
    return draw, series.name


def lines(title, x_title, y_title, series, log_y=False, diagonal=False, marks=True):
    """A chart of Series, or a sentence where there is nothing to draw. `diagonal`: the line y = x."""
    series = [entry for entry in series if entry.points]
    values = [v for entry in series for _, y, low, high in entry.points for v in (y, low, high) if v is not None]
    if log_y:
        values = [value for value in values if value > 0]
    if not values:
        return nothing(title)
    bottom = HEIGHT - BOTTOM
    x_axis = Axis([x for entry in series for x, *_ in entry.points], LEFT, WIDTH - RIGHT, from_zero=True)
    y_axis = Axis(values, bottom, TOP, is_log=log_y, from_zero=not log_y)
    out = frame(title, x_title, y_title, [(x_axis.place(tick), number(tick)) for tick in x_axis.ticks], y_axis)
    if diagonal:
        end = min(x_axis.ticks[-1], y_axis.ticks[-1])
        out.append(f'<line x1="{x_axis.place(0):.1f}" y1="{y_axis.place(0):.1f}" x2="{x_axis.place(end):.1f}" '
                   f'y2="{y_axis.place(end):.1f}" stroke="#999999" stroke-dasharray="2 4"/>')
    for entry in series:
        places = [(x_axis.place(x), y_axis.place(y), low, high) for x, y, low, high in entry.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in places)
        out.append(f'<polyline points="{path}" fill="none" stroke="{entry.colour}" stroke-width="{2 if marks else 1}" '
                   f'stroke-dasharray="{entry.dash}"/>')
        for x, y, low, high in places:
            if low is not None and high is not None:
                out.append(whisker(x, y_axis.place(low), y_axis.place(high), entry.colour))
            if marks:
                out.append(mark(entry.mark, x, y, entry.colour))
    out += legend([series_key(entry) for entry in series if entry.legend])
    return "\n".join([*out, "</svg>"])


def whisker(x, low, high, colour):
    return (f'<path d="M{x - 4:.1f} {low:.1f}h8M{x:.1f} {low:.1f}V{high:.1f}M{x - 4:.1f} {high:.1f}h8" '
            f'stroke="{colour}" fill="none"/>')


def bars(title, y_title, groups, parts):
    """Stacked bars: `groups` are (label, [value of each part]); `parts` the names."""
    totals = [sum(values) for _, values in groups]
    if not groups or not parts or max(totals, default=0) <= 0:
        return nothing(title)
    bottom = HEIGHT - BOTTOM
    y_axis = Axis(totals, bottom, TOP, from_zero=True)
    step = (WIDTH - RIGHT - LEFT) / len(groups)
    labels = [(LEFT + step * (i + 0.5), label) for i, (label, _) in enumerate(groups)]
    out = frame(title, "", y_title, labels, y_axis)
    for (x, _), (_, values) in zip(labels, groups):
        base = 0.0
        for i, value in enumerate(values):
            y = y_axis.place(base + value)
            out.append(f'<rect x="{x - step * 0.3:.1f}" y="{y:.1f}" width="{step * 0.6:.1f}" '
                       f'height="{y_axis.place(base) - y:.1f}" fill="{COLOURS[i % len(COLOURS)]}"/>')
            base += value
    out += legend([(box(COLOURS[i % len(COLOURS)]), name) for i, name in enumerate(parts)])
    return "\n".join([*out, "</svg>"])


def box(colour):
    return lambda x, y: [f'<rect x="{x + 6}" y="{y - 6}" width="12" height="12" fill="{colour}"/>']


def nothing(title):
    return f'<p class="nothing">{escape(title)}: nothing was measured.</p>'
