"""Formulas in other languages: spreadsheet cells, LAMBDA, Vega expressions, LaTeX."""
