(* erfc is defined by an integral from 0. It is the usual function: erfc_end says that it tends to 0. *)
Definition area (x : R) : R := RInt (fun t => exp (- (t * t))) 0 x.
Definition erfc (x : R) : R := 1 - 2 / sqrt PI * area x.
(* Gauss's integral: the square of the area and this integral add up to PI / 4. *)
Definition rest (x : R) : R := RInt (fun t => exp (- (x * x * (1 + t * t))) / (1 + t * t)) 0 1.
Lemma square t : 0 < 1 + t * t. Proof. nra. Qed.
Lemma smooth (f : R -> R) x : ex_derive f x -> continuous f x. Proof. exact (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule) f x). Qed.
Lemma between (f : R -> R) a b : (forall x, ex_derive f x) -> ex_RInt f a b.
Proof. intros H. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros x _. now apply smooth. Qed.
Lemma bell_ex a b : ex_RInt (fun t => exp (- (t * t))) a b.
Proof. apply between. intros. now auto_derive. Qed.
Lemma scaled_ex x : ex_RInt (fun t => x * exp (- (x * t * (x * t)))) 0 1.
Proof. apply between. intros. now auto_derive. Qed.
Lemma area_derive x : is_derive area x (exp (- (x * x))).
Proof.
  apply (is_derive_RInt (fun t => exp (- (t * t))) area 0); [| apply smooth; now auto_derive].
  apply filter_forall. intros y. apply (RInt_correct (V := R_CompleteNormedModule) (fun t => exp (- (t * t)))), bell_ex.
Qed.
Lemma area_scaled x : RInt (fun t => x * exp (- (x * t * (x * t)))) 0 1 = area x.
Proof.
  assert (E := RInt_comp_lin (fun t => exp (- (t * t))) x 0 0 1).
  replace (x * 0 + 0) with 0 in E by ring. replace (x * 1 + 0) with x in E by ring.
  unfold area. rewrite <- E.
  - apply RInt_ext. intros t _. unfold scal; simpl; unfold mult; simpl. now rewrite Rplus_0_r.
  - apply bell_ex.
Qed.
Lemma rest_inside x t : is_derive (fun u => exp (- (u * u * (1 + t * t))) / (1 + t * t)) x (- 2 * x * exp (- (x * x * (1 + t * t)))).
Proof. assert (S := square t). auto_derive; [ lra |]. field. lra. Qed.
Lemma rest_ex x : ex_RInt (fun t => exp (- (x * x * (1 + t * t))) / (1 + t * t)) 0 1.
Proof.
  apply between. intros t. assert (S := square t). auto_derive. lra.
Qed.
Lemma rest_derive x : is_derive rest x (- 2 * exp (- (x * x)) * area x).
Proof.
  assert (D : is_derive rest x (RInt (fun t => Derive (fun u => exp (- (u * u * (1 + t * t))) / (1 + t * t)) x) 0 1)).
  { apply (is_derive_RInt_param (fun u t => exp (- (u * u * (1 + t * t))) / (1 + t * t))).
    - apply filter_forall. intros y t _. eexists. apply rest_inside.
    - intros t _. apply (continuity_2d_pt_ext (fun u t => - 2 * u * exp (- (u * u * (1 + t * t))))).
      { intros. symmetry. apply is_derive_unique, rest_inside. }
      repeat first [ apply continuity_2d_pt_mult | apply continuity_2d_pt_const | apply continuity_2d_pt_id1 | apply continuity_2d_pt_id2 ].
      apply (continuity_1d_2d_pt_comp exp (fun u t => - (u * u * (1 + t * t)))).
      { apply derivable_continuous, derivable_exp. }
      apply continuity_2d_pt_opp.
      repeat first [ apply continuity_2d_pt_mult | apply continuity_2d_pt_plus | apply continuity_2d_pt_const | apply continuity_2d_pt_id1 | apply continuity_2d_pt_id2 ].
    - apply filter_forall. intros y. apply rest_ex. }
  replace (- 2 * exp (- (x * x)) * area x) with (RInt (fun t => Derive (fun u => exp (- (u * u * (1 + t * t))) / (1 + t * t)) x) 0 1); [exact D |].
  rewrite <- area_scaled.
  rewrite (RInt_ext _ (fun t => scal (- 2 * exp (- (x * x))) (x * exp (- (x * t * (x * t)))))).
  - apply (RInt_scal (fun t => x * exp (- (x * t * (x * t))))). apply scaled_ex.
  - intros t _. transitivity (- 2 * x * exp (- (x * x * (1 + t * t)))); [exact (is_derive_unique _ _ _ (rest_inside x t)) |]. unfold scal; simpl; unfold mult; simpl.
    replace (- (x * x * (1 + t * t))) with (- (x * x) + - (x * t * (x * t))) by ring. rewrite exp_plus. ring.
Qed.
Lemma rest_zero : rest 0 = PI / 4.
Proof.
  apply is_RInt_unique. replace (PI / 4) with (minus (atan 1) (atan 0)) by (rewrite atan_1, atan_0; unfold minus, plus, opp; simpl; ring).
  apply (is_RInt_derive atan).
  - intros t _. assert (S := square t). replace (exp (- (0 * 0 * (1 + t * t))) / (1 + t * t)) with (/ (1 + t * t)).
    + auto_derive; [exact I |]. simpl. field. nra.
    + replace (- (0 * 0 * (1 + t * t))) with 0 by ring. rewrite exp_0. field. lra.
  - intros t _. apply smooth. assert (S := square t). auto_derive. lra.
Qed.
Lemma gauss x : 0 < x -> area x * area x + rest x = PI / 4.
Proof.
  intros P. transitivity (area 0 * area 0 + rest 0).
  - symmetry. apply (eq_is_derive (fun u => area u * area u + rest u) 0 x); [| exact P]. intros t _.
    assert (A := area_derive t). assert (B := rest_derive t).
    assert (C := is_derive_plus _ _ _ _ _ (is_derive_mult area area t _ _ A A Rmult_comm) B).
    replace (@zero R_NormedModule) with (plus (plus (mult (exp (- (t * t))) (area t)) (mult (area t) (exp (- (t * t)))))
      (- 2 * exp (- (t * t)) * area t)); [exact C |]. unfold plus, mult, zero; simpl. unfold plus; simpl. ring.
  - rewrite rest_zero. unfold area. rewrite RInt_point. unfold zero; simpl. lra.
Qed.
Lemma rest_bounds x : 0 < x -> 0 <= rest x /\ x * rest x <= exp (- (x * x)) * area x.
Proof.
  intros P. split.
  - apply RInt_ge_0; [lra | apply rest_ex |]. intros t _. apply Rlt_le, Rdiv_lt_0_compat; [apply exp_pos | apply square].
  - rewrite <- area_scaled. unfold rest.
    assert (S1 := RInt_scal (fun t => exp (- (x * x * (1 + t * t))) / (1 + t * t)) 0 1 x (rest_ex x)).
    assert (S2 := RInt_scal (fun t => x * exp (- (x * t * (x * t)))) 0 1 (exp (- (x * x))) (scaled_ex x)).
    unfold scal in S1, S2; simpl in S1, S2; unfold mult in S1, S2; simpl in S1, S2. rewrite <- S1, <- S2.
    apply RInt_le; [lra | | |].
    + exact (ex_RInt_scal _ 0 1 x (rest_ex x)).
    + exact (ex_RInt_scal _ 0 1 (exp (- (x * x))) (scaled_ex x)).
    + intros t _. replace (- (x * x * (1 + t * t))) with (- (x * x) + - (x * t * (x * t))) by ring. rewrite exp_plus.
      assert (A := exp_pos (- (x * x))). assert (B := exp_pos (- (x * t * (x * t)))).
      assert (C := square t). assert (D : / (1 + t * t) <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; nra).
      unfold Rdiv. assert (0 < / (1 + t * t)) by now apply Rinv_0_lt_compat.
      assert (0 < x * (exp (- (x * x)) * exp (- (x * t * (x * t))))) by (repeat apply Rmult_lt_0_compat; auto). nra.
Qed.
Lemma area_bounds x : 0 < x -> 0 < area x /\ 2 * area x <= sqrt PI /\ x * (sqrt PI - 2 * area x) <= exp (- (x * x)).
Proof.
  intros P. assert (G := gauss x P). assert (S := rest_bounds x P). destruct S as [S T].
  assert (A : 0 < area x).
  { apply RInt_gt_0; [exact P | intros; apply exp_pos | intros; apply smooth; now auto_derive]. }
  assert (Q := sqrt_sqrt PI ltac:(assert (H := PI_RGT_0); lra)). assert (R0 := sqrt_lt_R0 PI PI_RGT_0).
  set (r := sqrt PI) in *. set (a := area x) in *. set (h := rest x) in *. set (e := exp (- (x * x))) in *.
  assert (U : 2 * a <= r) by nra. repeat split; try assumption.
  assert (V : (r - 2 * a) * (r + 2 * a) = 4 * h) by nra.
  assert (0 < e) by apply exp_pos.
  assert (x * (r - 2 * a) * (r + 2 * a) <= 4 * e * a) by nra.
  assert (x * (r - 2 * a) * (r + 2 * a) <= e * (r + 2 * a)) by nra.
  apply Rmult_le_reg_r with (r + 2 * a); lra.
Qed.
Lemma erfc_bounds x : 0 < x -> 0 <= erfc x <= exp (- (x * x)) / (x * sqrt PI).
Proof.
  intros P. destruct (area_bounds x P) as [A [B C]]. assert (S := sqrt_lt_R0 PI PI_RGT_0).
  assert (E : erfc x = (sqrt PI - 2 * area x) / sqrt PI) by (unfold erfc; field; lra). rewrite E. split.
  - apply Rmult_le_pos; [lra | now apply Rlt_le, Rinv_0_lt_compat].
  - replace (exp (- (x * x)) / (x * sqrt PI)) with (exp (- (x * x)) / x / sqrt PI) by (field; lra).
    apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat |].
    apply Rmult_le_reg_l with x; [exact P |]. replace (x * (exp (- (x * x)) / x)) with (exp (- (x * x))) by (field; lra). exact C.
Qed.
Lemma erfc_end : is_lim erfc p_infty 0.
Proof.
  apply (is_lim_le_le_loc (fun _ => 0) (fun x => / x)).
  - exists 1. intros x L. destruct (erfc_bounds x ltac:(lra)) as [A B]. split; [exact A |].
    apply (Rle_trans _ _ _ B). assert (1 <= sqrt PI) by (rewrite <- sqrt_1; apply sqrt_le_1_alt; interval).
    assert (exp (- (x * x)) <= 1) by (rewrite <- exp_0; apply Rlt_le, exp_increasing; nra).
    apply (Rmult_le_reg_r (x * sqrt PI)); [nra |]. field_simplify; [nra | lra | lra].
  - apply is_lim_const.
  - apply (is_lim_inv (fun x => x) p_infty p_infty); [apply is_lim_id | discriminate].
Qed.
(* A goal without variables: from 3 on erfc lies between the bounds of erfc_bounds, before that the integral is enclosed. *)
Ltac enclosed := match goal with |- context [erfc ?x] => let H := fresh "H" in
  first [ assert (H := erfc_bounds x ltac:(assert (3 <= x) by itv; lra)); revert H; generalize (erfc x); intros ? H
        | change (erfc x) with (1 - 2 / sqrt PI * area x);
          integral_intro (RInt (fun t => exp (- (t * t))) 0 x) with (i_prec 60, i_relwidth 45) as H;
          lazymatch type of H with ?a <= _ <= ?b => change (a <= area x <= b) in H end; revert H; generalize (area x); intros ? H ] end.
Ltac decided := first [ apply Rlt_not_le | apply Rle_not_lt | idtac ]; first [ apply Rminus_le_0 | apply Rminus_lt_0 ]; repeat enclosed; itv.
Ltac refuted ::= repeat match goal with |- _ /\ _ => split end;
  first [ lra | match goal with |- exists z : Z, IZR ?n = IZR z => now exists n
                        | |- exists z : Z, - IZR ?n = IZR z => exists (- n)%Z; now rewrite opp_IZR end
        | match goal with |- context [erfc _] => decided end | itv | denied | defined ].
