"""What attention did with a text: who looked at whom, what was taken, which heads did it, and what the output owes to them.

Layers and heads have numbers, from 1 (layer 0 is the embeddings); words and tokens have indices, from 0. What each method means, and when
it misleads, is in docs/lens.md.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._recording import RecordedLayer as RecordedLayer
from ._recording import Recording as Recording
from ._recording import load as load
from ._text_model import Text, TextModel

if TYPE_CHECKING:
    from .draw import Figure, Page

Method = Literal["raw", "norm", "rollout", "flow", "grad"]
TokenChoice = Union[str, bytes, int]  # a word that is one token, or a token's id
WordChoice = Union[str, int]  # "it", "the#2" for the second "the", or a number in Reading.words
Doubles = NDArray[np.float64]
AttributionMethod = Literal["integrated", "gradient"]
View = Literal["map", "lines", "model", "film"]
Sink = Literal["auto", "fold", "keep"]  # what becomes of the first token of a model that writes


class Word(NamedTuple):
    """A word, or one token as a word of its own: its characters are [begin, end) of its text, its tokens [first_token, last_token)."""

    text: str
    begin: int
    end: int
    first_token: int
    last_token: int
    part: int  # 1 in the second text of a pair
    special: bool  # such as [CLS] and [SEP]
    unknown: bool = False  # the model's vocabulary does not have it: a token of it is [UNK]


class FirstToken(NamedTuple):
    """What rests on the first token of a text, which sees nothing but itself: heads of models that write put there what they have no use for."""

    text: str
    special: bool
    share: float  # of the weight of rows from the third token on (and up to token 128), the mean over all layers and heads
    even: float  # what that would be if every row were spread evenly
    is_sink: bool  # a share of 0.3 or more, and twice the even one


class HeadProfile(NamedTuple):
    """Where the weight of a head goes, on average over the tokens that are not special: shares of 1, which may overlap."""

    layer: int
    head: int
    previous: float  # the token before
    next: float  # the token after
    same_token: float
    same_word: float  # the other tokens of its word
    first: float  # the first token of the text, special or not
    separator: float  # special tokens
    entropy: float  # of a row, in nats
    broad: float  # that entropy as a share of the largest possible
    relations: list[float]  # the weight from one word to the other, for each relation that was given
    habit: str  # what stands out: "separator", "previous", "next", "same token", "same word", "first token", "induction", "duplicate", "broad" or "mixed"
    key_head: int  # whose keys and values it reads, from 1; several heads may share them


class HeadLink(NamedTuple):
    """How strongly a head links one word to another."""

    layer: int
    head: int
    weight: float  # the sum over the tokens of the key, the mean over those of the query
    share: float  # of what does not go to special tokens
    key_head: int  # whose keys and values it reads, from 1


class TokenGuess(NamedTuple):
    """A token as the vocabulary writes it, and how likely the model thinks it is."""

    token: str
    probability: float


class Token(NamedTuple):
    """A token of a model's vocabulary."""

    id: int
    token: str  # as the vocabulary writes it: "ĠParis"
    text: str  # as it reads: " Paris"


class Candidate(NamedTuple):
    """A token that the model may expect, and how likely it thinks it is."""

    token: Token
    probability: float


class LayerCandidates(NamedTuple):
    """What the model would expect if it ended after a layer."""

    layer: int  # 0: the embeddings
    candidates: list[Candidate]  # the most probable first
    probability: float  # of the watched token
    rank: int  # of the watched token, from 1


class LogitLens(NamedTuple):
    """What each layer would say at one place, from the embeddings on."""

    place: int
    watched: Token
    layers: list[LayerCandidates]

    @property
    def probabilities(self) -> Doubles:
        """Of the watched token, after layer 0, 1, 2, ..."""
        return np.array([layer.probability for layer in self.layers])

    @property
    def ranks(self) -> NDArray[np.int64]:
        """Of the watched token, from 1."""
        return np.array([layer.rank for layer in self.layers], np.int64)


class Attributions(NamedTuple):
    """What each token of a text did for the logit of one that the model may expect."""

    place: int
    token: Token
    values: Doubles  # (tokens,)
    logit: float
    neutral: Token | None  # integrated: every token of the neutral text
    neutral_logit: float | None  # integrated: the values add up to logit - neutral_logit,
    missing: float | None  # but for this share of it; more steps make it smaller


class PatchedAnswers(NamedTuple):
    """How far the first prompt's answer comes back when one part of its pass is put into the pass over the other: 0 not at all, 1 fully."""

    answer: Token
    other: Token  # what the other prompt is answered with
    clean: float  # logit(answer) - logit(other) of the first prompt
    changed: float  # and of the other
    states: Doubles | None  # (layers + 1, tokens): one token's vector as it leaves a layer, from layer 0
    heads: Doubles | None  # (layers, heads): what one head contributes to all tokens


class HeadEdit(NamedTuple):
    """What a head contributes, times `scale`; without a head, what all heads of the layer contribute."""

    layer: int
    head: int | None = None
    scale: float = 0.0


class LinkEdit(NamedTuple):
    """What a word takes from another, times `scale`: in one head, in those of a layer, or in all."""

    from_word: WordChoice
    to_word: WordChoice
    layer: int | None = None
    head: int | None = None
    scale: float = 0.0


class NotFinite(NamedTuple):
    """Where the numbers of a pass stopped being finite: the first NaN or infinity, from which others are made."""

    layer: int  # 0: the embeddings
    part: str  # "embeddings"; "queries", "keys", "values", "attended values" or "output"
    token: int  # from 0
    sentence: str  # the same in words


class OutputChange(NamedTuple):
    """How the output changed with the edits."""

    text_cosine: float  # of the text's vector, before and after
    text_distance: float  # the length of its difference, as a share of its length
    word_cosines: Doubles  # of the vector of each word that leaves the last layer
    not_finite: NotFinite | None = None  # of the pass with the edits


class WordComparison(NamedTuple):
    """One word in two places: how alike its vectors are at first, and how far their surroundings move them apart."""

    static_cosine: float  # of the bare rows of the table of words
    cosines: Doubles  # of what leaves layer 0 (the embeddings with position), 1, 2, ...
    taken_first: Doubles  # (layers, words): what the word took from every word of its text, in shares of `norm`
    taken_second: Doubles


class Reading:
    """One pass of a model over a text, with all that questions about its attention need. Memory is O(n): no weights are kept.

    Arguments that all questions share: `layer` and `head` choose one head, or all of a layer, or (neither given) those of all layers, of
    which the mean is taken; they count from 1. tokens=True asks between tokens, not words. special=False leaves special tokens out, and
    makes each row that was a distribution add up to 1 without them. sink="fold" does so with the first token of a model that writes,
    sink="auto" where it is a sink and not special (first_token); of a first word of several tokens the others stay.
    """

    def __init__(self, core: _core.ReadingCore) -> None:
        self._core = core

    def __repr__(self) -> str:
        words = sum(not word.special for word in self.words)
        counts = ((words, "word"), (self.layers, "layer"), (self.heads, "head"))
        return f"<attend.lens.Reading of {', '.join(f'{count} {thing}' + 's' * (count != 1) for count, thing in counts)}>"

    @property
    def text(self) -> str:
        return self._core.text

    @property
    def pair(self) -> str | None:
        """The second text, where there is one."""
        return self._core.pair or None

    @property
    def answer(self) -> str | None:
        """What a model with an encoder and a decoder wrote by itself; `pair` is what it then read of it. None where no answer was written."""
        return self._core.answer or None

    @property
    def answer_begins(self) -> int | None:
        """The token at which the decoder's text begins; None for a model without a decoder of its own."""
        return self._core.answer_begins

    @property
    def unknown_tokens(self) -> int:
        """How many tokens are [UNK]: text that the model's vocabulary does not have. Words say it of themselves: Word.unknown."""
        return self._core.unknown_tokens

    @property
    def tokens(self) -> list[str]:
        """The tokens as the model's vocabulary writes them."""
        return self._core.tokens

    @property
    def dropped(self) -> int:
        """How many tokens did not fit and were cut off."""
        return self._core.dropped

    @property
    def words(self) -> list[Word]:
        """The words of the text, special tokens included: every token belongs to exactly one of them."""
        return self.units()

    @property
    def not_finite(self) -> NotFinite | None:
        """Where NaN or infinity first appeared, if it did: the weights hold one, or an edit or a sum overflowed."""
        return _where(self._core.not_finite)

    @property
    def layers(self) -> int:
        return self._core.layers

    @property
    def heads(self) -> int:
        return self._core.heads

    @property
    def first_token(self) -> FirstToken | None:
        """How much attention rests on the first token; None where the model looks ahead."""
        fields = self._core.first_token()
        return None if fields is None else FirstToken(*fields)

    def units(self, *, tokens: bool = False, special: bool = True, sink: Sink = "keep") -> list[Word]:
        """What the rows and columns of map() stand for."""
        return [Word(*fields) for fields in self._core.units(tokens, special, sink)]

    def find_word(self, name: WordChoice) -> int:
        """The number of a word: "it", or "the#2" for the second "the". ValueError says which words are close, or how to choose."""
        return self._core.find_word(name)

    def hidden(self, layer: int) -> NDArray[np.float32]:
        """The vectors that leave a layer, (tokens, hidden size); layer 0 is the embeddings."""
        return self._core.hidden(layer)

    def key_heads(self, layer: int = 1) -> int:
        """How many heads of keys and values a layer has: heads 1 to heads / key_heads read the first of them, and so on."""
        return self._core.key_heads(layer)

    def q(self, layer: int) -> NDArray[np.float32]:
        """The queries of a layer, (tokens, heads, head size)."""
        return self._core.q(layer)

    def k(self, layer: int) -> NDArray[np.float32]:
        """The keys of a layer, (tokens, key heads, head size)."""
        return self._core.k(layer)

    def v(self, layer: int) -> NDArray[np.float32]:
        """The values of a layer, (tokens, key heads, head size)."""
        return self._core.v(layer)

    def map(
        self,
        method: Method = "raw",
        layer: int | None = None,
        head: int | None = None,
        *,
        tokens: bool = False,
        special: bool = True,
        sink: Sink = "keep",
        gradients: _core.GradientsCore | None = None,
    ) -> Doubles:
        """Who (rows) looks at, or takes from, whom (columns): (units, units). flow has no map: it is computed for one row() at a time.

        Over the tokens of a word the sum is taken where it is looked at, the mean where it looks.
        """
        return self._core.map(method, layer, head, tokens, special, sink, gradients)

    def row(
        self,
        word: WordChoice,
        method: Method = "raw",
        layer: int | None = None,
        head: int | None = None,
        *,
        tokens: bool = False,
        special: bool = True,
        sink: Sink = "keep",
        gradients: _core.GradientsCore | None = None,
    ) -> Doubles:
        """One row of map(), (units,), without the others. With tokens=True `word` is a token, by its number or as `tokens` has it."""
        return self._core.row(word, method, layer, head, tokens, special, sink, gradients)

    def received(
        self,
        layer: int | None = None,
        head: int | None = None,
        *,
        tokens: bool = False,
        special: bool = True,
        sink: Sink = "keep",
    ) -> Doubles:
        """How much attention each unit receives from all tokens together, (units,): with special ones, as much as there are tokens."""
        return self._core.received(layer, head, tokens, special, sink)

    def profile_heads(self, relations: Iterable[tuple[WordChoice, WordChoice]] = ()) -> list[HeadProfile]:
        """What each head does with this text. relations: pairs of words, such as a verb and its subject, to score each head by."""
        return [HeadProfile(*fields) for fields in self._core.profile_heads(relations)]

    def find_heads(self, from_word: WordChoice, to_word: WordChoice) -> list[HeadLink]:
        """Which heads link one word to another: every head, the strongest link first."""
        return [HeadLink(*fields) for fields in self._core.find_heads(from_word, to_word)]

    def gradients_towards(self, other: Text | Reading | Any) -> _core.GradientsCore:
        """How the cosine with another text, another reading or a vector of vector()'s size changes with what heads contribute: for "grad"."""
        if isinstance(other, (str, bytes)):
            return self._core.towards_text(other)
        vector = other.vector() if isinstance(other, Reading) else np.asarray(other)
        if vector.ndim != 1 or vector.dtype.kind not in "fiu":
            given = f"an array of {vector.dtype} of shape {vector.shape}"
            raise ValueError(f"gradients_towards: expected a text, a Reading or a vector, not {given}")
        return self._core.towards_vector(np.ascontiguousarray(vector, np.float64))

    def gradients_towards_word(self, word: Text, place: int | None = None) -> _core.GradientsCore:
        """How the logit of a word changes with what heads contribute: for "grad". The model needs a head that predicts tokens.

        place: a token of the text; by default the only mask, or (GPT-2) the end of the text.
        """
        return self._core.towards_word(word, place)

    def guesses(self, top: int = 8, place: int | None = None) -> list[TokenGuess]:
        """What a language model expects under the mask, or (GPT-2) after the text: the most probable tokens. place: another of its tokens."""
        return [TokenGuess(*fields) for fields in self._core.guesses(top, place)]

    def next(self, *, place: int | None = None, top: int = 10, temperature: float = 1.0) -> list[Candidate]:
        """The candidates for the next token (of a masked model: for the mask), the most probable first; with ids and readable texts.

        place: the token that is guessed at, or after; by default the only mask, or the last token. -1 is the last, -2 the one before.
        """
        return _candidates(_core.lens_next(self._core, place, top, temperature))

    def logit_lens(self, *, place: int | None = None, top: int = 5, watched: TokenChoice | None = None) -> LogitLens:
        """What the model would expect if it ended after each layer: what leaves it, through the final norm and the output layer.

        watched: the token whose probability and rank are followed; by default the one that the last layer finds most probable.
        """
        found, token, layers = _core.lens_logit_lens(self._core, place, top, watched)
        return LogitLens(
            found, Token(*token), [LayerCandidates(n, _candidates(best), p, rank) for n, best, p, rank in layers]
        )

    def attribute(
        self,
        token: TokenChoice | None = None,
        *,
        place: int | None = None,
        method: AttributionMethod = "integrated",
        steps: int = 32,
        neutral: TokenChoice | None = None,
    ) -> Attributions:
        """What each token of the text did for the logit of a candidate, by default of the most probable one.

        "gradient" is the gradient times the embedding, which holds for small changes; "integrated" follows it in `steps` steps from a text
        of neutral tokens (default: the model's padding or end token), and its values add up to the difference of the two logits.
        """
        found, guessed, values, logit, base, *rest = _core.lens_attribute(self._core, token, place, method, steps, neutral)
        return Attributions(found, Token(*guessed), values, logit, None if base is None else Token(*base), *rest)

    def ablate(self, *edits: str | HeadEdit | LinkEdit) -> OutputChange:
        """How the output changes when heads or links between words are taken away, all at once.

        In words, as `attend explain --ablate` reads them: "4.2" is head 2 of layer 4, as HeadEdit(4, 2) is, "4" all heads of layer 4,
        "it>animal" a link in every head, "4.2:it>animal" in one; "=0.5" after it scales.
        """
        cosine, distance, word_cosines, fields = self._core.ablate(edits)
        return OutputChange(cosine, distance, word_cosines, _warned(_where(fields)))

    def edited(self, *edits: str | HeadEdit | LinkEdit) -> Reading:
        """The same text once more, with the edits that ablate() takes: its weights are those that each layer would have had."""
        reading = Reading(self._core.edited(edits))
        _warned(reading.not_finite)
        return reading

    def vector(self) -> Doubles:
        """The vector of the text as encode() pools it, before any dense layer and normalisation."""
        return self._core.vector()

    def word_vector(self, word: WordChoice, layer: int | None = None) -> Doubles:
        """The mean of the vectors of a word's tokens, as they leave a layer (default: the last)."""
        return self._core.word_vector(word, layer)

    def static_word_vector(self, word: WordChoice) -> Doubles:
        """The mean of the bare rows of its tokens in the table of words, which no other word has touched."""
        return self._core.static_word_vector(word)

    def figure(
        self,
        view: View = "map",
        *,
        method: Method = "raw",
        layer: int | None = None,
        head: int | None = None,
        focus: WordChoice | None = None,
        tokens: bool = False,
        special: bool = False,
        sink: Sink = "auto",
        gradients: _core.GradientsCore | None = None,
        top: int = 8,
    ) -> Figure:
        """What `attend explain` draws: the map, "lines" between words, all heads of the "model", or a "film" of its layers.

        focus: a word whose row is shown as bars, the `top` largest. What a figure says in words counts heads from 1, as the program does.
        """
        from .draw import Figure

        return Figure(_core.lens_figure(self._core, view, method, layer, head, focus, tokens, special, sink, gradients, top))

    def explore(
        self,
        view: Literal["map", "lines", "model"] = "map",
        *,
        method: Literal["raw", "norm", "rollout"] = "raw",
        layer: int | None = None,
        head: int | None = None,
        focus: WordChoice | None = None,
        tokens: bool = False,
        special: bool = False,
        sink: Sink = "auto",
        mean: bool = False,
        height: int = 720,
    ) -> Page:
        """The interactive page of `attend explain -o page.html`, which Jupyter shows, offline; .save("page.html") keeps it.

        The arguments say what it shows first: without `layer` the head that says most about this text, or, with `mean`, the mean of all.
        height: in pixels, in the notebook.
        """
        from .draw import Page

        return Page(_core.lens_page(self._core, view, method, layer, head, focus, tokens, special, sink, mean), height)

    def next_figure(
        self,
        word: Text | None = None,
        *,
        patch: Reading | None = None,
        other_word: Text | None = None,
        method: AttributionMethod = "integrated",
        steps: int = 32,
        temperature: float = 1.0,
        top: int = 8,
    ) -> Figure:
        """What `attend next` draws: the candidates, one of them layer by layer, and what each token did for it.

        word: that candidate; by default the most probable. patch: another prompt, which parts of this one are put into, as lens.patch()
        does; other_word: its answer.
        """
        from .draw import Figure

        other = patch._core if isinstance(patch, Reading) else patch
        return Figure(_core.lens_next_figure(self._core, other, word, other_word, method, steps, temperature, top))


def read(
    model: TextModel | str | os.PathLike[str],
    text: Text,
    pair: Text | None = None,
    *,
    max_tokens: int | None = None,
    only_layer: int | None = None,
) -> Reading:
    """Reads a text, or a pair of texts, with a model: an attend.TextModel, or a name or folder as TextModel.from_pretrained takes it.

    What is longer than max_tokens (default: what the model's folder says; at most its positions) is cut: Reading.dropped. only_layer keeps that layer alone, which is
    what questions about its heads in a long text need: the layers after it are not run. Numbers that are not finite give a
    RuntimeWarning, and Reading.not_finite says where they began; words that the model does not know give a UserWarning.
    """
    loaded = model if isinstance(model, TextModel) else TextModel.from_pretrained(model)
    reading = Reading(_core.read(loaded._core, text, pair, max_tokens, only_layer))
    _warned(reading.not_finite)
    if reading.unknown_tokens:
        words = list(dict.fromkeys(word.text for word in reading.words if word.unknown))
        shown = ", ".join(repr(word) for word in words[:3]) + (f" and {len(words) - 3} more" if len(words) > 3 else "")
        warnings.warn(f"the model does not know {shown}: {reading.unknown_tokens} of the tokens of this text are unknown", UserWarning, stacklevel=2)
    return reading


def patch(
    clean: Reading,
    changed: Reading,
    *,
    answer: TokenChoice | None = None,
    other: TokenChoice | None = None,
    states: bool = True,
    heads: bool = True,
) -> PatchedAnswers:
    """Activation patching: parts of the pass over one prompt are put into the pass over another, one at a time.

    Both are readings of the same model, which writes, with the same number of tokens; answer and other are what they are answered with, by
    default what each makes most probable. states=False or heads=False leaves that part out.
    """
    found = _core.lens_patch(clean._core, changed._core, answer, other, states, heads)
    return PatchedAnswers(Token(*found[0]), Token(*found[1]), *found[2:])


def _candidates(fields: list[tuple[tuple[int, str, str], float]]) -> list[Candidate]:
    return [Candidate(Token(*token), probability) for token, probability in fields]


def _where(fields: tuple[int, str, int, str] | None) -> NotFinite | None:
    return None if fields is None else NotFinite(*fields)


def _warned(where: NotFinite | None) -> NotFinite | None:
    if where is not None:
        warnings.warn(where.sentence, RuntimeWarning, stacklevel=3)
    return where


def compare(
    first: Reading, word: WordChoice, second: Reading | None = None, other_word: WordChoice | None = None
) -> WordComparison:
    """One word in two places: of two readings, or (without a second) of one. other_word: its name there, if it has another."""
    if second is None and other_word is None:
        raise ValueError("compare: expected a second reading, or the other word of the first one")
    if other_word is None:
        other_word = first.words[first.find_word(word)].text
    return WordComparison(*_core.compare_word(first._core, word, (second or first)._core, other_word))
