#!/usr/bin/env python3
"""A program that answers a yes-or-no question by randomised response: python examples/survey.py CHANCE.

With chance CHANCE the answer is the true one, otherwise a coin's: epsilon = ln((1 + CHANCE) / (1 - CHANCE)).
It speaks the protocol of audited commands: one request as a line of JSON in, one JSON value a line out.
"""

import json
import random
import sys

chance = float(sys.argv[1])
request = json.loads(sys.stdin.readline())
rng = random.Random(request["seed"])
for _ in range(request["n"]):
    answer = request["data"] if rng.random() < chance else rng.choice(["yes", "no"])
    print(json.dumps(answer))
