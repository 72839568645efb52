r"""Equations as MathML, from the LaTeX that formulas print.

It reads what `kvcost.formula.printing.latex` writes (fractions, roots, scripts, brackets, cases,
sums, Greek letters) and nothing else: an unknown command gives None, and the page shows the LaTeX.
"""

from __future__ import annotations

import html
import re

__all__ = ["mathml"]

_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\d+(?:\.\d+)?|\s+|.", re.DOTALL)
_LETTERS = {
    "varrho": "\N{GREEK RHO SYMBOL}",
    "eta": "\N{GREEK SMALL LETTER ETA}",
    "delta": "\N{GREEK SMALL LETTER DELTA}",
    "sigma": "\N{GREEK SMALL LETTER SIGMA}",
    "rho": "\N{GREEK SMALL LETTER RHO}",
    "Phi": "\N{GREEK CAPITAL LETTER PHI}",
    "beta": "\N{GREEK SMALL LETTER BETA}",
    "varphi": "\N{GREEK SMALL LETTER PHI}",
    "Omega": "\N{GREEK CAPITAL LETTER OMEGA}",
    "Pi": "\N{GREEK CAPITAL LETTER PI}",
    "Lambda": "\N{GREEK CAPITAL LETTER LAMDA}",
    "tau": "\N{GREEK SMALL LETTER TAU}",
    "kappa": "\N{GREEK SMALL LETTER KAPPA}",
    "gamma": "\N{GREEK SMALL LETTER GAMMA}",
    "mu": "\N{GREEK SMALL LETTER MU}",
    "alpha": "\N{GREEK SMALL LETTER ALPHA}",
    "lambda": "\N{GREEK SMALL LETTER LAMDA}",
    "theta": "\N{GREEK SMALL LETTER THETA}",
    "Theta": "\N{GREEK CAPITAL LETTER THETA}",
    "Delta": "\N{GREEK CAPITAL LETTER DELTA}",
    "Sigma": "\N{GREEK CAPITAL LETTER SIGMA}",
    "nu": "\N{GREEK SMALL LETTER NU}",
    "xi": "\N{GREEK SMALL LETTER XI}",
    "omega": "\N{GREEK SMALL LETTER OMEGA}",
    "epsilon": "\N{GREEK SMALL LETTER EPSILON}",
    "phi": "\N{GREEK PHI SYMBOL}",
    "psi": "\N{GREEK SMALL LETTER PSI}",
    "zeta": "\N{GREEK SMALL LETTER ZETA}",
    "chi": "\N{GREEK SMALL LETTER CHI}",
    "ell": "\N{SCRIPT SMALL L}",
}
_SIGNS = {
    "geq": "\N{GREATER-THAN OR EQUAL TO}",
    "leq": "\N{LESS-THAN OR EQUAL TO}",
    "neq": "\N{NOT EQUAL TO}",
    "wedge": "\N{LOGICAL AND}",
    "vee": "\N{LOGICAL OR}",
    "cdot": "\N{DOT OPERATOR}",
    "infty": "\N{INFINITY}",
    "sum": "\N{N-ARY SUMMATION}",
    "parallel": "\N{PARALLEL TO}",
    "times": "\N{MULTIPLICATION SIGN}",
    "lfloor": "\N{LEFT FLOOR}",
    "rfloor": "\N{RIGHT FLOOR}",
    "lceil": "\N{LEFT CEILING}",
    "rceil": "\N{RIGHT CEILING}",
    "to": "\N{RIGHTWARDS ARROW}",
    "star": "\N{STAR OPERATOR}",
    "prime": "\N{PRIME}",
}
_WORDS = frozenset({"min", "max", "log", "ln", "exp"})
_ACCENTS = {"bar": "\N{MACRON}", "hat": "^", "tilde": "~", "overline": "\N{MACRON}"}
_SPACES = frozenset({":", ",", ";", " ", "!", "quad"})


class _UnknownError(Exception):
    """LaTeX that is not read."""


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = [token for token in _TOKEN.findall(text) if not token.isspace()]
        self._at = 0

    def _peek(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self, wanted: str | None = None) -> str:
        token = self._peek()
        if token is None or (wanted is not None and token != wanted):
            raise _UnknownError
        self._at += 1
        return token

    def row(self, *ends: str) -> str:
        """Return everything up to one of the ends, as a row."""
        parts = []
        while (token := self._peek()) is not None and token not in ends:
            part = self._scripted()
            if part:
                parts.append(part)
        if ends and self._peek() is None:
            raise _UnknownError
        return f"<mrow>{''.join(parts)}</mrow>"

    def _group(self) -> str:
        if self._peek() == "{":
            self._take()
            inner = self.row("}")
            self._take("}")
            return inner
        return self._atom()

    def _text(self) -> str:
        self._take("{")
        words = []
        while self._peek() != "}":
            words.append(self._take())
        self._take("}")
        return "".join(words)

    def _scripted(self) -> str:
        base = self._atom()
        low = high = ""
        while self._peek() in {"_", "^"}:
            if self._take() == "_":
                low = self._group()
            else:
                high = self._group()
        if low and high:
            return f"<msubsup>{base}{low}{high}</msubsup>"
        if low:
            return f"<msub>{base}{low}</msub>"
        return f"<msup>{base}{high}</msup>" if high else base

    def _atom(self) -> str:
        token = self._take()
        if token == "{":
            inner = self.row("}")
            self._take("}")
            return inner
        if token.startswith("\\"):
            return self._command(token[1:])
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        if token in "&}":
            raise _UnknownError
        sign = {"-": "\N{MINUS SIGN}", "*": "\N{ASTERISK OPERATOR}", "'": "\N{PRIME}"}.get(
            token, token
        )
        return f"<mo>{html.escape(sign)}</mo>"

    def _command(self, name: str) -> str:  # noqa: PLR0911 - one return a kind of command
        if name in _LETTERS:
            return f"<mi>{_LETTERS[name]}</mi>"
        if name in _SIGNS:
            return f"<mo>{_SIGNS[name]}</mo>"
        if name in _WORDS:
            return f"<mi>{name}</mi>"
        if name in _SPACES:
            return '<mspace width="0.3em"/>'
        if name in {"mathrm", "text", "operatorname", "mathit"}:
            return f"<mtext>{html.escape(self._text())}</mtext>"
        if name == "frac":
            return f"<mfrac>{self._group()}{self._group()}</mfrac>"
        if name == "sqrt":
            return f"<msqrt>{self._group()}</msqrt>"
        if name in _ACCENTS:
            sign = html.escape(_ACCENTS[name])
            return f'<mover accent="true">{self._group()}<mo>{sign}</mo></mover>'
        if name == "left":
            return self._fenced()
        if name == "begin":
            return self._cases()
        raise _UnknownError

    def _fence(self) -> str:
        token = self._take()
        if token == ".":
            return ""
        sign = _SIGNS.get(token[1:]) if token.startswith("\\") else token
        if sign is None:
            if token not in {"\\{", "\\}", "\\|"}:
                raise _UnknownError
            sign = token[1:]
        return f"<mo>{html.escape(sign)}</mo>"

    def _fenced(self) -> str:
        left = self._fence()
        inner = self.row("\\right")
        self._take("\\right")
        return f"<mrow>{left}{inner}{self._fence()}</mrow>"

    def _cases(self) -> str:
        if self._text() != "cases":
            raise _UnknownError
        rows = []
        while self._peek() != "\\end":
            cells = [self.row("&", "\\\\", "\\end")]
            while self._peek() == "&":
                self._take()
                cells.append(self.row("&", "\\\\", "\\end"))
            rows.append("".join(f"<mtd>{cell}</mtd>" for cell in cells))
            if self._peek() == "\\\\":
                self._take()
        self._take("\\end")
        if self._text() != "cases":
            raise _UnknownError
        body = "".join(f"<mtr>{row}</mtr>" for row in rows)
        return f"<mrow><mo>{{</mo><mtable>{body}</mtable></mrow>"


def mathml(latex: str, *, block: bool = False) -> str | None:
    r"""Return an equation as MathML.

    Parameters
    ----------
    latex : str
        As formulas print it, without dollar signs.
    block : bool
        Whether it stands alone.

    Returns
    -------
    str or None
        A ``math`` element; None if it holds something that is not read.

    Examples
    --------
    >>> mathml(r"\frac{b n}{B}")
    '<math><mrow><mfrac><mrow><mi>b</mi><mi>n</mi></mrow><mrow><mi>B</mi></mrow></mfrac></mrow></math>'
    >>> mathml(r"\href{x}{y}") is None
    True
    """
    try:
        reader = _Reader(latex)
        inner = reader.row()
    except _UnknownError:
        return None
    display = ' display="block"' if block else ""
    return f"<math{display}>{inner}</math>"
