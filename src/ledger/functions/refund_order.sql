-- refund_order: an operator takes a paid order back; its units come back or are written off.
-- In      order, item, whether the units are sold again
-- Out     refunded | same (it was refunded before) | not_paid | unknown (there is no such order)
-- Keeps   paid → closed/refunded by compare-and-set; available + pending + paid = units; one release row either way, so that the gate closes
--         the attempt; the captured payment, and only that one, becomes refund_due
--         An order in the archive is brought back first. A refund leaves an event
-- Locks   the item row first, then the order, then its payments

CREATE OR REPLACE FUNCTION refund_order(p_order bigint, p_item bigint, p_restock boolean) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v items%ROWTYPE;
  o orders%ROWTYPE;
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  IF v.archive IS NOT NULL THEN PERFORM recall_orders(p_item, ARRAY[p_order], '{}'); END IF;
  SELECT * INTO o FROM orders WHERE id = p_order AND item = p_item FOR UPDATE;
  IF NOT FOUND THEN RETURN 'unknown'; END IF;
  IF o.state = 'closed' AND o.reason = 'refunded' THEN RETURN 'same'; END IF;
  IF o.state <> 'paid' THEN RETURN 'not_paid'; END IF;

  UPDATE orders SET state = 'closed', reason = 'refunded', closed_at = clock_timestamp(), version = version + 1
  WHERE id = p_order AND item = p_item AND state = 'paid';
  IF p_restock THEN
    UPDATE items SET available = available + o.quantity WHERE id = p_item;
    PERFORM note_stock(p_item, v.sale, v.available, v.available + o.quantity, clock_timestamp());
  ELSE
    UPDATE items SET units = units - o.quantity WHERE id = p_item;
  END IF;
  INSERT INTO releases (order_id, item, buyer, attempt, pieces, outcome)
  VALUES (o.id, o.item, o.buyer, o.attempt, CASE WHEN p_restock THEN o.quantity ELSE 0 END, CASE WHEN p_restock THEN 'closed' ELSE 'gone' END);
  UPDATE payments SET state = 'refund_due', why = 'operator', tries = 0, next_try_at = clock_timestamp()
  WHERE order_id = p_order AND state = 'captured';
  PERFORM note_events('order.refunded', ARRAY[p_item], ARRAY[p_order], clock_timestamp());
  RETURN 'refunded';
END
$$;
