"""Every figure of docs/worked-examples.md, recomputed with NumPy: what is printed, whether it follows, what it should be."""

import json
from dataclasses import dataclass

import numpy as np

import five_texts as texts

LOVE = "attend steps --example love"
LOVE_ROW = "attend steps --example love --focus love"
IT = "attend steps --example it"
IT_ROW = "attend steps --example it --focus it"
HEADS = "attend steps --example heads"
CROSS = "attend steps --example cross"
POSITIONS = "attend steps --example positions"


@dataclass
class Figure:
    follows: str  # yes, no, illustrative, input or left out
    prints: list[str]  # the code spans of the cell, in order
    should_be: list[str]
    shown_by: str | None  # the command whose output has every number of should_be


FIGURES: dict[str, Figure] = {}


def figure(name: str, follows: bool | str, prints: list[str], should_be: list[str], shown_by: str | None = None):
    assert name not in FIGURES
    if not isinstance(follows, str):
        follows = "yes" if follows else "no"
    FIGURES[name] = Figure(follows, prints, should_be, shown_by)


def softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(x):
    """softmax(X Xᵀ) X"""
    weights = softmax(x @ x.T)
    return weights, weights @ x


def fixed(values) -> str:
    """0.1966 0.5344: as the program prints a row of weights."""
    return " ".join(f"{value:.4f}" for value in np.atleast_1d(values))


def short(value) -> str:
    """As many digits as are needed, at most four that count: 0.17, 0.008004, 0."""
    return f"{value:.4g}"


def listed(values, form=short) -> str:
    return "[" + ", ".join(form(value) for value in values) + "]"


def row(values) -> str:
    return " ".join(short(value) for value in values)


def agrees(printed: str, true: float) -> bool:
    """Whether the printed decimal is the true number, rounded to as many places as were printed."""
    places = len(printed.partition(".")[2])
    return abs(float(printed) - true) <= 0.5 * 10.0**-places + 1e-12


def exactly(printed, true) -> bool:
    return bool(np.allclose(printed, true, rtol=0, atol=1e-12))


def numbers(printed: str):
    return np.array(json.loads(printed))


def shape(*arrays) -> str:
    return " @ ".join(str(a.shape) for a in arrays[:-1]) + " -> " + str(arrays[-1].shape)


# ---- Text A -------------------------------------------------------------------------------------------------------

X = texts.X
SCORES = X @ X.T
WEIGHTS, CONTEXT = attention(X)
I, LOVE_AT, DEEP, LEARNING = range(4)
SHARE = 1 / len(texts.LOVE)

figure("A1", WEIGHTS[LOVE_AT].argmax() == I, [],
       [fixed(WEIGHTS[LOVE_AT, I]), fixed(WEIGHTS[LOVE_AT, LOVE_AT])], LOVE_ROW)
figure("A2", WEIGHTS[LEARNING, DEEP] > np.delete(WEIGHTS[LEARNING], DEEP).max() + 1e-12, [],
       [fixed(WEIGHTS[LEARNING, DEEP])], LOVE)
for i, word in enumerate(texts.LOVE):
    true_ticks = " ".join(w for w, weight in zip(texts.LOVE, WEIGHTS[i]) if weight > SHARE)
    figure(f"A{3 + i}", texts.TICKS[word] == true_ticks, [texts.TICKS[word]], [true_ticks], LOVE)
figure("A7", "input", [str(X.shape[0]), str(X.shape[1])], [str(X.shape)], LOVE)
for i in range(4):
    figure(f"A{8 + i}", "input", [listed(X[i], "{:.1f}".format)], [row(X[i])], LOVE)
for i in range(4):
    figure(f"A{12 + i}", "left out", [], [row(SCORES[i])], LOVE)
for i in range(4):
    figure(f"A{16 + i}", "left out", [], [fixed(WEIGHTS[i])], LOVE)
figure("A20", exactly(WEIGHTS.sum(axis=1), 1), ["1"], [row(WEIGHTS.sum(axis=1))])
for i in range(4):
    figure(f"A{21 + i}", "left out", [], [fixed(CONTEXT[i])], LOVE)
LOVE_GUESS = "0.4 0.3 0.2 0.1".split()
figure("A25", all(map(agrees, LOVE_GUESS, WEIGHTS[LOVE_AT])), [" ".join(LOVE_GUESS)],
       [fixed(WEIGHTS[LOVE_AT])], LOVE_ROW)
figure("A26", exactly(sum(map(float, LOVE_GUESS)), 1), [], [short(sum(map(float, LOVE_GUESS)))])
figure("A27", list(np.argsort(-WEIGHTS[LOVE_AT], kind="stable")) == [0, 1, 2, 3], [],
       [fixed(WEIGHTS[LOVE_AT, LOVE_AT]), fixed(WEIGHTS[LOVE_AT, I]), fixed(WEIGHTS[LOVE_AT, LEARNING])], LOVE_ROW)
figure("A28", (WEIGHTS > 0).all() and exactly(WEIGHTS.sum(axis=1), 1), ["1"], [fixed(WEIGHTS.min())], LOVE)
figure("A29", "illustrative", ["50%", "30%"], [f"{100 - 50 - 30}%"])
figure("A30", "illustrative", ["70%", "30%"], [listed(0.7 * X[DEEP] + 0.3 * X[LEARNING]), fixed(WEIGHTS.min())])

# ---- Text B -------------------------------------------------------------------------------------------------------

figure("B1", True, ["(n, d)"], [str(X.shape)], LOVE)
figure("B2", True, ["(n, d) @ (d, n) -> (n, n)"], [shape(X, X.T, SCORES)], LOVE)
figure("B3", exactly(SCORES[1, 0], X[1] @ X[0]), ["S_ij = x_i · x_j"],
       [" + ".join(f"{short(a)} × {short(b)}" for a, b in zip(X[1], X[0])) + f" = {SCORES[1, 0]:.4f}"], LOVE_ROW)
figure("B4", exactly(WEIGHTS.sum(axis=1), 1), ["1"], [row(WEIGHTS.sum(axis=1))])
figure("B5", True, ["(n, n) @ (n, d) -> (n, d)"], [shape(WEIGHTS, X, CONTEXT)], LOVE)
figure("B6", True, ["(n, d)", "(n, n)", "(n, n)", "(n, d)"],
       [str(a.shape) for a in (X, SCORES, WEIGHTS, CONTEXT)], LOVE)
for i, (symbolic, array) in enumerate([("(n, d)", X), ("(n, n)", SCORES), ("(n, n)", WEIGHTS), ("(n, d)", CONTEXT)]):
    figure(f"B{7 + i}", True, [symbolic], [str(array.shape)], LOVE)
figure("B11", WEIGHTS.shape == (4, 4), ["n × n"], [f"{WEIGHTS.shape[0]} × {WEIGHTS.shape[1]}", str(WEIGHTS.size)])
figure("B12", (WEIGHTS > 0).all() and exactly(WEIGHTS.sum(axis=1), 1), ["1"],
       [fixed(WEIGHTS.min()), fixed(WEIGHTS.max())], LOVE)
figure("B13", CONTEXT.shape == X.shape, ["(n × n) @ (n × d) -> (n × d)"], [shape(WEIGHTS, X, CONTEXT)], LOVE)

# ---- Text C -------------------------------------------------------------------------------------------------------

# The matrices of the example `heads`; two heads of two columns each.
CHASED_X = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]], dtype=float)
WQ = np.array([[0, 3, 0, 3], [4, 0, 4, 0], [0, 0, 0, 0], [0, 0, 0, 0]], dtype=float)
WK = np.array([[0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 1], [0, 1, 1, 1]], dtype=float)
WV = np.array([[0, 0, 0, 1], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]], dtype=float)
WO = np.array([[0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]], dtype=float)


def two_heads():
    q, k, v = (np.stack(np.hsplit(CHASED_X @ w, 2)) for w in (WQ, WK, WV))
    weights = softmax(q @ k.transpose(0, 2, 1) / np.sqrt(2))
    return weights, np.hstack(weights @ v) @ WO


HEAD_WEIGHTS, HEADS_OUTPUT = two_heads()
CHASED_AT, CAT, MOUSE = 2, 1, 4


def sinusoidal(length: int, width: int):
    angle = np.arange(length)[:, None] / 10000 ** (2 * (np.arange(width) // 2) / width)
    return np.where(np.arange(width) % 2 == 0, np.sin(angle), np.cos(angle))


DOG_BITES_MAN = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]], dtype=float)


def moved(positions) -> list[float]:
    """How far each token's output moves when the sentence is turned round."""
    forwards = attention(DOG_BITES_MAN + positions)[1]
    backwards = attention(DOG_BITES_MAN[::-1] + positions)[1][::-1]
    return list(np.abs(forwards - backwards).max(axis=1))


def spread(d: int) -> float:
    """The standard deviation of q · k for independent components of variance 1: √(d · 1 · 1)."""
    return np.sqrt(d)


figure("C1", "illustrative", [], [])
figure("C2", True, ["Q", "K", "V"], [shape(CHASED_X, WQ, CHASED_X @ WQ)], HEADS)
figure("C3", exactly(HEAD_WEIGHTS.sum(axis=-1), 1), ["1"], ["1"])
figure("C4", True, ["softmax(QK^T / √d_k) V"], [f"√{CHASED_X.shape[1] // len(HEAD_WEIGHTS)}"], HEADS)
figure("C5", True, ["√d_k"],
       [f"{spread(4):.0f}", f"d = {4}", f"{spread(4096):.0f}", f"d = {4096}", f"{spread(4096) / np.sqrt(4096):.0f}"])
figure("C6", "illustrative", ["Head 1", "Head 2", "Head 3"], [str(len(HEAD_WEIGHTS))])
# The outputs are permuted along with the tokens: equivariant. Invariant would mean that nothing moves at all.
figure("C7", exactly(*(attention(x)[1] for x in (DOG_BITES_MAN, DOG_BITES_MAN[::-1]))), ["Permutation invariant"],
       [row(np.round(moved(np.zeros((3, 4))), 12)), row(moved(sinusoidal(3, 4)))], POSITIONS)
figure("C8", (2 * 4) ** 2 == 4 * 4**2, ["O(n²)"], [str(SCORES.size), str(8 * 8), str(8 * 8 // SCORES.size)])
figure("C9", "illustrative", [],
       [fixed(HEAD_WEIGHTS[0, CHASED_AT, CAT]), fixed(HEAD_WEIGHTS[1, CHASED_AT, MOUSE]),
        fixed(HEAD_WEIGHTS[0, CHASED_AT, 3])], HEADS)
figure("C10", True, ["three"], [str(len((WQ, WK, WV, WO)))])

# ---- Text D -------------------------------------------------------------------------------------------------------

EIGHT = list(texts.QUERIES_AND_KEYS)
ELEVEN = list(texts.VALUES)
Q = np.array([numbers(q) for q, _ in texts.QUERIES_AND_KEYS.values()])
K = np.array([numbers(k) for _, k in texts.QUERIES_AND_KEYS.values()])
V = np.array([numbers(texts.VALUES[word]) for word in EIGHT])
ALL_V = np.array([numbers(v) for v in texts.VALUES.values()])
IT_AT = EIGHT.index("it")
IT_SCORES = Q @ K.T
IT_WEIGHTS = softmax(IT_SCORES)
IT_OUTPUT = IT_WEIGHTS @ V
WEIGHT_OF = dict(zip(EIGHT, IT_WEIGHTS[IT_AT]))
SCORE_OF = dict(zip(EIGHT, IT_SCORES[IT_AT]))
FIRST = np.array([float(w) for w in texts.SOFTMAX_TABLE.values()])
SECOND = np.array([float(w) for w, _ in texts.WEIGHTED_SUM.values()])
ROWS = np.array([numbers(product) for _, product in texts.WEIGHTED_SUM.values()])
FINAL = numbers(texts.FINAL_VECTOR)


def ranking(weights) -> list[str]:
    return [EIGHT[i] for i in np.argsort(-np.asarray(weights), kind="stable")]


figure("D1", "illustrative", ["80%", "20%", "[0.8, 0.2]"], ["1"])
# The vectors of “The” and “the” are equal in the example `heads`, and stay so.
figure("D2", not exactly(*HEADS_OUTPUT[[0, 3]]), ["[0.8, 0.2]"], [fixed(HEADS_OUTPUT[0])], HEADS)
figure("D3", "input", ["3"], [str(Q.shape)], IT)
figure("D4", len(EIGHT) == len(ELEVEN), ["8", "11"],
       [str(len(texts.SENTENCE)), *(word for word in ELEVEN if word not in EIGHT)])
SAME_AS_QUERY = [word for word in EIGHT if texts.VALUES[word] == texts.QUERIES_AND_KEYS[word][0]]
SAME_AS_KEY = [word for word in EIGHT if texts.VALUES[word] == texts.QUERIES_AND_KEYS[word][1]]
figure("D5", not SAME_AS_QUERY and not SAME_AS_KEY, [], SAME_AS_QUERY + SAME_AS_KEY)


def dot(word: str, places: str = "{:.2f}") -> tuple[str, str]:
    """The sum as text D writes it out, and the score as the program prints it."""
    products = Q[IT_AT] * K[EIGHT.index(word)]
    return " + ".join(places.format(p) for p in products), f"{products.sum():.2f}"


for name, word, printed in [("D6", "The", "0.12 + 0.05 + 0.00 = 0.17"),
                            ("D7", "animal", "0.36 + 0.25 + 0.16 = 0.77"),
                            ("D8", "tired", "0.54 + 0.40 + 0.28 = 1.22")]:  # fmt: skip
    total, score = dot(word)
    figure(name, printed == f"{total} = {score}", [printed], [score], IT_ROW)
for i, word in enumerate(["didn't", "cross", "street", "it", "was"]):
    total, score = dot(word)
    figure(f"D{9 + i}", "left out", [], [f"{total} = {score}"])

for i, word in enumerate(EIGHT):
    first, second = texts.SOFTMAX_TABLE[word], texts.WEIGHTED_SUM[word][0]
    figure(f"D{14 + i}", agrees(first, WEIGHT_OF[word]) or agrees(second, WEIGHT_OF[word]), [first, second],
           [fixed(WEIGHT_OF[word])], IT_ROW)
for i, word in enumerate(word for word in ELEVEN if word not in EIGHT):
    figure(f"D{22 + i}", "illustrative", [texts.WEIGHTED_SUM[word][0]], [])
figure("D25", exactly(FIRST.sum(), 1), [], [f"{FIRST.sum():.2f}"])
figure("D26", exactly(SECOND.sum(), 1), [], [f"{SECOND.sum():.2f}", "1"])
figure("D27", agrees("0.70", FIRST[EIGHT.index("animal")]), ["0.70", "0.20"], ["0.60", "0.20"])
figure("D28", ranking(IT_WEIGHTS[IT_AT])[:2] == ["animal", "street"], [],
       [fixed(WEIGHT_OF[word]) for word in ("tired", "it", "animal", "street")], IT_ROW)
# Softmax keeps the order of the scores, so no scale could have brought “animal” to the front.
assert ranking(IT_SCORES[IT_AT]) == ranking(IT_WEIGHTS[IT_AT]) and ranking(FIRST) != ranking(IT_SCORES[IT_AT])
figure("D29", "left out", [], ["√3", fixed(softmax(IT_SCORES[IT_AT] / np.sqrt(3)))])

for i, word in enumerate(ELEVEN):
    weight, product = texts.WEIGHTED_SUM[word]
    true = []
    if word in EIGHT:
        value = numbers(texts.VALUES[word])
        one, four = "{:.1f}".format, "{:.4f}".format
        true = [f"{fixed(WEIGHT_OF[word])} × {listed(value, one)} = {listed(WEIGHT_OF[word] * value, four)}"]
    figure(f"D{30 + i}", exactly(numbers(product), float(weight) * ALL_V[i]),
           [f"{texts.VALUES[word]} × {weight} = {product}"], true, IT_ROW if true else None)
figure("D41", exactly(FINAL, ROWS.sum(axis=0)), [texts.FINAL_VECTOR],
       [listed(total, "{:.3f}".format) for total in (ROWS.sum(axis=0), SECOND @ ALL_V / SECOND.sum(), FIRST @ V)])
figure("D42", exactly(FINAL, IT_OUTPUT[IT_AT]), [texts.FINAL_VECTOR],
       [listed(IT_OUTPUT[IT_AT], "{:.4f}".format)], IT_ROW)

# ---- Text E -------------------------------------------------------------------------------------------------------

figure("E1", True, ["2017"], ["arXiv:1706.03762"])
figure("E2", "left out", [], ["n - 1", str(texts.SENTENCE.index("it") - texts.SENTENCE.index("The"))])
figure("E3", (WEIGHTS > 0).all(), ["one"], [fixed(WEIGHTS.min())], LOVE)
figure("E4", "left out", [], ["Q = X Wq", "K = X Wk", "V = X Wv"], HEADS)
figure("E5", "left out", [], ["softmax(QK^T / √d_k) V"])
figure("E6", "left out", ["10"], ["10 × 10", str(10 * 10)])
figure("E7", "left out", [], ["√d_k", "√d_k"])
figure("E8", bool(((WEIGHTS > 0) & (WEIGHTS < 1)).all()), ["0", "1"],
       [fixed(WEIGHTS.min()), fixed(WEIGHTS.max())], LOVE)
OTHERS = len(texts.BANK) - 1
figure("E9", "illustrative", ["0.85"],
       [f"{1 - 0.85:.2f}", str(OTHERS), f"{np.log(0.85 / (0.15 / OTHERS)):.4f}"])
figure("E10", "left out", [], ["O(n²)", "O(n² d)"])
SHORT, LONG = 8 * 1024, 128 * 1024
figure("E11", "illustrative", ["8k", "128k"],
       [f"{SHORT:,}² = {SHORT**2:,}", f"{LONG:,}² = {LONG**2:,}", str((LONG // SHORT) ** 2)])
figure("E12", "left out", [],
       [f"{LONG:,} × {LONG:,}", f"{LONG**2 * 4 // 2**30} GiB", f"{SHORT**2 * 4 // 2**20} MiB"])
figure("E13", exactly(WEIGHTS.sum(axis=1), 1), ["100%"], [row(WEIGHTS.sum(axis=1))])
figure("E14", "left out", [], ["X", "Wq", "Wk", "Wv", "QK^T", "√d_k", "V"])
