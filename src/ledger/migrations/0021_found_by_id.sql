-- found_by_id: closing finds its orders by their ids, and capture locks nothing before the item when the order is in the archive.
-- In      functions close_orders and capture of 0019 and 0016
-- Out     the same functions
-- Keeps   what functions/close_orders.sql and functions/capture.sql say. A plan from before a rush read the index of all pending orders for every
--         closing; a payment that was locked before its item could meet a refund, which locks the item first

CREATE OR REPLACE FUNCTION close_orders(p_item bigint, p_ids bigint[], p_reason text) RETURNS SETOF orders LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_now timestamptz;
  o     orders%ROWTYPE;
  back  int := 0;
  v      items%ROWTYPE;
  closed bigint[] := '{}';
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  v_now := clock_timestamp();
  FOR o IN
    -- By id: with the plain state, a plan from before a rush would read the index of all pending orders.
    UPDATE orders SET state = 'closed', reason = p_reason, closed_at = v_now, version = version + 1
    WHERE item = p_item AND id = ANY (p_ids) AND coalesce(state, '') = 'pending' AND (p_reason <> 'unpaid' OR pay_by <= v_now)
    RETURNING *
  LOOP
    back := back + o.quantity;
    closed := closed || o.id;
    INSERT INTO releases (order_id, item, buyer, attempt, pieces, outcome) VALUES (o.id, o.item, o.buyer, o.attempt, o.quantity, 'closed');
    RETURN NEXT o;
  END LOOP;
  IF back > 0 THEN
    UPDATE items SET available = available + back WHERE id = p_item;
    PERFORM note_events('order.closed', ARRAY[p_item], closed, v_now);
    PERFORM note_stock(p_item, v.sale, v.available, v.available + back, v_now);
  END IF;
END
$$;

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
