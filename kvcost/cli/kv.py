"""Bytes that a token and a request of a model weigh.

Try:
  kvcost kv glm-5.3 --kv-dtype fp8 --mtp
  kvcost kv llama-3.3-70b --tokens 64Ki --tp 16 --json
  kvcost kv path/to/config.json --layout vllm
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvcost.cli.output import Report, show
from kvcost.cli.parser import add_output_flags, count, length

if TYPE_CHECKING:
    import argparse

    from kvcost.model import KVSize, ModelSpec

__all__ = ["add_size_flags", "configure", "load_model", "run", "size_options"]


def add_size_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say how the KV is stored."""
    parser.add_argument(
        "--kv-dtype",
        metavar="DTYPE",
        help="bf16 (default), fp32, fp16, fp8, fp8_per_token_head, int8, int8_per_token_head, "
        "int4, nvfp4 or mxfp4; never taken from the weights",
    )
    parser.add_argument(
        "--index-dtype",
        metavar="DTYPE",
        help="bf16 or fp8 for index keys; by default as engines store them",
    )
    parser.add_argument("--state-dtype", metavar="DTYPE", help="recurrent state: fp32 (default)")
    parser.add_argument("--conv-dtype", metavar="DTYPE", help="convolution state: bf16 (default)")
    parser.add_argument("--group-size", metavar="N", help="elements that share a scale (int4)")
    parser.add_argument(
        "--group-scale", metavar="SIZE", help="bytes of that scale, as in 2B (int4)"
    )
    parser.add_argument("--source-tokens", metavar="N", help="tokens of the encoder (T5, BART)")
    parser.add_argument(
        "--layout", metavar="LAYOUT", help="logical (default), vllm or sglang: whose records"
    )
    parser.add_argument(
        "--mtp", action="store_true", default=None, help="count speculative (MTP) layers"
    )
    parser.add_argument(
        "--assume",
        choices=["gqa"],
        help="take a config that is not understood for plain grouped-query attention",
    )


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument("model", metavar="NAME|config.json", help="catalogue name or config file")
    add_size_flags(parser)
    parser.add_argument("--tokens", metavar="N", help="length of a request, as 16000, 64k or 64Ki")
    parser.add_argument("--tp", metavar="N", help="tensor-parallel ranks (default 1)")
    parser.add_argument("--dp-attention", metavar="N", help="data-parallel attention groups")
    parser.add_argument("--dcp", metavar="N", help="decode-context-parallel ranks")
    parser.add_argument("--pp", metavar="N", help="pipeline stages")
    parser.add_argument(
        "--pad-heads", action="store_true", help="pad KV heads that do not divide over the ranks"
    )
    parser.add_argument("--block", metavar="N", help="round the length up to blocks of N tokens")
    parser.add_argument("--chunk", metavar="N", help="round the length down to chunks of N tokens")
    parser.add_argument(
        "--index-on-every-layer",
        action="store_true",
        help="an index on every latent layer, as engine builds without elision keep it",
    )
    parser.add_argument(
        "--max-bytes",
        metavar="SIZE",
        help="budget for a request of --tokens, all copies over the ranks together, as in 10GiB; "
        "exit code 1 if it is exceeded",
    )
    add_output_flags(parser)


def load_model(args: argparse.Namespace) -> ModelSpec:
    """Return the model that the flags name."""
    from kvcost.model import load  # noqa: PLC0415 - loaded only when asked for

    spec: ModelSpec = load(args.model, assume=args.assume)
    return spec


def size_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the keyword arguments of `kv_size` that the storage flags give."""
    from kvcost.units import parse_bytes  # noqa: PLC0415

    scale = args.group_scale
    given = {
        "kv_dtype": args.kv_dtype,
        "index_dtype": args.index_dtype,
        "state_dtype": args.state_dtype,
        "conv_dtype": args.conv_dtype,
        "layout": args.layout,
        "mtp": args.mtp,
        "source_tokens": length(args.source_tokens, "--source-tokens"),
        "group_size": count(args.group_size, "--group-size"),
        "group_scale_bytes": None if scale is None else parse_bytes(scale, field="--group-scale"),
    }
    return {name: value for name, value in given.items() if value is not None}


def run(args: argparse.Namespace) -> int:
    """Print the sizes; return 1 if the budget is exceeded."""
    from kvcost.errors import InvalidValueError  # noqa: PLC0415
    from kvcost.model import kv_size  # noqa: PLC0415
    from kvcost.units import parse_bytes  # noqa: PLC0415

    spec = load_model(args)
    tokens = length(args.tokens, "--tokens")
    budget = None if args.max_bytes is None else parse_bytes(args.max_bytes, field="--max-bytes")
    if budget is not None and tokens is None:
        raise InvalidValueError(
            field="--max-bytes",
            value=args.max_bytes,
            bound="needs the length of a request",
            remedy="add --tokens N",
        )
    spread: dict[str, Any] = {
        "tp": count(args.tp, "--tp"),
        "dp_attention": count(args.dp_attention, "--dp-attention"),
        "dcp": count(args.dcp, "--dcp"),
        "pp": count(args.pp, "--pp"),
        "block_tokens": length(args.block, "--block"),
        "chunk_tokens": length(args.chunk, "--chunk"),
    }
    size = kv_size(
        spec,
        tokens=tokens,
        uneven_heads="pad" if args.pad_heads else "refuse",
        index_on_every_layer=args.index_on_every_layer,
        **size_options(args),
        **{name: value for name, value in spread.items() if value is not None},
    )
    missed = budget is not None and (size.bytes_at_tokens or 0) * size.copies > budget
    show(_report(spec, size, budget, missed=missed), args)
    return 1 if missed else 0


def _exact_bytes(value: float | None) -> str:
    from kvcost.units import format_bytes  # noqa: PLC0415

    if value is None:
        return "not known"
    exact = f"{value:,.0f} B" if float(value).is_integer() else f"{value:,} B"
    return exact if value < 1e6 else f"{exact} ({format_bytes(value, binary=True)})"


def _report(spec: ModelSpec, size: KVSize, budget: float | None, *, missed: bool) -> Report:
    from kvcost.units import format_bytes, format_tokens  # noqa: PLC0415

    rows = [
        ("bytes per token", _exact_bytes(size.bytes_per_token)),
        ("fixed bytes per request", _exact_bytes(size.fixed_bytes_per_request)),
        ("engine-reserved bytes per token", _exact_bytes(size.reserved_bytes_per_token)),
        ("bytes per token on one rank", _exact_bytes(size.per_rank)),
        ("copies over the ranks", f"{size.copies:g}"),
    ]
    if size.tokens is not None:
        label = f"bytes at {format_tokens(size.tokens)}"
        rows.append((f"{label}, one copy", _exact_bytes(size.bytes_at_tokens)))
    notes = [f"Method: {size.method}. Provenance: {size.provenance}."]
    notes += [f"- {note}" for note in size.notes]
    if missed and budget is not None:
        needed = format_bytes((size.bytes_at_tokens or 0) * size.copies, binary=True)
        notes.append(
            f"BUDGET MISSED: {needed} over all ranks, {format_bytes(budget, binary=True)} allowed."
        )
    data = {
        "model": spec.name,
        "bytes_per_token": size.bytes_per_token,
        "fixed_bytes_per_request": size.fixed_bytes_per_request,
        "reserved_bytes_per_token": size.reserved_bytes_per_token,
        "tokens": size.tokens,
        "bytes_at_tokens": size.bytes_at_tokens,
        "per_rank": size.per_rank,
        "copies": size.copies,
        "method": size.method,
        "provenance": str(size.provenance),
        "notes": list(size.notes),
        "parts": [
            {
                "kind": part.kind,
                "layers": part.layers,
                "bytes_per_token": part.bytes_per_token,
                "window": part.window,
                "fixed_bytes": part.fixed_bytes,
                "mtp": part.mtp,
            }
            for part in size.parts
        ],
    }
    flat = {key: value for key, value in data.items() if key not in ("parts", "notes")}
    return Report(
        title=f"{spec.name}: what its KV weighs",
        header=(),
        rows=rows,
        notes=notes,
        data=data,
        records=[flat],
    )
