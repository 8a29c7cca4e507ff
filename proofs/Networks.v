(** Networks of piecewise-linear units as pieces: what is computed unit by unit is what the network is.

    A network is a list of units. Each takes a weighted sum of the input and of units before it, and applies a
    continuous activation that is affine between thresholds, such as ReLU. Layers are units that look at the layer
    before them; a skip is a unit without a threshold that adds up two others. *)

From Coq Require Import Reals Lra List Permutation.
From Suffice Require Import Numbers Claims Pieces.
Import ListNotations.
Open Scope R_scope.

(** * Activations *)

(** A zone begins at a threshold and has a slope and an offset. *)
Record zone := Zone { threshold : R; steep : R; shift : R }.
Record activation := Activation { first_steep : R; first_shift : R; zones : list zone }.

Fixpoint activate_from (s o : R) (zs : list zone) (y : R) : R :=
  match zs with
  | [] => s * y + o
  | z :: rest => if Rle_dec (threshold z) y then activate_from (steep z) (shift z) rest y else s * y + o
  end.
Definition activate (phi : activation) : R -> R := activate_from (first_steep phi) (first_shift phi) (zones phi).

(** Thresholds increase, and neighbouring zones have the same value at the threshold between them. *)
Fixpoint continuous_from (s o : R) (zs : list zone) : Prop :=
  match zs with
  | [] => True
  | z :: rest =>
      s * threshold z + o = steep z * threshold z + shift z
      /\ Forall (fun later => threshold z < threshold later) rest
      /\ continuous_from (steep z) (shift z) rest
  end.
Definition continuous (phi : activation) : Prop := continuous_from (first_steep phi) (first_shift phi) (zones phi).

(** A zone with both of its ends, where it has them, and what the activation is there. *)
Record zone_ends := Ends { lower : option R; upper : option R; its_steep : R; its_shift : R }.
Definition within_zone (z : zone_ends) (y : R) : Prop :=
  match lower z with Some a => a <= y | None => True end /\ match upper z with Some b => y <= b | None => True end.

Inductive zone_from : option R -> R -> R -> list zone -> zone_ends -> Prop :=
| zone_now l s o zs : zone_from l s o zs (Ends l (match zs with [] => None | z :: _ => Some (threshold z) end) s o)
| zone_later l s o z rest e :
    zone_from (Some (threshold z)) (steep z) (shift z) rest e -> zone_from l s o (z :: rest) e.
Definition zone_of (phi : activation) (e : zone_ends) : Prop :=
  zone_from None (first_steep phi) (first_shift phi) (zones phi) e.

Lemma zone_from_lower l s o zs e : zone_from (Some l) s o zs e ->
  Forall (fun later => l < threshold later) zs -> continuous_from s o zs ->
  exists a, lower e = Some a /\ l <= a.
Proof.
  revert l s o. induction zs as [|z rest IH]; intros l s o Z F C; inversion Z; subst; simpl.
  - exists l. split; [reflexivity | lra].
  - exists l. split; [reflexivity | lra].
  - match goal with Z' : zone_from (Some (threshold z)) _ _ rest e |- _ => rename Z' into Next end.
    inversion F; subst. destruct C as [_ [Later C]]. destruct (IH _ _ _ Next Later C) as [a [E L]].
    exists a. split; [exact E | lra].
Qed.

(** In a zone, both of its thresholds included, an activation is that zone's line. *)
Theorem activate_in_zone phi e y : continuous phi -> zone_of phi e -> within_zone e y ->
  activate phi y = its_steep e * y + its_shift e.
Proof.
  unfold continuous, zone_of, activate, within_zone. generalize (first_steep phi) (first_shift phi) (zones phi).
  intros s o zs. generalize (@None R). intros l. revert l s o.
  induction zs as [|z rest IH]; intros l s o C Z [L U]; inversion Z; subst; simpl in *; [reflexivity| |].
  - destruct (Rle_dec (threshold z) y) as [G | G]; [|reflexivity].
    assert (y = threshold z) by lra. subst y. destruct C as [Same [Later C]]. rewrite Same.
    destruct rest as [|w rest]; simpl; [reflexivity|]. inversion Later; subst.
    destruct (Rle_dec (threshold w) (threshold z)); [lra | reflexivity].
  - match goal with Z' : zone_from (Some (threshold z)) _ _ rest e |- _ => rename Z' into Next end.
    destruct C as [Same [Later C]]. destruct (zone_from_lower _ _ _ _ _ Next Later C) as [a [E G]]. rewrite E in L.
    destruct (Rle_dec (threshold z) y); [|lra]. apply (IH _ _ _ C Next). rewrite E. auto.
Qed.

(** * Units as lines that bend

    A continuous function that is affine between bends is its first line, and what its slope changes by at each
    bend times how far one is past it. *)

Definition past (t x : R) : R := if Rle_dec x t then 0 else x - t.
Record bent := Bent { first_line : line; bends : list (R * R) }.
Definition bent_value (f : bent) (x : R) : R :=
  value_of (first_line f) x + sum (fun b => snd b * past (fst b) x) (bends f).

Definition from_to (left right : option R) (x : R) : Prop :=
  match left with Some a => a <= x | None => True end /\ match right with Some b => x <= b | None => True end.

(** A function follows lines from left to right: the first one up to where the second begins, and so on. *)
Fixpoint follows (f : R -> R) (l : line) (rest : list (R * line)) (left right : option R) : Prop :=
  match rest with
  | [] => forall x, from_to left right x -> f x = value_of l x
  | (t, l') :: rest' =>
      from_to left right t /\ (forall x, from_to left (Some t) x -> f x = value_of l x)
      /\ follows f l' rest' (Some t) right
  end.
Fixpoint bends_of (l : line) (rest : list (R * line)) : list (R * R) :=
  match rest with
  | [] => []
  | (t, l') :: rest' => (t, slope l' - slope l) :: bends_of l' rest'
  end.

Lemma later_bends f l rest t right x : follows f l rest (Some t) right -> x <= t ->
  sum (fun b => snd b * past (fst b) x) (bends_of l rest) = 0.
Proof.
  revert l t. induction rest as [|[u l'] rest IH]; intros l t F L; simpl; [reflexivity|].
  destruct F as [[A _] [_ F]]. simpl in A. rewrite (IH l' u F) by lra. unfold past.
  destruct (Rle_dec x u); [ring | lra].
Qed.

(** Such a function is the bent line with these changes of slope. *)
Theorem bent_follows f l rest left right : follows f l rest left right ->
  forall x, from_to left right x -> f x = bent_value (Bent l (bends_of l rest)) x.
Proof.
  revert l left. induction rest as [|[t l'] rest IH]; intros l left F x I; unfold bent_value; simpl.
  - rewrite (F x I). ring.
  - destruct F as [T [Now F]]. destruct (Rle_or_lt x t) as [L | L].
    + rewrite (Now x) by (destruct I; split; [assumption | exact L]). rewrite (later_bends f l' rest t right x F L).
      unfold past. destruct (Rle_dec x t); [ring | lra].
    + assert (Ft : f t = value_of l' t).
      { destruct rest as [|[u l''] rest]; simpl in F.
        - apply F. destruct T as [_ T]. split; [simpl; lra | exact T].
        - destruct F as [[A _] [Now' _]]. apply Now'. split; simpl in *; lra. }
      assert (Same : value_of l t = value_of l' t).
      { rewrite <- Ft. symmetry. apply Now. destruct T as [T _]. split; [exact T | simpl; lra]. }
      rewrite (IH l' (Some t) F x) by (destruct I as [_ I]; split; [simpl; lra | exact I]).
      unfold bent_value; simpl. unfold past at 2. destruct (Rle_dec x t); [lra|].
      unfold value_of in *. lra.
Qed.

(** ** Sums of units *)

Definition scaled_sum (ws : list (R * bent)) (bias : R) : bent :=
  Bent
    (Line (sum (fun p => fst p * slope (first_line (snd p))) ws)
      (sum (fun p => fst p * offset (first_line (snd p))) ws + bias))
    (flat_map (fun p => map (fun b => (fst b, fst p * snd b)) (bends (snd p))) ws).

Theorem scaled_sum_value ws bias x :
  bent_value (scaled_sum ws bias) x = sum (fun p => fst p * bent_value (snd p) x) ws + bias.
Proof.
  unfold bent_value, scaled_sum, value_of; simpl. rewrite sum_flat_map.
  rewrite (sum_ext _ (fun i => sum _ (map _ _))
    (fun p => fst p * sum (fun b => snd b * past (fst b) x) (bends (snd p)))).
  - rewrite (sum_ext _ (fun p => fst p * (_ + _)) (fun p => x * (fst p * slope (first_line (snd p)))
      + fst p * offset (first_line (snd p)) + fst p * sum (fun b => snd b * past (fst b) x) (bends (snd p)))).
    + rewrite !sum_plus, sum_times. ring.
    + intros p _. ring.
  - intros p _. rewrite sum_map, <- sum_times. apply sum_ext. intros b _. simpl. ring.
Qed.

(** ** A unit's activation

    Between neighbouring bends and crossings of thresholds, a unit is a line whose values lie in one zone: it is
    enough that they do so at both ends, or, towards infinity, that the zone has no end in the direction of the
    line. *)

Definition in_zone_at_ends (e : zone_ends) (l : line) (left right : option R) : Prop :=
  match left with
  | Some a => within_zone e (value_of l a)
  | None =>
      (0 < slope l -> lower e = None) /\ (slope l < 0 -> upper e = None)
      /\ (right = None -> within_zone e (offset l))
  end
  /\ match right with
     | Some b => within_zone e (value_of l b)
     | None => (0 < slope l -> upper e = None) /\ (slope l < 0 -> lower e = None)
     end.

Lemma zone_on_the_way e l left right x :
  in_zone_at_ends e l left right -> from_to left right x -> within_zone e (value_of l x).
Proof.
  intros [L Rt] [Bl Br].
  assert (Mono : forall a, value_of l x = value_of l a + slope l * (x - a)) by (intros; unfold value_of; ring).
  assert (Left : forall c, lower e = Some c -> c <= value_of l x).
  { intros c C. destruct (Rtotal_order (slope l) 0) as [Neg | [Zero | Pos]].
    - destruct right as [b|]; [|destruct Rt as [_ Rt]; rewrite Rt in C by exact Neg; discriminate].
      destruct Rt as [Rt _]. rewrite C in Rt. rewrite (Mono b). pose proof (Rmult_le_pos (- slope l) (b - x)). lra.
    - destruct left as [a|]; [destruct L as [L _]; rewrite C in L; rewrite (Mono a), Zero; lra|].
      destruct right as [b|]; [destruct Rt as [Rt _]; rewrite C in Rt; rewrite (Mono b), Zero; lra|].
      destruct L as [_ [_ L]]. destruct (L eq_refl) as [Q _]. rewrite C in Q. unfold value_of. rewrite Zero. lra.
    - destruct left as [a|]; [|destruct L as [L _]; rewrite L in C by exact Pos; discriminate].
      destruct L as [L _]. rewrite C in L. rewrite (Mono a). pose proof (Rmult_le_pos (slope l) (x - a)). lra. }
  assert (Right : forall c, upper e = Some c -> value_of l x <= c).
  { intros c C. destruct (Rtotal_order (slope l) 0) as [Neg | [Zero | Pos]].
    - destruct left as [a|]; [|destruct L as [_ [L _]]; rewrite L in C by exact Neg; discriminate].
      destruct L as [_ L]. rewrite C in L. rewrite (Mono a). pose proof (Rmult_le_pos (- slope l) (x - a)). lra.
    - destruct left as [a|]; [destruct L as [_ L]; rewrite C in L; rewrite (Mono a), Zero; lra|].
      destruct right as [b|]; [destruct Rt as [_ Rt]; rewrite C in Rt; rewrite (Mono b), Zero; lra|].
      destruct L as [_ [_ L]]. destruct (L eq_refl) as [_ Q]. rewrite C in Q. unfold value_of. rewrite Zero. lra.
    - destruct right as [b|]; [|destruct Rt as [Rt _]; rewrite Rt in C by exact Pos; discriminate].
      destruct Rt as [_ Rt]. rewrite C in Rt. rewrite (Mono b). pose proof (Rmult_le_pos (slope l) (b - x)). lra. }
  split; [destruct (lower e) | destruct (upper e)]; auto.
Qed.

(** Where a line that rises or falls meets a threshold. *)
Lemma crossing l y : slope l <> 0 -> value_of l ((y - offset l) / slope l) = y.
Proof. intros N. unfold value_of. field. exact N. Qed.

Definition activated_line (e : zone_ends) (l : line) : line :=
  Line (its_steep e * slope l) (its_steep e * offset l + its_shift e).

(** A unit's lines from left to right, each with its zone. *)
Fixpoint zoned (f : R -> R) (phi : activation) (l : line) (e : zone_ends) (rest : list (R * line * zone_ends))
    (left right : option R) : Prop :=
  zone_of phi e
  /\ match rest with
     | [] => (forall x, from_to left right x -> f x = value_of l x) /\ in_zone_at_ends e l left right
     | (t, l', e') :: rest' =>
         from_to left right t /\ (forall x, from_to left (Some t) x -> f x = value_of l x)
         /\ in_zone_at_ends e l left (Some t) /\ zoned f phi l' e' rest' (Some t) right
     end.

(** A line that was in a zone up to where it meets one of the zone's thresholds goes on in the zone beyond it. *)
Lemma cross_threshold f phi l e e' rest left right y :
  let t := (y - offset l) / slope l in
  slope l <> 0 -> zone_of phi e -> within_zone e y ->
  match left with
  | Some a => within_zone e (value_of l a)
  | None => (0 < slope l -> lower e = None) /\ (slope l < 0 -> upper e = None)
  end ->
  from_to left right t -> (forall x, from_to left (Some t) x -> f x = value_of l x) ->
  zoned f phi l e' rest (Some t) right -> zoned f phi l e ((t, l, e') :: rest) left right.
Proof.
  intros t N Z Y L T F Next. split; [exact Z|]. split; [exact T|]. split; [exact F|]. split; [|exact Next]. split.
  - destruct left; [exact L|]. destruct L as [U D].
    split; [exact U | split; [exact D | discriminate]].
  - unfold t. rewrite (crossing l y N). exact Y.
Qed.

Theorem activated_follows f phi l e rest left right : continuous phi -> zoned f phi l e rest left right ->
  follows (fun x => activate phi (f x)) (activated_line e l)
    (map (fun p => (fst (fst p), activated_line (snd p) (snd (fst p)))) rest) left right.
Proof.
  intros C. revert l e left. induction rest as [|[[t l'] e'] rest IH]; intros l e left Z; simpl in *.
  - destruct Z as [Z [F I]]. intros x X.
    assert (V : within_zone e (f x)) by (rewrite (F x X); eapply zone_on_the_way; eauto).
    rewrite (activate_in_zone phi e _ C Z V), (F x X). unfold value_of, activated_line; simpl. ring.
  - destruct Z as [Z [T [F [I R]]]]. split; [exact T|]. split; [|apply IH; exact R]. intros x X.
    assert (V : within_zone e (f x)) by (rewrite (F x X); eapply zone_on_the_way; eauto).
    rewrite (activate_in_zone phi e _ C Z V), (F x X). unfold value_of, activated_line; simpl. ring.
Qed.

(** * Networks *)

Record unit := Unit { weights : list R; bias : R; act : activation }.
Definition network := list unit.

Fixpoint dot (ws hs : list R) : R :=
  match ws, hs with
  | w :: ws', h :: hs' => w * h + dot ws' hs'
  | _, _ => 0
  end.

(** [hs] holds what is known so far, the newest first: at the start the input alone. *)
Fixpoint run (net : network) (hs : list R) : list R :=
  match net with
  | [] => hs
  | u :: rest => run rest (activate (act u) (dot (weights u) hs + bias u) :: hs)
  end.

(** Units computed one after the other, as functions between two ends. *)
Inductive computed (left right : option R) : network -> list bent -> list bent -> Prop :=
| computed_nil known : computed left right [] known known
| computed_unit u net known result l e rest :
    continuous (act u) ->
    zoned (bent_value (scaled_sum (combine (weights u) known) (bias u))) (act u) l e rest left right ->
    computed left right net
      (Bent (activated_line e l)
        (bends_of (activated_line e l)
          (map (fun p => (fst (fst p), activated_line (snd p) (snd (fst p)))) rest)) :: known)
      result ->
    computed left right (u :: net) known result.

Lemma dot_combine ws known x : dot ws (map (fun b => bent_value b x) known)
  = sum (fun p => fst p * bent_value (snd p) x) (combine ws known).
Proof.
  revert known. induction ws as [|w ws IH]; intros [|k known]; simpl; try reflexivity. rewrite IH. reflexivity.
Qed.

(** What is computed is what the network gives, at every number between the ends. *)
Theorem network_is_computed left right net known result : computed left right net known result ->
  forall x, from_to left right x ->
  run net (map (fun b => bent_value b x) known) = map (fun b => bent_value b x) result.
Proof.
  induction 1 as [known | u net known result l e rest C Z H IH]; intros x I; simpl; [reflexivity|].
  rewrite <- (IH x I). simpl. f_equal. f_equal.
  rewrite dot_combine, <- scaled_sum_value.
  exact (bent_follows _ _ _ _ _ (activated_follows _ _ _ _ _ _ _ C Z) x I).
Qed.

(** The input itself is a line that does not bend. *)
Definition identity : bent := Bent (Line 1 0) [].

Corollary network_of_one_input left right net result : computed left right net [identity] result ->
  forall x, from_to left right x -> run net [x] = map (fun b => bent_value b x) result.
Proof.
  intros C x I. rewrite <- (network_is_computed _ _ _ _ _ C x I). simpl. f_equal. f_equal.
  unfold bent_value, identity, value_of; simpl. ring.
Qed.

(** ** Bends in order

    Bends may be sorted, those at one place added up, and those that change nothing left out. *)

Lemma bends_in_any_order l bs bs' x : Permutation bs bs' -> bent_value (Bent l bs) x = bent_value (Bent l bs') x.
Proof. intros P. unfold bent_value; simpl. rewrite (sum_permutation _ _ _ _ P). reflexivity. Qed.

Lemma bends_together l t a b bs x :
  bent_value (Bent l ((t, a) :: (t, b) :: bs)) x = bent_value (Bent l ((t, a + b) :: bs)) x.
Proof. unfold bent_value; simpl. ring. Qed.

Lemma bend_without_change l t bs x : bent_value (Bent l ((t, 0) :: bs)) x = bent_value (Bent l bs) x.
Proof. unfold bent_value; simpl. ring. Qed.

(** Where lines meet, the offset loses what the slope gains there. If lines have integer slopes and offsets over a
    common number, the product is an integer over it too. *)
Lemma offset_by_change l l' t : value_of l t = value_of l' t -> offset l' = offset l - (slope l' - slope l) * t.
Proof. unfold value_of. lra. Qed.

(** ** As pieces *)

Fixpoint cells_from (l : line) (bs : list (R * R)) : list (R * option line * option line) :=
  match bs with
  | [] => []
  | (t, change) :: rest =>
      let l' := Line (slope l + change) (offset l - change * t) in (t, Some l, Some l') :: cells_from l' rest
  end.
Definition as_pieces (f : bent) : cells (option line) := (Some (first_line f), cells_from (first_line f) (bends f)).

Fixpoint in_order (bs : list (R * R)) : Prop :=
  match bs with
  | [] => True
  | b :: rest => Forall (fun later => fst b < fst later) rest /\ in_order rest
  end.

Lemma not_past_any x t bs :
  x <= t -> Forall (fun later => t < fst later) bs -> sum (fun b => snd b * past (fst b) x) bs = 0.
Proof.
  intros L F. induction F as [|b bs H F IH]; simpl; [reflexivity|]. rewrite IH. unfold past.
  destruct (Rle_dec x (fst b)); [ring | lra].
Qed.

Theorem as_pieces_value f x : in_order (bends f) -> eval (as_pieces f) x = Some (bent_value f x).
Proof.
  destruct f as [l bs]. unfold eval, as_pieces, cell_at, bent_value; simpl. revert l.
  induction bs as [|[t change] bs IH]; intros l I; simpl; [f_equal; ring|]. destruct I as [Later I]. simpl in *.
  destruct (Rlt_dec x t) as [L | L]; simpl.
  - rewrite (not_past_any x t bs) by (auto; lra). unfold past. destruct (Rle_dec x t); [f_equal; ring | lra].
  - destruct (Req_EM_T x t) as [E | E]; simpl.
    + rewrite (not_past_any x t bs) by (auto; lra). unfold past. destruct (Rle_dec x t); [f_equal; ring | lra].
    + rewrite (IH _ I). f_equal. unfold past at 2. destruct (Rle_dec x t); [lra|]. unfold value_of; simpl. ring.
Qed.

(** ReLU is such an activation. *)
Definition relu : activation := Activation 0 0 [Zone 0 1 0].

Lemma relu_continuous : continuous relu.
Proof. unfold continuous, relu; simpl. repeat split; auto; ring. Qed.

Lemma relu_is_max y : activate relu y = Rmax 0 y.
Proof. unfold activate, relu; simpl. unfold Rmax. destruct (Rle_dec 0 y); ring. Qed.
