"""What a choice rule sees: the rows of its table, one column a replica, and facts of the request.

A rule is a plain function

    rule(now, draws, facts, view, params, memory, orders) -> replica

that numba can compile: ``draws`` are two uniform numbers for ties and choices at random, ``params``
the policy's parameters, ``memory`` numbers that it keeps between requests, and ``orders`` asks for
copies of the request's key prefix (``orders[0]`` targets, listed behind it).
"""

from __future__ import annotations

# rows of the view
LOAD, WAITING, RUNNING = 0, 1, 2  # requests in flight; of them waiting, and in the batch
MATCH, MATCH_HBM = 3, 4  # prompt tokens that the index finds on the replica; of them in HBM
QUEUED = 5  # prompt tokens that wait and are not cached
KV_USE = 6  # share of the KV tokens reserved
WORK = 7  # seconds until the replica has prefilled all it has been given
TREE = 8  # prompt blocks routed there so far
ROUTED = 9  # requests routed there so far
CONTEXT = 10  # KV tokens of the batch and of what waits
WARM = 11  # 1 where the whole key prefix is in HBM
PLANNED = 12  # 1 where a copy of the key prefix is under way
COPYABLE = 13  # 1 where the key prefix can be copied from
DONE = 14  # requests finished there so far
ROWS = 15

# facts of the request
PROMPT, COVERED, OUTPUT, KEY, SESSION, BLOCKS, BLOCK_TOKENS, INDEX = 0, 1, 2, 3, 4, 5, 6, 7
PREFILL_TOKEN, COPY_TOKEN, STEP_SECONDS, GATEWAY = 8, 9, 10, 11
PREFILL_FIXED, PREFILL_SQUARE, COPY_FIXED = 12, 13, 14  # of a whole prefill, and of a whole copy
HEAD, HEAD_TOKENS = 15, 16  # what names the leading blocks, -1 where nobody shares them; its length
FACTS = 17
