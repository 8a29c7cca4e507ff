(** What certificates say, put together: minimal sets, contrasts, radii, curves, enumerations and relevance. *)

From Coq Require Import Reals Lra Lia List Bool Arith ZArith Permutation Sorted ClassicalDedekindReals.
From Suffice Require Import Numbers Claims Trees Cover Few.
Import ListNotations.
Open Scope R_scope.

Section Question.
Variable value : Type.
Variable features : list feature.
Hypothesis features_differ : NoDup features.
Variable row : input value.
Variable items : list item.
Hypothesis items_differ : NoDup items.
Variable members : item -> list feature.
Variable item_of : feature -> item.
Hypothesis items_partition : Permutation features (flat_map members items).
Hypothesis members_know : forall k i, In k items -> In i (members k) -> item_of i = k.

(** Items that must be free, and items that are neither free nor fixed from the start. All others must be fixed. *)
Variables base undecided : set.
Hypothesis base_apart : apart base undecided.
Hypothesis undecided_items : forall k, undecided k = true -> In k items.

Variable cost : item -> Z. (* 0 for what must be free, for it is never fixed *)

(** Sets of items that are kept; the features they hold; what they leave free. *)
Implicit Type kept : set.
Definition holding kept : set := fun i => kept (item_of i).
Definition freed_by kept : set := fun k => existsb (Nat.eqb k) items && negb (kept k).
Definition allowed kept : Prop := at_node base undecided (freed_by kept).

Lemma freed_by_true kept k : freed_by kept k = true <-> In k items /\ kept k = false.
Proof.
  unfold freed_by. rewrite andb_true_iff, negb_true_iff, existsb_exists. split.
  - intros [[j [J E]] N]. apply Nat.eqb_eq in E. subst. auto.
  - intros [I N]. split; [|exact N]. exists k. rewrite Nat.eqb_refl. auto.
Qed.

Lemma item_of_feature i : In i features -> In (item_of i) items.
Proof.
  intros I. pose proof (Permutation_in i items_partition I) as F. apply in_flat_map in F. destruct F as [k [K M]].
  rewrite (members_know k i K M). exact K.
Qed.

(** The inputs that there are, what must stay true, and inequalities that are true wherever it is. *)
Variables inside truth : input value -> Prop.
Variable region : feature -> value -> Prop.
Variable loose : list (inequality value).
Hypothesis truth_implies : forall y, truth y -> all_hold value features loose y.

Definition suffices kept : Prop := sufficient value features row inside truth (holding kept).

(** Inputs of the region that change at most [m] features are among those that there are. *)
Variable m : nat.
Hypothesis few_inside : forall t y, (count t features <= m)%nat -> agrees value features row (others t) y ->
  (forall i, In i features -> t i = true -> region i (y i)) -> inside y.

(** Falls that witnesses show. *)
Variable shown : inequality value -> feature -> number.
Hypothesis shown_reached : forall c i, In c loose -> In i features -> reached value row region c i (shown c i).
Hypothesis shown_nonneg : forall c i, In c loose -> In i features -> (0 <= shown c i)%number.

Definition limits : list constraint :=
  map (fun c => Constraint (shown c) (margin_of value features row c)) loose.
Definition item_limits : list constraint := map (fun c => Constraint (item_total members (drop c)) (limit c)) limits.

Lemma limits_nonneg d i : In d limits -> In i features -> (0 <= drop d i)%number.
Proof. intros D I. apply in_map_iff in D. destruct D as [c [E C]]. subst d. apply shown_nonneg; auto. Qed.

(** What a sufficient set leaves free fits all limits, any [m] features at a time. *)
Theorem sufficient_fits kept : suffices kept -> few_fit features item_of limits m (freed_by kept).
Proof.
  intros Suff d t D Sub Ct. unfold limits in D. apply in_map_iff in D. destruct D as [c [E C]]. subst d. simpl.
  apply (necessary_condition value features row inside region loose (holding kept)); auto.
  - intros y Y A. apply truth_implies, (Suff y Y A).
  - intros i I T. specialize (Sub i I T). apply freed_by_true in Sub. apply Sub.
  - intros y A Rg. apply (few_inside t y Ct A Rg).
Qed.

(** * No cheaper set *)

Lemma cost_kept kept :
  (cost_of cost kept items + cost_of cost (freed_by kept) items = cost_of cost (fun _ => true) items)%Z.
Proof.
  assert (G : forall l, (forall k, In k l -> In k items) ->
    (cost_of cost kept l + cost_of cost (freed_by kept) l = cost_of cost (fun _ => true) l)%Z); [|apply G; auto].
  induction l as [|k l IH]; simpl; intros S; [reflexivity|]. specialize (IH (fun j J => S j (or_intror J))).
  pose proof (freed_by_true kept k) as T. pose proof (S k (or_introl eq_refl)) as I.
  destruct (kept k), (freed_by kept k); try lia. discriminate (proj2 T (conj I eq_refl)).
Qed.

(** Every allowed set that suffices costs [least] at the least, where all features may change at once... *)
Theorem no_cheaper_set (better : item -> item -> bool) least :
  (length features <= m)%nat ->
  (forall a b, better a b = true -> dominates cost item_limits a b) ->
  (forall a, better a a = false) ->
  (forall a b c, better a b = true -> better b c = true -> better a c = true) ->
  closes better (fits items item_limits)
    (bound_leaf items cost item_limits (cost_of cost (fun _ => true) items - least)) base undecided ->
  forall kept, allowed kept -> suffices kept -> (least <= cost_of cost kept items)%Z.
Proof.
  intros M Dom Irr Tr C kept A Suff. pose proof (cost_kept kept) as Sum.
  pose proof (sufficient_fits kept Suff) as F.
  apply (few_is_all features items members item_of items_partition members_know limits m) in F; [|exact M].
  pose proof (tree_bounds_cost items items_differ cost item_limits better base undecided _ Dom Irr Tr undecided_items C
    (freed_by kept) F A). lia.
Qed.

(** ... and where at most [m] may. Then an item is better than another only where each is one feature. *)
Theorem no_cheaper_set_of_few (better : item -> item -> bool) least :
  (forall k, In k items -> (0 <= cost k)%Z) ->
  (forall a b, better a b = true ->
    dominates cost limits a b /\ items = features /\ forall i, In i features -> item_of i = i) ->
  (forall a, better a a = false) ->
  (forall a b c, better a b = true -> better b c = true -> better a c = true) ->
  closes better (few_fit features item_of limits m)
    (few_leaf features items members item_of cost limits m (cost_of cost (fun _ => true) items - least))
    base undecided ->
  forall kept, allowed kept -> suffices kept -> (least <= cost_of cost kept items)%Z.
Proof.
  intros Pos Dom Irr Tr C kept A Suff. pose proof (cost_kept kept) as Sum.
  pose proof (sufficient_fits kept Suff) as F.
  assert (Le : (cost_of cost (freed_by kept) items <= cost_of cost (fun _ => true) items - least)%Z); [|lia].
  refine (tree_bounds better _ _ items cost base undecided _ items_differ _ _ Irr Tr undecided_items C _ F A).
  - intros freed open f.
    apply (few_leaf_sound features features_differ items members item_of items_partition members_know
      cost Pos limits limits_nonneg).
  - intros f a b Ia Ib B Fa Fb Ff. destruct (Dom a b B) as [D [Ei One]].
    assert (Same : forall g, few_fit features item_of limits m g <-> few_fit features (fun i => i) limits m g).
    { intros g. unfold few_fit, of_items. split; intros G c t Hc Sub Ct; apply (G c t Hc); auto; intros i I T;
        specialize (Sub i I T); rewrite One in *; auto. }
    rewrite Same in *. rewrite Ei in *. apply swap_keeps_few; auto.
Qed.

(** * Sets that contain one another *)

Definition less kept (k : item) : set := fun j => kept j && negb (Nat.eqb j k).

Lemma suffices_mono kept kept' :
  (forall k, In k items -> kept k = true -> kept' k = true) -> suffices kept -> suffices kept'.
Proof.
  intros S. apply sufficient_mono; auto. intros i I K. apply S; [apply item_of_feature; exact I | exact K].
Qed.

(** Minimal: without any one item that need not be kept, it does not suffice. Then no allowed set inside it does. *)
Definition minimal kept : Prop :=
  allowed kept /\ suffices kept
  /\ forall k, In k items -> undecided k = true -> kept k = true -> ~ suffices (less kept k).

Theorem minimal_has_no_sufficient_subset kept kept' :
  minimal kept -> allowed kept' -> suffices kept' -> (forall k, In k items -> kept' k = true -> kept k = true) ->
  forall k, In k items -> kept k = true -> kept' k = true.
Proof.
  intros [A [_ Min]] A' S' Sub k I K. destruct (kept' k) eqn:E; [reflexivity|]. exfalso.
  assert (U : undecided k = true).
  { destruct A' as [_ [_ Hi]]. specialize (Hi k). rewrite union_true, freed_by_true in Hi.
    destruct (Hi (conj I E)) as [B | U]; [|exact U]. destruct A as [_ [Lo _]]. apply Lo, freed_by_true in B.
    destruct B; congruence. }
  apply (Min k I U K). revert S'. apply suffices_mono. intros j J Kj. unfold less. rewrite (Sub j J Kj). simpl.
  destruct (Nat.eqb j k) eqn:Q; [apply Nat.eqb_eq in Q; congruence | reflexivity].
Qed.

(** What breaks a limit is not left free by any set that suffices. *)
Definition breaks (f : set) : Prop := exists c t, In c limits
  /\ (forall i, In i features -> t i = true -> of_items item_of f i = true) /\ (count t features <= m)%nat
  /\ (limit c < total_of t (drop c) features)%number.

Lemma breaking_is_insufficient f kept : breaks f -> subset f (freed_by kept) -> ~ suffices kept.
Proof.
  intros [c [t [C [Sub [Ct L]]]]] S Suff.
  exact (few_breaking_is_infeasible features item_of limits m c f t C Sub Ct L _ (sufficient_fits kept Suff) S).
Qed.

(** * Enumeration *)

Definition no_better (a b : item) : bool := false.
Definition listed_leaf (listed : list set) (freed open : set) : Prop :=
  exists kept, In kept listed /\ forall k, In k items -> kept k = true -> freed k = false /\ open k = false.

Lemma any_takes_better f : takes_better no_better undecided f.
Proof. intros a b _ _ B. discriminate B. Qed.

(** If every leaf has a listed set among what it keeps, or leaves no candidate that costs at most [dearest], then
    every allowed set that suffices and costs at most [dearest] contains a listed set. *)
Theorem enumeration_is_complete (listed : list set) dearest :
  (length features <= m)%nat ->
  closes no_better (fits items item_limits) (fun freed open => listed_leaf listed freed open
    \/ bound_leaf items cost item_limits (cost_of cost (fun _ => true) items - dearest - 1) freed open)
    base undecided ->
  forall kept, allowed kept -> suffices kept -> (cost_of cost kept items <= dearest)%Z ->
  exists one, In one listed /\ forall k, In k items -> one k = true -> kept k = true.
Proof.
  intros M C kept A Suff Cost. pose proof (cost_kept kept) as Sum. pose proof (sufficient_fits kept Suff) as F.
  apply (few_is_all features items members item_of items_partition members_know limits m) in F; [|exact M].
  destruct (tree_reaches_leaf no_better (fits items item_limits) _ undecided base undecided C (fun k K => K)
    (freed_by kept)
    (any_takes_better _) F A) as [freed [open [[L | L] N]]].
  - destruct L as [one [I L]]. exists one. split; [exact I|]. intros k K O. destruct (kept k) eqn:E; [reflexivity|].
    exfalso. destruct (L k K O) as [Nf No]. destruct N as [_ [_ Hi]]. specialize (Hi k).
    rewrite union_true, freed_by_true, Nf, No in Hi. destruct (Hi (conj K E)); discriminate.
  - exfalso. pose proof (bound_leaf_sound items cost item_limits _ freed open _ L F N). lia.
Qed.

(** The same where at most [m] features may change at once. *)
Theorem enumeration_is_complete_of_few (listed : list set) dearest :
  (forall k, In k items -> (0 <= cost k)%Z) ->
  closes no_better (few_fit features item_of limits m) (fun freed open => listed_leaf listed freed open
    \/ few_leaf features items members item_of cost limits m (cost_of cost (fun _ => true) items - dearest - 1)
         freed open)
    base undecided ->
  forall kept, allowed kept -> suffices kept -> (cost_of cost kept items <= dearest)%Z ->
  exists one, In one listed /\ forall k, In k items -> one k = true -> kept k = true.
Proof.
  intros Pos C kept A Suff Cost. pose proof (cost_kept kept) as Sum. pose proof (sufficient_fits kept Suff) as F.
  destruct (tree_reaches_leaf no_better _ _ undecided base undecided C (fun k K => K) (freed_by kept)
    (any_takes_better _) F A) as [freed [open [[L | L] N]]].
  - destruct L as [one [I L]]. exists one. split; [exact I|]. intros k K O. destruct (kept k) eqn:E; [reflexivity|].
    exfalso. destruct (L k K O) as [Nf No]. destruct N as [_ [_ Hi]]. specialize (Hi k).
    rewrite union_true, freed_by_true, Nf, No in Hi. destruct (Hi (conj K E)); discriminate.
  - exfalso.
    assert (Le : (cost_of cost (freed_by kept) items <= cost_of cost (fun _ => true) items - dearest - 1)%Z); [|lia].
    exact (few_leaf_sound features features_differ items members item_of items_partition members_know
      cost Pos limits limits_nonneg m _ freed open _ L F N).
Qed.

(** * Relevance *)

Definition also (f : set) (k : item) : set := fun j => f j || Nat.eqb j k.

(** If freeing one more item than must be free breaks a limit, every allowed set that suffices keeps it. *)
Theorem necessary k : In k items -> breaks (also base k) -> forall kept, allowed kept -> suffices kept -> kept k = true.
Proof.
  intros I B kept A Suff. destruct (kept k) eqn:E; [reflexivity|]. exfalso.
  apply (breaking_is_insufficient _ kept B); [|exact Suff]. intros j J. unfold also in J. apply orb_true_iff in J.
  destruct J as [J | J]; [apply A; exact J|]. apply Nat.eqb_eq in J. subst. apply freed_by_true. auto.
Qed.

(** A set suffices or it does not, if what must stay true are inequalities: classical logic for reals is enough. *)
Lemma suffices_or_not (claim : list (inequality value)) s :
  sufficient value features row inside (all_hold value features claim) s
  \/ ~ sufficient value features row inside (all_hold value features claim) s.
Proof.
  destruct (sig_not_dec (sufficient value features row inside (all_hold value features claim) s)) as [NN | N];
    [left | right; exact N].
  intros y Y A c C. unfold holds.
  assert (Stable : ~ ~ holds value features c y) by (intros NH; apply NN; intros Suff; apply NH, (Suff y Y A c C)).
  unfold holds in Stable. destruct (is_strict value c).
  - destruct (Rlt_dec 0 (level value features c y)) as [L | L]; [exact L | contradiction].
  - destruct (Rle_dec 0 (level value features c y)) as [L | L]; [exact L | contradiction].
Qed.

Lemma less_allowed kept k : undecided k = true -> allowed kept -> allowed (less kept k).
Proof.
  intros U [Ap [Lo Hi]]. split; [exact Ap|]. split; intros j J.
  - apply freed_by_true. pose proof (proj1 (freed_by_true _ _) (Lo j J)) as [I N]. unfold less. rewrite N. auto.
  - apply freed_by_true in J. destruct J as [I N]. unfold less in N. apply andb_false_iff in N. destruct N as [N | N].
    + apply Hi, freed_by_true. auto.
    + apply negb_false_iff, Nat.eqb_eq in N. subst. apply union_true. auto.
Qed.

(** A set that suffices, and no longer does without an item, contains a minimal set with that item. *)
Theorem relevant_by_pair kept k : (forall s, suffices s \/ ~ suffices s) ->
  allowed kept -> suffices kept -> In k items -> ~ suffices (less kept k) ->
  exists kept', minimal kept' /\ kept' k = true /\ forall j, In j items -> kept' j = true -> kept j = true.
Proof.
  intros Dec. remember (count kept items) as n eqn:En. assert (Le : (count kept items <= n)%nat) by lia. clear En.
  revert kept Le. induction n as [|n IH]; intros kept Le A Suff Ik Not.
  - exfalso. apply Not. revert Suff. apply suffices_mono. intros j J K. exfalso.
    assert (In j (filter kept items)) as F by (apply filter_In; auto). unfold count in Le.
    destruct (filter kept items); [destruct F | simpl in Le; lia].
  - assert (Kk : kept k = true).
    { destruct (kept k) eqn:E; [reflexivity|]. exfalso. apply Not. revert Suff. apply suffices_mono. intros j J K.
      unfold less. rewrite K. destruct (Nat.eqb j k) eqn:Q; [apply Nat.eqb_eq in Q; congruence | reflexivity]. }
    assert (Find : (exists j, In j items /\ undecided j = true /\ kept j = true /\ suffices (less kept j))
      \/ forall j, In j items -> undecided j = true -> kept j = true -> ~ suffices (less kept j)).
    { clear - Dec. induction items as [|j l IHl]; [right; intros j []|]. destruct IHl as [[x [I H]] | None].
      - left. exists x. split; [right; exact I | exact H].
      - destruct (undecided j) eqn:U; [destruct (kept j) eqn:K; [destruct (Dec (less kept j)) as [S | S]|]|].
        + left. exists j. repeat split; auto. left; reflexivity.
        + right. intros x [E | I]; [subst; auto | apply None; exact I].
        + right. intros x [E | I]; [subst; congruence | apply None; exact I].
        + right. intros x [E | I]; [subst; congruence | apply None; exact I]. }
    destruct Find as [[j [I [U [K S]]]] | None].
    + destruct (IH (less kept j)) as [kept' [Min [Hk Sub]]]; auto.
      * assert (Lt : forall l, (count (less kept j) l <= count kept l)%nat
          /\ (In j l -> (count (less kept j) l < count kept l)%nat)).
        { clear - K. unfold count. induction l as [|x l [IH1 IH2]]; simpl; [split; [lia | tauto]|].
          assert (Lx : less kept j x = kept x && negb (Nat.eqb x j)) by reflexivity. rewrite Lx.
          destruct (Nat.eqb x j) eqn:E.
          - apply Nat.eqb_eq in E. subst. rewrite K. simpl. split; [lia|]. intros _. lia.
          - rewrite andb_true_r. destruct (kept x); simpl; (split; [lia|]); intros [Q | I];
              try (subst; rewrite Nat.eqb_refl in E; discriminate); specialize (IH2 I); lia. }
        pose proof (proj2 (Lt items) I). lia.
      * apply less_allowed; auto.
      * intros S'. apply Not. revert S'. apply suffices_mono. intros x X Kx. unfold less in *.
        rewrite !andb_true_iff in Kx. destruct Kx as [[Kx _] Kx']. rewrite Kx, Kx'. reflexivity.
      * exists kept'. repeat split; auto; try apply Min. intros x X Kx. specialize (Sub x X Kx). unfold less in Sub.
        apply andb_true_iff in Sub. apply Sub.
    + exists kept. split; [split; [exact A | split; assumption] | split; auto].
Qed.

(** An item is in no minimal set if every leaf of a tree over the others either breaks a limit with what it frees,
    or leaves a sufficient set even if all that is open there, and the item, are freed too. *)
Theorem irrelevant k :
  undecided k = true ->
  closes no_better (few_fit features item_of limits m) (fun freed open =>
      breaks freed \/ suffices (fun j => negb (union freed (also open k) j)))
    base (less undecided k) ->
  forall kept, minimal kept -> kept k = false.
Proof.
  intros U C kept [A [Suff Min]]. destruct (kept k) eqn:E; [|reflexivity]. exfalso.
  assert (N : at_node base (less undecided k) (freed_by kept)).
  { destruct A as [Ap [Lo Hi]]. split; [|split; [exact Lo|]]; intros j J.
    - unfold less. rewrite (Ap j J). reflexivity.
    - pose proof (Hi j J) as H. apply union_true in H. apply union_true. destruct H as [H | H]; [left; exact H | right].
      unfold less. rewrite H. apply freed_by_true in J. destruct (Nat.eqb j k) eqn:Q; [|reflexivity].
      apply Nat.eqb_eq in Q. subst. destruct J; congruence. }
  destruct (tree_reaches_leaf no_better _ _ (less undecided k) base (less undecided k) C (fun j J => J) (freed_by kept))
    as [freed [open [[B | S] [_ [Lo Hi]]]]];
    [intros a b _ _ X; discriminate X | apply sufficient_fits; exact Suff | exact N | |].
  - exact (breaking_is_insufficient freed kept B Lo Suff).
  - apply (Min k (undecided_items k U) U E). revert S. apply suffices_mono. intros j J Kj. apply negb_true_iff in Kj.
    unfold less. destruct (kept j) eqn:K.
    + destruct (Nat.eqb j k) eqn:Q; [|reflexivity]. apply Nat.eqb_eq in Q. subst. exfalso.
      unfold union, also in Kj. rewrite Nat.eqb_refl, orb_true_r, orb_true_r in Kj. discriminate.
    + exfalso. specialize (Hi j). rewrite freed_by_true in Hi. specialize (Hi (conj J K)). apply union_true in Hi.
      unfold union, also in Kj. destruct Hi as [H | H]; rewrite H in Kj; simpl in Kj; rewrite ?orb_true_r in Kj;
        discriminate.
Qed.

Definition at_row_in k (y : input value) : input value := fun i => if Nat.eqb (item_of i) k then row i else y i.

(** No more is an item that can lower nothing: whatever it does, the input with the item at the row is no better off. *)
Theorem idle k (claim : list (inequality value)) :
  undecided k = true ->
  (forall y, inside y -> box value features region y) ->
  (forall y, inside y -> inside (at_row_in k y)) ->
  (forall y y', truth y -> (forall c, In c claim -> level value features c y <= level value features c y') -> truth y') ->
  (forall c i, In c claim -> In i features -> item_of i = k -> bounds value row region c i 0%number) ->
  forall kept, minimal kept -> kept k = false.
Proof.
  intros U Box Closed Mono Idle kept [A [Suff Min]]. destruct (kept k) eqn:E; [|reflexivity]. exfalso.
  apply (Min k (undecided_items k U) U E). intros y Y Ag. apply (Mono (at_row_in k y)).
  - apply Suff; [apply Closed; exact Y|]. intros i I H. unfold at_row_in.
    destruct (Nat.eqb (item_of i) k) eqn:Q; [reflexivity|]. apply Ag; [exact I|]. unfold holding, less in *.
    rewrite H, Q. reflexivity.
  - intros c C. unfold level. apply Rplus_le_compat_l, sum_le. intros i I. unfold at_row_in.
    destruct (Nat.eqb (item_of i) k) eqn:Q; [|lra]. apply Nat.eqb_eq in Q.
    specialize (Idle c i C I Q (y i) (Box y Y i I)). unfold fall in Idle. clear - Idle. order.
Qed.
End Question.
