#!/usr/bin/env python3
"""Writes tests/golden/training/pairs.safetensors: losses of pairs by sentence-transformers, in float64.

`vectors.*`: of random vectors, with their gradients. `trace.*`: of the golden BERT, over 20 steps of AdamW from its first
weights, with the mean of its hidden vectors as the vector of a sentence. The README beside this file says how to run it.
"""

import pathlib

import torch
from safetensors.torch import save_file
from sentence_transformers import losses
from transformers import AutoModel

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"
PAIRS, WIDTH, LENGTH, STEPS, RATE, CLIP = 6, 9, 7, 20, 1e-3, 1.0


class Given(torch.nn.Module):
    """A model of sentences whose vectors are there already."""

    def forward(self, features):
        return features


def loss_of(kind, first, second, scores):
    given = Given()
    loss = losses.CosineSimilarityLoss(given) if kind == "scores" else losses.MultipleNegativesSymmetricRankingLoss(given)
    return loss([{"sentence_embedding": first}, {"sentence_embedding": second}], scores)


def mean_vectors(model, ids, lengths):
    mask = torch.arange(LENGTH)[None, :] < lengths[:, None]
    hidden = model(input_ids=ids, attention_mask=mask.long()).last_hidden_state * mask[..., None]
    return hidden.sum(1) / lengths[:, None]


def trace(kind, ids, lengths, scores):
    model = AutoModel.from_pretrained(GOLDEN / "models" / "bert", add_pooling_layer=False).double().eval()
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0)
    found = []
    for _ in range(STEPS):
        vectors = mean_vectors(model, ids, lengths)
        loss = loss_of(kind, vectors[:PAIRS], vectors[PAIRS:], scores)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()
        found.append(loss.detach())
    return torch.stack(found)


def main():
    torch.manual_seed(8)
    scores = torch.arange(PAIRS, dtype=torch.float64) / 4 - 0.25  # sentence-transformers rounds them to float32: here that is exact
    ids = torch.randint(5, 64, (2 * PAIRS, LENGTH))
    lengths = torch.randint(2, LENGTH + 1, (2 * PAIRS,))
    result = {"scores": scores, "trace.ids": ids, "trace.lengths": lengths}
    for kind in ("scores", "partners"):
        sides = [torch.randn(PAIRS, WIDTH, dtype=torch.float64, requires_grad=True) for _ in range(2)]
        loss = loss_of(kind, *sides, scores)
        gradients = torch.autograd.grad(loss, sides)
        result[f"vectors.{kind}.loss"] = loss.detach().reshape(1)
        for name, side, gradient in zip(("first", "second"), sides, gradients, strict=True):
            result[f"vectors.{kind}.{name}"] = side.detach()
            result[f"vectors.{kind}.d_{name}"] = gradient
        result[f"trace.{kind}"] = trace(kind, ids, lengths, scores)
    save_file(result, GOLDEN / "training" / "pairs.safetensors")


if __name__ == "__main__":
    main()
