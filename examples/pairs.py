"""Writes pairs.tsv: sentences about many things, whose score says how alike their verdicts are and nothing about the things.

    python3 examples/pairs.py > examples/pairs.tsv

A model that was trained to find the same subject thinks the opposite; `attend train pairs` teaches it. No sentence comes twice, so
those of a held-out pair are new to a model that learned from the others.
"""

import random

THINGS = ["the soup", "the hotel", "the film", "the train ride", "the phone", "the museum", "the haircut", "the novel",
          "the concert", "the bakery", "the dentist", "the jacket", "the lecture", "the ferry", "the printer", "the garden tour",
          "the swimming pool", "the bicycle", "the podcast", "the landlord", "the coffee", "the board game", "the airline",
          "the keyboard"]

# What somebody says of a thing, from the worst to the best.
VERDICTS = [
    ["{} was a complete disaster", "I hated every minute of {}", "{} made me furious, never again", "nothing is worse than {}",
     "I want my money back for {}"],
    ["{} was a bit disappointing", "I had hoped for more from {}", "{} has a few annoying flaws", "{} could have been better",
     "I was not quite happy with {}"],
    ["{} was decent enough", "I rather liked {}", "{} did its job well", "{} was a pleasant surprise",
     "I would give {} another try"],
    ["{} was absolutely wonderful", "I loved everything about {}", "{} made my whole week", "you must not miss {}",
     "I cannot praise {} highly enough"],
]


def sentence(thing: str, level: int, way: int) -> str:
    text = VERDICTS[level][way].format(thing)
    return text[0].upper() + text[1:] + "."


def pairs() -> list[tuple[str, str, float]]:
    chance = random.Random(8)
    left = [(thing, level, way) for thing in THINGS for level in range(4) for way in range(5)]
    chance.shuffle(left)
    result = []
    while left:
        first = left.pop()
        # Every second pair is about one thing, as far as there are sentences left about it.
        same = [other for other in left if other[0] == first[0]] if len(result) % 2 == 0 else []
        second = chance.choice(same or left)
        left.remove(second)
        result.append((sentence(*first), sentence(*second), round(1 - abs(first[1] - second[1]) / 3, 2)))
    return result


if __name__ == "__main__":
    print("sentence1\tsentence2\tscore")
    for first, second, score in pairs():
        print(f"{first}\t{second}\t{score}")
