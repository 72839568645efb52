"""Readers of configs, one module a kind of attention; importing this registers them all."""

from __future__ import annotations

from kvcost.model.config.families import (
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

__all__ = [
    "compressed",
    "encoder_decoder",
    "gemma",
    "hybrid",
    "latent",
    "legacy",
    "linear",
    "patterned",
    "searched",
    "sparse",
    "standard",
]
