"""The language model that both sides train: that of the goal, about 3.3 million parameters."""

LAYERS, HIDDEN, HEADS, INNER = 4, 256, 4, 1024
LENGTH, BATCH, VOCABULARY = 256, 16, 256  # bytes
RATE, HELD_OUT = 1e-3, 0.1


def flops() -> float:
    """Of a step's products: forward once, backward twice as much; of the scores the causal half."""
    block = 2 * HIDDEN * (4 * HIDDEN + 2 * INNER) + 4 * HIDDEN * LENGTH / 2
    return 3.0 * BATCH * LENGTH * (LAYERS * block + 2 * HIDDEN * VOCABULARY)


def settings(text, steps: int, recompute: bool = False) -> dict:
    """What `attend train text` is told; all else is as its defaults have it, which is GPT-2's form."""
    return {"data.file": text, "data.length": LENGTH, "data.validation": HELD_OUT, "model.layers": LAYERS, "model.hidden": HIDDEN,
            "model.heads": HEADS, "model.inner": INNER, "model.recompute": str(recompute).lower(), "training.batch": BATCH,
            "training.rate": RATE, "training.steps": steps, "training.evaluate": steps, "training.save": steps}
