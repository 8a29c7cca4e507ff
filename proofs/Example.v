(** The theorems at work on the smallest model with something to prove: that their hypotheses can be met.

    The score is x + y − 1, the row is (1, 1), both may move by 1, and the score must stay at least 0. Fixing one
    of the two is enough, and fixing none is not. *)

From Coq Require Import Reals Lra Lia List Bool Arith ZArith Permutation.
From Suffice Require Import Numbers Claims Trees Cover Few Questions Pairs Labels.
Import ListNotations.
Open Scope R_scope.

Definition both_features : list nat := [0; 1]%nat.
Definition the_row : input R := fun _ => 1.
Definition stays : inequality R := Inequality R (-1) (fun _ v => v) false.
Definition near (i : nat) (v : R) : Prop := 0 <= v <= 2.
Definition region_of_both : input R -> Prop := box R both_features near.
Definition first_alone : set := fun k => Nat.eqb k 0.

Lemma margin_is_one : margin_of R both_features the_row stays = of_real 1.
Proof. unfold margin_of, margin, level; simpl. apply number_ext; simpl; unfold the_row; ring. Qed.

Lemma fixing_one_suffices :
  sufficient R both_features the_row region_of_both (all_hold R both_features [stays]) first_alone.
Proof.
  apply (sufficiency R both_features the_row region_of_both near [stays] first_alone (fun _ _ => of_real 1)).
  - intros y Y; exact Y.
  - intros c i [E | []] _ _ v [L U]. subst c. unfold fall, stays, the_row; simpl. order.
  - intros c [E | []]. subst c. rewrite margin_is_one. unfold total_of, total; simpl. order.
Qed.

Definition one_item_each : nat -> list nat := fun k => [k].
Definition cost_one : nat -> Z := fun _ => 1%Z.

Lemma none_is_cheaper kept :
  allowed both_features (fun _ => false) (fun k => existsb (Nat.eqb k) both_features) kept ->
  suffices R both_features the_row (fun i => i) region_of_both (all_hold R both_features [stays]) kept ->
  (1 <= cost_of cost_one kept both_features)%Z.
Proof.
  assert (Differ : NoDup both_features) by (repeat constructor; simpl; intuition discriminate).
  set (limits_here := item_limits R both_features the_row one_item_each [stays] (fun _ _ => of_real 1)).
  apply (no_cheaper_set R both_features the_row both_features Differ one_item_each (fun i => i)) with
    (region := near) (loose := [stays]) (m := 2%nat) (shown := fun _ _ => of_real 1) (better := fun _ _ => false).
  - apply Permutation_refl.
  - intros k i _ [E | []]. symmetry; exact E.
  - intros k K. apply existsb_exists in K. destruct K as [j [J E]]. apply Nat.eqb_eq in E. subst. exact J.
  - auto.
  - intros t y _ A Rg i I. destruct (t i) eqn:T; [apply Rg; auto|].
    rewrite (A i I ltac:(unfold others; rewrite T; reflexivity)). unfold near, the_row. lra.
  - intros c i [E | []] _. subst c. left. exists 0. unfold near, fall, stays, the_row; simpl. split; [lra | order].
  - simpl. lia.
  - discriminate.
  - reflexivity.
  - discriminate.
  - fold limits_here. apply closes_leaf.
    set (c := Constraint (item_total one_item_each (fun _ => of_real 1)) (margin_of R both_features the_row stays)).
    exists [(1, c)]. split.
    + intros p [E | []]. subst p. simpl. split; [lra | left; reflexivity].
    + assert (Rest : forall k, rest cost_one [(1, c)] k = 0%number).
      { intros k. unfold rest, weight, c, item_total, one_item_each, total, cost_one. apply number_ext; simpl; ring. }
      assert (Total : leaf_total both_features cost_one [(1, c)] (fun _ => false)
        (fun k => existsb (Nat.eqb k) both_features) = of_real 1).
      { unfold leaf_total. rewrite (total_ext _ (fun _ => 0%number) both_features).
        - rewrite total_zero, plus_0_r. unfold room, c; rewrite margin_is_one. apply number_ext; simpl; ring.
        - intros k _. rewrite Rest. destruct (existsb _ _); [|reflexivity]. unfold positive_part.
          destruct (le_dec 0%number 0%number); reflexivity. }
      rewrite Total. simpl. destruct (Z_le_gt_dec (floor (of_real 1)) 1) as [L | G]; [exact L|]. exfalso.
      assert (2 <= floor (of_real 1))%Z as K by lia. apply floor_is_largest in K. clear - K. order.
Qed.

(** * A pair term that varies: x·y lowers a score, x and y from 0 to 1, both 0 at the row. *)

Definition spot := (R * bool)%type. (* a number, and whether it is only approached *)
Definition spots : list spot := [(0, false); (1, false); (0, true); (1, true); (1 / 2, false)].

Definition lowered : input R -> R :=
  pair_level R [0; 1]%nat [(0, 1)]%nat 0 (fun _ _ => 0) (fun _ v w => - (v * w)).

Lemma lowered_by_at_most_1 y : box R [0; 1]%nat (fun _ v => 0 <= v <= 1) y ->
  (of_real (lowered (fun _ => 0%R) - lowered y) <= of_real 1)%number.
Proof.
  assert (Differ : NoDup [0; 1]%nat) by (repeat constructor; simpl; intuition lia).
  assert (Pairs : forall e, In e [(0, 1)]%nat -> In (fst e) [0; 1]%nat /\ In (snd e) [0; 1]%nat /\ fst e <> snd e)
    by (intros e [E | []]; subst; simpl; intuition lia).
  apply (bounded_by_labels R spot [0; 1]%nat [(0, 1)]%nat Pairs (fun _ => 0%R) 0 (fun _ _ => 0)
    (fun _ v w => - (v * w)) (fun v => (v, false)) (fun _ p => Number 0 (if snd p : bool then -1 else 0))
    (fun _ p q => - (fst p * fst q))) with (region := fun _ v => 0 <= v <= 1) (label := fun _ p => In p spots).
  - intros. apply number_ext; simpl; lra.
  - reflexivity.
  - intros i v I [L H]. destruct (Req_dec v 0) as [E | N]; [subst; apply value_is_label; simpl; auto|].
    destruct (Req_dec v 1) as [E | M]; [subst; apply value_is_label; simpl; auto|].
    apply piece_has_labels with (some := fun _ => True) (number_of := fst) (left := (0, true)) (right := (1, true))
      (middle := (1 / 2, false)) (s := 0) (o := 0); try assumption; try exact Logic.I; try (simpl; tauto);
      try (apply number_ext; simpl; lra); try (unfold le, of_real; simpl; lra).
    intros e w _. split; intros _; exists (- fst w), 0; intros p _; ring.
  - intros z Z. pose proof (Z 0%nat (or_introl eq_refl)) as A.
    pose proof (Z 1%nat (or_intror (or_introl eq_refl))) as B.
    unfold place_fall, pair_fall, total, le, plus, of_real; simpl. simpl in A, B.
    destruct A as [A | [A | [A | [A | [A | []]]]]], B as [B | [B | [B | [B | [B | []]]]]];
      rewrite <- A, <- B; simpl; lra.
Qed.
