"""Hugging Face transformers: BERT-base on its eager attention with output_attentions=True, beside the same model on attend.

Its weights are random and nothing is downloaded: time does not depend on them.
"""

from typing import Callable

import torch
import transformers

import attend
import attend.torch

NAME = f"transformers {transformers.__version__}"
TOKENS, TOP = 512, 8


class Bert:
    """One model, run in turn on either; a switch of the implementation takes microseconds."""

    def __init__(self, threads: int, quick: bool):
        attend.set_threads(threads)
        attend.torch.install()
        torch.manual_seed(1)
        layers = {"num_hidden_layers": 2} if quick else {}
        self.model = transformers.BertModel(transformers.BertConfig(vocab_size=1000, **layers)).eval()  # else as BERT-base
        self.layers = len(self.model.encoder.layer)
        self.tokens = torch.randint(1000, (1, TOKENS))

    def _on(self, implementation: str, run: Callable) -> Callable:
        def call():
            self.model.set_attn_implementation(implementation)
            return run()

        return call

    def eager(self, reduced: bool = False) -> Callable:
        """The output and every layer's matrix of weights; reduced: the same 8 best and sums taken from each of them."""

        def run():
            out = self.model(input_ids=self.tokens, output_attentions=True)
            if not reduced:
                return out.last_hidden_state, out.attentions
            return out.last_hidden_state, [(torch.topk(weights, TOP, dim=-1), weights.sum(dim=-2)) for weights in out.attentions]

        return self._on("eager", run)

    def collected(self) -> Callable:
        def run():
            with attend.torch.collect(top_k=TOP, received=True) as seen:
                return self.model(input_ids=self.tokens).last_hidden_state, seen

        return self._on("attend", run)

    def output(self, implementation: str) -> Callable:
        return self._on(implementation, lambda: self.model(input_ids=self.tokens).last_hidden_state)

    def pairs(self):
        """Ours and theirs of everything that both tell, to be compared."""
        (out, seen), (their_out, matrices), (_, reduced) = self.collected()(), self.eager()(), self.eager(True)()
        yield out, their_out
        yield self.output("attend")(), self.output("sdpa")()
        for one, matrix, (best, sums) in zip(seen, matrices, reduced, strict=True):
            yield one.top_weights, matrix.gather(-1, one.top_keys)
            yield one.top_weights, best.values
            yield one.received, sums
