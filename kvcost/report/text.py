"""Texts of others, made safe to show."""

from __future__ import annotations

import re

__all__ = ["markdown_text", "visible"]

_SPECIAL = re.compile(r"[\\`*_{}\[\]|~$!#^]")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}


def visible(text: str) -> str:
    r"""Return a text on one line, without what cannot be seen (controls, changes of direction).

    Examples
    --------
    >>> visible("two\nlines \u202e and more")
    'two lines and more'
    """
    kept = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(kept.split())


def markdown_text(text: str) -> str:
    r"""Return a text that Markdown shows as it is: no tag, no link, no cell, no emphasis.

    Examples
    --------
    >>> markdown_text("a | b <script> [x](http://y)")
    'a \\| b &lt;script&gt; \\[x\\](http:&#47;&#47;y)'
    """
    shown = "".join(_ENTITIES.get(letter, letter) for letter in visible(text))
    # the # of an entity is not one of the text
    parts = re.split(r"(&(?:amp|lt|gt|#64);)", shown)
    escaped = "".join(
        part if n % 2 else _SPECIAL.sub(r"\\\g<0>", part) for n, part in enumerate(parts)
    )
    # addresses become links by themselves in some dialects
    return escaped.replace("://", ":&#47;&#47;").replace("www.", "www&#46;")
