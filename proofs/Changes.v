(** Contrasts: how much changes of few, or of cheap, items can lower an inequality.

    "No change of cost below k breaks the claim" says that keeping nothing suffices, if only so much may change. *)

From Coq Require Import Reals Lra Lia List Bool Arith ZArith Permutation Sorted.
From Suffice Require Import Numbers Claims Trees Cover Few.
Import ListNotations.
Open Scope R_scope.

Section Changes.
Variable features : list feature.
Variable items : list item.
Variable members : item -> list feature.
Variable item_of : feature -> item.
Hypothesis items_partition : Permutation features (flat_map members items).
Hypothesis members_know : forall k i, In k items -> In i (members k) -> item_of i = k.
Variable cost : item -> Z. (* 0 for what changes at no cost *)
Hypothesis cost_nonneg : forall k, In k items -> (0 <= cost k)%Z.
Variables base undecided : set. (* items that change at no cost, and those that may change *)
Variable budget : Z.
Variable m : nat. (* how many features may change at once *)

(** Bounds on the falls of one inequality. *)
Variable drop : feature -> number.
Hypothesis drop_nonneg : forall i, In i features -> (0 <= drop i)%number.

(** Features that change together: of items within the budget, and no more than [m]. *)
Definition affordable (x : set) : Prop := at_node base undecided x /\ (cost_of cost x items <= budget)%Z.
Definition change (t : set) : Prop :=
  (count t features <= m)%nat
  /\ exists x, affordable x /\ forall i, In i features -> t i = true -> x (item_of i) = true.

(** ** Leaves: a price for each feature that changes, and one for each unit of cost *)

Definition excess (each : R) (i : feature) : number := positive_part (drop i - of_real each).
Definition load (each : R) (k : item) : number := total (excess each) (members k).
Definition change_total (each price : R) (changed open : set) : number :=
  (times (INR m) (of_real each) + of_real (price * IZR (budget - cost_of cost changed items))
   + total (fun k => if changed k then load each k
       else if open k then positive_part (load each k - of_real (price * IZR (cost k))) else 0%number) items)%number.

Lemma load_nonneg each k : (0 <= load each k)%number.
Proof. apply total_nonneg. intros; apply positive_part_nonneg. Qed.

(** Each feature that changes falls by its price at most, and by what exceeds that. *)
Lemma falls_by_excess each (t x : set) : 0 <= each -> (count t features <= m)%nat ->
  (forall i, In i features -> t i = true -> x (item_of i) = true) ->
  (total_of t drop features <= times (INR m) (of_real each) + total_of x (load each) items)%number.
Proof.
  intros E C Sub.
  assert (One : (total_of t drop features
    <= total (fun i => if t i then of_real each else 0%number) features + total_of t (excess each) features)%number).
  { unfold total_of. rewrite <- total_plus. apply total_le. intros i I. destruct (t i); [|order].
    pose proof (positive_part_above (drop i - of_real each)). unfold excess. order. }
  eapply le_trans; [exact One|]. apply plus_le.
  - rewrite <- total_filter. assert (Eq : total (fun _ : nat => of_real each) (filter t features)
      = times (INR (count t features)) (of_real each)).
    { apply number_ext; simpl; rewrite (sum_const nat); unfold count; ring. }
    rewrite Eq. unfold le, times, of_real; simpl. apply le_INR in C.
    destruct (Req_dec each 0) as [Z | Z]; [right; rewrite Z; lra|].
    assert (INR (count t features) * each <= INR m * each) by (apply Rmult_le_compat_r; lra). lra.
  - unfold load.
    pose proof (total_by_items features items members item_of items_partition members_know x (excess each)) as T.
    unfold item_total in T. rewrite <- T. apply total_le. intros i I. specialize (Sub i I). unfold spread.
    destruct (t i); [rewrite Sub by reflexivity; apply le_refl|].
    destruct (x (item_of i)); [apply positive_part_nonneg | apply le_refl].
Qed.

Theorem change_leaf_bounds each price changed open x : 0 <= each -> 0 <= price -> at_node changed open x ->
  (cost_of cost x items <= budget)%Z -> forall t, (count t features <= m)%nat ->
  (forall i, In i features -> t i = true -> x (item_of i) = true) ->
  (total_of t drop features <= change_total each price changed open)%number.
Proof.
  intros E P [Ap [Lo Hi]] B t C Sub. eapply le_trans; [exact (falls_by_excess each t x E C Sub)|].
  unfold change_total.
  (* What open items that change cost is within what the budget leaves. *)
  set (more := fun k => x k && negb (changed k)).
  assert (Left : (cost_of cost more items <= budget - cost_of cost changed items)%Z).
  { assert (Eq : cost_of cost x items = (cost_of cost changed items + cost_of cost more items)%Z); [|lia].
    clear - Lo. unfold more. induction items as [|k l IH]; simpl; [reflexivity|]. rewrite IH. specialize (Lo k).
    destruct (changed k); [rewrite Lo by reflexivity|destruct (x k)]; simpl; lia. }
  assert (Pay : (total_of more (fun k => of_real (price * IZR (cost k))) items
    <= of_real (price * IZR (budget - cost_of cost changed items)))%number).
  { assert (Eq : total_of more (fun k => of_real (price * IZR (cost k))) items
      = of_real (price * IZR (cost_of cost more items))).
    { rewrite cost_of_sum, <- sum_times, <- total_of_real. apply total_ext. intros k _.
      destruct (more k); [reflexivity|].
      apply number_ext; simpl; ring. }
    rewrite Eq. apply IZR_le in Left. pose proof (Rmult_le_compat_l price _ _ P Left). order. }
  assert (Items : (total_of x (load each) items
    <= total_of more (fun k => of_real (price * IZR (cost k))) items
     + total (fun k => if changed k then load each k
         else if open k then positive_part (load each k - of_real (price * IZR (cost k))) else 0%number) items)%number).
  { unfold total_of. rewrite <- total_plus. apply total_le. intros k K. unfold more. specialize (Lo k).
    specialize (Hi k).
    unfold union in Hi. destruct (changed k).
    - rewrite Lo by reflexivity. simpl. rewrite plus_0_l. apply le_refl.
    - destruct (x k); simpl.
      + simpl in Hi. rewrite Hi by reflexivity.
        pose proof (positive_part_above (load each k - of_real (price * IZR (cost k)))). order.
      + rewrite plus_0_l. destruct (open k); [apply positive_part_nonneg | apply le_refl]. }
  eapply le_trans; [apply plus_le; [apply le_refl | exact Items]|].
  assert (Q := plus_le _ _ _ _ (le_refl (times (INR m) (of_real each))) Pay).
  eapply le_trans; [|apply plus_le; [exact Q | apply le_refl]]. unfold plus, le; simpl. right; lra.
Qed.

(** The tree as a whole: no change within the budget lowers the inequality by more than its margin. *)
Theorem no_cheap_change (limit : number) :
  closes (fun _ _ => false) affordable (fun changed open =>
      exists each price, 0 <= each /\ 0 <= price
        /\ (change_total each price changed open <= limit)%number) base undecided ->
  forall t, change t -> (total_of t drop features <= limit)%number.
Proof.
  intros T t [C [x [[N B] Sub]]].
  destruct (tree_reaches_leaf (fun _ _ => false) affordable _ undecided base undecided T (fun k K => K) x)
    as [changed [open [[each [price [E [P L]]]] A]]];
    [intros a b _ _ X; discriminate X | split; assumption | exact N |].
  eapply le_trans; [|exact L]. apply (change_leaf_bounds each price changed open x); auto.
Qed.

(** A subtree may be left out where what changes there is beyond the budget. *)
Lemma beyond_budget (more : set) : (budget < cost_of cost more items)%Z ->
  forall x, affordable x -> subset more x -> False.
Proof.
  intros L x [_ B] S. assert (Le : (cost_of cost more items <= cost_of cost x items)%Z); [|lia].
  clear - S cost_nonneg. induction items as [|k l IH]; simpl; [lia|].
  specialize (IH (fun j J => cost_nonneg j (or_intror J))). specialize (cost_nonneg k (or_introl eq_refl)).
  specialize (S k).
  destruct (more k); [rewrite S by reflexivity; lia | destruct (x k); lia].
Qed.

(** ** Where all items cost 1: the largest drops *)

Lemma few_items_change (b : nat) (x : set) dearest :
  (forall k, In k items -> undecided k = true -> cost k = 1%Z) -> budget = Z.of_nat b ->
  Permutation (filter undecided items) dearest -> affordable x -> (count x dearest <= b)%nat.
Proof.
  intros Unit Bud Pd [_ B].
  assert (Ct : count x dearest = count x (filter undecided items)) by (apply count_permutation, Permutation_sym, Pd).
  rewrite Ct. assert (Z : (Z.of_nat (count x (filter undecided items)) <= cost_of cost x items)%Z); [|lia].
  clear - Unit cost_nonneg. induction items as [|k l IH]; simpl; [unfold count; simpl; lia|].
  assert (IH' := IH (fun j J => cost_nonneg j (or_intror J)) (fun j J => Unit j (or_intror J))).
  specialize (cost_nonneg k (or_introl eq_refl)). specialize (Unit k (or_introl eq_refl)). unfold count in *.
  destruct (undecided k); simpl; destruct (x k); simpl; try rewrite Unit by reflexivity; lia.
Qed.

(** As many of the largest items as the budget allows, and all that changes at no cost. *)
Theorem no_change_of_few_items (limit : number) (b : nat) (dearest : list item) :
  (forall k, In k items -> undecided k = true -> cost k = 1%Z) -> budget = Z.of_nat b ->
  Permutation (filter undecided items) dearest -> falling (item_total members drop) dearest ->
  (total (item_total members drop) (firstn b dearest) + total_of base (item_total members drop) items
     <= limit)%number ->
  forall t, change t -> (total_of t drop features <= limit)%number.
Proof.
  intros Unit Bud Pd Sd L t [_ [x [Af Sub]]]. eapply le_trans; [|exact L].
  assert (Few := few_items_change b x dearest Unit Bud Pd Af). destruct Af as [[_ [_ Hi]] _].
  assert (Pos : forall k, In k items -> (0 <= item_total members drop k)%number).
  { intros k K. apply total_nonneg. intros i I. apply drop_nonneg.
    eapply Permutation_in; [apply Permutation_sym; exact items_partition|]. apply in_flat_map. eauto. }
  assert (All : (total_of t drop features <= total_of x (item_total members drop) items)%number).
  { rewrite <- (total_by_items features items members item_of items_partition members_know). apply total_le. intros i I.
    specialize (Sub i I). unfold spread. destruct (t i); [rewrite Sub by reflexivity; apply le_refl|].
    destruct (x (item_of i)); [apply drop_nonneg; exact I | apply le_refl]. }
  eapply le_trans; [exact All|].
  assert (Dear := largest_first (item_total members drop) x dearest b Sd).
  eapply le_trans; [|apply plus_le; [apply Dear; [|exact Few] | apply le_refl]].
  - unfold total_of. rewrite <- (total_permutation _ _ _ Pd), total_filter, <- total_plus. apply total_le. intros k K.
    specialize (Hi k). specialize (Pos k K). unfold union in Hi. clear - Hi Pos.
    generalize dependent (item_total members drop k). intros n Pos.
    destruct (x k); [specialize (Hi eq_refl) | clear Hi]; destruct (base k), (undecided k); try discriminate Hi; order.
  - intros k K. apply Pos. apply (Permutation_in k (Permutation_sym Pd)), filter_In in K. apply K.
Qed.

(** The same where at most [m] features may change, and each item is one: of these the [m] largest. *)

Theorem no_change_of_few_features (limit : number) (b : nat) (dearest chosen : list feature) :
  items = features -> (forall i, In i features -> item_of i = i) ->
  (forall k, In k items -> undecided k = true -> cost k = 1%Z) ->
  budget = Z.of_nat b ->
  Permutation (filter undecided features) dearest -> falling drop dearest ->
  Permutation (firstn b dearest ++ filter base features) chosen -> falling drop chosen ->
  (total drop (firstn m chosen) <= limit)%number ->
  forall t, change t -> (total_of t drop features <= limit)%number.
Proof.
  intros Eq One Unit Bud Pd Sd Pc Sc L t [C [x [Af Sub]]].
  eapply le_trans; [|exact L].
  assert (In_chosen : forall i, In i chosen -> In i features).
  { intros i I. apply (Permutation_in i (Permutation_sym Pc)) in I. apply in_app_or in I. destruct I as [I | I].
    - assert (In i dearest) as J by (rewrite <- (firstn_skipn b dearest); apply in_or_app; auto).
      apply (Permutation_in i (Permutation_sym Pd)), filter_In in J. apply J.
    - apply filter_In in I. apply I. }
  destruct (largest_attain drop m chosen Sc) as [nu [N At]]; [intros i I; apply drop_nonneg, In_chosen, I|].
  eapply le_trans; [|exact At].
  assert (Few := few_items_change b x dearest Unit Bud ltac:(rewrite Eq; exact Pd) Af). destruct Af as [[_ [_ Hi]] _].
  set (w := fun i => positive_part (drop i - nu)).
  assert (Sum : (total_of t drop features <= times (INR m) nu + total_of t w features)%number).
  { assert (Top := few_at_most nu m (map drop (filter t features)) N).
    rewrite firstn_all2 in Top by (rewrite map_length; exact C). rewrite !total_map, !total_filter in Top. exact Top. }
  eapply le_trans; [exact Sum|]. apply plus_le; [apply le_refl|].
  assert (Wp : forall i, (0 <= w i)%number) by (intros; apply positive_part_nonneg).
  rewrite <- (total_permutation _ _ _ Pc), total_app.
  assert (Dear := largest_first w x dearest b).
  eapply le_trans; [|apply plus_le; [apply Dear; [ | intros; apply Wp | exact Few] | apply le_refl]].
  - unfold total_of. rewrite <- (total_permutation _ _ _ Pd), !total_filter, <- total_plus. apply total_le. intros i I.
    specialize (Sub i I). rewrite (One i I) in Sub. specialize (Hi i). unfold union in Hi. specialize (Wp i).
    destruct (t i).
    + rewrite Sub in * by reflexivity. specialize (Hi eq_refl). clear - Hi Wp.
      destruct (base i), (undecided i); try discriminate Hi; order.
    + clear - Wp. destruct (base i), (undecided i), (x i); order.
  - clear - Sd. induction Sd as [|h r S IH F]; constructor; [exact IH|]. eapply Forall_impl; [|exact F].
    intros k K. apply positive_part_mono. order.
Qed.
End Changes.

(** * Contrasts *)

Section Contrast.
Variable value : Type.
Variable features : list feature.
Variable row : input value.

(** If the falls of every change fit the margin, no input that makes such a change breaks the inequality. *)
Theorem change_holds (region : feature -> value -> Prop) (c : inequality value) (drop : feature -> number) (t : set) y :
  (forall i, In i features -> t i = true -> bounds value row region c i (drop i)) ->
  (total_of t drop features <= margin_of value features row c)%number ->
  agrees value features row (others t) y -> box value features region y -> holds value features c y.
Proof.
  intros D L A B. apply (holds_by_falls value features row). eapply le_trans; [|exact L].
  rewrite <- total_of_real. apply total_le. intros i I. destruct (t i) eqn:T.
  - apply (D i I T), (B i I).
  - rewrite (A i I ltac:(unfold others; rewrite T; reflexivity)), fall_at_row. apply le_refl.
Qed.

(** So if changes of some kind fit every margin, every input of the region that makes one keeps the claim: keeping
    nothing suffices, if no more may change. *)
Theorem changes_keep_claim (region : feature -> value -> Prop) (claim : list (inequality value))
    (drop : inequality value -> feature -> number) (kind : set -> Prop) :
  (forall c t, In c claim -> kind t ->
    forall i, In i features -> t i = true -> bounds value row region c i (drop c i)) ->
  (forall c t, In c claim -> kind t -> (total_of t (drop c) features <= margin_of value features row c)%number) ->
  sufficient value features row
    (fun y => box value features region y /\ exists t, kind t /\ agrees value features row (others t) y)
    (all_hold value features claim) (fun _ => false).
Proof.
  intros D L y [B [t [K A]]] _ c C. apply (change_holds region c (drop c) t y); auto. apply (D c t C K).
Qed.
End Contrast.
