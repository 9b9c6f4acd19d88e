"""The package's names are all there, each loaded only when it is asked for."""

import subprocess
import sys

import pytest

import dpproof.mechanisms


def test_every_public_name_has_its_module_and_loads():
    for name in mechanisms.__all__:
        assert getattr(mechanisms, name).__module__.startswith("mechanisms.")
        assert name in dir(mechanisms)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        _ = mechanisms.nothing


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, mechanisms; print(sorted({'numba', 'numpy', 'scipy', 'gymnasium'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
