"""Watch attention learn: "d7 a3 f1 ... a?" has one answer, and a head that finds it. Some seconds; the folder is a model.

    python examples/learn_recall.py [FOLDER]
"""

import sys

import attend


class Progress(attend.train.Callback):
    """Says how it goes, and stops when nothing is left to learn."""

    def on_step(self, report):
        if report.step % 50 == 0:
            print(f"step {report.step:4d}  loss {report.loss:.4f}  {report.tokens_per_second:,.0f} tokens/s")

    def on_evaluation(self, evaluation):
        print(f"           {evaluation.accuracy:.1%} right on what it never learned from")
        return evaluation.accuracy < 0.999


folder = sys.argv[1] if len(sys.argv) > 1 else "recall-model"
run = attend.train.start("recall", folder)
before = run.maps()
run.fit([Progress()])
after = run.maps()

question, answer = after.row_labels[-1], after.column_labels[after.answers[-1]]
print(f"\n{' '.join(after.row_labels)}")
print(f"at {question} the best head puts {before.on_answers.max():.3f} on {answer} before, {after.on_answers.max():.3f} after")
run.figure("film").save(run.folder / "film.html")
run.figure("loss").save(run.folder / "loss.html")

# The folder is a model like any other.
reading = attend.lens.read(folder, "d7 a3 f1 a?")
head = after.on_answers[0].argmax() + 1  # numbers count from 1, indices from 0
weights = reading.map(layer=1, head=head)[-1]
print(f"in a text of one's own: {dict(zip(['d7', 'a3', 'f1', 'a?'], weights.round(3).tolist()))}")
print(f"saved in {folder}: film.html and loss.html are its pictures")
