"""What the tests of the whole programs share. Python's standard library only.

npy.py       reads and writes .npy files, so that results are counted apart from the C++ code
datasets.py  input folders: the repository's, those of HALOGRAPH_DATA, and small made ones
folder.py    reads a partition folder
programs.py  runs the programs; ends whatever a test started
training.py  runs trainers and reads their logs
checkpoints.py  names the checkpoints of a run and waits for them
"""
