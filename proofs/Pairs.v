(** Models with pair terms: bounds by messages, and what an input that breaks the claim says of every sufficient set. *)

From Coq Require Import Reals Lra Lia List Bool Arith ZArith Permutation Sorted.
From Suffice Require Import Numbers Claims Trees Cover Few.
Import ListNotations.
Open Scope R_scope.

Definition at_feature (i j : feature) (v : R) : R := if Nat.eqb j i then v else 0.

Lemma sum_at_feature (v : R) j l : NoDup l -> In j l -> sum (fun i => at_feature i j v) l = v.
Proof.
  induction l as [|i l IH]; intros D I; [destruct I|]. inversion D; subst. simpl. unfold at_feature at 1.
  destruct (Nat.eqb j i) eqn:E.
  - apply Nat.eqb_eq in E. subst. rewrite (sum_ext _ _ (fun _ => 0)); [rewrite sum_zero; ring|]. intros k K.
    unfold at_feature. destruct (Nat.eqb i k) eqn:Q; [apply Nat.eqb_eq in Q; subst; contradiction | reflexivity].
  - destruct I as [I | I]; [subst; rewrite Nat.eqb_refl in E; discriminate|]. rewrite (IH H2 I). ring.
Qed.

Section Pairs.
Variable value : Type.
Variable features : list feature.
Hypothesis features_differ : NoDup features.
Variable row : input value.

(** Pairs of features; one level: a constant, a part for each feature, and one for each pair. *)
Definition edge := (feature * feature)%type.
Variable edges : list edge.
Hypothesis edges_are_pairs : forall e, In e edges -> In (fst e) features /\ In (snd e) features /\ fst e <> snd e.
Variable constant : R.
Variable main : feature -> value -> R.
Variable pair : edge -> value -> value -> R.

Definition pair_level (y : input value) : R :=
  constant + sum (fun i => main i (y i)) features + sum (fun e => pair e (y (fst e)) (y (snd e))) edges.

(** * Messages *)

(** What a pair sends to its first and to its second feature, for each of their values: any numbers. *)
Variables to_first to_second : edge -> value -> R.

Definition received (i : feature) (v : value) : R :=
  sum (fun e => at_feature i (fst e) (to_first e v) + at_feature i (snd e) (to_second e v)) edges.

Lemma messages_cancel y :
  sum (fun i => received i (y i)) features = sum (fun e => to_first e (y (fst e)) + to_second e (y (snd e))) edges.
Proof.
  unfold received. rewrite sum_swap. apply sum_ext. intros e E. destruct (edges_are_pairs e E) as [I [J _]].
  rewrite sum_plus.
  rewrite <- (sum_at_feature (to_first e (y (fst e))) (fst e) features features_differ I).
  rewrite <- (sum_at_feature (to_second e (y (snd e))) (snd e) features features_differ J).
  f_equal; apply sum_ext; intros i _; unfold at_feature;
    [destruct (Nat.eqb (fst e) i) eqn:Q | destruct (Nat.eqb (snd e) i) eqn:Q]; try reflexivity;
    apply Nat.eqb_eq in Q; subst; reflexivity.
Qed.

(** For any messages, no input of the region is lower than the constant, what each feature has left at its lowest,
    and what each pair has with its messages at its lowest. Lowest values may be approached only: a + ε. *)
Theorem messages_bound (region : feature -> value -> Prop) (low : feature -> number) (low_pair : edge -> number) y :
  (forall i v, In i features -> region i v -> (low i <= of_real (main i v - received i v))%number) ->
  (forall e v w, In e edges -> region (fst e) v -> region (snd e) w ->
    (low_pair e <= of_real (pair e v w + to_first e v + to_second e w))%number) ->
  box value features region y ->
  (of_real constant + total low features + total low_pair edges <= of_real (pair_level y))%number.
Proof.
  intros L Lp B.
  assert (E : of_real (pair_level y)
    = (of_real constant + total (fun i => of_real (main i (y i) - received i (y i))) features
       + total (fun e => of_real (pair e (y (fst e)) (y (snd e)) + to_first e (y (fst e)) + to_second e (y (snd e))))
           edges)%number).
  { rewrite !total_of_real. apply number_ext; simpl; [|ring]. unfold pair_level. rewrite sum_minus, messages_cancel.
    rewrite (sum_ext _ (fun e => _ + _ + _) (fun e => pair e (y (fst e)) (y (snd e))
      + (to_first e (y (fst e)) + to_second e (y (snd e))))) by (intros; ring).
    rewrite (sum_plus _ (fun e => pair e (y (fst e)) (y (snd e)))). ring. }
  rewrite E. apply plus_le; [apply plus_le; [apply le_refl|] |]; apply total_le.
  - intros i I. apply L; [exact I | apply B; exact I].
  - intros e I. destruct (edges_are_pairs e I) as [F [S _]]. apply Lp; [exact I | apply B; exact F | apply B; exact S].
Qed.

(** Regions may be split: what holds where a feature has some values, and where it has the others, holds everywhere. *)
Theorem split_region (region : feature -> value -> Prop) (i : feature) (some : value -> bool)
    (truth : input value -> Prop) :
  (forall y, box value features (fun j v => region j v /\ (j = i -> some v = true)) y -> truth y) ->
  (forall y, box value features (fun j v => region j v /\ (j = i -> some v = false)) y -> truth y) ->
  forall y, box value features region y -> truth y.
Proof.
  intros T F y B. destruct (some (y i)) eqn:E; [apply T | apply F]; intros j J;
    (split; [apply B; exact J | intros Q; subst; exact E]).
Qed.

(** * Scenarios *)

Definition replace (f : set) (x : input value) : input value := fun i => if f i then x i else row i.

(** By how much one feature alone lowers the level, and what a pair adds when both of its features move. *)
Definition alone (x : input value) (i : feature) : R :=
  main i (row i) - main i (x i)
  + sum (fun e => at_feature i (fst e) (pair e (row (fst e)) (row (snd e)) - pair e (x (fst e)) (row (snd e)))
                + at_feature i (snd e) (pair e (row (fst e)) (row (snd e)) - pair e (row (fst e)) (x (snd e)))) edges.
Definition together (x : input value) (e : edge) : R :=
  - (pair e (x (fst e)) (x (snd e)) - pair e (x (fst e)) (row (snd e)) - pair e (row (fst e)) (x (snd e))
     + pair e (row (fst e)) (row (snd e))).

Definition both (f : set) (e : edge) : bool := f (fst e) && f (snd e).

(** The fall of an input that moves just some features of a scenario. *)
Theorem scenario_fall f x : pair_level row - pair_level (replace f x)
  = sum (fun i => if f i then alone x i else 0) features + sum (fun e => if both f e then together x e else 0) edges.
Proof.
  assert (Each : sum (fun i => if f i then alone x i else 0) features
    = sum (fun i => main i (row i) - main i (replace f x i)) features
      + sum (fun e => (if f (fst e) then pair e (row (fst e)) (row (snd e)) - pair e (x (fst e)) (row (snd e)) else 0)
                    + (if f (snd e) then pair e (row (fst e)) (row (snd e)) - pair e (row (fst e)) (x (snd e)) else
                        0)) edges).
  { transitivity (sum (fun i => main i (row i) - main i (replace f x i)) features
      + sum (fun i => sum (fun e =>
          at_feature i (fst e) (if f (fst e) then pair e (row (fst e)) (row (snd e)) - pair e (x (fst e)) (row (snd
            e)) else 0)
        + at_feature i (snd e) (if f (snd e) then pair e (row (fst e)) (row (snd e)) - pair e (row (fst e)) (x (snd
            e)) else 0))
          edges) features).
    - rewrite <- sum_plus. apply sum_ext. intros i _. unfold alone, replace. destruct (f i) eqn:Fi.
      + f_equal. apply sum_ext. intros e _. unfold at_feature.
        destruct (Nat.eqb (fst e) i) eqn:Q, (Nat.eqb (snd e) i) eqn:Q'; try apply Nat.eqb_eq in Q;
          try apply Nat.eqb_eq in Q';
          subst; rewrite ?Fi; try reflexivity. rewrite Q', Fi. reflexivity.
      + rewrite (sum_ext _ _ (fun _ => 0)); [rewrite sum_zero; ring|]. intros e _. unfold at_feature.
        destruct (Nat.eqb (fst e) i) eqn:Q, (Nat.eqb (snd e) i) eqn:Q'; try apply Nat.eqb_eq in Q;
          try apply Nat.eqb_eq in Q';
          subst; rewrite ?Fi; try ring. rewrite Q', Fi. ring.
    - f_equal. rewrite sum_swap. apply sum_ext. intros e E. destruct (edges_are_pairs e E) as [I [J _]].
      rewrite sum_plus, !sum_at_feature; auto. }
  rewrite Each. unfold pair_level.
  rewrite (sum_minus _ (fun i => main i (row i))).
  assert (Edges : sum (fun e => pair e (row (fst e)) (row (snd e))) edges
      - sum (fun e => pair e (replace f x (fst e)) (replace f x (snd e))) edges
    = sum (fun e => (if f (fst e) then pair e (row (fst e)) (row (snd e)) - pair e (x (fst e)) (row (snd e)) else 0)
                  + (if f (snd e) then pair e (row (fst e)) (row (snd e)) - pair e (row (fst e)) (x (snd e)) else 0))
                      edges
      + sum (fun e => if both f e then together x e else 0) edges); [|lra].
  rewrite <- sum_minus, <- sum_plus. apply sum_ext. intros e _. unfold both, together, replace.
  destruct (f (fst e)), (f (snd e)); simpl; ring.
Qed.

(** ** What every sufficient set obeys

    Values of a scenario may be approached: [x d] comes closer as d shrinks. Its numbers are then a − ε. *)

Variables (inside : input value -> Prop) (strict : bool).
Definition pair_holds (y : input value) : Prop := if strict then 0 < pair_level y else 0 <= pair_level y.
Definition pair_margin : number := margin (pair_level row) strict.

Variable x : R -> input value.
Variable shown : feature -> number. (* of a feature alone *)
Variable product : edge -> number. (* of a pair *)

(** Attained, and the same for all d; or approached. *)
Definition shows (n : number) (falls : R -> R) : Prop :=
  (forall d, 0 < d -> (n <= of_real (falls d))%number)
  \/ (tiny n <= -1 /\ forall e, 0 < e -> for_small (fun d => real n - e < falls d)).

Lemma shows_near n falls e : shows n falls -> 0 < e -> for_small (fun d => real n - e < falls d).
Proof.
  intros [A | [_ N]] E; [|apply N; exact E]. exists 1. split; [lra|]. intros d [D _]. specialize (A d D). clear - A E.
  order.
Qed.

Theorem scenario_inequality (s f : set) :
  (forall i, In i features -> f i = true -> shows (shown i) (fun d => alone (x d) i) /\ tiny (shown i) <= 0) ->
  (forall e, In e edges -> both f e = true -> shows (product e) (fun d => together (x d) e) /\ tiny (product e) <= 0) ->
  (forall i, In i features -> f i = true -> s i = false) ->
  (forall d, 0 < d -> inside (replace f (x d))) ->
  sufficient value features row inside pair_holds s ->
  (total_of f shown features + total (fun e => if both f e then product e else 0%number) edges <= pair_margin)%number.
Proof.
  intros A P Free Ins Suff.
  set (sums := (total_of f shown features + total (fun e => if both f e then product e else 0%number) edges)%number).
  assert (Holds : forall d, 0 < d -> (of_real (pair_level row - pair_level (replace f (x d))) <= pair_margin)%number).
  { intros d D. unfold pair_margin. apply within_margin. assert (H : pair_holds (replace f (x d))).
    { apply Suff; [apply Ins; exact D|]. intros i I Si. unfold replace. destruct (f i) eqn:Fi; [|reflexivity].
      rewrite (Free i I Fi) in Si. discriminate. }
    unfold pair_holds in H. unfold exceeds_nowhere. destruct strict; lra. }
  destruct (le_or_lt sums pair_margin) as [L | Over]; [exact L|]. exfalso.
  (* Either something is only approached, or all is attained. *)
  assert (Near : forall e, 0 < e -> for_small (fun d => real sums - (INR (length features) + INR (length edges)) * e
      <= pair_level row - pair_level (replace f (x d)))).
  { intros e E.
    assert (Nf : for_small (fun d => forall i, In i features -> f i = true -> real (shown i) - e < alone (x d) i)).
    { apply for_small_all. intros i I. destruct (f i) eqn:Fi; [|exists 1; split; [lra | intros; discriminate]].
      destruct (shows_near _ _ e (proj1 (A i I Fi)) E) as [d [D H]]. exists d. auto. }
    assert (Ne : for_small (fun d =>
      forall g, In g edges -> both f g = true -> real (product g) - e < together (x d) g)).
    { apply for_small_all. intros g I. destruct (both f g) eqn:Fg; [|exists 1; split; [lra | intros; discriminate]].
      destruct (shows_near _ _ e (proj1 (P g I Fg)) E) as [d [D H]]. exists d. auto. }
    destruct (for_small_and _ _ Nf Ne) as [d0 [D0 H]]. exists d0. split; [exact D0|]. intros d D.
    destruct (H d D) as [H1 H2].
    rewrite scenario_fall. unfold sums, total_of, total, plus; cbn [real].
    assert (S1 : sum (fun i => real (if f i then shown i else 0%number)) features - INR (length features) * e
      <= sum (fun i => if f i then alone (x d) i else 0) features).
    { rewrite <- (sum_const nat e features), <- sum_minus. apply sum_le. intros i I. specialize (H1 i I).
      destruct (f i); simpl; [specialize (H1 eq_refl)|]; lra. }
    assert (S2 : sum (fun g => real (if both f g then product g else 0%number)) edges - INR (length edges) * e
      <= sum (fun g => if both f g then together (x d) g else 0) edges).
    { rewrite <- (sum_const edge e edges), <- sum_minus. apply sum_le. intros g I. specialize (H2 g I).
      destruct (both f g); simpl; [specialize (H2 eq_refl)|]; lra. }
    lra. }
  assert (Size : 0 <= INR (length features) + INR (length edges))
    by (pose proof (pos_INR (length features)); pose proof (pos_INR (length edges)); lra).
  assert (Real : real sums <= pair_level row).
  { destruct (Rle_or_lt (real sums) (pair_level row)) as [Q | Q]; [exact Q|]. exfalso.
    set (size := INR (length features) + INR (length edges)) in *. set (gap := real sums - pair_level row).
    assert (Step : 0 < gap / (size + 1)) by (apply Rdiv_lt_0_compat; unfold gap; lra).
    destruct (for_small_one _ (Near _ Step)) as [d [D H]]. specialize (Holds d D).
    assert (gap = size * (gap / (size + 1)) + gap / (size + 1)) by (field; lra).
    assert (pair_level row - pair_level (replace f (x d)) <= pair_level row)
      by (clear - Holds; unfold pair_margin, margin in *; order).
    unfold gap in *. lra. }
  assert (Tie : real sums = pair_level row /\ (if strict then -1 else 0) < tiny sums)
    by (clear - Over Real; unfold pair_margin, margin in *; order).
  destruct Tie as [Tie Tn].
  assert (Tf : forall i, In i features -> 0 <= - tiny (if f i then shown i else 0%number)).
  { intros i I. destruct (f i) eqn:Fi; simpl; [destruct (A i I Fi)|]; lra. }
  assert (Te : forall g, In g edges -> 0 <= - tiny (if both f g then product g else 0%number)).
  { intros g I. destruct (both f g) eqn:Fg; simpl; [destruct (P g I Fg)|]; lra. }
  assert (Sum : tiny sums = - sum (fun i => - tiny (if f i then shown i else 0%number)) features
    - sum (fun g => - tiny (if both f g then product g else 0%number)) edges).
  { rewrite !sum_opp. unfold sums, total_of, total, plus; simpl. lra. }
  pose proof (sum_nonneg _ _ features Tf) as Pf. pose proof (sum_nonneg _ _ edges Te) as Pe.
  assert (AttF : forall i, In i features -> f i = true -> (shown i <= of_real (alone (x 1) i))%number).
  { intros i I Fi. destruct (A i I Fi) as [[At | [Ap _]] _]; [apply At; lra|]. exfalso.
    pose proof (term_at_most_sum _ _ features i Tf I) as Q. cbv beta in Q. rewrite Fi in Q. destruct strict; lra. }
  assert (AttE : forall g, In g edges -> both f g = true -> (product g <= of_real (together (x 1) g))%number).
  { intros g I Fg. destruct (P g I Fg) as [[At | [Ap _]] _]; [apply At; lra|]. exfalso.
    pose proof (term_at_most_sum _ _ edges g Te I) as Q. cbv beta in Q. rewrite Fg in Q. destruct strict; lra. }
  apply lt_not_le in Over. apply Over. eapply le_trans; [|apply (Holds 1); lra]. rewrite scenario_fall.
  assert (Split : of_real (sum (fun i => if f i then alone (x 1) i else 0) features
      + sum (fun e => if both f e then together (x 1) e else 0) edges)
    = (total (fun i => of_real (if f i then alone (x 1) i else 0)) features
       + total (fun e => of_real (if both f e then together (x 1) e else 0)) edges)%number).
  { rewrite !total_of_real. apply number_ext; simpl; ring. }
  rewrite Split. apply plus_le; apply total_le.
  - intros i I. destruct (f i) eqn:Fi; [apply AttF; auto | apply le_refl].
  - intros g I. destruct (both f g) eqn:Fg; [apply AttE; auto | apply le_refl].
Qed.

(** So are smaller numbers than these. Just beyond a radius, where a feature's own part falls further and its pair terms
    are constant, a + n·ε is smaller than the fall at a value a little further on, which stays there while others
    come closer to theirs. *)
Theorem scenario_beyond (s f : set) (lower : feature -> number) :
  (forall i, In i features -> f i = true -> (lower i <= shown i)%number) ->
  (forall i, In i features -> f i = true -> shows (shown i) (fun d => alone (x d) i) /\ tiny (shown i) <= 0) ->
  (forall e, In e edges -> both f e = true -> shows (product e) (fun d => together (x d) e) /\ tiny (product e) <= 0) ->
  (forall i, In i features -> f i = true -> s i = false) ->
  (forall d, 0 < d -> inside (replace f (x d))) ->
  sufficient value features row inside pair_holds s ->
  (total_of f lower features + total (fun e => if both f e then product e else 0%number) edges <= pair_margin)%number.
Proof.
  intros Lower A P Free Ins Suff. eapply le_trans; [|apply (scenario_inequality s f A P Free Ins Suff)].
  apply plus_le; [|apply le_refl]. unfold total_of. apply total_le. intros i I.
  destruct (f i) eqn:Fi; [apply Lower; auto | apply le_refl].
Qed.
End Pairs.

(** * Products of what is open *)

(** A product of two choices, each 0 or 1, is bounded below by a line: for q > 0 any share of q·(a + b − 1), for q
    < 0 any split of q between the two. *)
Definition choice (b : bool) : R := if b then 1 else 0.

Theorem share_of_positive (q : number) s a b : (0 <= q)%number -> 0 <= s <= 1 ->
  (times (s * (choice a + choice b - 1)) q <= times (choice (a && b)) q)%number.
Proof.
  intros Q [S1 S2].
  assert (Scale : forall k, k <= 1 -> (times k q <= q)%number).
  { intros k K. pose proof (times_le (1 - k) 0%number q ltac:(lra) Q) as T.
    unfold times, le, of_real in *; simpl in *. rewrite !Rmult_0_r in T.
    assert (forall r, (1 - k) * r = r - k * r) as E by (intros; ring). rewrite !E in T. intuition lra. }
  assert (Neg : forall k, k <= 0 -> (times k q <= times 0 q)%number).
  { intros k K. pose proof (times_le (- k) 0%number q ltac:(lra) Q) as T.
    unfold times, le, of_real in *; simpl in *. rewrite !Rmult_0_r in T.
    assert (forall r, - k * r = - (k * r)) as E by (intros; ring). rewrite !E in T. rewrite !Rmult_0_l. intuition lra. }
  destruct a, b; simpl choice; simpl andb; cbv iota.
  - eapply le_trans; [apply Scale; lra|]. unfold le, times; simpl. right; lra.
  - apply Neg. lra.
  - apply Neg. lra.
  - apply Neg. lra.
Qed.

Theorem share_of_negative (q : number) s a b : (q <= 0)%number -> 0 <= s <= 1 ->
  (times (s * choice a + (1 - s) * choice b) q <= times (choice (a && b)) q)%number.
Proof.
  intros Q [S1 S2].
  assert (Neg : forall k, 0 <= k -> (times k q <= times 0 q)%number).
  { intros k K. pose proof (times_le k q 0%number K Q) as T. unfold times, le, of_real in *; simpl in *.
    rewrite ?Rmult_0_r in T. rewrite !Rmult_0_l. exact T. }
  destruct a, b; simpl choice; simpl andb; cbv iota.
  - replace (s * 1 + (1 - s) * 1) with 1 by ring. apply le_refl.
  - apply Neg. lra.
  - apply Neg. lra.
  - apply Neg. lra.
Qed.

(** ** Leaves with scenarios

    Each scenario has weights and products. At a node, every product is bounded below by a line in the choices of
    its two features; what is left is one linear inequality, of which a leaf makes what it makes of any. *)

Record scenario := Scenario { weights : feature -> number; products : list (edge * number); limit_of : number }.
Record linear := Linear { always : number; of_first : number; of_second : number }.

Definition line_at (l : linear) (f : set) (e : edge) : number :=
  (always l + (if f (fst e) then of_first l else 0) + (if f (snd e) then of_second l else 0))%number.
(** A line below a product, for all candidates at a node. *)
Definition below (freed open : set) (e : edge) (q : number) (l : linear) : Prop :=
  forall f, at_node freed open f -> (line_at l f e <= (if both f e then q else 0))%number.

Section Scenario_leaf.
Variable features : list feature.
Hypothesis features_differ : NoDup features.

Definition obeys (f : set) (t : scenario) : Prop :=
  (total_of f (weights t) features + total (fun p => if both f (fst p) then snd p else 0%number) (products t)
   <= limit_of t)%number.

Definition at_feature_number (i j : feature) (v : number) : number := if Nat.eqb j i then v else 0%number.

(** A scenario with lines in place of products is a constraint like any other. *)
Definition linearised (t : scenario) (lines : list (edge * linear)) : constraint :=
  Constraint
    (fun i => (weights t i
       + total (fun p => at_feature_number i (fst (fst p)) (of_first (snd p))
                       + at_feature_number i (snd (fst p)) (of_second (snd p)))%number lines)%number)
    (limit_of t - total (fun p => always (snd p)) lines)%number.

Lemma total_at_feature (v : number) (f : set) j l : NoDup l -> In j l ->
  total_of f (fun i => at_feature_number i j v) l = if f j then v else 0%number.
Proof.
  induction l as [|i l IH]; intros D I; [destruct I|]. inversion D; subst.
  change (total_of f (fun i => at_feature_number i j v) (i :: l))
    with ((if f i then at_feature_number i j v else 0) + total_of f (fun i => at_feature_number i j v) l)%number.
  unfold at_feature_number at 1. destruct (Nat.eqb j i) eqn:E.
  - apply Nat.eqb_eq in E. subst. assert (Z : total_of f (fun k => at_feature_number k i v) l = 0%number).
    { unfold total_of. rewrite (total_ext _ (fun _ => 0%number)); [apply total_zero|]. intros k K.
      unfold at_feature_number.
      destruct (Nat.eqb i k) eqn:Q; [apply Nat.eqb_eq in Q; subst; contradiction|]. destruct (f k); reflexivity. }
    rewrite Z, plus_0_r. reflexivity.
  - destruct I as [I | I]; [subst; rewrite Nat.eqb_refl in E; discriminate|]. rewrite (IH H2 I).
    destruct (f i); rewrite plus_0_l; reflexivity.
Qed.

Theorem linearised_fits t lines freed open f :
  map fst lines = map fst (products t) ->
  (forall e q l, In ((e, q), (e, l)) (combine (products t) lines) -> below freed open e q l) ->
  (forall p, In p (products t) -> In (fst (fst p)) features /\ In (snd (fst p)) features) ->
  at_node freed open f -> obeys f t ->
  (total_of f (drop (linearised t lines)) features <= limit (linearised t lines))%number.
Proof.
  intros Same Below Edges N O. unfold obeys in O.
  assert (Lines : (total (fun p => line_at (snd p) f (fst p)) lines
    <= total (fun p => if both f (fst p) then snd p else 0%number) (products t))%number).
  { clear - Same Below N. revert Same Below. generalize (products t). induction lines as [|[e l] lines IH];
      intros [|[e' q] ps] Same Below; simpl in Same; try discriminate; [apply le_refl|]. injection Same as E Same.
      subst e'.
    change (total (fun p => line_at (snd p) f (fst p)) ((e, l) :: lines))
      with (line_at l f e + total (fun p => line_at (snd p) f (fst p)) lines)%number.
    change (total (fun p => if both f (fst p) then snd p else 0%number) ((e, q) :: ps))
      with ((if both f e then q else 0) + total (fun p => if both f (fst p) then snd p else 0) ps)%number.
    apply plus_le; [apply (Below e q l); [left; reflexivity | exact N] | apply IH; [exact Same|]].
    intros e0 q0 l0 I. apply Below. right; exact I. }
  assert (In_lines : forall p, In p lines -> In (fst (fst p)) features /\ In (snd (fst p)) features).
  { intros p P. assert (In (fst p) (map fst (products t))) as Q by (rewrite <- Same; apply in_map; exact P).
    apply in_map_iff in Q. destruct Q as [p' [E P']]. rewrite <- E. apply Edges; exact P'. }
  assert (Sum : total_of f (drop (linearised t lines)) features
    = (total_of f (weights t) features + total (fun p => (if f (fst (fst p)) then of_first (snd p) else 0)
        + (if f (snd (fst p)) then of_second (snd p) else 0)) lines)%number).
  { simpl. unfold total_of at 1.
    rewrite (total_ext _ (fun i => ((if f i then weights t i else 0)
      + total (fun p => if f i then at_feature_number i (fst (fst p)) (of_first (snd p))
                                   + at_feature_number i (snd (fst p)) (of_second (snd p)) else 0) lines)%number)).
    - rewrite total_plus. f_equal. rewrite total_swap. apply total_ext. intros p P. destruct (In_lines p P) as [I J].
      rewrite <- (total_at_feature (of_first (snd p)) f (fst (fst p)) features features_differ I).
      rewrite <- (total_at_feature (of_second (snd p)) f (snd (fst p)) features features_differ J).
      unfold total_of. rewrite <- total_plus. apply total_ext. intros i _.
      destruct (f i); [reflexivity | symmetry; apply plus_0_l].
    - intros i _. destruct (f i); [reflexivity|]. rewrite total_zero, plus_0_l. reflexivity. }
  rewrite Sum. simpl limit.
  assert (Split : total (fun p => line_at (snd p) f (fst p)) lines
    = (total (fun p => always (snd p)) lines + total (fun p => (if f (fst (fst p)) then of_first (snd p) else 0)
        + (if f (snd (fst p)) then of_second (snd p) else 0)) lines)%number).
  { rewrite <- total_plus. apply total_ext. intros p _. unfold line_at.
    destruct p as [e l]; cbn [fst snd]. destruct (f (fst e)), (f (snd e)); apply number_ext; unfold plus, of_real;
      cbn [real tiny]; ring. }
  rewrite Split in Lines. clear - Lines O. order.
Qed.

(** ** Lines below products: of items that are decided, and by shares *)

Definition nothing : linear := Linear 0 0 0.

Lemma below_kept freed open e q :
  (freed (fst e) = false /\ open (fst e) = false) \/ (freed (snd e) = false /\ open (snd e) = false) ->
  below freed open e q nothing.
Proof.
  intros K f [_ [_ Hi]]. unfold line_at, nothing, both; simpl.
  assert (No : f (fst e) && f (snd e) = false).
  { destruct K as [[F O] | [F O]]; [specialize (Hi (fst e)) | specialize (Hi (snd e))]; unfold union in Hi;
      rewrite F, O in Hi.
    - destruct (f (fst e)); [discriminate (Hi eq_refl) | reflexivity].
    - destruct (f (snd e)); [discriminate (Hi eq_refl) | apply andb_false_r]. }
  rewrite No. destruct (f (fst e)), (f (snd e)); order.
Qed.

Lemma below_freed freed open e q : freed (fst e) = true -> freed (snd e) = true -> below freed open e q (Linear q 0 0).
Proof.
  intros A B f [_ [Lo _]]. unfold line_at, both; simpl. rewrite (Lo _ A), (Lo _ B). simpl. order.
Qed.

Lemma below_first_freed freed open e q : freed (fst e) = true -> below freed open e q (Linear 0 0 q).
Proof. intros A f [_ [Lo _]]. unfold line_at, both; simpl. rewrite (Lo _ A). simpl. destruct (f (snd e)); order. Qed.

Lemma below_second_freed freed open e q : freed (snd e) = true -> below freed open e q (Linear 0 q 0).
Proof.
  intros A f [_ [Lo _]]. unfold line_at, both; simpl. rewrite (Lo _ A), andb_true_r. destruct (f (fst e)); order.
Qed.

Lemma below_positive freed open e q s : (0 <= q)%number -> 0 <= s <= 1 ->
  below freed open e q (Linear (times (- s) q) (times s q) (times s q)).
Proof.
  intros Q S f _. pose proof (share_of_positive q s (f (fst e)) (f (snd e)) Q S) as L. unfold line_at, both; simpl.
  unfold choice in L. clear - L. destruct (f (fst e)), (f (snd e)); unfold le, times, plus, of_real in *; simpl in *;
    lra.
Qed.

Lemma below_negative freed open e q s : (q <= 0)%number -> 0 <= s <= 1 ->
  below freed open e q (Linear 0 (times s q) (times (1 - s) q)).
Proof.
  intros Q S f _. pose proof (share_of_negative q s (f (fst e)) (f (snd e)) Q S) as L. unfold line_at, both; simpl.
  unfold choice in L. clear - L. destruct (f (fst e)), (f (snd e)); unfold le, times, plus, of_real in *; simpl in *;
    lra.
Qed.
(** ** Where few features change at once

    Of a negative product each of its two features bears half. A number that is no more than the halves a feature can
    have to bear, whichever few change with it, may be added to what it does alone; then features act alone. *)

Definition half (p : edge * number) : number := if le_dec (snd p) 0%number then times (1 / 2) (snd p) else 0%number.
Definition borne (i : feature) (p : edge * number) : number :=
  (at_feature_number i (fst (fst p)) (half p) + at_feature_number i (snd (fst p)) (half p))%number.

Lemma combine_map {A B : Type} (g : A -> B) l x y : In (x, y) (combine l (map g l)) -> y = g x.
Proof. induction l as [|z l IH]; simpl; [tauto|]. intros [E | I]; [congruence | auto]. Qed.

Lemma below_half freed open p : below freed open (fst p) (snd p) (Linear 0 (half p) (half p)).
Proof.
  intros f _. unfold line_at, both, half. cbn [always of_first of_second].
  destruct (le_dec (snd p) 0%number) as [L | L]; destruct (f (fst (fst p))), (f (snd (fst p))); simpl andb; cbv iota;
    clear - L; order.
Qed.

Theorem few_of_scenario (t : scenario) (low : feature -> number) (among : set) (m : nat) :
  (forall p, In p (products t) -> In (fst (fst p)) features /\ In (snd (fst p)) features) ->
  (forall f, subset f among -> (count f features <= m)%nat -> obeys f t) ->
  (forall f i, subset f among -> (count f features <= m)%nat -> In i features -> f i = true ->
    (low i <= total (borne i) (filter (fun p => both f (fst p)) (products t)))%number) ->
  forall f, subset f among -> (count f features <= m)%nat ->
  (total_of f (fun i => positive_part (weights t i + low i)) features <= limit_of t)%number.
Proof.
  intros Edges Obeys Low f Sub Ct.
  set (g := fun i => f i && (if le_dec 0%number (weights t i + low i)%number then true else false)).
  assert (Gf : subset g f) by (intros i Gi; apply andb_true_iff in Gi; apply Gi).
  assert (Sg : subset g among) by (intros i Gi; apply Sub, Gf, Gi).
  assert (Cg : (count g features <= m)%nat).
  { assert (L : forall l, (count g l <= count f l)%nat); [|specialize (L features); lia].
    clear - Gf. unfold count. induction l as [|i l IH]; simpl; [lia|].
    destruct (g i) eqn:Gi; [rewrite (Gf i Gi); simpl; lia | destruct (f i); simpl; lia]. }
  set (inner := filter (fun p => both g (fst p)) (products t)).
  set (lines := map (fun p => (fst p, Linear 0 (half p) (half p))) inner).
  pose proof (linearised_fits (Scenario (weights t) inner (limit_of t)) lines g (fun _ => false) g) as Fit.
  assert (Fits : (total_of g (drop (linearised (Scenario (weights t) inner (limit_of t)) lines)) features
    <= limit (linearised (Scenario (weights t) inner (limit_of t)) lines))%number).
  { apply Fit.
    - unfold lines. rewrite map_map. reflexivity.
    - intros e q l I. unfold lines in I. apply combine_map in I. cbn [fst] in I. injection I as E. subst l.
      exact (below_half g (fun _ => false) (e, q)).
    - intros p P. apply filter_In in P. apply Edges, P.
    - split; [intros k _; reflexivity|]. split; intros k K; [exact K | apply union_true; left; exact K].
    - specialize (Obeys g Sg Cg). unfold obeys in *. cbn [weights products limit_of]. unfold inner.
      rewrite total_filter. eapply le_trans; [|exact Obeys]. apply plus_le; [apply le_refl|]. apply total_le.
      intros p _. destruct (both g (fst p)); apply le_refl. }
  cbn [linearised limit drop weights limit_of] in Fits.
  assert (Zero : total (fun p : edge * linear => always (snd p)) lines = 0%number).
  { unfold lines. rewrite total_map. cbn [snd always]. apply total_zero. }
  rewrite Zero in Fits. eapply le_trans; [|eapply le_trans; [exact Fits | clear; order]].
  unfold total_of. apply total_le. intros i I. unfold g at 1, positive_part. specialize (Low g i Sg Cg I).
  destruct (f i) eqn:Fi; simpl; [|apply le_refl].
  destruct (le_dec 0%number (weights t i + low i)%number) as [L | L]; [|apply le_refl].
  apply plus_le; [apply le_refl|]. eapply le_trans; [apply Low|].
  - unfold g. rewrite Fi. destruct (le_dec 0%number (weights t i + low i)%number); [reflexivity | contradiction].
  - unfold lines. rewrite total_map. apply le_refl.
Qed.
End Scenario_leaf.

(** * A knapsack filled exactly

    Weights may be negative, so that more may fit where fewer do not: of all k, the largest for which the k
    lightest fit bounds how many of a set fit. *)

Lemma lightest_of_number (n : nat -> number) s order :
  rising n order -> (total n (firstn (count s order) order) <= total_of s n order)%number.
Proof.
  induction order as [|x r IH]; intros Srt; [apply le_refl|]. inversion Srt as [|? ? Sr Lx]; subst.
  rewrite Forall_forall in Lx.
  specialize (IH Sr). unfold count, total_of in *. simpl filter. destruct (s x) eqn:E.
  - simpl firstn. unfold total in *. simpl sum. rewrite E. clear - IH. order.
  - assert (M : (total n (firstn (length (filter s r)) (x :: r)) <= total n (firstn (length (filter s r)) r))%number).
    { destruct (length (filter s r)) as [|q] eqn:Q; [apply le_refl|].
      assert (S q <= length r)%nat by (rewrite <- Q; apply count_length).
      pose proof (one_more_last n x q r Lx H). change (firstn (S q) (x :: r)) with (x :: firstn q r).
      unfold total in *. simpl sum in *. exact H0. }
    eapply le_trans; [exact M|]. unfold total in *. simpl sum. rewrite E. clear - IH. order.
Qed.

Theorem knapsack_count (n : nat -> number) (room : number) s order most :
  rising n order -> (total_of s n order <= room)%number ->
  (forall k, (most < k <= length order)%nat -> (room < total n (firstn k order))%number) ->
  (count s order <= most)%nat.
Proof.
  intros Srt Fits Over. destruct (le_lt_dec (count s order) most) as [L | L]; [exact L|]. exfalso.
  assert (Q := Over (count s order) (conj L (count_length s order))). apply lt_not_le in Q. apply Q.
  eapply le_trans; [apply lightest_of_number; exact Srt | exact Fits].
Qed.
