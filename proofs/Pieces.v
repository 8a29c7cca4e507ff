(** Shapes as pieces: a line on every knot and on every open interval between knots. Sums of such, changes of
    scale, and how far a shape falls over a region. *)

From Coq Require Import Reals Lra Lia List ZArith.
From Suffice Require Import Numbers Claims.
Import ListNotations.
Open Scope R_scope.

(** * Cells

    What is before the first knot; then for each knot where it is, what is on it, and what is after it. Steps with
    jumps, broken lines and tables are of this form. *)

Definition cells (A : Type) : Type := A * list (R * A * A).

Fixpoint cell_from {A : Type} (before : A) (rest : list (R * A * A)) (x : R) : A :=
  match rest with
  | [] => before
  | (t, on, after) :: rest' =>
      if Rlt_dec x t then before else if Req_EM_T x t then on else cell_from after rest' x
  end.
Definition cell_at {A : Type} (p : cells A) (x : R) : A := cell_from (fst p) (snd p) x.

(** ** Joining two shapes on all knots of either *)

Section Merge.
Variables A B C : Type.
Variable join : A -> B -> C.

Fixpoint merge_rest (a : A) (l : list (R * A * A)) : B -> list (R * B * B) -> list (R * C * C) :=
  fix inner (b : B) (k : list (R * B * B)) :=
    match l, k with
    | [], [] => []
    | (t, on, after) :: l', [] => (t, join on b, join after b) :: merge_rest after l' b []
    | [], (u, on, after) :: k' => (u, join a on, join a after) :: inner after k'
    | (t, on, after) :: l', (u, on', after') :: k' =>
        if Rlt_dec t u then (t, join on b, join after b) :: merge_rest after l' b k
        else if Rlt_dec u t then (u, join a on', join a after') :: inner after' k'
        else (t, join on on', join after after') :: merge_rest after l' after' k'
    end.
Definition merged (p : cells A) (q : cells B) : cells C :=
  (join (fst p) (fst q), merge_rest (fst p) (snd p) (fst q) (snd q)).

Theorem merged_cell p q x : cell_at (merged p q) x = join (cell_at p x) (cell_at q x).
Proof.
  destruct p as [a l], q as [b k]. unfold cell_at, merged; cbn [fst snd]. revert a b k.
  induction l as [|[[t on] after] l IHl]; intros a b k; revert a b; induction k as [|[[u on'] after'] k IHk];
    intros a b.
  - reflexivity.
  - simpl. destruct (Rlt_dec x u); [reflexivity|]. destruct (Req_EM_T x u); [reflexivity|]. apply (IHk a after').
  - simpl. destruct (Rlt_dec x t); [reflexivity|]. destruct (Req_EM_T x t); [reflexivity|]. apply (IHl after b []).
  - cbn [merge_rest]. destruct (Rlt_dec t u) as [L | L]; [|destruct (Rlt_dec u t) as [L' | L']].
    + cbn [cell_from]. destruct (Rlt_dec x t), (Rlt_dec x u); try (exfalso; lra); try reflexivity.
      * destruct (Req_EM_T x t); [reflexivity|]. rewrite (IHl after b ((u, on', after') :: k)). cbn [cell_from].
        destruct (Rlt_dec x u); [reflexivity | contradiction].
      * destruct (Req_EM_T x t); [exfalso; lra|]. rewrite (IHl after b ((u, on', after') :: k)). cbn [cell_from].
        destruct (Rlt_dec x u); [contradiction | reflexivity].
    + change (fix inner (b0 : B) (k0 : list (R * B * B)) {struct k0} := _) with (merge_rest a ((t, on, after) :: l)).
      cbn [cell_from]. destruct (Rlt_dec x u), (Rlt_dec x t); try (exfalso; lra); try reflexivity.
      * destruct (Req_EM_T x u); [reflexivity|]. rewrite (IHk a after'). cbn [cell_from].
        destruct (Rlt_dec x t); [reflexivity | contradiction].
      * destruct (Req_EM_T x u); [exfalso; lra|]. rewrite (IHk a after'). cbn [cell_from].
        destruct (Rlt_dec x t); [contradiction | reflexivity].
    + assert (t = u) by lra. subst u. cbn [cell_from]. destruct (Rlt_dec x t); [reflexivity|].
      destruct (Req_EM_T x t); [reflexivity|]. apply (IHl after after' k).
Qed.
End Merge.

(** ** Other scales *)

Definition moved {A : Type} (center scale : R) (p : cells A) : cells A :=
  (fst p, map (fun e => (fst (fst e) * scale + center, snd (fst e), snd e)) (snd p)).

Theorem moved_cell {A : Type} center scale (p : cells A) x :
  0 < scale -> cell_at (moved center scale p) x = cell_at p ((x - center) / scale).
Proof.
  intros S. destruct p as [a l]. unfold cell_at, moved; cbn [fst snd]. revert a.
  assert (Lt : forall t, x < t * scale + center <-> (x - center) / scale < t).
  { intros t. split; intros L.
    - apply (Rmult_lt_reg_r scale); [exact S|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
    - apply (Rmult_lt_compat_r scale) in L; [|exact S]. unfold Rdiv in L. rewrite Rmult_assoc, Rinv_l in L by lra.
      lra. }
  assert (Eq : forall t, x = t * scale + center <-> (x - center) / scale = t).
  { intros t. split; intros E; [subst x | subst t]; field; lra. }
  induction l as [|[[t on] after] l IH]; intros a; [reflexivity|]. simpl. specialize (Lt t). specialize (Eq t).
  destruct (Rlt_dec x (t * scale + center)), (Rlt_dec ((x - center) / scale) t); try tauto.
  destruct (Req_EM_T x (t * scale + center)), (Req_EM_T ((x - center) / scale) t); try tauto. apply IH.
Qed.

(** From right to left, where a scale is negative: knots must increase. *)
Fixpoint increasing {A : Type} (l : list (R * A * A)) : Prop :=
  match l with
  | [] => True
  | (t, _, _) :: rest => Forall (fun e => t < fst (fst e)) rest /\ increasing rest
  end.
Fixpoint reflect_from {A : Type} (before : A) (rest tail : list (R * A * A)) : cells A :=
  match rest with
  | [] => (before, tail)
  | (t, on, after) :: rest' => reflect_from after rest' ((- t, on, before) :: tail)
  end.
Definition reflected {A : Type} (p : cells A) : cells A := reflect_from (fst p) (snd p) [].

Lemma reflect_from_cell {A : Type} (rest : list (R * A * A)) : forall before tail x,
  increasing rest -> (forall e, In e rest -> forall f, In f tail -> fst (fst f) > - fst (fst e)) ->
  cell_at (reflect_from before rest tail) (- x)
  = match tail with
    | [] => cell_from before rest x
    | (u, _, _) :: _ => if Rlt_dec (- x) u then cell_from before rest x else cell_from before tail (- x)
    end.
Proof.
  induction rest as [|[[t on] after] rest IH]; intros before tail x I Ord; simpl.
  - unfold cell_at; simpl. destruct tail as [|[[u on'] b'] tail]; simpl; [reflexivity|].
    destruct (Rlt_dec (- x) u); reflexivity.
  - destruct I as [Later I]. rewrite IH; [|exact I|].
    + simpl. destruct (Rlt_dec (- x) (- t)) as [L | L].
      * destruct (Rlt_dec x t); [exfalso; lra|]. destruct (Req_EM_T x t); [exfalso; lra|].
        destruct tail as [|[[u on'] b'] tail]; [reflexivity|].
        pose proof (Ord (t, on, after) (or_introl eq_refl) (u, on', b') (or_introl eq_refl)) as Q. simpl in Q.
        destruct (Rlt_dec (- x) u); [reflexivity | exfalso; lra].
      * destruct (Req_EM_T (- x) (- t)) as [E | E].
        -- assert (x = t) by lra. subst x. destruct (Rlt_dec t t); [exfalso; lra|].
          destruct (Req_EM_T t t); [|contradiction].
           destruct tail as [|[[u on'] b'] tail]; [reflexivity|].
           pose proof (Ord (t, on, after) (or_introl eq_refl) (u, on', b') (or_introl eq_refl)) as Q. simpl in Q.
           destruct (Rlt_dec (- t) u); [reflexivity | exfalso; lra].
        -- destruct (Rlt_dec x t) as [L' | L']; [|exfalso; lra].
           destruct tail as [|[[u on'] b'] tail]; [reflexivity|]. simpl. destruct (Rlt_dec (- x) u); reflexivity.
    + intros e E f [F | F].
      * subst f. simpl. rewrite Forall_forall in Later. specialize (Later e E). lra.
      * apply Ord; [right; exact E | exact F].
Qed.

Theorem reflected_cell {A : Type} (p : cells A) x : increasing (snd p) -> cell_at (reflected p) (- x) = cell_at p x.
Proof. intros I. unfold reflected. rewrite reflect_from_cell; [reflexivity | exact I | intros e _ f []]. Qed.

(** * Lines *)

Record line := Line { slope : R; offset : R }.
Definition value_of (l : line) (x : R) : R := slope l * x + offset l.
Definition plus_line (l k : line) : line := Line (slope l + slope k) (offset l + offset k).
(** factor · line((x − center) / scale) *)
Definition changed_line (factor center scale : R) (l : line) : line :=
  Line (factor / scale * slope l) (factor * offset l - factor / scale * slope l * center).

Lemma plus_line_value l k x : value_of (plus_line l k) x = value_of l x + value_of k x.
Proof. unfold value_of, plus_line; simpl. ring. Qed.

Lemma changed_line_value factor center scale l x : scale <> 0 ->
  value_of (changed_line factor center scale l) x = factor * value_of l ((x - center) / scale).
Proof. intros S. unfold value_of, changed_line; simpl. field. exact S. Qed.

(** A shape's value, where it has one. *)
Definition eval (p : cells (option line)) (x : R) : option R := option_map (fun l => value_of l x) (cell_at p x).

Definition plus_cell (a b : option line) : option line :=
  match a, b with Some l, Some k => Some (plus_line l k) | _, _ => None end.
Definition entry_or_rest (a b : option line) : option line := match a with Some l => Some l | None => b end.

(** The sum of shapes, and a table whose entries go before another shape. *)
Theorem sum_of_shapes p q x : eval (merged _ _ _ plus_cell p q) x
  = match eval p x, eval q x with Some a, Some b => Some (a + b) | _, _ => None end.
Proof.
  unfold eval. rewrite merged_cell. destruct (cell_at p x), (cell_at q x); simpl; try reflexivity.
  rewrite plus_line_value. reflexivity.
Qed.

Theorem table_before_rest p q x : eval (merged _ _ _ entry_or_rest p q) x
  = match eval p x with Some a => Some a | None => eval q x end.
Proof. unfold eval. rewrite merged_cell. destruct (cell_at p x); reflexivity. Qed.

Definition map_cells {A B : Type} (f : A -> B) (p : cells A) : cells B :=
  (f (fst p), map (fun e => (fst (fst e), f (snd (fst e)), f (snd e))) (snd p)).

Lemma map_cells_cell {A B : Type} (f : A -> B) p x : cell_at (map_cells f p) x = f (cell_at p x).
Proof.
  destruct p as [a l]. unfold cell_at, map_cells; simpl. revert a.
  induction l as [|[[t on] after] l IH]; intros a; simpl; [reflexivity|].
  destruct (Rlt_dec x t); [reflexivity|]. destruct (Req_EM_T x t); [reflexivity | apply IH].
Qed.

(** factor · shape((x − center) / scale), for scales of either sign. *)
Definition changed_shape (factor center scale : R) (p : cells (option line)) : cells (option line) :=
  map_cells (option_map (changed_line factor center scale))
    (if Rlt_dec 0 scale then moved center scale p else moved center (- scale) (reflected p)).

Theorem changed_shape_value factor center scale p x : scale <> 0 -> increasing (snd p) ->
  eval (changed_shape factor center scale p) x = option_map (Rmult factor) (eval p ((x - center) / scale)).
Proof.
  intros S I. unfold eval, changed_shape. rewrite map_cells_cell. destruct (Rlt_dec 0 scale) as [P | P].
  - rewrite moved_cell by exact P. destruct (cell_at p _); simpl; [|reflexivity].
    rewrite changed_line_value by exact S. reflexivity.
  - rewrite moved_cell by lra. assert (E : (x - center) / - scale = - ((x - center) / scale)) by (field; exact S).
    rewrite E, reflected_cell by exact I. destruct (cell_at p _); simpl; [|reflexivity].
    rewrite changed_line_value by exact S. reflexivity.
Qed.

(** * Beside a number *)

Fixpoint right_of_from {A : Type} (before : A) (rest : list (R * A * A)) (x : R) : A :=
  match rest with
  | [] => before
  | (t, _, after) :: rest' => if Rlt_dec x t then before else right_of_from after rest' x
  end.
Fixpoint left_of_from {A : Type} (before : A) (rest : list (R * A * A)) (x : R) : A :=
  match rest with
  | [] => before
  | (t, _, after) :: rest' => if Rle_dec x t then before else left_of_from after rest' x
  end.
Definition right_of {A : Type} (p : cells A) : R -> A := right_of_from (fst p) (snd p).
Definition left_of {A : Type} (p : cells A) : R -> A := left_of_from (fst p) (snd p).

Lemma below_for_small (x t : R) : x < t -> for_small (fun d => x + d < t).
Proof. intros L. exists (t - x). split; [lra|]. intros d [_ D]. lra. Qed.

Lemma above_for_small (x t : R) : t < x -> for_small (fun d => t < x - d).
Proof. intros L. exists (x - t). split; [lra|]. intros d [_ D]. lra. Qed.

Lemma for_small_impl (P Q : R -> Prop) : for_small P -> (forall t, 0 < t -> P t -> Q t) -> for_small Q.
Proof. intros [d [D H]] I. exists d. split; [exact D|]. intros t T. apply I; [lra | apply H; exact T]. Qed.

Lemma for_small_true (P : R -> Prop) : (forall t, 0 < t -> P t) -> for_small P.
Proof. intros H. exists 1. split; [lra|]. intros t T. apply H; lra. Qed.

Theorem cell_right_of {A : Type} (p : cells A) x : for_small (fun d => cell_at p (x + d) = right_of p x).
Proof.
  destruct p as [a l]. unfold cell_at, right_of; simpl. revert a.
  induction l as [|[[t on] after] l IH]; intros a; simpl; [apply for_small_true; reflexivity|].
  destruct (Rlt_dec x t) as [L | L].
  - apply (for_small_impl _ _ (below_for_small x t L)). intros d D B. destruct (Rlt_dec (x + d) t); [reflexivity | lra].
  - apply (for_small_impl _ _ (IH after)). intros d D E. destruct (Rlt_dec (x + d) t); [lra|].
    destruct (Req_EM_T (x + d) t); [lra | exact E].
Qed.

Theorem cell_left_of {A : Type} (p : cells A) x : for_small (fun d => cell_at p (x - d) = left_of p x).
Proof.
  destruct p as [a l]. unfold cell_at, left_of; simpl. revert a.
  induction l as [|[[t on] after] l IH]; intros a; simpl; [apply for_small_true; reflexivity|].
  destruct (Rle_dec x t) as [L | L].
  - apply for_small_true. intros d D. destruct (Rlt_dec (x - d) t); [reflexivity | lra].
  - apply (for_small_impl _ _ (for_small_and _ _ (above_for_small x t ltac:(lra)) (IH after))). intros d D [B E].
    destruct (Rlt_dec (x - d) t); [lra|]. destruct (Req_EM_T (x - d) t); [lra | exact E].
Qed.

(** * Falls at places

    A place is a number (side 0), or infinitely close to one, on its right (side 1) or left (side −1). Where values
    beside it fall by less, the more so the further away, its fall loses an ε; where they fall by more, it gains
    some. *)

Section Falls.
Variable many : R. (* how much one gains that goes beyond: the number of features *)
Hypothesis many_positive : 0 < many.
Variable here : R. (* the level at the row *)

Definition mark (growth : R) : R := if Rlt_dec 0 growth then many else if Rlt_dec growth 0 then -1 else 0.
Definition place_fall (l : line) (x side : R) : number := Number (here - value_of l x) (mark (- side * slope l)).

Lemma place_fall_at l x : place_fall l x 0 = of_real (here - value_of l x).
Proof.
  unfold place_fall, mark. replace (- 0 * slope l) with 0 by ring.
  destruct (Rlt_dec 0 0); [lra|]. reflexivity.
Qed.

(** If values beside a number belong to the region, its fall is reached. *)
Theorem beside_is_reached value (row : input value) (region : feature -> value -> Prop) c i (l : line) x side
    (v : R -> value) :
  side = 1 \/ side = -1 ->
  part value c i (row i) = here ->
  for_small (fun d => region i (v (x + side * d)) /\ part value c i (v (x + side * d)) = value_of l (x + side * d)) ->
  reached value row region c i (place_fall l x side).
Proof.
  intros Sd H S. unfold reached, attained, approached, fall. rewrite H. unfold place_fall, mark; simpl.
  assert (Val : forall d, here - value_of l (x + side * d) = here - value_of l x + - side * slope l * d)
    by (intros; unfold value_of; ring).
  destruct (Rlt_dec 0 (- side * slope l)) as [G | G]; [|destruct (Rlt_dec (- side * slope l) 0) as [N | N]].
  - left. destruct (for_small_one _ S) as [d [D [Rg E]]]. exists (v (x + side * d)). split; [exact Rg|].
    rewrite E, Val. left; simpl. pose proof (Rmult_lt_0_compat _ _ G D). lra.
  - right. split; [lra|]. intros e E.
    assert (Near : for_small (fun d => here - value_of l x - e < here - value_of l (x + side * d))).
    { assert (Q : (of_real (here - value_of l x - e) < Number (here - value_of l x) (- side * slope l))%number)
        by (left; simpl; lra).
      apply lt_means_for_small in Q. apply (for_small_impl _ _ Q). intros d D B.
      unfold at_real, of_real in B; simpl in B.
      rewrite Val. lra. }
    destruct (for_small_one _ (for_small_and _ _ S Near)) as [d [D [[Rg P] B]]]. exists (v (x + side * d)).
    split; [exact Rg|]. rewrite P. exact B.
  - left. destruct (for_small_one _ S) as [d [D [Rg E]]]. exists (v (x + side * d)). split; [exact Rg|].
    rewrite E, Val. assert (- side * slope l = 0) as Z by lra. rewrite Z. right; simpl; lra.
Qed.

Lemma at_is_reached value (row : input value) (region : feature -> value -> Prop) c i (l : line) x (v : value) :
  part value c i (row i) = here -> region i v -> part value c i v = value_of l x ->
  reached value row region c i (place_fall l x 0).
Proof.
  intros H Rg P. left. exists v. split; [exact Rg|]. rewrite place_fall_at. unfold fall. rewrite H, P. apply le_refl.
Qed.

(** * The largest fall over a region *)

Definition between (left right : option R) (x : R) : Prop :=
  match left with Some a => a < x | None => True end /\ match right with Some b => x < b | None => True end.

(** On an open interval: the limit at the end where the line is lower, which must be one; any, if it is level. *)
Definition ends_bounded (drop : number) (l : line) (left right : option R) : Prop :=
  (0 < slope l -> match left with Some a => (place_fall l a 1 <= drop)%number | None => False end)
  /\ (slope l < 0 -> match right with Some b => (place_fall l b (-1) <= drop)%number | None => False end)
  /\ (slope l = 0 -> match left, right with
                     | Some a, _ => (place_fall l a 1 <= drop)%number
                     | None, Some b => (place_fall l b (-1) <= drop)%number
                     | None, None => (place_fall l 0 0 <= drop)%number
                     end).

Theorem interval_bounded drop l left right x :
  ends_bounded drop l left right -> between left right x -> (of_real (here - value_of l x) <= drop)%number.
Proof.
  intros [L [Rt N]] [Bl Br].
  assert (Line : forall a, here - value_of l x = here - value_of l a + - slope l * (x - a))
    by (intros; unfold value_of; ring).
  destruct (Rtotal_order (slope l) 0) as [Neg | [Zero | Pos]].
  - (* falls rise to the right *)
    specialize (Rt Neg). destruct right as [b|]; [|contradiction].
    eapply le_trans; [|exact Rt]. left; simpl. rewrite (Line b).
    assert (0 < - slope l * (b - x)) by (apply Rmult_lt_0_compat; lra). lra.
  - assert (Flat : forall a, place_fall l a 1 = of_real (here - value_of l a)
      /\ place_fall l a (-1) = of_real (here - value_of l a)).
    { intros a. unfold place_fall, mark. rewrite Zero. split.
      - replace (- (1) * 0) with 0 by ring. destruct (Rlt_dec 0 0); [lra | reflexivity].
      - replace (- -1 * 0) with 0 by ring. destruct (Rlt_dec 0 0); [lra | reflexivity]. }
    assert (Same : forall a, here - value_of l x = here - value_of l a) by (intros a; rewrite (Line a), Zero; ring).
    specialize (N Zero). destruct left as [a|]; [|destruct right as [b|]].
    + rewrite (Same a), <- (proj1 (Flat a)). exact N.
    + rewrite (Same b), <- (proj2 (Flat b)). exact N.
    + rewrite (Same 0), <- place_fall_at. exact N.
  - (* falls rise to the left *)
    specialize (L Pos). destruct left as [a|]; [|contradiction]. eapply le_trans; [|exact L].
    unfold place_fall, mark, le; simpl. rewrite (Line a).
    assert (0 < slope l * (x - a)) by (apply Rmult_lt_0_compat; lra). left. lra.
Qed.

(** Of integers: the first one strictly between the ends, or the last. *)
Definition integer_ends_bounded (drop : number) (l : line) (left right : option R) : Prop :=
  let first a := (place_fall l (IZR (Int_part a + 1)) 0 <= drop)%number in
  let last b := (place_fall l (IZR (- Int_part (- b) - 1)) 0 <= drop)%number in
  (0 < slope l -> match left with Some a => first a | None => False end)
  /\ (slope l < 0 -> match right with Some b => last b | None => False end)
  /\ (slope l = 0 -> match left, right with
                     | Some a, _ => first a
                     | None, Some b => last b
                     | None, None => (place_fall l 0 0 <= drop)%number
                     end).

Lemma integer_after (k : Z) (a : R) : a < IZR k -> IZR (Int_part a + 1) <= IZR k.
Proof.
  intros L. destruct (base_Int_part a) as [B _]. apply IZR_le.
  assert (IZR (Int_part a) < IZR k) as Q by lra. apply lt_IZR in Q. lia.
Qed.

Lemma integer_before (k : Z) (b : R) : IZR k < b -> IZR k <= IZR (- Int_part (- b) - 1).
Proof.
  intros L. pose proof (integer_after (- k) (- b)) as Q. rewrite opp_IZR in Q. specialize (Q ltac:(lra)).
  rewrite minus_IZR, opp_IZR. rewrite plus_IZR in Q. lra.
Qed.

Theorem integers_bounded drop l left right (k : Z) :
  integer_ends_bounded drop l left right -> between left right (IZR k) ->
  (of_real (here - value_of l (IZR k)) <= drop)%number.
Proof.
  intros [L [Rt N]] [Bl Br]. cbv zeta in *.
  assert (Line : forall a, here - value_of l (IZR k) = here - value_of l a + - slope l * (IZR k - a))
    by (intros; unfold value_of; ring).
  assert (Same : slope l = 0 -> forall a, of_real (here - value_of l (IZR k)) = place_fall l a 0)
    by (intros Z a; rewrite place_fall_at, (Line a), Z; f_equal; ring).
  destruct (Rtotal_order (slope l) 0) as [Neg | [Zero | Pos]].
  - specialize (Rt Neg). destruct right as [b|]; [|contradiction].
    rewrite place_fall_at in Rt. eapply le_trans; [|exact Rt]. apply integer_before in Br.
    rewrite (Line (IZR (- Int_part (- b) - 1))).
    pose proof (Rmult_le_pos (- slope l) (IZR (- Int_part (- b) - 1) - IZR k)). unfold le, of_real; simpl. lra.
  - specialize (N Zero). destruct left as [a|]; [|destruct right as [b|]].
    + rewrite (Same Zero (IZR (Int_part a + 1))). exact N.
    + rewrite (Same Zero (IZR (- Int_part (- b) - 1))). exact N.
    + rewrite (Same Zero 0). exact N.
  - specialize (L Pos). destruct left as [a|]; [|contradiction].
    rewrite place_fall_at in L. eapply le_trans; [|exact L]. apply integer_after in Bl.
    rewrite (Line (IZR (Int_part a + 1))).
    pose proof (Rmult_le_pos (slope l) (IZR k - IZR (Int_part a + 1))). unfold le, of_real; simpl. lra.
Qed.

(** A span of a region, walked from knot to knot. [inside] says which numbers of it belong to the region. *)
Variable inside : R -> Prop.
Variable drop : number.

Definition covers (cell : option line) (left right : option R) : Prop :=
  forall x, between left right x -> inside x ->
  exists l, cell = Some l /\ (of_real (here - value_of l x) <= drop)%number.
Definition covers_knot (cell : option line) (t : R) : Prop :=
  inside t -> exists l, cell = Some l /\ (of_real (here - value_of l t) <= drop)%number.

Fixpoint walks (before : option line) (rest : list (R * option line * option line)) (left right : option R) : Prop :=
  match rest with
  | [] => covers before left right
  | (t, on, after) :: rest' =>
      if (match left with Some a => if Rle_dec t a then true else false | None => false end)
      then walks after rest' left right (* the knot is not after the start *)
      else if (match right with Some b => if Rle_dec b t then true else false | None => false end)
      then covers before left right (* nor before the end *)
      else covers before left (Some t) /\ covers_knot on t /\ walks after rest' (Some t) right
  end.

(** Every number strictly between the ends of a span has a value, which falls no further than the bound. *)
Theorem span_bounded (p : cells (option line)) left right : walks (fst p) (snd p) left right ->
  forall x, between left right x -> inside x ->
  exists l, cell_at p x = Some l /\ (of_real (here - value_of l x) <= drop)%number.
Proof.
  destruct p as [before rest]. unfold cell_at; simpl. revert before left.
  induction rest as [|[[t on] after] rest IH]; intros before left W x B I; simpl in *; [apply W; auto|].
  destruct left as [a|]; [destruct (Rle_dec t a) as [La | La]|].
  - destruct B as [B1 B2]. simpl in B1. destruct (Rlt_dec x t); [lra|]. destruct (Req_EM_T x t); [lra|].
    apply (IH after (Some a) W x); [split|]; auto.
  - destruct right as [b|]; [destruct (Rle_dec b t) as [Lb | Lb]|].
    + destruct B as [B1 B2]. simpl in B2. destruct (Rlt_dec x t); [|lra]. apply W; [split|]; auto.
    + destruct W as [C [K W]]. destruct B as [B1 B2]. destruct (Rlt_dec x t); [apply C; [split|]; auto|].
      destruct (Req_EM_T x t); [subst; apply K; exact I|]. apply (IH after (Some t) W x); [split; simpl; [lra|]|]; auto.
    + destruct W as [C [K W]]. destruct B as [B1 B2]. destruct (Rlt_dec x t); [apply C; [split|]; auto|].
      destruct (Req_EM_T x t); [subst; apply K; exact I|]. apply (IH after (Some t) W x); [split; simpl; [lra|]|]; auto.
  - destruct right as [b|]; [destruct (Rle_dec b t) as [Lb | Lb]|].
    + destruct B as [B1 B2]. simpl in B2. destruct (Rlt_dec x t); [|lra]. apply W; [split|]; auto.
    + destruct W as [C [K W]]. destruct B as [B1 B2]. destruct (Rlt_dec x t); [apply C; [split|]; auto|].
      destruct (Req_EM_T x t); [subst; apply K; exact I|]. apply (IH after (Some t) W x); [split; simpl; [lra|]|]; auto.
    + destruct W as [C [K W]]. destruct B as [B1 B2]. destruct (Rlt_dec x t); [apply C; [split|]; auto|].
      destruct (Req_EM_T x t); [subst; apply K; exact I|]. apply (IH after (Some t) W x); [split; simpl; [lra|]|]; auto.
Qed.

(** The whole region of a feature: labels and codes one by one, numbers at an end of a span or strictly inside it. *)
Theorem region_bounded value (row : input value) (region : feature -> value -> Prop) c i (p : cells (option line))
    (numeric : R -> value) :
  part value c i (row i) = here ->
  (forall x l, cell_at p x = Some l -> part value c i (numeric x) = value_of l x) ->
  (forall v, region i v ->
    (of_real (fall value row c i v) <= drop)%number
    \/ (exists x, v = numeric x /\ inside x
        /\ exists l, cell_at p x = Some l /\ (of_real (here - value_of l x) <= drop)%number)
    \/ (exists x left right, v = numeric x /\ inside x /\ between left right x /\ walks (fst p) (snd p) left right)) ->
  bounds value row region c i drop.
Proof.
  intros H P Cover v V.
  assert (Value : forall x l, cell_at p x = Some l -> fall value row c i (numeric x) = here - value_of l x).
  { intros x l E. unfold fall. rewrite H, (P x l E). reflexivity. }
  destruct (Cover v V) as [L | [[x [E [_ [l [C L]]]]] | [x [left [right [E [I [B W]]]]]]]]; [exact L | |].
  - subst v. rewrite (Value x l C). exact L.
  - subst v. destruct (span_bounded p left right W x B I) as [l [C L]]. rewrite (Value x l C). exact L.
Qed.
End Falls.

(** Several scores: an inequality adds up multiples of them, and so of their lines. *)
Definition combined (factors : list R) (lines : list line) : line :=
  Line (sum (fun p => fst p * slope (snd p)) (combine factors lines))
    (sum (fun p => fst p * offset (snd p)) (combine factors lines)).

Theorem combined_value factors lines x :
  value_of (combined factors lines) x = sum (fun p => fst p * value_of (snd p) x) (combine factors lines).
Proof.
  unfold value_of, combined; simpl.
  rewrite (sum_ext _ (fun p => fst p * (_ + _)) (fun p => x * (fst p * slope (snd p)) + fst p * offset (snd p)))
    by (intros; ring).
  rewrite sum_plus, sum_times. ring.
Qed.
