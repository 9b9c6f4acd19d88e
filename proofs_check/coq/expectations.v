(* Expectations: functionals that are 1 at the constant 1. *)
Section Expectation.
Context {A : Type} (P : functional A) (L : lawful P).
Lemma lin_on f g a b : lin P f a -> (forall y, pts P y -> g y = f y) -> b = a -> lin P g b.
Proof.
  intros [F <-] E ->.
  assert (Z : lin P (fun _ => 0) 0) by now apply lin_zero.
  assert (D : on P (fun y => g y - f y)).
  { apply (on_below P L _ _ (proj1 Z)). intros y Y. rewrite (E y Y), Rminus_diag_eq, Rabs_R0; [lra | reflexivity]. }
  assert (G : on P g).
  { replace g with (fun y => f y + (g y - f y)); [now apply on_plus |].
    apply functional_extensionality. intros y. ring. }
  split; [exact G |].
  apply (lin_eq P L f g (val P f) (val P g)); [now split | now split |]. exact E.
Qed.
Context (O : on P (fun _ => 1)) (V : val P (fun _ => 1) = 1).
Lemma on_constant c : lin P (fun _ => c) c.
Proof.
  apply (lin_on (fun y => c * 1) _ (c * 1)); [| intros; ring | ring].
  apply (lin_scale P L c (fun _ => 1)). now split.
Qed.
Lemma val_least a r : on P r -> (forall y, pts P y -> a <= r y) -> a <= val P r.
Proof. intros R H. apply (lin_le P L r (fun _ => a)); [now split | apply on_constant | exact H]. Qed.
Lemma val_most b r : on P r -> (forall y, pts P y -> r y <= b) -> val P r <= b.
Proof. intros R H. apply (lin_le P L (fun _ => b) r); [apply on_constant | now split | exact H]. Qed.
Lemma on_bounded a b r : (forall y, pts P y -> a <= r y) -> (forall y, pts P y -> r y <= b) -> on P r.
Proof.
  intros H1 H2. apply (on_below P L r (fun _ => Rabs a + Rabs b)); [apply on_constant |].
  intros y Y. specialize (H1 y Y). specialize (H2 y Y). apply Rabs_le.
  assert (- Rabs a <= a) by (apply Ropp_le_cancel; rewrite Ropp_involutive, <- Rabs_Ropp; apply Rle_abs).
  assert (b <= Rabs b) by apply Rle_abs. assert (0 <= Rabs a) by apply Rabs_pos.
  assert (0 <= Rabs b) by apply Rabs_pos. lra.
Qed.
End Expectation.
Arguments val_least {A} P L O V {a r}. Arguments val_most {A} P L O V {b r}.
