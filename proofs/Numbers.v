(** Ordered numbers a + b·ε: what a comparison of them says about real numbers.

    A certificate counts falls and margins in such numbers. ε is smaller than every positive real, so that they are
    compared by a first and by b where the a are equal. "At most a, and never quite a" is then a number of its own,
    a − ε, and a strict inequality is one like any other. *)

From Coq Require Import Reals Lra Lia List Bool Permutation.
Import ListNotations.
Open Scope R_scope.

(** * Finite sums of reals *)

Fixpoint sum {A : Type} (f : A -> R) (l : list A) : R :=
  match l with
  | [] => 0
  | i :: rest => f i + sum f rest
  end.

Section Sums.
Variable A : Type.
Implicit Types (f g : A -> R) (l : list A).

Lemma sum_ext f g l : (forall i, In i l -> f i = g i) -> sum f l = sum g l.
Proof.
  induction l as [|i l IH]; simpl; intros E; [reflexivity|].
  rewrite E, IH; auto.
Qed.

Lemma sum_le f g l : (forall i, In i l -> f i <= g i) -> sum f l <= sum g l.
Proof.
  induction l as [|i l IH]; simpl; intros E; [lra|].
  assert (f i <= g i) by auto. assert (sum f l <= sum g l) by auto. lra.
Qed.

Lemma sum_plus f g l : sum (fun i => f i + g i) l = sum f l + sum g l.
Proof. induction l as [|i l IH]; simpl; [|rewrite IH]; lra. Qed.

Lemma sum_minus f g l : sum (fun i => f i - g i) l = sum f l - sum g l.
Proof. induction l as [|i l IH]; simpl; [|rewrite IH]; lra. Qed.

Lemma sum_opp f l : sum (fun i => - f i) l = - sum f l.
Proof. induction l as [|i l IH]; simpl; [|rewrite IH]; lra. Qed.

Lemma sum_times c f l : sum (fun i => c * f i) l = c * sum f l.
Proof. induction l as [|i l IH]; simpl; [|rewrite IH]; lra. Qed.

Lemma sum_zero l : sum (fun _ : A => 0) l = 0.
Proof. induction l as [|i l IH]; simpl; [|rewrite IH]; lra. Qed.

Lemma sum_const c l : sum (fun _ : A => c) l = INR (length l) * c.
Proof.
  induction l as [|i l IH]; [simpl; lra|].
  change (length (i :: l)) with (S (length l)). rewrite S_INR. simpl. rewrite IH. lra.
Qed.

Lemma sum_app f l k : sum f (l ++ k) = sum f l + sum f k.
Proof. induction l as [|i l IH]; simpl; [|rewrite IH]; lra. Qed.

Lemma sum_permutation f l k : Permutation l k -> sum f l = sum f k.
Proof. induction 1; simpl; lra. Qed.

Lemma sum_filter (p : A -> bool) f l : sum f (filter p l) = sum (fun i => if p i then f i else 0) l.
Proof. induction l as [|i l IH]; simpl; [reflexivity|]. destruct (p i); simpl; rewrite IH; lra. Qed.

Lemma sum_nonneg f l : (forall i, In i l -> 0 <= f i) -> 0 <= sum f l.
Proof. intros P. pose proof (sum_le (fun _ => 0) f l P) as L. rewrite sum_zero in L. exact L. Qed.

Lemma term_at_most_sum f l i : (forall j, In j l -> 0 <= f j) -> In i l -> f i <= sum f l.
Proof.
  induction l as [|j l IH]; simpl; intros P I; [contradiction|].
  pose proof (P j (or_introl eq_refl)). pose proof (sum_nonneg f l (fun k K => P k (or_intror K))).
  destruct I as [E | I]; [subst; lra|]. pose proof (IH (fun k K => P k (or_intror K)) I). lra.
Qed.
End Sums.

Lemma sum_map {A B : Type} (f : B -> R) (g : A -> B) l : sum f (map g l) = sum (fun i => f (g i)) l.
Proof. induction l as [|i l IH]; simpl; [|rewrite IH]; reflexivity. Qed.

Lemma sum_swap {A B : Type} (f : A -> B -> R) l k :
  sum (fun i => sum (f i) k) l = sum (fun j => sum (fun i => f i j) l) k.
Proof.
  induction l as [|i l IH]; simpl.
  - symmetry. apply sum_zero.
  - rewrite IH. symmetry. apply (sum_plus B).
Qed.

Lemma sum_flat_map {A B : Type} (f : B -> R) (g : A -> list B) l :
  sum f (flat_map g l) = sum (fun i => sum f (g i)) l.
Proof. induction l as [|i l IH]; simpl; [reflexivity|]. rewrite sum_app, IH. reflexivity. Qed.

(** * Ordered numbers *)

Record number := Number { real : R; tiny : R }.
Declare Scope number_scope.
Delimit Scope number_scope with number.
Bind Scope number_scope with number.

Definition le (x y : number) : Prop := real x < real y \/ (real x = real y /\ tiny x <= tiny y).
Definition lt (x y : number) : Prop := real x < real y \/ (real x = real y /\ tiny x < tiny y).
Definition plus (x y : number) : number := Number (real x + real y) (tiny x + tiny y).
Definition minus (x y : number) : number := Number (real x - real y) (tiny x - tiny y).
Definition times (c : R) (x : number) : number := Number (c * real x) (c * tiny x).
Definition of_real (t : R) : number := Number t 0.
Definition total {A : Type} (f : A -> number) (l : list A) : number :=
  Number (sum (fun i => real (f i)) l) (sum (fun i => tiny (f i)) l).

Infix "<=" := le : number_scope.
Infix "<" := lt : number_scope.
Infix "+" := plus : number_scope.
Infix "-" := minus : number_scope.
Notation "0" := (of_real 0) : number_scope.

(** Settles what follows from linear arithmetic on both parts. *)
Ltac order := unfold le, lt, plus, minus, times, of_real in *; simpl in *; intuition (subst; lra).

Lemma number_ext (x y : number) : real x = real y -> tiny x = tiny y -> x = y.
Proof. destruct x, y; simpl; congruence. Qed.

Lemma le_refl (x : number) : (x <= x)%number.
Proof. order. Qed.

Lemma le_trans (x y z : number) : (x <= y -> y <= z -> x <= z)%number.
Proof. order. Qed.

Lemma le_lt_trans (x y z : number) : (x <= y -> y < z -> x < z)%number.
Proof. order. Qed.

Lemma lt_not_le (x y : number) : (x < y)%number <-> ~ (y <= x)%number.
Proof.
  split; [order|]. intros N. unfold le in N. unfold lt.
  destruct (Rtotal_order (real x) (real y)) as [L | [E | G]]; [auto | | exfalso; apply N; auto].
  right. split; [exact E|]. apply Rnot_le_lt. intros C. apply N. right. auto.
Qed.

Lemma le_or_lt (x y : number) : (x <= y)%number \/ (y < x)%number.
Proof.
  unfold le, lt. destruct (Rtotal_order (real x) (real y)) as [L | [E | G]]; auto.
  destruct (Rle_or_lt (tiny x) (tiny y)); auto.
Qed.

Definition le_dec (x y : number) : {(x <= y)%number} + {~ (x <= y)%number}.
Proof.
  unfold le. destruct (Rlt_dec (real x) (real y)) as [L | N]; [left; auto|].
  destruct (Req_EM_T (real x) (real y)) as [E | E]; [|right; intuition].
  destruct (Rle_dec (tiny x) (tiny y)) as [T | T]; [left; auto | right; intuition].
Defined.

Lemma le_antisym (x y : number) : (x <= y -> y <= x -> x = y)%number.
Proof. intros. apply number_ext; order. Qed.

Lemma plus_0_l (x : number) : (0 + x)%number = x.
Proof. apply number_ext; simpl; ring. Qed.

Lemma plus_0_r (x : number) : (x + 0)%number = x.
Proof. apply number_ext; simpl; ring. Qed.

Lemma plus_le (x y z w : number) : (x <= y -> z <= w -> x + z <= y + w)%number.
Proof. order. Qed.

Lemma times_le (c : R) (x y : number) : 0 <= c -> (x <= y)%number -> (times c x <= times c y)%number.
Proof.
  intros C [L | [E T]]; unfold le, times; simpl.
  - destruct (Req_dec c 0) as [Z | Z]; [right; subst; lra | left; apply Rmult_lt_compat_l; lra].
  - right. rewrite E. split; [reflexivity | apply Rmult_le_compat_l; auto].
Qed.

Lemma total_le {A : Type} (f g : A -> number) l :
  (forall i, In i l -> (f i <= g i)%number) -> (total f l <= total g l)%number.
Proof.
  induction l as [|i l IH]; intros H; [apply le_refl|].
  change (total f (i :: l)) with (plus (f i) (total f l)). change (total g (i :: l)) with (plus (g i) (total g l)).
  apply plus_le; [apply H; left | apply IH; intros; apply H; right]; auto.
Qed.

Lemma total_of_real {A : Type} (f : A -> R) l : total (fun i => of_real (f i)) l = of_real (sum f l).
Proof. apply number_ext; simpl; [reflexivity | apply sum_zero]. Qed.

Lemma total_zero {A : Type} (l : list A) : total (fun _ => 0%number) l = 0%number.
Proof. rewrite total_of_real, sum_zero. reflexivity. Qed.

Lemma total_ext {A : Type} (f g : A -> number) l : (forall i, In i l -> f i = g i) -> total f l = total g l.
Proof. intros E. apply number_ext; simpl; apply sum_ext; intros i I; rewrite E; auto. Qed.

Lemma total_plus {A : Type} (f g : A -> number) l :
  total (fun i => (f i + g i)%number) l = (total f l + total g l)%number.
Proof. apply number_ext; simpl; apply sum_plus. Qed.

Lemma total_times {A : Type} (c : R) (f : A -> number) l : total (fun i => times c (f i)) l = times c (total f l).
Proof. apply number_ext; simpl; apply sum_times. Qed.

Lemma total_swap {A B : Type} (f : A -> B -> number) l k :
  total (fun i => total (f i) k) l = total (fun j => total (fun i => f i j) l) k.
Proof. apply number_ext; simpl; apply (sum_swap (fun i j => _ (f i j))). Qed.

Lemma total_app {A : Type} (f : A -> number) l k : total f (l ++ k) = (total f l + total f k)%number.
Proof. apply number_ext; simpl; apply sum_app. Qed.

Lemma total_map {A B : Type} (f : B -> number) (g : A -> B) l : total f (map g l) = total (fun i => f (g i)) l.
Proof. apply number_ext; simpl; apply (sum_map (fun i => _ (f i))). Qed.

Lemma total_flat_map {A B : Type} (f : B -> number) (g : A -> list B) l :
  total f (flat_map g l) = total (fun i => total f (g i)) l.
Proof. apply number_ext; simpl; apply (sum_flat_map (fun i => _ (f i))). Qed.

Lemma total_permutation {A : Type} (f : A -> number) l k : Permutation l k -> total f l = total f k.
Proof. intros P. apply number_ext; simpl; apply sum_permutation; exact P. Qed.

Lemma total_filter {A : Type} (p : A -> bool) (f : A -> number) l :
  total f (filter p l) = total (fun i => if p i then f i else 0%number) l.
Proof.
  apply number_ext; simpl; rewrite sum_filter; apply sum_ext; intros i _; destruct (p i); reflexivity.
Qed.

Lemma total_nonneg {A : Type} (f : A -> number) l : (forall i, In i l -> (0 <= f i)%number) -> (0 <= total f l)%number.
Proof.
  intros P. pose proof (total_le (fun _ => 0%number) f l P) as L. rewrite total_of_real, sum_zero in L. exact L.
Qed.

Lemma term_at_most_total {A : Type} (f : A -> number) l i :
  (forall j, In j l -> (0 <= f j)%number) -> In i l -> (f i <= total f l)%number.
Proof.
  induction l as [|j l IH]; intros P I; [destruct I|].
  change (total f (j :: l)) with (f j + total f l)%number.
  pose proof (P j (or_introl eq_refl)). pose proof (total_nonneg f l (fun k K => P k (or_intror K))).
  destruct I as [E | I]; [subst; order|]. pose proof (IH (fun k K => P k (or_intror K)) I). order.
Qed.

(** The larger of a number and 0. *)
Definition positive_part (x : number) : number := if le_dec 0%number x then x else 0%number.

Lemma positive_part_nonneg x : (0 <= positive_part x)%number.
Proof. unfold positive_part. destruct (le_dec 0%number x); [assumption | apply le_refl]. Qed.

Lemma positive_part_above x : (x <= positive_part x)%number.
Proof.
  unfold positive_part. destruct (le_dec 0%number x) as [L | N]; [apply le_refl|].
  destruct (le_or_lt x 0%number) as [L | L]; [exact L|]. exfalso. apply N. order.
Qed.

Lemma positive_part_mono x y : (x <= y)%number -> (positive_part x <= positive_part y)%number.
Proof.
  intros L. unfold positive_part at 1. destruct (le_dec 0%number x) as [P | P].
  - eapply le_trans; [exact L | apply positive_part_above].
  - apply positive_part_nonneg.
Qed.

(** ** What a comparison means

    [x <= y] says just that a + b·t ≤ c + d·t for all positive reals t that are small enough, and likewise for [x <
    y]. *)

Definition at_real (t : R) (x : number) : R := real x + tiny x * t.
Definition for_small (P : R -> Prop) : Prop := exists d, 0 < d /\ forall t, 0 < t < d -> P t.

Lemma for_small_and (P Q : R -> Prop) : for_small P -> for_small Q -> for_small (fun t => P t /\ Q t).
Proof.
  intros [d [D p]] [e [E q]]. exists (Rmin d e). split; [apply Rmin_pos; auto|].
  intros t [T1 T2]. pose proof (Rmin_l d e). pose proof (Rmin_r d e). split; [apply p | apply q]; lra.
Qed.

Lemma for_small_one (P : R -> Prop) : for_small P -> exists t, 0 < t /\ P t.
Proof. intros [d [D p]]. exists (d / 2). split; [|apply p]; lra. Qed.

Lemma for_small_all {A : Type} (P : A -> R -> Prop) l :
  (forall i, In i l -> for_small (P i)) -> for_small (fun t => forall i, In i l -> P i t).
Proof.
  induction l as [|i l IH]; intros H.
  - exists 1. split; [lra|]. intros t _ i [].
  - destruct (for_small_and _ _ (H i (or_introl eq_refl)) (IH (fun j J => H j (or_intror J)))) as [d [D p]].
    exists d. split; [exact D|]. intros t T. destruct (p t T) as [first rest]. intros j [E | J]; [subst|]; auto.
Qed.

Lemma positive_for_small (a b : R) : 0 < a \/ (a = 0 /\ 0 < b) -> for_small (fun t => 0 < a + b * t).
Proof.
  intros [A | [A B]].
  - exists (a / (Rabs b + 1)). pose proof (Rabs_pos b) as P. split.
    + apply Rdiv_lt_0_compat; lra.
    + intros t [T1 T2]. assert (t * (Rabs b + 1) < a).
      { apply (Rmult_lt_compat_r (Rabs b + 1)) in T2; [|lra]. unfold Rdiv in T2.
        rewrite Rmult_assoc, Rinv_l, Rmult_1_r in T2; lra. }
      assert (- (Rabs b * t) <= b * t).
      { rewrite <- Ropp_mult_distr_l_reverse. apply Rmult_le_compat_r; [lra|].
        pose proof (Rle_abs (- b)) as Q. rewrite Rabs_Ropp in Q. lra. }
      lra.
  - exists 1. split; [lra|]. intros t [T _]. subst. rewrite Rplus_0_l. apply Rmult_lt_0_compat; auto.
Qed.

Theorem lt_means_for_small (x y : number) : (x < y)%number <-> for_small (fun t => at_real t x < at_real t y).
Proof.
  assert (Forward : forall u v, (u < v)%number -> for_small (fun t => at_real t u < at_real t v)).
  { intros u v L. destruct (positive_for_small (real v - real u) (tiny v - tiny u)) as [d [D p]].
    { unfold lt in L. intuition lra. }
    exists d. split; [exact D|]. intros t T. specialize (p t T). unfold at_real. lra. }
  split; [apply Forward|]. intros S. destruct (le_or_lt y x) as [[L | [E T]] | L]; [ | | exact L]; exfalso.
  - assert (y < x)%number as Q by (left; exact L).
    destruct (for_small_one _ (for_small_and _ _ S (Forward _ _ Q))) as [t ?]. lra.
  - destruct (for_small_one _ S) as [t [P Q]]. unfold at_real in Q. rewrite E in Q.
    assert (tiny y * t <= tiny x * t) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Theorem le_means_for_small (x y : number) : (x <= y)%number <-> for_small (fun t => at_real t x <= at_real t y).
Proof.
  split.
  - intros [L | [E T]].
    + destruct (proj1 (lt_means_for_small x y) (or_introl L)) as [d [D p]].
      exists d. split; [exact D|]. intros t I. specialize (p t I). lra.
    + exists 1. split; [lra|]. intros t I. unfold at_real. rewrite E.
      assert (tiny x * t <= tiny y * t) by (apply Rmult_le_compat_r; lra). lra.
  - intros S. destruct (le_or_lt x y) as [L | L]; [exact L|]. exfalso.
    destruct (for_small_one _ (for_small_and _ _ S (proj1 (lt_means_for_small _ _) L))) as [t ?]. lra.
Qed.

(** ** Margins

    An inequality [g >= 0] that holds by m at the row has the margin m; a strict one has the margin m − ε. *)

Definition margin (m : R) (strict : bool) : number := Number m (if strict then -1 else 0).
Definition exceeds_nowhere (strict : bool) (m t : R) : Prop := if strict then t < m else t <= m.

Lemma within_margin (strict : bool) (m t : R) :
  (of_real t <= margin m strict)%number <-> exceeds_nowhere strict m t.
Proof. unfold exceeds_nowhere. destruct strict; order. Qed.

(** ** Whole numbers

    The largest integer at most a + b·ε is the floor of a, or one less where a is whole and b negative. *)

Definition floor (x : number) : Z :=
  (Int_part (real x)
   - if Req_EM_T (real x) (IZR (Int_part (real x))) then if Rlt_dec (tiny x) 0 then 1 else 0 else 0)%Z.

Theorem floor_is_largest (k : Z) (x : number) : (k <= floor x)%Z <-> (of_real (IZR k) <= x)%number.
Proof.
  destruct (base_Int_part (real x)) as [L U]. unfold floor, le, of_real; simpl.
  set (f := Int_part (real x)) in *. assert (U' : real x < IZR (f + 1)) by (rewrite plus_IZR; lra).
  destruct (Req_EM_T (real x) (IZR f)) as [E | N]; [destruct (Rlt_dec (tiny x) 0) as [T | T]|].
  - split.
    + intros K. left. rewrite E. apply IZR_lt. lia.
    + intros [K | [K V]]; [|lra]. rewrite E in K. apply lt_IZR in K. lia.
  - split.
    + intros K. destruct (Z.eq_dec k f) as [Q | Q]; [subst k; right; lra | left; rewrite E; apply IZR_lt; lia].
    + intros K. assert (IZR k < IZR (f + 1)) as Q by (destruct K; lra). apply lt_IZR in Q. lia.
  - split.
    + intros K. left. assert (IZR k <= IZR f) by (apply IZR_le; lia). lra.
    + intros K. assert (IZR k < IZR (f + 1)) as Q by (destruct K; lra). apply lt_IZR in Q. lia.
Qed.
