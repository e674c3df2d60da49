-- confirm_refund: a shop that takes the money itself says that money went back to the buyer: all that has to, or a part of a refund.
-- In      provider, order, the payment's reference, the part or null for all that parts have left, the shop's reference of the refund
-- Out     one row: outcome, amount_minor, currency. Outcomes:
--           refunded        it was due, and is done now              same        it was confirmed before
--           other_refund    it was confirmed before, under another reference: nothing is written
--           not_due         its money does not have to go back       reference_used  the reference belongs to another order
--           unknown         there is no such payment or part
-- Keeps   refund_due → refunded, due → refunded by compare-and-set; the first reference of a refund is kept
-- Locks   the payment row, or the row of the part

CREATE OR REPLACE FUNCTION confirm_refund(p_provider text, p_order bigint, p_ref text, p_part bigint, p_refund_ref text)
RETURNS TABLE (outcome text, amount_minor bigint, currency text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  p payments%ROWTYPE;
  r refund_parts%ROWTYPE;
BEGIN
  SELECT * INTO p FROM payments WHERE provider = p_provider AND ref = p_ref FOR UPDATE;
  -- What is in the archive is settled: nothing is due there.
  IF NOT FOUND THEN SELECT * INTO p FROM all_payments WHERE provider = p_provider AND ref = p_ref; END IF;
  IF p_part IS NULL THEN
    SELECT p.amount_minor - coalesce(sum(amount_minor), 0) INTO p.amount_minor FROM refund_parts WHERE payment = p.id;
  ELSE
    SELECT * INTO r FROM refund_parts WHERE id = p_part AND payment = p.id FOR UPDATE;
    p.amount_minor := r.amount_minor;
    p.refund_ref := r.refund_ref;
    p.state := CASE r.state WHEN 'due' THEN 'refund_due' ELSE r.state END;
  END IF;
  IF p.id IS NULL OR p.state IS NULL THEN
    outcome := 'unknown';
  ELSIF p.order_id <> p_order THEN
    outcome := 'reference_used';
  ELSIF p.state = 'refund_due' THEN
    IF p_part IS NULL THEN
      UPDATE payments SET state = 'refunded', refunded_at = clock_timestamp(), refund_ref = p_refund_ref WHERE id = p.id AND state = 'refund_due';
    ELSE
      UPDATE refund_parts SET state = 'refunded', refunded_at = clock_timestamp(), refund_ref = p_refund_ref WHERE id = p_part AND state = 'due';
    END IF;
    outcome := 'refunded';
  ELSIF p.state <> 'refunded' THEN
    outcome := 'not_due';
  ELSE
    -- Closed by hand: it has no reference of a refund, and any is the first.
    outcome := CASE coalesce(p.refund_ref, p_refund_ref) WHEN p_refund_ref THEN 'same' ELSE 'other_refund' END;
  END IF;
  RETURN QUERY SELECT outcome, p.amount_minor, p.currency;
END
$$;
