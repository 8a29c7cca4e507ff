(** The check of a covering tree as a program over fractions, proven right, to be extracted as a second opinion.

    It does what the checker does where all features may change at once: branches, better items, leaves by
    multipliers. *)

From Coq Require Import Reals Qreals QArith Qround Lra Lia List Bool Arith ZArith FunctionalExtensionality.
From Suffice Require Import Numbers Claims Trees Cover.
Import ListNotations.
Open Scope R_scope.

(** * Ordered numbers of fractions *)

Definition fraction_number := (Q * Q)%type.
Definition to_number (x : fraction_number) : number := Number (Q2R (fst x)) (Q2R (snd x)).

Definition q_plus (x y : fraction_number) : fraction_number := (Qred (fst x + fst y), Qred (snd x + snd y)).
Definition q_times (c : Q) (x : fraction_number) : fraction_number := (Qred (c * fst x), Qred (c * snd x)).
Definition q_minus (x y : fraction_number) : fraction_number := (Qred (fst x - fst y), Qred (snd x - snd y)).
Definition q_le (x y : fraction_number) : bool :=
  match (fst x ?= fst y)%Q with Lt => true | Gt => false | Eq => Qle_bool (snd x) (snd y) end.
Definition q_zero : fraction_number := (0%Q, 0%Q).
Definition q_total {A : Type} (f : A -> fraction_number) (l : list A) : fraction_number :=
  fold_right (fun i acc => q_plus (f i) acc) q_zero l.
Definition q_positive_part (x : fraction_number) : fraction_number := if q_le q_zero x then x else q_zero.
Definition q_floor (x : fraction_number) : Z :=
  (Qfloor (fst x) - if Qeq_bool (fst x) (inject_Z (Qfloor (fst x))) then if Qle_bool 0 (snd x) then 0 else 1 else 0)%Z.

Lemma Q2R_red q : Q2R (Qred q) = Q2R q.
Proof. apply Qeq_eqR, Qred_correct. Qed.

Lemma Q2R_zero : Q2R 0 = 0.
Proof. unfold Q2R; simpl. lra. Qed.

Lemma Q2R_integer z : Q2R (inject_Z z) = IZR z.
Proof. unfold Q2R, inject_Z; simpl. lra. Qed.

Lemma q_plus_right x y : to_number (q_plus x y) = (to_number x + to_number y)%number.
Proof. apply number_ext; unfold to_number, q_plus, plus; cbn [real tiny fst snd]; rewrite Q2R_red, Q2R_plus;
  reflexivity. Qed.

Lemma q_times_right c x : to_number (q_times c x) = times (Q2R c) (to_number x).
Proof. apply number_ext; unfold to_number, q_times, times; cbn [real tiny fst snd]; rewrite Q2R_red, Q2R_mult;
  reflexivity. Qed.

Lemma q_minus_right x y : to_number (q_minus x y) = (to_number x - to_number y)%number.
Proof. apply number_ext; unfold to_number, q_minus, minus; cbn [real tiny fst snd]; rewrite Q2R_red, Q2R_minus;
  reflexivity. Qed.

Lemma q_zero_right : to_number q_zero = 0%number.
Proof. apply number_ext; exact Q2R_zero. Qed.

Lemma q_total_right {A : Type} (f : A -> fraction_number) l :
  to_number (q_total f l) = total (fun i => to_number (f i)) l.
Proof.
  induction l as [|i l IH]; [apply q_zero_right|].
  change (q_total f (i :: l)) with (q_plus (f i) (q_total f l)). rewrite q_plus_right, IH. reflexivity.
Qed.

Lemma q_le_right x y : q_le x y = true <-> (to_number x <= to_number y)%number.
Proof.
  unfold q_le, le, to_number; simpl. destruct (fst x ?= fst y)%Q eqn:C.
  - apply Qeq_alt, Qeq_eqR in C. split.
    + intros L. right. split; [exact C | apply Qle_Rle, Qle_bool_iff; exact L].
    + intros [L | [_ L]]; [lra | apply Qle_bool_iff, Rle_Qle; exact L].
  - apply Qlt_alt, Qlt_Rlt in C. split; auto.
  - apply Qgt_alt, Qlt_Rlt in C. split; [discriminate|]. intros [L | [E _]]; lra.
Qed.

Lemma q_positive_part_right x : to_number (q_positive_part x) = positive_part (to_number x).
Proof.
  unfold q_positive_part, positive_part. destruct (q_le q_zero x) eqn:L.
  - apply q_le_right in L. rewrite q_zero_right in L.
    destruct (le_dec 0%number (to_number x)); [reflexivity | contradiction].
  - destruct (le_dec 0%number (to_number x)) as [P | P]; [|apply q_zero_right]. exfalso.
    rewrite <- q_zero_right in P. apply q_le_right in P. congruence.
Qed.

Lemma q_floor_bounds k x : (of_real (IZR k) <= to_number x)%number -> (k <= q_floor x)%Z.
Proof.
  unfold q_floor, le, of_real, to_number; simpl. rewrite <- (Q2R_integer k). intros L.
  assert (K : (k <= Qfloor (fst x))%Z).
  { assert (inject_Z k <= fst x)%Q as Q by (apply Rle_Qle; destruct L; lra).
    apply Qfloor_resp_le in Q. rewrite Qfloor_Z in Q. exact Q. }
  destruct (Qeq_bool (fst x) (inject_Z (Qfloor (fst x)))) eqn:E; [|lia].
  destruct (Qle_bool 0 (snd x)) eqn:T; [lia|]. destruct L as [L | [_ L]].
  - apply Rlt_Qlt in L. apply Qeq_bool_iff in E. rewrite E in L. rewrite <- Zlt_Qlt in L. lia.
  - exfalso. rewrite <- Q2R_zero in L. apply Rle_Qle, Qle_bool_iff in L. congruence.
Qed.

(** * The program *)

Record row_of_drops := Drops { item_drops : list fraction_number; its_limit : fraction_number }.
Inductive tree := Bound (multipliers : list Q) | Branch (k : nat) (kept freed : tree) | Fix (k : nat) (kept : tree).

Section Program.
Variable size : nat. (* how many items there are *)
Variable rows : list row_of_drops.
Variable costs : list Z.
Variable most : Z.

Definition all_items : list item := seq 0 size.
Definition drop_at (r : row_of_drops) (k : item) : fraction_number := nth k (item_drops r) q_zero.
Definition cost_at (k : item) : Z := nth k costs 0%Z.

Definition q_better (a b : item) : bool :=
  Z.leb (cost_at b) (cost_at a) && forallb (fun r => q_le (drop_at r a) (drop_at r b)) rows
  && (negb (Z.leb (cost_at a) (cost_at b) && forallb (fun r => q_le (drop_at r b) (drop_at r a)) rows) || Nat.ltb a b).

(** Sets are written down as lists of truth values: else their definitions would be unfolded over and over. *)
Definition written (f : set) : set := let l := map f all_items in fun k => nth k l false.

Definition q_total_of (f : set) (r : row_of_drops) : fraction_number :=
  q_total (fun k => if f k then drop_at r k else q_zero) all_items.
Definition q_breaks (f : set) : bool := existsb (fun r => negb (q_le (q_total_of f r) (its_limit r))) rows.

Definition q_rest (weighted : list (Q * row_of_drops)) (k : item) : fraction_number :=
  q_minus (inject_Z (cost_at k), 0%Q) (q_total (fun p => q_times (fst p) (drop_at (snd p) k)) weighted).
Definition q_leaf (multipliers : list Q) (freed open : set) : bool :=
  let weighted := combine multipliers rows in
  forallb (Qle_bool 0) multipliers
  && Z.leb (q_floor (q_plus (q_total (fun p => q_times (fst p) (its_limit (snd p))) weighted)
      (q_total (fun k => if freed k then q_rest weighted k
                         else if open k then q_positive_part (q_rest weighted k) else q_zero) all_items))) most.

Fixpoint check (t : tree) (freed open : set) : bool :=
  match t with
  | Bound multipliers => q_leaf multipliers freed open
  | Branch k kept free =>
      open k && check kept freed (written (without open (with_worse q_better open k)))
      && check free (written (union freed (with_better q_better open k)))
           (written (without open (with_better q_better open k)))
  | Fix k kept =>
      open k && check kept freed (written (without open (with_worse q_better open k)))
      && q_breaks (written (union freed (with_better q_better open k)))
  end.

(** Drops must not be negative, for breaking to carry over to larger sets. *)
Definition well_formed : bool :=
  forallb (fun r => forallb (fun k => q_le q_zero (drop_at r k)) all_items) rows.

Definition accepts (t : tree) (base undecided : list nat) : bool :=
  let member l := written (fun k => existsb (Nat.eqb k) l) in
  well_formed && forallb (fun k => negb (existsb (Nat.eqb k) undecided)) base
  && check t (member base) (member undecided).

(** * Why it is right *)

Definition as_constraint (r : row_of_drops) : constraint :=
  Constraint (fun k => to_number (drop_at r k)) (to_number (its_limit r)).
Definition constraints : list constraint := map as_constraint rows.

Lemma items_differ : NoDup all_items.
Proof. apply seq_NoDup. Qed.

Lemma item_below k : In k all_items <-> (k < size)%nat.
Proof. unfold all_items. rewrite in_seq. lia. Qed.

Definition bounded (f : set) : Prop := forall k, f k = true -> (k < size)%nat.

Lemma written_bounded f : bounded (written f).
Proof.
  intros k K. unfold written in K. destruct (Nat.lt_ge_cases k size) as [L | L]; [exact L|].
  rewrite nth_overflow in K; [discriminate|]. rewrite map_length. unfold all_items. rewrite seq_length. exact L.
Qed.

Lemma written_at f k : (k < size)%nat -> written f k = f k.
Proof.
  intros L. unfold written, all_items.
  rewrite (nth_indep _ false (f 0%nat)) by (rewrite map_length, seq_length; exact L).
  rewrite map_nth. rewrite seq_nth by exact L. reflexivity.
Qed.

Lemma written_same f : bounded f -> written f = f.
Proof.
  intros B. apply functional_extensionality. intros k.
  destruct (Nat.lt_ge_cases k size) as [L | L]; [apply written_at; exact L|].
  destruct (f k) eqn:E; [apply B in E; lia|]. destruct (written f k) eqn:W; [|reflexivity].
  apply written_bounded in W. lia.
Qed.

Lemma without_bounded s t : bounded s -> bounded (without s t).
Proof. intros B k K. apply without_true in K. apply B, K. Qed.

Lemma union_better_bounded freed open k :
  bounded freed -> bounded open -> open k = true -> bounded (union freed (with_better q_better open k)).
Proof.
  intros F O Ok j J. apply union_true in J. destruct J as [J | J]; [exact (F j J)|]. apply with_better_true in J.
  destruct J as [E | [J _]]; [rewrite E; exact (O k Ok) | exact (O j J)].
Qed.

Lemma q_better_is_better a b : q_better a b = true <-> is_better cost_at constraints a b.
Proof.
  unfold q_better, is_better, dominates, constraints.
  rewrite !andb_true_iff, orb_true_iff, negb_true_iff, Z.leb_le, Nat.ltb_lt, forallb_forall.
  assert (All : forall a b, (forall r, In r rows -> q_le (drop_at r a) (drop_at r b) = true)
    <-> (forall c, In c (map as_constraint rows) -> (drop c a <= drop c b)%number)).
  { intros x y. split.
    - intros H c C. apply in_map_iff in C. destruct C as [r [E I]]. subst c. apply q_le_right, H, I.
    - intros H r I. apply q_le_right. apply (H (as_constraint r)). apply in_map. exact I. }
  rewrite (All a b).
  destruct (Z.leb (cost_at a) (cost_at b) && forallb (fun r => q_le (drop_at r b) (drop_at r a)) rows) eqn:Back.
  - apply andb_true_iff in Back. rewrite Z.leb_le, forallb_forall, (All b a) in Back. intuition discriminate.
  - assert (No : ~ ((cost_at a <= cost_at b)%Z
      /\ forall c, In c (map as_constraint rows) -> (drop c b <= drop c a)%number)).
    { rewrite <- (All b a), <- forallb_forall, <- Z.leb_le, <- andb_true_iff. congruence. }
    intuition.
Qed.

Lemma q_total_of_right f r : to_number (q_total_of f r) = total_of f (drop (as_constraint r)) all_items.
Proof.
  unfold q_total_of, total_of. rewrite q_total_right. apply total_ext. intros k _.
  destruct (f k); [reflexivity | apply q_zero_right].
Qed.

Lemma q_breaks_right f : well_formed = true -> q_breaks f = true ->
  forall g, fits all_items constraints g -> subset f g -> False.
Proof.
  intros W B. apply existsb_exists in B. destruct B as [r [I N]].
  apply (breaking_is_infeasible all_items constraints (as_constraint r)).
  - apply in_map. exact I.
  - intros k K. unfold well_formed in W. rewrite forallb_forall in W. specialize (W r I). rewrite forallb_forall in W.
    specialize (W k K). apply q_le_right in W. rewrite q_zero_right in W. exact W.
  - apply lt_not_le. intros L. change (limit (as_constraint r)) with (to_number (its_limit r)) in L.
    rewrite <- q_total_of_right in L. apply q_le_right in L. rewrite L in N. discriminate.
Qed.

Lemma q_leaf_right multipliers freed open :
  q_leaf multipliers freed open = true -> bound_leaf all_items cost_at constraints most freed open.
Proof.
  unfold q_leaf. intros L. apply andb_true_iff in L. destruct L as [Nn L]. apply Z.leb_le in L.
  set (weighted := map (fun p => (Q2R (fst p), as_constraint (snd p))) (combine multipliers rows)).
  exists weighted. split.
  - intros p P. apply in_map_iff in P. destruct P as [[c r] [E I]]. subst p. simpl. rewrite forallb_forall in Nn. split.
    + apply in_combine_l, Nn in I. apply Qle_bool_iff, Qle_Rle in I. rewrite Q2R_zero in I. exact I.
    + apply in_map. apply in_combine_r in I. exact I.
  - assert (Rest : forall k, to_number (q_rest (combine multipliers rows) k) = rest cost_at weighted k).
    { intros k. unfold q_rest, rest, weight, weighted. rewrite q_minus_right, q_total_right, total_map. f_equal.
      - apply number_ext; simpl; [apply Q2R_integer | apply Q2R_zero].
      - apply total_ext. intros p _. rewrite q_times_right. reflexivity. }
    assert (Total : to_number (q_plus
        (q_total (fun p => q_times (fst p) (its_limit (snd p))) (combine multipliers rows))
        (q_total (fun k => if freed k then q_rest (combine multipliers rows) k
                           else if open k then q_positive_part (q_rest (combine multipliers rows) k) else q_zero)
                             all_items))
      = leaf_total all_items cost_at weighted freed open).
    { rewrite q_plus_right, !q_total_right. unfold leaf_total, room, weighted. rewrite total_map. f_equal.
      - apply total_ext. intros p _. rewrite q_times_right. reflexivity.
      - apply total_ext. intros k _. fold weighted. destruct (freed k); [apply Rest|].
        destruct (open k); [|apply q_zero_right].
        rewrite q_positive_part_right, Rest. reflexivity. }
    eapply Z.le_trans; [|exact L]. apply q_floor_bounds. rewrite Total. apply floor_is_largest. lia.
Qed.

Lemma check_right t : well_formed = true ->
  forall freed open, bounded freed -> bounded open -> check t freed open = true ->
  closes q_better (fits all_items constraints) (bound_leaf all_items cost_at constraints most) freed open.
Proof.
  intros W. induction t as [multipliers | k kept IHkept free IHfree | k kept IHkept]; intros freed open F O C;
    simpl in C.
  - apply closes_leaf. exact (q_leaf_right multipliers freed open C).
  - rewrite !andb_true_iff in C. destruct C as [[Ok Ck] Cf].
    rewrite !written_same in Ck by (apply without_bounded; exact O).
    rewrite (written_same (without open _)) in Cf by (apply without_bounded; exact O).
    rewrite written_same in Cf by (apply union_better_bounded; assumption).
    apply closes_branch with (k := k); [exact Ok | apply IHkept | apply IHfree]; auto;
      try (apply without_bounded; exact O). apply union_better_bounded; assumption.
  - rewrite !andb_true_iff in C. destruct C as [[Ok Ck] Cb].
    rewrite !written_same in Ck by (apply without_bounded; exact O).
    rewrite written_same in Cb by (apply union_better_bounded; assumption).
    apply closes_fix with (k := k);
      [exact Ok | apply IHkept; auto; apply without_bounded; exact O | exact (q_breaks_right _ W Cb)].
Qed.

(** What is accepted is so: no set that fits all limits, frees [base] and nothing beyond [base] and [undecided],
    frees items that cost more than [most]. *)
Theorem accepts_is_right t base undecided : accepts t base undecided = true ->
  forall f, fits all_items constraints f ->
  at_node (written (fun k => existsb (Nat.eqb k) base)) (written (fun k => existsb (Nat.eqb k) undecided)) f ->
  (cost_of cost_at f all_items <= most)%Z.
Proof.
  unfold accepts. rewrite !andb_true_iff. intros [[W _] C] f F N.
  apply (tree_bounds_cost all_items items_differ cost_at constraints q_better
    (written (fun k => existsb (Nat.eqb k) base)) (written (fun k => existsb (Nat.eqb k) undecided))); auto.
  - intros a b B. apply q_better_is_better in B. apply B.
  - intros a. destruct (q_better a a) eqn:B; [|reflexivity]. apply q_better_is_better, better_irreflexive in B.
    destruct B.
  - intros a b c B B'. apply q_better_is_better in B, B'. apply q_better_is_better. eapply better_transitive; eauto.
  - intros k K. apply item_below, (written_bounded _ k K).
  - apply (check_right t); auto; apply written_bounded.
Qed.
End Program.
