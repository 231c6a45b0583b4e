"""The numbers the five texts print, as they print them. Strings, because 0.60 and 0.6 are not the same figure."""

import numpy as np

# Text A, the experiment in NumPy.
LOVE = ["I", "love", "deep", "learning"]
X = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1]], dtype=float)
TICKS = {"I": "I", "love": "I love", "deep": "deep learning", "learning": "deep learning"}

# Text D. Three of the eleven words have a value and no key.
SENTENCE = "The animal didn't cross the street because it was too tired".split()
QUERIES_AND_KEYS = {
    "The": ("[0.1, 0.2, 0.3]", "[0.2, 0.1, 0.0]"),
    "animal": ("[0.5, 0.4, 0.3]", "[0.6, 0.5, 0.4]"),
    "didn't": ("[0.2, 0.1, 0.1]", "[0.1, 0.2, 0.1]"),
    "cross": ("[0.0, 0.1, 0.2]", "[0.2, 0.1, 0.3]"),
    "street": ("[0.4, 0.3, 0.2]", "[0.5, 0.4, 0.3]"),
    "it": ("[0.6, 0.5, 0.4]", "[0.7, 0.6, 0.5]"),
    "was": ("[0.1, 0.1, 0.0]", "[0.1, 0.0, 0.2]"),
    "tired": ("[0.7, 0.6, 0.5]", "[0.9, 0.8, 0.7]"),
}
VALUES = {
    "The": "[0.1, 0.2, 0.3]",
    "animal": "[0.7, 0.6, 0.5]",
    "didn't": "[0.1, 0.1, 0.2]",
    "cross": "[0.0, 0.1, 0.1]",
    "the": "[0.2, 0.3, 0.2]",
    "street": "[0.5, 0.4, 0.3]",
    "because": "[0.1, 0.2, 0.1]",
    "it": "[0.6, 0.5, 0.4]",
    "was": "[0.1, 0.1, 0.0]",
    "too": "[0.0, 0.0, 0.1]",
    "tired": "[0.8, 0.7, 0.6]",
}
SOFTMAX_TABLE = {
    "The": "0.05", "animal": "0.60", "didn't": "0.02", "cross": "0.03",
    "street": "0.20", "it": "0.00", "was": "0.02", "tired": "0.08",
}  # fmt: skip
# The weights of the weighted sum, and the product printed beside each.
WEIGHTED_SUM = {
    "The": ("0.05", "[0.005, 0.01, 0.015]"),
    "animal": ("0.70", "[0.49, 0.42, 0.35]"),
    "didn't": ("0.02", "[0.002, 0.002, 0.004]"),
    "cross": ("0.01", "[0.0, 0.001, 0.001]"),
    "the": ("0.01", "[0.002, 0.003, 0.002]"),
    "street": ("0.20", "[0.1, 0.08, 0.06]"),
    "because": ("0.01", "[0.001, 0.002, 0.001]"),
    "it": ("0.00", "[0.0, 0.0, 0.0]"),
    "was": ("0.01", "[0.001, 0.001, 0.0]"),
    "too": ("0.00", "[0.0, 0.0, 0.0]"),
    "tired": ("0.00", "[0.0, 0.0, 0.0]"),
}
FINAL_VECTOR = "[0.598, 0.518, 0.432]"

# Text C's sentence and text E's.
CHASED = "The cat chased the mouse".split()
BANK = "The bank was closed because the vault was stuck".split()
