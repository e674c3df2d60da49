-- close_orders: closes pending orders of one item and makes their units available again, in one transaction.
-- In      item, order ids, reason (unpaid | cancelled); with reason unpaid only those whose pay_by has passed, by this clock
-- Out     the orders this call closed; an order that was paid or closed before gives no row
-- Keeps   pending → closed by compare-and-set; available grows by exactly the units closed; each closing leaves one release row;
--         the call leaves one row of events
-- Locks   the item row first, then orders

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
