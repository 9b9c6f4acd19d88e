(* Whole numbers, sums, and integrals as positive linear functionals. Sets are types with a predicate. *)
From Coq Require Import FunctionalExtensionality List.

Definition whole (x : R) := exists z : Z, x = IZR z.
Lemma whole_const z : whole (IZR z). Proof. now exists z. Qed.
Lemma whole_plus a b : whole a -> whole b -> whole (a + b).
Proof. intros [x ->] [y ->]. exists (x + y)%Z. now rewrite plus_IZR. Qed.
Lemma whole_minus a b : whole a -> whole b -> whole (a - b).
Proof. intros [x ->] [y ->]. exists (x - y)%Z. now rewrite minus_IZR. Qed.
Lemma whole_mult a b : whole a -> whole b -> whole (a * b).
Proof. intros [x ->] [y ->]. exists (x * y)%Z. now rewrite mult_IZR. Qed.
Lemma whole_opp a : whole a -> whole (- a).
Proof. intros [x ->]. exists (- x)%Z. now rewrite opp_IZR. Qed.
Lemma whole_lt a b : whole a -> whole b -> b < a -> b + 1 <= a.
Proof. intros [x ->] [y ->] H. apply lt_IZR in H. rewrite <- plus_IZR. apply IZR_le. lia. Qed.
Lemma whole_nat n : whole (INR n). Proof. exists (Z.of_nat n). apply INR_IZR_INZ. Qed.
Lemma whole_ind (P : R -> Prop) c : whole c -> P c -> (forall n, whole n -> c <= n -> P n -> P (n + 1)) ->
  forall n, whole n -> c <= n -> P n.
Proof.
  intros [a ->] B S n [z ->] H. apply le_IZR in H.
  replace z with (a + Z.of_nat (Z.to_nat (z - a)))%Z by lia.
  generalize (Z.to_nat (z - a)) as k. clear z H. induction k as [|k I].
  - now rewrite Z.add_0_r.
  - rewrite Nat2Z.inj_succ. replace (a + Z.succ (Z.of_nat k))%Z with (a + Z.of_nat k + 1)%Z by lia.
    rewrite plus_IZR. apply S; [now eexists | apply IZR_le; lia | exact I].
Qed.

Definition step (x : R) : R := if Rle_dec 0 x then 1 else 0.
Lemma step_one x : 0 <= x -> step x = 1. Proof. unfold step. destruct (Rle_dec 0 x); lra. Qed.
Lemma step_zero x : x < 0 -> step x = 0. Proof. unfold step. destruct (Rle_dec 0 x); lra. Qed.
Lemma step_low x : 0 <= step x. Proof. unfold step. destruct (Rle_dec 0 x); lra. Qed.
Lemma step_high x : step x <= 1. Proof. unfold step. destruct (Rle_dec 0 x); lra. Qed.
Lemma abs_up x : 0 <= x -> Rabs x = x. Proof. apply Rabs_pos_eq. Qed.
Lemma abs_down x : x <= 0 -> Rabs x = - x. Proof. apply Rabs_left1. Qed.

(* The sum over the whole numbers from lo to hi, nothing if hi < lo. *)
Fixpoint terms (n : nat) (lo : R) (f : R -> R) : R :=
  match n with O => 0 | S m => terms m lo f + f (lo + INR m) end.
Definition count (lo hi : R) : nat := Z.to_nat (Int_part (hi - lo) + 1).
Definition sumR (lo hi : R) (f : R -> R) : R := terms (count lo hi) lo f.
Lemma Int_part_whole z : Int_part (IZR z) = z.
Proof.
  destruct (base_Int_part (IZR z)) as [A B]. apply le_IZR in A.
  assert (C : IZR (z - 1) < IZR (Int_part (IZR z))) by (rewrite minus_IZR; lra).
  apply lt_IZR in C. lia.
Qed.
Lemma count_whole a b : count (IZR a) (IZR b) = Z.to_nat (b - a + 1).
Proof. unfold count. now rewrite <- minus_IZR, Int_part_whole. Qed.
Lemma sum_empty lo hi f : whole lo -> whole hi -> hi < lo -> sumR lo hi f = 0.
Proof.
  intros [a ->] [b ->] H. apply lt_IZR in H. unfold sumR. rewrite count_whole.
  now replace (Z.to_nat (b - a + 1)) with O by lia.
Qed.
Lemma sum_last lo hi f : whole lo -> whole hi -> lo <= hi -> sumR lo hi f = sumR lo (hi - 1) f + f hi.
Proof.
  intros [a ->] [b ->] H. apply le_IZR in H. unfold sumR. rewrite <- (minus_IZR b 1), !count_whole.
  replace (Z.to_nat (b - a + 1)) with (S (Z.to_nat (b - 1 - a + 1))) by lia. simpl. do 2 f_equal.
  rewrite INR_IZR_INZ, Z2Nat.id, <- plus_IZR by lia. f_equal. lia.
Qed.

(* pts: the points that count; on: the functions that have an integral. *)
Record functional (A : Type) := Functional { pts : A -> Prop; on : (A -> R) -> Prop; val : (A -> R) -> R }.
Arguments Functional {A}. Arguments pts {A}. Arguments on {A}. Arguments val {A}.
Record lawful {A} (I : functional A) : Prop := Lawful {
  on_zero : on I (fun _ => 0);
  on_plus : forall f g, on I f -> on I g -> on I (fun y => f y + g y);
  on_scale : forall c f, on I f -> on I (fun y => c * f y);
  on_below : forall r s, on I s -> (forall y, pts I y -> Rabs (r y) <= s y) -> on I r;
  val_plus : forall f g, on I f -> on I g -> val I (fun y => f y + g y) = val I f + val I g;
  val_scale : forall c f, on I f -> val I (fun y => c * f y) = c * val I f;
  val_pos : forall s, on I s -> (forall y, pts I y -> 0 <= s y) -> 0 <= val I s }.
Definition lin {A} (I : functional A) (f : A -> R) (v : R) := on I f /\ val I f = v.

Section Linear.
Context {A : Type} (I : functional A) (L : lawful I).
Lemma lin_atom f : on I f -> lin I f (val I f). Proof. now split. Qed.
Lemma lin_plus f g a b : lin I f a -> lin I g b -> lin I (fun y => f y + g y) (a + b).
Proof. intros [F <-] [G <-]. split; [now apply on_plus | now apply val_plus]. Qed.
Lemma lin_scale c f a : lin I f a -> lin I (fun y => c * f y) (c * a).
Proof. intros [F <-]. split; [now apply on_scale | now apply val_scale]. Qed.
Lemma lin_same f g a b : lin I f a -> (forall y, g y = f y) -> b = a -> lin I g b.
Proof. intros H E ->. replace g with f; [exact H | now apply functional_extensionality]. Qed.
Lemma lin_zero : lin I (fun _ => 0) 0.
Proof.
  apply (lin_same (fun y => 0 * 0) _ (0 * val I (fun _ => 0))); try (intros; lra).
  apply (lin_scale 0 (fun _ => 0)), lin_atom, L.
Qed.
Lemma lin_scale_r c f a : lin I f a -> lin I (fun y => f y * c) (a * c).
Proof. intros H. apply (lin_same _ _ _ _ (lin_scale c _ _ H)); intros; ring. Qed.
Lemma lin_div c f a : lin I f a -> lin I (fun y => f y / c) (a / c).
Proof. intros H. apply (lin_same _ _ _ _ (lin_scale (/ c) _ _ H)); intros; unfold Rdiv; ring. Qed.
Lemma lin_opp f a : lin I f a -> lin I (fun y => - f y) (- a).
Proof. intros H. apply (lin_same _ _ _ _ (lin_scale (-1) _ _ H)); intros; ring. Qed.
Lemma lin_minus f g a b : lin I f a -> lin I g b -> lin I (fun y => f y - g y) (a - b).
Proof. intros F G. apply (lin_same _ _ _ _ (lin_plus _ _ _ _ F (lin_opp _ _ G))); intros; ring. Qed.
Lemma lin_le f g a b : lin I f a -> lin I g b -> (forall y, pts I y -> g y <= f y) -> b <= a.
Proof.
  intros F G H. destruct (lin_minus _ _ _ _ F G) as [D E].
  assert (P := val_pos I L _ D). rewrite E in P. enough (0 <= a - b) by lra. apply P. intros y Y.
  specialize (H y Y). lra.
Qed.
Lemma lin_eq f g a b : lin I f a -> lin I g b -> (forall y, pts I y -> g y = f y) -> b = a.
Proof.
  intros F G H. apply Rle_antisym; eapply lin_le; eauto; intros y Y; rewrite (H y Y); lra.
Qed.
Lemma on_between r s : on I s -> (forall y, pts I y -> - s y <= r y) -> (forall y, pts I y -> r y <= s y) -> on I r.
Proof. intros S H1 H2. apply (on_below I L _ _ S). intros y Y. apply Rabs_le. auto. Qed.
End Linear.

(* r -> I (w r) *)
Definition weighted {A} (I : functional A) (w : A -> R) : functional A :=
  Functional (pts I) (fun r => on I (fun y => w y * r y)) (fun r => val I (fun y => w y * r y)).
Lemma lawful_weighted {A} (I : functional A) w :
  lawful I -> (forall y, pts I y -> 0 <= w y) -> lawful (weighted I w).
Proof.
  intros L W. split; cbn.
  - destruct (lin_same I _ (fun y => w y * 0) _ 0 (lin_zero I L)) as [H _]; try (intros; ring). exact H.
  - intros f g F G. replace (fun y => w y * (f y + g y)) with (fun y => w y * f y + w y * g y).
    now apply on_plus. apply functional_extensionality. intros. ring.
  - intros c f F. replace (fun y => w y * (c * f y)) with (fun y => c * (w y * f y)).
    now apply on_scale. apply functional_extensionality. intros. ring.
  - intros r s S H. apply (on_below I L _ _ S). intros y Y. rewrite Rabs_mult, (Rabs_pos_eq (w y)) by auto.
    apply Rmult_le_compat_l; auto.
  - intros f g F G. replace (fun y => w y * (f y + g y)) with (fun y => w y * f y + w y * g y).
    now apply val_plus. apply functional_extensionality. intros. ring.
  - intros c f F. replace (fun y => w y * (c * f y)) with (fun y => c * (w y * f y)).
    now apply val_scale. apply functional_extensionality. intros. ring.
  - intros s S H. apply (val_pos I L _ S). intros y Y. apply Rmult_le_pos; auto.
Qed.
Definition finite (lo hi : R) : functional R :=
  Functional (fun i => whole i /\ lo <= i /\ i <= hi) (fun _ => True) (sumR lo hi).
Lemma terms_plus n lo f g : terms n lo (fun y => f y + g y) = terms n lo f + terms n lo g.
Proof. induction n as [|n I]; simpl; [lra | rewrite I; ring]. Qed.
Lemma terms_scale n lo c f : terms n lo (fun y => c * f y) = c * terms n lo f.
Proof. induction n as [|n I]; simpl; [lra | rewrite I; ring]. Qed.
Lemma terms_pos n lo f : (forall i, (i < n)%nat -> 0 <= f (lo + INR i)) -> 0 <= terms n lo f.
Proof.
  induction n as [|n I]; simpl; intros H; [lra |]. specialize (H n (Nat.lt_succ_diag_r n)) as L.
  assert (0 <= terms n lo f) by (apply I; intros i J; apply H; lia). lra.
Qed.
Lemma lawful_finite lo hi : whole lo -> whole hi -> lawful (finite lo hi).
Proof.
  intros [a ->] [b ->]. split; cbn; auto.
  - intros. apply terms_plus.
  - intros. apply terms_scale.
  - intros s _ H. apply terms_pos. intros i J. rewrite count_whole in J. rewrite INR_IZR_INZ, <- plus_IZR.
    apply H. repeat split; [now eexists | |]; apply IZR_le; lia.
Qed.
Lemma lin_sum lo hi f : lin (finite lo hi) f (sumR lo hi f). Proof. now split. Qed.

(* Tactics. A marked hypothesis says of which kind the values of a function are. *)
Definition marked (P : Prop) := P.
Definition unmark (P : Prop) (H : marked P) : P := H.
Ltac mark H := match type of H with ?P => change (marked P) in H end.
Ltac kinds := first
  [ assumption
  | lazymatch goal with
    | |- whole (_ + _) => apply whole_plus; kinds
    | |- whole (_ - _) => apply whole_minus; kinds
    | |- whole (_ * _) => apply whole_mult; kinds
    | |- whole (- _) => apply whole_opp; kinds
    | |- whole (IZR _) => apply whole_const
    | |- lawful (finite _ _) => apply lawful_finite; kinds
    | |- 0 <= step _ => apply step_low
    | |- step _ <= 1 => apply step_high
    | |- 0 <= Rabs _ => apply Rabs_pos
    | |- _ => fail
    end
  | match goal with H : marked _, P : pts _ _ |- _ => eapply (unmark _ H); [ .. | exact P ]; kinds end
  | match goal with H : marked _ |- _ => apply (unmark _ H); kinds end
  | match goal with H : marked _ |- _ => eapply (unmark _ H); solve [ eassumption ] end ].
Ltac split_all := repeat match goal with H : _ /\ _ |- _ => destruct H end.
Lemma cast (P Q : Prop) : P -> P = Q -> Q. Proof. now intros H <-. Qed.
Lemma imp_eq (P Q P' Q' : Prop) : P = P' -> Q = Q' -> (P -> Q) = (P' -> Q'). Proof. now intros -> ->. Qed.
Lemma all_eq (A : Type) (P Q : A -> Prop) : (forall x, P x = Q x) -> (forall x, P x) = (forall x, Q x).
Proof. intros H. replace Q with P; [reflexivity |]. now apply functional_extensionality. Qed.
(* Terms that are equal after their arguments are written as linear combinations. *)
Ltac congr := lazymatch goal with |- ?a = ?b => tryif constr_eq a b then reflexivity else
  lazymatch goal with
  | |- (?A -> ?B) = (?C -> ?D) => apply imp_eq; congr
  | |- (forall _, _) = (forall _, _) => apply all_eq; intros ?; congr
  | |- (fun _ => _) = (fun _ => _) => apply functional_extensionality; intros ?; cbv beta; congr
  | |- (_ /\ _) = (_ /\ _) => apply (f_equal2 and); congr
  | |- (_ <= _) = (_ <= _) => apply (f_equal2 Rle); congr
  | |- (_ < _) = (_ < _) => apply (f_equal2 Rlt); congr
  | |- (_ <> _) = (_ <> _) => apply (f_equal not); congr
  | |- (@eq R _ _) = (@eq R _ _) => apply (f_equal2 (@eq R)); congr
  | |- _ + _ = _ + _ => apply (f_equal2 Rplus); congr
  | |- _ - _ = _ - _ => apply (f_equal2 Rminus); congr
  | |- _ * _ = _ * _ => apply (f_equal2 Rmult); congr
  | |- _ / _ = _ / _ => apply (f_equal2 Rdiv); congr
  | |- _ ^ ?n = _ ^ ?n => apply (f_equal (fun x => x ^ n)); congr
  | |- - _ = - _ => apply (f_equal Ropp); congr
  | |- / _ = / _ => apply (f_equal Rinv); congr
  | |- exp _ = exp _ => apply (f_equal exp); congr
  | |- ln _ = ln _ => apply (f_equal ln); congr
  | |- sqrt _ = sqrt _ => apply (f_equal sqrt); congr
  | |- IZR _ = _ => fail
  | |- _ = IZR _ => fail
  | |- ?f ?x = ?g ?y => progress f_equal; argument
  end end
with argument := lazymatch goal with
  | |- @eq R _ _ => first [ solve [ congr ] | solve [ ring ] | solve [ inner; ring ] | solve [ field; sides ] ]
  | |- _ => congr
  end
with inner := repeat match goal with
  | |- context [?f ?x] => match goal with |- context [?g ?y] =>
      lazymatch type of (f x) with R => idtac end; lazymatch type of (g y) with R => idtac end;
      first [ constr_eq (f x) (g y); fail 1
            | lazymatch f with Rplus _ => fail | Rmult _ => fail | Rminus _ => fail | Ropp => fail | IZR => fail | _ => idtac end;
              replace (f x) with (g y) by (symmetry; solve [congr]) ] end
  end.
Ltac fit := match goal with H : ?P |- ?Q =>
  lazymatch type of P with Prop => idtac end; apply (cast P Q H); solve [congr] end.
Ltac side := first [ assumption | kinds | close | lra ]
with close := cbn [val on pts weighted finite]; cbv beta; repeat match goal with |- _ /\ _ => split end;
  first [ exact I | assumption | kinds | fit | intro; split_all; close
        | match goal with H : forall _, _ |- _ => progress (eapply H); solve [ eassumption | kinds | lra ] end ].
Ltac feed H := lazymatch type of H with ?X -> ?Y =>
  let f := fresh in assert (f : X) by side; specialize (H f); clear f end.
Ltac feed_all H := repeat (lazymatch type of H with ?X -> ?Y => feed H end).
Ltac enter x := repeat lazymatch goal with |- ?A -> ?B => intro end; intro x.
Ltac finish L := split_all; let Q := fresh in pose proof L as Q; feed_all Q; split_all; close.
(* The conjuncts of all facts, beside the facts. *)
Ltac open_all := repeat match goal with H : ?P /\ ?Q |- _ =>
  lazymatch goal with H2 : Q |- _ => fail | _ => idtac end;
  let a := fresh "O" in let b := fresh "O" in pose proof (proj1 H) as a; pose proof (proj2 H) as b end.
Ltac rewriting_goal E := try rewrite E; repeat match goal with |- _ /\ _ => split end;
  first [ assumption | kinds | fit | close | rewritten E ]
with rewriting_fact E Q := try rewrite E in Q; split_all; repeat match goal with |- _ /\ _ => split end;
  first [ assumption | kinds | fit | close | rewritten E ]
with rewritten E := match goal with H : ?P |- _ =>
    lazymatch type of P with Prop => idtac end; tryif constr_eq H E then fail else idtac;
    let Z := fresh in pose proof H as Z; rewrite E in Z; apply (cast _ _ Z); solve [congr] end.
Ltac feed_numbers H := repeat (lazymatch type of H with ?X -> ?Y => let f := fresh in assert (f : X) by first [ assumption | kinds | lra ]; specialize (H f); clear f end).
Ltac at_one Z := feed_numbers Z; split_all.
Ltac linear atom := first
  [ atom
  | lazymatch goal with
    | |- lin ?I _ (_ + _) => apply (lin_plus I ltac:(kinds)); linear atom
    | |- lin ?I _ (_ - _) => apply (lin_minus I ltac:(kinds)); linear atom
    | |- lin ?I _ (- _) => apply (lin_opp I ltac:(kinds)); linear atom
    | |- lin ?I _ (_ / _) => apply (lin_div I ltac:(kinds)); linear atom
    | |- lin ?I _ (_ * _) => first [ apply (lin_scale I ltac:(kinds)); linear atom
                                   | apply (lin_scale_r I ltac:(kinds)); linear atom ]
    | |- lin ?I _ 0 => apply (lin_zero I ltac:(kinds))
    end ].
Ltac at_point Y y := specialize (Y y); feed_all Y; split_all.
Ltac at_points Y := let y := fresh "y" in intros y ?; cbn [pts finite] in *; split_all; at_point Y y; close.
Ltac at_body Y := let y := fresh "y" in intros y; intros; at_point Y y; close.
Lemma last_or i hi : whole i -> whole hi -> i <= hi -> i <= hi - 1 \/ i = hi.
Proof.
  intros [a ->] [b ->] H. apply le_IZR in H. destruct (Z.eq_dec a b) as [->|N]; [now right |].
  left. rewrite <- minus_IZR. apply IZR_le. lia.
Qed.
Ltac last_body := let i := fresh "i" in let W := fresh in let C := fresh in let D := fresh in
  intros i W C D; first [ exfalso; lra
  | let e := fresh "e" in let h := lazymatch type of D with _ <= ?h => h end in
    destruct (last_or i h W ltac:(kinds) D) as [e|e]; [ close | subst i; close ] ].
Ltac feed_witness Q := lazymatch type of Q with ?X -> ?Y => let f := fresh in
  assert (f : X) by first [ assumption | exists 0; cbv beta; repeat split; solve [kinds | lra]
                          | exists 1; cbv beta; repeat split; solve [kinds | lra] ]; specialize (Q f); clear f end.
Ltac feed_lawful Q := lazymatch type of Q with ?X -> ?Y => let f := fresh in
  assert (f : X) by (intros; cbv beta; apply lawful_weighted; [ kinds | cbn [pts finite]; intros; split_all; first [ kinds | lra ] ]);
  specialize (Q f); clear f end.
Ltac feed_clause Q tac := lazymatch type of Q with ?X -> ?Y => let f := fresh in
  assert (f : X) by (clear Q; tac); specialize (Q f); clear f end.
Ltac feed_to Q v := feed_all Q; specialize (Q v).
