From Coq Require Import Reals Lra Psatz ZArith.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
Open Scope R_scope.
Local Set Warnings "-all".

Lemma ge1_mult a b : 1 <= a -> 1 <= b -> 1 <= a * b. Proof. nra. Qed.
Lemma gt1_ge1_mult a b : 1 < a -> 1 <= b -> 1 < a * b. Proof. nra. Qed.
Lemma ge1_gt1_mult a b : 1 <= a -> 1 < b -> 1 < a * b. Proof. nra. Qed.
Lemma gt1_inv d : 0 < d -> d < 1 -> 1 < / d.
Proof. intros H0 H1. rewrite <- Rinv_1. apply Rinv_lt_contravar; lra. Qed.
Lemma ge1_inv d : 0 < d -> d <= 1 -> 1 <= / d.
Proof. intros H0 H1. rewrite <- Rinv_1. apply Rinv_le_contravar; lra. Qed.
Lemma gt1_div n d : 0 < d -> d < n -> 1 < n / d.
Proof. intros H0 H1. apply Rmult_lt_reg_r with d; [lra|]. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. Qed.
Lemma ge1_div n d : 0 < d -> d <= n -> 1 <= n / d.
Proof. intros H0 H1. apply Rmult_le_reg_r with d; [lra|]. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. Qed.
Lemma lt1_div n d : 0 < d -> n < d -> n / d < 1.
Proof. intros H0 H1. apply Rmult_lt_reg_r with d; [lra|]. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. Qed.
Lemma le1_div n d : 0 < d -> n <= d -> n / d <= 1.
Proof. intros H0 H1. apply Rmult_le_reg_r with d; [lra|]. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. Qed.
Lemma ge1_pow a n : 1 <= a -> 1 <= a ^ n. Proof. apply pow_R1_Rle. Qed.
Lemma ln_pos a : 1 < a -> 0 < ln a. Proof. intros H. rewrite <- ln_1. apply ln_increasing; lra. Qed.
Lemma ln_nonneg a : 1 <= a -> 0 <= ln a.
Proof. intros [H|H]; [left; apply ln_pos; lra | rewrite <- H, ln_1; lra]. Qed.
Lemma ln_neg a : 0 < a -> a < 1 -> ln a < 0. Proof. intros. rewrite <- ln_1. apply ln_increasing; lra. Qed.
Lemma ln_nonpos a : 0 < a -> a <= 1 -> ln a <= 0.
Proof. intros H [H1|H1]; [left; apply ln_neg; lra | rewrite H1, ln_1; lra]. Qed.
Lemma exp_gt1 a : 0 < a -> 1 < exp a. Proof. intros. rewrite <- exp_0. now apply exp_increasing. Qed.
Lemma exp_ge1 a : 0 <= a -> 1 <= exp a.
Proof. intros [H|H]; [left; now apply exp_gt1 | rewrite <- H, exp_0; lra]. Qed.
Lemma div_nonneg a b : 0 <= a -> 0 < b -> 0 <= a / b. Proof. intros. apply Rmult_le_pos; [lra | left; now apply Rinv_0_lt_compat]. Qed.
Lemma exp_minus a b : exp (a - b) = exp a / exp b.
Proof. unfold Rminus, Rdiv. now rewrite exp_plus, exp_Ropp. Qed.
Lemma exp_twice a : exp (2 * a) = exp a ^ 2.
Proof. replace (2 * a) with (a + a) by ring. rewrite exp_plus. ring. Qed.
Lemma exp_double a : exp ((1 + 1) * a) = exp a ^ 2.
Proof. replace ((1 + 1) * a) with (a + a) by ring. rewrite exp_plus. ring. Qed.
Lemma exp_minus_twice a : exp ((- 2) * a) = / exp a ^ 2.
Proof. replace ((- 2) * a) with (- (2 * a)) by ring. now rewrite exp_Ropp, exp_twice. Qed.
Lemma to_zero a b : a - b = 0 -> b = a. Proof. lra. Qed.
Lemma less_zero e m d : d = 0 -> e - m * d = 0 -> e = 0. Proof. intros ->. lra. Qed.
Lemma sq_nonneg a : 0 <= a ^ 2. Proof. nra. Qed.
Lemma even_nonneg a n : 0 <= a ^ (n + n). Proof. rewrite pow_add. nra. Qed.
Lemma Rle_0_minus a b : b <= a -> 0 <= a - b. Proof. lra. Qed.
Lemma diff_le a b : 0 <= a - b -> b <= a. Proof. lra. Qed.
Lemma diff_lt a b : 0 < a - b -> b < a. Proof. lra. Qed.
Lemma ln_div a b : 0 < a -> 0 < b -> ln (a / b) = ln a - ln b.
Proof. intros. unfold Rdiv. rewrite ln_mult, ln_Rinv; [lra | lra | lra | now apply Rinv_0_lt_compat]. Qed.
Lemma ln_power a n : 0 < a -> ln (a ^ n) = INR n * ln a. Proof. apply ln_pow. Qed.
Lemma ln_sqrt a : 0 < a -> ln (sqrt a) = ln a / 2.
Proof. intros H. assert (E := sqrt_sqrt a (Rlt_le _ _ H)). assert (P := sqrt_lt_R0 a H).
  rewrite <- E at 2. rewrite ln_mult; lra. Qed.

(* Arithmetic of a given precision uses no machine floating point. *)
Ltac itv := interval with (i_prec 60).

(* Signs by structure. *)
Ltac atom := first [assumption | lra].
Ltac le0 := (* 0 <= e *)
  first [ atom
  | lazymatch goal with
    | |- 0 <= _ + _ => apply Rplus_le_le_0_compat; le0
    | |- 0 <= _ * _ => apply Rmult_le_pos; le0
    | |- 0 <= _ / _ => apply div_nonneg; [le0 | lt0]
    | |- 0 <= / _ => left; apply Rinv_0_lt_compat; lt0
    | |- 0 <= _ ^ 2 => apply sq_nonneg
    | |- 0 <= _ ^ 4 => apply (even_nonneg _ 2)
    | |- 0 <= _ ^ 6 => apply (even_nonneg _ 3)
    | |- 0 <= _ ^ 8 => apply (even_nonneg _ 4)
    | |- 0 <= _ ^ _ => apply pow_le; le0
    | |- 0 <= exp _ => left; apply exp_pos
    | |- 0 <= sqrt _ => apply sqrt_pos
    | |- 0 <= ln _ => apply ln_nonneg; ge1
    | |- 0 <= - ln _ => apply Ropp_0_ge_le_contravar, Rle_ge, ln_nonpos; [lt0 | le1]
    | |- 0 <= _ - 1 => first [ apply Rle_0_minus; ge1 | nra | itv ]
    | |- 0 <= 1 - _ => first [ apply Rle_0_minus; le1 | nra | itv ]
    | |- 0 <= - _ => fail
    | |- _ => first [ nra | itv ]
    end ]
with lt0 := (* 0 < e *)
  first [ atom
  | lazymatch goal with
    | |- 0 < _ + _ => first [ apply Rplus_lt_le_0_compat; [lt0 | le0] | apply Rplus_le_lt_0_compat; [le0 | lt0] ]
    | |- 0 < _ * _ => apply Rmult_lt_0_compat; lt0
    | |- 0 < _ / _ => apply Rdiv_lt_0_compat; lt0
    | |- 0 < / _ => apply Rinv_0_lt_compat; lt0
    | |- 0 < _ ^ _ => apply pow_lt; lt0
    | |- 0 < exp _ => apply exp_pos
    | |- 0 < sqrt _ => apply sqrt_lt_R0; lt0
    | |- 0 < ln _ => apply ln_pos; gt1
    | |- 0 < - ln _ => apply Ropp_0_gt_lt_contravar, ln_neg; [lt0 | lt1]
    | |- 0 < _ - 1 => first [ apply Rlt_Rminus; gt1 | nra | itv ]
    | |- 0 < 1 - _ => first [ apply Rlt_Rminus; lt1 | nra | itv ]
    | |- 0 < - _ => fail
    | |- _ => first [ nra | itv ]
    end ]
with ge1 :=
  first [ atom
  | match goal with
    | |- 1 <= _ * _ => apply ge1_mult; ge1
    | |- 1 <= _ / _ => apply ge1_div; [lt0 | first [lra | nra]]
    | |- 1 <= / _ => apply ge1_inv; [lt0 | le1]
    | |- 1 <= _ ^ _ => apply ge1_pow; ge1
    | |- 1 <= exp _ => apply exp_ge1; le0
    | |- 1 <= ?a + ?b => apply Rle_trans with (a + 0); [rewrite Rplus_0_r; ge1 | apply Rplus_le_compat_l; le0]
    end
  | nra ]
with gt1 :=
  first [ atom
  | match goal with
    | |- 1 < _ * _ => first [ apply gt1_ge1_mult; [gt1 | ge1] | apply ge1_gt1_mult; [ge1 | gt1] ]
    | |- 1 < _ / _ => apply gt1_div; [lt0 | first [lra | nra]]
    | |- 1 < / _ => apply gt1_inv; [lt0 | lt1]
    | |- 1 < exp _ => apply exp_gt1; lt0
    | |- 1 < ?a + ?b => apply Rle_lt_trans with (1 + 0); [lra | apply Rplus_le_lt_compat; [ge1 | lt0]]
    end
  | nra ]
with lt1 :=
  first [ atom
  | match goal with
    | |- _ / _ < 1 => apply lt1_div; [lt0 | first [lra | nra]]
    end
  | nra ]
with le1 :=
  first [ atom
  | match goal with
    | |- _ / _ <= 1 => apply le1_div; [lt0 | first [lra | nra]]
    end
  | nra ].

Ltac nonzero := (* e <> 0 *)
  first [ assumption
  | apply Rgt_not_eq; unfold Rgt; lt0
  | match goal with
    | |- _ * _ <> 0 => apply Rmult_integral_contrapositive_currified; nonzero
    | |- _ / _ <> 0 => apply Rmult_integral_contrapositive_currified; [nonzero | apply Rinv_neq_0_compat; nonzero]
    | |- / _ <> 0 => apply Rinv_neq_0_compat; nonzero
    | |- _ ^ _ <> 0 => apply pow_nonzero; nonzero
    | |- - _ <> 0 => apply Ropp_neq_0_compat; nonzero
    | |- ?a <> 0 => apply Rlt_not_eq; apply Ropp_lt_cancel; rewrite Ropp_0; lt0
    | |- ?a - ?b <> 0 => apply Rlt_not_eq; apply Ropp_lt_cancel; rewrite Ropp_0, Ropp_minus_distr; lt0
    end ].
Ltac sides := repeat match goal with |- _ /\ _ => split end; nonzero.

(* Logarithms and exponentials of products and sums. *)
Ltac expand_ln := repeat match goal with
  | |- context [ln 1] => rewrite ln_1
  | |- context [ln (exp ?a)] => rewrite (ln_exp a)
  | |- context [ln (?a * ?b)] => rewrite (ln_mult a b) by lt0
  | |- context [ln (?a / ?b)] => rewrite (ln_div a b) by lt0
  | |- context [ln (/ ?a)] => rewrite (ln_Rinv a) by lt0
  | |- context [ln (?a ^ ?n)] => rewrite (ln_power a n) by lt0; simpl (INR n)
  | |- context [ln (sqrt ?a)] => rewrite (ln_sqrt a) by lt0
  end.
Lemma exp_times p a : exp (IZR (Zpos p) * a) = exp a ^ Pos.to_nat p.
Proof.
  replace (IZR (Zpos p)) with (INR (Pos.to_nat p)) by (now rewrite INR_IZR_INZ, positive_nat_Z).
  induction (Pos.to_nat p) as [|n I]; simpl pow; [now rewrite Rmult_0_l, exp_0 |].
  now rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus, I, Rmult_comm.
Qed.
Lemma exp_minus_times p a : exp (- IZR (Zpos p) * a) = / exp a ^ Pos.to_nat p.
Proof. now rewrite Ropp_mult_distr_l_reverse, exp_Ropp, exp_times. Qed.
Lemma exp_neg_times p a : exp (IZR (Zneg p) * a) = / exp a ^ Pos.to_nat p.
Proof. change (Zneg p) with (- Zpos p)%Z. now rewrite opp_IZR, exp_minus_times. Qed.
Lemma exp_opp_mult a b : exp (- a * b) = / exp (a * b).
Proof. now rewrite Ropp_mult_distr_l_reverse, exp_Ropp. Qed.
Ltac small p := let b := eval compute in (Pos.leb p 9) in lazymatch b with true => idtac end.
Ltac counted p := let n := eval compute in (Pos.to_nat p) in change (Pos.to_nat p) with n.
Ltac expand_exp := repeat match goal with
  | |- context [exp 0] => rewrite exp_0
  | |- context [exp (ln ?a)] => rewrite (exp_ln a) by lt0
  | |- context [exp (?a + ?b)] => rewrite (exp_plus a b)
  | |- context [exp (?a - ?b)] => rewrite (exp_minus a b)
  | |- context [exp ((1 + 1) * ?a)] => rewrite (exp_double a)
  | |- context [exp (2 * ?a)] => rewrite (exp_twice a)
  | |- context [exp ((- 2) * ?a)] => rewrite (exp_minus_twice a)
  | |- context [exp (IZR (Zpos ?p) * ?a)] => small p; rewrite (exp_times p a); counted p
  | |- context [exp (- IZR (Zpos ?p) * ?a)] => small p; rewrite (exp_minus_times p a); counted p
  | |- context [exp (IZR (Zneg ?p) * ?a)] => small p; rewrite (exp_neg_times p a); counted p
  | |- context [exp (- ?a * ?b)] => rewrite (exp_opp_mult a b)
  | |- context [exp (2 * ?a * / 2)] => replace (2 * a * / 2) with a by field
  | |- context [exp (- ?a)] => rewrite (exp_Ropp a)
  end.
(* Every logarithm, exponential and root becomes a variable of known sign. *)
Ltac forget e := generalize dependent e; let x := fresh "a" in intro x; intros.
Ltac hide e := first
  [ assert (0 < e) by lt0; forget e
  | assert (0 <= e) by le0; forget e
  | let y := fresh "y" in set (y := - e); assert (0 < y) by (unfold y; lt0);
    replace e with (- y) by (unfold y; ring); clearbody y
  | let y := fresh "y" in set (y := - e); assert (0 <= y) by (unfold y; le0);
    replace e with (- y) by (unfold y; ring); clearbody y
  | forget e ].
Ltac hide_atoms := repeat match goal with
  | |- context [ln ?a] => hide (ln a)
  | |- context [exp ?a] => hide (exp a)
  end.
Ltac constants := rewrite ?ln_1, ?exp_0, ?sqrt_0, ?sqrt_1, ?Rmult_0_l, ?Rmult_0_r.

(* Two logarithms, exponentials or roots of equal arguments become one. *)
Ltac same := first [ ring | field; sides ].
Ltac merge := repeat match goal with
  | |- context [ln ?a] => match goal with |- context [ln ?b] =>
      first [ constr_eq a b; fail 1 | replace (ln a) with (ln b) by (f_equal; same) ] end
  | |- context [exp ?a] => match goal with |- context [exp ?b] =>
      first [ constr_eq a b; fail 1 | replace (exp a) with (exp b) by (f_equal; same) ] end
  | |- context [sqrt ?a] => match goal with |- context [sqrt ?b] =>
      first [ constr_eq a b; fail 1 | replace (sqrt a) with (sqrt b) by (f_equal; same) ] end
  end.
(* Roots of products and quotients; the root of a variable replaces the variable. *)
Lemma sqrt_quotient a b : 0 <= a -> 0 < b -> sqrt (a / b) = sqrt a / sqrt b. Proof. apply sqrt_div. Qed.
Lemma sqrt_product a b : 0 <= a -> 0 <= b -> sqrt (a * b) = sqrt a * sqrt b. Proof. apply sqrt_mult. Qed.
Lemma sqrt_square a : 0 <= a -> sqrt (a ^ 2) = a. Proof. apply sqrt_pow2. Qed.
Ltac expand_sqrt := repeat match goal with
  | |- context [sqrt 0] => rewrite sqrt_0
  | |- context [sqrt 1] => rewrite sqrt_1
  | |- context [sqrt (?a ^ 2)] => rewrite (sqrt_square a) by le0
  | |- context [sqrt (?a / ?b)] => rewrite (sqrt_quotient a b) by first [le0 | lt0]
  | |- context [sqrt (?a * ?b)] => rewrite (sqrt_product a b) by le0
  | |- context [sqrt 4] => replace (sqrt 4) with 2 by (symmetry; replace 4 with (2 ^ 2) by ring; apply sqrt_pow2; lra)
  | |- context [sqrt 8] => replace 8 with (2 ^ 2 * 2) by ring
  | |- context [sqrt 6] => replace 6 with (2 * 3) by ring
  | |- context [sqrt 12] => replace 12 with (2 ^ 2 * 3) by ring
  end.
Ltac square_of a :=
  let r := fresh "r" in let E := fresh "E" in
  assert (E : a = (sqrt a) ^ 2) by (symmetry; apply pow2_sqrt; le0);
  first [ assert (0 < sqrt a) by (apply sqrt_lt_R0; lt0) | assert (0 <= sqrt a) by apply sqrt_pos ];
  generalize dependent (sqrt a); intros r E; intros; first [ subst a | symmetry in E ].
Ltac roots := repeat match goal with |- context [sqrt ?a] => square_of a end.
Ltac equal_with_roots := merge; roots; first
  [ field; sides
  | match goal with E : _ ^ 2 = _, F : _ ^ 2 = _ |- _ => field [E F]; sides end
  | match goal with E : _ ^ 2 = _ |- _ => field [E]; sides end ].

(* The goal as 0 <= a - b, and back. *)
Ltac difference := match goal with
  | |- _ <= _ => apply diff_le
  | |- _ < _ => apply diff_lt
  end.
Lemma undo_le a b : b <= a -> 0 <= a - b. Proof. lra. Qed.
Lemma undo_lt a b : b < a -> 0 < a - b. Proof. lra. Qed.
Ltac undo_difference := first [apply undo_le | apply undo_lt].

(* v = c + t or v = c - t, and hypotheses about t. *)
Ltac shift v c t :=
  pose (t := v - c); assert (v = c + t) by (unfold t; ring); clearbody t; subst v.
Ltac reflect v c t :=
  pose (t := c - v); assert (v = c - t) by (unfold t; ring); clearbody t; subst v.
Ltac tidy := repeat match goal with
  | H : ?c <= ?c + ?t |- _ => assert (0 <= t) by lra; clear H
  | H : ?c < ?c + ?t |- _ => assert (0 < t) by lra; clear H
  | H : ?c - ?t <= ?c |- _ => assert (0 <= t) by lra; clear H
  | H : ?c - ?t < ?c |- _ => assert (0 < t) by lra; clear H
  end.

Lemma either_sign e : 0 <= e \/ 0 <= - e. Proof. lra. Qed.

(* Leaves. *)
Ltac sign := match goal with |- 0 <= _ => le0 | |- 0 < _ => lt0 end.
Ltac common := match goal with
  | |- _ ?e => field_simplify e; [ sign | sides .. ]
  end.
Ltac equal := first [ reflexivity | lra | field; sides | ring ].
(* Exponentials of sums become products of exponentials of monomials. *)
Lemma exp_inverse a b : a = - b -> exp a = / exp b. Proof. intros ->. apply exp_Ropp. Qed.
Ltac inverses := repeat match goal with
  | |- context [exp ?a] => match goal with |- context [exp ?b] =>
      first [ constr_eq a b; fail 1 | rewrite (exp_inverse a b) by same ] end
  end.
Ltac above_one := repeat match goal with |- context [exp ?a] =>
    assert (1 <= exp a) by (apply exp_ge1; le0); let x := fresh "x" in set (x := exp a - 1);
    replace (exp a) with (1 + x) by (unfold x; ring); assert (0 <= x) by (unfold x; lra); clearbody x end.
Ltac monomials := unfold Rdiv; expand_ln; simpl INR;
  repeat match goal with |- context [exp ?a] => progress ring_simplify a end; expand_exp; expand_sqrt; merge; inverses.
Ltac by_exponentials := first
  [ first [ apply Req_le; symmetry | symmetry | idtac ]; monomials; first [ ring | hide_atoms; field; sides ]
  | match goal with |- _ = _ => fail 1 | _ => idtac end; monomials;
    first [ hide_atoms; first [ common | nra ] | above_one; hide_atoms; first [ common | nra ] ]
  | match goal with |- _ = _ => fail 1 | _ => idtac end;
    expand_ln; rewrite <- ?exp_plus; merge; hide_atoms; first [ common | nra ] ].
Ltac by_identity := first
  [ equal
  | match goal with |- _ <= _ => apply Req_le end; equal
  | try (match goal with |- _ <= _ => apply Req_le end);
    first [ merge; equal
          | expand_ln; expand_exp; merge; first
            [ equal | hide_atoms; equal | expand_sqrt; hide_atoms; equal_with_roots | hide_atoms; equal_with_roots ] ]
  | by_exponentials ].
(* 0 <= n / d after a change of variables that makes both sums of nonnegative terms. *)
Ltac settle := match goal with |- _ ?e => ring_simplify e end; sign.
Tactic Notation "quotient" tactic3(shifts) := match goal with
  | |- _ ?e => field_simplify e; [ | sides .. ]
  end;
  match goal with
  | |- 0 <= _ / _ => apply div_nonneg; [ first [ shifts; settle | sign ] | first [ sign | shifts; settle ] ]
  | |- 0 < _ / _ => apply Rdiv_lt_0_compat; [ first [ shifts; settle | sign ] | first [ sign | shifts; settle ] ]
  | |- _ => first [ shifts; settle | sign ]
  end.
Tactic Notation "by_coefficients" tactic3(shifts) := first
  [ quotient shifts
  | shifts; hide_atoms; common
  | expand_ln; expand_exp; first
      [ hide_atoms; quotient shifts
      | shifts; hide_atoms; common ]
  | merge; hide_atoms; roots; quotient shifts
  | expand_ln; expand_exp; expand_sqrt; merge; hide_atoms; roots; quotient shifts
  | sign | nra | by_exponentials | shifts; by_exponentials ].
Ltac weight := first
  [ le0 | match goal with
    | H : ?r = ?l |- 0 <= ?m * (?l - ?r) => replace (l - r) with 0 by lra; apply Req_le; ring
    end ].
Lemma weighed_le e w : 0 <= w -> 0 <= e - w -> 0 <= e. Proof. lra. Qed.
Lemma weighed_lt e w : 0 <= w -> 0 < e - w -> 0 < e. Proof. lra. Qed.
Ltac weigh w := match goal with
  | |- 0 <= ?e => apply (weighed_le e w); [weight |]
  | |- 0 < ?e => apply (weighed_lt e w); [weight |]
  end.
Ltac equation := first [ apply to_zero | apply Req_le, to_zero ].
(* An equation less a multiple of a hypothesis l = r. *)
Ltac subtract m d := apply (less_zero _ m d); [lra |].
Lemma squares e o s : 0 < o -> e * o = s -> 0 <= s -> 0 <= e.
Proof. intros Ho <- H. apply Rmult_le_reg_r with o; lra. Qed.
Ltac by_squares o s := apply (squares _ o s); [ lt0 | first [ equal | by_identity ] | le0 ].
Ltac by_range := first [ sign | common | itv ].

(* Monotone functions. *)
Lemma grows (f df : R -> R) c x : c <= x ->
  (forall t, c <= t <= x -> is_derive f t (df t)) -> (forall t, c < t < x -> 0 <= df t) -> f c <= f x.
Proof.
  intros [H|<-] D S; [|lra].
  destruct (MVT_cor2 f df c x H) as [t [E T]].
  - intros t T. apply is_derive_Reals. now apply D.
  - specialize (S t T). assert (0 <= df t * (x - c)) by (apply Rmult_le_pos; lra). lra.
Qed.
Lemma grows_le (f df : R -> R) c x : c <= x ->
  (forall t, c <= t <= x -> is_derive f t (df t)) -> (forall t, c < t < x -> 0 <= df t) -> 0 <= f c -> 0 <= f x.
Proof. intros. assert (f c <= f x) by (eapply grows; eauto). lra. Qed.
Lemma grows_lt (f df : R -> R) c x : c <= x ->
  (forall t, c <= t <= x -> is_derive f t (df t)) -> (forall t, c < t < x -> 0 <= df t) -> 0 < f c -> 0 < f x.
Proof. intros. assert (f c <= f x) by (eapply grows; eauto). lra. Qed.
Lemma falls (f df : R -> R) c x : x <= c ->
  (forall t, x <= t <= c -> is_derive f t (- df t)) -> (forall t, x < t < c -> 0 <= df t) -> f c <= f x.
Proof.
  intros [H|<-] D S; [|lra].
  destruct (MVT_cor2 f (fun t => - df t) x c H) as [t [E T]].
  - intros t T. apply is_derive_Reals. now apply D.
  - specialize (S t T). assert (0 <= df t * (c - x)) by (apply Rmult_le_pos; lra). lra.
Qed.
Lemma falls_le (f df : R -> R) c x : x <= c ->
  (forall t, x <= t <= c -> is_derive f t (- df t)) -> (forall t, x < t < c -> 0 <= df t) -> 0 <= f c -> 0 <= f x.
Proof. intros. assert (f c <= f x) by (eapply falls; eauto). lra. Qed.
Lemma falls_lt (f df : R -> R) c x : x <= c ->
  (forall t, x <= t <= c -> is_derive f t (- df t)) -> (forall t, x < t < c -> 0 <= df t) -> 0 < f c -> 0 < f x.
Proof. intros. assert (f c <= f x) by (eapply falls; eauto). lra. Qed.
Ltac slope := auto_derive;
  [ repeat match goal with |- _ /\ _ => split | |- True => exact I end; first [ nonzero | sign | lra ]
  | first [ equal | constants; equal ] ].
Ltac zero := apply Req_le; symmetry; by_identity.
Ltac by_end := first [ lra | constants; lra | sign | zero | constants; first [ sign | itv ] | itv ].

(* Definedness, new variables, refuting points. *)
Ltac defined := first [ match goal with |- ?a + ?b - ?b <> 0 => replace (a + b - b) with a by ring; nonzero end | nonzero | sign | nra | itv
  | apply Rgt_not_eq; unfold Rgt; first [ nra | itv ] | apply Rlt_not_eq; first [ nra | itv ] ].
Ltac reach := first
  [ lra | sign
  | match goal with |- ln _ < 0 => apply ln_neg; [lt0 | lra] | |- ln _ <= 0 => apply ln_nonpos; [lt0 | lra] end
  | itv ].
Ltac denied := match goal with
  | |- ~ (_ <= _) => apply Rlt_not_le
  | |- ~ (_ < _) => apply Rle_not_lt
  | |- ~ (_ = _) => first [ apply Rlt_not_eq; first [lra | itv] | apply Rgt_not_eq; unfold Rgt ]
  end; first [ lra | itv ].
Ltac refuted := repeat match goal with |- _ /\ _ => split end;
  first [ lra | match goal with |- exists z : Z, IZR ?n = IZR z => now exists n
                        | |- exists z : Z, - IZR ?n = IZR z => exists (- n)%Z; now rewrite opp_IZR end
        | itv | denied | defined ].
