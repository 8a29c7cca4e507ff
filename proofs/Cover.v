(** No cheaper set suffices: falls that witnesses show limit what can be freed, and a tree adds up what that costs.

    Drops, limits and weights are ordered numbers; costs are whole numbers of a common unit. *)

From Coq Require Import Reals Lra Lia List Bool Arith ZArith Permutation Sorted.
From Suffice Require Import Numbers Claims Trees.
Import ListNotations.
Open Scope R_scope.

Fixpoint cost_of (cost : item -> Z) (f : set) (items : list item) : Z :=
  match items with
  | [] => 0
  | k :: rest => (if f k then cost k else 0) + cost_of cost f rest
  end.

Lemma cost_of_sum cost f items : IZR (cost_of cost f items) = sum (fun k => if f k then IZR (cost k) else 0) items.
Proof. induction items as [|k l IH]; simpl; [reflexivity|]. rewrite plus_IZR, IH. destruct (f k); reflexivity. Qed.

Lemma cost_of_total cost f items :
  of_real (IZR (cost_of cost f items)) = total_of f (fun k => of_real (IZR (cost k))) items.
Proof.
  unfold total_of. rewrite cost_of_sum, <- total_of_real. apply total_ext. intros k _. destruct (f k); reflexivity.
Qed.

(** Whatever leaves say of the cost of candidates, the tree says of every feasible one; better items may be passed
    over where swapping them in keeps candidates feasible and frees no less. *)
Theorem tree_bounds (better : item -> item -> bool) (feasible : set -> Prop) (leaf : set -> set -> Prop)
    (items : list item) (cost : item -> Z) base undecided most :
  NoDup items ->
  (forall freed open f, leaf freed open -> feasible f -> at_node freed open f -> (cost_of cost f items <= most)%Z) ->
  (forall f a b, In a items -> In b items -> better a b = true -> f a = false -> f b = true -> feasible f ->
    feasible (swap a b f) /\ IZR (cost_of cost f items) <= IZR (cost_of cost (swap a b f) items)) ->
  (forall a, better a a = false) ->
  (forall a b c, better a b = true -> better b c = true -> better a c = true) ->
  (forall k, undecided k = true -> In k items) ->
  closes better feasible leaf base undecided ->
  forall f, feasible f -> at_node base undecided f -> (cost_of cost f items <= most)%Z.
Proof.
  intros D Leaf Swap Irr Tr U C f F N.
  assert (Member : forall k, undecided k = true <-> In k (filter undecided items)).
  { intros k. rewrite filter_In. split; [auto | tauto]. }
  destruct (better_first better feasible (filter undecided items) (fun f => IZR (cost_of cost f items)))
    with (f := f) as [g [G [V [Same T]]]]; auto.
  - apply NoDup_filter; exact D.
  - intros g a b Ia Ib. apply Member, U in Ia. apply Member, U in Ib. auto.
  - destruct (tree_reaches_leaf better feasible _ undecided base undecided C) with (f := g)
      as [freed [open [L A]]]; auto.
    + intros k K; exact K.
    + intros a b Ua Ub. apply T; apply Member; assumption.
    + destruct N as [Ap [Lo Hi]]. split; [exact Ap|]. split; intros k K; specialize (Same k).
      * rewrite Same; [apply Lo; exact K|]. rewrite <- Member, (Ap k K). discriminate.
      * destruct (undecided k) eqn:E; [apply union_true; auto|]. rewrite Same in K; [apply Hi; exact K|].
        rewrite <- Member; congruence.
    + apply le_IZR in V. pose proof (Leaf freed open g L G A). lia.
Qed.

(** * Items and features *)

Section Items.
Variable features : list feature.
Variable items : list item.
Variable members : item -> list feature.
Variable item_of : feature -> item.
Hypothesis items_partition : Permutation features (flat_map members items).
Hypothesis members_know : forall k i, In k items -> In i (members k) -> item_of i = k.

(** The features of some items. *)
Definition spread (f : set) : set := fun i => f (item_of i).

(** What an item's features add up to. *)
Definition item_total (n : feature -> number) (k : item) : number := total n (members k).

Lemma total_by_items f n : total_of (spread f) n features = total_of f (item_total n) items.
Proof.
  unfold total_of. rewrite (total_permutation _ _ _ items_partition), total_flat_map. apply total_ext. intros k K.
  transitivity (total (fun i => if f k then n i else 0%number) (members k)).
  - apply total_ext. intros i I. unfold spread. rewrite (members_know k i K I). reflexivity.
  - destruct (f k); [reflexivity|]. apply number_ext; simpl; apply sum_zero.
Qed.
End Items.

(** * Leaves by linear programming duality *)

Record constraint := Constraint { drop : item -> number; limit : number }.

Section Sums.
Variable items : list item.
Hypothesis items_differ : NoDup items.
Variable cost : item -> Z.
Variable constraints : list constraint.

(** What is freed fits every limit. *)
Definition fits (f : set) : Prop := forall c, In c constraints -> (total_of f (drop c) items <= limit c)%number.

(** Multipliers turn the constraints into one: its weights and its limit. *)
Definition weight (weighted : list (R * constraint)) (k : item) : number :=
  total (fun p => times (fst p) (drop (snd p) k)) weighted.
Definition room (weighted : list (R * constraint)) : number := total (fun p => times (fst p) (limit (snd p))) weighted.
Definition valid (weighted : list (R * constraint)) : Prop :=
  forall p, In p weighted -> 0 <= fst p /\ In (snd p) constraints.

Lemma total_of_weight weighted f :
  total_of f (weight weighted) items = total (fun p => times (fst p) (total_of f (drop (snd p)) items)) weighted.
Proof.
  unfold total_of, weight.
  rewrite (total_ext (fun p => times (fst p) _)
    (fun p => total (fun k => times (fst p) (if f k then drop (snd p) k else 0%number)) items));
    [|intros p _; symmetry; apply total_times].
  rewrite total_swap. apply total_ext. intros k _. destruct (f k); [reflexivity|].
  apply number_ext; simpl; rewrite (sum_ext _ _ (fun _ => 0)) by (intros; lra); rewrite sum_zero; reflexivity.
Qed.

Lemma weights_fit weighted f : valid weighted -> fits f -> (total_of f (weight weighted) items <= room weighted)%number.
Proof.
  intros V F. rewrite total_of_weight. apply total_le. intros p P. destruct (V p P) as [Nn I].
  apply times_le; [exact Nn | apply F; exact I].
Qed.

(** The room of the constraints, what freed items cost beyond their weight, and the same of open items where it is
    positive. *)
Definition rest (weighted : list (R * constraint)) (k : item) : number :=
  (of_real (IZR (cost k)) - weight weighted k)%number.
Definition leaf_total weighted (freed open : set) : number :=
  (room weighted
   + total (fun k => if freed k then rest weighted k else if open k then positive_part (rest weighted k) else 0%number)
       items)%number.

(** A leaf bounds the cost of all that candidates at its node free. *)
Theorem leaf_bounds_cost weighted freed open f :
  valid weighted -> fits f -> at_node freed open f ->
  (of_real (IZR (cost_of cost f items)) <= leaf_total weighted freed open)%number.
Proof.
  intros V F [_ [Lo Hi]]. rewrite cost_of_total. unfold leaf_total.
  eapply le_trans; [|apply plus_le; [exact (weights_fit weighted f V F) | apply le_refl]].
  unfold total_of. rewrite <- total_plus. apply total_le. intros k K. specialize (Lo k). specialize (Hi k).
  destruct (f k) eqn:E.
  - destruct (freed k) eqn:Fk; [unfold rest; order|].
    destruct (open k) eqn:Ok.
    + pose proof (positive_part_above (rest weighted k)). unfold rest in *. order.
    + specialize (Hi eq_refl). unfold union in Hi. rewrite Fk, Ok in Hi. discriminate.
  - destruct (freed k); [discriminate (Lo eq_refl)|]. destruct (open k).
    + pose proof (positive_part_nonneg (rest weighted k)). order.
    + order.
Qed.

Definition bound_leaf (most : Z) (freed open : set) : Prop :=
  exists weighted, valid weighted /\ (floor (leaf_total weighted freed open) <= most)%Z.

Theorem bound_leaf_sound most freed open f :
  bound_leaf most freed open -> fits f -> at_node freed open f -> (cost_of cost f items <= most)%Z.
Proof.
  intros [weighted [V L]] F N. pose proof (leaf_bounds_cost weighted freed open f V F N) as B.
  apply floor_is_largest in B. lia.
Qed.

(** Where freed items break a limit, so does all that frees more. *)
Lemma breaking_is_infeasible c freed :
  In c constraints -> (forall k, In k items -> (0 <= drop c k)%number) ->
  (limit c < total_of freed (drop c) items)%number ->
  forall f, fits f -> subset freed f -> False.
Proof.
  intros C P L f F S. apply lt_not_le in L. apply L. eapply le_trans; [|apply (F c C)].
  apply total_le. intros k K. specialize (S k). destruct (freed k); [rewrite S by reflexivity; apply le_refl|].
  destruct (f k); [apply P; exact K | apply le_refl].
Qed.

(** ** Better items: no larger a drop in any constraint, no smaller a cost; of two that are equal, the earlier one *)

Definition dominates (a b : item) : Prop :=
  (cost b <= cost a)%Z /\ forall c, In c constraints -> (drop c a <= drop c b)%number.
Definition is_better (a b : item) : Prop := dominates a b /\ (dominates b a -> (a < b)%nat).

Lemma dominates_trans a b c : dominates a b -> dominates b c -> dominates a c.
Proof. intros [C D] [C' D']. split; [lia|]. intros k K. eapply le_trans; eauto. Qed.

Lemma better_irreflexive a : ~ is_better a a.
Proof. intros [D L]. specialize (L D). lia. Qed.

Lemma better_transitive a b c : is_better a b -> is_better b c -> is_better a c.
Proof.
  intros [D L] [D' L']. split; [eapply dominates_trans; eauto|]. intros B.
  assert (dominates b a) by (eapply dominates_trans; eauto). assert (dominates c b) by (eapply dominates_trans; eauto).
  specialize (L H). specialize (L' H0). lia.
Qed.

Lemma sum_swapped (d : item -> R) f a b l : NoDup l -> In a l -> In b l -> f a = false -> f b = true ->
  sum (fun k => if swap a b f k then d k else 0) l = sum (fun k => if f k then d k else 0) l + d a - d b.
Proof.
  intros D Ia Ib Fa Fb. assert (Ne : a <> b) by congruence.
  assert (At : forall c l, NoDup l -> In c l -> sum (fun k => if Nat.eqb k c then d c else 0) l = d c).
  { clear. intros c. induction l as [|k l IH]; intros D I; [destruct I|]. inversion D; subst. simpl.
    destruct (Nat.eqb k c) eqn:E.
    - apply Nat.eqb_eq in E. subst. rewrite (sum_ext _ _ (fun _ => 0) l); [rewrite sum_zero; lra|].
      intros j J. destruct (Nat.eqb j c) eqn:Q; [apply Nat.eqb_eq in Q; subst; contradiction | reflexivity].
    - destruct I as [I | I]; [subst; rewrite Nat.eqb_refl in E; discriminate|]. rewrite (IH H2 I). lra. }
  pose proof (At a l D Ia) as Pa. pose proof (At b l D Ib) as Pb.
  assert (E : sum (fun k => if swap a b f k then d k else 0) l + sum (fun k => if Nat.eqb k b then d b else 0) l
            = sum (fun k => if f k then d k else 0) l + sum (fun k => if Nat.eqb k a then d a else 0) l); [|lra].
  rewrite <- !sum_plus. apply sum_ext. intros k K. unfold swap.
  destruct (Nat.eqb k a) eqn:Ea; destruct (Nat.eqb k b) eqn:Eb; try apply Nat.eqb_eq in Ea; try apply Nat.eqb_eq in Eb;
    subst; try congruence; rewrite ?Fa, ?Fb; lra.
Qed.

Lemma total_swapped (n : item -> number) f a b : In a items -> In b items -> f a = false -> f b = true ->
  total_of (swap a b f) n items = (total_of f n items + (n a - n b))%number.
Proof.
  intros Ia Ib Fa Fb.
  assert (P : forall part : number -> R, part 0%number = 0 ->
    sum (fun k => part (if swap a b f k then n k else 0%number)) items
    = sum (fun k => part (if f k then n k else 0%number)) items + part (n a) - part (n b)).
  { intros part Z. pose proof (sum_swapped (fun k => part (n k)) f a b items items_differ Ia Ib Fa Fb) as E.
    rewrite (sum_ext _ _ (fun k => if swap a b f k then part (n k) else 0)),
            (sum_ext _ (fun k => part (if f k then _ else _)) (fun k => if f k then part (n k) else 0));
      [exact E | |]; intros k _; [destruct (f k) | destruct (swap a b f k)]; auto. }
  apply number_ext; [pose proof (P real eq_refl) | pose proof (P tiny eq_refl)];
    unfold total_of, total, plus, minus; cbn [real tiny]; lra.
Qed.

Lemma swap_keeps_fit a b f : In a items -> In b items -> dominates a b -> f a = false -> f b = true -> fits f ->
  fits (swap a b f) /\ IZR (cost_of cost f items) <= IZR (cost_of cost (swap a b f) items).
Proof.
  intros Ia Ib [C D] Fa Fb F. split.
  - intros c K. rewrite (total_swapped (drop c) f a b Ia Ib Fa Fb). specialize (F c K). specialize (D c K). order.
  - rewrite !cost_of_sum, (sum_swapped (fun k => IZR (cost k)) f a b items items_differ Ia Ib Fa Fb).
    apply IZR_le in C. lra.
Qed.

(** The tree as a whole: what fits the limits, frees [base] and nothing beyond [base] and [undecided], costs [most]
    at most. *)
Theorem tree_bounds_cost (better : item -> item -> bool) base undecided most :
  (forall a b, better a b = true -> dominates a b) ->
  (forall a, better a a = false) ->
  (forall a b c, better a b = true -> better b c = true -> better a c = true) ->
  (forall k, undecided k = true -> In k items) ->
  closes better fits (bound_leaf most) base undecided ->
  forall f, fits f -> at_node base undecided f -> (cost_of cost f items <= most)%Z.
Proof.
  intros Dom Irr Tr U C f F N. apply (tree_bounds better fits (bound_leaf most) items cost base undecided most); auto.
  - intros freed open g L G A. eapply bound_leaf_sound; eauto.
  - intros g a b Ia Ib B Ga Gb G. apply swap_keeps_fit; auto.
Qed.
End Sums.
