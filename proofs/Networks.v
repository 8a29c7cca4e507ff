(** Networks of piecewise-linear units: between which points they are affine.

    A network is a list of units. Each takes a weighted sum of the input and of the units before it, and applies a
    continuous piecewise-linear activation, such as ReLU. Layers are units that look at the layer before them; a skip is a
    unit without a threshold that adds up two others. *)

From Coq Require Import Reals Lra List.
From Suffice Require Import Numbers.
Import ListNotations.
Open Scope R_scope.

(** * Activations *)

(** A zone begins at a threshold and has a slope and an offset. *)
Record zone := Zone { threshold : R; slope : R; offset : R }.
Record activation := Activation { first_slope : R; first_offset : R; zones : list zone }.

Fixpoint activate_from (s o : R) (zs : list zone) (y : R) : R :=
  match zs with
  | [] => s * y + o
  | z :: rest => if Rle_dec (threshold z) y then activate_from (slope z) (offset z) rest y else s * y + o
  end.
Definition activate (phi : activation) : R -> R := activate_from (first_slope phi) (first_offset phi) (zones phi).

(** Thresholds increase, and neighbouring zones have the same value at the threshold between them. *)
Fixpoint continuous_from (s o : R) (zs : list zone) : Prop :=
  match zs with
  | [] => True
  | z :: rest =>
      s * threshold z + o = slope z * threshold z + offset z
      /\ Forall (fun later => threshold z < threshold later) rest
      /\ continuous_from (slope z) (offset z) rest
  end.
Definition continuous (phi : activation) : Prop := continuous_from (first_slope phi) (first_offset phi) (zones phi).

(** No threshold lies between two members of a set of numbers. *)
Definition unsplit (phi : activation) (ys : R -> Prop) : Prop :=
  forall z, In z (zones phi) -> (forall y, ys y -> threshold z <= y) \/ (forall y, ys y -> y <= threshold z).

Lemma activate_from_affine s o zs (ys : R -> Prop) :
  continuous_from s o zs ->
  (forall z, In z zs -> (forall y, ys y -> threshold z <= y) \/ (forall y, ys y -> y <= threshold z)) ->
  exists p q, forall y, ys y -> activate_from s o zs y = p * y + q.
Proof.
  revert s o. induction zs as [|z rest IH]; intros s o C U.
  - exists s, o. reflexivity.
  - destruct C as [Same [Later C]]. destruct (U z (or_introl eq_refl)) as [Above | Below].
    + destruct (IH _ _ C (fun w W => U w (or_intror W))) as [p [q E]]. exists p, q. intros y Y. simpl.
      destruct (Rle_dec (threshold z) y) as [_ | N]; [apply E; exact Y | destruct N; apply Above; exact Y].
    + exists s, o. intros y Y. simpl. destruct (Rle_dec (threshold z) y) as [L | _]; [|reflexivity].
      assert (y = threshold z) by (apply Rle_antisym; [apply Below; exact Y | exact L]). subst y. rewrite Same.
      destruct rest as [|w rest]; [reflexivity|]. simpl. inversion Later; subst.
      destruct (Rle_dec (threshold w) (threshold z)); [lra | reflexivity].
Qed.

(** Between thresholds, ends included, an activation is affine. *)
Lemma activate_affine phi (ys : R -> Prop) :
  continuous phi -> unsplit phi ys -> exists p q, forall y, ys y -> activate phi y = p * y + q.
Proof. intros C U. apply activate_from_affine; assumption. Qed.

(** * Units and networks *)

Record unit := Unit { weights : list R; bias : R; act : activation }.
Definition network := list unit.

Fixpoint dot (ws hs : list R) : R :=
  match ws, hs with
  | w :: ws', h :: hs' => w * h + dot ws' hs'
  | _, _ => 0
  end.
Definition before_activation (u : unit) (hs : list R) : R := dot (weights u) hs + bias u.

(** [hs] holds what is known so far, the newest first: at the start the input alone. *)
Fixpoint run (net : network) (hs : list R) : list R :=
  match net with
  | [] => hs
  | u :: rest => run rest (activate (act u) (before_activation u hs) :: hs)
  end.

(** * Along a line

    Inputs are a + t·(b − a), where t runs through [times]: from 0 to 1, or from 0 to infinity. *)

Definition segment (t : R) : Prop := 0 <= t <= 1.
Definition ray (t : R) : Prop := 0 <= t.

(** Values [h0] at a and [h1] at b keep a unit's activation affine on the way. *)
Definition keeps_on_segment (phi : activation) (h0 h1 : R) : Prop :=
  forall z, In z (zones phi) -> ~ (Rmin h0 h1 < threshold z < Rmax h0 h1).
Definition keeps_on_ray (phi : activation) (h0 h1 : R) : Prop :=
  forall z, In z (zones phi) -> (h0 < h1 -> threshold z <= h0) /\ (h1 < h0 -> h0 <= threshold z).

Definition way (ts : R -> Prop) (h0 h1 y : R) : Prop := exists t, ts t /\ y = h0 + t * (h1 - h0).

Lemma unsplit_on_segment phi h0 h1 : keeps_on_segment phi h0 h1 -> unsplit phi (way segment h0 h1).
Proof.
  intros K z Z. specialize (K z Z). unfold Rmin, Rmax in K. destruct (Rle_dec h0 h1) as [L | G].
  - destruct (Rle_or_lt (threshold z) h0); [left | right]; intros y [t [[T1 T2] E]]; subst.
    + pose proof (Rmult_le_pos t (h1 - h0)). lra.
    + assert (h1 <= threshold z) by lra. assert (t * (h1 - h0) <= 1 * (h1 - h0)) by (apply Rmult_le_compat_r; lra). lra.
  - destruct (Rle_or_lt (threshold z) h1); [left | right]; intros y [t [[T1 T2] E]]; subst.
    + assert (t * (h0 - h1) <= 1 * (h0 - h1)) by (apply Rmult_le_compat_r; lra). lra.
    + assert (h0 <= threshold z) by lra. pose proof (Rmult_le_pos t (h0 - h1)). lra.
Qed.

Lemma unsplit_on_ray phi h0 h1 : keeps_on_ray phi h0 h1 -> unsplit phi (way ray h0 h1).
Proof.
  intros K z Z. destruct (K z Z) as [Up Down]. unfold way, ray. destruct (Rtotal_order h0 h1) as [L | [E | G]].
  - left. intros y [t [T E]]. pose proof (Rmult_le_pos t (h1 - h0)). specialize (Up L). lra.
  - subst. destruct (Rle_or_lt (threshold z) h1); [left | right]; intros y [t [T E]]; subst;
      replace (t * (h1 - h1)) with 0 by ring; lra.
  - right. intros y [t [T E]]. pose proof (Rmult_le_pos t (h0 - h1)). specialize (Down G). lra.
Qed.

Section Line.
Variable ts : R -> Prop.
Hypothesis starts : ts 0.
Hypothesis passes : ts 1.
Variable keeps : activation -> R -> R -> Prop.
Hypothesis keeps_unsplit : forall phi h0 h1, keeps phi h0 h1 -> unsplit phi (way ts h0 h1).

(** Every activation is continuous, and every unit, evaluated at a and at b, keeps its activation affine in between. *)
Fixpoint all_keep (net : network) (at_a at_b : list R) : Prop :=
  match net with
  | [] => True
  | u :: rest =>
      let h0 := before_activation u at_a in
      let h1 := before_activation u at_b in
      continuous (act u) /\ keeps (act u) h0 h1
      /\ all_keep rest (activate (act u) h0 :: at_a) (activate (act u) h1 :: at_b)
  end.

Inductive on_line (t : R) : list R -> list R -> list R -> Prop :=
| on_line_nil : on_line t [] [] []
| on_line_cons h0 h1 l0 l1 l : on_line t l0 l1 l -> on_line t (h0 :: l0) (h1 :: l1) (h0 + t * (h1 - h0) :: l).

Lemma dot_on_line t l0 l1 l : on_line t l0 l1 l -> forall ws, dot ws l = dot ws l0 + t * (dot ws l1 - dot ws l0).
Proof.
  induction 1 as [|h0 h1 l0 l1 l H IH]; intros [|w ws]; simpl; try ring. rewrite (IH ws). ring.
Qed.

Lemma activate_on_line phi t h0 h1 : ts t -> continuous phi -> keeps phi h0 h1 ->
  activate phi (h0 + t * (h1 - h0)) = activate phi h0 + t * (activate phi h1 - activate phi h0).
Proof.
  intros T C K. destruct (activate_affine phi _ C (keeps_unsplit _ _ _ K)) as [p [q E]].
  rewrite (E (h0 + t * (h1 - h0))) by (exists t; auto).
  rewrite (E h0) by (exists 0; split; [exact starts | ring]).
  rewrite (E h1) by (exists 1; split; [exact passes | ring]). ring.
Qed.

Lemma run_on_line net t : ts t -> forall l0 l1 l, on_line t l0 l1 l -> all_keep net l0 l1 ->
  on_line t (run net l0) (run net l1) (run net l).
Proof.
  intros T. induction net as [|u rest IH]; intros l0 l1 l L K; simpl; [exact L|].
  destruct K as [C [K Ks]]. apply IH; [|exact Ks].
  assert (E : before_activation u l
            = before_activation u l0 + t * (before_activation u l1 - before_activation u l0)).
  { unfold before_activation. rewrite (dot_on_line _ _ _ _ L). ring. }
  rewrite E, (activate_on_line _ _ _ _ T C K). constructor. exact L.
Qed.

(** What a unit at place [k] gives, as a function of the input; the newest unit has place 0. *)
Definition output (net : network) (k : nat) (x : R) : R := nth k (run net [x]) 0.

Lemma output_on_line net k a b t : ts t -> all_keep net [a] [b] ->
  output net k (a + t * (b - a)) = output net k a + t * (output net k b - output net k a).
Proof.
  intros T K. assert (S : on_line t [a] [b] [a + t * (b - a)]) by (constructor; constructor).
  pose proof (run_on_line net t T _ _ _ S K) as L. unfold output. clear - L. revert k.
  induction L as [|h0 h1 l0 l1 l H IH]; intros [|k]; simpl; try ring. apply IH.
Qed.
End Line.

(** * The theorems *)

(** If no unit has values at a and b on different sides of one of its thresholds, the network is affine from a to b. *)
Theorem network_affine_between net k a b : all_keep keeps_on_segment net [a] [b] ->
  forall t, 0 <= t <= 1 -> output net k (a + t * (b - a)) = output net k a + t * (output net k b - output net k a).
Proof.
  intros K t T. apply (output_on_line segment) with (keeps := keeps_on_segment); unfold segment; try lra; auto.
  intros phi h0 h1. apply unsplit_on_segment.
Qed.

(** If every unit that rises from a to b is past all its thresholds at a, and every one that falls is before them all,
    the network is affine on the whole ray from a through b. *)
Theorem network_affine_beyond net k a b : all_keep keeps_on_ray net [a] [b] ->
  forall t, 0 <= t -> output net k (a + t * (b - a)) = output net k a + t * (output net k b - output net k a).
Proof.
  intros K t T. apply (output_on_line ray) with (keeps := keeps_on_ray); unfold ray; try lra; auto.
  intros phi h0 h1. apply unsplit_on_ray.
Qed.

(** ReLU is such an activation. *)
Definition relu : activation := Activation 0 0 [Zone 0 1 0].

Lemma relu_continuous : continuous relu.
Proof. unfold continuous, relu; simpl. repeat split; auto; ring. Qed.

Lemma relu_is_max y : activate relu y = Rmax 0 y.
Proof. unfold activate, relu; simpl. unfold Rmax. destruct (Rle_dec 0 y); ring. Qed.
