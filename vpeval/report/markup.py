"""Small pieces of HTML. Content is markup already: pass text through `text`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def text(value: object) -> str:
    """Text as markup, in which a percent sign stays with its number."""
    return escape(str(value)).replace(" %", "\N{NO-BREAK SPACE}%")


def tag(name: str, content: str = "", /, **attributes: object) -> str:
    """An element; ``class_`` is class, ``data_x`` data-x, True an attribute without value, None and False no attribute.

    >>> tag("td", "1 &lt; 2", class_="number", data_sort=1)
    '<td class="number" data-sort="1">1 &lt; 2</td>'
    """
    words = [name]
    for key, value in attributes.items():
        label = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(label)
        elif value is not None and value is not False:
            words.append(f'{label}="{escape(str(value))}"')
    return f"<{' '.join(words)}>{content}</{name}>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A plain table; the first cell of a row is its head."""
    body = "".join(
        tag("tr", tag("th", row[0], scope="row") + "".join(tag("td", cell) for cell in row[1:])) for row in rows
    )
    top = tag("thead", tag("tr", "".join(tag("th", text(cell), scope="col") for cell in head)))
    return tag("table", top + tag("tbody", body))


def scrollable(content: str, label: str, class_: str = "") -> str:
    """Content that may be wider than the page: it scrolls by itself, and with the keyboard."""
    return tag("div", content, class_=f"scroll {class_}".strip(), role="region", aria_label=label, tabindex=0)


def definitions(items: Iterable[tuple[str, str]]) -> str:
    """A list of terms and what they mean."""
    return tag("dl", "".join(tag("dt", text(term)) + tag("dd", content) for term, content in items))


def bullets(items: Iterable[str]) -> str:
    """A list of sentences."""
    return tag("ul", "".join(tag("li", text(item)) for item in items))
