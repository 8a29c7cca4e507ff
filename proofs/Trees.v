(** Trees over items that are fixed or freed: every candidate reaches a leaf, and what leaves say holds for it.

    An item is a feature, or a group of features that are fixed together. A candidate is the set of items that some
    allowed set of features leaves free. The trees of a certificate need not be complete: they may pass over
    candidates for which better ones exist. *)

From Coq Require Import Reals Lra Lia List Bool Arith.
From Suffice Require Import Numbers Claims.
Import ListNotations.
Open Scope R_scope.

Notation item := nat (only parsing).
Definition subset (s t : set) : Prop := forall k, s k = true -> t k = true.
Definition union (s t : set) : set := fun k => s k || t k.
Definition without (s t : set) : set := fun k => s k && negb (t k).

Lemma union_true s t k : union s t k = true <-> s k = true \/ t k = true.
Proof. apply orb_true_iff. Qed.

Lemma without_true s t k : without s t k = true <-> s k = true /\ t k <> true.
Proof. unfold without. rewrite andb_true_iff, negb_true_iff. destruct (t k); intuition congruence. Qed.

(** A candidate at a node: it frees all that is freed there, and nothing that is neither freed nor open. *)
Definition apart (s t : set) : Prop := forall k, s k = true -> t k = false.
Definition at_node (freed open f : set) : Prop := apart freed open /\ subset freed f /\ subset f (union freed open).

Section Trees.
Variable better : item -> item -> bool. (* the first is better than the second; nowhere true where trees are complete *)

Definition with_better (open : set) (k : item) : set := fun j => Nat.eqb j k || (open j && better j k).
Definition with_worse (open : set) (k : item) : set := fun j => Nat.eqb j k || (open j && better k j).

Lemma with_better_true open k j : with_better open k j = true <-> j = k \/ (open j = true /\ better j k = true).
Proof. unfold with_better. rewrite orb_true_iff, andb_true_iff, Nat.eqb_eq. tauto. Qed.

Lemma with_worse_true open k j : with_worse open k j = true <-> j = k \/ (open j = true /\ better k j = true).
Proof. unfold with_worse. rewrite orb_true_iff, andb_true_iff, Nat.eqb_eq. tauto. Qed.

Variable feasible : set -> Prop.

(** A tree below a node with some items freed and some open. A branch has a child where an open item and all worse
    ones are fixed, and one where it and all better ones are freed; the second is left out where it has no
    candidates. *)
Inductive closes (leaf : set -> set -> Prop) : set -> set -> Prop :=
| closes_leaf freed open : leaf freed open -> closes leaf freed open
| closes_branch freed open k :
    open k = true ->
    closes leaf freed (without open (with_worse open k)) ->
    closes leaf (union freed (with_better open k)) (without open (with_better open k)) ->
    closes leaf freed open
| closes_fix freed open k :
    open k = true ->
    closes leaf freed (without open (with_worse open k)) ->
    (forall f, feasible f -> subset (union freed (with_better open k)) f -> False) ->
    closes leaf freed open.

(** With each item that it frees, a candidate frees all better ones. *)
Definition takes_better (undecided f : set) : Prop :=
  forall a b, undecided a = true -> undecided b = true -> better a b = true -> f b = true -> f a = true.

Lemma kept_child (undecided freed open f : set) k :
  subset open undecided -> takes_better undecided f -> open k = true -> f k = false -> at_node freed open f ->
  at_node freed (without open (with_worse open k)) f.
Proof.
  intros U B O N [Ap [Lo Hi]]. split; [|split; [exact Lo|]].
  { intros j J. unfold without. rewrite (Ap j J). reflexivity. }
  intros j J. apply union_true. destruct (proj1 (union_true _ _ _) (Hi j J)) as [D | D].
  - left; exact D.
  - right. apply without_true. split; [exact D|]. rewrite with_worse_true. intros [E | [_ W]]; [congruence|].
    rewrite (B k j) in N; auto. discriminate.
Qed.

Lemma freed_child (undecided freed open f : set) k :
  subset open undecided -> takes_better undecided f -> open k = true -> f k = true -> at_node freed open f ->
  at_node (union freed (with_better open k)) (without open (with_better open k)) f.
Proof.
  intros U B O Y [Ap [Lo Hi]]. split; [|split]; intros j J.
  - apply union_true in J. unfold without.
    destruct J as [J | J]; [rewrite (Ap j J) | rewrite J, andb_false_r]; reflexivity.
  - apply union_true in J. destruct J as [J | J]; [apply Lo; exact J|].
    apply with_better_true in J. destruct J as [E | [Oj W]]; [subst; exact Y | apply (B j k); auto].
  - rewrite !union_true. destruct (proj1 (union_true _ _ _) (Hi j J)) as [D | D]; [auto|].
    destruct (with_better open k j) eqn:W; [auto|]. right. apply without_true. rewrite W.
    split; [exact D | discriminate].
Qed.

(** Every feasible candidate that takes better items first reaches a leaf. *)
Theorem tree_reaches_leaf (leaf : set -> set -> Prop) undecided freed open :
  closes leaf freed open -> subset open undecided ->
  forall f, takes_better undecided f -> feasible f -> at_node freed open f ->
  exists freed' open', leaf freed' open' /\ at_node freed' open' f.
Proof.
  intros C. induction C as [freed open L | freed open k O _ IHkept _ IHfreed | freed open k O _ IHkept Out];
    intros U f B F N.
  - exists freed, open. auto.
  - destruct (f k) eqn:E.
    + apply IHfreed; auto; [|eapply freed_child; eauto]. intros j J. apply without_true in J. apply U, J.
    + apply IHkept; auto; [|eapply kept_child; eauto]. intros j J. apply without_true in J. apply U, J.
  - destruct (f k) eqn:E.
    + exfalso. apply (Out f F). apply (freed_child undecided freed open f k); auto.
    + apply IHkept; auto; [|eapply kept_child; eauto]. intros j J. apply without_true in J. apply U, J.
Qed.

(** ** Better items *)

Definition swap (a b : item) (f : set) : set :=
  fun k => if Nat.eqb k a then true else if Nat.eqb k b then false else f k.

Fixpoint rank_sum (rank : item -> nat) (f : set) (l : list item) : nat :=
  match l with
  | [] => 0
  | k :: rest => (if f k then rank k else 0) + rank_sum rank f rest
  end.

Lemma rank_sum_ext rank f g l : (forall k, In k l -> f k = g k) -> rank_sum rank f l = rank_sum rank g l.
Proof. induction l as [|k l IH]; simpl; intros E; [reflexivity|]. rewrite E, IH; auto. Qed.

Lemma rank_sum_most rank f l : (rank_sum rank f l <= rank_sum rank (fun _ => true) l)%nat.
Proof. induction l as [|k l IH]; simpl; [lia|]. destruct (f k); lia. Qed.

Lemma rank_sum_swap rank a b f l :
  NoDup l -> In a l -> In b l -> f a = false -> f b = true -> (rank b < rank a)%nat ->
  (rank_sum rank f l < rank_sum rank (swap a b f) l)%nat.
Proof.
  intros D Ia Ib Fa Fb R.
  assert (Eq : (rank_sum rank (swap a b f) l + rank b = rank_sum rank f l + rank a)%nat); [|lia].
  assert (Ne : a <> b) by congruence.
  assert (One : forall l, NoDup l -> ~ In a l -> In b l ->
    (rank_sum rank (swap a b f) l + rank b = rank_sum rank f l)%nat).
  { clear - Fb Ne. induction l as [|k l IH]; intros D Na Ib; [destruct Ib|]. inversion D; subst. simpl.
    unfold swap at 1. destruct (Nat.eqb k a) eqn:E; [apply Nat.eqb_eq in E; subst; destruct Na; left; reflexivity|].
    destruct (Nat.eqb k b) eqn:E'.
    - apply Nat.eqb_eq in E'. subst. rewrite Fb.
      rewrite (rank_sum_ext rank (swap a b f) f l); [lia|]. intros j J. unfold swap.
      destruct (Nat.eqb j a) eqn:P; [apply Nat.eqb_eq in P; subst; destruct Na; right; exact J|].
      destruct (Nat.eqb j b) eqn:Q; [apply Nat.eqb_eq in Q; subst; contradiction | reflexivity].
    - destruct Ib as [Ib | Ib]; [subst; rewrite Nat.eqb_refl in E'; discriminate|].
      pose proof (IH H2 (fun X => Na (or_intror X)) Ib). lia. }
  assert (Other : forall l, NoDup l -> In a l -> ~ In b l ->
    rank_sum rank (swap a b f) l = (rank_sum rank f l + rank a)%nat).
  { clear - Fa Ne. induction l as [|k l IH]; intros D Ia Nb; [destruct Ia|]. inversion D; subst. simpl.
    unfold swap at 1. destruct (Nat.eqb k a) eqn:E.
    - apply Nat.eqb_eq in E. subst. rewrite Fa.
      rewrite (rank_sum_ext rank (swap a b f) f l); [lia|]. intros j J. unfold swap.
      destruct (Nat.eqb j a) eqn:P; [apply Nat.eqb_eq in P; subst; contradiction|].
      destruct (Nat.eqb j b) eqn:Q; [apply Nat.eqb_eq in Q; subst; destruct Nb; right; exact J | reflexivity].
    - destruct Ia as [Ia | Ia]; [subst; rewrite Nat.eqb_refl in E; discriminate|].
      destruct (Nat.eqb k b) eqn:Q; [apply Nat.eqb_eq in Q; subst; destruct Nb; left; reflexivity|].
      pose proof (IH H2 Ia (fun X => Nb (or_intror X))). lia. }
  clear R. induction l as [|k l IH]; [destruct Ia|]. inversion D; subst. simpl. unfold swap at 1.
  destruct (Nat.eqb k a) eqn:E.
  - apply Nat.eqb_eq in E. subst. rewrite Fa. destruct Ib as [Ib | Ib]; [congruence|]. pose proof (One l H2 H1 Ib). lia.
  - destruct Ia as [Ia | Ia]; [subst; rewrite Nat.eqb_refl in E; discriminate|].
    destruct (Nat.eqb k b) eqn:Q.
    + apply Nat.eqb_eq in Q. subst. rewrite Fb. pose proof (Other l H2 Ia H1). lia.
    + destruct Ib as [Ib | Ib]; [subst; rewrite Nat.eqb_refl in Q; discriminate|]. pose proof (IH H2 Ia Ib). lia.
Qed.

(** Swapping a freed item for a better one keeps a candidate feasible and frees no less. Then for every feasible
    candidate there is one that frees no less and takes better items first. *)
Theorem better_first (undecided : list item) (value : set -> R) :
  NoDup undecided ->
  (forall a, In a undecided -> better a a = false) ->
  (forall a b c, better a b = true -> better b c = true -> better a c = true) ->
  (forall f a b, In a undecided -> In b undecided -> better a b = true -> f a = false -> f b = true -> feasible f ->
    feasible (swap a b f) /\ value f <= value (swap a b f)) ->
  forall f, feasible f ->
  exists g, feasible g /\ value f <= value g /\ (forall k, ~ In k undecided -> g k = f k)
    /\ (forall a b, In a undecided -> In b undecided -> better a b = true -> g b = true -> g a = true).
Proof.
  intros D Irr Tr Sw.
  set (rank := fun a => length (filter (better a) undecided)).
  set (most := rank_sum rank (fun _ => true) undecided).
  assert (Rank : forall a b, In b undecided -> better a b = true -> (rank b < rank a)%nat).
  { intros a b Ib B. unfold rank.
    assert (L : forall l, (length (filter (better b) l) <= length (filter (better a) l))%nat
      /\ (In b l -> better b b = false -> (length (filter (better b) l) < length (filter (better a) l))%nat)).
    { induction l as [|c l [IH1 IH2]]; simpl; [split; [lia | tauto]|]. destruct (better b c) eqn:Q.
      - rewrite (Tr a b c B Q). simpl. split; [lia|]. intros [E | I] N; [congruence|]. specialize (IH2 I N). lia.
      - split; [destruct (better a c); simpl; lia|]. intros [E | I] N.
        + subst c. rewrite B. simpl. lia.
        + specialize (IH2 I N). destruct (better a c); simpl; lia. }
    apply L; [exact Ib | apply Irr; exact Ib]. }
  assert (Go : forall n f, (most - rank_sum rank f undecided <= n)%nat -> feasible f ->
    exists g, feasible g /\ value f <= value g /\ (forall k, ~ In k undecided -> g k = f k)
      /\ (forall a b, In a undecided -> In b undecided -> better a b = true -> g b = true -> g a = true)).
  { induction n as [|n IH]; intros f M F;
      (destruct (existsb (fun a => existsb (fun b => better a b && negb (f a) && f b) undecided) undecided) eqn:X;
       [apply existsb_exists in X; destruct X as [a [Ia X]]; apply existsb_exists in X; destruct X as [b [Ib X]];
        rewrite !andb_true_iff, negb_true_iff in X; destruct X as [[B Fa] Fb];
        pose proof (rank_sum_swap rank a b f undecided D Ia Ib Fa Fb (Rank a b Ib B)) as Up;
        pose proof (rank_sum_most rank (swap a b f) undecided) as Most; fold most in Most
       |exists f; repeat split; auto; [lra|]; intros a b Ia Ib B Fb; destruct (f a) eqn:Fa; [reflexivity|];
        exfalso; apply (Bool.diff_true_false); rewrite <- X; symmetry; apply existsb_exists; exists a; split;
          [exact Ia|];
        apply existsb_exists; exists b; split; [exact Ib|]; rewrite B, Fa, Fb; reflexivity]).
    - lia.
    - destruct (Sw f a b Ia Ib B Fa Fb F) as [F' V].
      destruct (IH (swap a b f)) as [g [G [Vg [Same T]]]]; [lia | exact F' |].
      exists g. repeat split; auto; [lra|]. intros k K. rewrite (Same k K). unfold swap.
      destruct (Nat.eqb k a) eqn:E; [apply Nat.eqb_eq in E; subst; contradiction|].
      destruct (Nat.eqb k b) eqn:E'; [apply Nat.eqb_eq in E'; subst; contradiction | reflexivity]. }
  intros f F. apply (Go (most - rank_sum rank f undecided)%nat f); auto.
Qed.
End Trees.
