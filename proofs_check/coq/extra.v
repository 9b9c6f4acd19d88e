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
Lemma np_both a b : a <= 0 -> b <= 0 -> 0 <= a * b. Proof. nra. Qed.
(* Signs by structure, where factors may be negative. *)
Ltac signed := lazymatch goal with
  | |- 0 <= _ + _ => first [ apply Rplus_le_le_0_compat; signed | le0 ]
  | |- 0 <= _ * _ => first [ le0 | apply np_both; np | apply Rmult_le_pos; signed ]
  | |- _ => le0
  end.
(* A monotone function of a variable between numbers. *)
Lemma ln_least a b c : 0 < b -> b <= a -> c <= ln b -> 0 <= ln a - c.
Proof. intros P H B. assert (L := Rcomplements.ln_le b a P H). lra. Qed.
Lemma ln_most a b c : 0 < a -> a <= b -> ln b <= c -> 0 <= c - ln a.
Proof. intros P H B. assert (L := Rcomplements.ln_le a b P H). lra. Qed.
Lemma sqrt_least a b c : b <= a -> c <= sqrt b -> 0 <= sqrt a - c.
Proof. intros H B. assert (L := sqrt_le_1_alt b a H). lra. Qed.
Ltac monotone := match goal with
  | H : ?b <= ?a |- 0 <= ln ?a - _ => apply (ln_least a b); [ lt0 | exact H | itv ]
  | H : ?a <= ?b |- 0 <= _ - ln ?a => apply (ln_most a b); [ lt0 | exact H | itv ]
  | H : ?b <= ?a |- 0 <= sqrt ?a - _ => apply (sqrt_least a b); [ exact H | itv ]
  end.
Ltac defined ::= first
  [ match goal with |- ?a + ?b - ?b <> 0 => replace (a + b - b) with a by ring; nonzero end | nonzero | sign | nra | itv
  | apply Rgt_not_eq; unfold Rgt; first [ nra | itv ] | apply Rlt_not_eq; first [ nra | itv ]
  | match goal with
    | |- context [?a - (?a - ?b)] => replace (a - (a - b)) with b by ring; nonzero
    | |- context [ln (?n / ?d)] =>
        assert (1 <= n / d) by (apply ge1_div; [ lt0 | apply Rle_trans with 1; [ le1 | ge1 ] ]); first [ sign | nonzero ]
    | |- ?e <> 0 => ring_simplify e; nonzero
    end ].
Ltac reach ::= first
  [ lra | sign
  | match goal with |- ln _ < 0 => apply ln_neg; [ lt0 | lra ] | |- ln _ <= 0 => apply ln_nonpos; [ lt0 | lra ] end
  | itv | ge1 | gt1 | le1 | lt1 ].
(* The distance of something from an end of its interval is not negative. *)
Ltac distance e := try first
  [ assert (0 < e) by first [ lra | lt0 | itv ] | assert (0 <= e) by first [ lra | np_le1 | le0 | itv | monotone | nra ] ].
(* Exponentials, logarithms and roots of products, sums and powers as the kernel writes them. *)
Lemma exp_is a b : 0 < b -> ln b = a -> exp a = b. Proof. intros P <-. now apply exp_ln. Qed.
Lemma sqrt_is a b : 0 <= b -> b * b = a -> sqrt a = b. Proof. intros P <-. now apply R_sqrt.sqrt_square. Qed.
(* The logarithm of a whole number is the sum of those of its factors. *)
Fixpoint divisor (n : nat) (d p : Z) : Z := match n with
  | O => p
  | S m => if (p <? d * d)%Z then p else if (p mod d =? 0)%Z then d else divisor m (d + 1) p end.
Ltac ln_numbers := repeat match goal with |- context [ln (IZR (Zpos ?p))] =>
  let d := eval compute in (divisor 100 2 (Zpos p)) in let q := eval compute in (Zpos p / d)%Z in
  tryif constr_eq d (Zpos p) then fail else
    replace (ln (IZR (Zpos p))) with (ln (IZR d) + ln (IZR q)) by (rewrite <- ln_mult by lra; f_equal; lra) end.
Lemma sqrt_inverse a : 0 < a -> sqrt (/ a) = / sqrt a.
Proof. intros H. replace (/ a) with (1 / a) by (field; lra). rewrite sqrt_quotient, sqrt_1; lra. Qed.
Ltac rewritten_atoms := unfold Rdiv; expand_ln; simpl INR; ln_numbers;
  repeat match goal with |- context [exp ?a] => progress ring_simplify a end;
  repeat match goal with |- context [exp ?a] => match a with context [/ _] => progress (field_simplify a; [ | sides .. ]) end end;
  repeat match goal with |- context [sqrt (/ ?a)] => rewrite (sqrt_inverse a) by lt0 end;
  expand_exp; expand_sqrt; merge; inverses.
Ltac small_terms := rewrite ?Rminus_0_r, ?Rplus_0_r, ?Rmult_0_r, ?Rmult_0_l, ?ln_1.
Ltac even_roots := first [ equal_with_roots | merge; rewrite ?pow2_sqrt by signed; field; sides ].
Ltac is_exp x y := let H := fresh in
  assert (H : x = y) by (apply exp_is; [ lt0 | unfold Rdiv; expand_ln; simpl INR; ln_numbers; small_terms; first [ ring | field; sides | merge; first [ ring | field; sides ] ] ]);
  rewrite H; clear H.
Ltac is_log x y a := let H := fresh in
  assert (H : x = y) by (lazymatch x with ln ?b => replace b with a by (field; sides) end;
    unfold Rdiv; expand_ln; simpl INR; ln_numbers; small_terms; first [ ring | field; sides | merge; first [ ring | field; sides ] ]);
  rewrite H; clear H.
Ltac is_sqrt x y := let H := fresh in
  assert (H : x = y) by (apply sqrt_is; [ le0 | first [ even_roots | rewritten_atoms; even_roots ] ]); rewrite H; clear H.
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
  assert (E : a = r ^ 2) by (rewrite Q; symmetry; apply pow2_sqrt; signed);
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
Lemma terms_first n lo f : terms (S n) lo f = f lo + terms n (lo + 1) f.
Proof.
  induction n as [|n I]; [simpl; rewrite Rplus_0_r; ring |].
  change (terms (S (S n)) lo f) with (terms (S n) lo f + f (lo + INR (S n))). rewrite I, S_INR. simpl.
  replace (lo + 1 + INR n) with (lo + (INR n + 1)) by ring. ring.
Qed.
Lemma sum_first lo hi f : whole lo -> whole hi -> lo <= hi -> sumR lo hi f = f lo + sumR (lo + 1) hi f.
Proof.
  intros [a ->] [b ->] H. apply le_IZR in H. unfold sumR. rewrite <- (plus_IZR a 1), !count_whole.
  replace (Z.to_nat (b - a + 1)) with (S (Z.to_nat (b - (a + 1) + 1))) by lia. rewrite terms_first.
  now rewrite plus_IZR.
Qed.
Lemma first_or i lo : whole i -> whole lo -> lo <= i -> lo + 1 <= i \/ i = lo.
Proof. intros W V [H|H]; [left; now apply whole_lt | now right]. Qed.
Ltac first_body := let i := fresh "i" in let W := fresh in let C := fresh in let D := fresh in let e := fresh "e" in
  intros i W C D; first [ exfalso; lra
  | destruct (first_or i _ W ltac:(kinds) C) as [e|e]; [ close | subst i; close ] ].
Lemma on_within {A} (I : functional A) (L : lawful I) r s v : lin I s v ->
  (forall y, pts I y -> - s y <= r y) -> (forall y, pts I y -> r y <= s y) -> on I r.
Proof. intros [S _]. now apply on_between. Qed.
(* Clauses that are equal after their sides are written as linear combinations. *)
Ltac alike := first [ solve [ congr ] | lazymatch goal with
  | |- (?A -> ?B) = (?C -> ?D) => apply imp_eq; alike
  | |- (forall _, _) = (forall _, _) => apply all_eq; intros ?; alike
  | |- (_ /\ _) = (_ /\ _) => apply (f_equal2 and); alike
  | |- (_ <= _) = (_ <= _) => apply (f_equal2 Rle); argument
  end ].
(* Facts about weighted integrals, too. *)
Ltac close ::= cbn [val on pts weighted finite]; cbv beta; repeat match goal with |- _ /\ _ => split end;
  first [ exact I | assumption | kinds | fit | intro; split_all; close
        | match goal with H : forall _, _ |- _ => progress (eapply H); solve [ eassumption | kinds | lra ] end
        | progress (cbn [val on pts weighted finite] in *; cbv beta in * ); fit ].
