(** Regions that grow with a radius, radii as ordered numbers, and what is said of all radii up to or beyond one. *)

From Coq Require Import Reals Lra Lia List Bool ZArith.
From Suffice Require Import Numbers Claims Pieces.
Import ListNotations.
Open Scope R_scope.

(** * Values, domains and regions *)

Section Domains.
Variable label : Type. (* names of categories, "missing" *)
Inductive value := Numeric (x : R) | Other (l : label).

Record span := Span { low : option R; high : option R; is_integers : bool }.
(** How far two categories are apart: a number of ranks or steps, or nothing where they have no distance. *)
Record domain := Domain {
  spans : list span; categories : list value; codes : list value; distance : value -> value -> option R }.

Definition integer (x : R) : Prop := exists k : Z, x = IZR k.
Definition in_span (s : span) (x : R) : Prop :=
  match low s with Some a => a <= x | None => True end
  /\ match high s with Some b => x <= b | None => True end
  /\ (is_integers s = true -> integer x).

(** What is within a radius of a value: itself; if it is a category, those that are close enough, or any other at a
    radius above 0 where they have no distance; if it is a number and no code, the numbers of the spans that are close
    enough. *)
Definition is_near (d : domain) (x v : value) (r : R) : Prop :=
  match distance d x v with Some t => t <= r | None => 0 < r end.
Inductive within (d : domain) (x : value) (r : R) : value -> Prop :=
| within_same : within d x r x
| within_category v : ~ In x (codes d) -> In x (categories d) -> is_near d x v r -> In v (categories d) -> within d x r v
| within_number s a b : ~ In x (codes d) -> ~ In x (categories d) -> x = Numeric a ->
    In s (spans d) -> in_span s b -> a - r <= b <= a + r -> within d x r (Numeric b).

Theorem within_grows d x r r' v : 0 <= r -> r <= r' -> within d x r v -> within d x r' v.
Proof.
  intros P L [| w N C Q I | s a b N C E S I B]; [constructor 1 | constructor 2 | econstructor 3]; eauto; try lra.
  unfold is_near in *. destruct (distance d x w); lra.
Qed.

(** ** Ends of regions

    The region at the radius a + e·ε has the ends x ± a, moved by e·ε. A place (a number, or one infinitely close
    to it) belongs to it if it is between the ends in the order of such numbers. *)

Definition above_low (s : span) (p : number) : Prop :=
  match low s with Some a => (of_real a <= p)%number | None => True end.
Definition below_high (s : span) (p : number) : Prop :=
  match high s with Some b => (p <= of_real b)%number | None => True end.
Definition in_reach (x : R) (radius p : number) : Prop :=
  (of_real x - radius <= p)%number /\ (p <= of_real x + radius)%number.

(** Up to a radius, or just below it: a number belongs to the region iff it does at some real radius so far. *)
Theorem reach_is_union x radius v : 0 < real radius \/ (real radius = 0 /\ 0 <= tiny radius) ->
  (in_reach x radius (of_real v) <-> exists t, 0 <= t /\ (of_real t <= radius)%number /\ x - t <= v <= x + t).
Proof.
  intros P. split.
  - intros [L U]. exists (Rabs (v - x)). pose proof (Rabs_pos (v - x)). pose proof (Rle_abs (v - x)).
    pose proof (Rle_abs (- (v - x))) as Q. rewrite Rabs_Ropp in Q. split; [lra|]. split; [|lra].
    destruct (Rcase_abs (v - x)) as [N | N]; [rewrite (Rabs_left _ N) | rewrite (Rabs_right _ N)]; clear - L U; order.
  - intros [t [T [Le B]]]. clear - T Le B. split; order.
Qed.

(** The same of categories at a distance, and of those without one. *)
Theorem category_reach_is_union t radius : 0 <= t ->
  ((of_real t <= radius)%number <-> exists r, 0 <= r /\ (of_real r <= radius)%number /\ t <= r).
Proof. intros P. split; [intros L; exists t; auto using Rle_refl | intros [r [R [L Le]]]; clear - L Le; order]. Qed.

Theorem leap_is_union radius : 0 < real radius ->
  exists r, (of_real r <= radius)%number /\ 0 < r.
Proof. intros P. exists (real radius / 2). unfold le, of_real; simpl. split; lra. Qed.

(** At a distance that is within a radius, a category is within every real radius from there on. *)
Theorem category_at_radius t radius r : (of_real t <= radius)%number -> (radius <= of_real r)%number -> t <= r.
Proof. intros L U. clear - L U. order. Qed.

(** From a radius on, or just beyond it: a place of the region is in the region at every real radius from there on;
    if it is beside a number, all numbers close enough on that side are. *)
Theorem place_at_radius s x radius p t :
  (of_real x - radius <= of_real p)%number -> (of_real p <= of_real x + radius)%number ->
  above_low s (of_real p) -> below_high s (of_real p) -> (is_integers s = true -> integer p) ->
  (radius <= of_real t)%number -> in_span s p /\ x - t <= p <= x + t.
Proof.
  unfold above_low, below_high, in_span. intros L U A B I T. repeat split; auto.
  - destruct (low s); [|exact Logic.I]. clear - A. order.
  - destruct (high s); [|exact Logic.I]. clear - B. order.
  - clear - L T. order.
  - clear - U T. order.
Qed.

Theorem place_beside_at_radius s x radius p side t :
  (of_real x - radius <= Number p side)%number -> (Number p side <= of_real x + radius)%number ->
  above_low s (Number p side) -> below_high s (Number p side) -> is_integers s = false ->
  (radius <= of_real t)%number -> for_small (fun d => in_span s (p + side * d) /\ x - t <= p + side * d <= x + t).
Proof.
  unfold above_low, below_high. intros L U A B I T.
  assert (Low : match low s with Some a => for_small (fun d => a <= p + side * d) | None => True end).
  { destruct (low s) as [a|]; [|exact Logic.I]. apply le_means_for_small in A.
    apply (for_small_impl _ _ A). unfold at_real, of_real; simpl. intros d D Q. lra. }
  assert (High : match high s with Some b => for_small (fun d => p + side * d <= b) | None => True end).
  { destruct (high s) as [b|]; [|exact Logic.I]. apply le_means_for_small in B.
    apply (for_small_impl _ _ B). unfold at_real, of_real; simpl. intros d D Q. lra. }
  assert (Left : for_small (fun d => x - t <= p + side * d)).
  { assert (Q : (of_real (x - t) <= Number p side)%number) by (clear - L T; order).
    apply le_means_for_small in Q. apply (for_small_impl _ _ Q). unfold at_real, of_real; simpl. intros d D R. lra. }
  assert (Right : for_small (fun d => p + side * d <= x + t)).
  { assert (Q : (Number p side <= of_real (x + t))%number) by (clear - U T; order).
    apply le_means_for_small in Q. apply (for_small_impl _ _ Q). unfold at_real, of_real; simpl. intros d D R. lra. }
  assert (All : for_small (fun d => match low s with Some a => a <= p + side * d | None => True end
    /\ match high s with Some b => p + side * d <= b | None => True end)).
  { apply for_small_and; [destruct (low s) | destruct (high s)]; auto; apply for_small_true; auto. }
  apply (for_small_impl _ _ (for_small_and _ _ All (for_small_and _ _ Left Right))).
  intros d D [[Q1 Q2] [Q3 Q4]]. unfold in_span. rewrite I. repeat split; auto. discriminate.
Qed.

(** A radius counted in a feature's own unit. *)
Definition in_unit (u : R) (radius : number) : number := Number (u * real radius) (tiny radius).

Lemma in_unit_le u radius t : 0 < u -> (radius <= of_real t)%number -> (in_unit u radius <= of_real (u * t))%number.
Proof.
  intros U [L | [E T]]; unfold in_unit, le, of_real in *; simpl in *.
  - left. apply Rmult_lt_compat_l; assumption.
  - right. rewrite E. split; [reflexivity | exact T].
Qed.

Lemma le_in_unit u radius t : 0 < u -> (of_real t <= radius)%number -> (of_real (u * t) <= in_unit u radius)%number.
Proof.
  intros U [L | [E T]]; unfold in_unit, le, of_real in *; simpl in *.
  - left. apply Rmult_lt_compat_l; assumption.
  - right. rewrite E. split; [reflexivity | exact T].
Qed.
End Domains.

(** * All radii at once *)

Section Radii.
Variable value : Type.
Variable features : list feature.
Variable row : input value.
Variable truth : input value -> Prop.
Variable inside : R -> input value -> Prop. (* the inputs at a radius *)
Hypothesis inside_grows : forall t t' y, 0 <= t -> t <= t' -> inside t y -> inside t' y.

Definition sufficient_at (t : R) (s : set) : Prop := sufficient value features row (inside t) truth s.

(** The inputs at all radii up to an ordered number, or at all finite ones. *)
Definition up_to (radius : number) (y : input value) : Prop :=
  exists t, 0 <= t /\ (of_real t <= radius)%number /\ inside t y.
Definition somewhere (y : input value) : Prop := exists t, 0 <= t /\ inside t y.

Theorem sufficient_up_to radius s : sufficient value features row (up_to radius) truth s ->
  forall t, 0 <= t -> (of_real t <= radius)%number -> sufficient_at t s.
Proof. intros Suff t P L y Y. apply Suff. exists t. auto. Qed.

Theorem sufficient_everywhere s :
  sufficient value features row somewhere truth s -> forall t, 0 <= t -> sufficient_at t s.
Proof. intros Suff t P y Y. apply Suff. exists t. auto. Qed.

Lemma sufficient_at_smaller s t t' : 0 <= t -> t <= t' -> sufficient_at t' s -> sufficient_at t s.
Proof. intros P L Suff y Y. apply Suff. eapply inside_grows; eauto. Qed.

(** What does not suffice at one radius does not at any larger one. *)
Theorem insufficient_from r s : 0 <= r -> ~ sufficient_at r s -> forall t, r <= t -> ~ sufficient_at t s.
Proof. intros P N t L Suff. apply N. eapply sufficient_at_smaller; eauto. Qed.

(** Falls that are reached at every radius from an ordered number on break the claim at every such radius. *)
Theorem insufficient_beyond (region : R -> feature -> value -> Prop) (c : inequality value) (moved : set)
    (n : feature -> number) radius s :
  (forall y, truth y -> holds value features c y) ->
  (forall t y, agrees value features row (others moved) y ->
    (forall i, In i features -> moved i = true -> region t i (y i)) -> inside t y) ->
  (forall i, In i features -> moved i = true -> s i = false) ->
  (forall t, (radius <= of_real t)%number ->
    forall i, In i features -> moved i = true -> reached value row (region t) c i (n i)) ->
  (margin_of value features row c < total_of moved n features)%number ->
  forall t, (radius <= of_real t)%number -> ~ sufficient_at t s.
Proof.
  intros T May Free Rch Over t L Suff.
  destruct (break_together value features row (region t) c moved n (Rch t L) Over) as [y [A [Rg N]]].
  apply N, T, (Suff y (May t y A Rg)). intros i I S. apply (A i I). unfold others.
  destruct (moved i) eqn:M; [|reflexivity]. rewrite (Free i I M) in S. discriminate.
Qed.

(** The largest radius, attained: sufficient up to r, and broken at every radius just beyond it. *)
Theorem radius_attained r s : sufficient value features row (up_to (of_real r)) truth s ->
  (forall t, (Number r 1 <= of_real t)%number -> ~ sufficient_at t s) ->
  forall t, 0 <= t -> (sufficient_at t s <-> t <= r).
Proof.
  intros Suff Beyond t P. split.
  - intros S. destruct (Rle_or_lt t r) as [L | L]; [exact L|]. exfalso. apply (Beyond t); [left; exact L | exact S].
  - intros L. apply (sufficient_up_to _ _ Suff t P). clear - L. order.
Qed.

(** Not attained: sufficient just below r, and not at r. *)
Theorem radius_not_attained r s : 0 <= r -> sufficient value features row (up_to (Number r (-1))) truth s ->
  ~ sufficient_at r s -> forall t, 0 <= t -> (sufficient_at t s <-> t < r).
Proof.
  intros Pr Suff Not t P. split.
  - intros S. destruct (Rlt_or_le t r) as [L | L]; [exact L|]. exfalso. exact (insufficient_from r s Pr Not t L S).
  - intros L. apply (sufficient_up_to _ _ Suff t P). left; exact L.
Qed.

(** A stretch of the curve: at all radii from [start] to [finish], the set suffices, and none that suffices costs
    less. *)
Theorem curve_stretch (cost : set -> Z) (allowed : set -> Prop) start finish fixed :
  sufficient value features row (up_to finish) truth fixed ->
  (forall t, (start <= of_real t)%number -> forall s, allowed s -> sufficient_at t s -> (cost fixed <= cost s)%Z) ->
  forall t, 0 <= t -> (start <= of_real t)%number -> (of_real t <= finish)%number ->
  sufficient_at t fixed /\ forall s, allowed s -> sufficient_at t s -> (cost fixed <= cost s)%Z.
Proof. intros Suff Least t P L U. split; [exact (sufficient_up_to _ _ Suff t P U) | exact (Least t L)]. Qed.

(** That no set below a cost suffices at one radius says so of all larger ones. *)
Theorem no_cheaper_from r (cost : set -> Z) (allowed : set -> Prop) least : 0 <= r ->
  (forall s, allowed s -> sufficient_at r s -> (least <= cost s)%Z) ->
  forall t, r <= t -> forall s, allowed s -> sufficient_at t s -> (least <= cost s)%Z.
Proof. intros P H t L s A S. apply H; [exact A | eapply sufficient_at_smaller; eauto]. Qed.

(** Nearest change: if no change of some kind breaks the claim up to a radius, one that does is not within it. *)
Theorem nearest_change (kind : input value -> Prop) least :
  (forall y, up_to least y -> kind y -> truth y) ->
  forall y t, 0 <= t -> inside t y -> kind y -> ~ truth y -> (least < of_real t)%number.
Proof.
  intros H y t P Y K N. destruct (le_or_lt (of_real t) least) as [L | L]; [|exact L]. exfalso. apply N, H; [|exact K].
  exists t. auto.
Qed.
End Radii.
