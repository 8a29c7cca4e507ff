(** Where at most m features may change at once, any m of the freed features must fit the limits.

    Then items no longer add up. A leaf counts how many open items fit at all, the lightest first. *)

From Coq Require Import Reals Lra Lia List Bool Arith ZArith Permutation Sorted.
From Suffice Require Import Numbers Claims Trees Cover.
Import ListNotations.
Open Scope R_scope.

(** * The largest and the lightest *)

Definition rising (n : nat -> number) : list nat -> Prop := StronglySorted (fun i j => (n i <= n j)%number).

Lemma one_more_last (n : nat -> number) x q r :
  (forall j, In j r -> (n x <= n j)%number) -> (S q <= length r)%nat ->
  (n x + total n (firstn q r) <= total n (firstn (S q) r))%number.
Proof.
  revert q. induction r as [|j r IH]; intros q L N; [simpl in N; lia|]. destruct q as [|q].
  - pose proof (L j (or_introl eq_refl)). simpl firstn. unfold total. simpl sum. order.
  - assert (E := IH q (fun k K => L k (or_intror K)) ltac:(simpl in N; lia)).
    change (firstn (S (S q)) (j :: r)) with (j :: firstn (S q) r).
    change (firstn (S q) (j :: r)) with (j :: firstn q r).
    unfold total in *. simpl sum in *. order.
Qed.

Lemma count_length s l : (count s l <= length l)%nat.
Proof. unfold count. induction l as [|i l IH]; simpl; [lia|]. destruct (s i); simpl; lia. Qed.

(** No [q] members weigh less than the [q] lightest. *)
Lemma lightest_first (n : nat -> number) s order q :
  rising n order -> (forall i, In i order -> (0 <= n i)%number) -> (q <= count s order)%nat ->
  (total n (firstn q order) <= total_of s n order)%number.
Proof.
  revert q. induction order as [|x r IH]; intros q Srt P C.
  - rewrite firstn_nil. apply le_refl.
  - inversion Srt as [|? ? Sr Lx]; subst. rewrite Forall_forall in Lx. destruct q as [|q].
    + simpl firstn. apply total_nonneg. intros i I. destruct (s i); [apply P; exact I | apply le_refl].
    + unfold count in C. simpl in C. unfold total_of in *. destruct (s x) eqn:E.
      * assert (H := IH q Sr (fun i I => P i (or_intror I)) ltac:(unfold count; simpl in C; lia)).
        simpl firstn. unfold total in *. simpl sum. rewrite E. order.
      * assert (H := IH (S q) Sr (fun i I => P i (or_intror I)) C).
        assert (M := one_more_last n x q r Lx ltac:(pose proof (count_length s r); unfold count in *; lia)).
        change (firstn (S q) (x :: r)) with (x :: firstn q r). unfold total in *. simpl sum in *. rewrite E. order.
Qed.

Lemma sorted_exists (n : nat -> number) l : exists l', Permutation l l' /\ falling n l'.
Proof.
  induction l as [|x l [l' [P S]]]; [exists []; split; constructor|].
  assert (Ins : exists r, Permutation (x :: l') r /\ falling n r).
  { clear P. induction S as [|h r S IH Lh]; [exists [x]; repeat constructor|].
    destruct (le_or_lt (n h) (n x)) as [L | L].
    - exists (x :: h :: r). split; [apply Permutation_refl|]. constructor; [constructor; assumption|].
      constructor; [exact L|]. eapply Forall_impl; [|exact Lh]. intros j J. exact (le_trans _ _ _ J L).
    - destruct IH as [r' [P' S']]. exists (h :: r'). split.
      + eapply Permutation_trans; [apply perm_swap | constructor; exact P'].
      + constructor; [exact S'|]. eapply Permutation_Forall; [exact P'|]. constructor; [order | exact Lh]. }
  destruct Ins as [r [P' S']]. exists r. split; [|exact S'].
  eapply Permutation_trans; [constructor; exact P | exact P'].
Qed.

(** Any [m] of some numbers are at most m·ν and what they exceed ν by, for every ν from 0 up. *)
Lemma few_at_most (nu : number) m (l : list number) : (0 <= nu)%number ->
  (total (fun x => x) (firstn m l) <= times (INR m) nu + total (fun x => positive_part (x - nu)) l)%number.
Proof.
  intros N. revert m. induction l as [|x l IH]; intros m.
  - rewrite firstn_nil. assert (T := times_le (INR m) 0%number nu (pos_INR m) N). unfold total. simpl sum. order.
  - destruct m as [|m].
    + simpl firstn. change (INR 0) with 0.
      assert (T : (0 <= total (fun x => positive_part (x - nu)) (x :: l))%number)
        by (apply total_nonneg; intros; apply positive_part_nonneg).
      unfold total in *. simpl sum in *. order.
    + specialize (IH m). change (firstn (S m) (x :: l)) with (x :: firstn m l). rewrite S_INR.
      pose proof (positive_part_above (x - nu)%number) as Up.
      assert (More : times (INR m + 1) nu = (times (INR m) nu + nu)%number) by (apply number_ext; simpl; ring).
      rewrite More. unfold total in *. cbn [sum] in *. order.
Qed.

(** For some ν, the [m] largest are no less than that. *)
Lemma largest_attain (w : nat -> number) m l : falling w l -> (forall i, In i l -> (0 <= w i)%number) ->
  exists nu, (0 <= nu)%number
    /\ (times (INR m) nu + total (fun i => positive_part (w i - nu)) l <= total w (firstn m l))%number.
Proof.
  intros Srt P. destruct (le_lt_dec (length l) m) as [Short | Long].
  - exists 0%number. split; [apply le_refl|]. rewrite firstn_all2 by exact Short.
    assert (E : total (fun i => positive_part (w i - 0)) l = total w l).
    { apply total_ext. intros i I. unfold positive_part.
      assert (Z : (w i - 0)%number = w i) by (apply number_ext; simpl; lra). rewrite Z.
      destruct (le_dec 0%number (w i)) as [_ | N]; [reflexivity|]. destruct N. apply P, I. }
    rewrite E. unfold times, of_real. simpl. rewrite Rmult_0_r. order.
  - assert (Split : exists a x b, l = a ++ x :: b /\ length a = m).
    { clear - Long. generalize dependent m. induction l as [|y l IH]; intros q Long; simpl in Long; [lia|].
      destruct q as [|q]; [exists [], y, l; auto|]. destruct (IH q ltac:(lia)) as [a [x [b [E L]]]].
      exists (y :: a), x, b. subst. auto. }
    destruct Split as [a [x [b [E L]]]]. exists (w x). split; [apply P; rewrite E; apply in_elt|].
    assert (Fa : firstn m l = a) by (rewrite E, <- L, firstn_app, firstn_all, Nat.sub_diag; simpl; apply app_nil_r).
    rewrite Fa, E, total_app.
    assert (Order : (forall i, In i a -> (w x <= w i)%number) /\ (forall i, In i (x :: b) -> (w i <= w x)%number)).
    { rewrite E in Srt. clear - Srt. split.
      - induction a as [|y a IH]; intros i I; [destruct I|]. simpl in Srt. inversion Srt; subst.
        destruct I as [Q | I]; [subst | apply IH; auto]. rewrite Forall_forall in H2. apply H2, in_elt.
      - induction a as [|y a IH]; simpl in Srt; inversion Srt; subst; [|auto].
        intros i [Q | I]; [subst; apply le_refl|]. rewrite Forall_forall in H2. apply H2; exact I. }
    destruct Order as [Above Below].
    assert (Zero : total (fun i => positive_part (w i - w x)) (x :: b) = 0%number).
    { rewrite (total_ext _ (fun _ => 0%number)); [apply total_zero|]. intros i I.
      specialize (Below i I). unfold positive_part. destruct (le_dec 0%number (w i - w x)) as [Q | Q]; [|reflexivity].
      apply number_ext; order. }
    assert (Sum : total (fun i => positive_part (w i - w x)) a = (total w a - times (INR m) (w x))%number).
    { rewrite (total_ext _ (fun i => (w i + times (-1) (w x))%number)).
      - rewrite total_plus. apply number_ext; unfold total, plus, minus, times; cbn [real tiny];
          rewrite (sum_const nat _ a), L; ring.
      - intros i I. specialize (Above i I). unfold positive_part. destruct (le_dec 0%number (w i - w x)) as [Q | Q].
        + apply number_ext; simpl; ring.
        + destruct Q. order. }
    rewrite Zero, Sum, plus_0_r. unfold total, plus, minus, times, le; simpl. right; lra.
Qed.

Section Few.
Variable features : list feature.
Hypothesis features_differ : NoDup features.
Variable items : list item.
Hypothesis items_differ : NoDup items.
Variable members : item -> list feature.
Variable item_of : feature -> item.
Hypothesis items_partition : Permutation features (flat_map members items).
Hypothesis members_know : forall k i, In k items -> In i (members k) -> item_of i = k.
Variable cost : item -> Z.
Hypothesis cost_nonneg : forall k, In k items -> (0 <= cost k)%Z.
Variable constraints : list constraint. (* with a drop for each feature *)
Hypothesis drop_nonneg : forall c i, In c constraints -> In i features -> (0 <= drop c i)%number.
Variable m : nat.

Definition of_items (f : set) : set := fun i => f (item_of i).

(** Any [m] of the features that are freed fit every limit. *)
Definition few_fit (f : set) : Prop := forall c (t : set), In c constraints ->
  (forall i, In i features -> t i = true -> of_items f i = true) -> (count t features <= m)%nat ->
  (total_of t (drop c) features <= limit c)%number.

Lemma few_weights_fit weighted f t : valid constraints weighted -> few_fit f ->
  (forall i, In i features -> t i = true -> of_items f i = true) -> (count t features <= m)%nat ->
  (total_of t (weight weighted) features <= room weighted)%number.
Proof.
  intros V F Sub C. rewrite total_of_weight. apply total_le. intros p P. destruct (V p P) as [Nn I].
  apply times_le; [exact Nn | apply F; assumption].
Qed.

Lemma weight_nonneg weighted i : valid constraints weighted -> In i features -> (0 <= weight weighted i)%number.
Proof.
  intros V I. apply total_nonneg. intros p P. destruct (V p P) as [Nn C].
  pose proof (times_le (fst p) 0%number (drop (snd p) i) Nn (drop_nonneg _ _ C I)) as T.
  unfold times in T at 1. unfold of_real in T at 1. simpl in T. rewrite !Rmult_0_r in T. exact T.
Qed.

(** Some [m] freed features weigh m·ν and what all of them exceed ν by, for some ν. *)
Lemma few_attained (w : feature -> number) (s : set) : (forall i, In i features -> (0 <= w i)%number) ->
  exists t nu, (0 <= nu)%number /\ (forall i, t i = true -> s i = true) /\ (count t features <= m)%nat
    /\ (times (INR m) nu + total_of s (fun i => positive_part (w i - nu)) features <= total_of t w features)%number.
Proof.
  intros P. destruct (sorted_exists w (filter s features)) as [l [Perm Srt]].
  assert (Dl : NoDup l) by (eapply Permutation_NoDup; [exact Perm | apply NoDup_filter; exact features_differ]).
  assert (Inl : forall i, In i l <-> In i features /\ s i = true).
  { intros i. rewrite <- filter_In. split; intros I; [eapply Permutation_in; [apply Permutation_sym|]; eauto |
      eapply Permutation_in; eauto]. }
  set (t := fun i => existsb (Nat.eqb i) (firstn m l)).
  assert (T : forall i, t i = true <-> In i (firstn m l)).
  { intros i. unfold t. rewrite existsb_exists. split; [intros [j [J E]]; apply Nat.eqb_eq in E; subst; exact J|].
    intros I. exists i. rewrite Nat.eqb_refl. auto. }
  assert (First : forall i, In i (firstn m l) -> In i l).
  { intros i I. rewrite <- (firstn_skipn m l). apply in_or_app. auto. }
  assert (Df : NoDup (firstn m l)).
  { rewrite <- (firstn_skipn m l) in Dl. clear - Dl. induction (firstn m l) as [|i r IH]; constructor;
      simpl in Dl; inversion Dl; subst; [intros I; apply H1, in_or_app; auto | auto]. }
  assert (Pt : Permutation (filter t features) (firstn m l)).
  { apply NoDup_Permutation; [apply NoDup_filter; exact features_differ | exact Df|].
    intros i. rewrite filter_In, T. split; [tauto|]. intros I. split; [apply Inl, First, I | exact I]. }
  assert (Total : total_of t w features = total w (firstn m l)).
  { unfold total_of. rewrite <- total_filter. apply total_permutation. exact Pt. }
  assert (TotalS : forall nu, total_of s (fun i => positive_part (w i - nu)) features
      = total (fun i => positive_part (w i - nu)) l).
  { intros nu. unfold total_of. rewrite <- total_filter. apply total_permutation. exact Perm. }
  exists t.
  assert (Size : (count t features <= m)%nat).
  { unfold count. rewrite (Permutation_length Pt). apply firstn_le_length. }
  assert (Sub : forall i, t i = true -> s i = true) by (intros i Ti; apply T, First, Inl in Ti; apply Ti).
  destruct (largest_attain w m l Srt) as [nu [N At]]; [intros i I; apply P, Inl, I|].
  exists nu. rewrite Total, TotalS. auto.
Qed.

(** A leaf: of the open items, in the order of a member's weight, the lightest j + 1 do not fit beside what is
    freed, so at most j are freed, which cost no more than the j dearest. *)
Definition few_leaf (most : Z) (freed open : set) : Prop :=
  exists weighted (load : item -> number) (lightest dearest : list item) (j : nat) (chosen : list number),
    valid constraints weighted
    /\ (forall k, In k items -> open k = true -> exists i, In i (members k) /\ load k = weight weighted i)
    /\ Permutation (filter open items) lightest /\ rising load lightest
    /\ ((length lightest <= j)%nat
        \/ (Permutation chosen
              (map (weight weighted) (filter (of_items freed) features) ++ map load (firstn (S j) lightest))
            /\ (room weighted < total (fun x => x) (firstn m chosen))%number))
    /\ Permutation (filter open items) dearest /\ falling (fun k => of_real (IZR (cost k))) dearest
    /\ (cost_of cost freed items + cost_of cost (fun _ => true) (firstn j dearest) <= most)%Z.

Lemma count_permutation s l l' : Permutation l l' -> count s l = count s l'.
Proof.
  unfold count. induction 1 as [| x l l' _ IH | x y l | l l' l'' _ IH1 _ IH2]; simpl; auto.
  - destruct (s x); simpl; auto.
  - destruct (s x), (s y); reflexivity.
  - congruence.
Qed.

Theorem few_leaf_sound most freed open f :
  few_leaf most freed open -> few_fit f -> at_node freed open f -> (cost_of cost f items <= most)%Z.
Proof.
  intros [weighted [load [lightest [dearest [j [chosen [V [Load [Pl [Rl [Most [Pd [Fd Cost]]]]]]]]]]]]] F [Ap [Lo Hi]].
  set (w := weight weighted) in *.
  assert (Wp : forall i, In i features -> (0 <= w i)%number) by (intros; apply weight_nonneg; assumption).
  assert (Inl : forall k, In k lightest -> In k items /\ open k = true).
  { intros k K. apply filter_In. eapply Permutation_in; [apply Permutation_sym; exact Pl | exact K]. }
  assert (Member : forall k i, In k items -> In i (members k) -> In i features).
  { intros k i K I. eapply Permutation_in; [apply Permutation_sym; exact items_partition|]. apply in_flat_map. eauto. }
  assert (Few : (count f lightest <= j)%nat).
  { destruct Most as [Short | [Pc Over]]; [pose proof (count_length f lightest); lia|].
    destruct (le_lt_dec (count f lightest) j) as [Q | Q]; [exact Q|]. exfalso.
    destruct (few_attained w (of_items f) Wp) as [t [nu [N [Sub [Ct At]]]]].
    assert (Fit := few_weights_fit weighted f t V F (fun i _ => Sub i) Ct). fold w in Fit.
    assert (Top := few_at_most nu m chosen N).
    assert (Le : (total (fun x => positive_part (x - nu)) chosen
      <= total_of (of_items f) (fun i => positive_part (w i - nu)) features)%number).
    { rewrite (total_permutation _ _ _ Pc), total_app, !total_map, total_filter.
      assert (Light := lightest_first (fun k => positive_part (load k - nu)) f lightest (S j)).
      eapply le_trans; [apply plus_le; [apply le_refl | apply Light]|].
      - clear - Rl. induction Rl as [|h r S IH L]; constructor; [exact IH|].
        eapply Forall_impl; [|exact L]. intros k K. apply positive_part_mono. order.
      - intros; apply positive_part_nonneg.
      - lia.
      - unfold total_of at 1. rewrite <- (total_permutation _ _ _ Pl), total_filter. unfold total_of.
        rewrite !(total_permutation _ _ _ items_partition), !total_flat_map, <- total_plus. apply total_le. intros k K.
        rewrite (total_ext (fun i => if of_items freed i then _ else _)
          (fun i => if freed k then positive_part (w i - nu) else 0%number) (members k)),
          (total_ext (fun i => if of_items f i then _ else _)
          (fun i => if f k then positive_part (w i - nu) else 0%number) (members k));
          [| intros i I; unfold of_items; rewrite (members_know k i K I); reflexivity
           | intros i I; unfold of_items; rewrite (members_know k i K I); reflexivity].
        specialize (Lo k). specialize (Ap k). destruct (freed k).
        + rewrite (Lo eq_refl), (Ap eq_refl), plus_0_r. apply le_refl.
        + rewrite total_zero, plus_0_l. destruct (f k) eqn:Fk.
          * destruct (open k) eqn:Ok; [|apply total_nonneg; intros; apply positive_part_nonneg].
            destruct (Load k K Ok) as [i [I E]]. rewrite E. fold w.
            apply (term_at_most_total (fun i => positive_part (w i - nu)) (members k) i); [|exact I].
            intros; apply positive_part_nonneg.
          * destruct (open k); rewrite total_zero; apply le_refl. }
    apply lt_not_le in Over. apply Over. eapply le_trans; [exact Top|]. eapply le_trans; [|exact Fit].
    eapply le_trans; [|exact At]. apply plus_le; [apply le_refl | exact Le]. }
  assert (Fewd : (count f dearest <= j)%nat).
  { rewrite (count_permutation f dearest lightest); [exact Few|].
    eapply Permutation_trans; [apply Permutation_sym; exact Pd | exact Pl]. }
  assert (Dear := largest_first (fun k => of_real (IZR (cost k))) f dearest j Fd).
  assert (Total : (cost_of cost f items <= cost_of cost freed items + cost_of cost f dearest)%Z).
  { assert (E : cost_of cost f dearest = cost_of cost f (filter open items)).
    { apply eq_IZR. rewrite !cost_of_sum. apply sum_permutation, Permutation_sym, Pd. }
    rewrite E. clear - Hi cost_nonneg Ap. induction items as [|k l IH]; simpl; [lia|].
    specialize (IH (fun j J => cost_nonneg j (or_intror J))). specialize (cost_nonneg k (or_introl eq_refl)).
    specialize (Hi k). unfold union in Hi.
    destruct (f k) eqn:Fk; destruct (freed k), (open k); simpl; rewrite ?Fk; try lia. }
  assert (Le : (cost_of cost f dearest <= cost_of cost (fun _ => true) (firstn j dearest))%Z); [|lia].
  apply le_IZR. assert (Q : (of_real (IZR (cost_of cost f dearest))
      <= of_real (IZR (cost_of cost (fun _ => true) (firstn j dearest))))%number); [|order].
  rewrite !cost_of_total. unfold total_of at 2. apply Dear; [|exact Fewd].
  intros k K. assert (In k (filter open items)) as I
    by (eapply Permutation_in; [apply Permutation_sym; exact Pd | exact K]).
  apply filter_In in I. destruct I as [I _]. apply cost_nonneg, IZR_le in I. order.
Qed.

(** Where freed features break a limit, [m] of them at once, so does all that frees more. *)
Lemma few_breaking_is_infeasible c freed (t : set) :
  In c constraints -> (forall i, In i features -> t i = true -> of_items freed i = true) ->
  (count t features <= m)%nat ->
  (limit c < total_of t (drop c) features)%number -> forall f, few_fit f -> subset freed f -> False.
Proof.
  intros C Sub Ct L f F S. apply lt_not_le in L. apply L. apply (F c t C); auto. intros i I Ti. apply S, (Sub i I Ti).
Qed.

(** If no fewer than all may change, items add up again. *)
Lemma few_is_all f : (length features <= m)%nat -> few_fit f ->
  fits items (map (fun c => Constraint (item_total members (drop c)) (limit c)) constraints) f.
Proof.
  intros M F d D. apply in_map_iff in D. destruct D as [c [E C]]. subst d. simpl.
  rewrite <- (total_by_items features items members item_of items_partition members_know).
  apply (F c (spread item_of f) C); [auto|]. pose proof (count_length (spread item_of f) features). lia.
Qed.
End Few.

(** ** Better items, where each is one feature *)

Section Single.
Variable features : list feature.
Hypothesis features_differ : NoDup features.
Variable cost : item -> Z.
Variable constraints : list constraint.
Variable m : nat.
Let feasible := few_fit features (fun i => i) constraints m.

Lemma count_swapped (t : set) a b : In a features -> In b features -> t a = false -> t b = true ->
  count (swap a b t) features = count t features.
Proof.
  intros Ia Ib Ta Tb. apply INR_eq. unfold count.
  assert (E : forall s : set, INR (length (filter s features)) = sum (fun k => if s k then 1 else 0) features).
  { intros s. rewrite <- (sum_filter nat s (fun _ => 1)), (sum_const nat 1). lra. }
  rewrite !E, (sum_swapped (fun _ => 1) t a b features); auto. lra.
Qed.

Lemma swap_keeps_few a b f : In a features -> In b features -> dominates cost constraints a b ->
  f a = false -> f b = true -> feasible f ->
  feasible (swap a b f) /\ IZR (cost_of cost f features) <= IZR (cost_of cost (swap a b f) features).
Proof.
  intros Ia Ib [C D] Fa Fb F. split.
  - intros c t Hc Sub Ct. unfold of_items in *. assert (Ne : b <> a) by congruence.
    assert (Tb : t b = false).
    { destruct (t b) eqn:E; [|reflexivity]. specialize (Sub b Ib E). unfold swap in Sub.
      rewrite (proj2 (Nat.eqb_neq b a) Ne), Nat.eqb_refl in Sub. discriminate. }
    destruct (t a) eqn:Ta.
    + (* the same features with b in place of a *)
      assert (Old := F c (swap b a t) Hc).
      rewrite (count_swapped t b a Ib Ia Tb Ta) in Old. specialize (D c Hc).
      rewrite (total_swapped features features_differ (drop c) t b a Ib Ia Tb Ta) in Old.
      assert (Sub' : forall i, In i features -> swap b a t i = true -> of_items (fun i => i) f i = true).
      { intros i I T. unfold of_items, swap in T.
        destruct (Nat.eqb i b) eqn:E; [apply Nat.eqb_eq in E; subst; exact Fb|].
        destruct (Nat.eqb i a) eqn:E'; [discriminate|]. specialize (Sub i I T). unfold swap in Sub.
        rewrite E, E' in Sub. exact Sub. }
      specialize (Old Sub' Ct). order.
    + apply (F c t Hc); [|exact Ct]. intros i I T. specialize (Sub i I T). unfold swap in Sub. unfold of_items.
      destruct (Nat.eqb i a) eqn:E; [apply Nat.eqb_eq in E; congruence|].
      destruct (Nat.eqb i b) eqn:E'; [discriminate | exact Sub].
  - rewrite !cost_of_sum, (sum_swapped (fun k => IZR (cost k)) f a b features features_differ Ia Ib Fa Fb).
    apply IZR_le in C. lra.
Qed.
End Single.
