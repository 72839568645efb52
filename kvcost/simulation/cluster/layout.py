"""Where each number stands in the arrays that the compiled loop works on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Inputs", "Outputs", "State"]

# costs: seconds, and limits
PREFILL_FIXED, PREFILL_SLOPE, PREFILL_QUADRATIC, STEP_FIXED, STEP_TOKEN = 0, 1, 2, 3, 4
HOST_BLOCK, COPY_BLOCK, COPY_FIXED, LAYERS = 5, 6, 7, 8
COSTS = 9

# limits
KV_TOKENS, MAX_BATCH, BLOCK_TOKENS, HBM_BLOCKS, HOST_BLOCKS = 0, 1, 2, 3, 4
HOLD_TARGET, COPY_COMPUTED, INDEX_COMPUTED, ASYNC, PIPELINED, PULL_BLOCKS, GATEWAYS = (
    5,
    6,
    7,
    8,
    9,
    10,
    11,
)
LIMITS = 12

# requests
PROMPT, OUTPUT, COVERED, FIRST, LAST, ALONE, KEY, KEY_LAST, SESSION = 0, 1, 2, 3, 4, 5, 6, 7, 8
REQUEST = 9

# replicas, seconds
CLOCK, BUSY, OUT_FREE, IN_FREE, LOADER = 0, 1, 2, 3, 4
SECONDS = 5

# replicas, counts
HEAD, TAIL, RESERVED, CONTEXT, STEPS, USED, OLDEST, NEWEST = 0, 1, 2, 3, 4, 5, 6, 7
HOST_USED, LENGTH = 8, 11  # 9 and 10: the ends of the list of host memory
COUNTS = 12

# a segment on a replica: when its KV is computed, when routing sees it, and when a load from host
# memory that somebody has asked for ends (0 for none)
READY, VISIBLE, LOADED = 0, 1, 2
SEGMENT_TIMES = 3

# entries of the recency lists, one for each segment on each replica and one a request for the
# blocks that no other request has: blocks in HBM and in host memory, and their neighbours there
LEFT, BEFORE, AFTER, HOSTED = 0, 1, 2, 3
ENTRY = 6
HBM, HOST = 0, 3  # what BEFORE, AFTER, OLDEST and NEWEST are shifted by in each list

# results of one request
START, LOADING, PREFILL, FINISH = 0, 1, 2, 3
NODE, HIT, HIT_HBM, PULLED, UNCACHED = 0, 1, 2, 3, 4


class Inputs(NamedTuple):
    """What a run reads."""

    arrival: NDArray[np.float64]
    requests: NDArray[np.int64]
    segments: NDArray[np.int64]
    lengths: NDArray[np.int64]
    costs: NDArray[np.float64]
    limits: NDArray[np.int64]
    draws: NDArray[np.float64]
    params: NDArray[np.float64]
    delays: NDArray[np.float64]


class State(NamedTuple):
    """What a run changes."""

    seconds: NDArray[np.float64]
    counts: NDArray[np.int64]
    table: NDArray[np.float64]
    shown: NDArray[np.float64]
    own: NDArray[np.float64]
    following: NDArray[np.int64]
    heap: NDArray[np.int64]
    entries: NDArray[np.int32]
    times: NDArray[np.float64]
    pending: NDArray[np.float64]
    planned: NDArray[np.int8]
    loaded: NDArray[np.float64]
    memory: NDArray[np.float64]
    facts: NDArray[np.float64]
    orders: NDArray[np.int64]


class Outputs(NamedTuple):
    """What a run tells of each request, and of each copy."""

    seconds: NDArray[np.float64]
    counts: NDArray[np.int64]
    copies: NDArray[np.float64]
