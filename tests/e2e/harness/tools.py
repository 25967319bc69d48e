"""Programs that tests need beyond the product (section [operations] of deploy/packages.txt)."""
import os
import shutil
import unittest


def missing(what):
    """Something that a test needs is not there: it skips and says so; it fails if HALOGRAPH_NEED_TOOLS is 1."""
    if os.environ.get("HALOGRAPH_NEED_TOOLS") == "1":
        raise RuntimeError(f"{what}, and HALOGRAPH_NEED_TOOLS is 1")
    raise unittest.SkipTest(what)


def tool(*names, package):
    """The path of the first of these programs that is there. `package`: Debian's that has it."""
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    return missing(f"{names[0]} is not installed (Debian's package {package}; "
                   "deploy/install-packages.sh operations)")
