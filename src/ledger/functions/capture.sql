-- capture: the provider has taken money for a payment; decides whether it pays the order.
-- In      provider, reference, amount, currency, when (unix ms)
-- Out     one row: outcome, order_id, item. Outcomes:
--           paid    the order is paid by this capture        same    this payment was captured before
--           late    the order was closed: refund             second  another payment was first: refund
--           wrong_amount  not the amount asked for: nothing is written        unknown  there is no such payment
-- Keeps   pending → paid by compare-and-set, once per order; money that pays nothing is refund_due in the same transaction
--         An order in the archive is brought back first
-- Locks   the order row, then the payment row; of an archived order the item row before both

CREATE OR REPLACE FUNCTION capture(p_provider text, p_ref text, p_amount bigint, p_currency text, p_at_ms bigint)
RETURNS TABLE (outcome text, order_id bigint, item bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  p     payments%ROWTYPE;
  o     orders%ROWTYPE;
  v_order bigint;
  v_item  bigint;
  v_at  timestamptz := to_timestamp(p_at_ms / 1000.0);
BEGIN
  FOR i IN 1..2 LOOP
    SELECT a.order_id, a.item INTO v_order, v_item FROM all_payments a WHERE a.provider = p_provider AND a.ref = p_ref;
    IF FOUND THEN
      SELECT * INTO o FROM orders WHERE id = v_order AND item = v_item FOR UPDATE;
      IF FOUND THEN
        SELECT * INTO p FROM payments WHERE provider = p_provider AND ref = p_ref FOR UPDATE;
        EXIT WHEN FOUND;
      END IF;
      -- The order is in the archive, or went there meanwhile, and nothing is locked yet: order and payments move together. Under the item's
      -- lock they stay where they are brought.
      PERFORM 1 FROM items WHERE id = v_item FOR UPDATE;
    END IF;
    -- No such payment, or its sale was deleted.
    IF NOT FOUND THEN
      RETURN QUERY SELECT 'unknown'::text, NULL::bigint, NULL::bigint;
      RETURN;
    END IF;
    PERFORM recall_orders(v_item, ARRAY[v_order], '{}');
  END LOOP;

  IF p.amount_minor <> p_amount OR p.currency <> p_currency THEN
    outcome := 'wrong_amount';
  ELSIF p.state IN ('captured', 'refund_due', 'refunded') THEN
    outcome := 'same';
  ELSIF o.state = 'pending' THEN
    UPDATE orders SET state = 'paid', paid_at = clock_timestamp(), version = version + 1 WHERE id = o.id AND item = o.item AND state = 'pending';
    UPDATE payments SET state = 'captured', captured_at = v_at WHERE id = p.id;
    outcome := 'paid';
  ELSE
    outcome := CASE o.state WHEN 'paid' THEN 'second' ELSE 'late' END;
    UPDATE payments SET state = 'refund_due', why = outcome, captured_at = v_at, tries = 0, next_try_at = clock_timestamp() WHERE id = p.id;
  END IF;
  RETURN QUERY SELECT outcome, p.order_id, p.item;
END
$$;
