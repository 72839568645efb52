"""A slow cluster that keeps every block in ordered dictionaries: the reference for the fast one."""

from collections import OrderedDict, deque
from dataclasses import dataclass, field


@dataclass
class Job:
    arrival: float
    prompt: int
    output: int
    blocks: list
    private: list
    start: float = 0.0
    load: float = 0.0
    prefill: float = 0.0
    finish: float = 0.0
    replica: int = -1
    hit: int = 0
    left: int = 0
    context: int = 0


@dataclass
class Costs:
    slope: float
    step_fixed: float
    step_token: float
    host_block: float
    kv_tokens: int
    max_batch: int
    block: int
    hbm_blocks: int
    host_blocks: int  # -1: no limit
    fixed: float = 0.0
    quadratic: float = 0.0

    def prefill(self, cached, tokens):
        return (
            self.fixed
            + self.slope * (tokens - cached)
            + self.quadratic * (tokens * tokens - cached * cached)
        )


@dataclass
class Node:
    costs: Costs
    clock: float = 0.0
    waiting: deque = field(default_factory=deque)
    running: list = field(default_factory=list)
    hbm: OrderedDict = field(default_factory=OrderedDict)
    host: OrderedDict = field(default_factory=OrderedDict)

    @property
    def load(self):
        return len(self.waiting) + len(self.running)

    def match(self, blocks):
        hbm = host = 0
        for block in blocks:
            if block in self.hbm:
                hbm += 1
            elif block in self.host:
                host += 1
            else:
                break
        return hbm, host

    def insert(self, blocks):
        for block in blocks:
            self.host.pop(block, None)
            self.hbm.pop(block, None)
            self.hbm[block] = True
        while len(self.hbm) > self.costs.hbm_blocks:
            block, _ = self.hbm.popitem(last=False)
            if self.costs.host_blocks != 0:
                self.host[block] = True
            while 0 <= self.costs.host_blocks < len(self.host):
                self.host.popitem(last=False)

    def admit(self, job):
        costs = self.costs
        hbm, host = self.match(job.blocks)
        covered = min(len(job.blocks) * costs.block, job.prompt)
        job.hit = min((hbm + host) * costs.block, covered)
        job.load = 0.0
        if host:
            job.load = min(host * costs.host_block, costs.prefill(0, job.hit))
        job.prefill = costs.prefill(job.hit, job.prompt)
        job.start = self.clock
        job.left, job.context = job.output, job.prompt
        self.clock += job.load + job.prefill
        self.running.append(job)
        self.insert(job.blocks + job.private)

    def advance(self, until):
        costs = self.costs
        while True:
            while self.waiting and len(self.running) < costs.max_batch:
                job = self.waiting[0]
                reserved = sum(other.prompt + other.output for other in self.running)
                if reserved + job.prompt + job.output > costs.kv_tokens:
                    break
                self.admit(self.waiting.popleft())
            if self.clock >= until:
                return
            if not self.running:
                if until < float("inf"):
                    self.clock = until
                return
            # one step at a time, where the fast loop takes many at once
            context = sum(job.context for job in self.running)
            step = costs.step_fixed + costs.step_token * context
            self.clock += step
            for job in self.running:
                job.left -= 1
                job.context += 1
            for job in self.running:
                if job.left == 0:
                    job.finish = self.clock
            self.running = [job for job in self.running if job.left > 0]


def run(jobs, costs, *, replicas, choose):
    nodes = [Node(costs) for _ in range(replicas)]
    for i, job in enumerate(jobs):
        for node in nodes:
            node.advance(job.arrival)
        matches = [sum(node.match(job.blocks)) for node in nodes]
        chosen = choose(i, job, [node.load for node in nodes], matches)
        job.replica = chosen
        nodes[chosen].waiting.append(job)
    for node in nodes:
        node.advance(float("inf"))
    return jobs
