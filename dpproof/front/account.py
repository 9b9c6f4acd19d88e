"""`account`, whose types stand in the stub beside this file, which `make docs` generates."""

from dpproof.accountant.asking import account as account
