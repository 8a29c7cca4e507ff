(** What claims mean for decisions: predicted classes with ties, probabilities, rounding, and balls of a norm. *)

From Coq Require Import Reals Lra Lia List Bool Arith.
From Suffice Require Import Numbers Claims.
Import ListNotations.
Open Scope R_scope.

(** * Classes *)

(** Of several classes, the first with the largest score is predicted. *)
Definition predicted (classes : nat) (score : nat -> R) (w : nat) : Prop :=
  (w < classes)%nat
  /\ (forall j, (j < classes)%nat -> score j <= score w)
  /\ forall j, (j < w)%nat -> score j < score w.

(** It stays ahead of all others: strictly of those before it. *)
Theorem stays_predicted classes score w : (w < classes)%nat ->
  (predicted classes score w <->
   (forall j, (j < classes)%nat -> j <> w -> if (j <? w)%nat then 0 < score w - score j else 0 <= score w - score j)).
Proof.
  intros W. split.
  - intros [_ [Le Lt]] j J N. destruct (Nat.ltb_spec j w) as [L | L]; [specialize (Lt j L) | specialize (Le j J)]; lra.
  - intros H. split; [exact W|]. split; intros j J.
    + destruct (Nat.eq_dec j w) as [E | N]; [subst; lra|]. specialize (H j J N). destruct (j <? w)%nat; lra.
    + assert (N : j <> w) by lia. specialize (H j ltac:(lia) N). rewrite (proj2 (Nat.ltb_lt j w) J) in H. lra.
Qed.

(** Of two classes, the second is predicted where the score is positive, or zero if ties go to it. *)
Definition predicts_second (ties_to_second : bool) (score : R) : Prop :=
  if ties_to_second then 0 <= score else 0 < score.

Theorem stays_second ties score : predicts_second ties score <-> if negb ties then 0 < score else 0 <= score.
Proof. unfold predicts_second. destruct ties; simpl; tauto. Qed.

Theorem stays_first ties score : ~ predicts_second ties score <-> if ties then 0 < - score else 0 <= - score.
Proof. unfold predicts_second. destruct ties; split; lra. Qed.

(** * Probabilities *)

Definition logistic (s : R) : R := 1 / (1 + exp (- s)).

Lemma logistic_at_least s p : 0 < p < 1 -> (p <= logistic s <-> p / (1 - p) <= exp s).
Proof.
  intros [P Q]. pose proof (exp_pos s) as E. unfold logistic. rewrite exp_Ropp.
  assert (Eq : 1 / (1 + / exp s) = exp s / (exp s + 1)) by (field; lra). rewrite Eq. split; intros L.
  - apply (Rmult_le_compat_r (exp s + 1)) in L; [|lra]. unfold Rdiv at 1 in L.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r in L by lra.
    apply (Rmult_le_reg_r (1 - p)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  - apply (Rmult_le_compat_r (1 - p)) in L; [|lra]. unfold Rdiv in L at 1.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r in L by lra.
    apply (Rmult_le_reg_r (exp s + 1)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** With e^a ≤ p / (1 − p) ≤ e^b: a score of b or more is enough for the probability p, and one below a is not. *)
Theorem probability_enclosed p a b s : 0 < p < 1 -> exp a <= p / (1 - p) <= exp b ->
  (0 <= s - b -> p <= logistic s) /\ (p <= logistic s -> 0 <= s - a).
Proof.
  intros P [A B]. split; intros H.
  - apply logistic_at_least; [exact P|]. eapply Rle_trans; [exact B|].
    destruct (Req_dec b s) as [E | N]; [subst; lra|]. apply Rlt_le, exp_increasing. lra.
  - apply logistic_at_least in H; [|exact P]. destruct (Rle_or_lt a s) as [L | L]; [lra|]. exfalso.
    pose proof (exp_increasing s a L). lra.
Qed.

(** * Rounding *)

(** If a program's value differs by at most a charge, it decides alike wherever the inequality holds, or breaks, by
    that much to spare. *)
Theorem charge_covers (g rounded charge : R) (strict : bool) : Rabs (rounded - g) <= charge ->
  ((if strict then 0 < g - charge else 0 <= g - charge) -> if strict then 0 < rounded else 0 <= rounded)
  /\ ((if strict then 0 < rounded else 0 <= rounded) -> if strict then 0 < g + charge else 0 <= g + charge).
Proof.
  intros D. pose proof (Rle_abs (rounded - g)). pose proof (Rle_abs (- (rounded - g))) as Q. rewrite Rabs_Ropp in Q.
  destruct strict; split; lra.
Qed.

(** * Balls *)

Section Balls.
Variable value : Type.
Variable features : list feature.
Hypothesis features_differ : NoDup features.
Variable row : input value.
Variable region : feature -> value -> Prop.

(** How much of the budget a change uses: (|y − x| / r)^p, at most 1 exactly in the region, 0 at the row. *)
Variable share : feature -> value -> R.
Hypothesis share_nonneg : forall i v, In i features -> 0 <= share i v.
Hypothesis share_region : forall i v, In i features -> (share i v <= 1 <-> region i v).
Hypothesis share_row : forall i, In i features -> share i (row i) = 0.

Definition ball (y : input value) : Prop := sum (fun i => share i (y i)) features <= 1.

Theorem ball_in_box y : ball y -> box value features region y.
Proof.
  intros B i I. apply share_region; [exact I|]. eapply Rle_trans; [|exact B].
  apply (term_at_most_sum _ (fun j => share j (y j))); [intros j J; apply share_nonneg; exact J | exact I].
Qed.

Theorem one_change_in_ball (t : set) y : (count t features <= 1)%nat -> agrees value features row (others t) y ->
  (forall i, In i features -> t i = true -> region i (y i)) -> ball y.
Proof.
  intros C A Rg. unfold ball.
  assert (E : sum (fun i => share i (y i)) features = sum (fun i => share i (y i)) (filter t features)).
  { rewrite sum_filter. apply sum_ext. intros i I. destruct (t i) eqn:T; [reflexivity|].
    rewrite (A i I ltac:(unfold others; rewrite T; reflexivity)). apply share_row; exact I. }
  rewrite E. unfold count in C. destruct (filter t features) as [|i [|j l]] eqn:F; simpl in *; [lra| |lia].
  assert (In i (filter t features)) as I by (rewrite F; left; reflexivity). apply filter_In in I. destruct I as [I T].
  assert (share i (y i) <= 1) by (apply share_region; auto). lra.
Qed.
End Balls.
