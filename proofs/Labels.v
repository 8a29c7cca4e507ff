(** Models with pair terms: whatever an input does, some choice of labels falls at least as far. *)

From Coq Require Import Reals Lra Lia List Bool Arith.
From Suffice Require Import Numbers Claims Trees Cover Few Pairs.
Import ListNotations.
Open Scope R_scope.

(** Of the places of an open piece along which all is affine, one of three falls as far as any value in between: the
    two limits, which are a hair short, or any value of the same line. *)
Lemma piece_of_line (s o a b t x : R) : a < x < b ->
  (of_real (s * x + o) <= Number (s * a + o) (-1))%number \/
  (of_real (s * x + o) <= Number (s * b + o) (-1))%number \/
  (of_real (s * x + o) <= of_real (s * t + o))%number.
Proof.
  intros [A B]. unfold le, of_real; simpl. destruct (Rtotal_order s 0) as [S | [S | S]].
  - left. left. assert (s * x < s * a) by nra. lra.
  - right. right. right. subst. lra.
  - right. left. left. assert (s * x < s * b) by nra. lra.
Qed.

(** A polynomial of degree 3 or less between two numbers: nowhere below its tangents where its second derivative is
    nowhere below 0, and nowhere below the straight line from end to end where that is nowhere above 0. *)
Section Curves.
Variables a0 a1 a2 a3 : R.
Definition curve (t : R) : R := a0 + a1 * t + a2 * (t * t) + a3 * (t * t * t).
Definition steep (t : R) : R := a1 + 2 * a2 * t + 3 * a3 * (t * t).
Definition bend (t : R) : R := 2 * a2 + 6 * a3 * t.

Lemma bend_between a b t : a <= t <= b -> 0 <= bend a -> 0 <= bend b -> 0 <= bend t.
Proof. unfold bend. intros [A B] P Q. destruct (Rle_or_lt 0 a3); nra. Qed.

Lemma bend_not_between a b t : a <= t <= b -> bend a <= 0 -> bend b <= 0 -> bend t <= 0.
Proof. unfold bend. intros [A B] P Q. destruct (Rle_or_lt 0 a3); nra. Qed.

Theorem tangent_below a b s t : a <= s <= b -> a <= t <= b -> 0 <= bend a -> 0 <= bend b ->
  curve s + steep s * (t - s) <= curve t.
Proof.
  intros S T P Q. assert (B : 0 <= bend ((t + 2 * s) / 3)) by (apply (bend_between a b); [lra | exact P | exact Q]).
  assert (E : curve t - (curve s + steep s * (t - s)) = (t - s) * (t - s) * (bend ((t + 2 * s) / 3) / 2))
    by (unfold curve, steep, bend; field).
  assert (0 <= (t - s) * (t - s)) by apply Rle_0_sqr.
  assert (0 <= (t - s) * (t - s) * (bend ((t + 2 * s) / 3) / 2)) by (apply Rmult_le_pos; lra). lra.
Qed.

Theorem chord_below a b t : a < b -> a <= t <= b -> bend a <= 0 -> bend b <= 0 ->
  curve a + (curve b - curve a) / (b - a) * (t - a) <= curve t.
Proof.
  intros W T P Q. assert (B : bend ((a + b + t) / 3) <= 0) by (apply (bend_not_between a b); [lra | exact P | exact Q]).
  assert (E : curve t - (curve a + (curve b - curve a) / (b - a) * (t - a))
    = (t - a) * (b - t) * (- (bend ((a + b + t) / 3) / 2))) by (unfold curve, bend; field; lra).
  assert (0 <= (t - a) * (b - t)) by (apply Rmult_le_pos; lra).
  assert (0 <= (t - a) * (b - t) * (- (bend ((a + b + t) / 3) / 2))) by (apply Rmult_le_pos; lra). lra.
Qed.
End Curves.

Section Labels.
Variables value place : Type.
Variable features : list feature.
Hypothesis features_differ : NoDup features.
Variable edges : list edge.
Hypothesis edges_are_pairs : forall e, In e edges -> In (fst e) features /\ In (snd e) features /\ fst e <> snd e.
Variable row : input value.
Variable constant : R.
Variable main : feature -> value -> R.
Variable pair : edge -> value -> value -> R.

(** Places are values, and whatever else labels stand for: limits, cells. A feature's own part falls there by an ordered
    number; a pair term has a real number at every two of them. At values, these are what the model says. *)
Variable at_value : value -> place.
Variable own : feature -> place -> number.
Variable term : edge -> place -> place -> R.
Hypothesis own_of_value : forall i v, In i features -> own i (at_value v) = of_real (main i (row i) - main i v).
Hypothesis term_of_values : forall e v w, In e edges -> term e (at_value v) (at_value w) = pair e v w.

Definition pair_fall (z : feature -> place) : R :=
  sum (fun e => pair e (row (fst e)) (row (snd e)) - term e (z (fst e)) (z (snd e))) edges.
Definition place_fall (z : feature -> place) : number :=
  (total (fun i => own i (z i)) features + of_real (pair_fall z))%number.

Lemma place_fall_of_values y :
  place_fall (fun i => at_value (y i))
  = of_real (pair_level value features edges constant main pair row
             - pair_level value features edges constant main pair y).
Proof.
  unfold place_fall, pair_fall. rewrite (total_ext _ (fun i => of_real (main i (row i) - main i (y i))))
    by (intros i I; apply own_of_value; exact I).
  rewrite total_of_real. rewrite (sum_ext _ (fun e => _ - term _ _ _)
    (fun e => pair e (row (fst e)) (row (snd e)) - pair e (y (fst e)) (y (snd e))))
    by (intros e E; rewrite term_of_values by exact E; reflexivity).
  rewrite !sum_minus. unfold pair_level. apply number_ext; simpl; ring.
Qed.

(** * One feature after the other *)

Definition moved_to (z : feature -> place) (i : feature) (p : place) : feature -> place :=
  fun j => if Nat.eqb j i then p else z j.

Lemma moved_to_here z i p : moved_to z i p i = p.
Proof. unfold moved_to. rewrite Nat.eqb_refl. reflexivity. Qed.

Lemma moved_to_other z i j p : j <> i -> moved_to z i p j = z j.
Proof.
  intros N. unfold moved_to. destruct (Nat.eqb j i) eqn:E; [apply Nat.eqb_eq in E; contradiction | reflexivity].
Qed.

Lemma place_fall_ext z w : (forall i, In i features -> z i = w i) -> place_fall z = place_fall w.
Proof.
  intros S. unfold place_fall, pair_fall. f_equal.
  - apply total_ext. intros i I. rewrite (S i I). reflexivity.
  - f_equal. apply sum_ext. intros e E. destruct (edges_are_pairs e E) as [I [J _]]. rewrite (S _ I), (S _ J).
    reflexivity.
Qed.

Variable region : feature -> value -> Prop.
Variable label : feature -> place -> Prop.

(** Wherever the other features are, some label falls at least as far as a value; the row's own value is its label. *)
Definition has_label (i : feature) (v : value) : Prop := forall z, exists p,
  label i p /\ (v = row i -> p = at_value (row i)) /\
  (place_fall (moved_to z i (at_value v)) <= place_fall (moved_to z i p))%number.

Theorem labels_are_enough :
  (forall i v, In i features -> region i v -> has_label i v) ->
  forall y, box value features region y -> exists z,
    (forall i, In i features -> label i (z i) /\ (y i = row i -> z i = at_value (row i))) /\
    (place_fall (fun i => at_value (y i)) <= place_fall z)%number.
Proof.
  intros Has y B.
  assert (Some_done : forall done, incl done features -> exists z,
    (forall i, In i done -> label i (z i) /\ (y i = row i -> z i = at_value (row i))) /\
    (forall i, ~ In i done -> z i = at_value (y i)) /\
    (place_fall (fun i => at_value (y i)) <= place_fall z)%number).
  { induction done as [|i done IH]; intros Inc.
    - exists (fun i => at_value (y i)). split; [intros i [] | split; [reflexivity | apply le_refl]].
    - destruct IH as [z [Lz [Rz Fz]]]; [intros j J; apply Inc; right; exact J|].
      assert (I : In i features) by (apply Inc; left; reflexivity).
      destruct (in_dec Nat.eq_dec i done) as [D | D].
      + exists z. split; [|split; [|exact Fz]].
        * intros j [J | J]; [subst; apply Lz; exact D | apply Lz; exact J].
        * intros j J. apply Rz. intros K. apply J. right; exact K.
      + assert (Step : exists p, label i p /\ (y i = row i -> p = at_value (row i)) /\
          (place_fall z <= place_fall (moved_to z i p))%number).
        { assert (Same : place_fall z = place_fall (moved_to z i (at_value (y i)))).
          { apply place_fall_ext. intros j _. destruct (Nat.eq_dec j i) as [E | N].
            - subst. rewrite moved_to_here. apply Rz; exact D.
            - rewrite moved_to_other by exact N. reflexivity. }
          rewrite Same. apply (Has i (y i) I (B i I)). }
        destruct Step as [p [Lp [Rp Fp]]]. exists (moved_to z i p). split; [|split].
        * intros j [J | J].
          -- subst. rewrite moved_to_here. auto.
          -- rewrite moved_to_other by (intros E; subst; contradiction). apply Lz; exact J.
        * intros j J. rewrite moved_to_other by (intros E; subst; apply J; left; reflexivity). apply Rz.
          intros K. apply J. right; exact K.
        * eapply le_trans; [exact Fz | exact Fp]. }
  destruct (Some_done features (incl_refl features)) as [z [Lz [_ Fz]]]. exists z. split; assumption.
Qed.

(** * What one feature does *)

Lemma total_moved z i p : In i features ->
  total (fun j => own j (moved_to z i p j)) features
  = (own i p + total (fun j => if Nat.eqb j i then 0 else own j (z j)) features)%number.
Proof.
  intros I. rewrite (total_ext _ (fun j => ((if Nat.eqb j i then own i p else 0)
    + (if Nat.eqb j i then 0 else own j (z j)))%number)).
  - rewrite total_plus. f_equal. clear - features_differ I. induction features as [|k l IH]; [destruct I|].
    inversion features_differ as [|? ? N D]; subst.
    change (total (fun j => if Nat.eqb j i then own i p else 0%number) (k :: l))
      with ((if Nat.eqb k i then own i p else 0) + total (fun j => if Nat.eqb j i then own i p else 0) l)%number.
    destruct (Nat.eqb k i) eqn:E.
    + apply Nat.eqb_eq in E. subst. rewrite (total_ext _ (fun _ => 0%number)); [rewrite total_zero; apply plus_0_r|].
      intros j J. destruct (Nat.eqb j i) eqn:Q; [apply Nat.eqb_eq in Q; subst; contradiction | reflexivity].
    + destruct I as [I | I]; [subst; rewrite Nat.eqb_refl in E; discriminate|]. rewrite plus_0_l. apply IH; assumption.
  - intros j _. unfold moved_to. destruct (Nat.eqb j i) eqn:E.
    + apply Nat.eqb_eq in E. subst. rewrite plus_0_r. reflexivity.
    + rewrite plus_0_l. reflexivity.
Qed.

Lemma place_fall_moved z i p : In i features -> place_fall (moved_to z i p)
  = (own i p + of_real (pair_fall (moved_to z i p))
     + total (fun j => if Nat.eqb j i then 0 else own j (z j)) features)%number.
Proof. intros I. unfold place_fall. rewrite total_moved by exact I. apply number_ext; unfold plus; simpl; ring. Qed.

(** The row's own value, categories, codes, and the knots and ends of cells in which pair terms vary. *)
Theorem value_is_label i v : label i (at_value v) -> has_label i v.
Proof. intros L z. exists (at_value v). split; [exact L | split; [congruence | apply le_refl]]. Qed.

(** A cell in which no pair term varies: the label has their values, and the largest fall of the feature's own part. *)
Theorem cell_is_label i v p : In i features -> label i p -> v <> row i ->
  (own i (at_value v) <= own i p)%number ->
  (forall e w, In e edges -> (fst e = i -> term e (at_value v) w = term e p w)
                          /\ (snd e = i -> term e w (at_value v) = term e w p)) ->
  has_label i v.
Proof.
  intros I L N Own Same z. exists p. split; [exact L | split; [intros E; contradiction|]].
  rewrite !place_fall_moved by exact I.
  assert (E : pair_fall (moved_to z i (at_value v)) = pair_fall (moved_to z i p)).
  { apply sum_ext. intros e E. destruct (edges_are_pairs e E) as [_ [_ D]]. f_equal. unfold moved_to.
    destruct (Nat.eqb (fst e) i) eqn:F, (Nat.eqb (snd e) i) eqn:S; try reflexivity.
    - apply Nat.eqb_eq in F, S. exfalso. apply D. congruence.
    - apply Nat.eqb_eq in F. apply (Same e (z (snd e)) E). exact F.
    - apply Nat.eqb_eq in S. apply (Same e (z (fst e)) E). exact S. }
  rewrite E. apply plus_le; [apply plus_le; [exact Own | apply le_refl] | apply le_refl].
Qed.

(** A cell in which pair terms vary: along some places of it, each with a number, all terms of the feature are affine,
    wherever the other feature is. *)
Definition affine_along (i : feature) (some : place -> Prop) (number_of : place -> R) : Prop :=
  forall e w, In e edges ->
    (fst e = i -> exists s o, forall p, some p -> term e p w = s * number_of p + o) /\
    (snd e = i -> exists s o, forall p, some p -> term e w p = s * number_of p + o).

Lemma pair_fall_affine i some number_of z : affine_along i some number_of ->
  exists s o, forall p, some p -> pair_fall (moved_to z i p) = s * number_of p + o.
Proof.
  intros A. unfold pair_fall. assert (Inc : incl edges edges) by apply incl_refl. revert Inc.
  generalize edges at 1 3. intros l. induction l as [|e l IH]; intros Inc.
  - exists 0, 0. intros p _. simpl. ring.
  - destruct IH as [s [o H]]; [intros k K; apply Inc; right; exact K|].
    assert (E : In e edges) by (apply Inc; left; reflexivity).
    destruct (edges_are_pairs e E) as [_ [_ D]].
    assert (One : exists s' o', forall p, some p ->
      term e (moved_to z i p (fst e)) (moved_to z i p (snd e)) = s' * number_of p + o').
    { unfold moved_to. destruct (Nat.eqb (fst e) i) eqn:F, (Nat.eqb (snd e) i) eqn:S.
      - apply Nat.eqb_eq in F, S. exfalso. apply D. congruence.
      - apply Nat.eqb_eq in F. apply (A e (z (snd e)) E). exact F.
      - apply Nat.eqb_eq in S. apply (A e (z (fst e)) E). exact S.
      - exists 0, (term e (z (fst e)) (z (snd e))). intros p _. ring. }
    destruct One as [s' [o' H']]. exists (s - s'), (o + pair e (row (fst e)) (row (snd e)) - o'). intros p P.
    simpl. rewrite (H p P), (H' p P). ring.
Qed.

(** An open piece of the feature's own part: both limits, or values that fall at least as far, and one value of its
    line. *)
Theorem piece_has_labels i (some : place -> Prop) number_of v left right middle s o :
  In i features -> v <> row i -> label i left -> label i right -> label i middle ->
  affine_along i some number_of -> some (at_value v) -> some left -> some right -> some middle ->
  number_of left < number_of (at_value v) < number_of right ->
  own i (at_value v) = of_real (s * number_of (at_value v) + o) ->
  (Number (s * number_of left + o) (-1) <= own i left)%number ->
  (Number (s * number_of right + o) (-1) <= own i right)%number ->
  (of_real (s * number_of middle + o) <= own i middle)%number -> has_label i v.
Proof.
  intros I N Ll Lr Lm A Sv Sl Sr Sm X Ov Ol Or Om z. destruct (pair_fall_affine i some number_of z A) as [s' [o' H]].
  set (rest := total (fun j => if Nat.eqb j i then 0%number else own j (z j)) features).
  assert (Choose : forall p, label i p -> some p ->
    (own i (at_value v) + of_real (pair_fall (moved_to z i (at_value v)))
     <= own i p + of_real (pair_fall (moved_to z i p)))%number ->
    exists p, label i p /\ (v = row i -> p = at_value (row i)) /\
      (place_fall (moved_to z i (at_value v)) <= place_fall (moved_to z i p))%number).
  { intros p Lp _ F. exists p. split; [exact Lp | split; [intros E; contradiction|]].
    rewrite !place_fall_moved by exact I. apply plus_le; [exact F | apply le_refl]. }
  destruct (piece_of_line (s + s') (o + o') (number_of left) (number_of right) (number_of middle)
    (number_of (at_value v)) X) as [F | [F | F]];
    [apply (Choose left Ll Sl) | apply (Choose right Lr Sr) | apply (Choose middle Lm Sm)];
    rewrite (H _ Sv), ?(H _ Sl), ?(H _ Sr), ?(H _ Sm), Ov;
    [eapply le_trans; [|apply plus_le; [exact Ol | apply le_refl]]
    |eapply le_trans; [|apply plus_le; [exact Or | apply le_refl]]
    |eapply le_trans; [|apply plus_le; [exact Om | apply le_refl]]];
    clear - F; unfold le, plus, of_real in *; simpl in *;
    rewrite !Rmult_plus_distr_r in F; lra.
Qed.

(** A stretch of a curve that is nowhere below a straight line: labels at both ends that fall as far as the line does. *)
Theorem line_has_labels i (some : place -> Prop) number_of v first last s o :
  In i features -> v <> row i -> label i first -> label i last ->
  affine_along i some number_of -> some (at_value v) -> some first -> some last ->
  number_of first <= number_of (at_value v) <= number_of last ->
  (own i (at_value v) <= of_real (s * number_of (at_value v) + o))%number ->
  (of_real (s * number_of first + o) <= own i first)%number ->
  (of_real (s * number_of last + o) <= own i last)%number -> has_label i v.
Proof.
  intros I N Lf Ll A Sv Sf Sl X Ov Of Ol z. destruct (pair_fall_affine i some number_of z A) as [s' [o' H]].
  assert (Best : exists p, (p = first \/ p = last) /\
    (s + s') * number_of (at_value v) <= (s + s') * number_of p).
  { destruct (Rle_or_lt (s + s') 0); [exists first | exists last]; (split; [auto | nra]). }
  destruct Best as [p [P F]].
  assert (Q : label i p /\ some p /\ (of_real (s * number_of p + o) <= own i p)%number) by (destruct P; subst; auto).
  destruct Q as [Lp [Sp Op]]. exists p. split; [exact Lp | split; [intros E; contradiction|]].
  rewrite !place_fall_moved by exact I. apply plus_le; [|apply le_refl].
  rewrite (H _ Sv), (H _ Sp).
  apply le_trans with (of_real (s * number_of (at_value v) + o) + of_real (s' * number_of (at_value v) + o'))%number;
    [apply plus_le; [exact Ov | apply le_refl]|].
  apply le_trans with (of_real (s * number_of p + o) + of_real (s' * number_of p + o'))%number;
    [|apply plus_le; [exact Op | apply le_refl]].
  clear - F. unfold le, plus, of_real; simpl. lra.
Qed.

(** Integers of a piece: its first and its last. *)
Theorem integers_have_labels i (some : place -> Prop) number_of v first last s o :
  In i features -> v <> row i -> label i first -> label i last ->
  affine_along i some number_of -> some (at_value v) -> some first -> some last ->
  number_of first <= number_of (at_value v) <= number_of last ->
  own i (at_value v) = of_real (s * number_of (at_value v) + o) ->
  own i first = of_real (s * number_of first + o) -> own i last = of_real (s * number_of last + o) -> has_label i v.
Proof.
  intros I N Lf Ll A Sv Sf Sl X Ov Of Ol.
  apply (line_has_labels i some number_of v first last s o); try assumption;
    [rewrite Ov | rewrite Of | rewrite Ol]; apply le_refl.
Qed.

(** * Messages between labels *)

(** Any messages bound the falls of all choices among some labels: all of them, or those that splits have left. *)
Theorem messages_between_labels (some : feature -> place -> Prop) (to_first to_second : edge -> place -> R)
    (high : feature -> number) (high_pair : edge -> number) z :
  (forall i p, In i features -> some i p ->
    (own i p + of_real (received place edges to_first to_second i p) <= high i)%number) ->
  (forall e p q, In e edges -> some (fst e) p -> some (snd e) q ->
    (of_real (pair e (row (fst e)) (row (snd e)) - term e p q - to_first e p - to_second e q) <= high_pair e)%number) ->
  box place features some z -> (place_fall z <= total high features + total high_pair edges)%number.
Proof.
  intros High Pair Lz.
  assert (E : place_fall z
    = (total (fun i => (own i (z i) + of_real (received place edges to_first to_second i (z i)))%number) features
       + total (fun e => of_real (pair e (row (fst e)) (row (snd e)) - term e (z (fst e)) (z (snd e))
                                  - to_first e (z (fst e)) - to_second e (z (snd e)))) edges)%number).
  { rewrite total_plus, !total_of_real.
    rewrite (messages_cancel place features features_differ edges edges_are_pairs).
    unfold place_fall, pair_fall. apply number_ext; unfold plus, of_real; simpl; [|ring].
    rewrite (sum_ext _ (fun e => _ - _ - to_first _ _ - to_second _ _) (fun e =>
      (pair e (row (fst e)) (row (snd e)) - term e (z (fst e)) (z (snd e)))
      - (to_first e (z (fst e)) + to_second e (z (snd e))))) by (intros; ring).
    rewrite (sum_minus _ (fun e => pair e (row (fst e)) (row (snd e)) - term e (z (fst e)) (z (snd e)))). ring. }
  rewrite E. apply plus_le; apply total_le.
  - intros i I. apply High; [exact I | apply Lz; exact I].
  - intros e I. destruct (edges_are_pairs e I) as [F [S _]].
    apply Pair; [exact I | apply Lz; exact F | apply Lz; exact S].
Qed.

(** So a bound on all choices of labels bounds all inputs. *)
Theorem bounded_by_labels (bound : number) :
  (forall i v, In i features -> region i v -> has_label i v) ->
  (forall z, box place features label z -> (place_fall z <= bound)%number) ->
  forall y, box value features region y ->
  (of_real (pair_level value features edges constant main pair row
            - pair_level value features edges constant main pair y) <= bound)%number.
Proof.
  intros Has Bound y B. destruct (labels_are_enough Has y B) as [z [Lz Fz]]. rewrite <- place_fall_of_values.
  eapply le_trans; [exact Fz|]. apply Bound. intros i I. apply Lz. exact I.
Qed.
End Labels.
