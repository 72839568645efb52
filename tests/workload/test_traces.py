"""Readers of public trace formats, from small files in each format and from the real ones."""

import gzip
import json
import os
from pathlib import Path

import pytest

from kvcost.errors import ConfigError, InvalidValueError
from kvcost.workload import burst_audit, open_trace, read_trace, sharing_audit

MOONCAKE = [
    {"timestamp": 3000, "input_length": 1100, "output_length": 7, "hash_ids": [0, 1, 2]},
    {"timestamp": 3000, "input_length": 1536, "output_length": 9, "hash_ids": [0, 1, 3]},
    {"timestamp": 6000, "input_length": 600, "output_length": 0, "hash_ids": [0, 4]},
]


def written(folder, text, name="trace"):
    path = Path(folder, name)
    path.write_text(text, encoding="utf-8")
    return path


def lines(folder, rows, name="trace.jsonl"):
    return written(folder, "".join(json.dumps(row) + "\n" for row in rows), name)


@pytest.fixture
def mooncake(tmp_path):
    return lines(tmp_path, MOONCAKE)


def test_mooncake_has_milliseconds_and_whole_blocks(mooncake):
    trace = open_trace(mooncake)
    requests = trace.requests
    assert trace.format == "mooncake"
    assert requests.arrival.tolist() == [0.0, 0.0]
    assert requests.block_tokens == 512
    # 1,100 tokens are two whole blocks; an answer of no token is a failed request
    assert requests.blocks.tolist() == [2, 3]
    assert (trace.left_out, trace.tied) == (1, 1)
    assert any("left out" in note for note in trace.notes)
    assert any("jitter" in note for note in trace.notes)


def test_a_partial_block_can_be_kept(mooncake):
    assert read_trace(mooncake, partial="keep").blocks.tolist() == [3, 3]


def test_gzip_is_told_by_content(mooncake, tmp_path):
    packed = tmp_path / "no-suffix"
    packed.write_bytes(gzip.compress(mooncake.read_bytes()))
    assert len(read_trace(packed)) == 2


def test_jitter_spreads_ties_in_their_order(tmp_path):
    rows = [
        MOONCAKE[0] | {"timestamp": t, "output_length": i + 1}
        for i, t in enumerate([0] * 5 + [9000])
    ]
    path = lines(tmp_path, rows)
    spread = read_trace(path, jitter=3.0, rng=1)
    assert spread.output_tokens.tolist() == [1, 2, 3, 4, 5, 6]
    assert len(set(spread.arrival.tolist())) == 6
    assert 0 <= spread.arrival[0] < spread.arrival[4] < 3
    assert spread.arrival[5] == 9.0


def test_rows_out_of_order_are_sorted(tmp_path):
    rows = [MOONCAKE[0] | {"timestamp": t} for t in (9000, 4000, 6000)]
    assert read_trace(lines(tmp_path, rows)).arrival.tolist() == [0.0, 2.0, 5.0]


def test_limit(mooncake):
    assert len(read_trace(mooncake, limit=1)) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"input_length": "many"}, ["line 2", "input_length", "'many'", "whole number"]),
        ({"input_length": -4}, ["line 2", "input_length", "-4"]),
        ({"input_length": True}, ["line 2", "input_length", "True"]),
        ({"output_length": 2.5}, ["line 2", "output_length", "2.5"]),
        ({"timestamp": None}, ["line 2", "timestamp", "None"]),
        ({"timestamp": float("nan")}, ["line 2", "timestamp", "nan"]),
        ({"hash_ids": 3}, ["line 2", "hash_ids", "list"]),
        ({"hash_ids": [0, 1, 2, 3]}, ["line 2", "hash_ids", "4 ids", "at most 3"]),
        ({"hash_ids": [0, 1.5]}, ["line 2", "hash_ids"]),
        ({"hash_ids": [0, "a"]}, ["line 2", "hash_ids", "kind"]),
    ],
)
def test_errors_name_file_line_field_value_and_remedy(tmp_path, change, words):
    path = lines(tmp_path, [MOONCAKE[0], MOONCAKE[1] | change])
    with pytest.raises(ConfigError) as caught:
        read_trace(path)
    for word in [str(path), "correct the line", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("hello\n", "no known format"),
        ('{"prompt": "hello"}\n', "tokenise"),
        ('[{"id": 1, "conversations": []}]', "tokenise"),
        (json.dumps(MOONCAKE[0]) + "\n{oops\n", "line 2"),
        (json.dumps(MOONCAKE[2]) + "\n", "no request"),
    ],
)
def test_files_that_are_no_trace(tmp_path, text, words):
    with pytest.raises(ConfigError, match=words):
        read_trace(written(tmp_path, text))


def test_a_missing_file_and_a_cut_one(tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        read_trace(tmp_path / "nowhere")
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(json.dumps(MOONCAKE[0]).encode() * 50)[:-30])
    with pytest.raises(ConfigError, match="gzip"):
        read_trace(cut, format="mooncake")
    cut.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="UTF-8"):
        read_trace(cut)


def test_options_out_of_range(mooncake):
    for options in ({"format": "csv"}, {"partial": "half"}, {"jitter": -1.0}, {"window": "w"}):
        with pytest.raises(InvalidValueError):
            read_trace(mooncake, **options)


def test_ids_beyond_64_bits(tmp_path):
    rows = [
        MOONCAKE[0] | {"hash_ids": [2**80, 2**80 + 1]},
        MOONCAKE[1] | {"hash_ids": [2**80, 2**80 + 2]},
    ]
    assert sharing_audit(read_trace(lines(tmp_path, rows))).unique_blocks == 3


AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,4808,10
2023-11-16 18:17:04.0319600,3180,8
"""


@pytest.mark.parametrize("zone", ["", "+00:00", "Z"])
def test_azure_has_the_wall_clock_and_no_prefixes(tmp_path, zone):
    trace = open_trace(written(tmp_path, AZURE.replace("600,", f"600{zone},")))
    assert trace.format == "azure"
    assert trace.requests.arrival.tolist() == pytest.approx([0.0, 0.052], abs=1e-9)
    assert not trace.requests.has_blocks
    assert any("cannot be measured" in note for note in trace.notes)


def test_csv_errors(tmp_path):
    with pytest.raises(ConfigError, match="line 3: TIMESTAMP 'noon'"):
        read_trace(written(tmp_path, AZURE.replace("2023-11-16 18:17:04.0319600", "noon")))
    with pytest.raises(ConfigError, match=r"line 2: row .* must have 3 columns"):
        read_trace(written(tmp_path, AZURE.replace("4808,10", "4808")))
    with pytest.raises(ConfigError, match="no column 'arrived_at'"):
        read_trace(written(tmp_path, AZURE), format="vidur")


@pytest.mark.parametrize("sessions", [True, False])
def test_burstgpt_leaves_failures_out(tmp_path, sessions):
    head = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,"
    head += "Total tokens,Log Type"
    rows = ["5,s1,2.0,ChatGPT,472,18,490,Conversation log", "45,s1,3.1,GPT-4,30,0,30,API log"]
    rows.append("118,,1.0,GPT-4,1087,230,1317,API log")
    if not sessions:
        head = head.replace(",Session ID,Elapsed time", "")
        rows = [",".join(row.split(",")[:1] + row.split(",")[3:]) for row in rows]
    trace = open_trace(written(tmp_path, "\n".join([head, *rows]) + "\n"))
    assert trace.format == "burstgpt"
    assert trace.requests.arrival.tolist() == [0.0, 113.0]
    assert trace.requests.output_tokens.tolist() == [18, 230]
    assert trace.left_out == 1
    assert trace.requests.session.tolist() == ([0, -1] if sessions else [-1, -1])


def test_vidur(tmp_path):
    text = "arrived_at,num_prefill_tokens,num_decode_tokens\n1.5,100,20\n2.25,300,5\n"
    trace = open_trace(written(tmp_path, text))
    assert trace.format == "vidur"
    assert trace.requests.arrival.tolist() == [0.0, 0.75]


def test_bailian_follows_conversations_and_chains_its_ids(tmp_path):
    def row(chat, parent, time, ids):
        return {
            "chat_id": chat,
            "parent_chat_id": parent,
            "timestamp": time,
            "input_length": 16 * len(ids),
            "output_length": 5,
            "type": "text",
            "turn": 1,
            "hash_ids": ids,
        }

    # block 8 comes after 7 and after 9: the same content, but not the same prefix
    rows = [row(1, -1, 0.5, [7, 8]), row(2, 1, 1.5, [7, 8, 3]), row(3, -1, 2.0, [9, 8])]
    trace = open_trace(lines(tmp_path, rows))
    requests = trace.requests
    assert trace.format == "bailian"
    assert requests.session.tolist() == [0, 0, 1]
    assert (requests.block_tokens, requests.names) == (16, ("text",))
    # 7, 7-8, 7-8-3, 9, 9-8
    assert sharing_audit(requests).unique_blocks == 5


def test_art_reads_one_window(tmp_path):
    def row(trace, time, session, ids):
        return {
            "dataset_version": "1",
            "trace_id": trace,
            "timestamp": time,
            "arrival_s": time,
            "input_length": 256 * len(ids) + 10,
            "output_length": 1,
            "session_id": session,
            "hash_ids": ids,
        }

    rows = [
        row("a", 20.0, "g1", ["x", "y"]),
        row("a", 21.0, "g1", ["x", "z"]),
        row("b", 0.0, "g2", ["x"]),
    ]
    path = lines(tmp_path, rows)
    with pytest.raises(ConfigError, match="another window"):
        read_trace(path)
    with pytest.raises(ConfigError, match="choose one of a, b"):
        read_trace(path, window="c")
    trace = open_trace(path, window="a")
    assert trace.format == "art"
    assert trace.requests.names == ("g1",)
    assert trace.requests.arrival.tolist() == [0.0, 1.0]
    assert sharing_audit(trace.requests).unique_blocks == 3


def public(name):
    folder = os.environ.get("KVCOST_TRACES")
    if folder is None or not Path(folder, name).exists():
        pytest.skip(f"KVCOST_TRACES names no folder with {name}")
    return Path(folder, name)


@pytest.fixture(scope="module")
def conversations():
    return read_trace(public("mooncake_conversation.jsonl.gz"), partial="keep")


class TestMooncakeConversations:
    """The conversation trace, against a public audit of it (bite-the-bullet, 26dd06a)."""

    def test_means(self, conversations):
        said = conversations.summary()
        assert said.requests == 12_031
        assert round(said.prompt_tokens) == 12_035
        assert round(said.output_tokens) == 343
        assert round(said.duration) == 3_537

    @pytest.mark.parametrize(
        ("blocks", "prefixes", "largest"), [(1, 1, 263), (2, 7373, 5), (8, 5277, 4), (16, 3775, 4)]
    )
    def test_groups_within_a_minute(self, conversations, blocks, prefixes, largest):
        found = burst_audit(conversations, min_shared_tokens=512 * blocks, within=60.0)
        assert (found.prefixes, found.largest) == (prefixes, largest)

    @pytest.mark.parametrize("partial", ["keep", "drop"])
    def test_no_deep_burst(self, partial):
        trace = read_trace(public("mooncake_conversation.jsonl.gz"), partial=partial)
        found = burst_audit(trace, min_shared_tokens=16 * 512, within=10.0)
        assert found.largest_apart == 2


@pytest.mark.parametrize(("name", "rows"), [("code", 8_819), ("conv", 19_366)])
def test_azure_2023(name, rows):
    trace = read_trace(public(f"azure_2023_{name}.csv.gz"))
    assert len(trace) == rows
    assert str(sharing_audit(trace)).startswith("not measurable")
