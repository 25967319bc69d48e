"""Programs that tests need beyond the product (section [operations] of deploy/packages.txt)."""
import os
import shutil
import unittest


def tool(name, package):
    """Its path. Where it is missing, the test skips and names it; it fails if HALOGRAPH_NEED_TOOLS is 1."""
    path = shutil.which(name)
    if path:
        return path
    message = f"{name} is not installed (Debian's package {package}; deploy/install-packages.sh operations)"
    if os.environ.get("HALOGRAPH_NEED_TOOLS") == "1":
        raise RuntimeError(message)
    raise unittest.SkipTest(message)
