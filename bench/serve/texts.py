"""Texts to send: of common words, each of which is one token to the tokenizers of BERT and its relatives."""

import random

WORDS = """the of and to in was is for as on with by he at from his it an were are which this be or had that first one their its new
after who they two her she has been other when time during there into all may more years over only would some between up made then city
world state year where known later part second school south north under used most number team called house line river park town name
street church water land station music group road small large work book film family""".split()
SHORTEST, LONGEST = 16, 128  # tokens, [CLS] and [SEP] included


def made_up_texts(count: int, shortest: int = SHORTEST, longest: int = LONGEST, seed: int = 1) -> list[str]:
    """All lengths are as frequent."""
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(shortest, longest) - 2)) for _ in range(count)]
