"""Many texts: a job (Embed, Explain or Generate) over a file of any size, by several processes, in parts that survive a stop.

A job is a description that can be pickled, and a function: job(texts) gives its columns. So it goes anywhere: multiprocessing.Pool().imap(job, chunks),
Spark's df.mapInPandas(job.over("text"), schema), or run(), which reads files, starts processes, and writes parts. attend.ray.run() is the
same on a cluster. Whoever computes a text, its numbers have the same bits.
"""

from ._jobs import Embed, Explain, Generate, Job
from ._parts import Finished, Progress
from ._run import run

__all__ = ["Embed", "Explain", "Finished", "Generate", "Job", "Progress", "run"]
