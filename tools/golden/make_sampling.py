"""What transformers' processors of logits leave to draw from, in float64: tests/golden/sampling.jsonl.

A line is {"logits", "prompt", "written", options..., "ids", "probabilities"}, most probable first. The penalties of frequency and presence are
not in transformers; they are taken off here, between the repetition penalty and the temperature.
"""

import json
import random
from pathlib import Path

import torch
from transformers import MinPLogitsWarper, RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper


def distribution(case):
    scores = torch.tensor([case["logits"]], dtype=torch.float32).to(torch.float64)
    before = torch.tensor([case["prompt"] + case["written"]])
    if case.get("repetition_penalty", 1) != 1:
        scores = RepetitionPenaltyLogitsProcessor(case["repetition_penalty"])(before, scores)
    for token in set(case["written"]):
        scores[0, token] -= case["written"].count(token) * case.get("frequency_penalty", 0) + case.get("presence_penalty", 0)
    scores = TemperatureLogitsWarper(case["temperature"])(before, scores)
    if case.get("top_k"):
        scores = TopKLogitsWarper(case["top_k"])(before, scores)
    if case.get("top_p", 1) < 1:
        scores = TopPLogitsWarper(case["top_p"])(before, scores)
    if case.get("min_p"):
        scores = MinPLogitsWarper(case["min_p"])(before, scores)
    shares = torch.softmax(scores, -1)[0].tolist()
    kept = [token for token in range(len(shares)) if scores[0, token] > -torch.inf]
    kept.sort(key=lambda token: (-shares[token], token))
    return kept, [shares[token] for token in kept]


def main():
    rng = random.Random(7)
    lines = []
    for number in range(150):
        size = rng.choice([1, 2, 7, 30, 64])
        case = {"logits": [round(rng.gauss(0, 3), 3) for _ in range(size)], "prompt": [rng.randrange(size) for _ in range(5)],
                "written": [rng.randrange(size) for _ in range(rng.randrange(6))], "temperature": rng.choice([0.3, 0.7, 1.0, 1.7])}
        if number % 10 == 3:  # ties: top_k keeps them all; the others would order them by chance
            case["logits"] = [float(round(logit)) for logit in case["logits"]]
            case["top_k"] = rng.choice([1, 3, 10])
        else:
            for key, values in {"top_k": [1, 5, 20, 1000], "top_p": [0.1, 0.5, 0.9, 0.99], "min_p": [0.02, 0.1, 0.5], "repetition_penalty": [0.8, 1.1, 2.0],
                                "frequency_penalty": [0.5, -0.25], "presence_penalty": [1.0, 0.3]}.items():
                if rng.random() < 0.45:
                    case[key] = rng.choice(values)
        case["ids"], case["probabilities"] = distribution(case)
        lines.append(json.dumps(case))
    (Path(__file__).resolve().parents[2] / "tests/golden/sampling.jsonl").write_text("\n".join(lines) + "\n")
    print(len(lines), "cases")


if __name__ == "__main__":
    main()
