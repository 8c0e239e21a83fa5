"""Reads LaTeX tables back, and refuses those that LaTeX would not take: rows of other widths, open braces."""

import re

_TABULAR = re.compile(r"\\begin\{tabular\}\{(?P<columns>[lcr|]+)\}\n(?P<body>.*?)\\end\{tabular\}", re.DOTALL)
_SPAN = re.compile(r"\\multicolumn\{(\d+)\}\{[lcr|]+\}\{(.*)\}", re.DOTALL)
_RULES = re.compile(r"\\(toprule|midrule|bottomrule|addlinespace|hline|cmidrule\(lr\)\{\d+-\d+\}|cline\{\d+-\d+\})")


def read_tables(text):
    """The rows of every tabular as lists of cells, heads included; a cell over several columns is the first of them."""
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    assert text.count(r"\begin{") == text.count(r"\end{")
    found = []
    for match in _TABULAR.finditer(text):
        width = len(match["columns"].replace("|", ""))
        rows = [_cells(row) for row in _RULES.sub("", match["body"]).split(r"\\") if row.strip()]
        assert {len(row) for row in rows} == {width}, [row for row in rows if len(row) != width]
        found.append(rows)
    assert len(found) == text.count(r"\begin{tabular}") == text.count(r"\caption{")
    assert text.count(r"\label{") == 1, "continued tables share a label"
    return found


def _cells(row):
    cells = []
    for cell in re.split(r"(?<!\\)&", row):
        span = _SPAN.fullmatch(cell.strip())
        cells += [span[2], *[""] * (int(span[1]) - 1)] if span else [cell.strip()]
    return cells
