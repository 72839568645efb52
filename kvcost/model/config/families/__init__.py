"""Readers of configs, one module a kind of attention; importing this registers them all."""

from __future__ import annotations

from kvcost.model.config.families import (  # noqa: F401
    compressed,
    encoder_decoder,
    gemma,
    hybrid,
    latent,
    legacy,
    linear,
    patterned,
    searched,
    sparse,
    standard,
)
from kvcost.model.config.geometry import FAMILIES

__all__ = ["FAMILIES"]
