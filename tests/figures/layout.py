"""Faults of a drawn figure, found from the boxes of its artists: texts that collide, are cut or small, hidden data."""

from itertools import combinations

import matplotlib
import numpy as np
from matplotlib.text import Text

from vpeval.figures import drawing

PAGE = 7.2
"""The width of a page of two columns, in inches: a wider figure is scaled down to it."""
LEAST = 6.5
"""The smallest letters at the size in print, in points."""
_SLACK = 1.0  # pixels: boxes of letters that just touch


def faults(figure):
    """All faults in words; none is what a test wants."""
    with matplotlib.rc_context(drawing.rc("layout")):  # ticks are made when they are drawn
        figure.draw_without_rendering()
        return _faults(figure)


def _faults(figure):
    shown = list(_texts(figure))
    found = [f"'{a.get_text()}' and '{b.get_text()}' overlap" for a, b in collisions(shown)]
    found += [f"'{text.get_text()}' is cut" for text in shown if not _inside(figure, _corners(text))]
    found += [
        f"'{text.get_text()}' has {size:.1f} pt" for text in shown if (size := printed_size(figure, text)) < LEAST
    ]
    found += [f"'{text.get_text()}' is not typeset" for text in shown if "\\math" in text.get_text()]
    found += [f"a legend covers the panel '{_title(axis)}'" for axis in covered(figure)]
    found += [f"'{text.get_text()}' hides a point" for text in hiding(figure)]
    return found


def collisions(texts):
    """The pairs of texts that overlap."""
    boxes = [(text, _corners(text)) for text in texts]
    return [(a, b) for (a, one), (b, other) in combinations(boxes, 2) if _overlap(one, other)]


def covered(figure):
    """The panels that a legend lies on."""
    legends = [*figure.legends, *(axis.get_legend() for axis in figure.axes if axis.get_legend())]
    boxes = [legend.get_window_extent() for legend in legends]
    panels = [axis for axis in figure.axes if axis.axison and axis.get_visible()]
    return [axis for axis in panels for box in boxes if _share(axis.get_window_extent(), box)]


def hiding(figure):
    """The texts inside panels that lie on a marker."""
    found = []
    for axis in figure.axes:
        boxes = [(text, _corners(text)) for text in axis.texts if text.get_visible() and text.get_text().strip()]
        points = np.array([point for line in axis.lines for point in _marks(line)]).reshape(-1, 2)
        for text, corners in boxes:
            low, high = corners.min(0) + _SLACK, corners.max(0) - _SLACK
            if ((points > low) & (points < high)).all(1).any():
                found.append(text)
    return found


def printed_size(figure, text):
    """The size of a text in points, after a figure that is wider than a page was scaled down."""
    return text.get_fontsize() * min(1, PAGE / figure.get_figwidth())


def _marks(line):
    """Where a line has markers, in pixels."""
    if not line.get_visible() or line.get_marker() in ("", " ", "None", None) or not len(line.get_xdata()):
        return []
    return line.get_transform().transform(np.asarray(line.get_xydata(), dtype=float))


def _texts(figure):
    """The texts that are drawn; a tick beyond the limits of its axis is not."""
    hidden = {
        id(label)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for label in (tick.label1, tick.label2)
        if not axes.axison or not axes.get_visible() or not _in_limits(axis, tick.get_loc())
    }
    for text in figure.findobj(Text):
        if id(text) not in hidden and text.get_visible() and text.get_text().strip() and _belongs(figure, text):
            yield text


def _belongs(figure, text):
    """Whether the panel of a text is drawn; labels of a panel without axes are not."""
    axes = text.axes
    if axes is None:
        return True
    labels = (axes.xaxis.label, axes.yaxis.label, axes.xaxis.offsetText, axes.yaxis.offsetText)
    return axes.get_visible() and (axes.axison or not any(text is label for label in labels))


def _in_limits(axis, place):
    low, high = sorted(axis.get_view_interval())
    slack = 1e-6 * (high - low)
    return low - slack <= place <= high + slack


def _corners(text):
    """The four corners of a text in pixels; those of a turned text turn with it."""
    angle, box = text.get_rotation(), Text.get_window_extent(text)  # that of an annotation has its arrow
    text.set_rotation(0)
    flat = Text.get_window_extent(text)
    text.set_rotation(angle)
    half = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * (flat.width / 2, flat.height / 2)
    turn = np.deg2rad(angle)
    matrix = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    return half @ matrix + ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)


def _overlap(one, other):
    """Whether two rectangles share more than their edges: no line parallel to a side separates them."""
    for corners in (one, other):
        for side in (corners[1] - corners[0], corners[2] - corners[1]):
            length = np.hypot(*side)
            if length == 0:
                return False
            a, b = one @ side / length, other @ side / length
            if a.max() - _SLACK <= b.min() or b.max() - _SLACK <= a.min():
                return False
    return True


def _inside(figure, corners):
    width, height = figure.canvas.get_width_height()
    return bool((corners >= -_SLACK).all() and (corners <= np.array([width, height]) + _SLACK).all())


def _share(one, other):
    return (
        one.x0 < other.x1 - _SLACK
        and other.x0 < one.x1 - _SLACK
        and one.y0 < other.y1 - _SLACK
        and other.y0 < one.y1 - _SLACK
    )


def _title(axis):
    return axis.get_title(loc="left") or axis.get_title() or axis.get_ylabel()
