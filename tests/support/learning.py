"""Small models that learn for a few steps."""

from attend import train


def learned(model, batches, rate=1e-2):
    optimiser = train.AdamW(model, rate)
    for batch in batches:
        model.learn(**batch)
        optimiser.step()
    return model
