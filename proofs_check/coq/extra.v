(* Tactics for lemmas that those of prelude.v do not prove. *)
Ltac slope ::= auto_derive;
  [ repeat match goal with |- _ /\ _ => split | |- True => exact I end; first [ nonzero | sign | lra | nra ]
  | first [ equal | constants; equal | merge; equal | merge; hide_atoms; equal ] ].
Lemma np_left a b : a <= 0 -> 0 <= b -> a * b <= 0. Proof. nra. Qed.
Lemma np_right a b : 0 <= a -> b <= 0 -> a * b <= 0. Proof. nra. Qed.
Lemma np_div a b : a <= 0 -> 0 < b -> a / b <= 0.
Proof. intros. unfold Rdiv. apply np_left; [ assumption | left; now apply Rinv_0_lt_compat ]. Qed.
Lemma np_opp a : 0 <= a -> - a <= 0. Proof. lra. Qed.
Lemma exp_le1 a : a <= 0 -> exp a <= 1.
Proof. intros H. rewrite <- exp_0. destruct H as [H|H]; [ left; now apply exp_increasing | rewrite H; lra ]. Qed.
Ltac np := first [ lra | match goal with
  | |- _ * _ <= 0 => first [ apply np_left; [ np | le0 ] | apply np_right; [ le0 | np ] ]
  | |- _ / _ <= 0 => apply np_div; [ np | lt0 ]
  | |- - _ <= 0 => apply np_opp; le0
  | |- ln _ <= 0 => apply ln_nonpos; [ lt0 | first [ lra | le1 | nra ] ]
  end ].
Ltac np_le1 := match goal with
  | |- 0 <= 0 - _ => apply Rle_0_minus; np
  | |- 0 <= 1 - exp _ => apply Rle_0_minus, exp_le1; np
  end.
(* The distance of something from an end of its interval is not negative. *)
Ltac distance e := try first
  [ assert (0 < e) by first [ lra | lt0 | itv ] | assert (0 <= e) by first [ lra | np_le1 | le0 | itv | nra ] ].
(* Exponentials, logarithms and roots of products, sums and powers as the kernel writes them. *)
Lemma exp_is a b : 0 < b -> ln b = a -> exp a = b. Proof. intros P <-. now apply exp_ln. Qed.
Lemma sqrt_is a b : 0 <= b -> b * b = a -> sqrt a = b. Proof. intros P <-. now apply R_sqrt.sqrt_square. Qed.
Lemma ln_4 : ln 4 = 2 * ln 2. Proof. replace 4 with (2 * 2) by ring. rewrite ln_mult; lra. Qed.
Lemma ln_6 : ln 6 = ln 2 + ln 3. Proof. replace 6 with (2 * 3) by ring. rewrite ln_mult; lra. Qed.
Lemma ln_8 : ln 8 = 3 * ln 2. Proof. replace 8 with (2 * 4) by ring. rewrite ln_mult, ln_4; lra. Qed.
Lemma ln_9 : ln 9 = 2 * ln 3. Proof. replace 9 with (3 * 3) by ring. rewrite ln_mult; lra. Qed.
Lemma ln_10 : ln 10 = ln 2 + ln 5. Proof. replace 10 with (2 * 5) by ring. rewrite ln_mult; lra. Qed.
Lemma ln_12 : ln 12 = 2 * ln 2 + ln 3. Proof. replace 12 with (4 * 3) by ring. rewrite ln_mult, ln_4; lra. Qed.
Lemma ln_16 : ln 16 = 4 * ln 2. Proof. replace 16 with (4 * 4) by ring. rewrite ln_mult, ln_4; lra. Qed.
Lemma ln_32 : ln 32 = 5 * ln 2. Proof. replace 32 with (4 * 8) by ring. rewrite ln_mult, ln_4, ln_8; lra. Qed.
Ltac ln_numbers := rewrite ?ln_4, ?ln_6, ?ln_8, ?ln_9, ?ln_10, ?ln_12, ?ln_16, ?ln_32.
Lemma sqrt_inverse a : 0 < a -> sqrt (/ a) = / sqrt a.
Proof. intros H. replace (/ a) with (1 / a) by (field; lra). rewrite sqrt_quotient, sqrt_1; lra. Qed.
Ltac rewritten_atoms := unfold Rdiv; expand_ln; simpl INR; ln_numbers;
  repeat match goal with |- context [exp ?a] => progress ring_simplify a end;
  repeat match goal with |- context [exp ?a] => match a with context [/ _] => progress (field_simplify a; [ | sides .. ]) end end;
  repeat match goal with |- context [sqrt (/ ?a)] => rewrite (sqrt_inverse a) by lt0 end;
  expand_exp; expand_sqrt; merge; inverses.
Ltac small_terms := rewrite ?Rminus_0_r, ?Rplus_0_r, ?Rmult_0_r, ?Rmult_0_l, ?ln_1.
Ltac even_roots := first [ equal_with_roots | merge; rewrite ?pow2_sqrt by le0; field; sides ].
Ltac is_exp x y := let H := fresh in
  assert (H : x = y) by (apply exp_is; [ lt0 | unfold Rdiv; expand_ln; simpl INR; ln_numbers; small_terms; first [ ring | field; sides | merge; first [ ring | field; sides ] ] ]);
  rewrite H; clear H.
Ltac is_log x y a := let H := fresh in
  assert (H : x = y) by (lazymatch x with ln ?b => replace b with a by (field; sides) end;
    unfold Rdiv; expand_ln; simpl INR; ln_numbers; small_terms; first [ ring | field; sides | merge; first [ ring | field; sides ] ]);
  rewrite H; clear H.
Ltac is_sqrt x y := let H := fresh in
  assert (H : x = y) by (apply sqrt_is; [ le0 | even_roots ]); rewrite H; clear H.
Ltac evenly := first
  [ by_identity
  | rewritten_atoms; first [ ring | hide_atoms; first [ field; sides | equal_with_roots ] ]
  | rewritten_atoms; hide_atoms; expand_sqrt; equal_with_roots ].
Ltac no_equations := repeat match goal with H : @eq R _ _ |- _ => clear H end.
Ltac certified n d := match goal with |- ?R ?z ?e =>
  let H := fresh in assert (H : e = n / d) by (no_equations; evenly); rewrite H; clear H;
  match goal with
  | |- 0 <= _ => apply div_nonneg; [ le0 | lt0 ]
  | |- 0 < _ => apply Rdiv_lt_0_compat; lt0
  end end.
Lemma weighed_strictly e w : 0 < w -> 0 <= e - w -> 0 < e. Proof. lra. Qed.
Ltac weigh_strictly w := match goal with |- 0 < ?e => apply (weighed_strictly e w); [ lt0 |] end.
Ltac square_of a ::=
  let r := fresh "r" in let Q := fresh "Q" in let E := fresh "E" in
  remember (sqrt a) as r eqn:Q in *;
  assert (E : a = r ^ 2) by (rewrite Q; symmetry; apply pow2_sqrt; le0);
  first [ assert (0 < r) by (rewrite Q; apply sqrt_lt_R0; lt0) | assert (0 <= r) by (rewrite Q; apply sqrt_pos) ];
  clear Q; first [ subst a | symmetry in E ].
(* The whole numbers in an interval, one by one. *)
Ltac one_of z a b := lazymatch eval compute in (Z.leb b a) with
  | true => constr:(z = b)
  | false => let c := eval compute in (a + 1)%Z in let rest := one_of z c b in constr:(z = a \/ rest) end.
Ltac spread v z h a b :=
  match goal with H : exists z : Z, v = IZR z |- _ => destruct H as [z H]; subst v end;
  assert ((a <= z)%Z) by (apply le_IZR; lra); assert ((z <= b)%Z) by (apply le_IZR; lra);
  let P := one_of z a b in assert (h : P) by lia.
(* A sum is bounded by the growth of a function that grows at least as much as the terms. *)
Section Telescope.
Variables (lo hi : R) (F f : R -> R).
Hypotheses (A : whole lo) (B : whole hi) (C : lo <= hi + 1).
Lemma up_to (P : R -> Prop) : P (lo - 1) ->
  (forall n, whole n -> lo - 1 <= n -> n + 1 <= hi -> P n -> P (n + 1)) -> P hi.
Proof.
  intros Z S. assert (W : whole (lo - 1)) by now apply whole_minus; [ | apply (whole_const 1) ].
  refine (whole_ind (fun n => n <= hi -> P n) (lo - 1) W _ _ hi B _ _); try lra.
  - intros _. exact Z.
  - intros n N L I H. apply S; try assumption. apply I. lra.
Qed.
Lemma next_term n : whole n -> lo - 1 <= n -> sumR lo (n + 1) f = sumR lo n f + f (n + 1).
Proof.
  intros N L. rewrite sum_last; [ | exact A | apply whole_plus; [ exact N | apply (whole_const 1) ] | lra ].
  now replace (n + 1 - 1) with n by ring.
Qed.
Lemma no_term : sumR lo (lo - 1) f = 0.
Proof. apply sum_empty; [ exact A | apply whole_minus; [ exact A | apply (whole_const 1) ] | lra ]. Qed.
Lemma telescope_most : (forall i, whole i -> lo <= i -> i <= hi -> f i <= F (i + 1) - F i) ->
  sumR lo hi f <= F (hi + 1) - F lo.
Proof.
  intros H. apply (up_to (fun n => sumR lo n f <= F (n + 1) - F lo)).
  - rewrite no_term. replace (lo - 1 + 1) with lo by ring. lra.
  - intros n N L M I. rewrite next_term by assumption.
    assert (D := H (n + 1) (whole_plus _ _ N (whole_const 1)) ltac:(lra) M). lra.
Qed.
Lemma telescope_least : (forall i, whole i -> lo <= i -> i <= hi -> F (i + 1) - F i <= f i) ->
  F (hi + 1) - F lo <= sumR lo hi f.
Proof.
  intros H. apply (up_to (fun n => F (n + 1) - F lo <= sumR lo n f)).
  - rewrite no_term. replace (lo - 1 + 1) with lo by ring. lra.
  - intros n N L M I. rewrite next_term by assumption.
    assert (D := H (n + 1) (whole_plus _ _ N (whole_const 1)) ltac:(lra) M). lra.
Qed.
End Telescope.
Lemma telescope_equal lo hi F f : whole lo -> whole hi -> lo <= hi + 1 ->
  (forall i, whole i -> lo <= i -> i <= hi -> f i = F (i + 1) - F i) -> sumR lo hi f = F (hi + 1) - F lo.
Proof.
  intros A B C H. apply Rle_antisym.
  - apply telescope_most; try assumption. intros i I L M. rewrite (H i I L M). lra.
  - apply telescope_least; try assumption. intros i I L M. rewrite (H i I L M). lra.
Qed.
(* Facts about weighted integrals, too. *)
Ltac close ::= cbn [val on pts weighted finite]; cbv beta; repeat match goal with |- _ /\ _ => split end;
  first [ exact I | assumption | kinds | fit | intro; split_all; close
        | match goal with H : forall _, _ |- _ => progress (eapply H); solve [ eassumption | kinds | lra ] end
        | progress (cbn [val on pts weighted finite] in *; cbv beta in * ); fit ].
