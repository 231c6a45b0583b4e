"""Texts to embed, made of the words that a tokenizer knows: no corpus, no licence, the same on every machine."""

import numpy as np

SHORTEST, LONGEST = 5, 256  # tokens of a text, special ones included
MEDIAN, SPREAD = 28, 0.8    # of the lognormal lengths: most are sentences, some are paragraphs


class Writer:
    def __init__(self, vocabulary: dict[str, int], seed: int = 1):
        known = sorted((number, word) for word, number in vocabulary.items())
        self._words = [word for _, word in known if word.isascii() and word.isalpha() and word.islower() and len(word) > 1]
        # By Zipf's law over the order of the vocabulary, which is roughly that of frequency.
        shares = 1 / np.arange(10, 10 + len(self._words))
        self._shares = shares / shares.sum()
        self._random = np.random.default_rng(seed)

    def text(self, tokens: int) -> str:
        """So many tokens, special ones included, for a tokenizer that keeps its own words whole."""
        count = tokens - 2
        words = [self._words[i] for i in self._random.choice(len(self._words), count, p=self._shares)]
        return " ".join(words)

    def prose(self, tokens: int) -> str:
        """About so many tokens: sentences with capitals, commas, numbers and words that fall into pieces."""
        words = self.text(tokens).split()
        for i, chance in enumerate(self._random.random(len(words))):
            if chance < 0.05 and i + 1 < len(words):
                words[i] += words[i + 1]  # not in the vocabulary any more
                words[i + 1] = ""
            elif chance < 0.12:
                words[i] = ","
            elif chance < 0.17:
                words[i] = "."
            elif chance < 0.19:
                words[i] = str(int(chance * 1e6))
            elif chance < 0.25:
                words[i] = words[i].capitalize()
        return " ".join(filter(None, words)).replace(" ,", ",").replace(" .", ".").capitalize()

    def mixed(self, count: int) -> list[str]:
        lengths = np.exp(self._random.normal(np.log(MEDIAN), SPREAD, count)).round().astype(int)
        return [self.prose(length) for length in np.clip(lengths, SHORTEST, LONGEST)]
