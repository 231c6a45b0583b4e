"""Runs the program `attend` that the package carries. A module of its own, so that nothing of the package is imported first: NumPy takes 60 ms."""

import os
import sys


def main() -> None:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "attend", "bin", "attend")
    os.execv(program, ["attend", *sys.argv[1:]])
