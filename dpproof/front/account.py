"""`account`. Its types are in the stub file next to this file, which `make docs` generates."""

from dpproof.accountant.asking import account as account
