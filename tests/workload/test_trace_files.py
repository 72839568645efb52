"""Every format told by its first line, plain and gzip, and lines that are wrong."""

import gzip
import json

import pytest

from kvcost.errors import ConfigError
from kvcost.workload import FORMATS, open_trace, read_trace


def _lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def _mooncake(time, tokens, ids, **other):
    return {"timestamp": time, "input_length": tokens, "output_length": 5, "hash_ids": ids} | other


def _bailian(chat, parent, time, tokens, ids):
    row = {"chat_id": chat, "parent_chat_id": parent, "timestamp": time, "input_length": tokens}
    return row | {"output_length": 2, "type": "text", "turn": 1, "hash_ids": ids}


def _art(time, tokens, ids, session):
    row = {"trace_id": "w0", "source": "synthetic", "timestamp": time, "arrival_s": time}
    ids = {"hash_ids": ids, "session_id": session, "group_id": session}
    return row | {"input_length": tokens, "output_length": 1} | ids


# Text of a file in each format; two requests, the second 1.5 s after the first
EXAMPLES = {
    "mooncake": _lines(_mooncake(2000, 1024, [0, 1]), _mooncake(3500, 1300, [0, 2, 3])),
    "bailian": _lines(_bailian(7, -1, 3.0, 32, [4, 5]), _bailian(9, 7, 4.5, 40, [4, 5, 6])),
    "art": _lines(_art(0.5, 512, ["a", "b"], "s1"), _art(2.0, 600, ["a", "c", "d"], "s1")),
    "azure": "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
    "2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16 18:17:05.4799600,3180,8",
    "burstgpt": "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,"
    "Total tokens,Log Type\n5,a,1.0,ChatGPT,472,18,490,Conversation log\n"
    "6.5,b,2.0,GPT-4,1087,230,1317,API log\n",
    "vidur": "arrived_at,num_prefill_tokens,num_decode_tokens\n0.25,374,44\n1.75,396,109\n",
}
BLOCKS = {"mooncake": 512, "bailian": 16, "art": 256}


@pytest.fixture
def write(tmp_path):
    def to_file(text, name="trace"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return to_file


class TestFormats:
    def test_each_has_an_example(self):
        assert set(EXAMPLES) == set(FORMATS)

    @pytest.mark.parametrize("zipped", [False, True])
    @pytest.mark.parametrize("name", EXAMPLES)
    def test_told_by_the_first_line(self, write, name, zipped):
        text = EXAMPLES[name].encode()
        found = open_trace(write(gzip.compress(text) if zipped else text))
        assert found.format == name
        assert found.requests.arrival.tolist() == pytest.approx([0.0, 1.5], abs=1e-9)
        assert found.requests.has_blocks == (name in BLOCKS)

    @pytest.mark.parametrize("name", BLOCKS)
    def test_block_size_and_partial_block(self, write, name):
        path = write(EXAMPLES[name])
        found = read_trace(path)
        assert found.block_tokens == BLOCKS[name]
        # the second prompt ends in a block that is not full: no engine caches it
        assert found.blocks.tolist() == [2, 2]
        assert read_trace(path, partial="keep").blocks.tolist() == [2, 3]


class TestWrongLines:
    @pytest.mark.parametrize(
        ("row", "parts"),
        [
            ('{"timestamp": 1, ', ("line 2", "no JSON object")),
            (_lines(_mooncake("soon", 600, [0])), ("line 2", "timestamp", "soon")),
            (_lines(_mooncake(1, -5, [0])), ("line 2", "input_length", "-5")),
            (_lines(_mooncake(1, 2.5, [0])), ("line 2", "input_length", "2.5")),
            (_lines(_mooncake(1, True, [0])), ("line 2", "input_length", "True")),
            (_lines(_mooncake(1, 600, [0, 1, 2])), ("line 2", "hash_ids", "3 ids")),
            (_lines(_mooncake(1, 600, "abc")), ("line 2", "hash_ids", "abc")),
            (_lines(_mooncake(1, 600, [0, None])), ("line 2", "hash_ids")),
            (_lines({"timestamp": 1}), ("line 2", "input_length", "None")),
        ],
    )
    def test_mooncake(self, write, row, parts):
        path = write(_lines(_mooncake(0, 600, [0])) + row)
        with pytest.raises(ConfigError) as caught:
            read_trace(path)
        assert all(part in str(caught.value) for part in (str(path), *parts))

    @pytest.mark.parametrize(
        ("row", "parts"),
        [
            ("yesterday,1,1", ("line 2", "TIMESTAMP", "yesterday")),
            ("2023-11-16 18:17:03,many,1", ("line 2", "ContextTokens", "many")),
            ("2023-11-16 18:17:03,1", ("line 2", "3 columns")),
        ],
    )
    def test_azure(self, write, row, parts):
        path = write("TIMESTAMP,ContextTokens,GeneratedTokens\n" + row)
        with pytest.raises(ConfigError) as caught:
            read_trace(path)
        assert all(part in str(caught.value) for part in (str(path), *parts))
