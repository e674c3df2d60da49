-- archive_orders: moves the next orders of an item whose sale is over and settled into the archive, with their payments.
-- In      item, order id (those behind it), limit
-- Out     one row: moved (how many), last (the id to go on behind; NULL: the item's orders have all been looked at). No row: the item is not
--         settled, or another transaction has it
-- Keeps   each order and payment is in one of the two tables; an order stays while it is pending, a payment of it is open or does not fit it,
--         or a release or a part of a refund of it is open. Parts of refunds stay in their one table. From the first call on no gate of the item has entries that could be placed (gate_epoch = 0, door shut)
-- Locks   the item row first, then orders, as `capture` does: the payments of an order that is locked do not move

CREATE OR REPLACE FUNCTION archive_orders(p_item bigint, p_after bigint, p_max int) RETURNS TABLE (moved int, last bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v       items%ROWTYPE;
  v_sale  sales%ROWTYPE;
  v_from  bigint;
  v_until bigint;
  page    bigint[];
  settled bigint[];
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE SKIP LOCKED;
  IF NOT FOUND OR v.archive = 'done' THEN RETURN; END IF;
  SELECT * INTO v_sale FROM sales WHERE id = v.sale;
  IF v.archive IS NULL THEN
    IF v.door NOT IN ('shut', 'ledger')
       OR NOT EXISTS (SELECT 1 FROM reconciliations r WHERE r.sale = v.sale AND r.final)
       OR EXISTS (SELECT 1 FROM releases r WHERE r.item = p_item)
       OR EXISTS (SELECT 1 FROM stock_changes c WHERE c.item = p_item AND c.state <> 'done')
       OR EXISTS (SELECT 1 FROM shard_moves m WHERE m.item = p_item AND m.state IN ('asked', 'taken')) THEN
      RETURN;
    END IF;
    UPDATE items SET archive = 'moving', door = 'shut', gate_epoch = 0 WHERE id = p_item;
  END IF;

  -- An order's id is made between its item's and the end of the sale, give or take a day: so the key finds an item's orders without reading
  -- all others. One that lies outside (a clock was wrong) stays where it is, and is found there.
  v_from := greatest(p_after + 1, p_item - (86400000::bigint << 22));
  -- No id is made after 2093, whenever the sale was to end: a shift beyond 64 bits would turn the bound round.
  v_until := least(floor(extract(epoch FROM v_sale.closes_at) * 1000)::bigint - 1704067200000 + 86400000, (1::bigint << 41) - 1) << 22;
  page := ARRAY(SELECT id FROM orders WHERE item = p_item AND id >= v_from AND id < v_until ORDER BY id LIMIT p_max FOR UPDATE);
  -- Read after the orders are locked: what was captured before is seen, and nothing is captured meanwhile.
  settled := ARRAY(
    SELECT o.id FROM orders o
    WHERE o.item = p_item AND o.id = ANY (page) AND o.state <> 'pending'
      AND NOT EXISTS (SELECT 1 FROM releases r WHERE r.order_id = o.id)
      AND NOT EXISTS (SELECT 1 FROM refund_parts r WHERE r.order_id = o.id AND r.state = 'due')
      AND NOT EXISTS (
        SELECT 1 FROM payments p
        WHERE p.order_id = o.id AND (p.state IN ('started', 'refund_due') OR (p.state = 'captured' AND o.state <> 'paid'))));
  WITH gone AS (DELETE FROM orders WHERE item = p_item AND id = ANY (settled) RETURNING *) INSERT INTO orders_archive SELECT * FROM gone;
  WITH gone AS (DELETE FROM payments WHERE order_id = ANY (settled) RETURNING *) INSERT INTO payments_archive SELECT * FROM gone;
  IF cardinality(page) = p_max THEN
    RETURN QUERY SELECT cardinality(settled), page[p_max];
    RETURN;
  END IF;
  IF NOT EXISTS (
    SELECT 1 FROM orders WHERE item = p_item AND id >= p_item - (86400000::bigint << 22) AND id < v_until) THEN
    UPDATE items SET archive = 'done' WHERE id = p_item;
  END IF;
  RETURN QUERY SELECT cardinality(settled), NULL::bigint;
END
$$;
