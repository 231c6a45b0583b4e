"""python -m attend: the program that the package carries."""

import os
import sys

os.execv(os.path.join(os.path.dirname(__file__), "bin", "attend"), ["attend", *sys.argv[1:]])
