(** Sufficient and insufficient sets of features: what falls prove about a whole region.

    A model adds up one part for each feature. A claim is a list of inequalities over such sums. A set of features
    suffices if the claim holds at every input of the region that agrees with the row on the set. *)

From Coq Require Import Reals Lra Lia List Bool Arith Permutation Sorted.
From Suffice Require Import Numbers.
Import ListNotations.
Open Scope R_scope.

Notation feature := nat (only parsing).
Definition set := feature -> bool.
Definition others (s : set) : set := fun i => negb (s i).
Definition count (s : set) (features : list feature) : nat := length (filter s features).

(** What a set of features adds up to. *)
Definition total_of (s : set) (n : feature -> number) (features : list feature) : number :=
  total (fun i => if s i then n i else 0%number) features.

Section Model.
Variable value : Type. (* a number, a label, or "missing" *)
Variable features : list feature.

Definition input := feature -> value.
Variable row : input.

(** * Claims *)

Record inequality := Inequality { constant : R; part : feature -> value -> R; is_strict : bool }.
Implicit Types (c : inequality) (claim : list inequality) (s : set) (y : input) (region : feature -> value -> Prop).

Definition level c y : R := constant c + sum (fun i => part c i (y i)) features.
Definition holds c y : Prop := if is_strict c then 0 < level c y else 0 <= level c y.
Definition all_hold claim y : Prop := forall c, In c claim -> holds c y.

(** By how much a feature lowers an inequality when it moves from the row to another value. *)
Definition fall c i (v : value) : R := part c i (row i) - part c i v.
Definition margin_of c : number := margin (level c row) (is_strict c).

Lemma level_by_falls c y : level c y = level c row - sum (fun i => fall c i (y i)) features.
Proof. unfold level, fall. rewrite sum_minus. lra. Qed.

Lemma holds_by_falls c y :
  holds c y <-> (of_real (sum (fun i => fall c i (y i)) features) <= margin_of c)%number.
Proof.
  unfold margin_of. rewrite within_margin. unfold holds, exceeds_nowhere. rewrite level_by_falls.
  destruct (is_strict c); lra.
Qed.

(** * Inputs and sets *)

Definition agrees s y : Prop := forall i, In i features -> s i = true -> y i = row i.
Definition box region y : Prop := forall i, In i features -> region i (y i).
(** At most [m] features differ from the row, besides some that may always move. *)
Definition changes_at_most (m : nat) (moving : set) y : Prop :=
  exists s, (count s features <= m)%nat /\ agrees (fun i => negb (s i || moving i)) y.

(** [inside] says which inputs there are: a box, those of a box with few changes, a ball. [truth] is what must not
    change: that some inequalities hold, or that a rounding program still decides as it does. *)
Definition sufficient (inside truth : input -> Prop) s : Prop := forall y, inside y -> agrees s y -> truth y.

(** Whatever has more features fixed, or fewer inputs, or less to claim, suffices too. *)
Theorem sufficient_mono (inside inside' truth truth' : input -> Prop) s s' :
  (forall y, inside' y -> inside y) -> (forall y, truth y -> truth' y) ->
  (forall i, In i features -> s i = true -> s' i = true) ->
  sufficient inside truth s -> sufficient inside' truth' s'.
Proof. intros I T S Suff y Y A. apply T, (Suff y (I y Y)). intros i Hi Si. apply A; auto. Qed.

(** * Sufficiency *)

(** A number bounds the falls of a feature: no value of the region lowers the inequality further. *)
Definition bounds region c i (n : number) : Prop :=
  forall v, region i v -> (of_real (fall c i v) <= n)%number.

Lemma fall_at_row c i : fall c i (row i) = 0.
Proof. unfold fall. lra. Qed.

(** If the falls of the free features, all at their worst, fit every margin, the set suffices. *)
Theorem sufficiency (inside : input -> Prop) region claim s (drop : inequality -> feature -> number) :
  (forall y, inside y -> box region y) ->
  (forall c i, In c claim -> In i features -> s i = false -> bounds region c i (drop c i)) ->
  (forall c, In c claim -> (total_of (others s) (drop c) features <= margin_of c)%number) ->
  sufficient inside (all_hold claim) s.
Proof.
  intros B D F y Y A c C. apply holds_by_falls. eapply le_trans; [|apply (F c C)].
  rewrite <- total_of_real. unfold total_of. apply total_le. intros i I. unfold others.
  destruct (s i) eqn:E; simpl.
  - rewrite (A i I E), fall_at_row. apply le_refl.
  - apply (D c i C I E). apply (B y Y i I).
Qed.

(** ** At most m changes: the m largest falls count *)

Definition falling (n : feature -> number) : list feature -> Prop := StronglySorted (fun i j => (n j <= n i)%number).

Lemma one_more_first (n : feature -> number) (x : feature) r m :
  (0 <= n x)%number -> (forall j, In j r -> (n j <= n x)%number) ->
  (total n (firstn (S m) r) <= n x + total n (firstn m r))%number.
Proof.
  revert m. induction r as [|j r IH]; intros m X L.
  - rewrite !firstn_nil. unfold total. order.
  - destruct m as [|m].
    + simpl. specialize (L j (or_introl eq_refl)). unfold total. simpl. order.
    + specialize (IH m X (fun k K => L k (or_intror K))).
      change (firstn (S (S m)) (j :: r)) with (j :: firstn (S m) r).
      change (firstn (S m) (j :: r)) with (j :: firstn m r).
      unfold total in *. simpl sum in *. order.
Qed.

Lemma largest_first (n : feature -> number) s order m :
  falling n order -> (forall i, In i order -> (0 <= n i)%number) -> (count s order <= m)%nat ->
  (total_of s n order <= total n (firstn m order))%number.
Proof.
  revert m. induction order as [|x r IH]; intros m Srt P C.
  - rewrite firstn_nil. apply le_refl.
  - inversion Srt as [|? ? Sr Lx]; subst. rewrite Forall_forall in Lx.
    unfold count in C. simpl in C. unfold total_of in *. destruct (s x) eqn:E.
    + destruct m as [|m]; [simpl in C; lia|]. simpl in C.
      specialize (IH m Sr (fun i I => P i (or_intror I)) ltac:(unfold count; lia)).
      simpl firstn. unfold total in *. simpl sum. rewrite E. order.
    + specialize (IH m Sr (fun i I => P i (or_intror I)) C). destruct m as [|m].
      * simpl firstn in *. unfold total in *. simpl sum in *. rewrite E. order.
      * pose proof (one_more_first n x r m (P x (or_introl eq_refl)) Lx).
        simpl firstn in *. unfold total in *. simpl sum in *. rewrite E. order.
Qed.

(** With at most [m] changes, the [m] largest falls of free features must fit, beside all of those that always move. *)
Theorem sufficiency_of_few (inside : input -> Prop) region claim s (drop : inequality -> feature -> number)
    (m : nat) (moving : set) (order : inequality -> list feature) :
  (forall y, inside y -> box region y /\ changes_at_most m moving y) ->
  (forall c i, In c claim -> In i features -> s i = false -> bounds region c i (drop c i)) ->
  (forall c i, In c claim -> (0 <= drop c i)%number) ->
  (forall i, In i features -> moving i = true -> s i = false) ->
  (forall c, In c claim ->
    Permutation (filter (fun i => negb (s i || moving i)) features) (order c) /\ falling (drop c) (order c)) ->
  (forall c, In c claim ->
    (total_of moving (drop c) features + total (drop c) (firstn m (order c)) <= margin_of c)%number) ->
  sufficient inside (all_hold claim) s.
Proof.
  intros B D P Mv O F y Y A c C. destruct (B y Y) as [In_box [t [T At]]]. destruct (O c C) as [Perm Srt].
  apply holds_by_falls. eapply le_trans; [|apply (F c C)].
  eapply le_trans; [|apply plus_le; [apply le_refl | apply (largest_first (drop c) t (order c) m Srt)]].
  - unfold total_of. rewrite <- (total_permutation _ _ _ Perm), total_filter, <- total_plus, <- total_of_real.
    apply total_le. intros i I. pose proof (P c i C) as Pos. specialize (Mv i I). specialize (At i I).
    specialize (A i I).
    specialize (D c i C I). cbv beta in At. destruct (s i) eqn:Si; destruct (moving i) eqn:Mi; simpl.
    + discriminate (Mv eq_refl).
    + rewrite (A eq_refl), fall_at_row, plus_0_l. apply le_refl.
    + rewrite plus_0_r. apply (D eq_refl), (In_box i I).
    + rewrite plus_0_l. destruct (t i) eqn:Ti; simpl in At.
      * apply (D eq_refl), (In_box i I).
      * rewrite (At eq_refl), fall_at_row. apply le_refl.
  - intros i I. apply (P c i C).
  - assert (L : (count t (order c) <= count t features)%nat); [|lia].
    unfold count. assert (E : length (filter t (order c))
      = length (filter t (filter (fun i => negb (s i || moving i)) features))).
    { apply Permutation_length. clear - Perm.
      induction Perm as [| x l l' _ IH | x z l | l l' l'' _ IH1 _ IH2]; simpl.
      - constructor.
      - destruct (t x); [constructor|]; auto.
      - destruct (t x), (t z); try apply Permutation_refl. constructor.
      - eapply Permutation_trans; eauto. }
    rewrite E. clear. induction features as [|i l IH]; simpl; [lia|].
    destruct (negb (s i || moving i)); simpl; destruct (t i); simpl; lia.
Qed.

(** * Insufficiency *)

(** An input that agrees with the row on the set and breaks an inequality. *)
Theorem insufficiency (inside : input -> Prop) claim s y c :
  inside y -> agrees s y -> In c claim -> ~ holds c y -> ~ sufficient inside (all_hold claim) s.
Proof. intros Y A C N Suff. apply N. apply (Suff y Y A c C). Qed.

(** A number is reached by falls of a feature over its region: one of them is as large; or, for a number a − ε,
    they come as close to a as one likes. *)
Definition attained region c i (n : number) : Prop :=
  exists v, region i v /\ (n <= of_real (fall c i v))%number.
Definition approached region c i (n : number) : Prop :=
  tiny n <= -1 /\ forall d, 0 < d -> exists v, region i v /\ real n - d < fall c i v.
Definition reached region c i n : Prop := attained region c i n \/ approached region c i n.

Lemma choose (P : feature -> value -> Prop) l :
  (forall i, In i l -> exists v, P i v) -> exists y : input, forall i, In i l -> P i (y i).
Proof.
  induction l as [|i l IH]; intros H.
  - exists row. intros i [].
  - destruct IH as [y Y]; [intros j J; apply H; right; exact J|].
    destruct (H i (or_introl eq_refl)) as [v V].
    exists (fun j => if Nat.eqb j i then v else y j). intros j [E | J].
    + subst. rewrite Nat.eqb_refl. exact V.
    + destruct (Nat.eqb j i) eqn:E; [apply Nat.eqb_eq in E; subst; exact V | apply Y; exact J].
Qed.

Lemma choose_moved (P : feature -> value -> Prop) (moved : set) :
  (forall i, In i features -> moved i = true -> exists v, P i v) ->
  exists y : input, agrees (others moved) y /\ forall i, In i features -> moved i = true -> P i (y i).
Proof.
  intros H. destruct (choose (fun i v => if moved i then P i v else v = row i) features) as [y Y].
  - intros i I. destruct (moved i) eqn:E; [apply H; auto | exists (row i); reflexivity].
  - exists y. split; intros i I E; specialize (Y i I); unfold others in *.
    + destruct (moved i); [discriminate | exact Y].
    + rewrite E in Y. exact Y.
Qed.

Lemma falls_of_moved c moved y :
  agrees (others moved) y ->
  sum (fun i => fall c i (y i)) features = sum (fun i => if moved i then fall c i (y i) else 0) features.
Proof.
  intros A. apply sum_ext. intros i I. destruct (moved i) eqn:E; [reflexivity|].
  rewrite (A i I ltac:(unfold others; rewrite E; reflexivity)). apply fall_at_row.
Qed.

Lemma attained_or_approached region c (moved : set) (n : feature -> number) l :
  (forall i, In i l -> moved i = true -> reached region c i (n i)) ->
  exists kind : set, forall i, In i l -> moved i = true ->
    if kind i then attained region c i (n i) else approached region c i (n i).
Proof.
  induction l as [|i l IH]; intros Rch.
  - exists (fun _ => true). intros i [].
  - destruct IH as [kind K]; [intros j J; apply Rch; right; exact J|].
    assert (Hi : exists b : bool, moved i = true ->
      if b then attained region c i (n i) else approached region c i (n i)).
    { destruct (moved i) eqn:M; [|exists true; discriminate].
      destruct (Rch i (or_introl eq_refl) M) as [At | Ap]; [exists true | exists false]; auto. }
    destruct Hi as [b B]. exists (fun j => if Nat.eqb j i then b else kind j). intros j J M.
    destruct (Nat.eqb j i) eqn:E; [apply Nat.eqb_eq in E; subst; exact (B M)|].
    apply K; auto. destruct J as [J | J]; [subst; rewrite Nat.eqb_refl in E; discriminate | exact J].
Qed.

(** Falls that are reached one by one are reached together: an input that moves just these features breaks the
    inequality if they are more than its margin. *)
Theorem break_together region c (moved : set) (n : feature -> number) :
  (forall i, In i features -> moved i = true -> reached region c i (n i)) ->
  (margin_of c < total_of moved n features)%number ->
  exists y, agrees (others moved) y /\ (forall i, In i features -> moved i = true -> region i (y i)) /\ ~ holds c y.
Proof.
  intros Rch Over. destruct (attained_or_approached _ _ _ _ _ Rch) as [kind K].
  (* Values for those attained; [extra] is what they fall beyond their numbers. *)
  destruct (choose_moved (fun i v => if kind i then region i v /\ (n i <= of_real (fall c i v))%number else True) moved)
    as [y0 [A0 Y0]].
  { intros i I M. specialize (K i I M). destruct (kind i); [exact K | exists (row i); exact Logic.I]. }
  set (beyond := fun i => if moved i && kind i then fall c i (y0 i) - real (n i) else 0).
  set (extra := sum beyond features). set (size := INR (length features)).
  assert (Beyond : forall i, In i features -> 0 <= beyond i).
  { intros i I. unfold beyond. destruct (moved i) eqn:M; simpl; [|lra]. specialize (Y0 i I M).
    destruct (kind i); [destruct Y0 as [_ L]; order | lra]. }
  assert (Extra : 0 <= extra) by (apply sum_nonneg; exact Beyond).
  (* The others come as close to theirs as one likes. *)
  assert (Near : forall d, 0 < d -> exists y, agrees (others moved) y
    /\ (forall i, In i features -> moved i = true -> region i (y i))
    /\ real (total_of moved n features) + extra - size * d <= sum (fun i => fall c i (y i)) features).
  { intros d D.
    destruct (choose_moved (fun i v => region i v /\ (if kind i then v = y0 i else real (n i) - d < fall c i v)) moved)
      as [y [A Y]].
    { intros i I M. specialize (K i I M). specialize (Y0 i I M). destruct (kind i); [|apply K; exact D].
      exists (y0 i). split; [apply Y0 | reflexivity]. }
    exists y. split; [exact A|]. split; [intros i I M; apply (Y i I M)|].
    rewrite (falls_of_moved c moved y A). unfold extra, size, total_of, total; simpl.
    rewrite <- (sum_const feature d features), <- sum_plus, <- sum_minus. apply sum_le. intros i I.
    specialize (Y i I). unfold beyond. destruct (moved i) eqn:M; simpl; [|lra].
    destruct (Y eq_refl) as [_ Yi]. destruct (kind i); [rewrite Yi|]; lra. }
  assert (Break : forall y, (margin_of c < of_real (sum (fun i => fall c i (y i)) features))%number -> ~ holds c y).
  { intros y L H. apply holds_by_falls in H. apply lt_not_le in L. contradiction. }
  assert (Size : 0 <= size) by (unfold size; apply pos_INR).
  destruct (Rlt_or_le (real (margin_of c)) (real (total_of moved n features) + extra)) as [More | Tie].
  - (* There is something to spare: come close enough. *)
    set (gap := real (total_of moved n features) + extra - real (margin_of c)) in *.
    assert (Step : 0 < gap / (size + 1)) by (apply Rdiv_lt_0_compat; unfold gap; lra).
    destruct (Near _ Step) as [y [A [Rg Sm]]].
    exists y. split; [exact A|]. split; [exact Rg|]. apply Break. left. simpl.
    assert (gap = size * (gap / (size + 1)) + gap / (size + 1)) by (field; lra).
    unfold gap in *. simpl in *. lra.
  - (* A tie: nothing falls beyond its number, so no tiny part is positive, and one that is approached would leave
       less than any margin. So all are attained. *)
    assert (None : forall i, In i features -> beyond i = 0).
    { intros i I. pose proof (term_at_most_sum _ beyond features i Beyond I). pose proof (Beyond i I).
      fold extra in H. destruct Over; lra. }
    assert (Tiny : forall i, In i features -> 0 <= - tiny (if moved i then n i else 0%number)).
    { intros i I. destruct (moved i) eqn:M; [|simpl; lra]. specialize (K i I M). specialize (Y0 i I M).
      specialize (None i I). unfold beyond in None. rewrite M in None.
      destruct (kind i); simpl in None; [destruct Y0 as [_ L]; order | destruct K; lra]. }
    assert (Att : forall i, In i features -> moved i = true -> kind i = true).
    { intros i I M. destruct (kind i) eqn:Ki; [reflexivity|]. exfalso.
      pose proof (term_at_most_sum _ _ features i Tiny I) as Low. cbv beta in Low. rewrite M in Low.
      specialize (K i I M). rewrite Ki in K. destruct K as [Ti _].
      assert (tiny (total_of moved n features) = - sum (fun i => - tiny (if moved i then n i else 0%number)) features).
      { rewrite sum_opp. unfold total_of, total; simpl. lra. }
      unfold margin_of, margin in *. destruct Over as [L | [_ L]]; simpl in *; [lra|]. destruct (is_strict c); lra. }
    exists y0. split; [exact A0|]. split.
    + intros i I M. specialize (Y0 i I M). rewrite (Att i I M) in Y0. apply Y0.
    + apply Break. apply lt_not_le. intros Le. apply lt_not_le in Over. apply Over.
      eapply le_trans; [|exact Le]. rewrite (falls_of_moved c moved y0 A0), <- total_of_real. apply total_le.
      intros i I. destruct (moved i) eqn:M; [|apply le_refl]. specialize (Y0 i I M). rewrite (Att i I M) in Y0.
      apply Y0.
Qed.

(** What every sufficient set obeys: the falls reached by any features that it leaves free, and that may move
    together, fit the margin. *)
Theorem necessary_condition (inside : input -> Prop) region claim s c (moved : set) (n : feature -> number) :
  sufficient inside (all_hold claim) s -> In c claim ->
  (forall i, In i features -> moved i = true -> s i = false) ->
  (forall y, agrees (others moved) y -> (forall i, In i features -> moved i = true -> region i (y i)) -> inside y) ->
  (forall i, In i features -> moved i = true -> reached region c i (n i)) ->
  (total_of moved n features <= margin_of c)%number.
Proof.
  intros Suff C Free May Rch. destruct (le_or_lt (total_of moved n features) (margin_of c)) as [L | L]; [exact L|].
  exfalso. destruct (break_together region c moved n Rch L) as [y [A [Rg N]]]. apply N.
  apply (Suff y (May y A Rg)); [|exact C]. intros i I S. apply (A i I). unfold others.
  destruct (moved i) eqn:M; [|reflexivity]. rewrite (Free i I M) in S. discriminate.
Qed.
End Model.
