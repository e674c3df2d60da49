-- shop_till: a shop that takes the money itself reports captures and refunds.
-- In      payments, payments_archive, all_payments and refund_parts; capture and recall_orders
-- Out     refund_ref of payments and refund_parts: the shop's own reference of a refund; functions capture_order and confirm_refund
-- Keeps   what functions/capture_order.sql and functions/confirm_refund.sql say

ALTER TABLE payments ADD COLUMN refund_ref text;
ALTER TABLE payments_archive ADD COLUMN refund_ref text;
ALTER TABLE refund_parts ADD COLUMN refund_ref text;
CREATE OR REPLACE VIEW all_payments AS SELECT * FROM payments UNION ALL SELECT * FROM payments_archive;

CREATE OR REPLACE FUNCTION capture_order(p_id bigint, p_provider text, p_order bigint, p_ref text, p_amount bigint, p_currency text, p_at_ms bigint,
                                         p_max int)
RETURNS TABLE (outcome text, item bigint, again boolean, refund_due boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  o       orders%ROWTYPE;
  v_item  bigint;
  v_owner bigint;
  v_state text;
  v_why   text;
BEGIN
  again := false;
  refund_due := false;
  FOR i IN 1..2 LOOP
    SELECT a.item INTO v_item FROM all_orders a WHERE a.id = p_order;
    IF FOUND THEN
      SELECT * INTO o FROM orders WHERE id = p_order AND item = v_item FOR UPDATE;
      EXIT WHEN FOUND;
      -- In the archive, or on its way there: under the item's lock it stays where it is brought.
      PERFORM 1 FROM items WHERE id = v_item FOR UPDATE;
    END IF;
    IF NOT FOUND THEN
      outcome := 'unknown';
      RETURN NEXT;
      RETURN;
    END IF;
    PERFORM recall_orders(v_item, ARRAY[p_order], '{}');
  END LOOP;
  item := v_item;

  -- Before anything is written: capture compares once more.
  IF o.price_minor * o.quantity <> p_amount OR o.currency <> p_currency THEN
    outcome := 'wrong_amount';
    RETURN NEXT;
    RETURN;
  END IF;
  SELECT a.order_id INTO v_owner FROM all_payments a WHERE a.provider = p_provider AND a.ref = p_ref;
  IF NOT FOUND THEN
    v_owner := p_order;
    BEGIN
      UPDATE payments SET ref = p_ref WHERE order_id = p_order AND provider = p_provider AND state = 'started';
      IF NOT FOUND THEN
        IF (SELECT count(*) FROM payments WHERE order_id = p_order AND provider = p_provider) >= p_max THEN
          outcome := 'payments_used';
          RETURN NEXT;
          RETURN;
        END IF;
        -- Void, and captured a moment later: a started one could meet the one that the buyer starts right now.
        INSERT INTO payments (id, order_id, item, provider, ref, amount_minor, currency, state)
        VALUES (p_id, p_order, v_item, p_provider, p_ref, p_amount, p_currency, 'void');
      END IF;
    EXCEPTION WHEN unique_violation THEN
      -- The same reference, reported for another order at this very moment.
      v_owner := NULL;
    END;
  END IF;
  IF v_owner IS DISTINCT FROM p_order THEN
    outcome := 'reference_used';
    RETURN NEXT;
    RETURN;
  END IF;

  SELECT c.outcome INTO outcome FROM capture(p_provider, p_ref, p_amount, p_currency, p_at_ms) c;
  SELECT state, why INTO v_state, v_why FROM payments WHERE provider = p_provider AND ref = p_ref;
  again := outcome = 'same';
  refund_due := v_state = 'refund_due';
  IF again AND v_why IN ('late', 'second') THEN outcome := v_why; END IF;
  RETURN NEXT;
END
$$;

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
