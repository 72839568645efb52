"""Public reports of wrong KV sizes, run through the catalogue and the sizes."""

from __future__ import annotations

import tomllib

import pytest

from kvcost.facts import data_path
from kvcost.model import kv_size, load
from kvcost.model.spec import AttentionLayers, IndexLayers, LatentLayers

STUDY = tomllib.loads(data_path("studies", "kv_size_cases.toml").read_text(encoding="utf-8"))
GIB = 2**30


def _layers(spec, kind):
    return sum(group.layers for group in spec.groups if isinstance(group, kind))


def _part(size, kind):
    return sum(part.bytes_per_token for part in size.parts if part.kind == kind)


ANSWERS = {
    "bytes_per_token": lambda spec, size: size.bytes_per_token,
    "fixed_bytes_per_request": lambda spec, size: size.fixed_bytes_per_request,
    "reserved_bytes_per_token": lambda spec, size: size.reserved_bytes_per_token,
    "per_rank": lambda spec, size: size.per_rank,
    "copies": lambda spec, size: size.copies,
    "latent_bytes_per_token": lambda spec, size: _part(size, "latent"),
    "index_bytes_per_token": lambda spec, size: _part(size, "index"),
    "index_bytes_at_tokens": lambda spec, size: _part(size, "index") * size.tokens,
    "growing_bytes_at_tokens": lambda spec, size: size.bytes_per_token * size.tokens,
    "mean_bytes_at_tokens": lambda spec, size: size.bytes_at_tokens / size.tokens,
    "gib_at_tokens": lambda spec, size: round(size.bytes_at_tokens / GIB, 2),  # as reports print it
    "cache_tensors": lambda spec, size: _layers(spec, LatentLayers) + _layers(spec, IndexLayers),
    "attention_layers": lambda spec, size: _layers(spec, AttentionLayers),
}


@pytest.mark.parametrize(
    "case", STUDY["case"], ids=lambda case: f"{case['report']} {case['model']}"
)
def test_right_value(case):
    spec = load(case["model"])
    size = kv_size(spec, **case.get("ask", {}))
    assert {name: ANSWERS[name](spec, size) for name in case["expect"]} == case["expect"]


def test_every_report_is_checked_or_says_what_it_lacks():
    assert all(case["lacks"] for case in STUDY["unchecked"])
    listed = {case["report"] for kind in STUDY.values() for case in kind}
    assert len(listed) >= 45
    checked = {case["report"] for case in STUDY["case"]}
    assert not checked & {case["report"] for case in STUDY["unchecked"]}


def test_the_break_even_report_is_consistent():
    (point,) = STUDY["break_even"]
    assert round(1 - point["hit_seconds"] / point["recompute_seconds"], 2) == 0.37
    # With no overhead the hit moves about 145 kB a token: an 8B model with 8 KV heads.
    implied = point["hit_seconds"] * point["bandwidth"] / point["tokens"]
    assert 131_072 < implied < 147_456
