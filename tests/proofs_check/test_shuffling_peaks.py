"""The lemma of docs/notes/shuffling_peaks.md: its algebra and inequalities are obligations of the kernel.

Every claim holds over the whole unbounded range of its variables, and the kernel checks its certificate; what
a derivative is comes from sympy, exactly. Here q = r - 1 >= 0, m = n - K, shares a < b and k in [0, 1]. That
a peak is what the integral says, and that bounds over ranges hold for every peak in them, is enumerated in
tests/accountant/test_sdp_pe_thresholds.py.
"""

import pytest
import sympy

from dpproof.proofs_check.kernel import Rejected, check
from dpproof.proofs_check.search import certificate, prove
from tests.proofs_check.hints import make_goal

SHARES = {"a": "(0, 1)", "b": "(0, 1)", "q": "(0, inf)"}
SHARE = {"k": "[0, 1]", "q": "[0, inf)"}
PARTS = {"s": "[1, inf)", "w": "(1, inf)", "K": "[1, inf)", "m": "[1, inf)"}
ODDS = "(s*K/m)"
CLAIMS = {
    "section 2, the log-derivative of G": (
        PARTS,
        f"K/w - (m+K)*{ODDS}/(1+{ODDS}*w) == 0 - K*m*(s*w-1)/(w*(m+s*K*w))",
    ),
    "section 2, the other factor": (PARTS, f"(w-1)/(w*(1+{ODDS}*w)) == m*(w-1)/(w*(m+s*K*w))"),
    "section 2, g rises": (PARTS, "(s-1)/(s*w-1)**2 >= 0"),
    "section 3, A rises, so that m(K) falls up to n/2": ({"x": "(0, 1]"}, "log(1+x) >= x/(1+x)"),
    "section 3, the maximum of D_r is at most at 1/2": ({"q": "(0, inf)"}, "log(1+q) >= 2*q/(2+q)"),
    "section 3, D grows in r": (SHARE, "k/(1+q*k) - k/(1+q) == k*q*(1-k)/((1+q)*(1+q*k))"),
    "section 3, by at least 0": (SHARE, "k*q*(1-k)/((1+q)*(1+q*k)) >= 0"),
    "section 3, D is concave in k": (SHARE, "q**2/(1+q*k)**2 >= 0"),
    "section 3, the difference rises and then falls": (
        SHARES,
        "1/((1+q*a)*(1+q*b)) - 1/(1+q) == q*(1 - (a+b) - q*a*b)/((1+q)*(1+q*a)*(1+q*b))",
    ),
}
FALSE = {
    "A falls": ({"x": "(0, 1]"}, "x/(1+x) >= log(1+x)"),
    "the maximum is at most at 0.49": ({"q": "(0, inf)"}, "49/100*log(1+q)*q >= q - log(1+q)"),
}
"""The second one: 1/log r - 1/(r-1) <= 49/100, which fails near r = 1."""


@pytest.mark.parametrize("name", CLAIMS)
def test_the_kernel_accepts_the_step(name):
    variables, goal = CLAIMS[name]
    claim = make_goal(variables, goal)
    proof = prove(claim)
    assert proof is not None
    assert check(certificate("shuffling_peaks", claim, "PROVED", proof), claim).verdict == "PROVED"


@pytest.mark.parametrize("name", FALSE)
def test_known_bad_steps_are_not_proved(name):
    variables, goal = FALSE[name]
    claim = make_goal(variables, goal)
    assert prove(claim) is None
    true = make_goal(*CLAIMS["section 3, A rises, so that m(K) falls up to n/2"])
    with pytest.raises(Rejected):
        check(certificate("shuffling_peaks", true, "PROVED", prove(true)), claim)


def test_derivatives_are_what_the_claims_are_about():
    s, w, K, m, k, r = sympy.symbols("s w K m k r", positive=True)
    n, u = K + m, s * K / m
    log_G = K * sympy.log(w) - n * sympy.log(1 + u * w)
    assert sympy.simplify(sympy.diff(log_G, w) + K * m * (s * w - 1) / (w * (m + s * K * w))) == 0
    g = (w - 1) / (s * w - 1)
    assert sympy.simplify(sympy.diff(g, w) - (s - 1) / (s * w - 1) ** 2) == 0
    D = sympy.log(1 + (r - 1) * k) - k * sympy.log(r)
    q = r - 1
    assert sympy.simplify(sympy.diff(D, r) - (k / (1 + q * k) - k / r)) == 0
    assert sympy.simplify(sympy.diff(D, k, 2) + q**2 / (1 + q * k) ** 2) == 0
    assert D.subs(k, 0) == 0
    assert sympy.simplify(D.subs(k, 1)) == 0
    top = 1 / sympy.log(r) - 1 / (r - 1)
    assert sympy.simplify(sympy.diff(D, k).subs(k, top)) == 0
    # the integrand: -G' g/K = w^(K-1) (w-1) (1 + u w)^-(n+1), after division by G
    left = K * m * (s * w - 1) / (w * (m + s * K * w)) * g / K
    assert sympy.simplify(left - (w - 1) / (w * (1 + u * w))) == 0
    # A(j) = (1 + 1/j)^j: (log A)' = log(1 + x) - x/(1 + x) at x = 1/j
    j = sympy.symbols("j", positive=True)
    slope = sympy.diff(j * sympy.log(1 + 1 / j), j)
    assert sympy.simplify(slope - (sympy.log(1 + 1 / j) - (1 / j) / (1 + 1 / j))) == 0
