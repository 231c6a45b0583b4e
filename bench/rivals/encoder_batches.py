"""How rivals are given many texts: sorted by length, in batches, padded."""

from collections.abc import Iterator

import numpy as np

SIZES = (4, 8, 16, 32, 64)


def padded_batches(ids: list[list[int]], size: int) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
    """Texts of like length together: (their places, ids, mask)."""
    order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
    for first in range(0, len(order), size):
        places = order[first:first + size]
        matrix = np.zeros((len(places), len(ids[places[0]])), np.int64)
        mask = np.zeros_like(matrix)
        for row, place in enumerate(places):
            matrix[row, :len(ids[place])] = ids[place]
            mask[row, :len(ids[place])] = 1
        yield places, matrix, mask


def sizes_for(count: int) -> list[int]:
    """Batches worth trying; a few texts also all at once."""
    return sorted({min(size, count) for size in SIZES})
